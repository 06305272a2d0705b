"""The energy audit: the change of all energies is the work of all causes, to the order of the method, with everything switched on.

The residual is E(t) − E(0) − Σ W, with the works integrated beside the state. Nothing in it is fitted: a force whose power is accounted for wrongly, or an energy that is forgotten, leaves a residual that does not shrink with the step.
"""

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import geometry
from hydromechs.actuation import Thruster, drives, linear_curve
from hydromechs.contact import DryFriction, Material, NonlinearContact, Terrain
from hydromechs.hydro import Current, DepthTable, Environment, FreeSurface, Gusts, JonswapSea, PowerLaw, RegularWave

MOUNTS = (
    hm.Frame("port", hm.Origin((-0.4, -0.25, 0.05), (0.0, 0.1, 0.3))),
    hm.Frame("starboard", hm.Origin((-0.4, 0.25, 0.05), (0.2, -0.1, -0.3))),
)
THRUSTERS = [
    Thruster(name=name, frame=name, curve=linear_curve(60.0, 45.0), time_constant=0.25, zero_thrust_speed=3.0)
    for name in ("port", "starboard")
]
COMMAND = {"port": 0.9, "starboard": 0.5}


def full(seed, scale, diagonal):
    B = scale * np.random.default_rng(seed).normal(size=(6, 6))
    return hm.added_mass.Matrix(B @ B.T + np.diag(diagonal))


def vehicle(*, smooth: bool, position=(0.0, 0.0, 2.0), shapes=(), volume=0.04):
    """A vehicle with a motor-driven shoulder and a servo-driven slider; a fixed tool on it; heavier than its water.

    `smooth` drag has no kinks in its first three derivatives along the motions here.
    """
    rough = () if smooth else (hm.drag.Damping(quadratic=(20.0, 30.0, 40.0, 2.0, 3.0, 4.0)),)
    hull = hm.Body(
        name="hull",
        joint=hm.joints.Free(position=position, velocity=(0.4, 0.2, -0.1, 0.2, 0.3, -0.2)),
        inertia=hm.Inertia(mass=42.0, com=(0.03, -0.02, 0.06), tensor=(2.0, 3.0, 3.5, 0.1, -0.1, 0.05)),
        hydro=hm.Hydro(
            volume=volume,
            buoyancy_center=(0.01, 0.02, -0.04),
            added_mass=full(1, 1.0, (20, 30, 40, 1, 1.5, 2)),
            drag=(
                hm.drag.ShapeDrag(shape=hm.geometry.Ellipsoid(axes=(0.5, 0.3, 0.2)), coefficient=(0.4, 0.8, 1.0)),
                hm.drag.Damping(linear=(4, 5, 6, 1, 2, 2)),
                *rough,
            ),
        ),
        frames=MOUNTS,
        shapes=shapes,
    )
    shoulder = hm.Body(
        name="shoulder",
        parent="hull",
        joint=hm.joints.Revolute(placement=hm.Origin((0.4, 0.1, 0.1), (0.2, 0.3, 0.4)), axis=(0.1, 1.0, 0.2)),
        inertia=hm.Inertia(mass=4.0, com=(0.2, 0.01, 0.02), tensor=(0.02, 0.08, 0.08, 0, 0, 0)),
        hydro=hm.Hydro(
            volume=0.003,
            buoyancy_center=(0.15, 0.0, 0.0),
            added_mass=full(2, 0.3, (1, 3, 3, 0.02, 0.08, 0.08)),
            drag=hm.drag.ShapeDrag(
                shape=hm.geometry.Cylinder.between((0, 0, 0), (0.4, 0, 0), radius=0.04), coefficient=1.1, points=2
            ),
        ),
    )
    tool = hm.Body(
        name="tool",
        parent="shoulder",
        joint=hm.joints.Fixed(placement=hm.Origin((0.45, 0.0, 0.0), (0.3, 0.2, 0.1))),
        inertia=hm.Inertia(mass=1.0, com=(0.02, 0.03, 0.01), tensor=(0.004, 0.004, 0.004, 0, 0, 0)),
        hydro=hm.Hydro(
            volume=0.0005,
            added_mass=hm.added_mass.ShapeAddedMass(shape=hm.geometry.Sphere(radius=0.05)),
            drag=hm.drag.ShapeDrag(shape=hm.geometry.Sphere(radius=0.05), coefficient=0.5),
        ),
    )
    slider = hm.Body(
        name="slider",
        parent="hull",
        joint=hm.joints.Prismatic(placement=hm.Origin((-0.2, 0.0, 0.2), (0.0, 0.4, 0.0)), axis=(0, 0, 1), velocity=0.3),
        inertia=hm.Inertia(mass=3.0, com=(0.01, 0.0, 0.1), tensor=(0.02, 0.02, 0.02, 0, 0, 0)),
        hydro=hm.Hydro(volume=0.002, added_mass=hm.added_mass.Diagonal((1.0, 1.0, 0.5, 0, 0, 0))),
    )
    return hm.Model(name="audit", bodies=[hull, shoulder, tool, slider])


DRIVES = [
    drives.Motor(
        joint="shoulder",
        resistance=1.2,
        torque_constant=0.05,
        gear_ratio=60.0,
        inductance=0.05,
        rotor_inertia=1e-4,
        voltage_limit=24.0,
    ),
    drives.Servo(joint="slider", stiffness=300.0, damping=20.0, limit=200.0),
]
WATER = Environment(
    current=Current(
        times=(0.0, 1.0, 3.0),
        velocities=((0.2, 0.1, 0.0), (0.5, -0.2, 0.05), (0.3, 0.3, 0.0)),
        profile=PowerLaw(depth=20.0, exponent=0.3),
    ),
    gusts=Gusts(sigma=(0.1, 0.1, 0.05), time_constant=2.0, interval=0.1),
    waves=(
        RegularWave(height=0.5, period=3.0, direction=0.6),
        JonswapSea(significant_height=0.4, peak_period=4.0, components=4),
    ),
    water_depth=20.0,
)


def residual(step, *, model, command=COMMAND, duration=2.0, record=0.1, wrench=None, **options):
    """Largest residual [J], the largest sum of |work| [J], and the run."""
    sim = hm.Simulation(model, step=step, record=record, seed=3, **options)
    if command:
        sim.command = command
    if wrench is not None:
        sim.set_wrench("hull", wrench)
    run = sim.run(duration)
    ds = run.recording
    return np.abs(ds.energy_residual.values).max(), np.abs(ds.work.values).sum(axis=1).max(), run


@pytest.mark.parametrize(
    ("name", "water"),
    [("uniform", Environment(current=Current(velocity=(0.4, -0.3, 0.1)))), ("everything", WATER)],
)
def test_smooth_plant_closes_to_fourth_order(name, water):
    """Thrusters with lag and inflow, a motor with inductance and armature, a servo, waves, current with a profile, gusts, a wrench.

    All smooth between the instants at which steps end, so the residual falls with h⁴.
    """
    got = []
    for h in (0.02, 0.01, 0.005):
        off, work, run = residual(
            h,
            command={**COMMAND, "shoulder": 20.0, "slider": 0.1},
            model=vehicle(smooth=True),
            environment=water,
            components=[*THRUSTERS, *DRIVES, hm.actuation.ExternalWrench(body="hull")],
            wrench=(5.0, -3.0, 2.0, 1.0, -1.0, 0.5),
        )
        got.append(off)
    orders = np.log2(np.array(got[:-1]) / got[1:])
    # 4, and up to 5 where the leading term of the error happens to do no work
    assert np.all(orders > 3.6), (got, orders)
    assert got[-1] < 1e-6 * work, (got, work)
    last = run.recording.work.isel(time=-1)
    for cause in run.recording.cause.values:  # each cause takes part
        assert abs(float(last.sel(cause=cause))) > 1e-3 * work, (cause, last.values)
    assert float(last.sel(cause="drag")) < 0.0


STOPS = [drives.JointStops(joint="slider", lower=-0.02, upper=0.05, stiffness=4e3, damping=60.0)]
FRICTION = [drives.JointFriction(joint="shoulder", viscous=0.3, coulomb=1.5), drives.JointFriction(joint="slider", coulomb=4.0)]
FLOOR = Material(
    law=NonlinearContact(stiffness=2e4, damping_factor=0.3),
    friction=DryFriction(static=0.6, kinetic=0.5, stiffness=8e3, damping=150.0),
)


def test_everything_on_closes():
    """With friction that sticks and slips, stops that are hit, and a hull that lands on the floor, forces have kinks and (at the stops) jumps.

    In such a step the error is h times a power that depends on where in the step the kink falls: on average the
    residual shrinks as h, with a scatter of 2; from 2 ms to 0.25 ms it must fall to 2/8.
    """
    shapes = (hm.geometry.Sphere(radius=0.25),)
    got = []
    for h in (2e-3, 2.5e-4):
        off, work, run = residual(
            h,
            command={**COMMAND, "shoulder": 20.0, "slider": 0.2},
            model=vehicle(smooth=False, shapes=shapes, position=(0, 0, 2.5), volume=0.03),
            environment=WATER,
            components=[
                Terrain(name="floor", material=FLOOR, shape=geometry.Plane.through((0, 0, 3.0), (0.1, 0.0, -1.0))),
                *THRUSTERS,
                *DRIVES,
                *FRICTION,
                *STOPS,
            ],
        )
        got.append(off)
    ds = run.recording
    assert ds.contact_force.values.max() > 50.0 and ds.q.sel(coordinate="slider").values.max() > 0.05
    for cause in ds.cause.values:
        assert np.abs(ds.work.sel(cause=cause).values).max() > 1e-3 * work, cause
    for cause in ("drag", "friction", "contact"):  # losses only grow
        assert np.all(np.diff(ds.work.sel(cause=cause).values) < 1e-9), cause
    assert got[1] < 0.25 * got[0], got
    assert got[1] < 1e-6 * work, (got, work)


def test_collision_of_two_bodies_closes():
    """Two free balls that meet off centre in still water: momentum goes from one to the other, energy into contact."""

    def ball(name, position, velocity):
        return hm.Body(
            name=name,
            joint=hm.joints.Free(position=position, velocity=velocity),
            inertia=hm.Inertia(mass=3.0, tensor=(0.02,) * 3 + (0,) * 3),
            hydro=hm.Hydro(
                volume=3.0 / 1025.0,
                added_mass=hm.added_mass.ShapeAddedMass(shape=hm.geometry.Sphere(radius=0.09)),
                drag=hm.drag.ShapeDrag(shape=hm.geometry.Sphere(radius=0.09), coefficient=0.5),
            ),
            shapes=(hm.geometry.Sphere(radius=0.1),),
        )

    model = hm.Model(
        name="balls", bodies=[ball("a", (0, 0, 0), (1.0, 0, 0, 0, 0, 0)), ball("b", (0.4, 0.05, 0.03), (-0.5, 0, 0, 0, 0, 2.0))]
    )
    got = []
    for h in (1e-3, 5e-4):
        off, work, run = residual(
            h,
            command=None,
            duration=0.5,
            record=0.01,
            model=model,
            components=[hm.contact.BodyContact(bodies=("a", "b"), material=FLOOR)],
        )
        got.append(off)
    assert run.recording.contact_force.values.max() > 10.0
    assert got[1] < 0.5 * got[0] and got[1] < 1e-4 * work, (got, work)


SEA = (RegularWave(height=0.3, period=2.5, direction=0.3),)
SURFACES = {
    "still": Environment(surface=FreeSurface()),
    "current": Environment(surface=FreeSurface(), current=Current(velocity=(0.4, 0.2, 0.0))),
    "waves": Environment(surface=FreeSurface(), waves=SEA),
    "waves and current": Environment(
        surface=FreeSurface(), waves=SEA, current=Current(velocity=(0.4, 0.2, 0.0), profile=PowerLaw(depth=30.0))
    ),
    "waves and a table": Environment(  # a table that ends at depth 0 would have a kink there
        surface=FreeSurface(),
        waves=SEA,
        current=Current(velocity=(0.4, 0.2, 0.0), profile=DepthTable(depths=(-3.0, 30.0), factors=(1.1, 0.1))),
    ),
}


HULLS = {
    "spheres": (hm.geometry.Sphere(radius=0.2), hm.geometry.Sphere(radius=0.15).at((0.3, 0, 0))),
    "box": (hm.geometry.Box(size=(0.8, 0.4, 0.25)),),
}


@pytest.mark.parametrize("shape", HULLS)
@pytest.mark.parametrize("name", SURFACES)
def test_audit_at_the_free_surface(name, shape):
    """A hull that bobs and rolls through the surface closes its audit too.

    The energy balance has no term for the change of the water's energy: it must come out of the forces. The wet part of two balls that
    stay half wet is smooth: order 4. The second derivative of its rate jumps where a corner of a box touches the surface, and
    rounded edges are thinner than a step: order 2 at least. In waves the hull's origin goes up and down through the mean surface.
    """
    hull = vehicle(smooth=True, shapes=HULLS[shape], volume=0.08, position=(0, 0, -0.1)).bodies[0]
    model = hm.Model(name="floater", bodies=[hull])
    got = []
    for k in range(5):
        step = 0.01 / 2**k
        off, work, run = residual(step, model=model, environment=SURFACES[name], components=[*THRUSTERS], duration=3.0)
        got.append(off)
    order = np.log2(got[0] / got[-1]) / 4
    assert np.ptp(run.recording.depth.values) > 0.1
    assert order > {"spheres": 3.8, "box": 2.0}[shape], (got, order)
    assert got[-1] < 1e-6 * work, (got, work)


def test_dry_arm_without_water_closes():
    """A dry pendulum with friction in gravity: no water, no cause "drag"."""
    body = hm.Body(
        name="arm",
        joint=hm.joints.Revolute(axis=(0, 1, 0), position=1.0),
        inertia=hm.Inertia(mass=2.0, com=(0, 0, 0.4), tensor=(0.1,) * 3 + (0,) * 3),
    )
    model = hm.Model(name="dry", bodies=[body])
    off, work, run = residual(
        1e-3, command=None, model=model, components=[drives.JointFriction(joint="arm", viscous=0.2, coulomb=0.3)], duration=4.0
    )
    assert list(run.recording.cause.values) == ["friction"]
    assert work > 0.5 and off < 1e-5 * work
