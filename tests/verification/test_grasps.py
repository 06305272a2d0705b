"""Grasps in a simulation: impulses, drift, energy; a grasp is the joint that leaves the same directions free."""

from dataclasses import replace

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.contact import Grasp
from hydromechs.hydro import Current, Environment
from hydromechs.model import State
from hydromechs.simulation import evaluate
from hydromechs.spatial import quaternion_from_matrix, quaternion_matrix, rpy_from_matrix

WORLD = hm.World(axes="ENU", gravity=9.81)
GRIP = hm.Origin((0.1, -0.05, 0.02), (0.3, -0.2, 0.5))
"""Position of the grip on the load [m]."""
HAND = hm.Origin((0.3, 0.02, 0.01), (-0.4, 0.6, 0.1))
"""Position of the hand on the last link [m]."""


def water(seed: int) -> hm.Hydro:
    B = 0.3 * np.random.default_rng(seed).normal(size=(6, 6))
    return hm.Hydro(
        volume=0.001,
        buoyancy_center=(0.01, 0.02, -0.03),
        added_mass=hm.added_mass.Matrix(B @ B.T + np.diag((1.0, 2.0, 1.5, 0.02, 0.03, 0.01))),
        drag=hm.drag.Damping(linear=(1.0, 2.0, 3.0, 0.1, 0.2, 0.1)),
    )


def load(wet: bool, parent: str | None = None, joint=None) -> hm.Body:
    return hm.Body(
        name="load",
        parent=parent,
        joint=joint or hm.joints.Free(),
        inertia=hm.Inertia(mass=2.0, com=(0.03, 0.01, -0.02), tensor=(0.02, 0.03, 0.025, 0.001, -0.002, 0.001)),
        hydro=water(1) if wet else None,
        frames=(hm.Frame("grip", GRIP),),
    )


def arm(wet: bool) -> tuple[hm.Body, ...]:
    """Two links on the world, tilted, with a hand."""
    common = {"inertia": hm.Inertia(mass=3.0, com=(0.15, 0.0, 0.01), tensor=(0.01, 0.03, 0.03, 0, 0, 0))}
    upper = hm.Body(
        name="upper", joint=hm.joints.Revolute(placement=hm.Origin((0, 0, 1), (0.2, 0.1, 0.3)), axis=(0, 1, 0)), **common,
        hydro=water(2) if wet else None,
    )  # fmt: skip
    fore = hm.Body(
        name="fore", parent="upper", joint=hm.joints.Revolute(placement=hm.Origin((0.3, 0, 0), (0.4, 0, 0)), axis=(0.3, 0, 1)),
        **common, frames=(hm.Frame("hand", HAND),), hydro=water(3) if wet else None,
    )  # fmt: skip
    return upper, fore


def pose(origin: hm.Origin) -> np.ndarray:
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = origin.R, origin.xyz
    return X


def meeting(model: hm.Model, q_arm, *, holder: str = "hand") -> np.ndarray:
    """The configuration in which the load's grip is at the hand, shape (nq,)."""
    q = model.neutral()[0]
    q[: len(q_arm)] = q_arm
    X = hm.frame_pose(model, q, holder) @ np.linalg.inv(pose(GRIP))
    q[-7:] = [*X[:3, 3], *quaternion_from_matrix(X[:3, :3])]
    return q


def held_by_arm(wet: bool, *, free=(), **options) -> hm.Simulation:
    """The load in the arm's hand, at rest."""
    model = hm.Model(name="grasped", bodies=[*arm(wet), load(wet)], world=WORLD)
    grasp = Grasp(name="grip", holder="hand", held="grip", free=free, tolerance=1e-9)
    state = State(q=meeting(model, [0.4, 0.7]), v=np.zeros(model.nv))
    return hm.Simulation(model, components=[grasp], state=state, **options)


def apart(a, b, name: str = "load") -> float:
    """Largest difference of positions [m] and rotations [rad] of a body in two recordings, and of the arm's two joints."""
    p = np.abs(a.position.sel(body=name).values - b.position.sel(body=name).values).max()
    qa, qb = a.orientation.sel(body=name).values, b.orientation.sel(body=name).values
    sign = np.sign(np.sum(qa * qb, axis=-1, keepdims=True))
    return max(p, 2.0 * np.abs(qa - sign * qb).max(), np.abs(a.q.values[:, :2] - b.q.values[:, :2]).max())


# -- a grasp is a joint ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wet", [False, True])
def test_a_rigid_grasp_is_a_fixed_joint(wet):
    """An arm swings with the load in its hand, as with the load fixed to it."""
    sim = held_by_arm(wet, record=0.05)
    X = pose(HAND) @ np.linalg.inv(pose(GRIP))
    place = hm.Origin(tuple(X[:3, 3]), tuple(rpy_from_matrix(X[:3, :3])))
    fixed = hm.Model(name="fixed", bodies=[*arm(wet), load(wet, "fore", hm.joints.Fixed(placement=place))], world=WORLD)
    other = hm.Simulation(fixed, state=State(q=np.array([0.4, 0.7]), v=np.zeros(2)), record=0.05)
    a, b = sim.run(1.0).recording, other.run(1.0).recording
    assert np.ptp(a.q.values[:, 0]) > 0.5
    # rk4 at 1 ms on motions of some rad/s: (h ω)^4 ~ 1e-10 a second
    assert apart(a, b) < 1e-8
    assert float(abs(a.grasp_error).max()) < 1e-9
    energy = [d.kinetic_energy_body + d.kinetic_energy_fluid + d.potential_energy for d in (a, b)]
    assert float(abs(energy[0] - energy[1]).max()) < 1e-7


@pytest.mark.parametrize("wet", [False, True])
@pytest.mark.parametrize(
    "free, joint",
    [
        (("rz",), hm.joints.Revolute(axis=(0, 0, 1))),
        (("rx", "ry", "rz"), hm.joints.Ball()),
        (("x",), hm.joints.Prismatic(axis=(1, 0, 0))),
        (("rx", "ry"), hm.joints.Composite(parts=(hm.joints.Revolute(axis=(1, 0, 0)), hm.joints.Revolute(axis=(0, 1, 0))))),
    ],
    ids=["hinge", "ball", "slider", "universal"],
)
def test_a_grasp_with_free_directions_is_a_joint(free, joint, wet):
    """The hand's links turn while the load turns or slides in the grip: joint and grasp move alike."""
    bodies = [*arm(wet), replace(load(wet), frames=(hm.Frame("grip", hm.Origin()),))]
    model = hm.Model(name="grasped", bodies=bodies, world=WORLD)
    q = model.neutral()[0]
    q[:2] = 0.4, 0.7
    X = hm.frame_pose(model, q, "hand")
    q[-7:] = [*X[:3, 3], *quaternion_from_matrix(X[:3, :3])]
    grasp = Grasp(name="grip", holder="hand", held="grip", free=free, tolerance=1e-9)
    sim = hm.Simulation(model, components=[grasp], state=State(q=q, v=np.zeros(model.nv)), record=0.05)
    first, *others = joint.parts
    joint = hm.joints.Composite(parts=(replace(first, placement=HAND), *others)) if others else replace(first, placement=HAND)
    jointed = hm.Model(name="jointed", bodies=[*arm(wet), load(wet, "fore", joint)], world=WORLD)
    q2 = jointed.neutral()[0]
    q2[:2] = 0.4, 0.7
    other = hm.Simulation(jointed, state=State(q=q2, v=np.zeros(jointed.nv)), record=0.05)
    a, b = sim.run(0.5).recording, other.run(0.5).recording
    assert np.abs(b.v.values[-1, 2:]).max() > 0.3  # it does move in the grip
    assert apart(a, b) < 1e-8
    assert float(abs(a.grasp_error).max()) < 1e-9
    # no force in free directions; the second axis of a universal joint has left that of the hand
    at = ["x", "y", "z", "rx", "ry", "rz"]
    assert not a.grasp_force.values[:, 0, [at.index(k) for k in (free[:1] if others else free)]].any()


def test_a_load_hinged_to_the_world_swings_as_a_pendulum():
    """Period 2π √(I / m g d) of a small swing about a hinge on a body that is fixed to the world."""
    m, d, I = 2.0, 0.5, 0.04
    post = hm.Body(
        name="post", joint=hm.joints.Fixed(placement=hm.Origin((0, 0, 2))), inertia=hm.Inertia(mass=1.0, tensor=(1, 1, 1, 0, 0, 0)),
        frames=(hm.Frame("pin", hm.Origin((0.2, 0.1, 0.0))),),
    )  # fmt: skip
    bob = hm.Body(
        name="bob", joint=hm.joints.Free(), inertia=hm.Inertia(mass=m, com=(0, 0, -d), tensor=(I, I, 0.02, 0, 0, 0)),
        frames=(hm.Frame("eye", hm.Origin()),),
    )  # fmt: skip
    model = hm.Model(name="pendulum", bodies=[post, bob], world=WORLD)
    angle = 0.01
    q = np.array([0.2, 0.1, 2.0, np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0])
    hinge = Grasp(name="hinge", holder="pin", held="eye", free=("ry",))
    sim = hm.Simulation(model, components=[hinge], state=State(q=q, v=np.zeros(6)), step=2e-3, record=0.002)
    period = 2.0 * np.pi * np.sqrt((I + m * d**2) / (m * 9.81 * d)) * (1.0 + angle**2 / 16.0)
    run = sim.run(2.2 * period)
    rate = run.recording.v.sel(dof="bob.q").values
    t = run.recording.time.values
    k = np.flatnonzero((rate[:-1] < 0.0) & (rate[1:] >= 0.0))
    crossings = t[k] - rate[k] * (t[k + 1] - t[k]) / (rate[k + 1] - rate[k])
    # linear interpolation between samples of 2 ms and O(angle⁴)
    assert crossings[1] - crossings[0] == pytest.approx(period, rel=1e-6)
    ds = run.recording
    # at the lowest point the pin carries the weight and the centripetal force m d ω²
    low = int(np.argmax(np.abs(rate)))
    assert ds.grasp_force.values[low, 0, 2] == pytest.approx(m * 9.81 + m * d * rate[low] ** 2, rel=1e-5)
    assert np.abs(ds.energy_residual).max() < 1e-9


# -- closing and opening --------------------------------------------------------------------------------------------------------


def two_bodies(**options) -> tuple[hm.Simulation, State]:
    """A hull with a swinging arm and a load beside it, all moving, in water; the grasp is open."""
    hull = hm.Body(
        name="hull", joint=hm.joints.Free(), hydro=water(4),
        inertia=hm.Inertia(mass=8.0, com=(0.02, -0.03, 0.01), tensor=(0.3, 0.4, 0.5, 0.01, 0.02, -0.03)),
    )  # fmt: skip
    fore = replace(arm(True)[1], parent="hull")
    model = hm.Model(name="catch", bodies=[hull, fore, load(True)], world=WORLD)
    rng = np.random.default_rng(7)
    x = rng.normal(size=4)
    q = np.array([*rng.normal(size=3), *(x / np.linalg.norm(x)), 0.6, *np.zeros(6), 1.0])
    X = hm.frame_pose(model, _unit(q), "hand") @ np.linalg.inv(pose(GRIP))
    q[-7:] = [*X[:3, 3], *quaternion_from_matrix(X[:3, :3])]
    state = State(q=q, v=rng.normal(size=model.nv))
    given = {"name": "catch", "holder": "hand", "held": "grip", "tolerance": 1e-9, "closed": False} | options.pop("grasp", {})
    return hm.Simulation(model, components=[Grasp(**given)], state=state, **options), state


def _unit(q):
    q = q.copy()
    q[-7:] = [0, 0, 0, 1, 0, 0, 0]
    return q


@pytest.mark.parametrize("free", [(), ("rz",), ("rx", "ry", "rz")])
def test_closing_conserves_momentum_and_books_the_loss(free):
    sim, state = two_bodies(grasp={"free": free})
    model = sim.model
    before = hm.equations.momentum(model, state.q, state.v)
    energy = [hm.energy(model, state.q, state.v)]
    lost = sim.grasp("catch")
    after = sim.state
    np.testing.assert_array_equal(after.q, state.q)
    np.testing.assert_allclose(
        hm.equations.momentum(model, after.q, after.v), before, rtol=0, atol=1e-12 * np.abs(before).max()
    )
    energy.append(hm.energy(model, after.q, after.v))
    drop = energy[0].total - energy[1].total
    assert lost == pytest.approx(drop, rel=1e-12) and lost > 0.1
    assert after.internal[sim.plant.layout.states.index("work.grasps")] == pytest.approx(-lost, rel=1e-12)
    # the frames move together now, and closing once more changes nothing
    J = hm.jacobian(model, after.q, "hand")
    R = hm.frame_pose(model, after.q, "hand")[:3, :3].T @ hm.frame_pose(model, after.q, "grip")[:3, :3]
    gap = np.kron(np.eye(2), R) @ (hm.jacobian(model, after.q, "grip") @ after.v) - J @ after.v
    rows = [k for k, name in enumerate(("x", "y", "z", "rx", "ry", "rz")) if name not in free]
    assert np.abs(gap[rows]).max() < 1e-12
    assert sim.grasp("catch") == pytest.approx(0.0, abs=1e-12)


def test_joint_impulses_are_those_of_least_action():
    """Of all velocities that fit, v⁺ is nearest to v in the metric of M: Gauss' principle for impulses."""
    sim, state = two_bodies()
    sim.grasp("catch")
    model, M = sim.model, hm.mass_matrix(sim.model, state.q)
    J = hm.jacobian(model, state.q, "hand") - hm.jacobian(model, state.q, "grip")
    change = sim.state.v - state.v
    null = np.linalg.svd(J)[2][6:]
    np.testing.assert_allclose(null @ (M @ change), 0.0, atol=1e-12 * np.abs(M @ change).max())


def test_a_grasp_during_a_run():
    """Events close and open it; the audit closes over all of it; the loss is in the messages; what is let go falls apart."""
    events = [
        hm.Event(name="catch it", quantity="time", level=0.0301, grasp=("catch",)),
        hm.Event(name="again", quantity="time", level=0.05, grasp=("catch",)),
        hm.Event(name="let go", quantity="time", level=0.3, release=("catch",)),
    ]
    sim, _ = two_bodies(events=events, record=0.01, grasp={"tolerance": 1.0})
    run = sim.run(0.5)
    ds = run.recording
    assert any("catch it" in m for m in run.messages)
    assert sum("J are lost in the impact" in m for m in run.messages) == 1  # what is closed does not close again
    holding = np.abs(ds.grasp_force.values[:, 0]).max(axis=1) > 0.0
    t = ds.time.values
    np.testing.assert_array_equal(holding, (t > 0.0301) & (t < 0.3 - 1e-9))
    assert not ds.grasp_error.values[~holding].any()  # of open grasps nothing is said
    assert float(ds.work.sel(cause="grasps")[-1]) < -0.1
    assert float(abs(ds.energy_residual).max()) < 1e-6 * float(ds.kinetic_energy_body[0])
    hand, grip = (hm.frame_pose(sim.model, run.state.q, name)[:3, 3] for name in ("hand", "grip"))
    assert np.linalg.norm(hand - grip) > 1e-3
    np.testing.assert_array_equal(run.state.held, [0.0])


def test_a_grasp_opens_at_its_maximum_force():
    """A pendulum released from the horizontal pulls with 3 m g cos φ: 2 m g are exceeded at cos φ = 2/3, in worlds too."""
    bob = hm.Body(
        name="bob",
        joint=hm.joints.Free(position=(0, 0, 0)),
        inertia=hm.Inertia(mass=2.0, com=(1.5, 0, 0), tensor=(1e-7, 1e-7, 1e-7, 0, 0, 0)),
    )
    wall = hm.Body(name="wall", joint=hm.joints.Fixed())
    model = hm.Model(name="pendulum", bodies=[wall, bob])
    hand = Grasp(name="hand", holder="wall", held="bob", free=("rx", "ry", "rz"), maximum_force=2.0 * 2.0 * 9.81)
    sim = hm.Simulation(model, components=[hand], step=1e-3, record=1e-3)
    run = sim.run(1.0)
    assert any("hand opens" in text and "grasp_load.hand" in text for text in run.messages)
    load = run.recording.grasp_load.sel(grasp="hand").values
    pitch = run.recording.orientation.sel(body="bob")
    last = int(np.flatnonzero(load)[-1])
    turned = 2.0 * abs(np.arctan2(float(pitch[last].sel(wxyz="y")), float(pitch[last].sel(wxyz="w"))))
    assert load.max() < 2.0 * 2.0 * 9.81 and not load[last + 1 :].any()
    assert np.sin(turned) == pytest.approx(2.0 / 3.0, abs=4e-3)  # 1 ms at 3.6 rad/s
    worlds = hm.Worlds(sim.plant, 2, step=1e-3)
    worlds.run(1.0)
    np.testing.assert_allclose(worlds.q, np.tile(sim.state.q, (2, 1)), atol=1e-9)


def test_worlds_resumed_from_a_simulation_close_a_grasp_in_their_first_step():
    """Impulse, momentum and energy loss equal those of the simulation whose state they resume."""
    sim, _ = two_bodies(step=1e-3, grasp={"tolerance": 1.0})
    sim.step(duration=0.003)
    start = sim.state
    worlds = hm.Worlds(sim.plant, 2, start=start, step=1e-3)
    recorded = worlds.rollout({"catch.closed": np.ones((1, 1))}, 1)  # switched by the first step's own input
    sim.grasp("catch")
    closed = sim.state
    before = hm.equations.momentum(sim.model, start.q, start.v)
    assert np.abs(closed.v - start.v).max() > 0.1
    for world in range(2):
        np.testing.assert_array_equal(recorded.v[world, 0], closed.v)
        np.testing.assert_array_equal(recorded.internal[world, 0], closed.internal)
        momentum = hm.equations.momentum(sim.model, recorded.q[world, 0], recorded.v[world, 0])
        np.testing.assert_allclose(momentum, before, rtol=0, atol=1e-12 * np.abs(before).max())
    end = sim.step()
    np.testing.assert_allclose(worlds.v, np.stack([end.v] * 2), rtol=0, atol=1e-12)
    # a state in which the grasp holds already gets no second impulse, and one that is reset gets its own again
    held = hm.Worlds(sim.plant, 2, start=end, step=1e-3)
    np.testing.assert_array_equal(held.rollout({}, 1).v[:, 0], np.stack([end.v] * 2))
    worlds.reset([1])
    worlds.held[:] = 1.0
    worlds.step()
    np.testing.assert_allclose(worlds.v[1], end.v, rtol=0, atol=1e-12)


def test_released_bodies_move_freely():
    """After release the motion is the one without any grasp, to the last bit of the accelerations."""
    sim, state = two_bodies()
    sim.grasp("catch")
    sim.release("catch")
    plain = hm.Simulation(sim.model, state=replace(state, v=sim.state.v))
    a, b = sim.step(duration=0.1), plain.step(duration=0.1)
    np.testing.assert_allclose(a.q, b.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(a.v, b.v, rtol=0, atol=1e-11)


# -- drift ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("free, turned", [((), 0.0), (("rx",), 0.3), (("rx",), 3.0), (("rx", "ry", "rz"), 2.0)])
def test_misfit_decays_at_the_rate_of_stabilisation(free, turned):
    """e(t) = e_0 (1 + α t) exp(−α t) for position and small angles, however far a hinge has turned."""
    post = hm.Body(name="post", joint=hm.joints.Fixed(), inertia=hm.Inertia(mass=1.0, tensor=(1, 1, 1, 0, 0, 0)))
    ball = hm.Body(name="ball", joint=hm.joints.Free(), inertia=hm.Inertia(mass=2.0, tensor=(0.02, 0.02, 0.02, 0, 0, 0)))
    model = hm.Model(name="drift", bodies=[post, ball], world=WORLD)  # turns in the grip without forces
    e0, angle, alpha = 4e-4, 3e-4, 15.0
    tilt = quaternion_matrix([np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2)])
    roll = quaternion_matrix([np.cos(turned / 2), np.sin(turned / 2), 0.0, 0.0])
    q = np.array([0.0, 0.6 * e0, -0.8 * e0, *quaternion_from_matrix(tilt @ roll)])
    grasp = Grasp(name="g", holder="post", held="ball", stabilisation=alpha, free=free)
    sim = hm.Simulation(model, components=[grasp], state=State(q=q, v=np.zeros(6)), record=0.01)
    ds = sim.run(1.0).recording
    t = ds.time.values
    decay = (1.0 + alpha * t) * np.exp(-alpha * t)
    angle = angle if len(free) < 3 else 0.0
    # the error is the rotation vector to second order; rk4: (h α)^4
    np.testing.assert_allclose(ds.grasp_error.values[:, 0, 0], e0 * decay, rtol=0, atol=1e-6 * e0)
    np.testing.assert_allclose(ds.grasp_error.values[:, 0, 1], angle * decay, rtol=0, atol=1e-6 * angle)
    assert float(abs(ds.energy_residual).max()) < 1e-9


def test_a_long_run_does_not_drift():
    """A closed loop swings for 20 s in a current, with what is left of its energy; the grasp stays closed to 1e-9."""
    environment = Environment(current=Current(velocity=(0.6, -0.3, 0.1)))
    sim = held_by_arm(True, free=("rz",), environment=environment, step=2e-3, record=0.1)
    ds = sim.run(20.0).recording
    assert float(abs(ds.grasp_error).max()) < 1e-9
    assert float(abs(ds.energy_residual).max()) < 1e-6
    assert (ds.constraint_free == 0).all() and (ds.constraint_pivot > 1e-6).all()


def test_two_grasps_that_say_the_same_leave_forces_free():
    """Six of twelve force components can have any value; the motion is that of one grasp, and the recording reports it."""
    one = held_by_arm(False, record=0.1)
    model = one.model
    twice = [replace(next(c for c in one.plant.components if c.kind == "grasp"), name=name) for name in ("first", "second")]
    both = hm.Simulation(model, components=[*twice], state=State(q=one.state.q, v=one.state.v), record=0.1)
    a, b = one.run(0.3).recording, both.run(0.3).recording
    assert (b.constraint_free == 6).all() and (a.constraint_free == 0).all()
    np.testing.assert_allclose(b.grasp_force.sum("grasp"), a.grasp_force.sum("grasp"), rtol=0, atol=1e-6)
    np.testing.assert_allclose(b.q, a.q, rtol=0, atol=1e-9)


# -- compiled code, recordings, restarts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("closed", [False, True])
def test_compiled_code_is_the_reference(closed):
    """The observer's machine code against `evaluate` in NumPy."""
    sim, _ = two_bodies()
    if closed:
        sim.grasp("catch")
    s = sim.state
    e = evaluate(sim.plant, 0.0, s.q, s.v, s.internal, np.array([float(closed)]))
    seen = sim.observe()
    for name in ("grasp_force", "grasp_error", "constraint_free", "constraint_pivot", "force_drag", "force_added_mass"):
        given = {f"force_{label}": F for label, F in e.forces.items()} | e._asdict()
        given |= {name: np.array([x]) for name, x in e.outputs[0].items()}
        expected = np.asarray(given[name], dtype=float)
        np.testing.assert_allclose(seen[name], expected, rtol=0, atol=1e-11 * max(1.0, np.abs(expected).max()))
    assert closed == bool(np.abs(seen["grasp_force"]).max() > 0.1)


def test_forces_of_a_grasp_are_those_on_the_load():
    """M_load a = weight + water + grasp: the recorded force is that of the holder on what it holds, in the holder's axes."""
    sim, _ = two_bodies()
    sim.grasp("catch")
    s, seen, k = sim.state, sim.observe(), sim.model.body_index("load")
    vdot = evaluate(sim.plant, 0.0, s.q, s.v, s.internal, np.array([1.0])).vdot
    hand, grip = hm.frame_pose(sim.model, s.q, "hand"), GRIP
    R_L = hm.frame_pose(sim.model, s.q, "load")[:3, :3]
    f, n = (R_L.T @ hand[:3, :3] @ part for part in (seen["grasp_force"][0, :3], seen["grasp_force"][0, 3:]))
    wrench = np.zeros((sim.model.nb, 6))
    wrench[k] = [*f, *(n + np.cross(grip.xyz, f))]
    alone = hm.forward_dynamics(sim.model, s.q, s.v, np.zeros(sim.model.nv), wrench=wrench)
    np.testing.assert_allclose(alone[-6:], vdot[-6:], rtol=0, atol=1e-10 * np.abs(vdot).max())


def test_recording_of_grasps():
    sim = held_by_arm(False)
    ds = sim.run(0.1).recording
    assert ds.grasp_force.dims == ("time", "grasp", "six") and ds.grasp_error.dims == ("time", "grasp", "misfit")
    assert ds.constraint_free.dims == ds.constraint_pivot.dims == ("time", "constraint_group")
    assert list(ds.grasp.values) == ["grip"] and "grasps" in ds.cause.values
    for name in ("grasp_force", "grasp_error", "constraint_free", "constraint_pivot"):
        assert ds[name].attrs["units"] and ds[name].attrs["long_name"]
        assert np.isfinite(ds[name]).all()


def test_restart_with_grasps_is_the_same_to_the_last_bit(tmp_path):
    sim, _ = two_bodies()
    sim.grasp("catch")
    sim.run(0.05)
    hm.save_state(sim.state, tmp_path / "state.json")
    whole = sim.run(0.05).state
    again, _ = two_bodies()
    again.state = hm.load_state(tmp_path / "state.json")
    np.testing.assert_array_equal(again.state.held, [1.0])
    rest = again.run(0.05).state
    for name in ("q", "v", "internal", "held"):
        np.testing.assert_array_equal(getattr(rest, name), getattr(whole, name))


# -- what bad input gets --------------------------------------------------------------------------------------------------------


def test_frames_that_do_not_meet():
    sim, state = two_bodies()
    moved = state.q.copy()
    moved[-7:-4] += [0.0, 0.3, 0.4]
    sim.reset(replace(state, q=moved))
    with pytest.raises(
        ValueError, match=r"grasp 'catch': 'hand' and 'grip' do not meet: the frames are 0\.5 m and .* rad apart"
    ):
        sim.grasp("catch")
    np.testing.assert_array_equal(sim.state.held, [0.0])
    with pytest.raises(ValueError, match="do not meet"):
        two_bodies(grasp={"closed": True})[0].reset(replace(state, q=moved))


@pytest.mark.parametrize("free, half", [((), (-1.0, -1.0, 1.0)), (("rz",), (1.0, -1.0, -1.0))])
def test_frames_that_face_the_wrong_way_do_not_meet(free, half):
    """A half turn has no vector part: it must not pass for a fit."""
    sim, state = two_bodies(grasp={"free": free})
    X = hm.frame_pose(sim.model, state.q, "hand")
    turned = X.copy()
    turned[:3, :3] = X[:3, :3] @ np.diag(half)
    turned = turned @ np.linalg.inv(pose(GRIP))
    q = state.q.copy()
    q[-7:] = [*turned[:3, 3], *quaternion_from_matrix(turned[:3, :3])]
    sim.reset(replace(state, q=q))
    with pytest.raises(ValueError, match="do not meet"):
        sim.grasp("catch")


def test_unknown_names():
    sim, _ = two_bodies()
    for act in (sim.grasp, sim.release):
        with pytest.raises(KeyError, match="unknown grasp 'cath' .*available: catch"):
            act("cath")
    with pytest.raises(KeyError, match="grasp 'catch': .* has no frame or body 'claw'"):
        two_bodies(grasp={"holder": "claw"})


def test_grasps_that_hold_nothing():
    with pytest.raises(ValueError, match="constrains nothing because all six directions are free"):
        Grasp(name="g", holder="a", held="b", free=("x", "y", "z", "rx", "ry", "rz"))
    with pytest.raises(ValueError, match="free has 'roll', must be one of x, y, z, rx, ry, rz"):
        Grasp(name="g", holder="a", held="b", free=("roll",))
    with pytest.raises(ValueError, match="stabilisation is -1"):
        Grasp(name="g", holder="a", held="b", stabilisation=-1)
    posts = [hm.Body(name=n, joint=hm.joints.Fixed(), inertia=hm.Inertia(mass=1.0, tensor=(1, 1, 1, 0, 0, 0))) for n in "ab"]
    model = hm.Model(name="posts", bodies=[*posts, load(False)], world=WORLD)
    for pair in (("a", "b"), ("load", "grip")):
        with pytest.raises(ValueError, match="cannot move relative to each other"):
            hm.Simulation(model, components=[Grasp(name="g", holder=pair[0], held=pair[1])])
    twice = [Grasp(name="g", holder="a", held="grip", closed=False)] * 2
    with pytest.raises(ValueError, match="two components are named 'g' \\(grasp\\)"):
        hm.Simulation(model, components=[*twice])
