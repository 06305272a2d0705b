"""Added mass: textbook values, forces without work, currents, Kirchhoff's momentum."""

from dataclasses import replace

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.dynamics import velocity_force as velocity_products
from hydromechs.hydro import added_mass_matrix
from hydromechs.library import random_tree
from hydromechs.spatial import quaternion_matrix

EPS = np.finfo(float).eps


def full(rng):
    A = rng.normal(size=(6, 6))
    return A @ A.T


def test_velocity_products_do_no_work():
    rng = np.random.default_rng(1)
    for _ in range(100):
        M_A, V = full(rng), rng.normal(size=6)
        # rounding of a six-term dot product of size |M| |V|³
        assert abs(velocity_products(M_A, V) @ V) <= 50 * EPS * np.linalg.norm(M_A) * np.linalg.norm(V) ** 3


def test_munk_moment_of_a_spheroid():
    """A 2:1 spheroid at a small angle of attack: destabilising pitch moment (k2 − k1) ρ V u w."""
    shape = hm.added_mass.ShapeAddedMass(shape=hm.geometry.Ellipsoid(axes=(1.0, 0.5, 0.5)))
    F = velocity_products(added_mass_matrix(shape, 1000.0), np.array([1.0, 0, 0.1, 0, 0, 0]))
    # w > 0: the body sinks, nose above its course; positive about y turns the nose further up, also with z down;
    # reference computed with Lamb's k1, k2
    np.testing.assert_allclose(F, [0, 0, 0, 0, 51.752018847483036, 0], rtol=1e-12, atol=1e-12)


def test_kirchhoff_coriolis_matrix():
    """−C_A(ν) ν of a diagonal added mass 1..6 at ν = 1..6, as another simulator's unit test has it."""
    minus_C_A = np.array(
        [[0, 0, 0, 0, 9, -4], [0, 0, 0, -9, 0, 1], [0, 0, 0, 4, -1, 0], [0, 9, -4, 0, 36, -25], [-9, 0, 1, -36, 0, 16], [4, -1, 0, 25, -16, 0]]
    )  # fmt: skip
    V = np.arange(1.0, 7.0)
    # their C_A is for derivatives that are negative, so its sign is opposite for positive added mass
    np.testing.assert_allclose(velocity_products(np.diag(V), V), -minus_C_A @ V, atol=1e-13)


SPHEROIDS = {
    1.01: (0.49406194457726665, 0.5029867632772463, 6.584806661397437e-05),
    1.5: (0.3037494475705495, 0.6220844089054409, 0.09512434893737279),
    2.0: (0.21001504897664153, 0.704210425850353, 0.23942389319515428),
    4.99: (0.05929421921487564, 0.8939838511148722, 0.6991025832992416),
    9.97: (0.02080343866571143, 0.9600551050142653, 0.8830228666748474),
}


@pytest.mark.parametrize("ratio", SPHEROIDS)
def test_prolate_spheroids_of_lamb(ratio):
    """k1, k2 and k' of Lamb's closed form (R&M 623)."""
    k1, k2, k_rotation = SPHEROIDS[ratio]
    M = np.diag(added_mass_matrix(hm.added_mass.ShapeAddedMass(shape=hm.geometry.Ellipsoid(axes=(ratio, 1.0, 1.0))), 1.0))
    mass = 4 / 3 * np.pi * ratio
    np.testing.assert_allclose(M[:3] / mass, [k1, k2, k2], rtol=1e-9)
    # near the sphere the formula of rotation is a difference of nearly equal numbers, whose error grows as eps/(ratio-1)²
    np.testing.assert_allclose(
        M[3:] / (mass * (ratio**2 + 1) / 5), [0, k_rotation, k_rotation], rtol=1e-8 if ratio > 1.1 else 1e-5
    )


@pytest.mark.parametrize(
    "axes, k, rotation",
    [
        ((3.0, 2.0, 1.0), (0.18525640428098733, 0.36454323956089807, 1.361527473150918), (0.38326729041251345, 1.4164722496330522, 0.15574073036343114)),
        ((2.65, 0.7, 0.5), (0.06874571709883216, 0.6293574054853693, 1.2193378272343212), (0.015759179648862726, 1.3714523385174089, 0.6678850245212657)),
        ((1.0, 1.0, 0.2), (0.14254120578067828, 0.14254120578067828, 3.007757614800362), (0.37295269469963055, 0.37295269469963055, 0.0)),
    ],
)  # fmt: skip
def test_triaxial_ellipsoids(axes, k, rotation):
    """Lamb arts. 114-115, integrals by quadrature elsewhere."""
    M = np.diag(added_mass_matrix(hm.added_mass.ShapeAddedMass(shape=hm.geometry.Ellipsoid(axes=axes)), 1.0)) / (
        4 / 3 * np.pi * np.prod(axes)
    )
    np.testing.assert_allclose(M, [*k, *rotation], rtol=1e-9, atol=1e-12)


def test_sphere():
    M = added_mass_matrix(hm.added_mass.ShapeAddedMass(shape=hm.geometry.Sphere(radius=0.1)), 1028.0)
    np.testing.assert_allclose(np.diag(M), [2.1530381652602046] * 3 + [0.0] * 3, rtol=1e-14)


def test_cylinder_by_strips():
    """ρπR²L across, ρπR²L³/12 about the centre, the disc's 8/3 ρR³ along; about an end the inertia is a third of m L²."""
    shape = hm.added_mass.ShapeAddedMass(shape=hm.geometry.Cylinder.between((0, -0.5, 0), (0, 0.5, 0), radius=0.1))
    M = np.diag(added_mass_matrix(shape, 1000.0))
    np.testing.assert_allclose(
        M, [31.41592653589793, 8 / 3, 31.41592653589793, 2.6179938779914944, 0, 2.6179938779914944], rtol=1e-13
    )
    M = added_mass_matrix(
        hm.added_mass.ShapeAddedMass(shape=hm.geometry.Cylinder.between((0, 0, 0), (0.6, 0, 0.8), radius=0.1)), 1000.0
    )
    assert M[4, 4] == pytest.approx(31.41592653589793 / 3, rel=1e-13)


def test_cylinder_along_an_axis():
    """`along` is the cylinder between two points of that axis."""
    ours = hm.added_mass.ShapeAddedMass(shape=hm.geometry.Cylinder.along("y", -0.5, 0.7, radius=0.1))
    assert ours == hm.added_mass.ShapeAddedMass(shape=hm.geometry.Cylinder.between((0, -0.5, 0), (0, 0.7, 0), radius=0.1))
    with pytest.raises(ValueError, match="axis is 'w', must be 'x', 'y' or 'z'"):
        hm.added_mass.ShapeAddedMass(shape=hm.geometry.Cylinder.along("w", 0.0, 1.0, radius=0.1))


@pytest.mark.parametrize("ratio, expected", [(1, 0.68), (2, 0.36), (3, 0.24), (4, 0.19), (5, 0.15), (7, 0.11)])
def test_square_prisms(ratio, expected):
    """Table of DNV-RP-H103 for motion along the prism, on the volume a² b; printed to two digits."""
    M = added_mass_matrix(hm.added_mass.ShapeAddedMass(shape=hm.geometry.Box(size=(ratio * 0.5, 0.5, 0.5))), 1000.0)
    assert M[0, 0] / (1000.0 * 0.5**3 * ratio) == pytest.approx(expected, abs=1e-12)


def test_plates_and_rotating_sections():
    """A thin square plate, a thin long one, a thin section that rotates (ρπa⁴/8 per length)."""
    thin = 1e-9
    square = added_mass_matrix(hm.added_mass.ShapeAddedMass(shape=hm.geometry.Box(size=(thin, 0.5, 0.5))), 1000.0)[0, 0]
    assert square == pytest.approx(0.579 * np.pi / 4 * 0.5**3 * 1000, rel=1e-6)
    twice = added_mass_matrix(hm.added_mass.ShapeAddedMass(shape=hm.geometry.Box(size=(0.5, thin, 1.0))), 1000.0)[1, 1]
    assert twice == pytest.approx(0.757 * np.pi / 4 * 0.5**2 * 1.0 * 1000, rel=1e-6)
    section = added_mass_matrix(hm.added_mass.ShapeAddedMass(shape=hm.geometry.Box(size=(3.0, 1.0, thin))), 1000.0)[3, 3]
    assert section == pytest.approx(np.pi / 8 * 0.5**4 * 3.0 * 1000, rel=1e-6)


@pytest.mark.parametrize(
    "depth, expected", [(0.1, 1.14), (0.2, 1.21), (0.5, 1.36), (1.0, 1.51), (2.0, 1.70), (5.0, 1.98), (10.0, 2.23)]
)
def test_long_beams_are_two_dimensional(depth, expected):
    """DNV-RP-C205: added mass per length over ρ π (width/2)² of a long beam; its ends matter as width over length."""
    length = 1e4
    M = added_mass_matrix(hm.added_mass.ShapeAddedMass(shape=hm.geometry.Box(size=(depth, 1.0, length))), 1.0)
    assert M[0, 0] / (np.pi * 0.25 * length) == pytest.approx(expected, rel=5 / length * 10)


def test_shapes_moved_to_the_origin_keep_their_energy():
    """½ Vᵀ M V of a moved and turned ellipsoid equals that of the ellipsoid with the velocity at its centre in its axes."""
    rng = np.random.default_rng(4)
    origin = hm.Origin(rng.normal(size=3), rng.normal(size=3))
    M = added_mass_matrix(
        hm.added_mass.ShapeAddedMass(shape=hm.geometry.Placed(shape=hm.geometry.Ellipsoid(axes=(3, 2, 1)), origin=origin)),
        1000.0,
    )
    M_C = added_mass_matrix(hm.added_mass.ShapeAddedMass(shape=hm.geometry.Ellipsoid(axes=(3, 2, 1))), 1000.0)
    V = rng.normal(size=6)
    v = origin.R.T @ (V[:3] + np.cross(V[3:], origin.xyz))
    V_C = np.concatenate([v, origin.R.T @ V[3:]])
    assert pytest.approx(V_C @ M_C @ V_C, rel=1e-13) == V @ M @ V
    np.testing.assert_allclose(M, M.T, rtol=0, atol=1e-12 * np.abs(M).max())


def test_sums_of_elements():
    sphere, matrix = (
        hm.added_mass.ShapeAddedMass(shape=hm.geometry.Sphere(radius=0.2)),
        hm.added_mass.Diagonal((1, 2, 3, 4, 5, 6)),
    )
    body = hm.Body(name="b", inertia=hm.Inertia(mass=1, tensor=(1, 1, 1, 0, 0, 0)), hydro=hm.Hydro(added_mass=(sphere, matrix)))
    M = hm.mass_matrix(hm.Model(bodies=[body]), [0, 0, 0, 1, 0, 0, 0])
    np.testing.assert_allclose(
        M - body.inertia.matrix, added_mass_matrix(sphere, 1025.0) + np.diag([1, 2, 3, 4, 5, 6]), atol=1e-13
    )


def without_drag(model, gravity=0.0):
    """The model with added mass as its only hydrodynamics, and without gravity."""
    bodies = [replace(b, hydro=replace(b.hydro, volume=0.0, drag=())) for b in model.bodies]
    return hm.Model(bodies=bodies, world=replace(model.world, gravity=gravity))


def test_a_body_that_spins_and_drifts_with_a_current_feels_no_added_mass_force():
    """Added mass in translation alone, centre at the origin: no force however it spins, in any steady current."""
    rng = np.random.default_rng(6)
    M_A = np.zeros((6, 6))
    M_A[:3, :3] = (lambda A: A @ A.T)(rng.normal(size=(3, 3)))
    inertia = hm.Inertia(mass=2.0, tensor=(1, 1, 1, 0, 0, 0))  # a ball: it spins without precession
    model = hm.Model(
        bodies=[hm.Body(name="ball", inertia=inertia, hydro=hm.Hydro(added_mass=hm.added_mass.Matrix(M_A)))],
        world=hm.World(gravity=0.0),
    )
    for _ in range(10):
        x, u, w = rng.normal(size=4), rng.normal(size=3), rng.normal(size=3)
        q = np.concatenate([rng.normal(size=3), x / np.linalg.norm(x)])
        v = np.concatenate([quaternion_matrix(q[3:]).T @ u, w])
        vdot = hm.forward_dynamics(model, q, v, np.zeros(6), fluid_velocity=u)
        # velocity constant in the world: the numbers in body axes turn by −ω × v
        np.testing.assert_allclose(vdot, [*(-np.cross(w, v[:3])), 0, 0, 0], atol=100 * EPS)


@pytest.mark.parametrize("seed", range(10))
def test_a_current_is_a_moving_observer(seed):
    """A tree on a free base in a steady current moves as in still water, seen by an observer who drifts along (Galilei)."""
    rng = np.random.default_rng(seed)
    model = hm.library.star(2, 2, seed=seed)
    q, _ = model.neutral()
    q[3:7], q[7:] = (x := rng.normal(size=4)) / np.linalg.norm(x), rng.normal(size=4)
    v, tau = rng.normal(size=(2, model.nv))
    u = rng.normal(size=3)
    carried = quaternion_matrix(q[3:7]).T @ u
    drifting = v.copy()
    drifting[:3] += carried
    expected = hm.forward_dynamics(model, q, v, tau)
    expected[:3] -= np.cross(v[3:6], carried)
    ours = hm.forward_dynamics(model, q, drifting, tau, fluid_velocity=u)
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


def time_derivative(function, model, q, v, vdot):
    """d/dt of function(q, v) along the motion, by central differences with Richardson extrapolation (error h⁴)."""

    def at(h):
        # q to third order in h: the second-order Magnus term vanishes for the mean velocity of a linear v(t) up to h³
        return np.asarray(function(model, hm.integrate(model, q, v + 0.5 * h * vdot, h), v + h * vdot))

    h = 1e-3
    d1, d2 = (at(h) - at(-h)) / (2 * h), (at(2 * h) - at(-2 * h)) / (4 * h)
    return d1, np.abs(d1 - d2)


@pytest.mark.parametrize("seed", range(12))
def test_momentum_of_bodies_and_fluid_is_conserved(seed):
    """Kirchhoff: a free tree without gravity and drag keeps its linear and angular momentum, fluid included."""
    rng = np.random.default_rng(seed)
    model = without_drag(random_tree(rng, max_bodies=5))
    if any(b.parent is None and not isinstance(b.joint, hm.joints.Free) for b in model.bodies):
        bodies = [
            replace(b, joint=hm.joints.Free(velocity=rng.normal(size=6))) if b.parent is None else b for b in model.bodies
        ]
        model = hm.Model(bodies=bodies, world=model.world)
    s = model.initial()
    internal = rng.normal(size=model.nv)
    for body, at in zip(model.bodies, model.v_slices, strict=True):
        if body.parent is None:
            internal[at] = 0.0
    vdot = hm.forward_dynamics(model, s.q, s.v, internal)
    rate, error = time_derivative(hm.equations.momentum, model, s.q, s.v, vdot)
    # the difference of two step sizes measures the h² error of the derivative
    scale = np.abs(hm.equations.momentum(model, s.q, s.v)).max() + np.abs(vdot).max()
    assert (np.abs(rate) <= 3 * error + 1e-8 * scale).all()
    assert error.max() < 1e-3 * max(scale, np.abs(vdot).max() ** 2)


@pytest.mark.parametrize("seed", range(12))
def test_energy_changes_by_the_power_of_joints_and_drag(seed):
    """dE/dt = τ·v + drag power, with gravity, buoyancy and added mass inside E."""
    rng = np.random.default_rng(seed)
    model = random_tree(rng, max_bodies=5)
    s, tau = model.initial(), rng.normal(size=model.nv)
    vdot = hm.forward_dynamics(model, s.q, s.v, tau)
    rate, error = time_derivative(lambda m, q, v: hm.energy(m, q, v).total, model, s.q, s.v, vdot)
    power = tau @ s.v
    for body, V in zip(model.bodies, hm.kinematics(model, s.q, s.v).V_WB_B, strict=True):
        for element in body.hydro.drag:
            power += element.wrench(V, model.world.water_density) @ V
    assert abs(rate - power) <= 3 * error + 1e-8 * (abs(power) + hm.energy(model, s.q, s.v).kinetic_body)


@pytest.mark.parametrize("wet", [False, True])
def test_accelerometer_on_a_free_body(wet):
    """Specific force at the centre of mass: zero dry, the force of the water over the mass when wet; tilted and tumbling."""
    rng = np.random.default_rng(11)
    model = hm.library.serial_chain(0, wet=wet)
    body = model.bodies[0]
    for _ in range(10):
        x, v, a_f, u = rng.normal(size=4), rng.normal(size=6), rng.normal(size=3), rng.normal(size=3)
        q = np.concatenate([rng.normal(size=3), x / np.linalg.norm(x)])
        R = quaternion_matrix(q[3:])
        vdot = hm.forward_dynamics(model, q, v, np.zeros(6), fluid_velocity=u, fluid_acceleration=a_f)
        g_B = R.T @ model.world.gravity_vector
        J, bias = (
            hm.jacobian(model, q, "vehicle", body.inertia.com),
            hm.equations.bias_acceleration(model, q, v, "vehicle", body.inertia.com),
        )
        rate = J @ vdot + bias
        true = rate[:3] + np.cross(v[3:], (J @ v)[:3])
        force = np.zeros(3)
        if wet:
            V_r = v - [*(R.T @ u), 0, 0, 0]
            M_A = np.array(body.hydro.added_mass[0].matrix)
            a_r = np.concatenate([vdot[:3] + np.cross(v[3:], v[:3]) - R.T @ a_f, vdot[3:]])  # true, relative to the water
            turning = np.concatenate([np.cross(V_r[3:], V_r[:3]), np.zeros(3)])
            h = M_A @ V_r
            force = -(M_A @ (a_r - turning))[:3] - np.cross(V_r[3:], h[:3])  # −d/dt of the fluid's momentum
            force += body.hydro.drag[0].wrench(V_r, model.world.water_density)[:3]
            force += model.world.water_density * body.hydro.volume * (R.T @ a_f - g_B)
        np.testing.assert_allclose(body.inertia.mass * (true - g_B), force, atol=1e-11 * max(1, np.abs(force).max()))
