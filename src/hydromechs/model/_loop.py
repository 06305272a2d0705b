"""Loop constraints: connections of bodies in addition to the joints of the tree, and states in which all loops are closed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from hydromechs.errors import Fault, message_of
from hydromechs.spatial import Path, cross
from hydromechs.values import Array, NotNegative, Scalar, check_fields

from .joints._moving import MovingStep, motion_subspace, transformation

if TYPE_CHECKING:
    from ._model import Model

Direction = Literal["x", "y", "z", "rx", "ry", "rz"]
"""Relative direction of two frames: along or about an axis."""
DIRECTIONS: tuple[Direction, ...] = ("x", "y", "z", "rx", "ry", "rz")
"""All relative directions, in the order of the constraint rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """Loop closure: a joint between frames of two bodies that closes a chain of bodies."""

    name: str
    """Name, unique among the loops."""
    holder: str
    """Frame or body whose axes define the directions."""
    held: str
    """Second frame or body; the two frames coincide except in the free directions."""
    free: tuple[Direction, ...] = ()
    """Unconstrained directions, of x, y, z, rx, ry, rz: ("rz",) is a hinge, ("rx", "ry", "rz") a ball joint, ("rx", "ry") a
    universal joint about x of the holder and y of the held frame.
    """
    stabilisation: NotNegative = 20.0
    """Decay rate α of the constraint drift [1/s]: error'' + 2 α error' + α² error = 0."""
    tolerance: NotNegative = 1e-6
    """Maximum distance and angle between the frames at the start of a run [m, rad]."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "free", tuple(self.free))
        check_free(self.free, f"loop {self.name!r}")
        check_fields(self, f"loop {self.name!r}")

    @property
    def rows(self) -> tuple[int, ...]:
        """Constrained directions, as indices into x, y, z, rx, ry, rz."""
        return held_rows(self.free)

    def renamed(self, before: str) -> Loop:
        """Return a copy whose names have a prefix such as "arm."."""
        return replace(self, name=before + self.name, holder=before + self.holder, held=before + self.held)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coupling:
    """Coupling of two joints, as in a gear train:  q = c_0 + c_1 q_of + c_2 q_of² + ..."""

    name: str
    """Name, unique among the loops."""
    joint: str
    """Dependent joint, with one coordinate q."""
    of: str
    """Independent joint, with one coordinate q_of."""
    coefficients: tuple[float, ...] = (0.0, 1.0)
    """Coefficients c_0, c_1, ... [m, rad]."""
    stabilisation: NotNegative = 20.0
    """Decay rate α of the constraint drift [1/s]."""
    tolerance: NotNegative = 1e-6
    """Maximum error of q at the start of a run [m, rad]."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "coefficients", tuple(self.coefficients))
        check_fields(self, f"coupling {self.name!r}")

    def renamed(self, before: str) -> Coupling:
        """Return a copy whose names have a prefix such as "arm."."""
        return replace(self, name=before + self.name, joint=before + self.joint, of=before + self.of)

    def values(self, q_of: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        """Return q and its first and second derivatives with respect to q_of."""
        value: Scalar = 0.0
        slope: Scalar = 0.0
        curvature: Scalar = 0.0
        for c in reversed(self.coefficients):  # Horner's scheme of the polynomial and its derivatives
            curvature = curvature * q_of + 2.0 * slope
            slope = slope * q_of + value
            value = value * q_of + c
        return value, slope, curvature


def check_free(free: Sequence[str], who: str) -> None:
    """Raise `ValueError` if a direction is unknown, or if all directions are free."""
    for direction in free:
        if direction not in DIRECTIONS:
            raise ValueError(f"{who}: free has {direction!r}, must be one of {', '.join(DIRECTIONS)}")
    if len(set(free)) == 6:
        raise ValueError(f"{who} constrains nothing because all six directions are free; remove a direction from `free`")


def held_rows(free: Sequence[str]) -> tuple[int, ...]:
    """Return the constrained directions, as indices into x, y, z, rx, ry, rz."""
    return tuple(k for k, name in enumerate(DIRECTIONS) if name not in free)


def _only_turn(rows: Sequence[int]) -> tuple[int, int, int] | None:
    """Return i, j, k of R = R_i R_j R_k if only rotation k is constrained; None for other numbers of rotations."""
    turns = [k for k in range(3) if k + 3 in rows]
    return ((turns[0] + 1) % 3, (turns[0] + 2) % 3, turns[0]) if len(turns) == 1 else None


def frame_error(p: Array, T: Array, rows: Sequence[int]) -> tuple[Array, Scalar]:
    """Return the closure error of two frames in the axes of the holder (6,), and the cosine of the error angle.

    The held frame has position p (3,) and axes T (3, 3) relative to the holder. If all rotations are constrained, the
    rotation error is the vector part of T, (T − Tᵀ)/2. For a hinge it is z_A × z_B, which is independent of the hinge
    angle. Both equal the rotation vector to second order. If one rotation is constrained, such as rz, the error is −x_A ·
    y_B: this is a universal joint that rotates about x of the holder, then about y of the held frame. Other axes follow by
    cyclic permutation.
    """
    alone = _only_turn(rows)
    if alone is not None:
        i, j, k = alone
        return np.concatenate([p, [-T[i, j] if k == m else 0.0 for m in range(3)]]), 1.0
    loose = [k for k in range(3) if k + 3 not in rows]
    if len(loose) == 1:
        (k,) = loose
        return np.concatenate([p, cross(np.eye(3)[k], T[:, k])]), T[k, k]
    turn = 0.5 * np.array([T[2, 1] - T[1, 2], T[0, 2] - T[2, 0], T[1, 0] - T[0, 1]])
    return np.concatenate([p, turn]), 1.0 if loose else 0.5 * (T[0, 0] + T[1, 1] + T[2, 2] - 1.0)


def held_directions(T: Array, w: Array, rows: Sequence[int]) -> tuple[Array, Array]:
    """Return constrained directions D of velocities and forces (c, 6), and Ḋ V (c,), in the axes of the holder.

    The rows of D are unit vectors, except for a single constrained rotation, whose rate is −d/dt (x_A · y_B) = (x_A × y_B)
    · ω.

    `T`: axes of the held frame relative to the holder, shape (3, 3); `w`: angular velocity of the held frame relative to
    the holder, shape (3,).
    """
    D: Array = np.eye(6)[list(rows)]
    rate: Array = np.zeros(len(rows))
    alone = _only_turn(rows)
    if alone is not None:
        i, j, k = alone
        at, x = list(rows).index(k + 3), np.eye(3)[i]
        D = np.array([[*np.zeros(3), *cross(x, T[:, j])] if row == at else D[row] for row in range(len(rows))])
        rate = np.array([cross(x, cross(w, T[:, j])) @ w if row == at else 0.0 for row in range(len(rows))])
    return D, rate


# -- closed states ------------------------------------------------------------------------------------------------------------


class _Rows(NamedTuple):
    """Constraint rows of a loop at one configuration, as floats."""

    error: np.ndarray
    """Closure error in each constrained direction [m, rad], shape (c,)."""
    J: np.ndarray
    """Jacobian of the closure error with respect to v, shape (c, nv)."""
    facing: float
    """Cosine of the error angle; negative if the frames point in opposite directions."""


def loop_faults(model: Model) -> list[Fault]:
    """Return the errors of loops: names, references, and loops that cannot be closed."""
    found: list[Fault] = []
    seen: set[str] = set()
    for k, loop in enumerate(model.loops):
        at = ("loops", k)
        if not isinstance(loop, Loop | Coupling):
            found.append(Fault(at, f"loops[{k}] is {loop!r}, must be a Loop or a Coupling"))
            continue
        if loop.name in seen:
            found.append(Fault((*at, "name"), f"two loops are named {loop.name!r}; rename one of them"))
        seen.add(loop.name)
        text = _reference_fault(model, loop)
        if text:
            found.append(Fault(at, text))
    if found or not model.loops:
        return found
    return [Fault(("loops", k), text) for k, text in _open_loops(model)]


def _reference_fault(model: Model, loop: Loop | Coupling) -> str:
    if isinstance(loop, Coupling):
        for name in (loop.joint, loop.of):
            part = model.joint_parts.get(name)
            if part is None or part.joint.nv != 1:
                known = ", ".join(n for n, p in model.joint_parts.items() if p.joint.nv == 1)
                return f"coupling {loop.name!r}: {name!r} is not a joint with one coordinate; available: {known}"
        return f"coupling {loop.name!r} couples {loop.joint!r} to itself; remove this coupling" if loop.joint == loop.of else ""
    try:
        a, b = (model.locate(name).body for name in (loop.holder, loop.held))
    except KeyError as error:
        return f"loop {loop.name!r}: {message_of(error)}"
    if a == b or not (model.moves[a] or model.moves[b]):
        return f"loop {loop.name!r} connects bodies that cannot move relative to each other; remove this loop"
    return ""


def _open_loops(model: Model) -> list[tuple[int, str]]:
    """Return the indices of loops that cannot be closed near the initial configuration, each with a message."""
    q, v = model.joint_start()
    q, _ = closed_state(model, q, v)
    out = []
    for k, (loop, rows) in enumerate(zip(model.loops, _rows(model, q), strict=True)):
        if isinstance(loop, Coupling):
            if not abs(rows.error[0]) <= loop.tolerance:
                away = f"the smallest error of {loop.joint!r} is {rows.error[0]:.3g}"
                out.append((k, f"coupling {loop.name!r} contradicts other loops: {away}; correct the coefficients"))
            continue
        misfit = dict(zip([DIRECTIONS[i] for i in loop.rows], rows.error, strict=True))
        far = {name: x for name, x in misfit.items() if abs(x) > loop.tolerance}
        if far or rows.facing < 0.0:
            shown = ", ".join(f"{name} {x:.3g} {'rad' if 'r' in name else 'm'}" for name, x in far.items()) or "a half turn"
            out.append(
                (
                    k,
                    f"loop {loop.name!r}: {loop.holder!r} and {loop.held!r} cannot meet; the smallest error is {shown}; "
                    "correct lengths, axes or initial positions, or add directions that joints already constrain to `free`",
                )
            )
    return out


ROUNDS = 100
"""Maximum number of Gauss-Newton steps; 5 to 10 suffice if all joints start within one revolution of a solution."""
LONGEST = 0.5
"""Maximum length of a Gauss-Newton step [m, rad]."""
SINGULAR = 1e-6
"""Ratio of singular values below which constraint rows count as redundant; rounded axes in files differ by less."""
MET = 1e-12
"""Closure error below which a loop is closed [m, rad]."""


def closed_state(model: Model, q: np.ndarray, v: np.ndarray, held: Collection[int] = ()) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest configuration (nq,) that closes all loops, and the nearest velocity (nv,) that keeps them closed.

    The solver takes Gauss-Newton steps of minimum length in joint coordinates [m, rad]. Loops that cannot be closed stay open
    with minimum error.

    `held`: indices in v of coordinates that stay fixed.
    """
    moving = np.array([float(k not in held) for k in range(model.nv)])
    for _ in range(ROUNDS):
        rows = _rows(model, q)
        error, J = np.concatenate([r.error for r in rows]), np.concatenate([r.J for r in rows])
        if np.abs(error).max(initial=0.0) < MET:
            break
        step = -np.linalg.lstsq(J * moving, error, rcond=SINGULAR)[0]
        length = float(np.linalg.norm(step))
        if length < MET:
            break
        q = _retracted(model, q, step * min(1.0, LONGEST / length))
    J = np.concatenate([r.J for r in _rows(model, q)])
    return q, v - np.linalg.lstsq(J * moving, J @ v, rcond=SINGULAR)[0]


def _retracted(model: Model, q: np.ndarray, u: np.ndarray) -> np.ndarray:
    out = q.copy()
    for steps in model.steps:
        for step in steps:
            if isinstance(step, MovingStep):
                out[step.at_q] = step.retract(q[step.at_q], u[step.at_v])
    return out


def _rows(model: Model, q: np.ndarray) -> list[_Rows]:
    bodies = _placed_bodies(model, q)
    return [_coupling_rows(model, x, q) if isinstance(x, Coupling) else _frame_rows(model, x, bodies) for x in model.loops]


def _placed_bodies(model: Model, q: np.ndarray) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return axes (3, 3) and origin (3,) of each body in the world, and J of V = J v in body axes, shape (6, nv)."""
    out: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for parent, steps, at_v in zip(model.parent, model.steps, model.v_slices, strict=True):
        R_p, p_p, J_p = (np.eye(3), np.zeros(3), np.zeros((6, model.nv))) if parent < 0 else out[parent]
        path = Path(tuple(transformation(step, q) for step in steps))
        J = np.array(path.motion(J_p))
        J[:, at_v] = motion_subspace(steps, path.steps, q)
        R, p = path.pose()
        out.append((R_p @ R, p_p + R_p @ p, J))
    return out


def _frame_rows(model: Model, loop: Loop, bodies: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> _Rows:
    (a, p_a, R_a), (b, p_b, R_b) = model.locate(loop.holder), model.locate(loop.held)
    (R_WA, o_a, J_a), (R_WB, o_b, J_b) = bodies[a], bodies[b]
    p = R_a.T @ (R_WA.T @ (o_b + R_WB @ p_b - o_a) - p_a)
    T = (R_WA @ R_a).T @ R_WB @ R_b
    error, facing = frame_error(p, T, loop.rows)
    ends = ((J_a, p_a + R_a @ p, R_a.T), (J_b, p_b, T @ R_b.T))
    on_a, on_b = (np.concatenate([S @ (J[:3] - cross(at, J[3:])), S @ J[3:]]) for J, at, S in ends)
    D, _ = held_directions(T, np.zeros(3), loop.rows)
    return _Rows(np.asarray(error, dtype=float)[list(loop.rows)], D @ (on_b - on_a), float(facing))


def _coupling_rows(model: Model, coupling: Coupling, q: np.ndarray) -> _Rows:
    joint, of = (model.joint_parts[name] for name in (coupling.joint, coupling.of))
    value, slope, _ = coupling.values(float(q[of.q.start]))
    J = np.zeros((1, model.nv))
    J[0, joint.v.start], J[0, of.v.start] = 1.0, -slope
    return _Rows(np.array([q[joint.q.start] - value]), J, 1.0)
