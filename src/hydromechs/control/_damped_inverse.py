"""Inverse kinematics of a tool, and damped inverses by rotations of rows (one-sided Jacobi) in NumPy operations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from hydromechs import compiler
from hydromechs.compiler import Compiled, compile_function
from hydromechs.dynamics import jacobian as body_jacobian
from hydromechs.dynamics import kinematics
from hydromechs.model import Model, State
from hydromechs.spatial import maximum, minimum, quaternion_from_matrix, rotation_between, where
from hydromechs.values import Array, Scalar

SWEEPS = 16
"""Maximum number of sweeps over all pairs of rows; convergence takes 4 to 8."""
ORTHOGONAL = 1e-26
"""Squared cosine of the angle between two rows below which one more rotation makes them orthogonal."""
NOISE = 1e-31
"""Squared norm of a row, relative to all rows, below which the row counts as rounding error."""
CONFLICT = 0.2
"""Remaining fraction of a task below which the task is damped."""
RANK = 1e-12
"""Squared singular value, relative to the largest, below which a direction is excluded from a task."""
ROUNDING = 1e-26
"""Squared singular value of the remaining task, relative to the task, below which it counts as rounding error."""


@cache
def _sweep(m: int, n: int, extra: int) -> compiler.Program:
    """Return a program for one sweep of rotations that make the first n entries of m rows orthogonal."""

    def sweep(rows: Array) -> tuple[Array, Array]:
        out = list(rows)
        noise = NOISE * np.sum(rows[:, :n] * rows[:, :n])
        left = 0.0
        for i in range(m):
            for j in range(i + 1, m):
                a, b = (out[k][:n] @ out[k][:n] for k in (i, j))
                d = out[i][:n] @ out[j][:n]
                counts = where(minimum(a, b) > noise, where(d * d > ORTHOGONAL * a * b, 1.0, 0.0), 0.0)
                left = left + counts
                longer = abs(b - a) + np.sqrt((b - a) * (b - a) + 4.0 * d * d)
                t = where(longer > 0.0, where(b >= a, 2.0, -2.0) * d / where(longer > 0.0, longer, 1.0), 0.0)
                c = 1.0 / np.sqrt(1.0 + t * t)
                out[i], out[j] = c * out[i] - (c * t) * out[j], (c * t) * out[i] + c * out[j]
        return np.array(out), np.asarray(where(left > 0.0, 0.0, 1.0))

    return compiler.trace(sweep, {"rows": (m, n + extra)}, name="sweep", outputs=("rows", "done"))


def rotated_rows(J: Array, beside: Array) -> tuple[Array, Array]:
    """Return Uᵀ J = Σ Vᵀ and Uᵀ `beside` for J = U Σ Vᵀ of any rank, shape (m, n).

    The norms of the returned rows are the singular values, in any order.
    """
    m, n = J.shape
    rows = np.concatenate([J, beside], axis=1)
    if m > 1:
        rows = compiler.iterate(_sweep(m, n, rows.shape[1] - n), SWEEPS, rows)[0]
    return rows[:, :n], rows[:, n:]


def _squares(rows: Array) -> list[Scalar]:
    return [row @ row for row in rows]


def _smallest(values: Sequence[Scalar]) -> Scalar:
    out = values[0]
    for x in values[1:]:
        out = minimum(out, x)
    return out


def smallest_singular_value(J: Array) -> Scalar:
    """Return the smallest of the min(m, n) singular values of J, shape (m, n)."""
    if not J.size:
        return 0.0
    J = J if J.shape[0] <= J.shape[1] else J.T
    return np.sqrt(_smallest(_squares(rotated_rows(J, np.zeros((len(J), 0)))[0])))


def _damped(rows: Array, beside: Array, columns: Scalar, damping: Scalar, threshold: Scalar) -> Array:
    """Return J⁺ B, shape (n, k), from rotated rows; see `damped_inverse`."""
    squares, limit = _squares(rows), threshold * threshold
    least = where(columns >= len(squares), _smallest(squares), 0.0)
    squared = where(least < limit, damping * damping * (1.0 - least / limit), 0.0)
    sizes = [where(s + squared > 0.0, s + squared, 1.0) for s in squares]
    return sum(np.outer(row, b) / size for row, b, size in zip(rows, beside, sizes, strict=True))


def damped_inverse(
    J: Array, wanted: Array | None = None, *, columns: Scalar | None = None, damping: Scalar = 0.02, threshold: Scalar = 0.05
) -> Array:
    """Return the damped inverse J⁺ = Σ σ/(σ² + λ²) v uᵀ, shape (n, m), or J⁺ times `wanted`, shape (n,).

        λ² = λ_0² (1 − (σ_min/σ_0)²) for σ_min < σ_0, else 0

    σ, u and v are the singular values and vectors of J. The damping is from Nakamura and Hanafusa (1986), its magnitude from
    Chiaverini et al. (1994). The inverse is exact away from singular configurations; near them, the gain is below 1/(2 λ).

    `J`: Jacobian, shape (m, n); `wanted`: target velocity, shape (m,); `columns`: number of nonzero columns, defaults to n;
    `damping`: λ_0; `threshold`: σ_0, singular value below which the damping grows.
    """
    if not J.size:
        return J.T.copy() if wanted is None else np.zeros(J.shape[1])
    beside = np.eye(len(J)) if wanted is None else np.reshape(wanted, (-1, 1))
    out = _damped(*rotated_rows(J, beside), J.shape[1] if columns is None else columns, damping, threshold)
    return out if wanted is None else out[:, 0]


def prioritised(
    tasks: Sequence[tuple[Array, Array]], n: int, held: Array | None = None, sizes: Sequence[Scalar] | Array | None = None
) -> Array:
    """Return the velocity ζ that performs tasks J_k ζ = ẋ_k in order of priority, shape (n,).

        ζ_k = ζ_{k−1} + (J_k N_{k−1})⁺ (ẋ_k − J_k ζ_{k−1}),    N_k = N_{k−1} − (J_k N_{k−1})⁺ J_k N_{k−1},    ζ_0 = 0, N_0 = 1

    The contribution of task k is in the null space of all earlier tasks and preserves their velocities (Siciliano and Slotine
    1991). The inverse is damped if earlier tasks leave little freedom.

    `tasks`: Jacobian (m_k, n) and target velocity (m_k,) of each task, highest priority first; `held`: mask (1 or 0) and values
    of components fixed before all tasks, shape (2, n), defaults to none; `sizes`: smallest singular value of each Jacobian,
    computed if omitted.
    """
    given, out = (np.zeros(n), np.zeros(n)) if held is None else (held[0], held[0] * held[1])
    free = np.diag(1.0 - given)
    alone = where(np.sum(given) == 0.0, 1.0, 0.0)
    for k, (J, rate) in enumerate(tasks):
        if not J.size:
            continue
        least = smallest_singular_value(J) if sizes is None else sizes[k]
        size = where(CONFLICT * least > 0.05, CONFLICT * least, 0.05)
        size = where(alone, 0.05, size) if k == 0 else size
        rows, beside = rotated_rows(J @ free, np.reshape(rate - J @ out, (-1, 1)))
        out = out + free @ _damped(rows, beside, n, 0.4 * size, size)[:, 0]
        if k + 1 < len(tasks):
            free = free - _onto(rows, np.sum(J * J))
    return out


def _onto(rows: Array, size: Scalar) -> Array:
    """Return the projection onto the span of orthogonal rows, shape (n, n); negligible rows are ignored."""
    squares, least = _squares(rows), ROUNDING * size
    for s in squares:
        least = maximum(least, RANK * s)
    shares = [where(s > least, 1.0 / where(s > least, s, 1.0), 0.0) for s in squares]
    return sum(share * np.outer(row, row) for row, share in zip(rows, shares, strict=True))


DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")
"""Directions of a tool in the world: translations along and rotations about the world axes."""


class ToolPose(NamedTuple):
    """Pose and Jacobian of a frame in one state."""

    R: Array
    """Axes of the frame in the world, shape (3, 3)."""
    p: Array
    """Origin of the frame in the world [m], shape (3,)."""
    J: Array
    """Jacobian of the frame velocity in world axes, J v = (ṗ, ω), shape (6, nv)."""


class Tool:
    """Controlled frame or body of a mechanism."""

    def __init__(self, model: Model, frame: str) -> None:
        self.model, self.frame, self._place = model, frame, model.locate(frame)
        self.body = self._place.body
        """Index of the body that carries the frame."""

    def pose(self, q: Array) -> ToolPose:
        """Return the pose of the frame at configuration q, shape (nq,), in NumPy operations."""
        place, kin = self._place, kinematics(self.model, q, np.zeros(self.model.nv))
        R = kin.R_WB[place.body]
        J = body_jacobian(self.model, kin, place.body, place.p)  # in body axes
        return ToolPose(R @ place.R, kin.p_WB[place.body] + R @ place.p, np.concatenate([R @ J[:3], R @ J[3:]]))

    @cached_property
    def _code(self) -> Compiled:
        outputs = {"R": (3, 3), "p": (3,), "J": (6, self.model.nv)}
        return compile_function("tool", self.pose, {"q": (self.model.nq,)}, outputs)

    def __call__(self, q: np.ndarray) -> ToolPose:
        """Return the pose of the frame at numerical configuration q, shape (nq,), by machine code."""
        return ToolPose(*self._code.single_results(np.asarray(q, dtype=float)))

    @property
    def chain(self) -> list[str]:
        """Return the joints with one degree of freedom between the tool and the root, root first."""
        out, body = [], self.body
        while body >= 0:
            name = self.model.body_names[body]
            if self.model.bodies[body].joint.nv == 1:
                out.append(name)
            body = self.model.parent[body]
        return out[::-1]


def pose_off(pose: ToolPose, position: Array, R: Array | None) -> Array:
    """Return position error and rotation vector to the target axes in world axes, shape (6,); without R, the rotation is 0."""
    turn = np.zeros(3)
    if R is not None:
        turn = pose.R @ rotation_between(quaternion_from_matrix(pose.R), quaternion_from_matrix(R))
    return np.concatenate([position - pose.p, turn])


def reach_pose(
    model: Model,
    frame: str,
    position: Sequence[float],
    *,
    axes: np.ndarray | None = None,
    state: State | None = None,
    joints: Sequence[str] | None = None,
    tolerance: float = 1e-10,
    steps: int = 200,
) -> tuple[np.ndarray, float]:
    """Return a configuration that moves a frame to a position, and the remaining error [m, rad].

    The method is Levenberg-Marquardt iteration within the joint limits of the model. If the position is out of reach, the
    result is a local minimum of the error.

    Args:
        frame: Name of the frame.
        position: Target position in world axes [m], shape (3,).
        axes: Target axes in the world, shape (3, 3); if omitted, the orientation is free.
        state: Initial guess; defaults to the model's initial state. Joints other than `joints` keep their positions.
        joints: Names of the moving joints; defaults to all joints with one degree of freedom between the frame and the root.
        tolerance: Error at which the search stops [m, rad].
        steps: Maximum number of steps.
    """
    tool = Tool(model, frame)
    names = tool.chain if joints is None else list(joints)
    parts = [model.joint_part(name) for name in names]
    iq, iv = [p.q.start for p in parts], [p.v.start for p in parts]
    limits = np.array([getattr(p.joint, "limits", None) or (-np.inf, np.inf) for p in parts])
    rows = list(range(3 if axes is None else 6))
    q = np.array((model.initial() if state is None else state).q, dtype=float)
    target = np.asarray(position, dtype=float)
    pose = tool(q)
    off = pose_off(pose, target, axes)[rows]
    damping = 1e-3
    for _ in range(steps):
        if np.linalg.norm(off) < tolerance or damping > 1e12:
            break
        J = pose.J[rows][:, iv]
        slope = J.T @ off
        held = ((q[iq] <= limits[:, 0]) & (slope < 0.0)) | ((q[iq] >= limits[:, 1]) & (slope > 0.0))
        J = np.where(held, 0.0, J)  # joints at a limit that would move further stay there
        step = np.linalg.solve(J.T @ J + damping * np.eye(len(iv)), J.T @ off)
        step *= min(1.0, 0.5 / max(float(np.abs(step).max()), 1e-300))
        tried = q.copy()
        tried[iq] = np.clip(q[iq] + step, limits[:, 0], limits[:, 1])
        there = tool(tried)
        left = pose_off(there, target, axes)[rows]
        if np.linalg.norm(left) < np.linalg.norm(off):
            q, pose, off, damping = tried, there, left, max(0.2 * damping, 1e-15)
        else:
            damping *= 8.0
    return q, float(np.linalg.norm(off))
