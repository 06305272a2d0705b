"""Programs of an error-state Kalman filter, for floats or symbols."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np

from hydromechs.compiler import Program, iterate, trace
from hydromechs.sensors import Aid, Errors
from hydromechs.spatial import ldl, quaternion_matrix, quaternion_product, where
from hydromechs.values import Array, Scalar

from ._covariance import ERRORS, STATES, Covariance, plus

NX, NE = 19, 18
ROW = NX + 3
"""Number of entries of a state copy: state, then measured angular velocity."""
FLOOR = 1e-12
"""Minimum variance of a measurement [unit²], which keeps P positive definite."""
HUGE = 1e300
"""Upper bound of measurements; comparison with it is false for NaN."""
P, V, Q, BG, BA, C = (ERRORS[name].start for name in ("p", "v", "q", "bg", "ba", "c"))


def start_of(
    q_BI: Array, p_BI: Array, pose: Array, velocity: Array, bias: Array | None = None, current: Array | None = None
) -> Array:
    """Return the filter state x for a motion of the vehicle, shape (19,).

    `q_BI`: quaternion of the IMU axes in body axes, shape (4,); `p_BI`: IMU origin in body axes [m], shape (3,); `pose`:
    position and quaternion of the body, shape (7,); `velocity`: body velocity in body axes [m/s, rad/s], shape (6,);
    `bias`: biases of specific force and angular rate, default 0; `current`: water velocity in world axes [m/s], default 0.
    """
    R, w = quaternion_matrix(pose[3:]), velocity[3:]
    lever = np.array([w[1] * p_BI[2] - w[2] * p_BI[1], w[2] * p_BI[0] - w[0] * p_BI[2], w[0] * p_BI[1] - w[1] * p_BI[0]])
    b = np.zeros(6) if bias is None else bias
    c = np.zeros(3) if current is None else current
    q = quaternion_product(pose[3:], q_BI)
    return np.concatenate([pose[:3] + R @ p_BI, R @ (velocity[:3] + lever), q, b[3:], b[:3], c])


def first_covariance(prior: Mapping[str, Scalar], down: Array) -> Array:
    """Return the initial covariance, shape (18, 18), with tilt about horizontal axes and heading about the vertical.

    `prior`: standard deviations of position, velocity, tilt, heading, gyroscope, accelerometer and current; `down`:
    downward unit vector in IMU axes, shape (3,).
    """
    found = np.zeros((NE, NE), dtype=np.asarray(down).dtype)
    names = ("position", "velocity", "tilt", "gyroscope", "accelerometer", "current")
    for at, name in zip((P, V, Q, BG, BA, C), names, strict=True):
        for k in range(at, at + 3):
            found[k, k] = prior[name] * prior[name]
    more = prior["heading"] * prior["heading"] - prior["tilt"] * prior["tilt"]
    found[Q : Q + 3, Q : Q + 3] = found[Q : Q + 3, Q : Q + 3] + more * np.outer(down, down)
    return found


def drawn_error(prior: Mapping[str, Scalar], down: Array, normals: Array) -> Array:
    """Return an initial error of position, velocity and attitude, shape (9,), from nine standard normal numbers."""
    turn = normals[6:]
    along = down * (down @ turn)
    parts = [prior["position"] * normals[:3], prior["velocity"] * normals[3:6], prior["tilt"] * (turn - along)]
    return np.concatenate([*parts[:2], parts[2] + prior["heading"] * along])


def propagated(layout: Covariance, F: Array, dt: Scalar, flat: Array, noise: Mapping[str, Scalar], walk: Array) -> Array:
    """Return F P Fᵀ + Q as a flat array.

    F has the structure of `moved`: a velocity change δv changes the position by δv dt/2.

    `F`: Jacobian of the step with respect to the error, shape (18, 18), of which the velocity and attitude rows are used;
    `dt`: step [s]; `flat`: P; `noise`: variances added in a step, pp, pv, vv, q, bg, ba, c, and the `decay` of the current;
    `walk`: variances added to the biases of aids.
    """
    at, n = layout.present, layout.n
    S = layout.matrix(flat)
    sources = [k for name in (Q, BG, BA) for k in range(name, name + 3)]
    half = 0.5 * dt

    def moved(rows: Mapping[int, Array]) -> dict[int, Array]:
        """Return rows of F M, given rows of M."""
        out = dict(rows)
        for i in range(3):
            push = sum(F[V + i, k] * rows[at[k]] for k in sources)
            out[P + i] = rows[at[P + i]] + dt * rows[at[V + i]] + half * push
            out[at[V + i]] = rows[at[V + i]] + push
            out[at[Q + i]] = sum(F[Q + i, k] * rows[at[k]] for k in sources[:6])
            if at[C] >= 0:
                out[at[C + i]] = noise["decay"] * rows[at[C + i]]
        return out

    half_way = moved({i: S[i] for i in range(layout.head)})
    M = np.array([half_way[i] for i in range(layout.head)])
    top = moved({j: M[:, j] for j in range(layout.head)})
    out = S.copy()
    for i in range(layout.moving):
        for j in range(i, n):
            out[i, j] = top[j][i] if j < layout.head else M[i, j]
    for i in range(3):
        p, v = at[P + i], at[V + i]
        out[p, p], out[p, v], out[v, v] = out[p, p] + noise["pp"], out[p, v] + noise["pv"], out[v, v] + noise["vv"]
        for name, first in (("q", Q), ("bg", BG), ("ba", BA), ("c", C)):
            k = at[first + i]
            if k >= 0:
                out[k, k] = out[k, k] + noise[name]
    for k, more in zip(layout.biases, walk, strict=True):
        out[k, k] = out[k, k] + more
    return layout.flat(out)


def remembered(layout: Covariance, aid: int, copies: Array, flat: Array) -> tuple[Array, Array]:
    """Return copies and P with a new clone of the present errors; older clones of the sensor move by one position.

    `copies`: copies of the state, shape (copies, 22).
    """
    clones = layout.clones_of(aid)
    source = np.arange(layout.n)
    rows = list(copies)
    for k, clone in enumerate(clones):
        before = layout.present if k == 0 else clones[k - 1].places
        kept = clone.places >= 0
        source[clone.places[kept]] = before[kept]
        rows[clone.copy] = copies[0 if k == 0 else clones[k - 1].copy]
    S = layout.matrix(flat)
    return np.array(rows), layout.flat(S[np.ix_(source, source)])


def innovation(
    layout: Covariance,
    aid: Aid,
    H_rows: tuple[tuple[int, ...], ...],
    places: Array,
    biases: Mapping[int, int],
    given: Mapping[str, Array],
) -> tuple[Array, ...]:
    """Evaluate a measurement: decide on its use and compute the correction.

    Returns flags, consecutive rejections, rows of Wᵀ, changes of all errors, and the arguments of `raised`. The flags are 1
    if the measurement is used, and if P must be inflated first. The update is P − W Wᵀ.

        S = H P Hᵀ + R = L D Lᵀ,   W = P Hᵀ L⁻ᵀ D^(−½),   z = D^(−½) L⁻¹ r,   δ = W z,   rejected if z·z exceeds the gate

    `H_rows`: for each channel, the observed errors among 18, empty for unused channels; `places`: index of each of the 18
    errors in P at the measurement time; `biases`: index among the biases of aids, keyed by channel; `given`: P, expected,
    H, value, biases, variance, gates, patience, `refused`, force, since.
    """
    value, S_all = given["value"], layout.matrix(given["P"])
    n = len(value)
    good = [where(abs(y) <= HUGE, 1.0, 0.0) if H_rows[k] else 0.0 for k, y in enumerate(value)]
    masked = [where(g, y, 0.0) for g, y in zip(good, value, strict=True)]
    rows: list[dict[int, Scalar]] = []
    for k in range(n):
        row = {int(places[e]): where(good[k], given["H"][k, e], 0.0) for e in H_rows[k]}
        if k in biases and H_rows[k]:
            row[int(layout.biases[biases[k]])] = good[k]
        rows.append(row)
    PH = np.array([[sum((row[c] * S_all[i, c] for c in row), 0.0) for row in rows] for i in range(layout.n)], dtype=object)
    errors = Errors(*(given["variance"],) * 6)
    R = np.asarray(aid.covariance(np.array(masked), errors))
    S = np.array([[sum((row[c] * PH[c, k] for c in row), 0.0) for k in range(n)] for row in rows], dtype=object)
    for k in range(n):
        for m in range(n):
            S[k, m] = S[k, m] + (R[k, m] + FLOOR * (k == m)) * good[k] * good[m]
        S[k, k] = S[k, k] + (1.0 - good[k])
    r = [
        y - h - (given["b"][biases[k]] if k in biases else 0.0)
        for k, (y, h) in enumerate(zip(masked, given["expected"], strict=True))
    ]
    if aid.angular:
        r = [(x + np.pi) % (2.0 * np.pi) - np.pi for x in r]
    r = [where(g, x, 0.0) for g, x in zip(good, r, strict=True)]
    L = ldl(S)
    scale = np.sqrt(np.array(L.inverse_diagonal))
    z = L.forward(np.array(r)) * scale
    W = np.array([L.forward(row) * scale for row in PH])
    square, count = z @ z, sum(good)
    limit = sum(where(count == float(k), gate, 0.0) for k, gate in enumerate(given["gates"]))
    far = where(square > limit, 1.0, 0.0) * (1.0 - given["force"])
    there = where(count > 0.0, 1.0, 0.0)
    wide = there * far * where(given["refused"] >= given["patience"], 1.0, 0.0)
    used = there * (1.0 - far)
    refused = where(used, 0.0, given["refused"] + there * far * (1.0 - wide))
    first = {"position": P, "velocity": V, "attitude": Q}[aid.shows]
    shown = [[row.get(int(places[first + k]), 0.0) if places[first + k] >= 0 else 0.0 for k in range(3)] for row in rows]
    A = np.array(shown, dtype=object)
    B = A
    if aid.shows == "velocity":  # a jump of the velocity has changed the position since then
        moved = [[row.get(int(places[P + k]), 0.0) if places[P + k] >= 0 else 0.0 for k in range(3)] for row in rows]
        B = A + given["since"] * np.array(moved, dtype=object)
    B = np.array([L.forward(column) * scale for column in B.T]).T
    return np.array([used, wide]), refused, W.T, W @ z, A.T @ A, B.T @ B, B.T @ z


@cache
def _sweep() -> Program:
    """Return the program of one Jacobi sweep that diagonalises a symmetric 3×3 matrix and accumulates eigenvectors."""

    def sweep(S: Array, E: Array) -> tuple[Array, Array, Array]:
        for p, q in ((0, 1), (0, 2), (1, 2)):
            b = S[p, q]
            zero = where(abs(b) > 1e-300, 0.0, 1.0)
            theta = 0.5 * (S[q, q] - S[p, p]) / (b + zero)
            size = 1.0 / (abs(theta) + np.sqrt(1.0 + theta * theta))
            t = where(zero, 0.0, where(theta < 0.0, -size, size))
            c = 1.0 / np.sqrt(1.0 + t * t)
            J = np.eye(3, dtype=object) * 1.0
            J[p, p], J[q, q], J[p, q], J[q, p] = c, c, c * t, -(c * t)
            S, E = J.T @ S @ J, E @ J
        return S, E, np.array(0.0)

    return trace(sweep, {"S": (3, 3), "E": (3, 3)}, name="rotations", outputs=("S", "E", "done"))


@cache
def _halving() -> Program:
    """Return the program of one bisection step for c in Σ s/(1 + c d) = number of directions; the sum decreases with c."""

    def halve(ends: Array, squares: Array, spread: Array, count: Scalar) -> tuple[Array, Array]:
        c = 0.5 * (ends[0] + ends[1])
        over = where(sum(s / (1.0 + c * d) for s, d in zip(squares, spread, strict=True)) > count, 1.0, 0.0)
        return np.array([where(over, c, ends[0]), where(over, ends[1], c)]), np.array(0.0)

    shapes = {"ends": (2,), "squares": (3,), "spread": (3,), "count": ()}
    return trace(
        lambda ends, squares, spread, count: halve(ends, squares, spread, count[()]),
        shapes,
        name="halving",
        outputs=("ends", "done"),
    )


def _eigen(S: Array) -> tuple[Array, Array, list[Scalar]]:
    """Return eigenvalues, eigenvectors as columns, and 1 for each eigenvalue that is not negligible, else 0."""
    S, E, _ = iterate(_sweep(), 8, S, np.eye(3))
    values = np.array([S[k, k] for k in range(3)])
    largest = where(values[0] > values[1], values[0], values[1])
    largest = where(values[2] > largest, values[2], largest)
    return values, E, [where(x > 1e-12 * largest, 1.0, 0.0) for x in values]


def raised(G: Array, M: Array, g: Array) -> tuple[Array, Scalar]:
    """Return √c times the projector onto the directions observed by a sensor, and √c.

        P ← P + c J Jᵀ,   c such that rᵀ (S + c H J Jᵀ Hᵀ)⁻¹ r equals its expected value, the number of observed directions

    The process noise is increased until the innovation is consistent (Bar-Shalom, Li and Kirubarajan 2001).

    `G`: Hᵀ H for the three observed errors, shape (3, 3); `M`: Hᵀ S⁻¹ H, where H includes motion since the last measurement,
    shape (3, 3); `g`: Hᵀ S⁻¹ r, shape (3,).
    """
    _, E, shown = _eigen(G)
    J = sum(on * np.outer(d, d) for on, d in zip(shown, E.T, strict=True))
    spread, E, seen = _eigen(J @ M @ J)
    along = E.T @ (J @ g)
    safe = [where(on, d, 1.0) for on, d in zip(seen, spread, strict=True)]
    squares = [where(on, a * a / d, 0.0) for on, a, d in zip(seen, along, safe, strict=True)]
    high: Scalar = 0.0
    for s, d in zip(squares, safe, strict=True):
        high = where(s / d > high, s / d, high)
    ends, _ = iterate(_halving(), 60, np.array([0.0, high]), np.array(squares), np.array(safe), sum(seen))
    size = np.sqrt(ends[1])
    return size * J, size


def widened(layout: Covariance, shows: str, J: Array, since: Scalar, flat: Array) -> Array:
    """Return P + E Eᵀ, where E contains J at the errors observed by a sensor, for the present errors and all clones."""
    first = {"position": P, "velocity": V, "attitude": Q}[shows]
    rows: dict[int, Array] = {}
    for places in (layout.present, *(clone.places for clone in layout.clones)):
        rows |= {int(places[first + k]): J[k] for k in range(3) if places[first + k] >= 0}
        if shows == "velocity":
            rows |= {int(places[P + k]): since * J[k] for k in range(3) if places[P + k] >= 0}
    out = np.array(flat, dtype=object)
    for i, a in rows.items():
        for j, b in rows.items():
            if i <= j:
                out[layout.at(i, j)] = out[layout.at(i, j)] + a @ b
    return out


def corrected(layout: Covariance, copies: Array, change: Array) -> Array:
    """Return all state copies after a change of the errors, shape (copies, 22)."""
    rows = list(copies)
    for copy, places in ((0, layout.present), *((c.copy, c.places) for c in layout.clones)):
        delta = np.array([change[k] if k >= 0 else 0.0 for k in places], dtype=object)
        x = copies[copy][:NX]
        after = list(plus(x, delta))
        if (places[Q : Q + 3] < 0).all():
            after[STATES["q"]] = list(x[STATES["q"]])
        rows[copy] = np.array([*after, *copies[copy][NX:]])
    return np.array(rows)


def downdated(layout: Covariance, flat: Array, w: Array) -> Array:
    """Return P − w wᵀ as a flat array."""
    out = np.array(flat, dtype=object)
    for i in range(layout.n):
        for j in range(i, layout.n):
            out[layout.at(i, j)] = out[layout.at(i, j)] - w[i] * w[j]
    return out
