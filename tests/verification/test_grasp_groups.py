"""Grasps that have nothing to do with each other, of any masses: none sets another's forces free; what is set free is said."""

from dataclasses import replace

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.contact import Grasp
from hydromechs.model import State
from hydromechs.recording import structured
from hydromechs.simulation import Plant, evaluate
from hydromechs.simulation._watches import FreeForces

WORLD = hm.World(axes="ENU", gravity=9.81)


def post(name: str = "quay") -> hm.Body:
    return hm.Body(name=name, joint=hm.joints.Fixed(), inertia=hm.Inertia(mass=1.0, tensor=(1, 1, 1, 0, 0, 0)))


def block(name: str, mass: float, size: float = 1.0, **joint) -> hm.Body:
    """A block off its centre of mass, whose moments of inertia differ; its grip is at its origin."""
    tensor = mass * size**2 * np.array([0.1, 0.2, 0.25, 0.01, -0.02, 0.015])
    inertia = hm.Inertia(mass=mass, com=(0.3 * size, -0.1 * size, 0.2 * size), tensor=tuple(tensor))
    return hm.Body(name=name, joint=hm.joints.Free(**joint), inertia=inertia)


SHIP = block("ship", 1e6, 60.0)
HAND = hm.Body(
    name="hand", joint=hm.joints.Revolute(placement=hm.Origin((5.0, 0, 0), (0.3, 0.2, 0.1)), axis=(0, 1, 0)),
    inertia=hm.Inertia(mass=0.5, com=(0.1, 0, 0), tensor=(1e-3, 2e-3, 2e-3, 0, 0, 0)), frames=(hm.Frame("palm", hm.Origin((0.2, 0, 0))),),
)  # fmt: skip
DOCK = Grasp(name="dock", holder="quay", held="ship")
HOLD = Grasp(name="hold", holder="palm", held="load")


def harbour(bodies, grasps, **options) -> hm.Simulation:
    """Expected forces of a ship at a quay and a hand that holds 1 kg, at rest."""
    model = hm.Model(name="harbour", bodies=bodies, world=WORLD)
    state = model.initial()
    if "load" in model.body_names:
        X = hm.frame_pose(model, state.q, "palm")
        state.q[-7:] = [*X[:3, 3], *hm.spatial.quaternion_from_matrix(X[:3, :3])]
    return hm.Simulation(model, components=[*grasps], state=State(q=state.q, v=state.v), record=0.05, **options)


def test_a_ship_stays_docked_while_a_hand_holds_a_kilogram():
    """A stiff dock carries the ship's weight and moment; the hand is nobody's business."""
    sim = harbour([post(), SHIP, HAND, block("load", 1.0, 0.02)], [DOCK, HOLD])
    run = sim.run(0.5)
    ds = run.recording
    np.testing.assert_allclose(ds.position.sel(body="ship"), 0.0, atol=1e-9)
    np.testing.assert_allclose(ds.orientation.sel(body="ship", wxyz=["x", "y", "z"]), 0.0, atol=1e-9)
    force = ds.grasp_force.sel(grasp="dock")[-1].values
    arm, weight = np.array(SHIP.inertia.com), 1e6 * np.array([0.0, 0.0, -9.81])
    np.testing.assert_allclose(force, -np.concatenate([weight, np.cross(arm, weight)]), rtol=0, atol=1e-6 * np.abs(force).max())
    assert list(ds.constraint_group.values) == ["dock", "hold"]
    assert not ds.constraint_free.any() and not any("set to 0" in m for m in run.messages)


def test_a_hand_on_the_docked_ship():
    """One group, masses from 1e6 to 1 kg: rows are scaled, and all are held."""
    hand = replace(HAND, parent="ship")
    ds = harbour([post(), SHIP, hand, block("load", 1.0, 0.02)], [DOCK, HOLD]).run(0.2).recording
    assert list(ds.constraint_group.values) == ["dock + hold"] and not ds.constraint_free.any()
    np.testing.assert_allclose(ds.position.sel(body="ship"), 0.0, atol=1e-9)
    assert float(ds.grasp_error.max()) < 1e-9


def test_groups_together_are_groups_alone():
    """Accelerations, forces and impulses to the last bits."""
    moving = replace(SHIP, joint=hm.joints.Free(velocity=(0.1, 0.2, -0.1, 0.01, 0.02, 0.03)))
    load = block("load", 1.0, 0.02, velocity=(1.0, 2.0, 3.0, 0.3, -0.2, 0.1))
    both = harbour([post(), moving, HAND, load], [DOCK, HOLD])
    ship, hand = harbour([post(), moving], [DOCK]), harbour([HAND, load], [HOLD])
    np.testing.assert_allclose(both.state.v[:6], ship.state.v, rtol=0, atol=1e-15)
    # speeds of 12 rad/s, rounded in every step of the run: some tens of units in the last place (1.8e-15 each)
    np.testing.assert_allclose(both.state.v[6:], hand.state.v, rtol=0, atol=1e-13)
    a, b, c = (sim.run(0.1).recording for sim in (both, ship, hand))
    for name in ("q", "v"):
        n = b[name].shape[1]
        np.testing.assert_allclose(a[name].values[:, :n], b[name].values, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(a[name].values[:, n:], c[name].values, rtol=1e-12, atol=1e-14)
    for part in (b, c):
        given = a.sel(grasp=part.grasp.values, constraint_group=part.constraint_group.values)
        for name in ("grasp_force", "constraint_pivot", "constraint_free"):
            size = float(abs(part[name]).max())
            np.testing.assert_allclose(given[name], part[name], rtol=0, atol=1e-12 * max(size, 1e-3))


def test_closing_one_group_leaves_another_alone():
    """The impulse of a hand that closes does not touch the drift of a ship that is docked."""
    sim = harbour([post(), SHIP, HAND, block("load", 1.0, 0.02)], [DOCK, replace(HOLD, closed=False)])
    state = sim.state
    state.v[:6], state.v[7:] = 1e-5, 0.5
    sim.state = state
    sim.grasp("hold")
    np.testing.assert_array_equal(sim.state.v[:6], state.v[:6])
    assert np.abs(sim.state.v[6:] - state.v[6:]).max() > 0.1


# -- which directions are free ----------------------------------------------------------------------------------------------------


def scaled(body: hm.Body, k: float) -> hm.Body:
    inertia = body.inertia
    return replace(body, inertia=replace(inertia, mass=k * inertia.mass, tensor=tuple(k * np.array(inertia.tensor))))


def four_bar(k: float) -> Plant:
    """A crank with a coupler, and a rocker, tilted: of their hinge x and y are to be held; joints hold the rest, up to rounding."""
    inertia = hm.Inertia(mass=2.0, com=(0.2, 0.03, 0.01), tensor=(0.01, 0.03, 0.03, 0, 0, 0))
    rpy = (0.3, 0.2, -0.3)
    R = hm.Origin(rpy=rpy).R
    z = {"axis": (0, 0, 1)}
    crank = hm.Body(name="crank", joint=hm.joints.Revolute(placement=hm.Origin(rpy=rpy), position=0.8, **z), inertia=inertia)
    coupler = hm.Body(
        name="coupler", parent="crank", joint=hm.joints.Revolute(placement=hm.Origin((0.4, 0, 0)), position=-0.5, **z), inertia=inertia,
        frames=(hm.Frame("pin", hm.Origin((0.7, 0, 0))),),
    )  # fmt: skip
    rocker = hm.Body(
        name="rocker", joint=hm.joints.Revolute(placement=hm.Origin(tuple(R @ [0.9, 0, 0]), rpy), **z), inertia=inertia,
        frames=(hm.Frame("eye", hm.Origin((0.5, 0, 0))),),
    )  # fmt: skip
    model = hm.Model(name="four_bar", bodies=[scaled(b, k) for b in (crank, coupler, rocker)], world=WORLD)
    return Plant(
        model=model, components=(Grasp(name="pin", holder="pin", held="eye", free=("rz",), tolerance=9.0, stabilisation=0.0),)
    )


def doubled(k: float) -> Plant:
    """A hinge that reports what a joint says: nothing is left to hold, up to rounding."""
    plant = four_bar(k)
    crank, coupler, _ = plant.model.bodies
    crank = replace(crank, frames=(hm.Frame("end", hm.Origin((0.4, 0, 0))),))
    model = hm.Model(name="doubled", bodies=[crank, coupler], world=WORLD)
    return Plant(model=model, components=(Grasp(name="again", holder="end", held="coupler", free=("rz",)),))


def mixed(k: float) -> Plant:
    """A vehicle with two arms on one load, which can do 8 of the 12 motions that they hold, and an arm elsewhere on another."""
    hull = block("hull", 50.0)
    links = [
        hm.Body(
            name=f"arm{i}", parent=None if i == 2 else "hull", inertia=hm.Inertia(mass=2.0, com=(0.2, 0, 0.01), tensor=(0.01, 0.03, 0.03, 0, 0, 0)),
            joint=hm.joints.Revolute(placement=hm.Origin((0.2, 0.4 * i, 0.1), (0.1 * i, 0.3, -0.2)), axis=(0.3, 0, 1)),
        )
        for i in range(3)
    ]  # fmt: skip
    loads = [block("load", 3.0, 0.3), block("other", 1.0, 0.1)]
    model = hm.Model(name="mixed", bodies=[scaled(b, k) for b in (hull, *links, *loads)], world=WORLD)
    names = [("left", "arm0", "load"), ("third", "arm2", "other"), ("right", "arm1", "load")]
    return Plant(
        model=model, components=tuple(Grasp(name=n, holder=a, held=b, tolerance=9.0, stabilisation=0.0) for n, a, b in names)
    )


@pytest.mark.parametrize("build, free", [(four_bar, [3]), (doubled, [5]), (mixed, [4, 0])])
def test_masses_do_not_decide_which_directions_are_free(build, free):
    """With a thousandth and a million times the masses, accelerations stay what they are."""
    seen = []
    for k in (1.0, 1e-3, 1e6):
        plant = build(k)
        q, v = plant.model.initial().q, np.zeros(plant.model.nv)
        e = evaluate(plant, 0.0, q, v, np.zeros(plant.layout.nz), np.ones(len(plant.components)))
        np.testing.assert_array_equal(e.constraint_free, free)
        seen.append(e)
    for e in seen[1:]:
        np.testing.assert_allclose(e.vdot, seen[0].vdot, rtol=0, atol=1e-9 * np.abs(seen[0].vdot).max())
        np.testing.assert_allclose(e.constraint_pivot, seen[0].constraint_pivot, rtol=1e-6, atol=1e-13)


@pytest.mark.parametrize("build", [four_bar, mixed])
def test_groups_are_the_pseudo_inverse_of_all_rows(build):
    """At rest, where dependent rows agree: one dense system of all of them, in floats; and machine code."""
    plant = build(1.0)
    model, on = plant.model, np.ones(len(plant.components))
    q = model.initial().q
    sim = hm.Simulation(plant, state=State(q=q, v=np.zeros(model.nv), held=on))
    e, off = (evaluate(plant, 0.0, q, np.zeros(model.nv), np.zeros(plant.layout.nz), x * on) for x in (1.0, 0.0))
    kin = hm.dynamics.kinematics(model, q, np.zeros(model.nv))
    J = np.concatenate([hm.dynamics.joined_rows(model, kin, grasp).J for grasp in plant.components])
    across = np.linalg.solve(hm.mass_matrix(model, q), J.T)
    expected = off.vdot - across @ (np.linalg.pinv(J @ across, rcond=1e-12, hermitian=True) @ (J @ off.vdot))
    np.testing.assert_allclose(e.vdot, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    seen = sim.observe()
    np.testing.assert_array_equal(seen["constraint_free"], e.constraint_free)
    np.testing.assert_allclose(seen["constraint_pivot"], e.constraint_pivot, rtol=1e-9)
    forces = np.stack([out["grasp_force"] for out in e.outputs])
    np.testing.assert_allclose(seen["grasp_force"], forces, rtol=0, atol=1e-9 * np.abs(forces).max())


def test_rows_that_are_rounding_are_free_in_machine_code():
    """A hinge on a hinge has nothing to hold: the motion is the one without it."""
    sim = hm.Simulation(doubled(1.0))
    seen = sim.observe()
    assert seen["constraint_free"] == 5 and not seen["grasp_force"].any()
    alone = hm.Simulation(sim.model)
    np.testing.assert_allclose(sim.step(duration=0.05).q, alone.step(duration=0.05).q, rtol=0, atol=1e-13)


def test_groups_by_the_trees_that_they_share():
    plant = mixed(1.0)
    assert plant.groups == ((0, 2), (1,)) and plant.group_names == ("left + right", "third")
    across = Grasp(name="across", holder="other", held="hull", closed=False, tolerance=9.0)
    assert Plant(model=plant.model, components=(*plant.components, across)).groups == ((0, 1, 2, 3),)
    # arms on one fixed body do not move each other
    arms = [replace(HAND, name=f"hand{k}", parent="quay", frames=()) for k in range(2)]
    model = hm.Model(name="two", bodies=[post(), *arms, block("load", 1.0), block("other", 1.0)], world=WORLD)
    pair = (Grasp(name="a", holder="hand0", held="load"), Grasp(name="b", holder="hand1", held="other"))
    assert Plant(model=model, components=pair).groups == ((0,), (1,))


# -- what a run says --------------------------------------------------------------------------------------------------------------


def test_a_run_says_once_when_forces_were_free():
    """A second dock that says the same closes and opens again: when, which, how many."""
    again = replace(DOCK, name="again", closed=False)
    events = [
        hm.Event(name="loose", quantity="constraint_free.dock + again", level=3.0, direction="rising"),
        hm.Event(name="tie", quantity="time", level=0.1, grasp="again"),
        hm.Event(name="untie", quantity="time", level=0.2, release="again"),
    ]
    sim = harbour([post(), SHIP, HAND, block("load", 1.0, 0.02)], [DOCK, again, HOLD], events=events)
    run = sim.run(0.4)
    said = [m for m in run.messages if "set to 0" in m]
    assert len(said) == 1 and said[0].startswith("t = 0.1 s to 0.2 s: the constraints dock + again")
    assert "up to 6 constraint forces" in said[0] and said[0] in structured(run.recording, "messages")
    free = run.recording.constraint_free.sel(constraint_group="dock + again")
    np.testing.assert_array_equal(free, [0, 0, 6, 6, 0, 0, 0, 0, 0])
    assert not run.recording.constraint_free.sel(constraint_group="hold").any()


def test_free_forces_over_several_intervals():
    free = FreeForces(["a", "b"])
    free.look(np.array([0.0, 1.0, 2.0]), np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]]))
    free.look(np.array([3.0, 4.0]), np.array([[2.0, 0.0], [2.0, 0.0]]))
    (text,) = free.messages()
    assert text.startswith("t = 1 s to 2 s, 2 times, the last 3 s to 4 s: the constraints a")


# -- rollouts ---------------------------------------------------------------------------------------------------------------------


def test_a_rollout_closes_grasps_as_a_simulation_does():
    """From the start, or at a step; the impulse, its work, and the motion after it."""
    load = block("load", 1.0, 0.1, velocity=(0.5, 0.2, -0.3, 0.3, -0.2, 0.1))
    for closed, steps in ((True, 0), (False, 2)):
        events = [] if closed else [hm.Event(name="catch", quantity="time", level=0.002, grasp="hold")]
        sim = harbour([HAND, load], [replace(HOLD, closed=closed, tolerance=0.01)], events=events)
        start = harbour([HAND, load], [replace(HOLD, closed=False)]).state
        switch = {} if closed else {"hold.closed": (np.arange(10) >= steps).astype(float)}
        out = hm.rollout(sim.plant, np.stack([start.q, start.q]), start.v, {k: x[None] for k, x in switch.items()}, 1e-3, 10)
        if closed:
            np.testing.assert_array_equal(out.v[0, 0], sim.state.v)
        assert np.abs(out.v[0, steps] - start.v).max() > 0.1
        end = sim.run(0.01).state
        np.testing.assert_allclose(out.v[:, -1], np.stack([end.v] * 2), rtol=0, atol=1e-9)
        np.testing.assert_allclose(out.internal[:, -1], np.stack([end.internal] * 2), rtol=0, atol=1e-9)
        # what continues holds already
        state = sim.state
        more = hm.rollout(sim.plant, state.q, state.v, {"hold.closed": 1.0}, 1e-3, 1, internal=state.internal)
        np.testing.assert_array_equal(more.v[0], state.v)


def test_a_rollout_of_frames_that_do_not_meet():
    sim = harbour([HAND, block("load", 1.0)], [replace(HOLD, closed=False)])
    q = sim.state.q.copy()
    q[-5] += 1.0
    with pytest.raises(ValueError, match="grasp 'hold': 'palm' and 'load' do not meet"):
        hm.rollout(sim.plant, q, sim.state.v, {"hold.closed": 1.0}, 1e-3, 2)
