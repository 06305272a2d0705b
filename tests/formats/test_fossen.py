"""Fossen's tables: a model of them has the accelerations of Fossen's own formulas, and a slip is named."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.spatial import matrix_from_rpy, quaternion_from_matrix

REMUS = Path(__file__).parents[3] / "shared" / "data" / "remus100_fossen.json"


def skew(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def coriolis(M, nu):
    """Fossen's m2c, shape (6, 6)."""
    a, b = M[:3, :3] @ nu[:3] + M[:3, 3:] @ nu[3:], M[3:, :3] @ nu[:3] + M[3:, 3:] @ nu[3:]
    return np.block([[np.zeros((3, 3)), -skew(a)], [-skew(a), -skew(b)]])


def restoring(W, B, r_g, r_b, phi, theta):
    """Fossen's gvect, shape (6,)."""
    (xg, yg, zg), (xb, yb, zb) = r_g, r_b
    s, c, sp, cp = np.sin(theta), np.cos(theta), np.sin(phi), np.cos(phi)
    return np.array(
        [
            (W - B) * s,
            -(W - B) * c * sp,
            -(W - B) * c * cp,
            -(yg * W - yb * B) * c * cp + (zg * W - zb * B) * c * sp,
            (zg * W - zb * B) * s + (xg * W - xb * B) * c * cp,
            -(xg * W - xb * B) * c * sp - (yg * W - yb * B) * s,
        ]
    )


def tables():
    """General tables: everything off the axes, everything different."""
    m, r_g = 40.0, np.array([0.05, -0.02, 0.08])
    I_g = np.array([[2.0, 0.1, -0.2], [0.1, 3.0, 0.3], [-0.2, 0.3, 3.5]])
    S = skew(r_g)
    M_RB = np.block([[m * np.eye(3), -m * S], [m * S, I_g - m * S @ S]])
    A = np.random.default_rng(4).normal(size=(6, 6))
    return {
        "M_RB": M_RB,
        "M_A": np.diag([5.0, 30.0, 32.0, 0.5, 3.0, 3.2]) + 0.05 * A @ A.T,
        "D_l": np.diag([4.0, 20.0, 21.0, 1.0, 6.0, 7.0]) + 0.1 * np.abs(A),
        "D_q": np.array([8.0, 60.0, 70.0, 0.5, 9.0, 11.0]),
        "r_g": r_g,
        "r_b": np.array([0.01, 0.03, -0.04]),
        "W": m * 9.81,
        "B": m * 9.81 * 1.02,
    }


@pytest.mark.parametrize("seed", range(3))
def test_accelerations_are_those_of_fossens_formulas(seed):
    """M ν̇ = τ − C(ν) ν − D(ν) ν − g(η), with rounding of a 6×6 solution only."""
    t, rng = tables(), np.random.default_rng(seed)
    model = hm.from_fossen(**t)
    phi, theta, psi = rng.uniform(-1.2, 1.2, 3)
    nu, tau = rng.normal(size=6), rng.normal(size=6) * 20.0
    M = t["M_RB"] + t["M_A"]
    D = t["D_l"] + np.diag(t["D_q"]) * np.abs(nu)
    g = restoring(t["W"], t["B"], t["r_g"], t["r_b"], phi, theta)
    expected = np.linalg.solve(M, tau - coriolis(M, nu) @ nu - D @ nu - g)
    q = np.concatenate([rng.normal(size=3), quaternion_from_matrix(matrix_from_rpy((phi, theta, psi)))])
    assert hm.forward_dynamics(model, q, nu, tau) == pytest.approx(expected, rel=1e-11, abs=1e-11)


def test_a_current_acts_through_the_relative_velocity():
    """In a steady current M_A and D see ν_r = ν − ν_c, M_RB sees ν: at rest in the axes of the world."""
    t = tables() | {"B": tables()["W"], "r_b": tables()["r_g"]}
    model = hm.from_fossen(**t)
    current = np.array([0.4, -0.3, 0.2])
    nu_r = np.concatenate([-current, np.zeros(3)])
    C = coriolis(t["M_A"], nu_r)
    D = t["D_l"] + np.diag(t["D_q"]) * np.abs(nu_r)
    expected = np.linalg.solve(t["M_RB"] + t["M_A"], -C @ nu_r - D @ nu_r)
    q, v = model.neutral()
    assert hm.forward_dynamics(model, q, v, np.zeros(6), fluid_velocity=current) == pytest.approx(expected, rel=1e-11)


@pytest.mark.skipif(not REMUS.exists(), reason="the table of the REMUS 100 is not here")
def test_remus_100():
    """Mass, centre, tensor and volume come out of the tables of the REMUS 100."""
    data = json.loads(REMUS.read_text())
    D = np.zeros(6)
    model = hm.from_fossen(
        data["MRB"], data["MA"], D, D, data["r_bg"], data["r_bb"], data["W"], data["B"], water_density=data["rho"]
    )
    (body,) = model.bodies
    # a prolate spheroid of the vehicle's length and diameter, neutrally buoyant
    mass = 4.0 / 3.0 * np.pi * data["rho"] * (data["L"] / 2.0) * (data["diam"] / 2.0) ** 2
    a, b = data["L"] / 2.0, data["diam"] / 2.0
    assert body.inertia.mass == pytest.approx(mass, rel=1e-12)
    assert body.inertia.com == pytest.approx((0.0, 0.0, 0.02), abs=1e-15)
    moments = mass / 5.0 * np.array([2.0 * b * b, a * a + b * b, a * a + b * b])
    assert body.inertia.tensor == pytest.approx((*moments, 0.0, 0.0, 0.0), rel=1e-9, abs=1e-12)
    assert body.hydro.volume == pytest.approx(mass / data["rho"], rel=1e-12)
    assert model.world.gravity == pytest.approx(9.81, rel=1e-12)
    assert hm.mass_matrix(model, model.neutral()[0]) == pytest.approx(np.array(data["MRB"]) + np.array(data["MA"]), abs=1e-12)


def test_the_centre_may_be_left_to_m_rb():
    t = tables()
    assert hm.from_fossen(**t | {"r_g": None}).bodies[0].inertia.com == pytest.approx(t["r_g"], rel=1e-14)


def _swapped(M, i, j, value):
    M = np.array(M)
    M[i, j] = value
    return M


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"M_A": lambda t: -t["M_A"]}, "so use −M_A"),
        ({"M_A": lambda t: _swapped(t["M_A"], 1, 5, 2.0)}, r"M_A must be symmetric.*M_A\[1, 5\] is 2"),
        ({"D_l": lambda t: -t["D_l"]}, "so use −D_l"),
        ({"D_q": lambda t: -t["D_q"]}, "so use −D_q"),
        ({"M_RB": lambda t: t["M_RB"] + t["M_A"]}, "added mass"),
        ({"M_RB": lambda t: t["M_RB"][:3]}, r"M_RB has shape \(3, 6\)"),
        ({"r_g": lambda t: -t["r_g"]}, "correct one of them, or use r_g=None"),
        ({"W": lambda t: t["W"] / 9.81}, "use the weight in N"),
        ({"B": lambda t: float("nan")}, "B .*not finite"),
        ({"r_b": lambda t: "low"}, "r_b is 'low'"),
    ],
    ids=lambda x: next(iter(x)) if isinstance(x, dict) else "",
)
def test_slips_are_named(change, words):
    t = tables()
    with pytest.raises(hm.ModelError, match=words):
        hm.from_fossen(**t | {name: new(t) for name, new in change.items()})
