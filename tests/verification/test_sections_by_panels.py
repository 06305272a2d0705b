"""Added mass of long boxes: the tabulated coefficients of rectangular sections against boundary elements in the plane."""

import numpy as np
import pytest

from hydromechs.model._added_mass_matrix import ROTATION, SECTION


def coefficients(width, depth, panels=400):
    """Added mass along x [m²] and inertia about the centre [m⁴] of a rectangle, per length and density.

    Sources of constant strength on straight panels, finer towards the corners: ∂φ/∂n = n_x or (r × n)_z, m = −∮ φ ∂φ/∂n ds.
    """
    a, b = depth / 2, width / 2
    corners = np.array([(-a, -b), (a, -b), (a, b), (-a, b)])
    counts = [max(int(panels * length / (width + depth)), 30) for length in (depth, width, depth, width)]
    points = [
        p + (q - p) * s
        for p, q, n in zip(corners, np.roll(corners, -1, 0), counts, strict=True)
        for s in (1 - np.cos(np.linspace(0, np.pi, n + 1)[:-1])) / 2
    ]
    P = np.array(points)
    Q = np.roll(P, -1, 0)
    M, L = (P + Q) / 2, np.linalg.norm(Q - P, axis=1)
    along = (Q - P) / L[:, None]
    outwards, inwards = np.c_[along[:, 1], -along[:, 0]], np.c_[-along[:, 1], along[:, 0]]
    r = M[:, None] - P
    x, y = np.einsum("ijk,jk->ij", r, along), np.einsum("ijk,jk->ij", r, inwards)
    near, far = x * x + y * y, (x - L) ** 2 + y * y
    angle = np.arctan2(y, x - L) - np.arctan2(y, x)
    u, v = 0.5 * np.log(near / far), angle.copy()
    np.fill_diagonal(u, 0.0)
    np.fill_diagonal(v, -np.pi)  # on the outer side of the panel itself
    across = u[..., None] * along + v[..., None] * inwards
    A = np.einsum("ijk,ik->ij", across, outwards) / (2 * np.pi)
    phi = (x * np.log(near) - (x - L) * np.log(far) - 2 * L + 2 * y * angle) / (4 * np.pi)
    out = []
    for wanted in (outwards[:, 0], M[:, 0] * outwards[:, 1] - M[:, 1] * outwards[:, 0]):
        out.append(-float((phi @ np.linalg.solve(A, wanted)) @ (wanted * L)))
    return out


@pytest.mark.parametrize(("depth", "coefficient"), list(zip(*SECTION, strict=True))[1:])
def test_section_across_the_flow(depth, coefficient):
    """1 %: the tables have three digits, and the panels are that good next to corners."""
    assert coefficients(1.0, depth)[0] / (np.pi / 4) == pytest.approx(coefficient, rel=0.01)


@pytest.mark.parametrize(("ratio", "coefficient"), list(zip(*ROTATION, strict=True))[1:])
def test_section_that_turns(ratio, coefficient):
    """3 %: that of the table, which has 0.15 for two ratios."""
    assert coefficients(2.0, 2.0 * ratio)[1] / np.pi == pytest.approx(coefficient, rel=0.03)
