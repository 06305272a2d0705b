"""Drag by surface integrals and maps, and the parts of Fossen's damping, each against an independent calculation."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.interpolate import RegularGridInterpolator

import hydromechs as hm
from hydromechs.compiler import trace
from hydromechs.geometry import Box, Cylinder, Ellipsoid, Mesh, Sphere
from hydromechs.model import drag

RHO = 1000.0
V = np.array([0.4, -0.3, 0.8, 0.5, -0.2, 0.9])


# -- surface --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "area", "ratio"),
    [
        (Box(size=(1.0, 2.0, 3.0)), 6.0, 1.0),
        (Sphere(radius=0.5), np.pi * 0.25, 0.5),
        (Cylinder(radius=0.5, length=2.0), 2.0, 2.0 / 3.0),
    ],
    ids=["box", "sphere", "cylinder"],
)
def test_surface_integral_of_shapes_across_the_flow(shape, area, ratio):
    """∫ cos³ over the upstream side: all of a plate's projected area, ⅔ of a cylinder's, ½ of a sphere's."""
    flow = np.array([1.5, 0, 0, 0, 0, 0])
    wetted, projected = (
        drag.SurfaceDrag(shape=shape, coefficient=0.8, reference=kind, sides=64, points=1) for kind in ("wetted", "projected")
    )
    drag_force = 0.5 * RHO * 0.8 * area * 1.5**2
    assert wetted.wrench(flow, RHO)[0] == pytest.approx(-ratio * drag_force, rel=4e-3)
    assert projected.wrench(flow, RHO)[0] == pytest.approx(-drag_force, rel=3e-3)  # polygons are smaller than circles


def test_projected_coefficients_hold_for_motion_along_each_axis():
    """Three coefficients of an ellipsoid against its silhouettes; forwards and backwards."""
    shape = Ellipsoid(axes=(0.6, 0.3, 0.2))
    element = drag.SurfaceDrag(shape=shape, coefficient=(0.2, 0.9, 1.1), sides=64, points=1)
    for k, (c, a) in enumerate(zip((0.2, 0.9, 1.1), shape.projected_area(), strict=True)):
        for sign in (1.0, -1.0):
            v = np.zeros(6)
            v[k] = sign
            assert element.wrench(v, RHO)[k] == pytest.approx(-sign * 0.5 * RHO * c * a, rel=5e-3)


def test_box_that_spins_and_moves():
    """Against the Gauss quadrature of pairs of faces of `ShapeDrag`: without change of sign on a face both are exact."""
    solid = Box(size=(1.0, 0.6, 0.4)).at((0.3, -0.2, 0.5), (0.3, -0.4, 0.8))
    moving = np.array([3.0, -4.0, 5.0, 0.3, 0.2, -0.4])
    exact = drag.ShapeDrag(shape=solid, coefficient=1.1, points=8).wrench(moving, RHO)
    found = drag.SurfaceDrag(shape=solid, coefficient=1.1).wrench(moving, RHO)
    np.testing.assert_allclose(found, exact, atol=2e-4 * np.abs(exact).max())  # the moment of a cubic by a rule of degree two


def test_surface_of_a_mesh(tmp_path):
    """A mesh named by the element of a body is the box whose corners it has, in a compiled model too."""
    box = Box(size=(1.0, 0.6, 0.4)).triangulate()
    lines = [f"v {x} {y} {z}" for x, y, z in box.vertices] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in box.faces]
    (tmp_path / "box.obj").write_text("\n".join(lines))
    body = hm.Body(
        name="hull",
        inertia=hm.Inertia(mass=2.0, tensor=(1, 1, 1, 0, 0, 0)),
        shapes=[hm.model.BodyShape(name="skin", shape=Mesh(file=str(tmp_path / "box.obj")))],
        hydro=hm.Hydro(drag=drag.SurfaceDrag(shape="skin", coefficient=1.1)),
        joint=hm.joints.Free(),
    )
    (element,) = body.hydro.drag
    own = drag.SurfaceDrag(shape=Box(size=(1.0, 0.6, 0.4)), coefficient=1.1).wrench(V, RHO)
    np.testing.assert_allclose(element.wrench(V, RHO), own, atol=1e-9)
    model = hm.Model(name="hull", bodies=[body])
    q = model.neutral()[0]
    found = hm.compile(model).forward_dynamics(q, V, np.zeros(6))
    np.testing.assert_allclose(found, hm.forward_dynamics(model, q, V, np.zeros(6)), rtol=1e-10)


def test_surfaces_that_cannot_be_used():
    with pytest.raises(hm.ModelError, match=r"12288 surface points.*3000"):
        hm.Model(bodies=[_body(drag.SurfaceDrag(shape=Sphere(radius=1.0), coefficient=1.0, sides=64))])
    with pytest.raises(hm.ModelError, match="one number"):
        hm.Model(bodies=[_body(drag.SurfaceDrag(shape=Sphere(radius=1.0), coefficient=(1, 2, 3), reference="wetted"))])


def _body(element):
    inertia = hm.Inertia(mass=2.0, tensor=(1, 1, 1, 0, 0, 0))
    return hm.Body(name="hull", joint=hm.joints.Free(), inertia=inertia, hydro=hm.Hydro(drag=element))


# -- maps -----------------------------------------------------------------------------------------------------------------------

ALPHA, BETA = np.radians([-180, -60, -20, 0, 30, 90, 180]), np.radians([-90, -30, 0, 15, 90])


def test_map_against_scipy():
    """Bilinear interpolation of six tables at random angles; moments about the body's origin."""
    rng = np.random.default_rng(3)
    table = rng.normal(size=(7, 5, 6))
    origin = hm.Origin((0.2, -0.1, 0.3), (0.4, -0.2, 1.0))
    element = drag.CoefficientMap(alpha=ALPHA, beta=BETA, coefficients=table, area=0.7, length=1.3, origin=origin)
    reference = RegularGridInterpolator((ALPHA, BETA), table)
    program = trace(lambda V_r: element.wrench(V_r, RHO), {"V_r": (6,)})
    for _ in range(20):
        V_r = rng.normal(size=6)
        v = origin.R.T @ (V_r[:3] + np.cross(V_r[3:], origin.xyz))
        speed = np.linalg.norm(v)
        C = np.ravel(reference((math.atan2(v[2], v[0]), math.asin(v[1] / speed))))
        F = 0.5 * RHO * 0.7 * speed**2 * C * [1, 1, 1, 1.3, 1.3, 1.3]
        f, n = origin.R @ F[:3], origin.R @ F[3:]
        wanted = np.concatenate([f, n + np.cross(origin.xyz, f)])
        np.testing.assert_allclose(element.wrench(V_r, RHO), wanted, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(program(V_r)[0], wanted, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(element.wrench(np.zeros(6), RHO), 0.0)


@pytest.mark.parametrize("direction", [(0, 0, 0), (1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1)])
def test_derivatives_of_a_map_exist_at_rest_and_across(direction):
    """Points at which an angle is undefined: linear models of vehicles are often made at rest. Against differences."""
    table = [[(-np.cos(a) * np.cos(b), -np.sin(b), -np.sin(a) * np.cos(b), 0, 0, 0) for b in BETA] for a in ALPHA]
    element = drag.CoefficientMap(alpha=ALPHA, beta=BETA, coefficients=table, area=0.7)
    model = hm.Model(bodies=[_body(element)])
    dyn, q, v = hm.compile(model), model.neutral()[0], np.concatenate([direction, np.zeros(3)])
    A = dyn.linearize(q, v, np.zeros(6))[0][-6:, -6:]
    h = 1e-6 * np.eye(6)
    assert np.isfinite(A).all()
    for k in (1,) if direction[1] else range(3):  # across, the other directions turn the angle of attack by 180°
        ahead, back = (dyn.forward_dynamics(q, v + s * h[k], np.zeros(6)) for s in (1, -1))
        between = np.sort([(ahead - dyn.forward_dynamics(q, v, np.zeros(6))) / 1e-6, (ahead - back) / 2e-6], axis=0)
        kink = np.ptp(between, axis=0) > 1e-3  # a node of the table
        np.testing.assert_allclose(A[:, k][~kink], between.mean(axis=0)[~kink], atol=2e-3)


def test_map_of_a_foil_is_the_foil():
    """A table generated from the foil's own coefficients every two degrees."""
    foil = drag.Foil(area=0.5, lift_slope=5.0, drag_parallel=0.02, drag_normal=1.2)
    alpha = np.radians(np.arange(-180, 181, 2))
    rows = [[foil.wrench(np.array([math.cos(a), 0, math.sin(a), 0, 0, 0]), 2.0 / 0.5)] * 2 for a in alpha]
    element = drag.CoefficientMap(alpha=alpha, beta=(-0.1, 0.1), coefficients=rows, area=0.5)
    for a in np.radians([3.1, 47.0, -133.0]):
        v = np.array([2 * math.cos(a), 0, 2 * math.sin(a), 0, 0, 0])
        np.testing.assert_allclose(element.wrench(v, RHO), foil.wrench(v, RHO), atol=4e-3 * RHO)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alpha": (0.0, 0.0), "coefficients": np.zeros((2, 5, 6))}, "increas"),
        ({"coefficients": np.zeros((7, 5, 5))}, r"\(7, 5, 6\)"),
        ({"coefficients": np.full((7, 5, 6), np.nan)}, "finite"),
        ({"coefficients": np.full((7, 5, 6), [0.3, 0, 0, 0, 0, 0])}, "which drive the body at .*correct the signs"),
    ],
)
def test_maps_that_do_not_fit(change, message):
    values = {"alpha": ALPHA, "beta": BETA, "coefficients": np.zeros((7, 5, 6)), "area": 1.0} | change
    with pytest.raises((hm.ModelError, ValueError), match=message):
        hm.Model(bodies=[_body(drag.CoefficientMap(**values))])


# -- damping: potential, skin, wave drift, vortices -----------------------------------------------------------------------------


def test_potential_damping_takes_the_power_of_the_radiated_waves():
    """A section that heaves with amplitude X radiates two waves of amplitude Ā X, with ½ ρ g a² and group velocity g / 2ω."""
    ratio, w, length, X, g = 0.6, 2.5, 4.0, 0.1, 9.81
    b = RHO * g**2 * ratio**2 / w**3 * length
    element = drag.PotentialDamping(damping=(0, 0, b, 0, 0, 0))
    t = np.linspace(0.0, 2.0 * np.pi / w, 400, endpoint=False)
    heave = X * w * np.cos(w * t)
    taken = [-element.wrench(np.array([0, 0, v, 0, 0, 0]), RHO)[2] * v for v in heave]
    radiated = 2.0 * 0.5 * RHO * g * (ratio * X) ** 2 * g / (2.0 * w) * length
    assert np.mean(taken) == pytest.approx(radiated, rel=1e-12)


def test_potential_damping_must_not_add_energy():
    with pytest.raises(hm.ModelError, match="symmetric"):
        hm.Model(bodies=[_body(drag.PotentialDamping(damping=np.eye(6) + np.eye(6, k=1)))])
    with pytest.raises(hm.ModelError, match="negative"):
        hm.Model(bodies=[_body(drag.PotentialDamping(damping=(1, 1, -1, 0, 0, 0)))])


def test_skin_friction_of_a_laminar_plate_is_the_integral_of_blasius():
    element = drag.SkinFriction(wetted_area=2.0 * 0.5, length=0.5)
    speed = 0.2  # Re = 1e5
    local = quad(lambda x: 0.664 / math.sqrt(speed * x / 1e-6), 0.0, 0.5)[0] / 0.5
    assert element.wrench(np.array([speed, 0, 0, 0, 0, 0]), RHO)[0] == pytest.approx(-0.5 * RHO * local * speed**2, rel=1e-3)


@pytest.mark.parametrize("reynolds", [1e7, 1e8, 1e9])
def test_skin_friction_of_a_turbulent_hull_is_that_of_ittc(reynolds):
    """The ITTC-1957 line 0.075 / (log₁₀ Re − 2)² within 8 %, which is not a plate's but a ship's and lies above."""
    element = drag.SkinFriction(wetted_area=1.0, length=10.0, form_factor=0.1)
    speed = reynolds * 1e-7
    C = -element.wrench(np.array([-speed, 0, 0, 0, 0, 0]), RHO)[0] / (-0.5 * RHO * 1.1 * speed**2)
    assert pytest.approx(0.075 / (math.log10(reynolds) - 2.0) ** 2, rel=0.08) == C


def test_wave_drift_damping_is_the_change_of_the_drift_force_with_speed():
    """Aranha: F(ω, u) = (1 + 4 τ) F(ω (1 + τ)), τ = ω u / g, differentiated numerically."""

    def F(w):
        return 300.0 + 120.0 * w**2

    w, a, h = 0.8, 1.5, 1e-4
    element = drag.WaveDriftDamping(drift=F(w), slope=240.0 * w, frequency=w, amplitude=a, axis=(0, 2, 0), position=(1, 0, 0))

    def drifting(u):
        shift = w * u / 9.81
        return a**2 * (1.0 + 4.0 * shift) * F(w * (1.0 + shift))

    found = element.wrench(np.array([0.3, 0.5, 0, 0, 0, 0.2]), RHO)
    force = -(drifting(h) - drifting(-h)) / (2 * h) * (0.5 + 0.2)
    np.testing.assert_allclose(found, [0, force, 0, 0, 0, force], rtol=1e-6, atol=1e-9)


def test_vortex_damping_is_the_cross_flow_integral():
    """Fossen 2011, eqs. 6.91-6.92, by scipy; the velocity keeps its sign along the hull."""
    element = drag.VortexDamping(coefficient=0.9, height=0.4, length=3.0, position=(0.5, 0, 0), points=8)
    Y, N = (
        -0.5 * RHO * quad(lambda x, k=k: 0.4 * 0.9 * abs(1.5 + 0.3 * x) * (1.5 + 0.3 * x) * x**k, -1.0, 2.0)[0] for k in (0, 1)
    )
    np.testing.assert_allclose(element.wrench(np.array([2.0, 1.5, 0.7, 0, 0, 0.3]), RHO), [0, Y, 0, 0, 0, N], atol=1e-9)


ELEMENTS = [
    drag.SurfaceDrag(shape=Cylinder(radius=0.2, length=0.7), coefficient=1.0, sides=8),
    drag.PotentialDamping(damping=(5, 4, 9, 1, 2, 3), origin=hm.Origin((0.1, 0, 0.2), (0.3, 0, 0))),
    drag.SkinFriction(wetted_area=2.0, length=1.5, axis=(1, 0.2, 0), position=(0, 0.1, 0)),
    drag.WaveDriftDamping(drift=200.0, frequency=0.9, amplitude=1.0, position=(0.2, 0.3, 0)),
    drag.VortexDamping(coefficient=1.1, height=0.3, length=2.0),
]


@pytest.mark.parametrize("element", ELEMENTS, ids=lambda e: type(e).__name__)
def test_matrix_times_velocity_is_the_wrench(element):
    D = element.matrix(V, RHO)
    np.testing.assert_allclose(-D @ V, element.wrench(V, RHO), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(D, D.T, atol=1e-12 * abs(D).max())
    assert element.wrench(V, RHO) @ V < 0.0
    np.testing.assert_array_equal(element.wrench(np.zeros(6), RHO), 0.0)
    program = trace(lambda V_r: element.wrench(V_r, RHO), {"V_r": (6,)})
    np.testing.assert_allclose(program(V)[0], element.wrench(V, RHO), rtol=1e-9, atol=1e-9)
