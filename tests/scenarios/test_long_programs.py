"""Programs that are too long to compile: rejected before tracing, with advice that works; long compilations are reported."""

import logging
import time

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import compiler, geometry
from hydromechs.compiler import Argument, Compiled, Recipe, _progress
from hydromechs.compiler._backends import NATIVE
from hydromechs.contact import MATERIALS, Terrain
from hydromechs.errors import UnsupportedFeature
from hydromechs.integrators import Stepper, method_named
from hydromechs.simulation import Plant, PlantPrograms, components_of, stiff_parts
from hydromechs.simulation._stiffness import implicit_length

FLOOR = Terrain(name="floor", material=MATERIALS["sand"], shape=geometry.Plane.through((0, 0, 0), (0, 0, -1)))


def raft(contacts: int) -> Plant:
    """A body on many spheres, on sand."""
    feet = [hm.geometry.Sphere(radius=0.05).at((0.001 * k, 0, 0.1)) for k in range(contacts)]
    inertia = hm.Inertia(mass=0.5, tensor=(0.01, 0.01, 0.01, 0, 0, 0))
    model = hm.Model(name="raft", bodies=[hm.Body(name="raft", inertia=inertia, shapes=feet)])
    return Plant(model=model, components=components_of(model, [FLOOR]))


def test_a_linearly_implicit_step_that_is_too_long_is_rejected_before_tracing(monkeypatch):
    monkeypatch.setattr(compiler, "trace", lambda *args, **options: pytest.fail("it was traced"))
    monkeypatch.setattr(Stepper, "jacobian_program", property(lambda self: pytest.fail("it was differentiated")))
    with pytest.raises(UnsupportedFeature, match="301 contacts") as caught:
        hm.Simulation(raft(301), integrator="linearly_implicit")
    text = str(caught.value)
    assert "500,000" in text and "rk4" in text and "HYDROMECHS_LONGEST_PROGRAM" in text


def test_the_limit_can_be_changed(monkeypatch):
    monkeypatch.setenv("HYDROMECHS_LONGEST_PROGRAM", "100_000_000")
    hm.Simulation(raft(301), integrator="linearly_implicit")
    monkeypatch.setenv("HYDROMECHS_LONGEST_PROGRAM", "1000")
    with pytest.raises(UnsupportedFeature, match="limit is 1,000 lines"):
        hm.Simulation(raft(2), integrator="linearly_implicit")
    for wrong in ("many", "0"):
        monkeypatch.setenv("HYDROMECHS_LONGEST_PROGRAM", wrong)
        with pytest.raises(ValueError, match=f"HYDROMECHS_LONGEST_PROGRAM is '{wrong}'"):
            hm.Simulation(raft(2), integrator="linearly_implicit")


def test_advice_names_linearly_implicit_only_where_it_compiles():
    rk4 = method_named("rk4")
    for contacts, advised in ((2, True), (301, False)):
        plant = raft(contacts)
        _, text = stiff_parts(plant, plant.model.initial().q, rk4, 0.1)[0]
        assert ("linearly_implicit" in text) == advised and "shorter step" in text


def test_the_estimate_is_near_the_length():
    """Within a factor of 1.5 of the lines that are written."""
    for contacts in (2, 6):
        plant = raft(contacts)
        march = PlantPrograms(plant, method_named("linearly_implicit")).stepper.attempts
        lines = NATIVE.source(march.program, march.form(1)).count("\n")
        assert lines / 1.5 < implicit_length(plant) < 1.5 * lines


def test_a_long_compilation_is_reported(monkeypatch, caplog, tmp_path):
    monkeypatch.setattr(_progress, "EVERY", 0.01)
    monkeypatch.setenv("HYDROMECHS_CACHE", str(tmp_path))

    def slow(x):
        """Doubles; its tracing takes until a report appears, on a busy machine longer than on an idle one."""
        end = time.monotonic() + 60.0
        while not reports():
            assert time.monotonic() < end, "tracing is not reported"
            time.sleep(0.01)
        return 2.0 * x

    def reports():
        return [r for r in caplog.records if "doubled" in r.getMessage() and "s so far, tracing" in r.getMessage()]

    plain = Compiled(Recipe("doubled", slow, (Argument("x", (1,)),), (Argument("y", (1,)),), None), 1, 1)
    with caplog.at_level(logging.WARNING, "hydromechs.compiler"):
        np.testing.assert_array_equal(plain([np.ones(1)])[0], [2.0])
    assert reports()
