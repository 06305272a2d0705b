"""Spatial algebra against dense matrices and NumPy, with general numbers."""

import numpy as np
import pytest

from hydromechs import spatial as sp

EPS = np.finfo(float).eps


def random_rotation(rng):
    return sp.quaternion_matrix((q := rng.normal(size=4)) / np.linalg.norm(q))


def dense_motion(R, p):
    """X of V' = X V for a child at p with axes R."""
    return np.block([[R.T, -R.T @ sp.skew(p)], [np.zeros((3, 3)), R.T]])


def steps(rng):
    angle = rng.uniform(-3, 3)
    return (
        sp.Screw(0, rng.normal(), np.cos(angle), np.sin(angle)),
        sp.Shift(rng.normal(size=3)),
        sp.Screw(1, rng.normal(), np.cos(angle / 2), np.sin(angle / 2)),
        sp.Turn(random_rotation(rng), rng.normal(size=3)),
        sp.Screw(2, rng.normal(), np.cos(angle / 3), np.sin(angle / 3)),
    )


def test_path_transforms_as_dense_matrices():
    """Motion, force and inertia along screws, shifts and turns equal X V, Xᵀ F, Xᵀ I X."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        path = sp.Path(steps(rng))
        X = dense_motion(*path.pose())
        V, F = rng.normal(size=(2, 6))
        A = rng.normal(size=(6, 6))
        A = A + A.T
        # a few tens of operations on numbers of size 10 to 1000
        np.testing.assert_allclose(path.motion(V), X @ V, atol=1e3 * EPS * np.abs(X).max() * np.abs(V).max())
        np.testing.assert_allclose(path.force_back(F), X.T @ F, atol=1e3 * EPS * np.abs(X).max() * np.abs(F).max())
        np.testing.assert_allclose(path.inertia_back(A), X.T @ A @ X, atol=1e3 * EPS * np.abs(X).max() ** 2 * np.abs(A).max())
        np.testing.assert_allclose(path.rotate(V[:3]), path.pose()[0].T @ V[:3], atol=100 * EPS)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_each_screw_alone(axis):
    """One screw about each axis, so that a wrong sign cannot hide in a sequence."""
    c, s, d = np.cos(0.7), np.sin(0.7), 0.3
    step = sp.Screw(axis, d, c, s)
    R = sp.axis_rotation(np.eye(3)[axis], 0.7)
    np.testing.assert_allclose(step.R, R, atol=2 * EPS)
    X = dense_motion(R, d * np.eye(3)[axis])
    A = np.arange(36.0).reshape(6, 6)
    A = A + A.T
    np.testing.assert_allclose(sp.Path((step,)).inertia_back(A), X.T @ A @ X, atol=1e-13)
    np.testing.assert_allclose(step.rotate_back(step.rotate(np.array([1.0, 2, 3]))), [1, 2, 3], atol=4 * EPS)


def test_cross_products_are_dual():
    """(V × W) · F = −W · (V ×* F), the definition of ×*, and V × V = 0."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        V, W, F = rng.normal(size=(3, 6))
        assert abs(sp.motion_cross(V, W) @ F + W @ sp.force_cross(V, F)) < 100 * EPS
        np.testing.assert_allclose(sp.motion_cross(V, V), 0, atol=10 * EPS)


def test_rigid_inertia_is_kinetic_energy():
    """½ Vᵀ I V equals ½ m |v_c|² + ½ ωᵀ I_c ω for an offset centre of mass and a full tensor."""
    rng = np.random.default_rng(3)
    com, V = rng.normal(size=3), rng.normal(size=6)
    tensor = sp.tensor_matrix((3.0, 4.0, 5.0, 0.1, -0.2, 0.3))
    v_c = V[:3] + np.cross(V[3:], com)
    expected = 0.5 * 7.0 * v_c @ v_c + 0.5 * V[3:] @ tensor @ V[3:]
    assert 0.5 * V @ sp.rigid_inertia(7.0, com, tensor) @ V == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_ldl_solves(n):
    rng = np.random.default_rng(n)
    B = rng.normal(size=(n, n))
    A = B @ B.T + 0.1 * np.eye(n)
    b = rng.normal(size=n)
    # backward stable: error ≤ c n eps cond
    np.testing.assert_allclose(sp.ldl(A).solve(b), np.linalg.solve(A, b), rtol=50 * n * EPS * np.linalg.cond(A), atol=1e-12)


def test_quaternions():
    """Product and matrix agree, matrix and back agree for every largest component, exp is a rotation by |φ|."""
    rng = np.random.default_rng(4)
    for k in range(40):
        a, b = rng.normal(size=(2, 4))
        a[k % 4] *= 20
        a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
        np.testing.assert_allclose(
            sp.quaternion_matrix(sp.quaternion_product(a, b)), sp.quaternion_matrix(a) @ sp.quaternion_matrix(b), atol=20 * EPS
        )
        np.testing.assert_allclose(sp.quaternion_from_matrix(sp.quaternion_matrix(a)), a * np.sign(a[0]), atol=20 * EPS)
    phi = np.array([0.3, -0.4, 1.2])
    angle = np.linalg.norm(phi)
    np.testing.assert_allclose(
        sp.quaternion_matrix(sp.quaternion_exp(phi)), sp.axis_rotation(phi / angle, angle), atol=10 * EPS
    )
    np.testing.assert_array_equal(sp.quaternion_exp(np.zeros(3)), [1, 0, 0, 0])


def test_roll_pitch_yaw():
    """There and back, also at pitch ±90°; multiples of 90° are exact."""
    rng = np.random.default_rng(5)
    for rpy in [*rng.uniform(-1.5, 1.5, (20, 3)), [0.4, np.pi / 2, 0.2], [0.4, -np.pi / 2, 0.2]]:
        R = sp.matrix_from_rpy(rpy)
        np.testing.assert_allclose(R @ R.T, np.eye(3), atol=10 * EPS)
        np.testing.assert_allclose(sp.matrix_from_rpy(sp.rpy_from_matrix(R)), R, atol=2e-12)
    R = sp.matrix_from_rpy([np.pi / 2, -np.pi / 2, np.pi])
    assert set(np.unique(R)) <= {-1.0, 0.0, 1.0}


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_placements_near_right_angles(axis):
    """Roll, pitch and yaw next to multiples of 90°: the planar rotations of a placement make up the textbook's matrix."""
    import itertools

    from hydromechs.model import Origin

    def turn(k, angle):
        R = np.eye(3)
        i, j = (k + 1) % 3, (k + 2) % 3
        R[i, i] = R[j, j] = np.cos(angle)
        R[j, i], R[i, j] = np.sin(angle), -np.sin(angle)
        return R

    for quarters, n, signs in itertools.product(
        itertools.product((-1, 0, 1, 2), repeat=3), (2, 5, 8, 11, 14), ((1, 0, 0), (0, -1, 1), (1, 1, -1))
    ):
        rpy = np.array(quarters) * np.pi / 2 + np.array(signs) * 10.0**-n
        expected = turn(2, rpy[2]) @ turn(1, rpy[1]) @ turn(0, rpy[0])
        # right angles are made exact, which moves an entry by at most 1e-15
        np.testing.assert_allclose(sp.Path(Origin(rpy=rpy).steps(axis)).pose()[0], expected, rtol=0, atol=5e-15)


def test_principal_axes():
    """Jacobi's rotations against LAPACK, also for equal and for very different eigenvalues; a turned diagonal keeps its order."""
    rng = np.random.default_rng(8)
    for values in ([1.0, 2.0, 3.0], [1.0, 1.0, 1.0], [1.0, 1.0, 2.0], [1e-9, 1.0, 1e9], [0.0, 0.0, 5.0], [-2.0, 0.0, 1.0]):
        R = sp.matrix_from_rpy(rng.uniform(-3.0, 3.0, 3))
        S = R @ np.diag(rng.permutation(values)) @ R.T
        S = 0.5 * (S + S.T)
        size = np.abs(S).max()
        found, axes = sp.principal_axes(S)
        # a rotation rounds each of 3 products; a sweep has 3 rotations, and 6 sweeps are enough
        tolerance = 60 * EPS * size
        np.testing.assert_allclose(found, np.linalg.eigvalsh(S), rtol=0, atol=tolerance)
        np.testing.assert_allclose(axes @ np.diag(found) @ axes.T, S, rtol=0, atol=tolerance)
        np.testing.assert_allclose(axes.T @ axes, np.eye(3), rtol=0, atol=60 * EPS)
    found, axes = sp.principal_axes(np.diag([3.0, 1.0, 2.0]))
    assert found.tolist() == [1.0, 2.0, 3.0] and axes.tolist() == [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
