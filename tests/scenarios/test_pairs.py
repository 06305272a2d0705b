"""Every integrator with every kind of component: it runs, agrees with a fine reference, and a resumed run is the same run."""

import functools
import warnings
from dataclasses import dataclass

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import contact, geometry
from hydromechs.actuation import (
    ExternalWrench,
    JointFriction,
    JointRotor,
    JointSpring,
    JointStops,
    Thruster,
    drives,
    ideal_curve,
)
from hydromechs.model import added_mass, drag, joints
from hydromechs.model.component import Action, Component, Output

STEP, TIME, CUT = 2e-3, 0.2, 0.074
WATER = hm.Hydro(
    volume=0.003,
    buoyancy_center=(0.02, 0.0, -0.03),
    added_mass=added_mass.Diagonal((2.0, 3.0, 4.0, 0.02, 0.03, 0.04)),
    drag=(drag.Damping(linear=(2.0, 3.0, 4.0, 0.1, 0.1, 0.1)),),
)
INERTIA = hm.Inertia(mass=4.0, com=(0.03, -0.01, 0.02), tensor=(0.05, 0.06, 0.07, 0.002, 0.001, -0.003))


def body(name="hull", joint=None, parent=None, **options):
    frames = (hm.Frame("nose", hm.Origin((0.2, 0.05, -0.03), (0.3, -0.2, 0.5))),) if name == "hull" else ()
    return hm.Body(
        name=name, joint=joint or joints.Free(), parent=parent, inertia=INERTIA, hydro=WATER, frames=frames, **options
    )


def model(*bodies):
    return hm.Model(name="small", bodies=list(bodies))


TILTED = joints.Free(
    position=(0.1, 0.2, 1.0), orientation=(0.9, 0.3, -0.1, np.sqrt(0.09)), velocity=(0.3, -0.2, 0.1, 0.4, -0.3, 0.5)
)
HINGE = joints.Revolute(axis=(0.2, 1.0, 0.1), position=0.4, velocity=0.8)
BALL = joints.Ball(orientation=(0.9, 0.3, -0.1, np.sqrt(0.09)), velocity=(0.4, -0.3, 0.5))
SLIDE = joints.Composite(parts=(joints.Prismatic(axis=(1, 0, 0), velocity=0.3), joints.Revolute(axis=(0, 0, 1), velocity=-0.4)))
FLOOR = contact.Material(law=contact.NonlinearContact(stiffness=4e3, damping_factor=0.3))
ROUGH = contact.Material(
    law=contact.LinearContact(stiffness=4e3, damping=60.0),
    friction=contact.DryFriction(static=0.5, kinetic=0.4, stiffness=3e3, damping=60.0),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpringLine(Component):
    """A line to a fixed point with a state: its creep."""

    outputs = (Output("line_tension", "N", "tension of the line"),)
    name: str
    frame: str
    anchor: tuple[float, float, float]
    stiffness: float = 40.0
    damping: float = 6.0

    def act(self, now, z, u):
        place = now.frame(self.frame)
        r = place.p - np.array(self.anchor)
        return Action(
            forces=[place.force(-self.stiffness * r - self.damping * place.v)],
            energy=0.5 * self.stiffness * (r @ r),
            power=-self.damping * (place.v @ place.v),
            record={"line_tension": self.stiffness * np.sqrt(r @ r + 1e-300)},
        )


def ground(material):
    ball = body(joint=joints.Free(velocity=(0.3, 0.1, 0.0, 0.0, 0.0, 0.0)), shapes=(geometry.Sphere(radius=0.1),))
    plane = contact.Terrain(name="floor", material=material, shape=geometry.Plane.through((0, 0, 0.0985), (0.05, 0, -1)))
    small = model(ball)
    return small, contact.contact_pairs(small, [plane])


def block(material):
    """A lying capsule that slides and turns on a box of terrain: one convex pair with a patch of friction.

    It compiles faster than a box on a box.
    """
    lying = geometry.Capsule(radius=0.1, length=0.3).at((0.0, 0.0, 0.0), (0.0, np.pi / 2, 0.0))
    crate = body(joint=joints.Free(velocity=(0.3, 0.1, 0.0, 0.0, 0.0, 0.5)), shapes=(lying,))
    solid = contact.Terrain(
        name="block", material=material, shape=geometry.Box(size=(2, 2, 0.4)).at((0, 0, 0.297), (0.01, 0.02, 0))
    )
    small = model(crate)
    return small, contact.contact_pairs(small, [solid])


def held():
    load = hm.Body(
        name="load",
        joint=joints.Free(position=(0.3, 0.1, -0.1), velocity=(0.1, 0.0, 0.2, 0.1, 0.2, 0.0)),
        inertia=INERTIA,
        frames=(hm.Frame("grip", hm.Origin((0.0, 0.0, 0.0))),),
    )
    both = model(body(joint=joints.Free(velocity=(0.2, 0.1, 0.0, 0.1, -0.3, 0.2))), load)
    return both, [contact.Grasp(name="hand", holder="nose", held="grip", free=("rx", "ry", "rz"), tolerance=1.0)]


def joint_case(kind, component):
    return lambda: (model(body("arm", kind)), [component])


KINDS = {
    "thruster": lambda: (
        model(body(joint=TILTED)),
        [Thruster(name="prop", frame="nose", curve=ideal_curve(60, 50), time_constant=0.05, zero_thrust_speed=4.0)],
    ),
    "torque": joint_case(HINGE, drives.Torque(joint="arm", limit=9.0)),
    "servo": joint_case(HINGE, drives.Servo(joint="arm", stiffness=40.0, damping=2.0, limit=15.0)),
    "motor": joint_case(
        HINGE,
        drives.Motor(
            joint="arm",
            resistance=1.0,
            torque_constant=0.05,
            gear_ratio=50,
            inductance=0.02,
            rotor_inertia=1e-5,
            efficiency=0.8,
        ),
    ),
    "hydraulic": joint_case(
        HINGE,
        drives.Hydraulic(
            joint="arm",
            supply_pressure=1e6,
            displacement=1e-5,
            flow_coefficient=2e-9,
            bulk_modulus=2e8,
            chamber_volume=1e-3,
            spool_time_constant=0.03,
        ),
    ),
    "ball servo": joint_case(BALL, drives.Servo(joint="arm", stiffness=40.0, damping=2.0)),
    "friction": joint_case(HINGE, JointFriction(joint="arm", viscous=0.5, coulomb=1.0, relaxation=0.02)),
    "ball friction": joint_case(BALL, JointFriction(joint="arm", viscous=0.5, coulomb=1.0, relaxation=0.02)),
    "composite friction": joint_case(SLIDE, JointFriction(joint="arm.2", viscous=0.5)),
    "stops": joint_case(HINGE, JointStops(joint="arm", upper=0.3, stiffness=200.0, damping=4.0)),
    "ball stops": joint_case(BALL, JointStops(joint="arm", upper=0.5, stiffness=200.0, damping=4.0)),
    "spring and rotor": lambda: (
        model(body("arm", HINGE)),
        [JointSpring(joints=("arm",), stiffness=30.0, rest=0.2), JointRotor(joint="arm", inertia=0.1)],
    ),
    "contact": lambda: ground(FLOOR),
    "rough contact": lambda: ground(ROUGH),
    "convex contact": lambda: block(ROUGH),
    "grasp": held,
    "external": lambda: (model(body(joint=TILTED)), [ExternalWrench(body="hull")]),
    "user's own": lambda: (model(body(joint=TILTED)), [SpringLine(name="line", frame="nose", anchor=(0.5, 0.0, 1.0))]),
}
INTEGRATORS = {
    # allowed error relative to the motion: first order, and far less; kinks of friction and contact cost any method its order
    "euler": 0.2,
    "semi_implicit_euler": 0.2,
    "rk4": 1e-4,
    "linearly_implicit": 2e-3,
    "dormand_prince": 1e-4,
    "b2pc5": 1e-4,
}
KINKED = {"contact", "rough contact", "friction", "ball friction", "stops", "ball stops"}
INPUTS = {"thruster": 30.0, "torque": 4.0, "motor": 6.0, "hydraulic": 0.5}


def step_of(plant, integrator):
    """STEP, or a part of it where the advice on stability asks for that."""
    method = hm.integrators.method_named(integrator)
    modes = hm.simulation.stiff_modes(plant, plant.model.initial().q)
    limit = min([STEP, *(0.5 * hm.simulation.step_limit(mode, method) for mode in modes)])
    if isinstance(method, hm.integrators.SlidingBlock) and any(mode.meets or "slipping" in mode.name for mode in modes):
        limit = STEP / 16  # a block that meets a jump is off by the jump times its length
    return STEP / 2 ** int(np.ceil(np.log2(STEP / max(limit, STEP / 64))))


def simulation(kind, integrator, **options):
    small, components = KINDS[kind]()
    plant = hm.Plant(model=small, components=tuple(components))
    sim = hm.Simulation(plant, integrator=integrator, step=step_of(plant, integrator), record=0.02, **options)
    if kind in INPUTS:
        sim.command = [INPUTS[kind]] * len(sim.actuators)
    elif kind == "external":
        sim.set_wrench("hull", (3.0, -2.0, 1.0, 0.2, 0.1, -0.3))
    return sim


@functools.cache
def reference(kind):
    """A run with tight tolerances."""
    method = hm.integrators.DormandPrince(relative=1e-9, absolute=1e-12, largest=2e-3)
    return run(simulation(kind, method), TIME)


def run(sim, time):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the step is long for a method is no matter here
        return sim.run(time)


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("kind", KINDS)
def test_runs_agrees_and_resumes(kind, integrator, tmp_path):
    """TIME at once equals a part, saved, loaded into a new simulation, and the rest, to the last bit; both are right."""
    whole = run(simulation(kind, integrator), TIME)
    fine = reference(kind)
    q = fine.recording.q.values
    motion = np.abs(q - q[0]).max()
    off = np.abs(whole.recording.q.values - q).max() / motion
    assert off < INTEGRATORS[integrator] * (100.0 if kind in KINKED else 1.0), off

    period = 2.0 * STEP  # a block method starts again at every look of a controller, so that pieces fit together
    control = dict(controller=lambda state: None, period=period)
    pieces = run(simulation(kind, integrator, **control), TIME)
    first = simulation(kind, integrator, **control)
    run(first, CUT - CUT % period)
    hm.save_state(first.state, tmp_path / "state.json")
    second = simulation(kind, integrator, **control)
    second.state = hm.load_state(tmp_path / "state.json")
    rest = run(second, TIME - first.state.t)
    assert rest.state.t == pytest.approx(pieces.state.t, abs=1e-12)
    for name in ("q", "v", "internal", "command", "held"):
        np.testing.assert_array_equal(getattr(rest.state, name), getattr(pieces.state, name), err_msg=name)


@pytest.mark.parametrize("kind", KINDS)
def test_energy_is_accounted_for(kind):
    """Work by cause is the change of stored energy."""
    ds = reference(kind).recording
    turnover = float(np.abs(ds.work.values).max()) + float(np.abs(ds.kinetic_energy_body.values).max())
    # work is accounted for beside the motion: where a damper sets in with a jump, its error is that of one step
    assert float(np.abs(ds.energy_residual).max()) < (1e-4 if kind in KINKED else 1e-7) * turnover


@pytest.mark.parametrize("kind", KINDS)
def test_machine_code_is_the_reference(kind):
    """Compiled accelerations against the same function of floats."""
    sim = simulation(kind, "rk4")
    run(sim, 0.02)
    s, plant = sim.state, sim.plant
    nv = plant.model.nv
    inputs = np.concatenate([s.command, s.held])
    want = hm.simulation.evaluate(plant, s.t, s.q, s.v, s.internal, inputs)
    program = hm.simulation.PlantPrograms(plant, sim.method).stepper.derivative_program
    (got,) = program(s.t, s.q, np.concatenate([np.zeros(nv), s.v, s.internal]), inputs)
    scale = np.abs(want.vdot).max() + 1.0
    np.testing.assert_allclose(got[nv : 2 * nv], want.vdot, rtol=1e-10, atol=1e-11 * scale)
    np.testing.assert_allclose(got[2 * nv :], want.zdot, rtol=1e-9, atol=1e-9 * scale)
