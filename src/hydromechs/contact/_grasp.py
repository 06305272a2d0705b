"""Rigid grasps: two frames of a mechanism, held together in some or all of their six relative directions.

Positions are continuous when a grasp closes. A grasp constrains accelerations (McMillan 1994, ch. 2, with the general
contact joint for free directions). Drift due to rounding and integration decays as in a critically damped oscillator
(Baumgarte).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from hydromechs import dynamics
from hydromechs.errors import message_of
from hydromechs.model import Direction, Model, check_free, held_rows
from hydromechs.model.component import Action, Component, FastMode, Mobility, Now, Output, Slot, Values, Wrench
from hydromechs.spatial import cross, norm
from hydromechs.values import Array, NotNegative, Positive, Scalar, check_fields

SIX = ("X", "Y", "Z", "K", "M", "N")
HOLDING = MappingProxyType({"holder": "frame or body", "held": "frame or body"})
"""References of grasps and grips."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grasp(Component):
    """Rigid grasp that holds a frame of one body at a frame of another body."""

    kind = "grasp"
    cause = "grasps"
    refers = HOLDING
    outputs = (
        Output("grasp_force", "N, N m", "force of the holder on the held body, in the holder's axes", SIX, "six"),
        Output("grasp_load", "N", "magnitude of the force of the holder"),
        Output("grasp_error", "m, rad", "distance and angle error of the grasp", ("distance", "angle"), "misfit"),
    )

    name: str
    """Name, unique among grasps."""
    holder: str
    """Name of the holding frame or body, whose axes define the directions."""
    held: str
    """Name of the held frame or body; both frames coincide except in free directions."""
    free: tuple[Direction, ...] = ()
    """Directions that are not held, of x, y, z, rx, ry, rz: ("rz",) is a hinge, ("rx", "ry", "rz") a ball joint,
    ("rx", "ry") a universal joint about x of the holder and y of the held frame."""
    stabilisation: NotNegative = 20.0
    """Decay rate α of drift [1/s]: error'' + 2 α error' + α² error = 0."""
    tolerance: NotNegative = 1e-3
    """Maximum distance and angle between the frames at which the grasp can close [m, rad]."""
    closed: bool = True
    """True if the grasp is initially closed."""
    maximum_force: Positive | None = None
    """Force at which the grasp opens [N]. Defaults to no limit."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "free", tuple(self.free))
        check_free(self.free, f"grasp {self.name!r}")
        check_fields(self, f"grasp {self.name!r}: Grasp")

    @property
    def rows(self) -> tuple[int, ...]:
        """Indices of held directions in x, y, z, rx, ry, rz."""
        return held_rows(self.free)

    @property
    def opens_at(self) -> tuple[str, float] | None:
        return None if self.maximum_force is None else (f"grasp_load.{self.name}", self.maximum_force)

    def check(self, model: Model) -> None:
        check_frames(model, f"grasp {self.name!r}", self.holder, self.held)

    def check_start(self, now: Now) -> None:
        for row in self.act(now, {}, {"closed": 1.0}).constraints if self.closed else ():
            row.check_closure(float(now.t), self)

    def apart(self, model: Model, kin: Any) -> float:
        """Return the misalignment of the frames, relative to the tolerance."""
        return float(max(dynamics.joined_misfit(dynamics.joined_rows(model, kin, self), self))) / max(self.tolerance, 1e-12)

    def inputs(self, model: Model) -> list[Slot]:
        return [Slot("closed", 1.0 if self.closed else 0.0, setting=True, limits=(0.0, 1.0))]

    def act(self, now: Now, z: Values, u: Values) -> Action:
        row, D = dynamics.joined_constraint(now.model, now.kin, self, u["closed"])

        def record(force: Array) -> dict[str, Scalar | Array]:
            wrench = D.T @ force
            return {"grasp_force": wrench, "grasp_load": norm(wrench[:3])}

        wrenches = lambda force: joined_wrenches(now, self, D.T @ force)  # noqa: E731
        holding = row._replace(record=record, wrenches=wrenches)
        return Action(constraints=[holding], record={"grasp_error": np.array(row.apart) * u["closed"]})

    def modes(self, model: Model, mobility: Mobility) -> Sequence[FastMode]:
        rate = self.stabilisation
        return [FastMode(f"stabilisation of grasp {self.name!r}", rate, 2.0 * rate)] if rate else []


def check_frames(model: Model, who: str, holder: str, held: str) -> None:
    """Raise `KeyError` or `ValueError` unless two frames exist and can move apart; messages begin with `who`."""
    try:
        bodies = [model.locate(name).body for name in (holder, held)]
    except KeyError as e:
        raise KeyError(f"{who}: {message_of(e)}") from None
    if bodies[0] == bodies[1] or not any(model.moves[i] for i in bodies):
        raise ValueError(f"{who} connects bodies that cannot move relative to each other; remove this grasp")


def joined_wrenches(now: Now, joined: dynamics.Joined, f: Array) -> list[Wrench]:
    """Return a wrench on the held body at its frame [N, N·m], shape (6,); the opposite acts on the holder at this point."""
    holder, held = now.frame(joined.holder), now.frame(joined.held)
    f_W, n_W = holder.R @ f[:3], holder.R @ f[3:]
    away = cross(held.p - now.p_WB[holder.body], f_W)
    R = now.R_WB[holder.body]
    return [held.force(f_W, n_W), Wrench(holder.body, -np.concatenate([R.T @ f_W, R.T @ (away + n_W)]))]
