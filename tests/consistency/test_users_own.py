"""A user's joint, drive, contact law and component from the documentation in one plant: floats, lanes and C agree."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import geometry
from hydromechs.compiler import Case, SourceFile, SourceFunction, c_header, c_source
from hydromechs.compiler._c_text import c_test
from hydromechs.contact import Material, Terrain
from hydromechs.integrators import method_named
from hydromechs.simulation import PlantPrograms, components_of, evaluate

ROOT = Path(__file__).parents[2]
H = 2.0**-10
COMMANDS = {"carriage": 3.0}


def classes() -> SimpleNamespace:
    """Return the custom classes of two pages and of an example."""
    space: dict = {"__name__": "docs"}
    for page, end in (("docs/own_joint.md", "rail = "), ("docs/components.md", "buoy = ")):
        block = re.search(rf"```python\n(.*?)\n{end}", (ROOT / page).read_text(), flags=re.S)
        exec(compile(block[1], page, "exec", dont_inherit=True), space)
    example = ROOT / "examples" / "custom_components.py"
    exec(compile(example.read_text(), example.name, "exec", dont_inherit=True), space)
    return SimpleNamespace(**space)


@pytest.fixture(scope="module")
def plant() -> hm.Plant:
    own = classes()
    carriage = hm.Body(
        name="carriage",
        joint=own.EllipticRail(a=1.2, b=0.7, placement=hm.Origin((0.1, 0, 0.2), (1.2, 0.3, 0.1)), friction=0.5, limits=(-2, 2)),
        inertia=hm.Inertia(mass=3.0, com=(0.1, 0.05, -0.03), tensor=(0.03, 0.04, 0.05, 0.01, 0, 0)),
        hydro=hm.Hydro(volume=0.001, drag=hm.drag.ShapeDrag(shape=hm.geometry.Sphere(radius=0.1), coefficient=0.5)),
        frames=[hm.Frame("hook", hm.Origin((0.1, 0.1, 0.0)))],
        shapes=[hm.geometry.Sphere(radius=0.15)],
    )
    model = hm.Model(name="users_own", bodies=[carriage])
    law = own.Stiffening(stiffness=1000.0, stiffening=2e4, damping=2e3)
    floor = Terrain(name="floor", material=Material(law=law), shape=geometry.Plane.through((0, 0, 0.4), (0, 0.1, -1)))
    line = own.SpringLine(name="line", frame="hook", anchor=(0.5, 0.5, -1.0), length=0.5, stiffness=50.0, damping=4.0)
    drive = own.LaggedTorque(joint="carriage", time_constant=0.05, damping=0.5)
    acting = components_of(model, [floor, drive, line])
    return hm.Plant(model=model, components=acting)


@pytest.fixture(scope="module")
def states(plant):
    """Eight states, some in contact, and what floats make of them: q, v, z, inputs, v̇, ż."""
    rng = np.random.default_rng(2)
    n, nz = 8, len(plant.layout.states)
    q, v, z = rng.uniform(-2.1, 2.1, (n, 1)), rng.normal(size=(n, 1)), 1e-3 * rng.normal(size=(n, nz))
    inputs = np.array([COMMANDS.get(name, 0.0) for name in (*plant.layout.commands, *plant.layout.held)])
    found = [evaluate(plant, 0.0, *x, inputs) for x in zip(q, v, z, strict=True)]
    for name in ("contact_force", "line_tension"):
        acting = [float(np.sum(row[name])) > 0.0 for f in found for row in f.outputs if name in row]
        assert any(acting) and (name == "line_tension" or not all(acting)), name
    return SimpleNamespace(q=q, v=v, z=z, inputs=inputs, found=found)


def test_on_lanes(plant, states):
    """A step of Euler's method is v + h v̇ to rounding, whatever the number of lanes."""
    for lanes in (1, 4, 8):
        roll = hm.rollout(plant, states.q, states.v, COMMANDS, H, 1, method="euler", internal=states.z, lanes=lanes)
        for k, found in enumerate(states.found):
            expected = states.v[k] + H * np.array(found.vdot, dtype=float)
            np.testing.assert_allclose(roll.v[k, -1], expected, rtol=1e-12, atol=1e-13)
            np.testing.assert_allclose(roll.q[k, -1], states.q[k] + H * states.v[k], rtol=1e-14)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc on this machine")
def test_in_c(plant, states, tmp_path):
    """The derivative of the plant, written as C, checks itself against floats to 1e-12."""
    program = PlantPrograms(plant, method_named("rk4")).stepper.derivative_program
    cases = []
    for k, found in enumerate(states.found):
        y = np.concatenate([[0.0], states.v[k], states.z[k]])
        (ydot,) = program(0.0, states.q[k], y, states.inputs)
        np.testing.assert_allclose(ydot[1], np.array(found.vdot, dtype=float)[0], rtol=1e-12)
        cases.append(Case((np.float64(0.0), states.q[k], y, states.inputs), (np.asarray(ydot),), 1e-12))
    file = SourceFile("own", (SourceFunction(program, "Derivative of the state."),))
    (tmp_path / "own.h").write_text(c_header(file))
    (tmp_path / "own.c").write_text(c_source(file))
    (tmp_path / "own_test.c").write_text(c_test(file, {program.name: cases}))
    built = ["gcc", "-std=c99", tmp_path / "own.c", tmp_path / "own_test.c", "-lm", "-o", tmp_path / "own"]
    subprocess.run(built, check=True)
    result = subprocess.run([tmp_path / "own"], capture_output=True, text=True)
    assert result.returncode == 0 and "agree" in result.stdout, result.stdout
