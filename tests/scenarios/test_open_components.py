"""Open numbers of components, terrain and environment: programs with symbols against plants that have the numbers."""

from dataclasses import replace

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import compiler, contact, geometry, lines, registry
from hydromechs.actuation import JointFriction, JointMotion, JointSpring, JointStops, Thruster, drives, ideal_curve, motions
from hydromechs.hydro import Current, PowerLaw
from hydromechs.model import added_mass, drag, joints
from hydromechs.simulation import components_of, stiff_modes
from hydromechs.simulation._evaluate import evaluate
from hydromechs.simulation._initial_instant import InitialInstant

WATER = hm.Hydro(
    volume=0.01,
    added_mass=added_mass.Diagonal((4.0, 6.0, 8.0, 0.1, 0.2, 0.3)),
    drag=(drag.Damping(quadratic=(9.0, 12.0, 15.0, 0.2, 0.3, 0.4)),),
)
INERTIA = hm.Inertia(mass=4.0, com=(0.03, -0.01, 0.02), tensor=(0.05, 0.06, 0.07, 0.002, 0.001, -0.003))
ROUGH = contact.Material(
    law=contact.LinearContact(stiffness=4e3, damping=60.0),
    friction=contact.DryFriction(static=0.5, kinetic=0.4, stiffness=3e3, damping=60.0),
)
CABLE = lines.Cable(diameter=0.02, mass=0.8, axial_stiffness=4e3, axial_damping=20.0)

OPEN = {
    "prop.time_constant": 0.08,
    "prop.zero_thrust_speed": 3.0,
    "torque.limit": 0.3,
    "servo.stiffness": 55.0,
    "motor.resistance": 1.5,
    "motor.inductance": 0.03,
    "hydraulic.bulk_modulus": 1.5e8,
    "hydraulic.spool_time_constant": 0.05,
    "moved.motion.motion.amplitude": 0.3,
    "dry.friction.coulomb": 1.5,
    "dry.stops.upper": 0.25,
    "dry.spring.stiffness": 40.0,
    "floor.origin.xyz.z": 0.99,
    "floor.origin.rpy": (0.01, -0.02, 0.3),
    "hull.frames.nose.origin.rpy": (0.25, -0.15, 0.4),
    "floor.material.law.damping": 90.0,
    "floor.material.friction.kinetic": 0.3,
    "clamp.stiffness": (250.0, 260.0, 270.0),
    "hand.stabilisation": 15.0,
    "hawser.cable.mass": 0.9,
    "hose.cable.normal_drag": 1.4,
    "environment.current.velocity": (0.3, -0.1, 0.05),
    "environment.current.profile.exponent": 0.2,
}
"""One number of each class that has some, and a value that it does not have in the plant."""


def free(name, z, **options):
    joint = joints.Free(position=(0.0, 0.0, z), velocity=(0.3, -0.2, 0.1, 0.1, -0.2, 0.3))
    return hm.Body(name=name, joint=joint, inertia=INERTIA, **options)


def machine():
    """A plant of small trees, each with a kind of component."""
    hinge = joints.Revolute(axis=(0.2, 1.0, 0.1), position=0.4, velocity=0.8)
    arms = [
        hm.Body(name=name, joint=replace(hinge, placement=hm.Origin((3.0 * k, 0.0, 5.0))), inertia=INERTIA)
        for k, name in enumerate(("torque", "servo", "motor", "hydraulic", "moved", "dry"))
    ]
    nose = (hm.Frame("nose", hm.Origin((0.2, 0.05, -0.03), (0.3, -0.2, 0.5))), hm.Frame("foot", hm.Origin((0.0, 0.0, 0.0))))
    grips = [hm.Frame(f"{name} point", hm.Origin((0.0, 0.1, 0.0))) for name in ("clamped", "gripped")]
    bodies = [
        free("hull", 1.0, hydro=WATER, frames=nose),
        free("clamped", 1.05, frames=grips[:1]),
        free("gripped", 1.05, frames=grips[1:]),
        *arms,
    ]
    model = hm.Model(name="machine", bodies=bodies)
    top = lines.SwayingPoint(position=(0.5, 0.0, -3.0))
    parts = [
        Thruster(name="prop", frame="nose", curve=ideal_curve(60, 50), time_constant=0.05, zero_thrust_speed=4.0),
        drives.Torque(joint="torque", limit=9.0),
        drives.Servo(joint="servo", stiffness=40.0, damping=2.0, limit=15.0),
        drives.Motor(joint="motor", resistance=1.0, torque_constant=0.05, gear_ratio=50, inductance=0.02),
        drives.Hydraulic(
            joint="hydraulic",
            supply_pressure=1e6,
            displacement=1e-5,
            flow_coefficient=2e-9,
            bulk_modulus=2e8,
            chamber_volume=1e-3,
            spool_time_constant=0.03,
        ),
        JointMotion(joint="moved", motion=motions.Sine(amplitude=0.2, period=2.0)),
        JointFriction(joint="dry", viscous=0.5, coulomb=1.0, relaxation=0.02),
        JointStops(joint="dry", upper=0.3, stiffness=200.0, damping=4.0),
        JointSpring(joints=("dry",), stiffness=30.0, rest=0.2),
        contact.Terrain(name="floor", material=ROUGH, shape=geometry.Plane.through((0, 0, 0.995), (0.05, 0, -1))),
        contact.PointContact(frame="foot"),
        contact.Grip(
            name="clamp",
            holder="nose",
            held="clamped point",
            stiffness=(300, 300, 300),
            damping=(9, 9, 9),
            reach=1.0,
            closed=True,
        ),
        contact.Grasp(name="hand", holder="nose", held="gripped point", free=("rx", "ry", "rz"), tolerance=1.0),
        lines.HangingLine(name="hawser", frame="nose", top=top, cable=CABLE, length=4.5),
        lines.Tether(name="hose", frame="foot", top=top, cable=CABLE, length=4.5, segments=3),
        lines.LiftedLine(name="chain", body="hull", weight=6.0),
    ]
    sea = hm.Environment(current=Current(velocity=(0.2, 0.1, 0.0), profile=PowerLaw(depth=30.0)))
    return hm.Plant(model=model, environment=sea, components=components_of(model, parts))


@pytest.fixture(scope="module")
def opened():
    return replace(machine(), parameters=tuple(OPEN))


def start_of(plant, values):
    """Time, state and inputs of an instant with values of the open parameters."""
    valued = plant.with_values(plant.parameter_values(values))
    start, layout = valued.start, plant.layout
    now = InitialInstant(plant, 0.0, start.q, start.v, values)
    data, _ = plant.data(plant.flow(), 0.0, values)
    commands = np.where(np.arange(len(layout.input_slots)) < len(layout.commands), 0.5, now.inputs())
    return (
        0.1,
        start.q,
        start.v,
        np.concatenate([now.states() + 0.01, np.zeros(len(layout.causes))]),
        np.concatenate([commands, data]),
    )


@pytest.mark.parametrize("path", OPEN)
def test_an_open_number_is_that_of_a_plant_that_has_it(opened, path):
    """Accelerations, rates, forces and energies of one instant; and they depend on it."""
    plant = replace(machine(), parameters=(path,))
    other = registry.replaced(machine(), path, OPEN[path])
    got, want = evaluate(plant, *start_of(plant, {path: OPEN[path]})), evaluate(other, *start_of(other, {}))
    own = evaluate(plant, *start_of(plant, {}))
    rates = [np.concatenate([e.vdot, e.zdot, [e.elastic_energy]]).astype(float) for e in (got, want, own)]
    scale = np.abs(rates[1]) + 1.0
    assert (np.abs(rates[0] - rates[1]) / scale).max() < 1e-12
    assert (np.abs(rates[0] - rates[2]) / scale).max() > 1e-7
    assert plant.identity is not None
    assert plant.identity == replace(other, parameters=(path,)).identity != machine().identity


def test_compiled_runs_with_open_numbers_are_those_of_a_plant_that_has_them(opened, monkeypatch):
    """All at once; other values compile nothing, in a simulation of the same plant and of one with other numbers."""
    step = 0.5 / max(mode.fastest for mode in stiff_modes(opened, opened.start.q))
    options = {"step": step, "record": 10 * step, "integrator": "rk4"}
    got = hm.Simulation(opened, parameters=OPEN, **options).run(50 * step).recording
    other = registry.replaced_all(machine(), OPEN)
    want = hm.Simulation(other, **options).run(50 * step).recording
    for variable in want:
        scale = np.nan_to_num(np.abs(want[variable].values)).max() + 1.0
        np.testing.assert_allclose(got[variable], want[variable], rtol=0, atol=1e-9 * scale, err_msg=str(variable))
    for place in (compiler, compiler._trace):
        monkeypatch.setattr(place, "trace", lambda *args, **options: pytest.fail("it was traced"))
    again = hm.Simulation(replace(other, parameters=tuple(OPEN)), **options).run(50 * step).recording
    np.testing.assert_array_equal(again.position, got.position)


def test_gradients_through_open_numbers_of_components_are_those_of_differences():
    """Of a cost over a rollout: lag of a thruster, stiffness of a servo, damping of a contact, current."""
    paths = ("prop.time_constant", "servo.stiffness", "floor.material.law.damping", "environment.current.velocity.x")
    small = machine()
    kept = {"prop", "servo", "foot on floor"}
    plant = replace(small, components=tuple(c for c in small.components if c.name in kept), parameters=paths)
    cost, step = hm.RolloutCost(plant, final=lambda q, v: v @ v), 2e-3
    start = hm.Simulation(plant).state
    commands = np.full((40, len(plant.layout.commands)), 0.3)
    found = cost.gradient(start, commands, step)
    for k, path in enumerate(paths):
        h = 1e-5 * max(1.0, abs(float(start.parameters[k])))
        ends = [replace(start, parameters=start.parameters + s * h * np.eye(len(paths))[k]) for s in (1.0, -1.0)]
        slope = (cost.value(ends[0], commands, step) - cost.value(ends[1], commands, step)) / (2.0 * h)
        assert float(found.parameters[path]) == pytest.approx(slope, rel=1e-4, abs=1e-9)
        assert slope != 0.0


@pytest.mark.parametrize(
    "path, said",
    [
        ("floor.origin.rpy", None),
        ("hose.segments", "cannot stay open|has no effect"),
        ("prop.curve.forces", "cannot stay open"),
        ("floor.material.friction.static", None),
        ("prop.radius", "has no effect"),
        ("chain.weight", "has no effect"),  # a held input already
        ("servo.stifness", "stiffness"),
    ],
)
def test_numbers_that_decide_the_structure_are_rejected_by_name(path, said):
    if said is None:
        replace(machine(), parameters=(path,))
        return
    with pytest.raises((ValueError, KeyError), match=f"(?s){path}.*({said})"):
        replace(machine(), parameters=(path,))


def test_values_that_a_component_cannot_have_are_rejected(opened):
    for path, value in (("servo.stiffness", -1.0), ("prop.time_constant", 0.0), ("dry.stops.upper", np.nan)):
        with pytest.raises(ValueError, match=path):
            hm.Simulation(opened, parameters={path: value}, step=1e-4)
