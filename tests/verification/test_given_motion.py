"""Joints whose motion is given: the rest answers as the equations say, and the forces come out."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import equations
from hydromechs.actuation import motions
from hydromechs.dynamics import articulated_body_with_motions
from hydromechs.errors import ScenarioError
from hydromechs.library import load_vehicle
from hydromechs.scenario import ModelStart, Scenario
from hydromechs.simulation import Plant

GIVEN = ("shoulder", "elbow")


@pytest.fixture(scope="module")
def vehicle():
    """A tilted vehicle with three different links, wet, everything off its axes."""

    def link(name, parent, joint, scale):
        hydro = hm.Hydro(
            volume=0.004 * scale,
            buoyancy_center=(0.2, 0.01, 0.0),
            added_mass=hm.added_mass.Diagonal((1.0 * scale, 3.0, 2.0, 0.01, 0.05, 0.04)),
            drag=hm.drag.Damping(linear=(3.0, 5.0, 4.0, 0.1, 0.2, 0.15), quadratic=(5.0, 9.0, 8.0, 0.1, 0.2, 0.3)),
        )
        inertia = hm.Inertia(mass=6.0 * scale, com=(0.21, -0.02, 0.03), tensor=(0.03, 0.09, 0.08, 0.001, 0.002, -0.003))
        return hm.Body(name=name, parent=parent, joint=joint, inertia=inertia, hydro=hydro)

    base = hm.Body(
        name="vehicle",
        joint=hm.joints.Free(orientation=(0.9, 0.3, -0.2, 0.24494897427831783), velocity=(0.1, -0.2, 0.3, 0.2, -0.1, 0.15)),
        inertia=hm.Inertia(mass=80.0, com=(0.02, 0.01, 0.05), tensor=(4.0, 7.0, 8.0, 0.1, -0.2, 0.15)),
        hydro=hm.Hydro(
            volume=0.083,
            buoyancy_center=(0.0, 0.0, -0.05),
            added_mass=hm.added_mass.Diagonal((40.0, 90.0, 110.0, 5.0, 8.0, 6.0)),
            drag=hm.drag.Damping(linear=(40.0, 50.0, 60.0, 5.0, 7.0, 6.0), quadratic=(90.0,) * 3 + (9.0,) * 3),
        ),
    )
    place = hm.Origin((0.5, -0.1, 0.2), (0.3, -0.2, 0.5))
    return hm.Model(
        name="vehicle_and_arm",
        bodies=[
            base,
            link("shoulder", "vehicle", hm.joints.Revolute(axis=(0, 0, 1), placement=place, position=0.4), 1.0),
            link("slide", "shoulder", hm.joints.Prismatic(axis=(1, 0, 0), placement=hm.Origin((0.4, 0, 0))), 0.7),
            link("elbow", "slide", hm.joints.Revolute(axis=(0.2, 1, 0.1), placement=hm.Origin((0.3, 0, 0))), 0.5),
        ],
    )


def test_accelerations_are_those_of_the_partitioned_equations(vehicle):
    """M_ff v̇_f = τ_f − b_f − M_fg v̇_g, and τ_g = M_gf v̇_f + M_gg v̇_g + b_g: an algorithm without sweeps, to rounding."""
    rng = np.random.default_rng(3)
    q, v = vehicle.initial().q, rng.normal(size=vehicle.nv)
    q[7:] = rng.normal(size=3)
    tau, current, armature = rng.normal(size=vehicle.nv), np.array([0.3, -0.2, 0.1]), np.array([0.0] * 6 + [0.3, 0.0, 0.2])
    g = [vehicle.v_slices[vehicle.body_index(name)].start for name in GIVEN]
    f = [k for k in range(vehicle.nv) if k not in g]
    given = {vehicle.body_index(name): rng.normal(size=1) for name in GIVEN}
    b, _ = equations.balance(vehicle, q, v, current, np.zeros(3), None)
    vdot, forces = articulated_body_with_motions(vehicle, b, tau, armature, given)
    M = np.array(equations.mass_matrix(vehicle, q)) + np.diag(armature)
    bias = np.array(hm.inverse_dynamics(vehicle, q, v, np.zeros(vehicle.nv), fluid_velocity=current))
    known = np.concatenate(list(given.values()))
    expected = np.linalg.solve(M[np.ix_(f, f)], tau[f] - bias[f] - M[np.ix_(f, g)] @ known)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(vdot[f], expected, atol=1e-12 * scale)
    np.testing.assert_array_equal(vdot[g], known)
    np.testing.assert_allclose(forces[g], (M @ vdot + bias)[g], atol=1e-12 * np.abs(M @ vdot + bias).max())
    np.testing.assert_array_equal(forces[f], tau[f])


SHOULDER = motions.Sine(amplitude=0.6, period=3.0, phase=0.3, offset=0.2)
ELBOW = motions.Sine(amplitude=0.4, period=2.0, offset=-0.1)


@pytest.fixture(scope="module")
def run(vehicle):
    """4 s with two joints given and one free."""
    sim = hm.Simulation(
        vehicle,
        components=[
            hm.actuation.JointMotion(joint="shoulder", motion=SHOULDER),
            hm.actuation.JointMotion(joint="elbow", motion=ELBOW),
        ],
        step=5e-3,
        record=0.05,
    )
    return sim.run(4.0).recording


def test_joints_are_on_their_motion(run):
    """Positions, and rates too, to the error of the integrator, h⁴ times the fifth derivative: 1e-8."""
    for name, motion in (("shoulder", SHOULDER), ("elbow", ELBOW)):
        expected = [motion.now(float(t)) for t in run.time]
        np.testing.assert_allclose(run.q.sel(coordinate=name), [x.position for x in expected], atol=1e-7)
        np.testing.assert_allclose(run.v.sel(dof=name), [x.velocity for x in expected], atol=1e-6)


def test_forces_are_those_of_inverse_dynamics(vehicle, run):
    """Inverse dynamics of the recorded motion gives the recorded forces; joints that are free have none."""
    for k in (0, 17, 61):
        row = run.isel(time=k)
        free = [n for n in run.dof.values if n not in GIVEN]
        t, q, v = float(row.time), row.q.values, row.v.values
        tau = hm.inverse_dynamics(vehicle, q, v, _vdot(vehicle, t, q, v))
        scale = np.abs(tau).max()
        np.testing.assert_allclose(row.tau.sel(dof=free), 0.0, atol=1e-9 * scale)
        for name in GIVEN:
            force = tau[list(run.dof.values).index(name)]
            assert float(row.tau.sel(dof=name)) == pytest.approx(force, abs=1e-9 * scale)
            assert float(row.motion_force.sel(joint_motion=name)) == pytest.approx(force, abs=1e-9 * scale)


def _vdot(model, t, q, v):
    """v̇ from the partitioned equations with the motion's own acceleration and its correction."""
    g = [model.v_slices[model.body_index(name)].start for name in GIVEN]
    f = [k for k in range(model.nv) if k not in g]
    now = [motion.now(t) for motion in (SHOULDER, ELBOW)]
    at = [model.q_slices[model.body_index(name)].start for name in GIVEN]
    known = [
        r.acceleration + 10.0 * (r.velocity - v[i]) + 25.0 * (r.position - q[j]) for r, i, j in zip(now, g, at, strict=True)
    ]
    M = np.array(equations.mass_matrix(model, q))
    bias = np.array(hm.inverse_dynamics(model, q, v, np.zeros(model.nv)))
    vdot = np.zeros(model.nv)
    vdot[g] = known
    vdot[f] = np.linalg.solve(M[np.ix_(f, f)], -bias[f] - M[np.ix_(f, g)] @ vdot[g])
    return vdot


def test_work_of_the_motion_is_accounted_for(run):
    """Change of energy less all work is the integrator's error: far below the work that the motion does."""
    work = np.abs(run.work.sel(cause="given motion").values).max()
    assert work > 0.5
    assert np.abs(run.energy_residual.values).max() < 1e-6 * work


def test_stiff_servo_comes_near(vehicle, run):
    """Servos that follow the same motion come near to it, the stiffer the nearer."""
    errors = []
    for stiffness in (2e3, 2e4):
        damping = 2.0 * math.sqrt(stiffness)
        servos = [hm.drives.Servo(joint=name, stiffness=stiffness, damping=damping) for name in GIVEN]

        def follow(state):
            out = {}
            for name, motion in (("shoulder", SHOULDER), ("elbow", ELBOW)):
                now = motion.now(state.t)
                out |= {name: now.position, f"{name}.rate": now.velocity, f"{name}.at": state.t}
            return out

        sim = hm.Simulation(vehicle, components=servos, controller=follow, period=5e-3, step=1e-3, record=0.05)
        state = sim.state
        q, v = state.q.copy(), state.v.copy()
        for name, motion in (("shoulder", SHOULDER), ("elbow", ELBOW)):
            i = vehicle.body_index(name)
            q[vehicle.q_slices[i]], v[vehicle.v_slices[i]] = motion.now(0.0).position, motion.now(0.0).velocity
        sim.reset(hm.State(q=q, v=v))
        other = sim.run(1.0).recording
        same = run.sel(time=slice(0.0, 1.0))
        errors.append(float(np.abs(other.position.sel(body="vehicle").values - same.position.sel(body="vehicle").values).max()))
    assert errors[1] < 2e-4 and errors[1] < 0.3 * errors[0]


def test_momentum_of_a_floating_vehicle_is_conserved():
    """Dry and without gravity, an arm that is moved turns its vehicle; momentum stays what it was."""
    bar = hm.Inertia(mass=3.0, com=(0.2, 0.0, 0.02), tensor=(0.01, 0.05, 0.05, 0, 0, 0))
    model = hm.Model(
        name="floating",
        world=hm.World(gravity=0.0),
        bodies=[
            hm.Body(name="hull", joint=hm.joints.Free(), inertia=hm.Inertia(mass=10.0, tensor=(0.4, 0.5, 0.6, 0, 0, 0))),
            hm.Body(name="arm", parent="hull", joint=hm.joints.Revolute(axis=(0.3, 0.2, 1)), inertia=bar),
        ],
    )
    run = (
        hm.Simulation(
            model, components=[hm.actuation.JointMotion(joint="arm", motion=motions.Sine(amplitude=1.0, period=2.0))], step=5e-3
        )
        .run(2.0)
        .recording
    )
    all_momenta = []
    for k in range(len(run.time)):
        q, v = run.q[k].values, run.v[k].values
        all_momenta.append(np.array(hm.equations.momentum(model, q, v)))
    at_rest = np.array(all_momenta) - all_momenta[0]
    assert float(np.abs(run.velocity.sel(body="hull").values[:, 3:]).max()) > 0.3  # it does turn
    assert np.abs(at_rest).max() < 1e-7


def test_a_recorded_motion(vehicle):
    """A spline of samples is the motion it was sampled from; the run stops at its knots, and recordings share a program."""
    t = np.linspace(0.0, 3.0, 61)
    x = np.array([ELBOW.now(float(s)).position for s in t])
    exact = motions.Recorded.of(t, x)
    for s in (0.31, 1.234, 2.2):
        assert exact.now(s).position == pytest.approx(ELBOW.now(s).position, abs=1e-6)
        assert exact.now(s).acceleration == pytest.approx(ELBOW.now(s).acceleration, abs=2e-2)
    assert exact.now(-1.0) == (pytest.approx(x[0]), 0.0, 0.0) and exact.now(9.0) == (pytest.approx(x[-1]), 0.0, 0.0)
    noisy = motions.Recorded.of(t, x + 1e-3 * np.random.default_rng(0).normal(size=61), smoothing=0.5)
    assert max(abs(noisy.now(float(s)).position - r) for s, r in zip(t[5:-5], x[5:-5], strict=True)) < 3e-3
    long = np.linspace(0.0, 40.0, 2001)  # a sine of the period of smoothing is halved
    halved = motions.Recorded.of(long, np.sin(2.0 * np.pi * long / 1.3), smoothing=1.3)
    assert halved.now(20.0 * 1.3 / 1.3 + 0.175).position == pytest.approx(
        0.5 * math.sin(2.0 * math.pi * 20.175 / 1.3), abs=2e-3
    )
    plants = [
        hm.Simulation(
            vehicle,
            components=[
                hm.actuation.JointMotion(joint="shoulder", motion=SHOULDER),
                hm.actuation.JointMotion(joint="elbow", motion=m),
            ],
        ).plant
        for m in (exact, noisy)
    ]
    assert plants[0].identity == plants[1].identity and plants[0] != plants[1]
    run = (
        hm.Simulation(
            vehicle,
            components=[
                hm.actuation.JointMotion(joint="shoulder", motion=SHOULDER),
                hm.actuation.JointMotion(joint="elbow", motion=exact),
            ],
            step=5e-3,
            record=0.05,
        )
        .run(2.0)
        .recording
    )
    np.testing.assert_allclose(run.q.sel(coordinate="elbow"), [exact.now(float(s)).position for s in run.time], atol=2e-6)


@dataclass(frozen=True)
class Wrong(motions.Motion):
    """Its acceleration has the wrong sign."""

    def at(self, t, x):
        return motions.MotionNow(np.sin(t), np.cos(t), np.sin(t))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"wrist": SHOULDER}, "no joint 'wrist'"),
        ({"vehicle": SHOULDER}, "the joint has 6 velocities"),
        ({"elbow": Wrong()}, r"motion of joint 'elbow' \(Wrong\): at 0.37 s, the acceleration is 0.361"),
        ({"elbow": 3.0}, "must be a Motion"),
    ],
)
def test_what_is_rejected(vehicle, given, said):
    """Each message names the joint and what to do."""
    with pytest.raises((ValueError, KeyError, TypeError), match=said):
        hm.Simulation(
            vehicle, components=[*(hm.actuation.JointMotion(joint=name, motion=motion) for name, motion in given.items())]
        )


def test_a_start_off_the_motion_is_rejected(vehicle):
    """And reports where to start."""
    sim = hm.Simulation(vehicle, components=[hm.actuation.JointMotion(joint="elbow", motion=ELBOW)])
    q, v = vehicle.neutral()
    q[-1] = 0.5
    with pytest.raises(ValueError, match="joint 'elbow' starts at 0.5, .* -0.1 at t = 0 s"):
        sim.reset(hm.State(q=q, v=v))


def test_a_start_with_another_velocity_is_rejected(vehicle):
    """A sine begins fastest: at rest there, it would lag behind without a word."""
    sim = hm.Simulation(vehicle, components=[hm.actuation.JointMotion(joint="elbow", motion=ELBOW)])
    q, v = sim.state.q, 0.0 * sim.state.v
    with pytest.raises(
        ValueError,
        match=r"joint 'elbow' starts with velocity 0, .* 1.25664 at t = 0 s",
    ):
        sim.reset(hm.State(q=q, v=v))
    sim.reset(sim.plant.on_motions(hm.State(q=q, v=v)))


def test_parts_of_a_composite_are_given_together():
    """A ship on given heave and roll; one of the two alone is rejected."""
    ship = hm.Body(
        name="ship",
        joint=hm.joints.Composite(parts=(hm.joints.Prismatic(), hm.joints.Revolute(axis=(1, 0, 0)))),
        inertia=hm.Inertia(mass=100.0, tensor=(9.0, 9.0, 9.0, 0, 0, 0)),
    )
    crane = hm.Body(
        name="crane",
        parent="ship",
        joint=hm.joints.Revolute(axis=(1, 0, 0), placement=hm.Origin((0, 2.0, 0))),
        inertia=hm.Inertia(mass=1.0, com=(0, 0, 1.0), tensor=(0.1, 0.1, 0.1, 0, 0, 0)),
    )
    model = hm.Model(name="ship", bodies=[ship, crane])
    heave, roll = motions.Sine(amplitude=0.5, period=6.0), motions.Sine(amplitude=0.1, period=5.0)
    names = list(model.joint_parts)
    plant = hm.Simulation(
        model,
        components=[
            hm.actuation.JointMotion(joint=names[0], motion=heave),
            hm.actuation.JointMotion(joint=names[1], motion=roll),
        ],
    ).plant
    assert isinstance(plant, Plant) and plant.given_dofs == (0, 1)
    with pytest.raises(ValueError, match="the prescribed motion lacks"):
        hm.Simulation(model, components=[hm.actuation.JointMotion(joint=names[0], motion=heave)])


def test_a_load_in_the_hand_of_a_given_arm():
    """A load that is held by a constraint moves as one that is part of the arm, and the joint needs the same force."""
    bar = hm.Inertia(mass=3.0, com=(0.2, 0.0, 0.02), tensor=(0.01, 0.05, 0.05, 0, 0, 0))
    block = hm.Inertia(mass=2.0, com=(0.05, 0.0, 0.0), tensor=(0.02, 0.03, 0.03, 0, 0, 0))
    hull = hm.Body(name="hull", joint=hm.joints.Free(), inertia=hm.Inertia(mass=10.0, tensor=(0.4, 0.5, 0.6, 0, 0, 0)))
    hand = (hm.Frame("hand", hm.Origin((0.4, 0.0, 0.0))),)
    arm = hm.Body(name="arm", parent="hull", joint=hm.joints.Revolute(axis=(0.3, 0.2, 1)), inertia=bar, frames=hand)
    load = hm.Body(name="load", joint=hm.joints.Free(position=(0.4, 0.0, 0.0)), inertia=block)
    still = hm.World(gravity=0.0)
    motion = motions.Sine(amplitude=0.8, period=2.0, phase=-0.5 * math.pi, offset=0.8)  # begins at rest
    model = hm.Model(name="holding", world=still, bodies=[hull, arm, load])
    grasp = hm.contact.Grasp(name="grip", holder="hand", held="load")
    held = (
        hm.Simulation(model, components=[hm.actuation.JointMotion(joint="arm", motion=motion), grasp], step=2e-3)
        .run(1.0)
        .recording
    )
    merged = hm.Body(name="load", parent="arm", joint=hm.joints.Fixed(placement=hm.Origin((0.4, 0.0, 0.0))), inertia=block)
    whole = (
        hm.Simulation(
            hm.Model(name="whole", world=still, bodies=[hull, arm, merged]),
            components=[hm.actuation.JointMotion(joint="arm", motion=motion)],
            step=2e-3,
        )
        .run(1.0)
        .recording
    )
    np.testing.assert_allclose(held.velocity.sel(body="hull").values[1:], whole.velocity.sel(body="hull").values[1:], atol=1e-5)
    expected = whole.motion_force.sel(joint_motion="arm").values
    np.testing.assert_allclose(held.motion_force.sel(joint_motion="arm").values, expected, atol=1e-4 * np.abs(expected).max())


def test_a_scenario_file_gives_motions(tmp_path):
    """Sines, locked joints, files and splines; what is saved reads back as the same."""
    times = np.linspace(0.0, 2.0, 41)
    rows = [f"{t},{1.5 + 0.3 * math.sin(t)}" for t in times]
    (tmp_path / "arm.csv").write_text("\n".join(["t,x", *rows]), encoding="utf-8")
    text = """
hydromechs_scenario: 2
name: given
run: {duration: 0.5, step: 0.005}
models:
  bluerov2_alpha5_hinsdale: {model: bluerov2_alpha5_hinsdale}
joints:
  shoulder: {motion: {type: sine, amplitude: 0.5, period: 3}}
  upper_arm: {motion: {type: steady, offset: 0.5}}
  elbow: {motion: {type: recorded_file, file: arm.csv, time: t, position: x}}
  wrist: {motion: {type: recorded, pieces: [[0, 0.1, 0, 0, 0]], end: 1}}
"""
    (tmp_path / "given.yaml").write_text(text, encoding="utf-8")
    scenario = hm.load_scenario(str(tmp_path / "given.yaml"))
    hm.save_scenario(scenario, tmp_path / "again.yaml")
    assert hm.load_scenario(str(tmp_path / "again.yaml")).components == scenario.components
    run = scenario.simulation().run(0.5).recording
    expected = [0.5 * math.sin(2.0 * math.pi * 0.5 / 3.0), 0.5, 1.5 + 0.3 * math.sin(0.5), 0.1]
    last = run.q.sel(coordinate=["shoulder", "upper_arm", "elbow", "wrist"]).values[-1]
    np.testing.assert_allclose(last, expected, atol=1e-5)
    bad = text.replace("position: x", "position: y").replace("period: 3}", "period: -3}")
    (tmp_path / "bad.yaml").write_text(bad, encoding="utf-8")
    with pytest.raises(hm.ScenarioError) as error:
        hm.load_scenario(str(tmp_path / "bad.yaml"))
    said = str(error.value)
    assert "joints.shoulder.motion.period" in said and "joints.elbow.motion.position" in said


def test_a_motion_takes_the_place_of_a_drive_of_the_vehicle(tmp_path):
    """Settings of a joint in the file take precedence."""
    text = """
hydromechs_scenario: 2
name: given
run: {duration: 0.5}
models:
  bluerov2_heavy_alpha5: {plant: bluerov2_heavy_alpha5}
joints:
  shoulder: {motion: {type: sine, amplitude: 0.5, period: 3}}
"""
    assert any(part.name == "shoulder" for part in load_vehicle("bluerov2_heavy_alpha5").components)
    (tmp_path / "given.yaml").write_text(text, encoding="utf-8")
    scenario = hm.load_scenario(str(tmp_path / "given.yaml"))
    assert not any(part.name == "shoulder" for part in scenario.components) and scenario.parts(hm.actuation.JointMotion)


def test_a_cost_names_what_changes(vehicle):
    """The pieces of a recorded motion, where there is no current at all."""
    recorded = motions.Recorded(pieces=((0.0, 0.0, 0.1, 0.0, 0.0), (0.2, 0.02, 0.1, 0.0, 0.0)), end=1.0)
    sim = hm.Simulation(vehicle, components=[hm.actuation.JointMotion(joint="elbow", motion=recorded)])
    cost = hm.RolloutCost(sim.plant, running=lambda t, q, v, u: q @ q, final=lambda q, v: q @ q)
    with pytest.raises(ValueError, match=r"those of 'elbow.motion' \(joint_motion\) change at t = 0.2 s"):
        cost.value(sim.state, np.zeros((50, 0)), 0.01)


def test_a_start_elsewhere_than_the_motion_is_a_error():
    def starting(at):
        start = ModelStart(model=hm.load("puma560"), joints={"link1": at})
        return Scenario(
            name="s",
            models=[start],
            components=[hm.actuation.JointMotion(joint="link1", motion=motions.Steady(offset=0.3))],
            duration=1.0,
        )

    assert starting(0.3).start.q[0] == 0.3
    with pytest.raises(ScenarioError, match=r"joint 'link1' .* 0\.5, .* 0\.3"):
        starting(0.5).simulation()
