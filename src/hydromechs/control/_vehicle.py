"""Vehicle with thrusters, for controllers: indices in the state, and allocation of wrenches to commands."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from hydromechs.actuation import Allocation, Allocator, Thruster, allocation_matrix
from hydromechs.compiler import Program, iterate, trace, when
from hydromechs.model import Model, joints
from hydromechs.simulation import Simulation, Site, check_free_in_world
from hydromechs.spatial import any_of, clamp, maximum, norm, where
from hydromechs.values import Array, Scalar

WAYS = ("surge", "sway", "heave", "roll", "pitch", "yaw")
"""Names of the six axes."""

PRECEDENCE = (0, 2, 5, 1, 4, 3)
"""Axes in order of priority if the thrusters cannot control all of them: surge, heave, yaw, sway, pitch, roll."""
LEAST = 0.01
"""Fraction of the maximum force or moment below which an axis counts as uncontrollable."""
ROUNDING = 1e-6
"""Lever arm below which a moment counts as zero [m]."""


class Push(NamedTuple):
    """Thruster commands for a wrench."""

    commands: dict[str, Scalar]
    """Thruster commands, keyed by name."""
    wrench: Array
    """Wrench of the commands in steady state, in body axes [N, N·m], shape (6,)."""
    saturated: Scalar
    """1 if a thruster saturates, else 0."""


class Vehicle:
    """Body with a free joint (defaults to the first) and its thrusters.

    The axes `first`, indices 0 to 5 of x, y, z and the rotations about them, have priority over the other axes.
    """

    def __init__(self, simulation: Simulation | Site, body: str | None, first: Sequence[int] = ()) -> None:
        model = simulation.model
        free = [b.name for b in model.bodies if isinstance(b.joint, joints.Free)]
        name = body or (free[0] if free else None)
        if name is None or name not in free:
            raise ValueError(
                f"pose control: {name!r} is not a body with a free joint; choose from {', '.join(free) or 'none available'}"
            )
        self.name = name
        """Name of the vehicle body."""
        self.body = model.body_index(name)
        """Index of the vehicle body."""
        check_free_in_world(model, self.body)
        self.q, self.v = model.q_slices[self.body], model.v_slices[self.body]
        """Slices of the vehicle in q and v."""
        rigid = fixed_to(model, self.body)
        parts = simulation.plant.components
        self.thrusters = [c for c in parts if isinstance(c, Thruster) and model.locate(c.frame).body in rigid]
        """Thrusters on the vehicle body or on bodies fixed to it."""
        if not self.thrusters:
            raise ValueError(
                f"pose control: {name!r} and the bodies fixed to this body have no thrusters; add at least one thruster"
            )
        self.limits = np.array([t.curve.limits for t in self.thrusters])
        """Minimum and maximum thrust of each thruster [N], shape (nt, 2)."""
        self.B = allocation_matrix(model, self.thrusters, name)
        """Allocation matrix: wrench per unit thrust [-, m], shape (6, nt)."""
        self.axes = reached_axes(self.B, [*first, *PRECEDENCE])
        """Axes that the thrusters control independently, indices 0 to 5 in ascending order."""
        counted = np.array([float(k in self.axes) for k in range(6)])  # side effects about all other axes are accepted
        self._shares = np.linalg.pinv(counted[:, None] * self.B, rcond=1e-9) * counted
        self._allocator = Allocator(self.B, self.limits[:, 0], self.limits[:, 1], weights=counted)

    def push(self, wrench: Array) -> Push:
        """Return commands for the feasible wrench nearest to `wrench` in body axes [N, N·m], numbers or symbols, shape (6,)."""
        given = allocated(self._allocator, wrench)
        pairs = zip(self.thrusters, given.forces.tolist(), strict=True)
        commands = {t.name: t.curve.inverse(force) for t, force in pairs}
        return Push(commands, self.B @ given.forces, any_of(given.saturated))

    @property
    def given(self) -> np.ndarray:
        """Wrench of the thrusters for a unit demand along each axis, including side effects [-, m, 1/m], shape (6, 6)."""
        return self.B @ self._shares

    @property
    def reach(self) -> np.ndarray:
        """Maximum force or moment along each of `axes` in the stronger direction [N, N·m], shape (6,); 0 for other axes."""
        ways = np.abs(self.limits)
        most = np.where(ways.min(axis=1) > 0.0, ways.min(axis=1), ways.max(axis=1))
        used = (np.abs(self._shares) / most[:, None]).max(axis=0)
        return np.where(used > 0.0, 1.0 / np.where(used > 0.0, used, 1.0), 0.0)


def reached_axes(B: np.ndarray, order: Sequence[int]) -> tuple[int, ...]:
    """Return the independently controllable axes (0 to 5, ascending) of an allocation matrix B, shape (6, nt).

    Axes are tested in the order `order`. An axis is controllable if the component of its row orthogonal to the rows of earlier
    axes exceeds a hundredth of the largest row of forces or moments.
    """
    sizes = np.linalg.norm(B, axis=1)
    force = sizes[:3].max()
    largest = np.repeat([force, max(sizes[3:].max(), ROUNDING * force)], 3)
    rows = B / largest[:, None]
    taken: list[int] = []
    span = np.zeros((0, B.shape[1]))
    for k in order:
        left = rows[k] - span.T @ (span @ rows[k])
        size = float(np.linalg.norm(left))
        if k not in taken and size > LEAST:
            taken.append(k)
            span = np.vstack([span, left / size])
    return tuple(sorted(taken))


def pose_notes(vehicle: Vehicle, controlled: Sequence[int], path: np.ndarray) -> list[str]:
    """Return notes about uncontrolled positions and angles; reject a path that requires only uncontrolled axes.

    A level vehicle changes depth by heave, heading by yaw, and horizontal position by surge or sway.

    Args:
        controlled: Indices of the controlled axes, from 0 to 5.
        path: Waypoints with position and roll, pitch, heading [m, rad], shape (n, 6).

    Raises:
        ValueError: A waypoint requires a motion that no controlled axis provides.
    """

    def why(missing: Sequence[int]) -> str:
        names = ", ".join(WAYS[k] for k in missing)
        return f"the thrusters cannot control {names}" if not set(missing) & set(vehicle.axes) else f"{names} is not controlled"

    asked: dict[str, tuple[np.ndarray, Sequence[int]]] = {"roll": (path[:, 3:4], (3,)), "pitch": (path[:, 4:5], (4,))}
    if not path[:, 3:5].any():
        off = path - path[0]
        asked |= {
            "another horizontal position": (off[:, :2], (0, 1)),
            "another depth": (off[:, 2:3], (2,)),
            "another heading": (off[:, 5:], (5,)),
        }
    for what, (rows, needed) in asked.items():
        there = np.flatnonzero(rows.any(axis=1))
        if len(there) and not set(needed) & set(controlled):
            raise ValueError(
                f"waypoint {there[0]} moves {vehicle.name!r} to {what}, but {why(needed)}; "
                "use controlled directions, or add thrusters"
            )
    unreached = [WAYS[k] for k in range(6) if k not in vehicle.axes]
    left_out = [WAYS[k] for k in vehicle.axes if k not in controlled]
    end = "positions and angles along these axes are not held"
    notes = [f"the thrusters of {vehicle.name!r} cannot control {', '.join(unreached)}; {end}"] if unreached else []
    return notes + ([f"{', '.join(left_out)} of {vehicle.name!r} are not controlled; {end}"] if left_out else [])


def fixed_to(model: Model, body: int) -> set[int]:
    """Return the indices of a body and of all bodies fixed to it."""
    out = {body}
    for i in range(model.nb):
        if model.bodies[i].joint.nv == 0 and model.parent[i] in out:
            out.add(i)
    return out


SMALL = 1e-10
"""Relative singular value below which a row counts as dependent on earlier rows."""


def allocated(allocator: Allocator, wrench: Array) -> Allocation:
    """Allocate a wrench [N, N·m] (6,) by an `Allocator` for numbers, or by an equivalent program for symbols."""
    if wrench.dtype != object:
        return allocator(wrench)
    a, b = allocator, allocator.weights * wrench
    f = _bounded(a.A, a.lower, a.upper, a.weight, b, a.inverse @ b)
    saturated = [where(x <= low, 1.0, where(x >= high, 1.0, 0.0)) for x, low, high in zip(f, a.lower, a.upper, strict=True)]
    return Allocation(f, wrench - a.B @ f, np.array(saturated))


def _bounded(A: Array, lower: Array, upper: Array, weight: float, b: Array, start: Array) -> Array:
    """Return forces (n,) within limits that minimise |A f − b|, A (m, n), with minimum |f|; `start` if feasible.

    This is the active-set method of `Allocator` with masks: a loop that is skipped if no limit is exceeded. `weight`
    regularises |f| while the set of saturated thrusters is determined.
    """
    within = [where(x >= low, where(x <= high, 1.0, 0.0), 0.0) for x, low, high in zip(start, lower, upper, strict=True)]
    beyond = any_of(np.array([x == 0.0 for x in within]))
    return when(beyond, _search(*(tuple(map(tuple, x)) for x in (A, [lower, upper])), weight), [b, start], [start])[0]


@lru_cache(maxsize=64)
def _search(rows: tuple[tuple[float, ...], ...], limits: tuple[tuple[float, ...], ...], weight: float) -> Program:
    """Return the program of `_bounded`, cached for all controllers of a vehicle: forces (n,) from b (m,) and `start` (n,)."""
    A, (lower, upper) = np.array(rows), np.array(limits)
    m, n = A.shape
    shapes = {"f": (n,), "free": (n,), "weight": (1,), "b": (m,)}
    step = trace(partial(_pass, A, lower, upper), shapes, name="active_set", outputs=("f", "free", "weight", "done"))

    def search(b: Array, start: Array) -> Array:
        f = np.array([clamp(x, low, high) for x, low, high in zip(start, lower, upper, strict=True)])
        free = np.array([_within(x, low, high) for x, low, high in zip(f, lower, upper, strict=True)])
        return iterate(step, 50 * n + 1, f, free, np.array([weight]), b)[0]

    return trace(search, {"b": (m,), "start": (n,)}, name="bounded_allocation", outputs=("f",))


def _within(x: Scalar, low: float, high: float) -> Scalar:
    return where(x > low, where(x < high, 1.0, 0.0), 0.0)


def _pass(A: Array, lower: Array, upper: Array, f: Array, free: Array, weight: Array, b: Array) -> tuple[Array, ...]:
    """Solve for the `free` forces (1 or 0, (n,)); move to the first limit, or release a force that leaves its limit.

    If neither occurs, the next pass is the last: with weight 0, it distributes the rest by the pseudo-inverse. Returns forces,
    free and weight after the pass, and 1 if they are final.
    """
    n, size = len(f), float(np.linalg.norm(A, 2)) or 1.0
    held = np.array([where(x != 0.0, 0.0, y) for x, y in zip(free, f, strict=True)])
    solved = _least_squares(A * free, b - A @ held, weight[0], SMALL * size)
    z = np.array([where(x != 0.0, new, old) for x, new, old in zip(free, solved, f, strict=True)])
    walls = [where(x < low, low, high) for x, low, high in zip(z, lower, upper, strict=True)]
    part, first = 2.0, -1.0  # the fraction of the path to z at which the first limit is reached, and its index
    for k in range(n):
        beyond = where(z[k] < lower[k], free[k], where(z[k] > upper[k], free[k], 0.0))
        share = where(beyond != 0.0, (walls[k] - f[k]) / where(beyond != 0.0, z[k] - f[k], 1.0), 2.0)
        first, part = where(share < part, float(k), first), where(share < part, share, part)
    met = first >= 0.0
    slope = A.T @ (b - A @ z) - weight[0] * weight[0] * z  # where it is positive, a larger force would reduce the error
    tolerance = 1e-13 * size * (norm(b) + size * norm(z))
    most, freed = tolerance, -1.0
    for k in np.flatnonzero(lower < upper).tolist():
        want = where(free[k] != 0.0, 0.0, where(z[k] >= upper[k], -slope[k], slope[k]))
        freed, most = where(want > most, float(k), freed), where(want > most, want, most)
    last = weight[0] == 0.0
    optimal = where(met, 0.0, where(freed >= 0.0, 0.0, 1.0))
    forces, mask = [], []
    for k in range(n):
        on_the_way = where(first == float(k), walls[k], where(free[k] != 0.0, f[k] + part * (z[k] - f[k]), f[k]))
        forces.append(where(last, clamp(z[k], lower[k], upper[k]), where(met, on_the_way, z[k])))
        changed = where(met, where(first == float(k), 0.0, free[k]), where(freed == float(k), 1.0, free[k]))
        mask.append(where(last, free[k], changed))
    return np.array(forces), np.array(mask), np.array([where(optimal, 0.0, weight[0])]), np.asarray(where(last, 1.0, 0.0))


def _least_squares(A: Array, b: Array, weight: Scalar, floor: float) -> Array:
    """Return the x of minimum norm that minimises |A x − b|² + (weight |x|)², shape (n,).

    The rows of A yield an orthonormal basis V with A = L V, and x = Vᵀ y minimises |L y − b|² + (weight |y|)². Both steps use
    Gram-Schmidt orthogonalisation, which preserves the condition number of A and needs no pivoting.
    """
    m, n = A.shape
    basis: list[Array] = []
    for row in A:
        rest = row
        for _ in range(2):  # the second pass removes rounding errors of the first
            for u in basis:
                rest = rest - (u @ rest) * u
        basis.append(_unit(rest, floor)[0])
    columns = [np.array([A[i] @ basis[j] if j <= i else 0.0 for i in range(m)], dtype=object) for j in range(m)]
    columns = [np.concatenate([c, [weight if i == j else 0.0 for i in range(m)]]) for j, c in enumerate(columns)]
    left = np.concatenate([b, np.zeros(m)])
    R, y = np.zeros((m, m), dtype=object), np.zeros(m, dtype=object)
    inverse: list[Scalar] = []
    for j in range(m):
        q, over = _unit(columns[j], floor)
        inverse.append(over)
        for k in range(j + 1, m):
            R[j, k] = q @ columns[k]
            columns[k] = columns[k] - R[j, k] * q
        y[j] = q @ left
        left = left - y[j] * q
    for j in reversed(range(m)):
        y[j] = (y[j] - R[j, j + 1 :] @ y[j + 1 :]) * inverse[j]
    return sum((y[j] * basis[j] for j in range(m)), np.zeros(n))


def _unit(x: Array, floor: float) -> tuple[Array, Scalar]:
    """Return a vector divided by its norm, and 1 over its norm; both are 0 if the norm is below `floor`."""
    size = norm(x)
    inverse = where(size > floor, 1.0 / maximum(size, floor), 0.0)
    return x * inverse, inverse
