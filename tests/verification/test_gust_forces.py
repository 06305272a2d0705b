"""Forces of gusts by cause: buoyancy is that of water at rest, the acceleration of the displaced water is a force of its own."""

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.hydro import Environment, Gusts
from hydromechs.library import load_scenario, scenario_names
from hydromechs.viewer._series import plot_groups

RHO, G, VOLUME = 1000.0, 10.0, 0.05


@pytest.fixture(scope="module")
def recording():
    """A vehicle that turns freely in gusts along all axes."""
    body = hm.Body(
        name="hull",
        joint=hm.joints.Free(velocity=(0, 0, 0, 0.2, 0.3, -0.1)),
        inertia=hm.Inertia(mass=50.0, tensor=(2, 3, 4, 0, 0, 0)),
        hydro=hm.Hydro(
            volume=VOLUME, buoyancy_center=(0.1, 0.2, -0.1), added_mass=hm.added_mass.Diagonal((20, 30, 40, 1, 1, 1))
        ),
    )
    model = hm.Model(bodies=[body], world=hm.World(gravity=G, water_density=RHO))
    water = Environment(gusts=Gusts(sigma=(0.2, 0.1, 0.05), time_constant=4.0, interval=0.4))
    return hm.Simulation(model, environment=water, step=0.02, record=0.1, seed=4).run(2.0).recording


def test_acceleration_of_the_displaced_water_is_a_cause_of_its_own(recording):
    """|buoyancy| = ρ g V always; the other is ρ V dU/dt through the centre of buoyancy, and not small."""
    still, moved = recording.force_buoyancy.values[:, 0], recording.force_fluid_acceleration.values[:, 0]
    np.testing.assert_allclose(np.linalg.norm(still[:, :3], axis=1), RHO * G * VOLUME, rtol=1e-12)
    flow = recording.fluid_velocity.values[:, 0]
    rate = (flow[1:] - flow[:-1]) / 0.1
    inside = np.arange(len(rate)) % 4 != 3  # steps across the end of a gust's line take part of the next
    sizes = np.linalg.norm(moved[:-1, :3], axis=1)
    np.testing.assert_allclose(sizes[inside], RHO * VOLUME * np.linalg.norm(rate, axis=1)[inside], rtol=1e-9)
    assert sizes.max() > 2.0
    np.testing.assert_allclose(moved[:, 3:], np.cross((0.1, 0.2, -0.1), moved[:, :3]), atol=1e-12)


def test_reports_show_it_under_its_own_name(recording):
    assert any("fluid acceleration" in p.series for p in plot_groups(recording)["forces"].panels)
    assert "Froude-Krylov" in recording.force_fluid_acceleration.attrs["long_name"]


def test_still_water_has_no_such_force():
    model = hm.load("bluerov2_heavy_alpha5")
    sim = hm.Simulation(model)
    assert "force_fluid_acceleration" not in sim.observe() and "force_buoyancy" in sim.observe()


@pytest.mark.parametrize("name", scenario_names())
def test_gusts_of_the_library_have_the_interval_that_is_advised(name):
    """A tenth of their time constant or longer: the acceleration of gusts grows as the interval shrinks."""
    gusts = load_scenario(name).environment.gusts
    if gusts is not None:
        assert gusts.interval >= 0.099 * gusts.time_constant
