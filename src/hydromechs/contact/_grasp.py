"""Grasps: two frames of a mechanism held together, in all or some of their six relative directions.

They close without a jump in position. A grasp is a constraint between accelerations (McMillan 1994, ch. 2, with the
general contact joint for free directions). Drift from rounding and integration is corrected as by a critically damped
spring (Baumgarte).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np

from hydromechs import dynamics
from hydromechs.errors import message_of
from hydromechs.model import Model
from hydromechs.model.component import Action, Component, Constraint, FastMode, Mobility, Now, Output, Slot, Values, Wrench
from hydromechs.spatial import cross, norm
from hydromechs.values import Array, NotNegative, Scalar, check_fields

DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")
SIX = ("X", "Y", "Z", "K", "M", "N")
HOLDING = MappingProxyType({"holder": "frame or body", "held": "frame or body"})
"""References of grasps and grips."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grasp(Component):
    """A rigid grasp: a frame of one body held to a frame of another."""

    kind = "grasp"
    cause = "grasps"
    refers = HOLDING
    outputs = (
        Output("grasp_force", "N, N m", "force of the holder on what it holds, in the holder's axes", SIX, "six"),
        Output("grasp_error", "m, rad", "distance and angle error of the grasp", ("distance", "angle"), "misfit"),
    )

    name: str
    """Name, unique among the grasps."""
    holder: str
    """Frame or body that holds; directions are along its axes."""
    held: str
    """Frame or body that is held; the two frames coincide except in the free directions."""
    free: tuple[Literal["x", "y", "z", "rx", "ry", "rz"], ...] = ()
    """Directions that are not held, of x, y, z, rx, ry, rz: ("rz",) is a hinge, ("rx", "ry", "rz") a ball joint."""
    stabilisation: NotNegative = 20.0
    """Rate α at which drift decays [1/s]: error'' + 2 α error' + α² error = 0."""
    tolerance: NotNegative = 1e-3
    """Distance and angle within which the frames must meet to be joined [m, rad]."""
    closed: bool = True
    """True if it is initially closed."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "free", tuple(self.free))
        for direction in self.free:
            if direction not in DIRECTIONS:
                raise ValueError(f"grasp {self.name!r}: free has {direction!r}, must be of {', '.join(DIRECTIONS)}")
        if len(set(self.free)) == 6:
            raise ValueError(f"grasp {self.name!r} holds nothing: all six directions are free")
        if sum(k in self.rows for k in (3, 4, 5)) == 1:
            raise ValueError(
                f"grasp {self.name!r} holds only one rotation, which leaves the order of the other two undefined; "
                f"free one of rx, ry, rz, or all of them"
            )
        check_fields(self, f"grasp {self.name!r}: Grasp")

    @property
    def rows(self) -> tuple[int, ...]:
        """Directions that are held, as numbers of x, y, z, rx, ry, rz."""
        return tuple(k for k, name in enumerate(DIRECTIONS) if name not in self.free)

    def check(self, model: Model) -> None:
        check_frames(model, f"grasp {self.name!r}", self.holder, self.held)

    def check_start(self, now: Now) -> None:
        for row in self.act(now, {}, {"closed": 1.0}).constraints if self.closed else ():
            row.check_closure(float(now.t), self)

    def apart(self, model: Model, kin: Any) -> float:
        """Return the distance of the two frames from meeting, in units of its tolerance, for an observer at rest."""
        return float(max(grasp_misfit(grasp_rows(model, kin, self), self))) / max(self.tolerance, 1e-12)

    def inputs(self, model: Model) -> list[Slot]:
        return [Slot("closed", 1.0 if self.closed else 0.0, setting=True, limits=(0.0, 1.0))]

    def act(self, now: Now, z: Values, u: Values) -> Action:
        g = grasp_rows(now.model, now.kin, self)
        apart = grasp_misfit(g, self)

        def record(force: Array) -> dict[str, Array]:
            known = dict(zip(self.rows, force, strict=True))
            return {"grasp_force": np.array([known.get(k, 0.0) for k in range(6)])}

        def wrenches(force: Array) -> list[Wrench]:
            """Return the recorded force on the held body at its frame; its opposite acts on the holder at the same point."""
            f = record(force)["grasp_force"]
            holder, held = now.frame(self.holder), now.frame(self.held)
            f_W, n_W = holder.R @ f[:3], holder.R @ f[3:]
            away = cross(held.p - now.p_WB[holder.body], f_W)
            R = now.R_WB[holder.body]
            return [held.force(f_W, n_W), Wrench(holder.body, -np.concatenate([R.T @ f_W, R.T @ (away + n_W)]))]

        rows = Constraint(
            J=g.J,
            bias=g.bias,
            error=g.error,
            active=u["closed"],
            stabilisation=self.stabilisation,
            apart=apart,
            tolerance=self.tolerance,
            between=(self.holder, self.held),
            dofs=_dofs(now.model, self),
            record=record,
            wrenches=wrenches,
        )
        return Action(constraints=[rows], record={"grasp_error": np.array(apart) * u["closed"]})

    def modes(self, model: Model, mobility: Mobility) -> Sequence[FastMode]:
        rate = self.stabilisation
        return [FastMode(f"stabilisation of grasp {self.name!r}", rate, 2.0 * rate)] if rate else []


def check_frames(model: Model, who: str, holder: str, held: str) -> None:
    """Raise `KeyError` or `ValueError` unless two frames are there and can move apart; `who` holds them, for the message."""
    try:
        bodies = [model.locate(name).body for name in (holder, held)]
    except KeyError as e:
        raise KeyError(f"{who}: {message_of(e)}") from None
    if bodies[0] == bodies[1] or not any(model.moves[i] for i in bodies):
        raise ValueError(f"{who} connects bodies that cannot move relative to each other; remove it")


class GraspRows(NamedTuple):
    """A grasp as a constraint J v̇ + bias = 0, for the c directions that it holds."""

    J: Array
    """Velocity of the held frame less that of the holder, in the holder's axes, is J v, shape (c, nv)."""
    bias: Array
    """J̇ v, shape (c,)."""
    error: Array
    """Distance and angle between the frames [m, rad], shape (c,)."""
    facing: Scalar
    """Cosine of the held angle between them: if negative, the frames face away from each other."""


def grasp_gap(model: Model, kin: Any, grasp: Grasp) -> tuple[Array, Array]:
    """Position (3,) and axes (3, 3) of the held frame in the holder's frame."""
    a, p_a, R_a = model.locate(grasp.holder)
    b, p_b, R_b = model.locate(grasp.held)
    R_WA, R_WB = kin.R_WB[a] @ R_a, kin.R_WB[b] @ R_b
    apart = kin.p_WB[b] + kin.R_WB[b] @ p_b - kin.p_WB[a] - kin.R_WB[a] @ p_a
    return R_WA.T @ apart, R_WA.T @ R_WB


def grasp_rows(model: Model, kin: Any, grasp: Grasp) -> GraspRows:
    """Return the constraint of one grasp; `kin` is that of an observer at rest.

    With T = R_Aᵀ R_B and V_A taken where B is, V_rel = T V_B − V_A and d/dt (T V_B) = T V̇_B + ω_rel × T V_B; that point of A
    moves on A with v_rel, which adds ω_A × v_rel to d/dt V_A.
    """
    p, T = grasp_gap(model, kin, grasp)
    (a, p_a, R_a), (b, p_b, R_b) = model.locate(grasp.holder), model.locate(grasp.held)

    def turned(R: Array, V: Array) -> Array:
        return np.concatenate([R @ V[:3], R @ V[3:]])

    def moving(i: int, point: Array) -> Array:
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


def _turn(T: Array, grasp: Grasp) -> tuple[Array, Scalar]:
    """Return the rotation error about the holder's axes (3,), and the cosine of its angle.

    All held: the vector part of T, (T − Tᵀ)/2. For a hinge: z_A × z_B of its axes, which is independent of its rotation.
    Both are the rotation vector to second order.
    """
    loose = [k for k in range(3) if k + 3 not in grasp.rows]
    if len(loose) == 1:
        (k,) = loose
        return cross(np.eye(3)[k], T[:, k]), T[k, k]
    turn = 0.5 * np.array([T[2, 1] - T[1, 2], T[0, 2] - T[2, 0], T[1, 0] - T[0, 1]])
    return turn, 1.0 if loose else 0.5 * (T[0, 0] + T[1, 1] + T[2, 2] - 1.0)


def _dofs(model: Model, grasp: Grasp) -> tuple[int, ...]:
    """Return the degrees of freedom that move the holder or the held frame."""
    out: set[int] = set()
    for name in (grasp.holder, grasp.held):
        body = model.locate(name).body
        while body >= 0:
            out |= set(range(model.nv)[model.v_slices[body]])
            body = model.parent[body]
    return tuple(sorted(out))


def grasp_misfit(rows: GraspRows, grasp: Grasp) -> tuple[Scalar, Scalar]:
    """Return the distance [m] and angle [rad] error of a grasp, from its constraint."""
    at = dict(zip(grasp.rows, rows.error, strict=True))
    sine = norm([at.get(k, 0.0) for k in range(3, 6)])
    return norm([at.get(k, 0.0) for k in range(3)]), np.arctan2(sine, rows.facing)
