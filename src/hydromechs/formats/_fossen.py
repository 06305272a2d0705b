"""Conversion of the matrices in Fossen's equation of motion to a `Model` of one free body.

    M_RB ν̇ + C_RB(ν) ν + M_A ν̇_r + C_A(ν_r) ν_r + (D_l + D_q |ν_r|) ν_r + g(η) = τ

The velocity ν is about the body origin CO, linear first, z down (Fossen, Handbook of Marine Craft Hydrodynamics and Motion
Control, 2021). All matrices are positive, as in the reference: M_A = −∂τ/∂ν̇, D_l = −diag(X_u, ...), D_q = −diag(X_|u|u,
...).
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hydromechs.errors import Fault, ModelError
from hydromechs.model import Body, Hydro, Inertia, Model, World, added_mass, drag, joints
from hydromechs.spatial import skew
from hydromechs.values import plain

SAME = 1e-6
"""Relative tolerance between two values of a quantity, because tables contain rounded values."""
GRAVITY = (9.7, 9.9)
"""Accepted range of W/m, around gravity on Earth [m/s²]."""


def from_fossen(
    M_RB: ArrayLike,
    M_A: ArrayLike,
    D_l: ArrayLike,
    D_q: ArrayLike,
    r_g: ArrayLike | None,
    r_b: ArrayLike,
    W: float,
    B: float,
    *,
    name: str = "vehicle",
    water_density: float = 1025.0,
) -> Model:
    """Return a vehicle from the matrices of Fossen's equation of motion: one free body in NED axes.

    Args:
        M_RB: Rigid-body inertia about CO, linear first [kg, kg·m, kg·m²], shape (6, 6).
        M_A: Added mass about CO, symmetric and positive (X_u̇ = −M_A[0, 0]) [kg, kg·m, kg·m²], shape (6, 6).
        D_l: Linear damping, positive, a diagonal or a matrix [N·s/m, N·m·s/rad], shape (6,) or (6, 6).
        D_q: Quadratic damping Q in Q (|ν| ∘ ν), positive, a diagonal or a matrix [N·s²/m², N·m·s²/rad²], shape (6,) or (6, 6).
        r_g: Centre of gravity from CO [m], shape (3,); defaults to the value in M_RB.
        r_b: Centre of buoyancy from CO [m], shape (3,).
        W: Weight m g [N]; gravity is derived as W/m.
        B: Buoyancy ρ g ∇ [N]; the displaced volume is B/(ρ g).
        name: Name of the model and of its body.
        water_density: ρ [kg/m³].

    Returns:
        The model. One `ModelError` lists all errors of the matrices.
    """
    faults: list[Fault] = []
    rigid, added = _table(faults, "M_RB", M_RB, (6, 6)), _table(faults, "M_A", M_A, (6, 6))
    linear, quadratic = _damping(faults, "D_l", D_l), _damping(faults, "D_q", D_q)
    given = None if r_g is None else _table(faults, "r_g", r_g, (3,))
    center = _table(faults, "r_b", r_b, (3,))
    weight, lift = (_table(faults, what, value, ()) for what, value in (("W", W), ("B", B)))
    density = _table(faults, "water_density", water_density, ())
    if faults:
        raise ModelError(name, faults)
    if not density > 0.0:
        faults.append(Fault(("water_density",), f"water_density is {plain(float(density))} kg/m³, must be above 0"))
    if lift < 0.0:
        faults.append(Fault(("B",), f"B is {plain(float(lift))} N, must be at least 0; use the upward buoyancy force"))
    _symmetric(faults, "M_A", added)
    for k in np.flatnonzero(np.diag(added) < 0.0):
        words = "must be at least 0; M_A is minus the derivatives (M_A[0, 0] = −X_u̇), so use −M_A"
        faults.append(Fault(("M_A",), f"M_A[{k}, {k}] is {plain(added[k, k])}, {words}"))
    for what, D in (("D_l", linear), ("D_q", quadratic)):
        for k in np.flatnonzero(np.diag(D) < 0.0):
            words = f"must be at least 0; {what} is minus the derivatives (X_u, X_|u|u < 0), so use −{what}"
            faults.append(Fault((what,), f"{what}[{k}, {k}] is {plain(D[k, k])}, {words}"))
    inertia = _rigid_body(faults, rigid, given, float(weight))
    if faults or inertia is None:
        raise ModelError(name, faults)
    gravity = float(weight) / inertia.mass
    hydro = Hydro(
        volume=float(lift) / (float(density) * gravity),
        buoyancy_center=tuple(center),
        added_mass=(added_mass.Matrix(_rows(added)),) if added.any() else (),
        drag=(drag.Damping(linear=_rows(linear), quadratic=_rows(quadratic)),) if linear.any() or quadratic.any() else (),
    )
    return Model(
        name=name,
        bodies=(Body(name=name, joint=joints.Free(), inertia=inertia, hydro=hydro),),
        world=World(axes="NED", gravity=gravity, water_density=float(density)),
    )


def _rigid_body(faults: list[Fault], M: np.ndarray, given: np.ndarray | None, weight: float) -> Inertia | None:
    """Return mass, centre of mass and tensor from M_RB = [[m 1, −m S(r_g)], [m S(r_g), I_CO]].

    Deviations from this form are reported as errors. Given r_g [m], shape (3,), and weight [N] must agree with M_RB.
    """
    before = len(faults)
    _symmetric(faults, "M_RB", M)
    m = float(np.trace(M[:3, :3])) / 3.0
    if not m > 0.0:
        faults.append(Fault(("M_RB",), f"the mass in M_RB is {plain(m)} kg, must be above 0"))
        return None
    if np.abs(M[:3, :3] - m * np.eye(3)).max() > SAME * m:
        shown = plain(tuple(np.diag(M)[:3]))
        words = "must be m times the identity matrix, with equal mass in surge, sway and heave; move added mass to M_A"
        faults.append(Fault(("M_RB",), f"the upper left block of M_RB has the diagonal {shown} kg; it {words}"))
    L = M[3:, :3]  # m S(r_g)
    h = 0.5 * np.array([L[2, 1] - L[1, 2], L[0, 2] - L[2, 0], L[1, 0] - L[0, 1]])
    scale = max(float(np.abs(L).max()), 1e-9 * m)
    if np.abs(L - skew(h)).max() > SAME * scale:
        words = "must be m S(r_g), skew-symmetric; check the signs: M_RB[3:, :3] = m S(r_g), M_RB[:3, 3:] = −m S(r_g)"
        faults.append(Fault(("M_RB",), f"the lower left block of M_RB {words}"))
    inside = h / m
    if given is not None and np.abs(given - inside).max() > SAME * max(float(np.abs(given).max()), float(np.abs(inside).max())):
        words = "both are the centre of gravity from CO; correct one of them, or use r_g=None for the value in M_RB"
        faults.append(Fault(("r_g",), f"r_g is {plain(tuple(given))} m, but M_RB has {plain(tuple(inside))} m; {words}"))
    low, high = GRAVITY
    if not low <= weight / m <= high:
        words = f"must be {low} to {high} m/s²; use the weight in N, W = m g"
        faults.append(Fault(("W",), f"W/m is {plain(weight)} N / {plain(m)} kg = {plain(weight / m)} m/s², {words}"))
    if len(faults) > before:
        return None
    S = skew(inside)
    I = 0.5 * (M[3:, 3:] + M[3:, 3:].T) + m * S @ S  # about the centre of gravity, by the parallel-axis theorem
    moments = np.linalg.eigvalsh(I)
    if moments[0] < -1e-9 * abs(moments[2]) or moments[0] + moments[1] < moments[2] * (1.0 - 1e-9):
        words = "must be at least 0, and the largest at most the sum of the others; check that M_RB[3:, 3:] is about CO"
        faults.append(Fault(("M_RB",), f"M_RB has principal moments {plain(tuple(moments))} kg·m² about its centre, {words}"))
        return None
    return Inertia(mass=m, com=tuple(inside), tensor=(I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]))


def _symmetric(faults: list[Fault], what: str, M: np.ndarray) -> None:
    apart = np.abs(M - M.T)
    if apart.max() > 1e-9 * np.abs(M).max():
        i, j = np.unravel_index(int(np.argmax(apart)), M.shape)
        pair = f"{what}[{i}, {j}] is {plain(M[i, j])}, {what}[{j}, {i}] is {plain(M[j, i])}"
        remedy = f"correct one of them, or use 0.5 * ({what} + {what}.T)"
        faults.append(Fault((what,), f"{what} must be symmetric, but {pair}; {remedy}", remedy=remedy))


def _damping(faults: list[Fault], what: str, D: Any) -> np.ndarray:
    """Return a diagonal or a matrix as a matrix, shape (6, 6)."""
    given = np.shape(D)
    table = _table(faults, what, D, (6,) if len(given) == 1 else (6, 6))
    return np.diag(table) if table.ndim == 1 else table


def _table(faults: list[Fault], what: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return `value` as finite floats of a shape; record an error and return zeros if it is invalid."""
    try:
        table = np.array(value, dtype=float)
    except (TypeError, ValueError):
        faults.append(Fault((what,), f"{what} is {str(value)[:80]!r}, must be numbers of shape {shape}"))
        return np.zeros(shape)
    if table.shape != shape:
        faults.append(Fault((what,), f"{what} has shape {table.shape}; use shape {shape}"))
    elif not np.isfinite(table).all():
        faults.append(Fault((what,), f"{what} contains a number that is not finite; correct it"))
    else:
        return table
    return np.zeros(shape)


def _rows(M: np.ndarray) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in M.tolist())
