"""Rollouts of plants against simulations, and users' own drives, contact laws and hydrodynamics in both."""

from dataclasses import dataclass

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import contact, geometry
from hydromechs.actuation import Thruster, drives, linear_curve
from hydromechs.contact import ContactLaw, NormalForce
from hydromechs.hydro import Current, Gusts, RegularWave
from hydromechs.model import added_mass, drag, joints
from hydromechs.model.component import FastMode
from hydromechs.simulation import PlantPrograms, components_of, evaluate
from hydromechs.spatial import maximum

STEP, STEPS = 2e-3, 120


def rover(hydro=None):
    """A vehicle with two thruster frames, a ball for contact and an arm with limits."""
    water = hydro or hm.Hydro(
        volume=0.01,
        buoyancy_center=(0.0, 0.01, -0.05),
        added_mass=added_mass.Diagonal((4.0, 6.0, 8.0, 0.1, 0.2, 0.3)),
        drag=(drag.Damping(linear=(4.0, 5.0, 6.0, 0.3, 0.4, 0.5), quadratic=(9.0, 12.0, 15.0, 0.2, 0.3, 0.4)),),
    )
    hull = hm.Body(
        name="hull",
        joint=joints.Free(
            position=(0.0, 0.0, 4.85), orientation=(0.96, 0.2, -0.1, np.sqrt(0.0284)), velocity=(0.3, 0.1, 0.2, 0.1, 0.2, -0.1)
        ),
        inertia=hm.Inertia(mass=11.0, com=(0.02, -0.01, 0.03), tensor=(0.2, 0.3, 0.4, 0.01, 0.02, -0.01)),
        hydro=water,
        frames=(
            hm.Frame("port", hm.Origin((-0.2, -0.2, 0.05), (0.1, 0.2, 0.1))),
            hm.Frame("starboard", hm.Origin((-0.2, 0.2, 0.05), (-0.1, 0.1, -0.2))),
        ),
        shapes=(geometry.Sphere(radius=0.2),),
    )
    arm = hm.Body(
        name="arm",
        parent="hull",
        joint=joints.Revolute(
            axis=(0, 1, 0.2), placement=hm.Origin((0.3, 0.0, 0.1)), limits=(-0.3, 0.25), damping=0.2, position=0.1
        ),
        inertia=hm.Inertia(mass=1.0, com=(0.15, 0.0, 0.01), tensor=(0.01, 0.02, 0.03, 0, 0, 0)),
        hydro=hm.Hydro(
            volume=0.0005, buoyancy_center=(0.15, 0, 0), added_mass=added_mass.Diagonal((0.1, 0.5, 0.5, 0.001, 0.01, 0.01))
        ),
    )
    return hm.Model(name="rover", bodies=[hull, arm])


FLOOR = contact.Terrain(
    name="floor",
    material=contact.Material(
        law=contact.NonlinearContact(stiffness=2e4, damping_factor=0.2),
        friction=contact.DryFriction(static=0.5, kinetic=0.4, stiffness=8e3, damping=100.0),
    ),
    shape=geometry.Plane.through((0, 0, 5.0), (0.02, 0.0, -1.0)),
)
THRUSTERS = [
    Thruster(name=name, frame=name, curve=linear_curve(40, 30, dead_band=0.05), time_constant=0.1, zero_thrust_speed=3.0)
    for name in ("port", "starboard")
]


def plant(**options):
    model = options.pop("model", None) or rover()
    acting = [FLOOR, *THRUSTERS, drives.Servo(joint="arm", stiffness=60.0, damping=3.0, limit=20.0)]
    return hm.Plant(model=model, components=components_of(model, acting), **options)


class Turn(hm.TracedBlock):
    """PI on the yaw rate; the arm waves to its stops."""

    period = 10 * STEP
    first_memory = {"total": 0.0}

    def prepare(self, site):
        self.commanded = site.actuators

    def update(self, tick):
        error = 0.3 - tick.v[5]
        total = tick.memory["total"] + self.period * error
        push = 0.4 * error + 0.8 * total
        values = [0.2 + push, 0.2 - push, 0.4 * np.sin(8.0 * tick.t)]
        return hm.Update(dict(zip(self.commanded, values, strict=True)), {"total": total})


FLOWS = {
    "still": {},
    "gusts": {
        "environment": hm.Environment(
            current=Current(velocity=(0.2, -0.1, 0.0)), gusts=Gusts(sigma=(0.1, 0.1, 0.05), time_constant=1.0, interval=0.1)
        ),
        "seed": 3,
    },
    "waves": {"environment": hm.Environment(waves=[RegularWave(height=0.5, period=5.0, direction=0.4)])},
}


@pytest.mark.parametrize("flow", FLOWS)
def test_rollout_is_the_simulation_step_by_step(flow):
    """One world with thrusters, servo, stops, contact and a control law equals `Simulation` to the last bit; lanes to rounding."""
    p = plant(**FLOWS[flow])
    sim = hm.Simulation(p, controller=Turn(), step=STEP, record=STEP)
    start = sim.state
    run = sim.run(STEPS * STEP)
    one = hm.rollout(p, start.q, start.v, {}, STEP, STEPS, controller=Turn(), lanes=1)
    np.testing.assert_allclose(one.t, run.recording.time, rtol=0, atol=1e-12)
    for name, got in (("q", one.q), ("v", one.v), ("internal_state", one.internal)):
        np.testing.assert_array_equal(got, run.recording[name].values, err_msg=name)
    np.testing.assert_array_equal(one.command, run.state.command)
    np.testing.assert_array_equal(one.memory, run.state.memory)
    assert one.good == STEPS and float(np.abs(run.recording.contact_force).max()) > 1.0
    assert run.recording.q.sel(coordinate="arm").max() > 0.25  # it was at its stops
    many = hm.rollout(p, np.tile(start.q, (5, 1)), start.v, {}, STEP, STEPS, controller=Turn(), threads=2, record=20)
    assert many.good.dtype.kind == "i"
    np.testing.assert_allclose(many.q, np.broadcast_to(one.q[::20], many.q.shape), rtol=0, atol=1e-9)


def test_commands_by_name_held_or_for_every_step():
    """Worlds with other commands are single rollouts with these."""
    p = plant()
    s = p.model.initial()
    port = np.array([0.5, -0.5, 0.1])
    wave = np.broadcast_to(0.2 * np.sin(np.arange(30) * 0.3), (3, 30))
    got = hm.rollout(p, np.tile(s.q, (3, 1)), s.v, {"port": port, "arm": wave}, STEP, 30, lanes=4)
    for k in range(3):
        want = hm.rollout(p, s.q, s.v, {"port": port[k], "arm": wave[k]}, STEP, 30, lanes=1)
        np.testing.assert_allclose(got.q[k], want.q, rtol=0, atol=1e-12)
    with pytest.raises(KeyError, match="unknown command or held input 'prot' .*port"):
        hm.rollout(p, s.q, s.v, {"prot": 1.0}, STEP, 2)
    with pytest.raises(TypeError, match="TracedBlock"):
        hm.rollout(p, s.q, s.v, {}, STEP, 2, controller=lambda state: None)


def test_open_parameters_of_a_plant():
    """A mass for each world, and a simulation with the same mass: nothing is compiled for it."""
    name = "hull.inertia.mass"
    model = rover()
    p = hm.Plant(model=model, components=components_of(model, [*THRUSTERS]), parameters=(name,))
    s = model.initial()
    masses = np.array([10.0, 11.0, 14.0])
    got = hm.rollout(p, s.q, s.v, {"port": 0.4}, STEP, 40, parameters={name: masses}, lanes=1)
    for k, mass in enumerate(masses):
        sim = hm.Simulation(p, step=STEP)
        sim.parameters[name] = mass
        sim.command = {"port": 0.4}
        np.testing.assert_allclose(sim.step(duration=40 * STEP).q, got.q[k, -1], rtol=0, atol=1e-12)
    assert np.abs(got.q[0, -1] - got.q[2, -1]).max() > 1e-4


def test_other_seeds_currents_and_starts_compile_nothing(tmp_path, monkeypatch):
    """Numbers of a run are inputs: the cache gets no new entry."""
    monkeypatch.setenv("HYDROMECHS_CACHE", str(tmp_path))

    def entries():
        return sorted(f.name for f in tmp_path.rglob("*") if f.is_file())

    def run(seed, speed, height, period):
        sea = hm.Environment(
            current=Current(velocity=(speed, 0.1, 0.0)),
            gusts=Gusts(sigma=(0.1, 0.1, 0.05), time_constant=1.0, interval=0.1),
            waves=[RegularWave(height=height, period=period)],
        )
        sim = hm.Simulation(plant(environment=sea, seed=seed), step=STEP)
        return sim.run(0.1).state.q

    first = run(1, 0.2, 0.4, 5.0)
    made = entries()
    assert made
    others = [run(2, 0.2, 0.4, 5.0), run(1, 0.3, 0.4, 5.0), run(1, 0.2, 0.5, 6.0)]
    assert entries() == made
    assert all(np.abs(q - first).max() > 1e-9 for q in others)


# -- users' own --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class LaggedTorque(drives.Drive):
    """A torque that follows its command with a lag."""

    unit = "N m"
    time_constant: float = 0.05

    @property
    def state_names(self):
        return ("torque",)

    def force(self, command, q, qd, x):
        return x[0] - 0.1 * qd

    def rates(self, command, q, qd, x):
        return ((command - x[0]) / self.time_constant,)

    def joint_modes(self, mobility):
        return (FastMode(f"lag of joint {self.joint!r}", 0.0, 1.0 / self.time_constant),)


@dataclass(frozen=True, slots=True, kw_only=True)
class CubicContact(ContactLaw):
    """A spring with the cube of the depth."""

    stiffness: float

    def force(self, depth, rate):
        d = maximum(depth, 0.0)
        push = self.stiffness * d * d * d
        return NormalForce(push, push, 0.25 * push * d)

    def stiffness_at(self, depth):
        return 3.0 * self.stiffness * depth**2, 0.0


@dataclass(frozen=True)
class Slime:
    """Custom hydrodynamics: linear drag and a sphere's added mass."""

    def added_mass(self, body, motion):
        return np.diag([3.0, 3.0, 3.0, 0.01, 0.01, 0.01])

    def wrench(self, body, motion):
        return np.concatenate([10.0 * motion.a_fg, np.zeros(3)]) - 5.0 * motion.velocity


def users_plant():
    model = rover(Slime())
    floor = contact.Terrain(
        name="floor",
        material=contact.Material(law=CubicContact(stiffness=5e6)),
        shape=geometry.Plane.through((0, 0, 5.0), (0, 0, -1)),
    )
    own = components_of(model, [floor, *THRUSTERS, LaggedTorque(joint="arm")])
    return hm.Plant(model=model, components=own)


def test_users_own_drive_contact_law_and_hydrodynamics():
    """Compiled in simulation and rollout as in floats; recorded and audited like ours."""
    p = users_plant()
    assert p.identity is None  # known by its trace alone
    sim = hm.Simulation(p, step=STEP, record=STEP)
    sim.command = {"arm": 2.0, "port": 0.3}
    start = sim.state
    run = sim.run(0.4)
    assert "arm.torque" in p.layout.states and float(run.recording.contact_force.max()) > 1.0
    turnover = float(np.abs(run.recording.work).max())
    assert float(np.abs(run.recording.energy_residual).max()) < 1e-5 * turnover
    roll = hm.rollout(p, start.q, start.v, {"arm": 2.0, "port": 0.3}, STEP, 200, lanes=1)
    np.testing.assert_array_equal(roll.q, run.recording.q.values)
    s, nv = run.state, p.model.nv
    inputs = np.concatenate([s.command, s.held])
    want = evaluate(p, s.t, s.q, s.v, s.internal, inputs)
    program = PlantPrograms(p, sim.method).stepper.derivative_program
    (got,) = program(s.t, s.q, np.concatenate([np.zeros(nv), s.v, s.internal]), inputs)
    np.testing.assert_allclose(got[nv : 2 * nv], want.vdot, rtol=1e-11, atol=1e-10)


def test_joint_drive_on_a_ball_moves_to_its_target():
    """The servo of a ball joint ends at the rotation vector of its command, also far from the start."""
    body = hm.Body(name="ankle", joint=joints.Ball(), inertia=hm.Inertia(mass=1.0, tensor=(0.02, 0.03, 0.04, 0, 0, 0)))
    model = hm.Model(name="ankle", bodies=[body])
    p = hm.Plant(model=model, components=[drives.Servo(joint="ankle", stiffness=30.0, damping=1.5)])
    assert p.layout.commands == ("ankle.x", "ankle.y", "ankle.z")
    sim = hm.Simulation(p)
    target = np.array([0.7, -1.1, 0.5])
    sim.command = target
    run = sim.run(3.0)
    np.testing.assert_allclose(run.state.q, hm.spatial.quaternion_exp(target), rtol=0, atol=1e-5)
    assert run.recording.actuator_force.sizes["actuator"] == 3


def test_damping_friction_and_limits_of_ball_and_composite_joints_act():
    """Springs and dampers of such joints in the model change the motion; a ball with damping d in a vacuum decays as e^(-d t/J)."""
    J = 0.05

    def end(**options):
        body = hm.Body(
            name="b",
            joint=joints.Ball(velocity=(0.3, -0.2, 0.4), **options),
            inertia=hm.Inertia(mass=1.0, tensor=(J, J, J, 0, 0, 0)),
        )
        return hm.Simulation(hm.Model(name="m", bodies=[body])).run(0.5).state

    np.testing.assert_allclose(end(damping=0.2).v, np.exp(-0.2 * 0.5 / J) * np.array([0.3, -0.2, 0.4]), rtol=1e-9)
    assert np.linalg.norm(end(friction=0.1).v) < 0.05 < np.linalg.norm(end().v)
    angle = 2.0 * np.arccos(end(limit=0.05).q[0])
    assert angle < 0.1 < 2.0 * np.arccos(end().q[0])
    parts = (joints.Prismatic(axis=(1, 0, 0), velocity=0.3), joints.Revolute(axis=(0, 0, 1), velocity=0.5, damping=0.1))
    body = hm.Body(name="b", joint=joints.Composite(parts=parts), inertia=hm.Inertia(mass=1.0, tensor=(J, J, J, 0, 0, 0)))
    state = hm.Simulation(hm.Model(name="m", bodies=[body])).run(0.5).state
    assert state.v[0] == pytest.approx(0.3, rel=1e-9) and state.v[1] == pytest.approx(0.5 * np.exp(-0.1 * 0.5 / J), rel=1e-9)


def test_every_world_starts_at_its_own_rest():
    """A servo holds each world's joint where it starts; a spring at rest counts as a store of energy; seeds go with the plant."""
    body = hm.Body(
        name="arm",
        joint=joints.Revolute(axis=(0, 1, 0)),
        inertia=hm.Inertia(mass=1.0, com=(0.1, 0, 0), tensor=(0.1, 0.1, 0.1, 0, 0, 0)),
    )
    model = hm.Model(name="arm", bodies=[body], world=hm.World(gravity=0.0))
    p = hm.Plant(model=model, components=[drives.Servo(joint="arm", stiffness=50.0, damping=2.0)])
    got = hm.rollout(p, np.array([[0.0], [1.0]]), np.zeros(1), {}, STEP, 50, lanes=1)
    np.testing.assert_allclose(got.q[:, -1], [[0.0], [1.0]], atol=1e-12)
    with pytest.raises(TypeError, match="seed is given, but the Plant already"):
        hm.Simulation(p, seed=5)
    with pytest.raises(ValueError, match="t applies only to a plant"):
        hm.rollout(hm.compile(model), model.initial().q, model.initial().v, np.zeros(1), STEP, 2, t=7.0)
    for options, words in (
        ({"lanes": 3}, "must be 1, 4 or 8"),
        ({"threads": 0}, "threads is 0"),
        ({"internal": np.zeros(9)}, "internal must have"),
    ):
        with pytest.raises(ValueError, match=words):
            hm.rollout(p, np.zeros(1), np.zeros(1), {}, STEP, 2, **options)
