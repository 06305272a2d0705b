"""Arms: inverse kinematics against optimisation, computed torque, tools on moving bases, tasks that do not disturb each other."""

import math

import numpy as np
import pytest
import scipy.optimize

import hydromechs as hm
from hydromechs.actuation import Thruster, drives, ideal_curve
from hydromechs.control import (
    CartesianMotion,
    ComputedTorque,
    JointControl,
    LqrHoldPose,
    LqrSpeed,
    ManipulabilityTask,
    PostureTask,
    TaskPriority,
    ToolTask,
    VehicleTask,
    damped_inverse,
    prioritised,
    reach_pose,
)
from hydromechs.model import added_mass, drag, joints
from hydromechs.simulation import BlockPart, Mission, Phase

RNG = np.random.default_rng(5)


def link(name, parent, axis, at, limits=(-2.5, 2.5), volume=0.001):
    return hm.Body(
        name=name,
        parent=parent,
        joint=joints.Revolute(axis=axis, placement=hm.Origin(at), limits=limits, position=0.6 if axis[1] else 0.0),
        inertia=hm.Inertia(mass=2.0, com=(0.15, 0.0, 0.01), tensor=(0.005, 0.03, 0.03, 0.0, 0.0, 0.0)),
        hydro=hm.Hydro(
            volume=volume, buoyancy_center=(0.15, 0.0, 0.0), added_mass=added_mass.Diagonal((0.1, 1.0, 1.0, 0.0, 0.01, 0.01))
        ),
        frames=(hm.Frame("tool", hm.Origin((0.35, 0.0, 0.0))),) if name == "fore" else (),
    )


def arm(root=None, **options):
    base = (0.4, 0.0, 0.1)
    return [
        link("yaw", root, (0, 0, 1), base, **options),
        link("upper", "yaw", (0, 1, 0), (0.05, 0.0, 0.0), **options),
        link("fore", "upper", (0, 1, 0), (0.4, 0.0, 0.0), **options),
    ]


def on_ground() -> hm.Model:
    return hm.Model(name="arm", bodies=arm())


def rover(**options) -> hm.Model:
    frames = {
        "port": ((-0.3, -0.3, 0.02), (0.0, 0.0, 0.2)),
        "starboard": ((-0.3, 0.3, 0.02), (0.0, 0.0, -0.2)),
        "lateral": ((0.05, 0.0, 0.0), (0.0, 0.0, math.pi / 2)),
        "bow": ((0.4, 0.0, 0.0), (0.0, math.pi / 2, 0.0)),
        "left": ((-0.3, -0.3, 0.0), (0.0, math.pi / 2, 0.0)),
        "right": ((-0.3, 0.3, 0.0), (0.0, math.pi / 2, 0.0)),
    }
    hull = hm.Body(
        name="hull",
        joint=joints.Free(),
        inertia=hm.Inertia(mass=120.0, com=(0.0, 0.0, 0.04), tensor=(8.0, 12.0, 14.0, 0.0, 0.0, 0.0)),
        hydro=hm.Hydro(
            volume=0.12,
            buoyancy_center=(0.0, 0.0, -0.06),
            added_mass=added_mass.Diagonal((40.0, 80.0, 90.0, 3.0, 4.0, 5.0)),
            drag=(drag.Damping(linear=(20.0, 30.0, 40.0, 6.0, 6.0, 6.0), quadratic=(90.0, 120.0, 150.0, 5.0, 5.0, 5.0)),),
        ),
        frames=tuple(hm.Frame(n, hm.Origin(*place)) for n, place in frames.items()),
    )
    return hm.Model(name="rover", bodies=[hull, *arm("hull", volume=2.0 / 1025.0, **options)])


SERVOS = [drives.Servo(joint=n, stiffness=400.0, damping=40.0) for n in ("yaw", "upper", "fore")]


def thrusters():
    names = ("port", "starboard", "lateral", "bow", "left", "right")
    return [Thruster(name=n, frame=n, curve=ideal_curve(100.0, 100.0), time_constant=0.1) for n in names]


# -- inverse kinematics -----------------------------------------------------------------------------------------------------------


def test_damped_inverse_is_exact_away_from_singularities_and_bounded_near_them():
    J = RNG.normal(size=(3, 5))
    assert np.allclose(damped_inverse(J), np.linalg.pinv(J), rtol=0.0, atol=1e-12)
    u, s, vt = np.linalg.svd(J, full_matrices=False)
    for small in (0.04, 1e-3, 1e-9, 0.0):
        assert np.linalg.norm(damped_inverse((u * [s[0], s[1], small]) @ vt), 2) <= max(
            1.0 / s[1], 1.0 / (2 * 0.02 * math.sqrt(1 - 0.8**2))
        )


def test_reach_pose_against_an_optimiser():
    """PUMA 560, place and axes: the same pose to 1e-9; out of reach: as near as the optimiser comes."""
    model = hm.load("puma560")
    q = model.initial().q + RNG.uniform(-0.3, 0.3, model.nq)
    X = np.array(hm.frame_pose(model, q, "tool"), dtype=float)
    found, left = reach_pose(model, "tool", X[:3, 3], axes=X[:3, :3])
    Y = np.array(hm.frame_pose(model, found, "tool"), dtype=float)
    assert left < 1e-10 and np.allclose(Y, X, rtol=0.0, atol=1e-9)

    small, far = on_ground(), np.array([1.4, 0.5, -0.6])
    found, left = reach_pose(small, "tool", far)

    def off(q):
        return np.array(hm.frame_pose(small, q, "tool"), dtype=float)[:3, 3] - far

    best = min(
        (
            scipy.optimize.least_squares(off, start, bounds=(-2.5, 2.5), xtol=1e-12, ftol=1e-12)
            for start in RNG.uniform(-1, 1, (6, 3))
        ),
        key=lambda r: r.cost,
    )
    assert left == pytest.approx(math.sqrt(2.0 * best.cost), rel=1e-4)


# -- joints -------------------------------------------------------------------------------------------------------------------------


def test_computed_torque_gives_linear_error_dynamics():
    """Three coupled joints in water, off their reference: e(t) = (e_0 + (ė_0 + ω e_0) t) exp(−ω t) in each, at ζ = 1."""
    model, w = on_ground(), 6.0
    way = [{"t": 0.0, "yaw": 0.0, "upper": 0.6, "fore": 0.6}, {"t": 2.0, "yaw": 0.8, "upper": 0.2, "fore": 1.0}]
    controller = ComputedTorque(waypoints=way, frequency=w, period=1e-3)
    state = hm.State(q=np.array([0.2, 0.5, 0.9]), v=np.zeros(3))
    torques = [drives.Torque(joint=n) for n in ("yaw", "upper", "fore")]
    sim = hm.Simulation(
        model,
        components=[*torques, *(drives.JointStops(joint=c.joint) for c in torques)],
        controller=controller,
        state=state,
        step=5e-4,
        record=0.05,
    )
    ds = sim.run(1.0).recording
    t = ds.time.values[:, None]
    e0 = np.array([0.0, 0.6, 0.6]) - state.q
    e = np.array([controller.path(x).position for x in ds.time.values]) - ds.q.values
    assert np.abs(e - e0 * (1.0 + w * t) * np.exp(-w * t)).max() < 0.01 * np.abs(e0).max()  # torques are held for 1 ms


def test_joint_control_follows_with_weight_fed_forward():
    way = [{"t": 0.0, "yaw": 0.0, "upper": 0.6, "fore": 0.6}, {"t": 2.0, "yaw": 0.8, "upper": 0.2, "fore": 1.0}]
    torques = [drives.Torque(joint=n) for n in ("yaw", "upper", "fore")]
    controller = JointControl(waypoints=way, frequency=8.0, integral=5.0)
    ds = hm.Simulation(on_ground(), components=[*torques], controller=controller, record=0.05).run(3.0).recording
    errors = ds.signal.sel(channel=["error.yaw", "error.upper", "error.fore"])
    assert float(abs(errors).max()) < 0.1 and float(abs(errors[-1]).max()) < 0.01
    with pytest.raises(ValueError, match="joint 'yaw' has the drive Servo; use drives.Torque"):
        hm.Simulation(on_ground(), components=[*SERVOS], controller=controller)


# -- tools ---------------------------------------------------------------------------------------------------------------------------


def test_a_tool_keeps_its_place_while_the_base_drifts():
    """The base turns and drifts by 10 cm; without its rates in the law the tool would lag by v/κ, some 5 cm."""
    model = rover()
    state = model.initial()
    state.v[:6] = [0.04, 0.05, 0.03, 0.0, 0.0, 0.06]
    p = np.array(hm.frame_pose(model, state.q, "tool"), dtype=float)[:3, 3]
    controller = CartesianMotion(frame="tool", waypoints=[{"position": p.tolist()}], stiffness=2.0)
    sim = hm.Simulation(model, components=[*SERVOS], controller=controller, state=state, record=0.05)
    ds = sim.run(3.0).recording
    assert float(abs(ds.position.sel(body="hull")[-1] - ds.position.sel(body="hull")[0]).max()) > 0.08
    error = ds.signal.sel(channel=[f"error.tool.{x}" for x in "xyz"]).values
    assert np.abs(error[ds.time.values > 1.5]).max() < 0.004


def test_a_tool_swings():
    model = on_ground()
    p = np.array(hm.frame_pose(model, model.initial().q, "tool"), dtype=float)[:3, 3]
    swing = {"t": 0.5, "travel": (0.0, 0.2, 0.1), "period": 2.0, "cycles": 1}
    controller = CartesianMotion(frame="tool", waypoints=[{"position": p.tolist()}], swings=[swing], stiffness=4.0)
    ds = hm.Simulation(model, components=[*SERVOS], controller=controller, record=0.05).run(3.0).recording
    y = ds.signal.sel(channel="reference.tool.y").values
    assert y.max() == pytest.approx(p[1] + 0.2, abs=2e-3) and y[-1] == pytest.approx(p[1], abs=1e-12)
    assert float(abs(ds.signal.sel(channel=[f"error.tool.{x}" for x in "xyz"]))[ds.time > 1.2].max()) < 0.01


# -- tasks ---------------------------------------------------------------------------------------------------------------------------


def test_tasks_of_high_priority_are_undisturbed_by_low_ones():
    for _ in range(50):
        n = 9
        tasks = [(RNG.normal(size=(m, n)), RNG.normal(size=m)) for m in (3, 2, 3, 4)]
        alone = prioritised(tasks[:1], n)
        assert np.allclose(tasks[0][0] @ alone, tasks[0][1], rtol=0.0, atol=1e-9)
        before = alone
        for k in range(1, 4):
            more = prioritised(tasks[: k + 1], n)
            for J, _ in tasks[:k]:
                assert np.abs(J @ (more - before)).max() < 1e-9
            before = more
        J, rate = tasks[0]
        copy = prioritised([(J, rate), (J, -rate)], n)  # a task against the first one changes nothing
        assert np.abs(J @ copy - rate).max() < 1e-9


def test_vehicle_and_arm_share_a_task_within_joint_limits():
    """The tool goes out of the arm's reach: the vehicle helps. Heading is kept, joints stay within their limits."""
    model = rover(limits=(-1.0, 1.0))
    state = model.initial()
    p = np.array(hm.frame_pose(model, state.q, "tool"), dtype=float)[:3, 3]
    goal = (p + np.array([0.8, 0.2, 0.1])).tolist()
    tasks = [
        ToolTask(frame="tool", waypoints=[{"t": 1.0, "position": p.tolist()}, {"t": 12.0, "position": goal}]),
        VehicleTask(waypoints=[{"position": [0, 0, 0]}]),
        ManipulabilityTask(frame="tool", least=0.043),
        PostureTask(positions={"yaw": 0.0, "upper": 0.6}),
    ]
    controller = TaskPriority(tasks=tasks, bandwidth=1.5)
    sim = hm.Simulation(model, components=[*thrusters(), *SERVOS], controller=controller, state=state, step=2e-3, record=0.1)
    ds = sim.run(16.0).recording
    assert float(abs(ds.signal[-1].sel(channel=[f"error.tool.{x}" for x in "xyz"])).max()) < 0.005
    assert float(abs(ds.signal.sel(channel=[f"error.tool.{x}" for x in "xyz"])).max()) < 0.02
    assert float(ds.position.sel(body="hull", xyz="x")[-1]) > 0.3
    assert float(abs(ds.q.sel(coordinate=["yaw", "upper", "fore"])).max()) < 1.0
    assert abs(ds.orientation.sel(body="hull").values[-1, 3]) < 0.02
    with pytest.raises(ValueError, match="tasks is .*item 0 must be a task"):
        TaskPriority(tasks=[{"gripper": {}}])


def test_arm_controllers_resume_to_the_last_bit(tmp_path):
    model = on_ground()
    p = np.array(hm.frame_pose(model, model.initial().q, "tool"), dtype=float)[:3, 3]

    def sim():
        way = [{"t": 0.0, "position": p.tolist()}, {"t": 1.0, "position": (p + np.array([0.0, 0.1, 0.0])).tolist()}]
        return hm.Simulation(model, components=[*SERVOS], controller=CartesianMotion(frame="tool", waypoints=way))

    whole = sim().run(0.5).state
    first = sim()
    hm.save_state(first.run(0.23).state, tmp_path / "s.json")
    second = sim()
    second.state = hm.load_state(tmp_path / "s.json")
    assert second.run(0.27).state == whole


def test_controllers_work_together_each_in_its_time(tmp_path):
    """Speed control, then a place is held, while the arm keeps a tool in its place; also after a resume."""
    model = rover()
    p = np.array(hm.frame_pose(model, model.initial().q, "tool"), dtype=float)[:3, 3].tolist()
    parts = [
        BlockPart(LqrSpeed(waypoints=[{"t": 0.0}, {"t": 1.0, "surge": 0.1}], period=0.05), "drive", Phase(end=2.0)),
        BlockPart(LqrHoldPose(position=[0.1, 0, 0], period=0.1), "", Phase(start=2.0)),
        BlockPart(CartesianMotion(frame="tool", waypoints=[{"position": p}], period=0.05)),
    ]

    def sim():
        mission = Mission(parts)
        return hm.Simulation(model, components=[*thrusters(), *SERVOS], controller=mission, step=2e-3, record=0.05)

    whole = sim().run(3.0)
    ds = whole.recording
    drive, hold = (ds.signal.sel(channel=n).values for n in ("drive.reference.surge", "reference.x"))
    assert np.isnan(hold[ds.time.values < 1.99]).all() and not np.isnan(hold[ds.time.values > 2.06]).any()
    assert drive[ds.time.values > 2.0].max() == drive[-1] == pytest.approx(0.1)
    assert float(abs(ds.signal.sel(channel=[f"error.tool.{x}" for x in "xyz"])).max()) < 0.02
    first, second = sim(), sim()
    hm.save_state(first.run(2.02).state, tmp_path / "s.json")
    second.state = hm.load_state(tmp_path / "s.json")
    assert second.run(0.98).state == whole.state
    with pytest.raises(ValueError, match="two parts have the signal 'reference.surge'; name one"):
        hm.Simulation(model, components=[*thrusters()], controller=Mission([BlockPart(parts[0].block), parts[1]]))
    with pytest.raises(ValueError, match="start is 5, must be before end \\(2 s\\)"):
        Phase(start=5.0, end=2.0)


@pytest.mark.parametrize("ends", ["part", "part in Python", "control off"])
def test_targets_stand_still_when_no_one_leads_them(ends):
    """A servo's target moves on at its rate until the next call; where there is none, it must not run into the stop."""
    from hydromechs.control import JointTrajectory
    from hydromechs.simulation import Event

    link = hm.Body(
        name="link",
        joint=hm.joints.Revolute(axis=(0, 0, 1), limits=(-1.0, 1.0)),
        inertia=hm.Inertia(mass=1.0, com=(0.3, 0, 0), tensor=(0.1, 0.1, 0.1, 0, 0, 0)),
    )
    motion = JointTrajectory(waypoints=[{"t": 0.0, "link": 0.0}, {"t": 2.0, "link": 0.9}], period=0.1)
    motion.compiled = ends != "part in Python"
    parts = [BlockPart(motion, "", Phase(end=1.0))]
    sim = hm.Simulation(
        hm.Model(name="arm", bodies=[link]),
        components=[hm.drives.Servo(joint="link", stiffness=200.0, damping=20.0)],
        controller=motion if ends == "control off" else Mission(parts),
        events=[Event(name="off", quantity="time", level=1.0, control="off")] if ends == "control off" else [],
        step=0.005,
        record=0.1,
    )
    q = sim.run(4.0).recording.q.values[:, 0]
    assert q[-1] == pytest.approx(0.45, abs=0.01)  # half the way, where the path is at 1 s
