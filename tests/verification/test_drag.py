"""Drag: closed forms for pure translation and rotation, convergence of the strips, dissipation, foils, damping."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.errors import UnsupportedFeature

RHO = 1000.0


def test_cylinder_in_pure_translation():
    """−½ ρ C D L |v| v across an axis along y, −½ ρ C_e π r² |v| v along it, moments about the origin of the body."""
    rod = hm.drag.ShapeDrag(shape=hm.geometry.Cylinder.along("y", 0.2, 1.2, radius=0.05), coefficient=1.1, end_coefficient=0.8)
    F = rod.wrench(np.array([1.5, 0, -2.0, 0, 0, 0]), RHO)
    v = np.array([1.5, 0, -2.0])
    f = -0.5 * RHO * 1.1 * 0.1 * 1.0 * 2.5 * v
    np.testing.assert_allclose(F, [*f, *np.cross([0, 0.7, 0], f)], rtol=1e-14, atol=1e-12)
    F = rod.wrench(np.array([0, 2.0, 0, 0, 0, 0]), RHO)
    np.testing.assert_allclose(F, [0, -0.5 * RHO * 0.8 * np.pi * 0.05**2 * 4.0, 0, 0, 0, 0], rtol=1e-14, atol=1e-12)


@pytest.mark.parametrize("points", [2, 4, 7])
def test_rod_that_rotates_about_its_end(points):
    """Torque ⅛ ρ C D ω² L⁴ = 13.75 N·m and force ⅙ ρ C D ω² L³ = 18.33 N: a cubic integrand, exact from two points on."""
    rod = hm.drag.ShapeDrag(shape=hm.geometry.Cylinder.along("x", 0.0, 1.0, radius=0.05), coefficient=1.1, points=points)
    F = rod.wrench(np.array([0, 0, 0, 0, 0, 1.0]), RHO)
    np.testing.assert_allclose(F, [0, -18.333333333333332, 0, 0, 0, -13.75], rtol=1e-13, atol=1e-12)


def test_strips_converge_where_the_velocity_changes_sign():
    """A rod spinning about its middle: torque 1/64 · ρ C D ω² L⁴; Gauss meets the kink in the middle with order four."""
    exact = -RHO * 1.1 * 0.1 / 64.0
    errors = []
    for points in (4, 8, 16, 32):
        rod = hm.drag.ShapeDrag(shape=hm.geometry.Cylinder.along("x", -0.5, 0.5, radius=0.05), coefficient=1.1, points=points)
        F = rod.wrench(np.array([0, 0, 0, 0, 0, 1.0]), RHO)
        np.testing.assert_allclose(F[:5], 0, atol=1e-12)
        errors.append(abs(F[5] / exact - 1))
    # |x| x² has a jump in its third derivative: the error falls with the fourth power of the number of points, 16 per doubling
    assert errors[0] == pytest.approx(0.009, rel=0.05) and errors[1] == pytest.approx(0.0006, rel=0.05)  # as in the docs
    for coarse, fine in itertools.pairwise(errors):
        assert 14 < coarse / fine < 17


def test_cylinder_between_any_two_ends():
    """A slanted, offset cylinder equals a turned one along an axis; the order of its ends does not matter."""
    rng = np.random.default_rng(1)
    start, end, V = rng.normal(size=3), rng.normal(size=3), rng.normal(size=6)
    fields = dict(coefficient=1.1, end_coefficient=0.7)
    between, along = hm.geometry.Cylinder.between, hm.geometry.Cylinder.along
    F = hm.drag.ShapeDrag(shape=between(start, end, radius=0.1), **fields).wrench(V, RHO)
    back = hm.drag.ShapeDrag(shape=between(end, start, radius=0.1), **fields)
    np.testing.assert_allclose(back.wrench(V, RHO), F, rtol=1e-12)
    e = (end - start) / np.linalg.norm(end - start)
    R = np.linalg.qr(np.column_stack([e, rng.normal(size=(3, 2))]))[0]
    R *= np.sign(R[:, 0] @ e)
    if np.linalg.det(R) < 0:
        R[:, 2] *= -1  # columns: e, and two across
    V_local = np.concatenate([R.T @ (V[:3] + np.cross(V[3:], start)), R.T @ V[3:]])
    on_x = along("x", 0.0, float(np.linalg.norm(end - start)), radius=0.1)
    F_local = hm.drag.ShapeDrag(shape=on_x, **fields).wrench(V_local, RHO)
    f, n = R @ F_local[:3], R @ F_local[3:]
    np.testing.assert_allclose(F, [*f, *(n + np.cross(start, f))], rtol=1e-11, atol=1e-9)


def test_cylinder_along_an_axis():
    """`along` is the cylinder between two points of that axis."""
    ours = hm.drag.ShapeDrag(shape=hm.geometry.Cylinder.along("z", -0.5, 0.7, radius=0.1), coefficient=1.1)
    assert ours == hm.drag.ShapeDrag(shape=hm.geometry.Cylinder.between((0, 0, -0.5), (0, 0, 0.7), radius=0.1), coefficient=1.1)
    for axis in ("w", "xy", ""):
        with pytest.raises(ValueError, match=f"axis is '{axis}', must be 'x', 'y' or 'z'"):
            hm.drag.ShapeDrag(shape=hm.geometry.Cylinder.along(axis, 0.0, 1.0, radius=0.1), coefficient=1.1)


def test_box_in_pure_translation():
    box = hm.drag.ShapeDrag(shape=hm.geometry.Box(size=(2.0, 1.5, 1.0)).at((0.1, 0.2, 0.3)), coefficient=(0.9, 1.0, 1.2))
    v = np.array([1.0, -2.0, 0.5])
    f = -0.5 * RHO * np.array([0.9 * 1.5, 1.0 * 2.0, 1.2 * 3.0]) * np.abs(v) * v
    np.testing.assert_allclose(
        box.wrench(np.concatenate([v, np.zeros(3)]), RHO), [*f, *np.cross([0.1, 0.2, 0.3], f)], rtol=1e-13
    )


def test_box_that_rotates_about_its_middle():
    """About z: the faces across y give ½ρC ω² h · L⁴/32 of their own, those across x likewise; converging with the points."""
    size, C, w = (2.0, 1.5, 1.0), (0.9, 1.1, 1.2), 0.8
    exact = -0.5 * RHO * w * w * (C[0] * size[2] * size[1] ** 4 / 32 + C[1] * size[2] * size[0] ** 4 / 32)
    errors = []
    for points in (4, 8, 16):
        F = hm.drag.ShapeDrag(shape=hm.geometry.Box(size=size), coefficient=C, points=points).wrench(
            np.array([0, 0, 0, 0, 0, w]), RHO
        )
        np.testing.assert_allclose(F[:5], 0, atol=1e-9)
        errors.append(abs(F[5] / exact - 1))
    assert errors[0] < 0.02 and errors[1] < errors[0] / 10 and errors[2] < errors[1] / 10


def box_by_midpoints(size, coefficients, xyz, rpy, V, n):
    """Drag of a box by the midpoint rule with n×n points on each face, the force of a pair shared by its two faces."""
    (c1, c2, c3), (s1, s2, s3) = np.cos(rpy), np.sin(rpy)
    Rx = np.array([[1, 0, 0], [0, c1, -s1], [0, s1, c1]])
    Ry = np.array([[c2, 0, s2], [0, 1, 0], [-s2, 0, c2]])
    Rz = np.array([[c3, -s3, 0], [s3, c3, 0], [0, 0, 1]])
    R, t, F = Rz @ Ry @ Rx, (np.arange(n) + 0.5) / n - 0.5, np.zeros(6)
    for k, side in itertools.product(range(3), (-0.5, 0.5)):
        local = np.array(np.meshgrid(*(np.array([side]) if i == k else t for i in range(3)))).reshape(3, -1).T * size
        points = np.array(xyz) + local @ R.T
        v = (V[:3] + np.cross(V[3:], points)) @ R[:, k]
        f = np.outer(-0.25 * RHO * coefficients[k] * np.abs(v) * v * np.prod(np.delete(size, k)) / n**2, R[:, k])
        F += np.concatenate([f.sum(axis=0), np.cross(points, f).sum(axis=0)])
    return F


@pytest.mark.parametrize("speed", [0.3, 8.0])
def test_tilted_box_that_moves_and_rotates(speed):
    """A tilted, offset box against a sum over its faces; at the low speed the normal velocity changes sign on every face."""
    size, C, xyz, rpy = (0.9, 0.6, 0.7), (0.9, 1.0, 1.2), (0.3, -0.2, 0.4), (0.4, -0.5, 0.6)
    V = np.array([speed, -1.3 * speed, 0.8 * speed, 1.1, -0.7, 0.9])
    V[:3] -= np.cross(V[3:], xyz)
    coarse, fine = (box_by_midpoints(size, C, xyz, rpy, V, n) for n in (100, 200))
    box = {n: hm.drag.ShapeDrag(shape=hm.geometry.Box(size=size).at(xyz, rpy), coefficient=C, points=n) for n in (4, 20, 40)}
    gauss = {n: element.wrench(V, RHO) for n, element in box.items()}
    # each quadrature is of order two or more, so that doubling its points changes it by more than the error that is left
    scale = np.abs(fine).max()
    tolerance = np.abs(fine - coarse).max() + np.abs(gauss[40] - gauss[20]).max()
    assert tolerance < 1e-4 * scale
    np.testing.assert_allclose(gauss[40], fine, rtol=0, atol=tolerance)
    # four points: exact where no velocity changes sign, a few per cent where all do
    np.testing.assert_allclose(gauss[4], gauss[40], rtol=0, atol=(1e-12 if speed > 1 else 0.03) * scale)


def test_thin_box_equals_a_rod_of_the_same_breadth():
    """A long thin box and strips of a cylinder with the same area agree when the flow is across one face."""
    box = hm.drag.ShapeDrag(shape=hm.geometry.Box(size=(1.0, 1e-9, 0.1)).at((0.5, 0, 0)), coefficient=(0, 1.1, 0))
    rod = hm.drag.ShapeDrag(shape=hm.geometry.Cylinder.along("x", 0.0, 1.0, radius=0.05), coefficient=1.1, end_coefficient=0.0)
    V = np.array([0, 0.7, 0, 0, 0, 1.3])
    np.testing.assert_allclose(box.wrench(V, RHO), rod.wrench(V, RHO), rtol=1e-8, atol=1e-6)


def test_sphere_and_ellipsoid():
    """Quadratic damping −8.0739 of a reference sphere; an ellipsoid of equal axes is that sphere; areas per direction."""
    sphere = hm.drag.ShapeDrag(shape=hm.geometry.Sphere(radius=0.1), coefficient=0.5)
    assert sphere.wrench(np.array([1.0, 0, 0, 0, 0, 0]), 1028.0)[0] == pytest.approx(-8.073893119725769, rel=1e-13)
    V = np.array([0.3, -0.4, 1.2, 0.5, 0.6, 0.7])
    same = hm.drag.ShapeDrag(
        shape=hm.geometry.Ellipsoid(axes=(0.1, 0.1, 0.1)).at((0.2, 0.1, -0.3), (0.4, 0.5, 0.6)), coefficient=(0.5, 0.5, 0.5)
    )
    np.testing.assert_allclose(
        same.wrench(V, RHO),
        hm.drag.ShapeDrag(shape=hm.geometry.Sphere(radius=0.1).at((0.2, 0.1, -0.3)), coefficient=0.5).wrench(V, RHO),
        atol=1e-12,
    )
    long = hm.drag.ShapeDrag(shape=hm.geometry.Ellipsoid(axes=(1.0, 0.3, 0.2)), coefficient=(0.1, 0.5, 0.7))
    assert long.wrench(np.array([0, 2.0, 0, 0, 0, 0]), RHO)[1] == pytest.approx(-0.5 * RHO * 0.5 * np.pi * 0.2 * 4.0)


def test_damping_in_fossens_form():
    """Linear and quadratic matrices and cross terms; one entry at another simulator's numbers."""
    D, Q = np.arange(36.0).reshape(6, 6), np.arange(36.0)[::-1].reshape(6, 6)
    V = np.array([1.0, -2, 3, -4, 5, -6])
    element = hm.drag.Damping(linear=D, quadratic=Q, coupled={"Y|r|v": 2.0, "N|v|v": 0.5})
    expected = -(D @ V + Q @ (np.abs(V) * V))
    expected[1] -= 2.0 * abs(V[5]) * V[1]
    expected[5] -= 0.5 * abs(V[1]) * V[1]
    np.testing.assert_allclose(element.wrench(V, RHO), expected, rtol=1e-14)
    assert hm.drag.Damping(quadratic=(6.2282, 0, 0, 0, 0, 0)).wrench(np.array([2.0, 0, 0, 0, 0, 0]), RHO)[0] == pytest.approx(
        -24.9128
    )


FOIL = hm.drag.Foil(area=0.2, lift_slope=5.0, drag_parallel=0.01, drag_normal=1.2, position=(-0.5, 0.1, 0.2))


def test_foil_at_small_angles_is_thin_foil_theory():
    """Lift ½ ρ A U² a α to third order in α, against the motion across it."""
    alpha, U = 1e-3, 2.0
    F = FOIL.wrench(np.array([U * np.cos(alpha), 0, U * np.sin(alpha), 0, 0, 0]), RHO)
    lift = 0.5 * RHO * 0.2 * U**2 * 5.0 * alpha
    across = -(F[2] * np.cos(alpha) - F[0] * np.sin(alpha))
    assert across == pytest.approx(lift, rel=2 * alpha**2)


def test_foil_lift_does_no_work_and_stall_is_a_plate():
    rng = np.random.default_rng(3)
    pure_lift = hm.drag.Foil(
        area=0.2,
        lift_slope=5.0,
        drag_parallel=0.0,
        drag_normal=0.0,
        position=(-0.5, 0.1, 0.2),
        chord=(1, 1, 0),
        normal=(1, -1, 0),
    )
    for V in rng.normal(size=(20, 6)):
        F = pure_lift.wrench(V, RHO)
        assert abs(F @ V) < 1e-10 * np.linalg.norm(F) * np.linalg.norm(V)
    F = FOIL.wrench(np.array([0, 0, 2.0, 0, 0, 0]), RHO)
    np.testing.assert_allclose(F[:3], [0, 0, -0.5 * RHO * 0.2 * 1.2 * 4.0], atol=1e-9)


ELEMENTS = [
    hm.drag.ShapeDrag(shape=hm.geometry.Cylinder.between((0.1, 0.2, 0.3), (0.5, -0.4, 0.9), radius=0.1), coefficient=1.1),
    hm.drag.ShapeDrag(
        shape=hm.geometry.Box(size=(0.5, 0.6, 0.7)).at((0.1, 0.2, 0.3), (0.4, 0.5, 0.6)), coefficient=(0.9, 1.0, 1.2)
    ),
    hm.drag.ShapeDrag(shape=hm.geometry.Sphere(radius=0.2).at((0.1, 0.2, 0.3)), coefficient=0.5),
    hm.drag.ShapeDrag(
        shape=hm.geometry.Ellipsoid(axes=(0.5, 0.3, 0.2)).at((0.1, 0.2, 0.3), (0.4, 0.5, 0.6)), coefficient=(0.1, 0.5, 0.7)
    ),
    hm.drag.Damping(linear=(1, 2, 3, 4, 5, 6), quadratic=(6, 5, 4, 3, 2, 1)),
    FOIL,
]


@pytest.mark.parametrize("element", ELEMENTS, ids=lambda e: type(e).__name__)
def test_drag_takes_energy_and_vanishes_at_rest(element):
    rng = np.random.default_rng(2)
    for V in rng.normal(size=(50, 6)):
        assert element.wrench(V, RHO) @ V < 0
    np.testing.assert_array_equal(element.wrench(np.zeros(6), RHO), np.zeros(6))


@dataclass(frozen=True, kw_only=True)
class Stokes(hm.drag.DragElement):
    """f = −6 π μ r v at the body origin."""

    radius: float

    def wrench(self, V_r, density):
        return np.concatenate([-6.0 * np.pi * 1e-3 * self.radius * V_r[:3], np.zeros(3)])


@pytest.mark.parametrize("waves", [(), (hm.hydro.RegularWave(height=1e-9, period=5.0),)], ids=["still", "waves"])
def test_a_custom_element_decays_as_the_closed_form(waves):
    """v = v₀ exp(−6 π μ r t / m), compiled, also where elements feel the water at points."""
    radius, mass = 0.05, 1e-3
    element = Stokes(radius=radius)
    inertia = hm.Inertia(mass=mass, tensor=(1e-6, 2e-6, 3e-6, 0, 0, 0))
    neutral = hm.Hydro(volume=mass / hm.World().water_density, drag=element)
    model = hm.Model(bodies=[hm.Body(name="b", inertia=inertia, hydro=neutral)])
    q, v = model.neutral()
    q[2], v[:3] = 100.0, (0.3, -0.2, 0.1)
    sim = hm.Simulation(model, state=hm.State(q=q, v=v), environment=hm.Environment(waves=waves), step=1e-3)
    sim.run(0.5)
    np.testing.assert_allclose(sim.state.v[:3], v[:3] * np.exp(-6e-3 * np.pi * radius / mass * 0.5), rtol=1e-9)
    with pytest.raises(UnsupportedFeature, match="Stokes.*has no method matrix"):
        element.matrix(v, RHO)


def test_a_class_that_defines_its_wrench_again_does_not_keep_the_numbers_of_its_parent():
    class Twice(hm.drag.Damping):
        def wrench(self, V_r, density):
            return 2.0 * hm.drag.Damping.numbers(self, density).wrench(V_r)

    V = np.arange(1.0, 7.0)
    linear = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    np.testing.assert_array_equal(Twice(linear=linear).numbers(RHO).wrench(V), -2.0 * np.array(linear) * V)
