"""Modes of plants: closed forms, and frequencies and damping fitted to free decays."""

import math
from dataclasses import replace

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import geometry
from hydromechs.actuation import ExternalWrench, JointMotion, JointSpring, Thruster, drives, linear_curve, motions
from hydromechs.contact import Grasp, LinearContact, Material, Terrain
from hydromechs.hydro import Current
from hydromechs.model import State, added_mass, drag, joints

DRY = hm.World(gravity=0.0, water_density=1000.0)
WATER = hm.World(gravity=9.81, water_density=1025.0)


def slider(name, mass, place=(0.0, 0.0, 0.0)):
    """A mass on a tilted slide."""
    return hm.Body(
        name=name,
        joint=joints.Prismatic(placement=hm.Origin(place, (0.3, -0.2, 0.5)), axis=(0.0, 0.0, 1.0)),
        inertia=hm.Inertia(mass=mass, com=(0.1, 0.02, 0.03), tensor=(0.1, 0.2, 0.3, 0.0, 0.0, 0.0)),
    )


def roots(m, c, k):
    """Eigenvalue of m ẍ + c ẋ + k x = 0 that turns forward."""
    return -c / (2 * m) + 1j * math.sqrt(k / m - (c / (2 * m)) ** 2)


def test_mass_spring_damper():
    """λ = −c/2m + i √(k/m − c²/4m²), to rounding; the shape moves with the rate λ."""
    m, c, k = 3.0, 2.0, 40.0
    sim = hm.Simulation(
        hm.Model(name="one", bodies=[slider("block", m)], world=DRY),
        components=[drives.JointFriction(joint="block", viscous=c), JointSpring(joints=("block",), stiffness=k)],
    )
    (mode,) = hm.modes(sim).modes
    assert mode.eigenvalue == pytest.approx(roots(m, c, k), rel=1e-13)
    assert mode.natural_frequency == pytest.approx(math.sqrt(k / m) / (2 * math.pi), rel=1e-13)
    assert mode.damping_ratio == pytest.approx(c / (2 * math.sqrt(k * m)), rel=1e-13)
    assert mode.shape == pytest.approx([1.0, mode.eigenvalue], rel=1e-12)
    assert mode.who == ("block",) and "block" in repr(mode)


def test_compound_pendulum_in_water():
    """(I + I_A) θ̈ + d θ̇ + (m l_g − ρ V l_b) g θ = 0 about the joint, with added mass and linear damping; drag has no slope."""
    m, volume, l_g, l_b, moment, d = 8.0, 0.004, 0.6, 0.45, 0.05, 0.7
    A = np.diag([1.0, 2.0, 3.0, 0.2, 0.4, 0.3])
    rod = hm.Body(
        name="rod",
        joint=joints.Revolute(placement=hm.Origin((1.0, 2.0, 3.0), (0.0, 0.0, 0.7)), axis=(0.0, 1.0, 0.0)),
        inertia=hm.Inertia(mass=m, com=(0.0, 0.1, l_g), tensor=(0.06, moment, 0.01, 0.0, 0.0, 0.0)),
        hydro=hm.Hydro(
            volume=volume,
            buoyancy_center=(0.0, -0.1, l_b),
            added_mass=added_mass.Matrix(A),
            drag=(drag.Damping(linear=(0.0, 0.0, 0.0, 0.1, d, 0.1), quadratic=(1.0, 1.0, 1.0, 1.0, 5.0, 1.0)),),
        ),
    )
    (mode,) = hm.modes(hm.Model(name="pendulum", bodies=[rod], world=WATER)).modes  # hangs down: z is down
    inertia, stiffness = moment + m * l_g**2 + A[4, 4], (m * l_g - 1025.0 * volume * l_b) * 9.81
    assert mode.eigenvalue == pytest.approx(roots(inertia, d, stiffness), rel=1e-12)


def test_masses_that_a_grasp_joins_are_one():
    """Two slides held together: one mode, √((k₁ + k₂)/(m₁ + m₂)); the decay of the grasp's drift is none."""
    bodies = [slider("a", 2.0), slider("b", 3.0)]
    sim = hm.Simulation(
        hm.Model(name="two", bodies=bodies, world=DRY),
        components=[
            Grasp(name="clamp", holder="a", held="b"),
            JointSpring(joints=("a",), stiffness=50.0),
            JointSpring(joints=("b",), stiffness=30.0),
        ],
    )
    (mode,) = hm.modes(sim).modes
    assert mode.eigenvalue == pytest.approx(1j * 4.0, abs=1e-7)  # central differences
    assert mode.shape[:2] == pytest.approx([1.0, 1.0])
    sim.release("clamp")
    assert [x.eigenvalue.imag for x in hm.modes(sim).modes] == pytest.approx([math.sqrt(10.0), 5.0])


def test_joint_whose_motion_is_given_has_no_modes():
    """Of two slides one is moved to where it is: the other has its mode alone."""
    model = hm.Model(name="two", bodies=[slider("a", 2.0), slider("b", 3.0)], world=DRY)
    parts = (JointMotion(joint="a", motion=motions.Steady()), JointSpring(joints=("b",), stiffness=27.0))
    (mode,) = hm.modes(hm.Plant(model=model, components=parts)).modes
    assert mode.eigenvalue == pytest.approx(3j) and mode.who == ("b",)


def test_box_on_springy_ground():
    """Four corners of stiffness k each: heave √(4k/m) with damping 4c; the surge of friction that sticks is a spring too."""
    m, k, c, sunk = 20.0, 5000.0, 40.0, 20.0 * 9.81 / (4 * 5000.0)
    box = hm.Body(
        name="box",
        joint=joints.Free(),
        inertia=hm.Inertia(mass=m, com=(0.0, 0.0, 0.0), tensor=(1.0, 1.2, 1.5, 0.0, 0.0, 0.0)),
        shapes=(hm.geometry.Box(size=(0.6, 0.4, 0.2)),),
    )
    floor = Terrain(
        name="floor",
        material=Material(law=LinearContact(stiffness=k, damping=c)),
        shape=geometry.Plane.through((0, 0, 5), (0, 0, -1)),
    )
    model = hm.Model(name="box", bodies=[box], world=hm.World(gravity=9.81, water_density=1000.0))
    state = model.initial()
    state.q[2] = 5.0 - 0.1 + sunk
    found = hm.modes(hm.Simulation(model, components=[floor], state=state))
    (heave,) = [x for x in found.oscillating if x.who == ("box.w",)]
    assert heave.eigenvalue == pytest.approx(roots(m, 4 * c, 4 * k), rel=1e-12)
    assert sum(x.neutral for x in found.modes) == 6  # slides and turns on the floor as it likes


def test_vehicle_that_drives_on():
    """Surge about a speed U: λ = −(d + 2 d₂ U)/(m + a), and the lag of its thruster; relative to a current, too."""
    d, d2, U = 10.0, 50.0, 0.5
    hull = hm.Body(
        name="hull",
        joint=joints.Free(),
        inertia=hm.Inertia(mass=50.0, com=(0.0, 0.0, 0.0), tensor=(2.0, 3.0, 4.0, 0.0, 0.0, 0.0)),
        hydro=hm.Hydro(
            volume=50.0 / 1025.0,
            buoyancy_center=(0.0, 0.0, -0.05),
            added_mass=added_mass.Diagonal((20.0, 40.0, 60.0, 1.0, 2.0, 3.0)),
            drag=(drag.Damping(linear=(d, 20.0, 30.0, 1.0, 2.0, 3.0), quadratic=(d2, 80.0, 90.0, 2.0, 3.0, 4.0)),),
        ),
        frames=(hm.Frame("surge", hm.Origin((-0.3, 0.0, 0.0))),),
    )
    model = hm.Model(name="vessel", bodies=[hull], world=WATER)
    thruster = Thruster(name="surge", frame="surge", curve=linear_curve(100.0, 80.0), time_constant=0.2)
    plant = hm.Plant(model=model, components=(thruster,), environment=hm.Environment(current=Current(velocity=(0.2, 0.0, 0.0))))
    state = model.initial()
    state.v[0] = U + 0.2
    with pytest.raises(ValueError, match=r"not an equilibrium.*hull\.u \(-0\.25\d?\).*hm\.trim"):
        hm.modes(plant, state=state)
    found = hm.modes(plant, state=hm.trim(plant, state=state).state)
    surge = next(x for x in found.modes if x.who == ("hull.u",) and not x.neutral)
    assert surge.eigenvalue == pytest.approx(-(d + 2 * d2 * U) / 70.0, rel=1e-9)
    lag = next(x for x in found.modes if x.who == ("surge.thrust",))
    assert lag.time_constant == pytest.approx(0.2, rel=1e-12)
    assert found.linearization.B[found.linearization.place("surge.thrust")] == pytest.approx(
        500.0
    )  # curve's slope over the lag


def prony(y, dt):
    """Eigenvalue of a decaying oscillation y[k] from its samples: least squares of y[k + 2] = a y[k + 1] + b y[k]."""
    a, b = np.linalg.lstsq(np.stack([y[1:-1], y[:-2]], axis=1), y[2:], rcond=None)[0]
    return max(np.log(np.roots([1.0, -a, -b]).astype(complex)) / dt, key=lambda x: x.imag)


def test_modes_of_a_vehicle_with_a_servoed_arm_are_those_of_its_free_decay():
    """tiburon_titan2 trimmed by its thrusters, its arm held by its servos: released in each shape, it decays as the mode says."""
    plant = hm.load_plant("tiburon_titan2")
    balanced = hm.trim(plant).state
    found = hm.modes(plant, state=balanced)
    nv, q0 = plant.model.nv, balanced.q
    assert len(found.oscillating) == 8 and found.stable  # pitch, roll, six of the arm
    sim = hm.Simulation(plant, state=balanced)
    for mode in found.oscillating:
        x, dt = 1e-5 * mode.shape.real, round(0.05 / mode.natural_frequency, 3)
        z = balanced.internal + np.r_[x[2 * nv :], np.zeros(len(plant.layout.causes))]
        q = hm.integrate(plant.model, q0, x[:nv], 1.0)
        sim.reset(State(q=q, v=x[nv : 2 * nv], internal=z, command=balanced.command))
        k = int(np.argmax(np.abs(mode.shape[:nv])))
        y = [hm.difference(plant.model, q0, sim.step(duration=dt).q)[k] for _ in range(30)]
        fitted = prony(np.array(y), dt)
        # quadratic drag adds a part of the amplitude to the damping, 4e-5 of it in roll
        assert abs(fitted) == pytest.approx(2 * math.pi * mode.natural_frequency, rel=1e-4)
        assert -fitted.real / abs(fitted) == pytest.approx(mode.damping_ratio, rel=1e-4)


def test_exact_derivatives_and_differences_agree():
    """A and B of the vehicle with an arm, thrusters, servos and friction against differences of its rates."""
    from hydromechs.simulation._linearize import _Slopes

    sim = hm.Simulation(hm.load_plant("tiburon_titan2"))
    state = sim.state
    state.v[:] = np.linspace(-0.3, 0.4, len(state.v))
    sim.reset(state)
    slopes = _Slopes(sim.plant)
    given = [np.array(0.0), state.q, np.zeros(len(state.v)), state.v, state.internal[: slopes.nz]]
    given += [sim.inputs[: slopes.na], sim.inputs[slopes.na :]]
    for exact, near in zip(slopes._exact(given), slopes._differences(given), strict=True):
        assert np.abs(exact - near).max() < 1e-6 * np.abs(exact).max()  # third root of rounding, squared, and more of drag


def test_drag_without_a_slope_damps_nothing():
    """Thrusters with curves from tables, and two slides in a closed grasp: quadratic drag alone leaves neutral modes."""
    rov = hm.load_plant("bluerov2_heavy_alpha5")
    found = hm.modes(rov, state=hm.trim(rov).state)
    A, names = found.linearization.A, found.linearization.states
    for name in ("vehicle.v", "vehicle.r"):  # with quadratic drag only
        assert A[names.index(f"rate.{name}"), names.index(f"rate.{name}")] == 0.0
    assert {who for mode in found.modes if mode.neutral for who in mode.who} >= {"vehicle.v", "vehicle.r"}
    wet = hm.Hydro(drag=(drag.Damping(quadratic=(40.0, 50.0, 60.0, 1.0, 1.0, 1.0)),))
    bodies = [replace(slider("a", 2.0), hydro=wet), replace(slider("b", 3.0), hydro=wet)]
    joined = hm.Plant(
        model=hm.Model(name="two", bodies=bodies, world=WATER), components=(Grasp(name="clamp", holder="a", held="b"),)
    )
    system = hm.linearize(joined)
    left = system.basis.T @ system.A @ system.basis  # of what the grasp leaves: δ' = v, and nothing else
    np.testing.assert_allclose(left, [[0.0, 1.0], [0.0, 0.0]], atol=1e-9)


def test_a_point_of_a_thruster_table_is_a_corner():
    """The slope of the T200's thrust differs to the two sides of 1700 µs; modes do not depend on it."""
    sim = hm.Simulation(hm.load_plant("bluerov2_heavy_alpha5"))
    for command, corners in ((1700.0, ("thruster_1",)), (1701.0, ())):
        sim.command = {"thruster_1": command}
        assert hm.linearize(sim).corners == corners


def test_friction_about_to_slip_is_a_corner():
    """At its yield torque friction is a spring to one side only; that is said."""
    model = hm.Model(name="one", bodies=[slider("block", 3.0)], world=DRY)
    friction = drives.JointFriction(joint="block", coulomb=5.0, stick_deflection=1e-3)
    sim = hm.Simulation(model, components=[drives.Torque(joint="block"), friction])
    (mode,) = hm.modes(sim).oscillating
    assert abs(mode.eigenvalue) == pytest.approx(math.sqrt(5.0 / 1e-3 / 3.0), rel=1e-12)
    state = sim.state
    state.internal[0] = 1e-3
    sim.reset(state)
    sim.command = {"block": 5.0}
    with pytest.warns(UserWarning, match=r"one-sided slopes of .*block.friction.deflection.* differ"):
        hm.modes(sim, tolerance=1e-9)


def test_a_state_keeps_the_parameters_and_commands_of_the_simulation():
    """Of which it reports nothing."""
    ball = hm.Body(name="ball", inertia=hm.Inertia(mass=2.0, tensor=(1, 1, 1, 0, 0, 0)))
    plant = hm.Plant(model=hm.Model(bodies=[ball]), parameters=["ball.inertia.mass"], components=(ExternalWrench(body="ball"),))
    sim = hm.Simulation(plant, parameters={"ball.inertia.mass": 4.0})
    sim.set_wrench("ball", [8, 0, 0, 0, 0, 0])
    there = hm.linearize(sim, state=hm.State(q=sim.state.q, v=sim.state.v))
    assert there.rates[0] == pytest.approx(2.0) == hm.linearize(sim).rates[0]


def test_what_is_no_plant_is_rejected():
    with pytest.raises(ValueError, match=r"hm\.Simulation\(scenario\)"):
        hm.modes("station_keeping")
