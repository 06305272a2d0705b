"""Soft grips: closed forms of a held load, momentum, energy through closing and opening, the firm grasp as their limit."""

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.contact import Grasp, Grip

WORLD = hm.World(axes="NED", gravity=9.81)


def body(name: str, mass: float, com=(0.02, -0.03, 0.05), frame=(0.1, 0.05, -0.4), rpy=(0.3, -0.2, 0.5)) -> hm.Body:
    inertia = hm.Inertia(mass=mass, com=com, tensor=(0.3 * mass, 0.4 * mass, 0.2 * mass, 0.01, -0.02, 0.01))
    return hm.Body(name=name, inertia=inertia, frames=(hm.Frame(f"{name}_frame", hm.Origin(frame, rpy)),))


def base() -> hm.Body:
    """Something that cannot move, with a tilted frame."""
    return hm.Body(
        name="base",
        joint=hm.joints.Fixed(),
        inertia=hm.Inertia(mass=1.0, com=(0, 0, 0), tensor=(1, 1, 1, 0, 0, 0)),
        frames=(hm.Frame("jaws", hm.Origin((0, 0, 0), (0.2, 0.4, -0.3))),),
    )


def hung(load: hm.Body) -> np.ndarray:
    """Configuration of a free load whose frame coincides with the jaws."""
    jaws, frame = hm.Origin((0, 0, 0), (0.2, 0.4, -0.3)), load.frames[0].origin
    R = jaws.R @ frame.R.T
    return np.concatenate([-R @ frame.xyz, hm.spatial.quaternion_from_matrix(R)])


def grip(**changes) -> Grip:
    values = dict(
        holder="jaws", stiffness=(4e4, 6e4, 5e4), damping=(900.0, 800.0, 700.0), turning_damping=(0.5, 0.6, 0.7), closed=True
    )
    return Grip(name="grip", held="load_frame", **{**values, **changes})


def test_a_held_load_hangs_at_its_weight_over_the_stiffness():
    """Verify m g / k with the same stiffness in all directions, and that the grip's force is the weight."""
    load = body("load", 8.0)
    model = hm.Model(bodies=[base(), load], world=WORLD)
    soft = grip(stiffness=(2e4,) * 3, damping=(900.0,) * 3, turning_damping=(9.0,) * 3)
    sim = hm.Simulation(model, components=[soft], state=hm.State(q=hung(load), v=np.zeros(6)), step=2e-3)
    last = sim.run(20.0).recording.isel(time=-1)
    weight = 8.0 * 9.81
    assert float(last.grip_error.sel(misfit="distance").item()) == pytest.approx(weight / 2e4, rel=1e-3)
    assert np.linalg.norm(last.grip_force.values[0, :3]) == pytest.approx(weight, rel=1e-3)
    assert abs(last.v.values).max() < 1e-3


def test_the_firm_grasp_is_the_limit_of_stiff_grips():
    """Verify that the swing of a load tends to that in a ball joint, with an error that falls with the compliance."""
    load = body("load", 8.0)
    model = hm.Model(bodies=[base(), load], world=WORLD)
    ends = []
    for component in (
        Grasp(name="grip", holder="jaws", held="load_frame", free=("rx", "ry", "rz")),
        *(grip(stiffness=(k,) * 3, damping=(2.0 * np.sqrt(k * 8.0),) * 3, turning_damping=(0.0,) * 3) for k in (2e5, 8e5)),
    ):
        sim = hm.Simulation(model, components=[component], state=hm.State(q=hung(load), v=np.zeros(6)), step=1e-3)
        ends.append(sim.run(0.4).state.q)
    errors = [np.abs(end - ends[0]).max() for end in ends[1:]]
    assert np.abs(ends[0] - hung(load)).max() > 0.05  # it has swung
    assert errors[0] < 5e-3
    assert errors[1] < 0.4 * errors[0]  # a quarter of the compliance


def test_energy_and_momentum_through_closing_swinging_and_opening():
    """Verify that the work of jaws and dampers is accounted for, and that two free bodies keep their momentum."""
    holder = body("holder", 20.0, frame=(0.4, 0.0, 0.1), rpy=(0.1, 0.2, 0.3))
    load = body("load", 5.0)
    model = hm.Model(bodies=[holder, load], world=hm.World(gravity=0.0))
    q = model.neutral()[0]
    q[7:10] = (0.25, -0.03, 0.55)
    v = np.array([0.1, 0.2, -0.1, 0.2, -0.3, 0.4, -0.2, 0.1, 0.3, 0.5, 0.1, -0.6])
    jaws = grip(
        holder="holder_frame",
        closed=False,
        reach=1.0,
        turning_stiffness=(30.0, 20.0, 40.0),
        stiffness=(900.0, 700.0, 800.0),
        damping=(30.0, 20.0, 25.0),
    )
    events = [
        hm.Event(name="close", quantity="time", level=0.5, grasp=("grip",)),
        hm.Event(name="open", quantity="time", level=2.0, release=("grip",)),
    ]
    runs = [
        hm.Simulation(model, components=[jaws], events=events, state=hm.State(q=q, v=v), step=h).run(3.0).recording
        for h in (4e-3, 2e-3)
    ]
    ds = runs[-1]
    strength = ds.grip_strength.sel(grip="grip")
    assert float(strength.max()) > 0.99
    assert float(strength[-1]) < 1e-3
    assert abs(ds.work.sel(cause="grip")).max() > 0.1
    coarse, fine = (float(abs(r.energy_residual).max()) for r in runs)
    assert fine < 1e-6 * float(ds.kinetic_energy_body.max())
    assert coarse / fine > 12.0  # the method has order 4: 16
    momenta = []
    for k in (0, len(ds.time) // 2, -1):
        momentum = hm.equations.momentum(model, ds.q.values[k], ds.v.values[k])
        momenta.append(np.asarray(momentum, dtype=float))
    for now in momenta[1:]:
        np.testing.assert_allclose(now, momenta[0], rtol=0.0, atol=1e-8 * np.abs(momenta[0]).max())  # of order h^4


def test_jaws_out_of_reach_close_on_nothing():
    load = body("load", 8.0)
    model = hm.Model(bodies=[base(), load], world=hm.World(gravity=0.0))
    q = hung(load)
    q[:3] += (0.2, 0.0, 0.0)
    sim = hm.Simulation(model, components=[grip(closed=False)], state=hm.State(q=q, v=np.zeros(6)))
    sim.grasp("grip")
    ds = sim.run(1.0).recording
    assert float(ds.grip_strength.max()) == 0.0
    np.testing.assert_array_equal(sim.state.v, 0.0)


def test_errors():
    with pytest.raises(ValueError, match=r"grip 'grip': stiffness is \[-1.0, 0.0, 0.0\], must be at least 0"):
        grip(stiffness=(-1.0, 0.0, 0.0))
    load = body("load", 8.0)
    with pytest.raises(KeyError, match="grip 'grip'.*jaw"):
        hm.Simulation(hm.Model(bodies=[load]), components=[grip()])


def pair(component):
    """A plant of two bodies in one place that a grasp or a grip can join, and a state in which one moves."""
    model = hm.Model(bodies=[body("load", 2.0), body("other", 2.0)], world=hm.World(gravity=0.0))
    return hm.Plant(model=model, components=(component,)), hm.State(q=model.neutral()[0], v=np.eye(12)[0] * 0.01)


SOFT = dict(holder="load", held="other", stiffness=(10.0,) * 3, damping=(1.0,) * 3)


def test_switches_are_open_or_closed():
    """Verify that a grasp has nothing between, that a grip has a strength from 0 to 1, and that both report it."""
    for component, wrong, words in (
        (Grasp(name="g", holder="load", held="other"), 0.5, r"'g.closed' is 0.5, must be 0 \(open\) or 1 \(closed\)"),
        (Grasp(name="g", holder="load", held="other"), 2.0, "'g.closed' is 2, must be 0"),
        (Grip(name="g", **SOFT), -1.0, "'g.closed' is -1, must be between 0 and 1"),
    ):
        plant, state = pair(component)
        sim = hm.Simulation(plant, state=state, step=0.01)
        with pytest.raises(ValueError, match=words):
            sim.held = {"g.closed": wrong}
        with pytest.raises(ValueError, match=words):
            hm.rollout(plant, state.q, state.v, {"g.closed": wrong}, 0.01, 2)


def test_one_world_whose_switch_is_no_number_is_lost_alone():
    plant, state = pair(Grasp(name="g", holder="load", held="other"))
    switch = np.zeros((4, 6))
    switch[1, 3:], switch[2, 2:] = 1.0, np.nan
    got = hm.rollout(plant, np.tile(state.q, (4, 1)), state.v, {"g.closed": switch}, 0.01, 6, lanes=4)
    assert got.good.tolist() == [6, 6, 2, 6]
    assert got.v[1, -1, 0] == pytest.approx(0.005, rel=0.2) and got.v[0, -1, 0] == pytest.approx(0.01)
    got = hm.rollout(plant, np.tile(state.q, (2, 1)), state.v, {"g.closed": [0.0, np.nan]}, 0.01, 6)
    assert got.good.tolist() == [6, 0]


def test_no_worlds_and_times_that_are_none():
    for component in (Grasp(name="g", holder="load", held="other"), Grip(name="g", **SOFT)):
        plant, state = pair(component)
        assert hm.rollout(plant, np.zeros((0, 14)), np.zeros((0, 12)), {}, 0.01, 4).q.shape == (0, 5, 14)
    for t in (np.nan, "3"):
        with pytest.raises(ValueError, match="t is .*must be"):
            hm.rollout(plant, state.q, state.v, {}, 0.01, 4, t=t)
    with pytest.raises(ValueError, match="t is 1e.15 s, at which the resolution"):
        hm.rollout(plant, state.q, state.v, {}, 0.01, 4, t=1e15)


def test_a_grip_that_is_closed_at_the_start_holds_something():
    plant, state = pair(Grip(name="g", closed=True, **SOFT))
    q = state.q.copy()
    q[0] = 50.0
    far, near = (hm.Simulation(plant, state=hm.State(q=x, v=state.v), step=0.01) for x in (q, state.q))
    assert far.step(duration=0.1).internal[0] == 0.0 and far.state.v[0] == 0.01  # it closes on nothing
    assert near.step(duration=0.1).internal[0] == 1.0 and near.state.v[0] < 0.01


def test_jaws_that_close_on_nothing_stay_empty_until_they_open():
    """A load that drifts past jaws which have closed is not caught, and a message reports it; after opening it can be."""
    grip = Grip(name="g", **{**SOFT, "reach": 0.1, "closing_time": 0.05})
    plant, state = pair(grip)
    q, v = state.q.copy(), state.v.copy()
    q[:3] = q[7:10] - np.array([0.5, 0.0, 0.0])
    v[:6] = (0.3, 0, 0, 0, 0, 0)
    start = hm.State(q=q, v=v)
    close = hm.Event(name="early", quantity="time", level=0.1, grasp=("g",))
    sim = hm.Simulation(plant, state=start, step=0.01, events=[close])
    run = sim.run(3.0)
    assert any("'g' closes without an object: 'other' is 0.47 m away" in m for m in run.messages)
    assert run.recording.grip_strength.max() == 0.0 and run.state.v[0] == pytest.approx(0.3)
    open_again = hm.Event(name="open", quantity="time", level=0.5, release=("g",))
    in_time = hm.Event(name="in time", quantity="time", level=1.6, grasp=("g",))
    run = hm.Simulation(plant, state=start, step=0.01, events=[close, open_again, in_time]).run(3.0)
    assert any("'g' closes on 'other'" in m for m in run.messages) and run.recording.grip_strength.values[-1] > 0.99
