"""Wave loads against closed forms: a sphere, a spar in heave, a rod by strips, bodies in streams that converge or shear."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import hydro
from hydromechs.hydro import Environment, FreeSurface, RegularWave, wave_components, wave_motion
from hydromechs.hydro import _sampling as strips
from hydromechs.simulation import Plant
from hydromechs.spatial import matrix_from_rpy, quaternion_from_matrix, quaternion_matrix

G, RHO = 9.81, 1025.0
DOWN = np.array([0.0, 0.0, 1.0])
WORLD = hm.World(gravity=G, water_density=RHO)


def acceleration(model, environment, *, q=None, v=None, t=0.0):
    """v̇ of a plant in floats, and the evaluation."""
    from hydromechs.simulation._evaluate import evaluate

    plant = Plant(model=model, environment=environment)
    start = model.initial()
    data, _ = plant.data(hydro.UniformFlow(environment, 0), t, {})
    inputs = np.concatenate([np.zeros(plant.layout.size - len(data)), data])
    z = np.zeros(plant.layout.nz)
    return evaluate(plant, t, start.q if q is None else q, start.v if v is None else v, z, inputs)


def sphere(center, mass=1.0, radius=0.3, position=(0.0, 0.0, 3.0)):
    """A sphere of `mass` times its water at `position`, its body frame at −`center` from it."""
    volume = 4 / 3 * np.pi * radius**3
    c = tuple(float(x) for x in center)
    body = hm.Body(
        name="ball",
        joint=hm.joints.Free(position=tuple(np.subtract(position, c))),
        inertia=hm.Inertia(mass=mass * RHO * volume, com=c, tensor=(4.0, 4.0, 4.0, 0, 0, 0)),
        hydro=hm.Hydro(
            volume=volume,
            buoyancy_center=c,
            added_mass=hm.added_mass.ShapeAddedMass(shape=hm.geometry.Sphere(radius=radius).at(c)),
            drag=hm.drag.ShapeDrag(shape=hm.geometry.Sphere(radius=radius).at(c), coefficient=0.4),
        ),
    )
    return hm.Model(name="ball", bodies=[body], world=WORLD)


def test_the_path_of_a_neutral_sphere_does_not_depend_on_its_frame():
    """Waves of 4 s and 1 m: to rounding, 1e-9 m after 20 s."""
    environment = Environment(waves=[RegularWave(height=1.0, period=4.0)])
    paths = []
    for center in ((0.0, 0.0, 0.0), (0.5, 0.0, 0.0), (0.0, 0.0, 0.5), (0.2, -0.3, 0.4)):
        ds = hm.Simulation(sphere(center), environment=environment, step=0.02, record=1.0).run(20.0).recording
        R = [np.array(quaternion_matrix(q)) for q in ds.orientation.values[:, 0]]
        paths.append(ds.position.values[:, 0] + np.array([r @ center for r in R]))
    assert np.ptp(paths[0][:, 0]) > 0.3
    for path in paths[1:]:
        np.testing.assert_allclose(path, paths[0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("surface", [None, FreeSurface()])
def test_a_motion_does_not_depend_on_the_axes_of_the_world(surface):
    """Start, waves and current turned about the vertical, also from north-east-down to east-north-up."""
    start_R = np.array(matrix_from_rpy((0.2, -0.4, 0.6)))
    to_enu = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
    paths = []
    for psi, axes in ((0.0, "NED"), (0.7, "NED"), (0.0, "ENU"), (-1.9, "ENU")):
        C = np.array(matrix_from_rpy((0.0, 0.0, psi)))
        C = C if axes == "NED" else to_enu @ C
        model = replace(sphere((0.2, -0.3, 0.4), mass=0.9), world=replace(WORLD, axes=axes))
        toward = [angle + psi if axes == "NED" else 0.5 * math.pi - angle - psi for angle in (0.4, -1.0)]
        waves = [RegularWave(height=h, period=T, direction=d) for h, T, d in zip((0.6, 0.2), (3.0, 2.0), toward, strict=True)]
        current = hydro.Current(velocity=tuple(C @ (0.4, -0.2, 0.05)))
        environment = Environment(waves=waves, current=current, water_depth=12.0, surface=surface)
        state = hm.State(q=[*(C @ (0.0, 0.0, 0.5)), *quaternion_from_matrix(C @ start_R)], v=(0.3, 0.1, -0.1, 0.1, 0.2, -0.3))
        ds = hm.Simulation(model, environment=environment, step=0.01, record=0.1, state=state).run(2.0).recording
        R = np.array([C.T @ np.array(quaternion_matrix(q)) for q in ds.orientation.values[:, 0]])
        paths.append((ds.position.values[:, 0] @ C, R))
    assert np.ptp(paths[0][0], axis=0).min() > 0.1
    for p, R in paths[1:]:  # rounding of 200 steps
        np.testing.assert_allclose(p, paths[0][0], rtol=0, atol=1e-11)
        np.testing.assert_allclose(R, paths[0][1], rtol=0, atol=1e-11)


@pytest.mark.parametrize("mass", [1.0, 2.5])
def test_a_sphere_at_rest_accelerates_as_its_water(mass):
    """(m + A) v̇ = (ρV + A) a_f + (m − ρV) g, less drag, a_f where its centre is."""
    radius, t, p = 0.3, 0.7, np.array([1.0, 2.0, 4.0])
    environment = Environment(waves=[RegularWave(height=0.8, period=5.0, direction=0.6)])
    water = wave_motion(wave_components(environment, G), DOWN, p, t)
    V = 4 / 3 * np.pi * radius**3
    m, A = mass * RHO * V, 0.5 * RHO * V
    drag = 0.5 * RHO * 0.4 * np.pi * radius**2 * np.linalg.norm(water.velocity) * water.velocity
    expected = ((RHO * V + A) * water.acceleration + (m - RHO * V) * G * DOWN + drag) / (m + A)
    for center in ((0.0, 0.0, 0.0), (0.4, -0.3, 0.2)):
        e = acceleration(sphere(center, mass, radius, tuple(p)), environment, t=t)
        at_center = e.vdot[:3] + np.cross(e.vdot[3:], center)
        np.testing.assert_allclose(at_center, expected, rtol=1e-12, atol=1e-12)


# -- a spar in heave ----------------------------------------------------------------------------------------------------

RADIUS, DRAFT, LENGTH, PERIOD = 0.2, 4.135, 4.6, 3.5


def spar(origin):
    """A spar that moves up and down; its frame is `origin` below its top. It has a half ball's added mass at the keel."""
    middle, keel = 0.5 * LENGTH - origin, LENGTH - origin
    area = np.pi * RADIUS**2
    body = hm.Body(
        name="spar",
        joint=hm.joints.Prismatic(placement=hm.Origin((0, 0, DRAFT - LENGTH + origin)), axis=(0, 0, 1)),
        inertia=hm.Inertia(mass=RHO * area * DRAFT, com=(0, 0, middle), tensor=(100.0, 100.0, 1.0, 0, 0, 0)),
        hydro=hm.Hydro(
            volume=area * LENGTH,
            buoyancy_center=(0, 0, middle),
            added_mass=hm.added_mass.ShapeAddedMass(shape=hm.geometry.Sphere(radius=RADIUS).at((0, 0, keel))),
        ),
        shapes=(hm.geometry.Cylinder(radius=RADIUS, length=LENGTH).at((0, 0, middle)),),
    )
    return hm.Model(name="spar", bodies=[body], world=WORLD)


def heave_by_linear_theory():
    """Heave over elevation, both down: ρgS z + (m + A) z̈ = ρgS e^(−kD) η + A a(D), the pressure of the wave on the keel."""
    k = (2 * np.pi / PERIOD) ** 2 / G
    S = np.pi * RADIUS**2
    A = DRAFT / LENGTH * 2 / 3 * np.pi * RADIUS**3 / S  # of what is wet, over ρS
    return math.exp(-k * DRAFT) * (1.0 - k * A) / (1.0 - k * (DRAFT + A))


def test_heave_of_a_spar():
    """0.62 at 3.5 s wherever the frame is. It starts on the motion of linear theory and must stay on it.

    The wave is 8 mm high, 1/500 of the draft; edges of the hull are rounded by 2 % of the radius, about 1e-3 of the response.
    """
    ratio = heave_by_linear_theory()
    assert abs(ratio) == pytest.approx(0.62, abs=0.005)
    height = 0.008
    environment = Environment(waves=[RegularWave(height=height, period=PERIOD)], surface=FreeSurface())
    for origin in (0.0, 0.5 * LENGTH, LENGTH - 0.5 * DRAFT, LENGTH):
        model = spar(origin)
        start = model.initial()
        start.q[0] = -0.5 * height * ratio  # z is down, the crest is over it
        ds = hm.Simulation(model, environment=environment, step=0.0175, record=0.35, state=start).run(2 * PERIOD).recording
        t, z = ds.time.values, ds.q.values[:, 0]
        expected = start.q[0] * np.cos(2 * np.pi / PERIOD * t)
        np.testing.assert_allclose(z, expected, rtol=0, atol=0.01 * abs(start.q[0]))


# -- strips -------------------------------------------------------------------------------------------------------------


def rod(length, radius=0.02):
    """A neutral rod along x of its frame, which is at one end: displaced water, added mass and drag by strips."""
    cylinder = hm.geometry.Cylinder.along("x", 0.0, length, radius=radius)
    volume = np.pi * radius**2 * length
    body = hm.Body(
        name="rod",
        joint=hm.joints.Free(position=(0.3, 0.1, 1.0), orientation=(0.8, 0.1, -0.5, math.sqrt(0.1))),
        inertia=hm.Inertia(mass=RHO * volume, com=(length / 2, 0, 0), tensor=(0.1, 5.0, 5.0, 0, 0, 0)),
        hydro=hm.Hydro(
            volume=volume,
            buoyancy_center=(length / 2, 0, 0),
            added_mass=hm.added_mass.ShapeAddedMass(shape=cylinder),
            drag=hm.drag.ShapeDrag(shape=cylinder, coefficient=1.0, end_coefficient=0.0),
        ),
        shapes=(hm.geometry.Cylinder(radius=radius, length=length).at((length / 2, 0, 0), (0, np.pi / 2, 0)),),
    )
    return hm.Model(name="rod", bodies=[body], world=WORLD)


def along(length, function):
    """∫ of a force per length and its moment along a rod, in its axes, by 200 Gauss points."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    total = np.zeros(6)
    for x, w in zip(0.5 * length * (nodes + 1.0), 0.5 * length * weights, strict=True):
        f = w * function(x)
        total += np.concatenate([f, np.cross([x, 0, 0], f)])
    return total


def test_strips_converge(monkeypatch):
    """Froude-Krylov force and moment on a rod of 6 m in waves of 3 s (k L = 2.7), held at rest, against 200 Gauss points.

    Two points in each strip are of fourth order; the strips that a plant takes are within 0.3 % of the largest.
    """
    length, radius, t = 6.0, 0.02, 0.4
    model = rod(length, radius)
    environment = Environment(waves=[RegularWave(height=0.4, period=3.0, direction=0.2)])
    waves = wave_components(environment, G)
    e = acceleration(model, environment, t=t)
    R, p = np.array(e.now.R_WB[0]), np.array(e.now.p_WB[0])

    def force(x):
        return RHO * np.pi * radius**2 * (R.T @ wave_motion(waves, DOWN, p + R @ [x, 0, 0], t).acceleration)

    exact = along(length, force)
    scale = np.abs(exact[[1, 2, 4, 5]])

    def error(strip):
        monkeypatch.setattr(strips, "STRIP", strip)
        got = acceleration(model, environment, t=t).forces["fluid_acceleration"][0]
        return np.abs(got - exact).max() / scale.max()

    used = strips.STRIP
    assert error(used) < 3e-3
    # k L = 2.7: 1, 2 and 4 strips
    off = np.array([error(2.8), error(1.4), error(0.7)])
    assert (np.log2(off[:-1] / off[1:]) > 3.5).all(), off


def volume_integral(size, field):
    """∫ of a force per volume and its moment over a box, by 8³ Gauss points; over a disc (radius, length) by rings."""
    total, line = np.zeros(6), list(zip(*np.polynomial.legendre.leggauss(8), strict=True))
    if len(size) == 3:
        nodes = [np.array(x) for x in product(line, line, line)]  # a row for each axis: place and weight
        places = [(x[:, 0] * size / 2, np.prod(x[:, 1]) * np.prod(size) / 8) for x in nodes]
    else:
        places = []
        for (x, w), (y, u), angle in product(line, line, np.arange(16) * np.pi / 8):
            r = 0.5 * size[0] * (x + 1)
            ring = r * 0.5 * size[0] * w * np.pi / 8
            places.append((np.array([r * np.cos(angle), r * np.sin(angle), 0.5 * size[1] * y]), ring * 0.5 * size[1] * u))
    for point, volume in places:
        f = volume * field(point)
        total += np.concatenate([f, np.cross(point, f)])
    return total


@pytest.mark.parametrize(
    ("size", "period"),
    [((2.0, 1.4, 0.2), 3.0), ((2.0, 2.0, 0.05), 3.0), ((1.0, 0.05), 3.0), ((10.0, 8.0, 0.5), 4.0), ((0.2, 2.0, 1.0), 3.0)],
)
def test_flat_hulls_feel_the_moment_of_waves(size, period):
    """Slabs, plates and discs, misaligned at 6 m: Froude-Krylov force to 0.1 %, its moment to 3 %, against volume integrals."""
    t, V = 0.4, np.prod(size) if len(size) == 3 else np.pi * size[0] ** 2 * size[1]
    shape = hm.geometry.Box(size=size) if len(size) == 3 else hm.geometry.Cylinder(radius=size[0], length=size[1])
    environment = Environment(waves=[RegularWave(height=0.01, period=period, direction=0.7)])
    waves = wave_components(environment, G)
    for orientation in ((0.8, 0.1, -0.5, math.sqrt(0.1)), (0.1, 0.7, 0.5, -0.5)):
        body = hm.Body(
            name="slab",
            joint=hm.joints.Free(position=(0.3, 0.1, 6.0), orientation=orientation),
            inertia=hm.Inertia(mass=RHO * V, tensor=(9.0, 9.0, 9.0, 0, 0, 0)),
            hydro=hm.Hydro(volume=V),
            shapes=(shape,),
        )
        e = acceleration(hm.Model(name="slab", bodies=[body], world=WORLD), environment, t=t)
        R, p = np.array(e.now.R_WB[0]), np.array(e.now.p_WB[0])

        def field(x, R=R, p=p):
            return RHO * (R.T @ wave_motion(waves, DOWN, p + R @ x, t).acceleration)

        exact, got = volume_integral(size, field), np.array(e.forces["fluid_acceleration"][0])
        for part, tolerance in ((slice(0, 3), 1e-3), (slice(3, 6), 0.03)):
            assert np.linalg.norm(got[part] - exact[part]) < tolerance * np.linalg.norm(exact[part])


@pytest.mark.parametrize(("height", "label"), [(0.4, "drag"), (0.004, "added_mass")])
def test_strips_of_drag_and_added_mass_feel_the_water_along_the_axis(height, label):
    """A rod held at rest: ρ C r |v_n| v_n and ρ π r² a_n along its axis. Terms of second order in the wave are 1e-3 of the latter."""
    length, radius, t = 6.0, 0.02, 0.4
    model = rod(length, radius)
    environment = Environment(waves=[RegularWave(height=height, period=3.0, direction=0.2)])
    waves = wave_components(environment, G)
    e = acceleration(model, environment, t=t)
    R, p = np.array(e.now.R_WB[0]), np.array(e.now.p_WB[0])

    def force(x):
        water = wave_motion(waves, DOWN, p + R @ [x, 0, 0], t)
        v, a = R.T @ water.velocity * [0, 1, 1], R.T @ water.acceleration * [0, 1, 1]
        return RHO * radius * np.linalg.norm(v) * v if label == "drag" else RHO * np.pi * radius**2 * a

    expected = along(length, force)
    got = e.forces[label][0] + (e.added_mass[0] @ e.acceleration[0] if label == "added_mass" else 0.0)
    np.testing.assert_allclose(got[1:], expected[1:], rtol=0, atol=5e-3 * np.abs(expected).max())


def test_a_rod_that_moves_along_its_axis_meets_waves_at_the_frequency_of_encounter():
    """Added mass feels ρ π r² (∂v/∂t + U ∂v/∂x) across its axis (Lighthill 1960), not Dv/Dt; a wave of 4 mm, U = 2 m/s."""
    length, radius, t, U = 6.0, 0.02, 0.4, 2.0
    model = rod(length, radius)
    environment = Environment(waves=[RegularWave(height=0.004, period=3.0, direction=0.2)])
    waves = wave_components(environment, G)
    v = np.array([U, 0, 0, 0, 0, 0])
    e = acceleration(model, environment, v=v, t=t)
    R, p = np.array(e.now.R_WB[0]), np.array(e.now.p_WB[0])

    def force(x, speed):
        here, h = p + R @ [x, 0, 0], 1e-5
        ahead, behind = (wave_motion(waves, DOWN, here + s * h * speed * R[:, 0], t + s * h).velocity for s in (1.0, -1.0))
        return RHO * np.pi * radius**2 * (R.T @ (ahead - behind) / (2 * h)) * [0, 1, 1]

    got = (e.forces["added_mass"][0] + e.added_mass[0] @ e.acceleration[0])[1:3]
    met, still = along(length, lambda x: force(x, U))[1:3], along(length, lambda x: force(x, 0.0))[1:3]
    np.testing.assert_allclose(got, met, rtol=0, atol=0.01 * np.abs(met).max())
    assert np.abs(met - still).max() > 0.1 * np.abs(met).max()


# -- streams that converge or shear -------------------------------------------------------------------------------------


def force_in_stream(element, gradient, velocity, *, moving=(0.0, 0.0, 0.0), center=(0.1, -0.2, 0.3)):
    """Force of added mass in a steady stream v(x) = velocity + G (x − center), on a body that moves without accelerating."""
    body = hm.Body(name="body", inertia=hm.Inertia(mass=1.0), hydro=hm.Hydro(buoyancy_center=center, added_mass=element))
    sampling = hydro.sampling(body, body, RHO, 0.0, surface=False)
    G_f, v = np.array(gradient, dtype=float), np.array(velocity, dtype=float)

    def flow(x):
        here = v + G_f @ (x - np.array(center))
        return hydro.Flow(here, G_f @ here, G_f)

    V = np.array([*moving, 0.0, 0.0, 0.0])
    motion = hydro.motion_in(sampling, V, [flow(x) for x in sampling.points], np.eye(3), np.zeros(3), WORLD)
    return hydro.added_mass_reaction(body, motion, np.zeros(6))[0], hydro.fluid_energy(body, motion)


def test_a_stream_that_converges_holds_a_body_as_taylor_has_it():
    """Force on a body at rest in a steady irrotational stream: ∇(½ v·A v) (Taylor 1928), A that of an ellipsoid misaligned."""
    center, rng = (0.1, -0.2, 0.3), np.random.default_rng(2)
    element = hm.added_mass.ShapeAddedMass(shape=hm.geometry.Ellipsoid(axes=(0.5, 0.3, 0.1)).at(center, (0.4, -0.3, 0.9)))
    B = rng.normal(size=(3, 3))
    strain = B + B.T - 2.0 / 3.0 * np.trace(B) * np.eye(3)
    v, A = rng.normal(size=3), np.array(hydro.added_mass_matrix(element, RHO))[:3, :3]
    F, energy = force_in_stream(element, strain, v, center=center)
    assert energy == pytest.approx(0.5 * v @ A @ v)
    np.testing.assert_allclose(F[:3], strain @ A @ v, rtol=1e-12)  # ∇ of ½ v·A v: symmetric G times A v
    assert np.abs(F[:3] - A @ strain @ v).max() > 0.1 * np.abs(F[:3]).max()  # which A Dv/Dt alone is not


def test_a_shear_flow_lifts_a_sphere_as_auton_has_it():
    """½ m_f (Dv/Dt + v_r × curl v) with v_r = v − U (Auton, Hunt and Prud'homme 1988)."""
    center, radius = (0.1, -0.2, 0.3), 0.2
    element = hm.added_mass.ShapeAddedMass(shape=hm.geometry.Sphere(radius=radius).at(center))
    gradient = np.array([[0.0, 0.0, 0.7], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])  # v_x grows with z
    v, U = np.array([0.8, 0.1, 0.3]), np.array([0.2, -0.1, 0.1])
    F, _ = force_in_stream(element, gradient, v, moving=U, center=center)
    curl = np.array([0.0, 0.7, 0.0])
    m_f = RHO * 4 / 3 * np.pi * radius**3
    np.testing.assert_allclose(F[:3], 0.5 * m_f * (gradient @ v + np.cross(v - U, curl)), rtol=1e-12)
