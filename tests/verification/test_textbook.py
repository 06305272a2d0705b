"""Whole motions with closed forms: sinking spheres, pendulums, Morison's equation, buoyancy."""

from dataclasses import replace

import numpy as np
import pytest

import hydromechs as hm

FALLING = [
    # R, density of the body, C_D, terminal speed, initial acceleration, time constant
    (0.05, 7850, 0.47, 4.366165852933114, 8.047724550898204, 0.5425342064479342),
    (0.1, 2700, 0.5, 2.9823480682173904, 5.2115625, 0.5722560303589164),
    (0.1, 1100, 0.5, 0.7233256528010047, 0.6131249999999996, 1.17973602903324),
]


@pytest.mark.parametrize("R, density, C_D, v_t, a0, tau", FALLING)
def test_sinking_sphere(R, density, C_D, v_t, a0, tau):
    """v(t) = v_t tanh(t/τ): the acceleration at v is a0 (1 − v²/v_t²), tilted as the body may be."""
    volume = 4 / 3 * np.pi * R**3
    mass = density * volume
    sphere = hm.Hydro(
        volume=volume,
        added_mass=hm.added_mass.ShapeAddedMass(shape=hm.geometry.Sphere(radius=R)),
        drag=hm.drag.ShapeDrag(shape=hm.geometry.Sphere(radius=R), coefficient=C_D),
    )
    inertia = hm.Inertia(mass=mass, tensor=(0.4 * mass * R**2,) * 3 + (0.0,) * 3)
    model = hm.Model(bodies=[hm.Body(name="ball", inertia=inertia, hydro=sphere)], world=hm.World(water_density=1000.0))
    turn = np.array([0.8, 0.0, 0.6, 0.0])
    R_WB = hm.kinematics(model, [0, 0, 0, *turn], np.zeros(6)).X_WB[0, :3, :3]
    for t in (0.0, 0.5 * tau, tau, 3 * tau):
        speed = v_t * np.tanh(t / tau)
        v = np.concatenate([R_WB.T @ [0, 0, speed], np.zeros(3)])
        vdot = hm.forward_dynamics(model, [0, 0, 0, *turn], v, np.zeros(6))
        expected = a0 / np.cosh(t / tau) ** 2
        np.testing.assert_allclose(R_WB @ vdot[:3], [0, 0, expected], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(vdot[3:], 0, atol=1e-12)


def rod(density, *, L=1.0, R=0.05, water=1000.0):
    """A rod on a pivot at one end that hangs along x, with strip added mass."""
    mass = density * np.pi * R**2 * L
    across = mass * L**2 / 12
    return hm.Model(
        bodies=[
            hm.Body(
                name="rod",
                joint=hm.joints.Revolute(axis=(0, 1, 0)),
                inertia=hm.Inertia(mass=mass, com=(L / 2, 0, 0), tensor=(1e-3 * across, across, across, 0, 0, 0)),
                hydro=hm.Hydro(
                    volume=np.pi * R**2 * L,
                    buoyancy_center=(L / 2, 0, 0),
                    added_mass=hm.added_mass.ShapeAddedMass(shape=hm.geometry.Cylinder.between((0, 0, 0), (L, 0, 0), radius=R)),
                    drag=hm.drag.ShapeDrag(shape=hm.geometry.Cylinder.along("x", 0, L, radius=R), coefficient=1.1),
                ),
            )
        ],
        world=hm.World(water_density=water),
    )


def test_period_of_a_submerged_pendulum():
    """T = 2π √((m + m_a) L²/3 / ((m − m_f) g L/2)) = 2.41644 s for an aluminium rod."""
    model = rod(2700)
    down = -np.pi / 2  # x down in NED is a pitch of −90°
    angle = 1e-4
    stiffness = -hm.forward_dynamics(model, [down + angle], [0.0], [0.0])[0] / angle
    # sin(1e-4)/1e-4 differs from 1 by 1.7e-9
    assert 2 * np.pi / np.sqrt(stiffness) == pytest.approx(2.416440669751367, rel=1e-8)


def test_a_neutrally_buoyant_pendulum_at_rest_stays_at_rest():
    """Same density and centres as the water: no acceleration at any angle."""
    model = rod(1000)
    for angle in np.linspace(-3, 3, 13):
        assert abs(hm.forward_dynamics(model, [angle], [0.0], [0.0])[0]) < 1e-13


def test_morison():
    """A cylinder held in oscillating flow: 12.337 N/m of inertia (1 + C_a) ρ A a and 15 N/m of drag at their peaks."""
    D, U, T = 0.1, 0.5, 4.0
    hydro = hm.Hydro(
        volume=np.pi * D**2 / 4,
        added_mass=hm.added_mass.ShapeAddedMass(shape=hm.geometry.Cylinder.between((0, 0, -0.5), (0, 0, 0.5), radius=D / 2)),
        drag=hm.drag.ShapeDrag(shape=hm.geometry.Cylinder.along("z", -0.5, 0.5, radius=D / 2), coefficient=1.2),
    )
    body = hm.Body(name="pile", inertia=hm.Inertia(mass=1.0, tensor=(1, 1, 1, 0, 0, 0)), hydro=hydro)
    model = hm.Model(bodies=[body], world=hm.World(gravity=0.0, water_density=1000.0))
    q, v = model.neutral()
    hold = hm.inverse_dynamics(model, q, v, v, fluid_acceleration=(2 * np.pi / T * U, 0, 0))
    np.testing.assert_allclose(hold, [-12.337005501361697, 0, 0, 0, 0, 0], rtol=1e-12, atol=1e-12)
    hold = hm.inverse_dynamics(model, q, v, v, fluid_velocity=(0, -U, 0))
    np.testing.assert_allclose(hold, [0, 15.0, 0, 0, 0, 0], rtol=1e-12, atol=1e-12)


def test_righting_moment_of_a_tilted_hull():
    """W at the centre of mass and B at the centre of buoyancy: −(r_g × W + r_b × B) in body axes (Fossen's g(η))."""
    hull = hm.Body(
        name="hull",
        inertia=hm.Inertia(mass=30.0, com=(0.1, 0.02, 0.05), tensor=(1, 2, 3, 0, 0, 0)),
        hydro=hm.Hydro(volume=0.028, buoyancy_center=(0.08, -0.01, -0.07)),
    )
    model = hm.Model(bodies=[hull], world=hm.World(gravity=9.82, water_density=1020.0))
    roll, pitch = 0.4, -0.7
    R = hm.Origin(rpy=(roll, pitch, 1.1)).R
    from hydromechs.spatial import quaternion_from_matrix

    q = np.concatenate([np.zeros(3), quaternion_from_matrix(R)])
    down = np.array([-np.sin(pitch), np.cos(pitch) * np.sin(roll), np.cos(pitch) * np.cos(roll)])
    W, B = 30.0 * 9.82 * down, -1020.0 * 0.028 * 9.82 * down
    force = np.concatenate([W + B, np.cross(hull.inertia.com, W) + np.cross(hull.hydro.buoyancy_center, B)])
    np.testing.assert_allclose(hm.inverse_dynamics(model, q, np.zeros(6), np.zeros(6)), -force, rtol=1e-12, atol=1e-12)
    zero = hm.Model(bodies=[hull], world=hm.World(gravity=0.0))
    np.testing.assert_array_equal(hm.inverse_dynamics(zero, q, np.zeros(6), np.zeros(6)), 0)


def test_a_small_neutral_body_follows_the_fluid():
    """ρ V (1 + C) a_f accelerates m + m_A = ρ V (1 + C): the body takes on the fluid's acceleration exactly."""
    R = 0.02
    volume = 4 / 3 * np.pi * R**3
    hydro = hm.Hydro(volume=volume, added_mass=hm.added_mass.ShapeAddedMass(shape=hm.geometry.Sphere(radius=R)))
    m = 1025.0 * volume
    model = hm.Model(
        bodies=[hm.Body(name="drifter", inertia=hm.Inertia(mass=m, tensor=(m * R**2,) * 3 + (0,) * 3), hydro=hydro)]
    )
    a_f = np.array([0.3, -0.2, 0.5])
    vdot = hm.forward_dynamics(model, [0, 0, 0, 1, 0, 0, 0], np.zeros(6), np.zeros(6), fluid_acceleration=a_f)
    np.testing.assert_allclose(vdot, [*a_f, 0, 0, 0], rtol=1e-12, atol=1e-13)


def test_integrate_is_the_exponential_map():
    """Constant body twist for a full turn about a screw axis returns the attitude and advances by the pitch."""
    model = hm.library.serial_chain(0)
    q = np.array([1.0, 2, 3, 0.5, 0.5, 0.5, 0.5])
    w = np.array([0.3, -0.4, 1.2])
    pitch = 0.25
    axis = w / np.linalg.norm(w)
    radius = np.cross([0.5, 0.1, -0.2], axis)  # a point off the axis
    v = np.concatenate([np.cross(w, radius) + pitch * axis, w])
    T = 2 * np.pi / np.linalg.norm(w)
    turned = hm.integrate(model, q, v, T)
    R = hm.kinematics(model, q, np.zeros(6)).X_WB[0, :3, :3]
    np.testing.assert_allclose(turned[:3], q[:3] + R @ (pitch * T * axis), atol=1e-12)
    np.testing.assert_allclose(np.abs(turned[3:] @ q[3:]), 1.0, atol=1e-14)
    halves = hm.integrate(model, hm.integrate(model, q, v, T / 3), v, 2 * T / 3)
    np.testing.assert_allclose(np.abs(halves[3:] @ turned[3:]), 1.0, atol=1e-14)
    np.testing.assert_allclose(halves[:3], turned[:3], atol=1e-12)
    np.testing.assert_array_equal(hm.integrate(model, q, 0 * v, 1.0), q)


def test_drag_and_buoyancy_of_the_rod_replace_nothing():
    """A rod without its water terms is a physical pendulum: 3/2 g/L at the horizontal."""
    model = rod(2700)
    dry = hm.Model(bodies=[replace(model.bodies[0], hydro=None)])
    # x forward is horizontal; positive pitch lifts x, gravity pulls it down: negative
    assert hm.forward_dynamics(dry, [0.0], [0.0], [0.0])[0] == pytest.approx(-1.5 * 9.81, rel=1e-12)
