"""Plants of identifications are those of simulations: water and motions that change with time, states that components store."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import contact, geometry, hydro, identification, lines
from hydromechs.actuation import JointMotion, motions
from hydromechs.contact import Terrain

STEP, END = 0.05, 3.0


def body(name, drag, joint, mass=10.0, **more):
    """A body with drag, a little heavier than water."""
    water = hm.Hydro(volume=9e-3, drag=hm.drag.Damping(linear=(drag, drag, drag, 1, 1, 1)))
    return hm.Body(name=name, joint=joint, inertia=hm.Inertia(mass=mass, tensor=(1, 1, 1, 0, 0, 0)), hydro=water, **more)


def followed(plant, state, quantities):
    """A simulation, an instrument on the hull, and a trial of all that it measures without any noise."""
    run = hm.Simulation(plant, step=STEP, record=STEP, state=state).run(END).recording
    seen = {"x": run.position.values[:, 0, 0], "z": run.position.values[:, 0, 2]}
    channels = tuple(identification.MeasuredChannel(quantity=x, deviation=1e-3) for x in quantities)
    samples = {f"nav.{x}": identification.ChannelSamples(run.time.values, seen[x]) for x in quantities}
    trial = identification.Trial(name="one", start=0.0, end=END, q=run.q.values[0], v=run.v.values[0], samples=samples)
    return run, identification.Instrument(name="nav", body="hull", channels=channels), trial


# -- what changes with time -----------------------------------------------------------------------------------------------------

SWING = motions.Recorded.of(np.linspace(0.0, 2.0, 18), 0.8 * np.sin(2.0 * np.linspace(0.0, 2.0, 18)))


def in_a_tide(drag, more=0.0):
    """A cart that slides along x in a tide with gusts, with an arm that swings as it was recorded; steps contain bends."""
    slide = hm.joints.Prismatic(axis=(1, 0, 0))
    swing = hm.joints.Revolute(axis=(0, 1, 0))
    arm = replace(
        body("arm", 1.0, swing), parent="hull", inertia=hm.Inertia(mass=4.0, com=(0, 0, 0.4), tensor=(0.1,) * 3 + (0,) * 3)
    )
    tide = hydro.Current(times=(0.0, 0.52, 1.73), velocities=((0.5 + more, 0, 0), (0.5 + more, 0, 0), (-0.5 + more, 0, 0)))
    water = hm.Environment(current=tide, gusts=hydro.Gusts(sigma=(0.1, 0.1, 0.1), time_constant=0.5, interval=0.25))
    model = hm.Model(name="cart", bodies=[body("hull", drag, slide), arm])
    return hm.Plant(model=model, environment=water, components=(JointMotion(joint="arm", motion=SWING),), seed=3)


@pytest.fixture(scope="module")
def tide():
    plant = in_a_tide(8.0, 0.05)
    return followed(plant, plant.start, "x")


def test_water_and_motions_change_as_in_a_simulation(tide):
    """A tide, gusts and a recorded motion of the plant, all of which bend within steps: the same trajectory, to rounding."""
    run, nav, trial = tide
    problem = identification.Problem(in_a_tide(8.0, 0.05), [trial], [nav], [DRAG_X, WATER], start=[0.0] * 4, step=STEP)
    assert len(problem.timeline.lengths) > problem.timeline.steps[0] + 10  # cut where something bends
    found, _ = problem.simulate(problem.guess, np.zeros((1, 0)), derivatives=False)
    np.testing.assert_allclose(found[:, 0, 0], run.q.values[:, 0], atol=1e-9)


DRAG_X = identification.Positive(name="hull.hydro.drag.0.linear", index=(0,), deviation=1.0)
WATER = identification.CurrentOf(deviation=0.2)


def test_drag_and_current_are_found_in_water_that_changes(tide):
    """The steady current that is sought comes on top of the table and the gusts."""
    _, nav, trial = tide
    found = hm.identify(in_a_tide(5.0), [trial], [nav], [DRAG_X, WATER], step=STEP)
    assert found.converged
    np.testing.assert_allclose([row.value for row in found.found[:2]], [8.0, 0.05], rtol=1e-4)


def test_a_trial_with_a_motion_that_the_plant_has_no_place_for_is_rejected(tide):
    _, nav, trial = tide
    other = replace(trial, motions={"hull": SWING})
    with pytest.raises(
        KeyError, match="'one' prescribes the motion of 'hull', but the plant has no recorded motion of this joint"
    ):
        hm.identify(in_a_tide(5.0), [other], [nav], [DRAG_X], step=STEP)


# -- what components store ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Leak(hm.Component):
    """A float that loses its lift: 20 N at the start."""

    name: str
    frame: str

    def states(self, model):
        return [hm.Slot("lift", 20.0, "N")]

    def act(self, now, z, u):
        place = now.frame(self.frame)
        lift = np.array([0.0, 0.0, -1.0]) * z["lift"]
        return hm.Action(forces=[place.force(lift)], rates={"lift": -z["lift"] / 2.0}, power=-z["lift"] * place.v[2])


def on_a_line(drag):
    """A hull that goes up and down below a soft line with two masses, and a float that leaks."""
    cable = lines.Cable(diameter=0.01, mass=2.0, axial_stiffness=300.0, axial_damping=20.0, bending_stiffness=0.0)
    top = lines.SwayingPoint(position=(0.5, 0.0, -3.0))
    line = lines.Tether(name="line", frame="hull", top=top, cable=cable, length=3.2, segments=2)
    model = hm.Model(name="buoy", bodies=[body("hull", drag, hm.joints.Prismatic(axis=(0, 0, 1)))])
    return hm.Plant(model=model, components=(Leak(name="leak", frame="hull"), line))


DRAG_Z = identification.Positive(name="hull.hydro.drag.0.linear", index=(2,), deviation=1.0)


@pytest.fixture(scope="module")
def buoy():
    return followed(on_a_line(8.0), hm.State(q=np.array([0.03]), v=np.zeros(1)), "z")


def test_internal_states_begin_as_components_say(buoy):
    """A number, and the places of a tether's masses, which follow the start: trajectory and derivatives."""
    run, nav, trial = buoy
    problem = identification.Problem(on_a_line(8.0), [trial], [nav], [DRAG_Z], start=[0.1, 0.1], step=STEP)
    _, x, _ = problem.starts(problem.guess, np.zeros((1, 2)))
    np.testing.assert_allclose(x[0, 1:], run.internal_state.values[0, : x.shape[1] - 1], atol=1e-12)
    found, _ = problem.simulate(problem.guess, np.zeros((1, 2)), derivatives=False)
    np.testing.assert_allclose(found[:, 0, 0], run.q.values[:, 0], atol=1e-9)
    down = np.array([[0.01, 0.3]])  # the line is taut on both sides
    slopes = problem.joined(problem.guess, down)[0][0].by_own
    for k, change in enumerate(1e-4 * np.eye(2)):
        more, less = (problem.joined(problem.guess, down + s * change, derivatives=False)[0][0].residual for s in (1.0, -1.0))
        by_differences = (more - less) / 2e-4
        np.testing.assert_allclose(slopes[:, k], by_differences, atol=1e-5 * np.abs(by_differences).max())


@pytest.mark.parametrize(("start", "pieces"), [(None, None), (None, 0.75), ([0.1, 0.0], 0.75)])
def test_drag_is_found_beside_internal_states(buoy, start, pieces):
    """As a whole and in pieces, with exact starts and with partly known ones."""
    _, nav, trial = buoy
    if start is not None:
        trial = replace(trial, q=trial.q + 0.02)
    found = hm.identify(on_a_line(5.0), [trial], [nav], [DRAG_Z], start=start, step=STEP, shooting_interval=pieces)
    assert found.converged and found.solution.gap < 1e-7
    assert found.found[0].value == pytest.approx(8.0, rel=1e-3)


def test_a_tether_that_does_not_reach_is_rejected(buoy):
    _, nav, trial = buoy
    with pytest.raises(ValueError, match="tether 'line'") as refused:
        hm.identify(on_a_line(5.0), [replace(trial, q=np.array([0.5]))], [nav], [DRAG_Z], step=STEP)
    assert refused.value.__notes__ == ["in trial 'one'"]


# -- what has no derivatives ----------------------------------------------------------------------------------------------------


def grasping():
    hull, load = (body(name, 5.0, hm.joints.Free(), frames=(hm.Frame(f"{name}_tip"),)) for name in ("hull", "load"))
    hand = contact.Grasp(name="hand", holder="hull_tip", held="load_tip")
    return hm.Plant(model=hm.Model(name="m", bodies=[hull, load]), components=(Leak(name="leak", frame="hull"), hand))


def on_a_field():
    hull = body("hull", 5.0, hm.joints.Prismatic(axis=(0, 0, 1)), shapes=(hm.geometry.Sphere(radius=0.1),))
    bed = contact.Material(law=contact.LinearContact(stiffness=2e3, damping=100.0))
    field = Terrain(
        name="bed", material=bed, shape=geometry.HeightField(x=(-1, 0, 1), y=(-1, 1), heights=((0, 0), (0.1, 0.1), (0, 0)))
    )
    return hm.Simulation(hm.Model(name="m", bodies=[hull]), components=[field]).plant


@pytest.mark.parametrize(("made", "name"), [(grasping, r"'hand' \(grasp\)"), (on_a_field, r"'hull on bed' \(contact\)")])
def test_parts_without_derivatives_are_rejected_by_name(made, name):
    """They gave a converged search and wrong numbers."""
    plant = made()
    start, nav = (
        plant.start,
        identification.Instrument(
            name="nav", body="hull", channels=(identification.MeasuredChannel(quantity="z", deviation=1e-3),)
        ),
    )
    samples = {"nav.z": identification.ChannelSamples(np.array([0.0, 1.0]), np.zeros(2))}
    trial = identification.Trial(name="one", start=0.0, end=1.0, q=start.q, v=start.v, samples=samples)
    with pytest.raises(hm.UnsupportedFeature, match=f"identify: .* without derivatives.*: {name}; remove these components"):
        hm.identify(plant, [trial], [nav], [DRAG_Z], step=STEP)
