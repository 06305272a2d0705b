"""Height of the free surface as an unknown: derivatives, data made with a known height, plants that cannot have one."""

from dataclasses import replace

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import identification
from hydromechs.hydro import Current, FreeSurface, RegularWave

STEP, END = 0.05, 4.0
HEIGHT = 1.37
"""Height of the surface in the world of the recordings [m]."""
VOLUME = identification.Positive(name="hull.hydro.volume", deviation=0.1)


def floating(environment=None, *, shapes=True, volume=0.0105, center=(0.0, 0.0, 0.03)):
    """A light box with a spar on its side, free in water with a surface, z up."""
    hull = hm.Body(
        name="hull",
        joint=hm.joints.Free(),
        inertia=hm.Inertia(mass=10.0, com=(0.0, 0.0, -0.02), tensor=(0.3, 0.3, 0.3, 0, 0, 0)),
        hydro=hm.Hydro(
            volume=volume,
            buoyancy_center=center,
            added_mass=hm.added_mass.Diagonal((4.0, 6.0, 8.0, 0.1, 0.1, 0.1)),
            drag=(hm.drag.Damping(linear=(5, 5, 5, 1, 1, 1)),),
        ),
        shapes=(
            hm.geometry.Box(size=(0.3, 0.2, 0.15)),
            hm.geometry.Cylinder(radius=0.03, length=0.4).at((0.2, 0, 0.1)),
        )
        if shapes
        else (),
    )
    model = hm.Model(name="float", bodies=[hull], world=hm.World(axes="ENU"))
    return hm.Plant(model=model, environment=environment or hm.Environment(surface=FreeSurface()))


def start_at(z):
    """Configuration and velocity of a hull that rises, tilted, at the height z."""
    return np.array([0.0, 0.0, z, 0.995, 0.05, np.sqrt(1.0 - 0.995**2 - 0.05**2), 0.0]), np.array([0.02, 0, 0.1, 0, 0, 0])


def trial_of(samples, z):
    q, v = start_at(z)
    return identification.Trial(name="rise", start=0.0, end=END, q=q, v=v, samples=samples)


NAV = identification.Instrument(
    name="nav",
    body="hull",
    channels=tuple(identification.MeasuredChannel(quantity=x, deviation=2e-3) for x in ("roll", "pitch", "z")),
)
ANYTHING = {"nav.z": identification.ChannelSamples(np.array([0.0, END]), np.zeros(2))}


@pytest.fixture(scope="module")
def problem():
    """A hull that rises through the surface from 25 cm below it."""
    unknowns = [identification.SurfaceHeight(value=HEIGHT, deviation=0.1), VOLUME]
    return identification.Problem(floating(), [trial_of(ANYTHING, HEIGHT - 0.25)], [NAV], unknowns, start=[0.0] * 12, step=STEP)


def simulated(problem, height, volume=0.0105):
    return problem.simulate(np.array([height, np.log(volume)]), np.zeros((1, 0)))


def test_a_higher_surface_is_a_lower_start(problem):
    """The same trajectory as of a simulation, whose surface is at the world's origin, to rounding."""
    q, v = start_at(-0.25)
    run = hm.Simulation(floating(), step=STEP, record=STEP, state=hm.State(q=q, v=v)).run(END).recording
    found, _ = simulated(problem, HEIGHT)
    np.testing.assert_allclose(found[:, 0, 2], run.position.values[:, 0, 2] + HEIGHT, atol=1e-9)
    deep, _ = simulated(problem, HEIGHT + 5.0)
    assert deep[-1, 0, 2] - found[-1, 0, 2] > 0.05  # the hull has reached the surface


def test_derivatives_by_height_and_volume_are_those_of_differences(problem):
    _, slopes = simulated(problem, HEIGHT)
    h = 1e-6
    for k, change in enumerate(([h, 0.0], [0.0, h])):
        more, less = (
            problem.simulate(problem.guess + sign * np.array(change), np.zeros((1, 0)), derivatives=False)[0]
            for sign in (1.0, -1.0)
        )
        differences = (more - less)[:, 0] / (2.0 * h)
        # central differences of O(1) numbers with ε/h = 2e-10 of rounding; the curvature of P adds h² terms
        np.testing.assert_allclose(slopes[:, 0, :, k], differences, atol=1e-6 * np.abs(differences).max())
        assert np.abs(differences).max() > 0.05


@pytest.mark.parametrize("value", [HEIGHT - 0.04, HEIGHT + 0.1])
def test_height_and_volume_are_found_from_noisy_recordings(problem, value):
    values, _ = simulated(problem, HEIGHT)
    t = STEP * np.arange(len(values))
    noisy = values[:, 0] + 2e-3 * np.random.default_rng(1).normal(size=values[:, 0].shape)
    samples = {name: identification.ChannelSamples(t, x) for name, x in zip(problem.outputs.names, noisy.T, strict=True)}
    unknowns = [identification.SurfaceHeight(value=value, deviation=0.3), replace(VOLUME, value=0.0107)]
    found = hm.identify(floating(), [trial_of(samples, HEIGHT - 0.25)], [NAV], unknowns, step=STEP)
    assert found.converged and [row.name for row in found.found] == ["surface_height", "hull.hydro.volume"]
    for row, true in zip(found.found, (HEIGHT, 0.0105), strict=True):
        assert abs(row.value - true) < 4.0 * row.deviation
    assert found.found[0].deviation < 2e-3
    assert found.values()["surface_height"] == found.found[0].value


def test_a_body_that_stays_below_tells_nothing_of_the_height(problem):
    """The unknown keeps its value and its deviation, and is reported as a direction that the data cannot tell."""
    values, _ = simulated(problem, HEIGHT + 5.0)
    samples = {"nav.z": identification.ChannelSamples(STEP * np.arange(len(values)), values[:, 0, 2])}
    unknowns = [identification.SurfaceHeight(value=HEIGHT + 4.0, deviation=0.3), VOLUME]
    found = hm.identify(floating(), [trial_of(samples, HEIGHT - 0.25)], [NAV], unknowns, step=STEP)
    height = found.found[0]
    assert height.value == HEIGHT + 4.0 and height.deviation == pytest.approx(0.3)
    assert any("surface_height" in d.text for d in found.directions)


def test_waves_and_profiles_move_with_the_surface():
    """Waves decay and currents change with the depth below the surface, wherever it is."""
    profile = hm.hydro.PowerLaw(depth=2.0, exponent=0.5)
    sea = hm.Environment(
        surface=FreeSurface(),
        waves=(RegularWave(height=0.1, period=2.0),),
        current=Current(velocity=(0.3, 0.0, 0.0), profile=profile),
    )
    unknowns = [identification.SurfaceHeight()]
    problem = identification.Problem(floating(sea), [trial_of(ANYTHING, -0.25)], [NAV], unknowns, start=[0.0] * 12, step=STEP)
    low, _ = problem.simulate(np.array([0.0]), np.zeros((1, 0)), derivatives=False)
    problem.take([trial_of(ANYTHING, HEIGHT - 0.25)])
    high, _ = problem.simulate(np.array([HEIGHT]), np.zeros((1, 0)), derivatives=False)
    np.testing.assert_allclose(high[:, 0] - low[:, 0], np.tile([0.0, 0.0, HEIGHT], (len(low), 1)), atol=1e-9)


def test_a_plant_without_a_free_surface_is_rejected():
    with pytest.raises(KeyError, match=r"surface_height.*no free surface.*FreeSurface\(\)"):
        identification.Problem(
            floating(hm.Environment()),
            [trial_of(ANYTHING, 0.0)],
            [NAV],
            [identification.SurfaceHeight()],
            start=[0.0] * 12,
            step=STEP,
        )


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"lower": 2.0, "upper": 1.0}, "surface_height: lower bound 2 .* upper bound 1"),
        ({"value": 3.0, "upper": 2.0}, r"surface_height: value 3 m .*\[-inf, 2\] m"),
        ({"value": np.nan}, "surface_height.value is nan, must be finite"),
    ],
)
def test_bounds_without_the_value_are_rejected(fields, said):
    with pytest.raises(ValueError, match=said):
        identification.SurfaceHeight(**fields)


def test_a_volume_can_stay_open_at_a_surface_if_shapes_give_the_geometry():
    """An open volume scales the buoyancy of the shapes as the model's own does; a sphere made of the volume needs it."""
    q, v = start_at(-0.05)
    sim = hm.Simulation(replace(floating(), parameters=("hull.hydro.volume",)), step=STEP, record=STEP)
    sim.reset(hm.State(q=q, v=v))
    sim.parameters["hull.hydro.volume"] = 0.0112
    got = sim.run(0.5).recording
    want = hm.Simulation(floating(volume=0.0112), step=STEP, record=STEP, state=hm.State(q=q, v=v)).run(0.5).recording
    np.testing.assert_allclose(got.position, want.position, rtol=0, atol=1e-12)
    np.testing.assert_allclose(got.energy_residual, want.energy_residual, rtol=0, atol=1e-9)
    for plant, name in ((floating(shapes=False), "volume"), (floating(), "buoyancy_center")):
        with pytest.raises(ValueError, match=f"hull.hydro.{name}' cannot stay open with a free surface"):
            replace(plant, parameters=(f"hull.hydro.{name}",))
