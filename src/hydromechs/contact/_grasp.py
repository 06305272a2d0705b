"""Grasps: two frames of a mechanism held together, in all or some of their six relative directions; making one without a jump.

A grasp is a constraint between accelerations (thesis ch. 2, with the general contact joint for free directions). What rounding
and integration let drift is pulled back as by a critically damped spring (Baumgarte).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hydromechs import dynamics
from hydromechs.model import Model
from hydromechs.spatial import cross, norm, pivoted_solve

__all__ = ["Grasp", "GraspRows", "grasp_gap", "grasp_impulse", "grasp_misfit", "grasp_rows"]

DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")


@dataclass(frozen=True, slots=True, kw_only=True)
class Grasp:
    """A frame of one body held to a frame of another."""

    name: str
    """Name, unique among the grasps."""
    holder: str
    """Frame or body that holds; directions are along its axes."""
    held: str
    """Frame or body that is held; the two frames coincide but for the free directions."""
    free: tuple[str, ...] = ()
    """Directions that are not held, of x, y, z, rx, ry, rz: ("rz",) is a hinge, ("rx", "ry", "rz") a ball joint."""
    stabilisation: float = 20.0
    """Rate α at which drift decays [1/s]: error'' + 2 α error' + α² error = 0."""
    tolerance: float = 1e-3
    """Distance and angle within which the frames must meet to be joined [m, rad]."""
    closed: bool = True
    """Whether it holds from the start."""

    def __post_init__(self):
        object.__setattr__(self, "free", tuple(self.free))
        for direction in self.free:
            if direction not in DIRECTIONS:
                raise ValueError(f"grasp {self.name!r}: free has {direction!r}, must be of {', '.join(DIRECTIONS)}")
        if len(set(self.free)) == 6:
            raise ValueError(f"grasp {self.name!r} holds nothing: all six directions are free")
        if sum(k in self.rows for k in (3, 4, 5)) == 1:
            raise ValueError(
                f"grasp {self.name!r} holds one rotation alone, which does not say in which order the two free ones turn; "
                f"free one of rx, ry, rz, or all of them"
            )
        for field in ("stabilisation", "tolerance"):
            value = getattr(self, field)
            if not isinstance(value, int | float) or not 0.0 <= value < math.inf:
                raise ValueError(f"grasp {self.name!r}: {field} is {value!r}, must be a number of at least 0")

    @property
    def rows(self) -> tuple[int, ...]:
        """Directions that are held, as numbers of x, y, z, rx, ry, rz."""
        return tuple(k for k, name in enumerate(DIRECTIONS) if name not in self.free)


class GraspRows(NamedTuple):
    """A grasp as a constraint J v̇ + bias = 0, for the c directions that it holds."""

    J: np.ndarray
    """Velocity of the held frame less that of the holder, in the holder's axes, is J v, shape (c, nv)."""
    bias: np.ndarray
    """J̇ v, shape (c,)."""
    error: np.ndarray
    """How far the frames are apart [m, rad], shape (c,)."""
    facing: object
    """Cosine of the angle between them that is held: below 0, the frames face away from each other."""


def _place(model: Model, name: str) -> tuple[int, np.ndarray, np.ndarray]:
    """Body, point (3,) and axes (3, 3) of a frame or body."""
    if name in model.frames:
        i, frame = model.frames[name]
        return i, np.array(frame.origin.xyz), frame.origin.R
    return model.body_index(name), np.zeros(3), np.eye(3)


def grasp_gap(model: Model, kin, grasp: Grasp):
    """Place (3,) and axes (3, 3) of the held frame, seen from the holder's frame.

    Args:
        model: The mechanism.
        kin: Its kinematics.
        grasp: The grasp.
    """
    a, p_a, R_a = _place(model, grasp.holder)
    b, p_b, R_b = _place(model, grasp.held)
    R_WA, R_WB = kin.R_WB[a] @ R_a, kin.R_WB[b] @ R_b
    apart = kin.p_WB[b] + kin.R_WB[b] @ p_b - kin.p_WB[a] - kin.R_WB[a] @ p_a
    return R_WA.T @ apart, R_WA.T @ R_WB


def grasp_rows(model: Model, kin, grasp: Grasp) -> GraspRows:
    """The constraint of one grasp.

    With T = R_Aᵀ R_B and V_A taken where B is, V_rel = T V_B − V_A and d/dt (T V_B) = T V̇_B + ω_rel × T V_B; that point of A
    moves on A with v_rel, which adds ω_A × v_rel to d/dt V_A.

    Args:
        model: The mechanism.
        kin: Its kinematics, for an observer at rest.
        grasp: The grasp.
    """
    p, T = grasp_gap(model, kin, grasp)
    (a, p_a, R_a), (b, p_b, R_b) = _place(model, grasp.holder), _place(model, grasp.held)

    def turned(R, V):
        return np.concatenate([R @ V[:3], R @ V[3:]])

    def moving(i, point):
        return np.concatenate([kin.V[i][:3] + cross(kin.V[i][3:], point), kin.V[i][3:]])

    at = p_a + R_a @ p  # compared where the held frame is, which moves on the holder in free directions
    J_a, J_b = dynamics.jacobian(model, kin, a, at), dynamics.jacobian(model, kin, b, p_b)
    S = T @ R_b.T
    J = np.concatenate([S @ J_b[:3] - R_a.T @ J_a[:3], S @ J_b[3:] - R_a.T @ J_a[3:]])
    V_b, V_a = turned(S, moving(b, p_b)), turned(R_a.T, moving(a, at))
    w = V_b[3:] - V_a[3:]
    carried = np.concatenate([cross(w, V_b[:3]) - cross(V_a[3:], V_b[:3] - V_a[:3]), cross(w, V_b[3:])])
    bias_a = dynamics.jacobian_derivative_times_velocity(model, kin, a, at)
    bias_b = dynamics.jacobian_derivative_times_velocity(model, kin, b, p_b)
    bias = turned(S, bias_b) - turned(R_a.T, bias_a) + carried
    turn, facing = _turn(T, grasp)
    error = np.concatenate([p, turn])
    rows = list(grasp.rows)
    return GraspRows(J[rows], bias[rows], error[rows], facing)


def _turn(T, grasp: Grasp):
    """Rotation error about the holder's axes (3,), and the cosine of its angle.

    All held: the vector part of T, (T − Tᵀ)/2. A hinge: z_A × z_B of its axes, which does not mind how far it has turned.
    Both are the rotation vector to second order.
    """
    loose = [k for k in range(3) if k + 3 not in grasp.rows]
    if len(loose) == 1:
        (k,) = loose
        return cross(np.eye(3)[k], T[:, k]), T[k, k]
    turn = 0.5 * np.array([T[2, 1] - T[1, 2], T[0, 2] - T[2, 0], T[1, 0] - T[0, 1]])
    return turn, 1.0 if loose else 0.5 * (T[0, 0] + T[1, 1] + T[2, 2] - 1.0)


def grasp_misfit(rows: GraspRows, grasp: Grasp):
    """Distance [m] and angle [rad] by which a grasp is off.

    Args:
        rows: Its constraint.
        grasp: The grasp.
    """
    at = dict(zip(grasp.rows, rows.error, strict=True))
    sine = norm([at.get(k, 0.0) for k in range(3, 6)])
    return norm([at.get(k, 0.0) for k in range(3)]), np.arctan2(sine, rows.facing)


def grasp_impulse(M, J, v):
    """Velocity after an impulse that closes grasps, v⁺ = v − M⁻¹ Jᵀ (J M⁻¹ Jᵀ)⁺ J v, for floats, shape (nv,).

    The impulses of a grasp are equal and opposite: momentum is conserved; kinetic energy falls.

    Args:
        M: Joint-space inertia with added mass, shape (nv, nv).
        J: Rows of all grasps that hold, shape (c, nv).
        v: Velocity before, shape (nv,).
    """
    across = np.linalg.solve(M, J.T)
    return v - across @ pivoted_solve(J @ across, J @ v).x
