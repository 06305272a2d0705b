"""Compliant grips: two frames held together by springs and dampers, as by the padded jaws of a gripper.

    F = −s (k e + c ė),    M = −s (∂E_r/∂θ + c_r ω),    E_r = ½ Σ_k k_r,k θ_k² for small angles θ_k

in the axes of the holder, where e is the position and ω the angular velocity of the held frame relative to the holder. The
strength s, from 0 (open) to 1 (closed), follows the command within the closing time if an object is within reach while the jaws
close. Jaws that close without an object stay empty until they open again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from hydromechs.model import Model
from hydromechs.model.component import Action, Component, FastMode, Mobility, Now, Output, Slot, Values, mode_of
from hydromechs.spatial import cross, norm, where
from hydromechs.values import Array, Positive, Scalar, Vector3, check_fields

from ._grasp import HOLDING, SIX, Grasp, check_frames

HOLDS = 0.05
"""Strength above which a held object remains held, even out of reach."""
TOO_LATE = 0.5
"""Strength above which closing jaws do not grip further objects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grip(Component):
    """Compliant grip between frames of two bodies, in which the held body can swing."""

    kind = "grip"
    refers = HOLDING
    outputs = (
        Output("grip_force", "N, N m", "force of the holder on the held body, in the holder's axes", SIX, "six"),
        Output("grip_error", "m, rad", "distance and angle between the two frames", ("distance", "angle"), "misfit"),
        Output("grip_strength", "1", "0 open, 1 closed"),
    )

    name: str
    """Name, unique among grasps and grips."""
    holder: str
    """Name of the holding frame or body, whose axes define the directions."""
    held: str
    """Name of the held frame or body."""
    stiffness: Vector3
    """Stiffness k along x, y, z [N/m]."""
    damping: Vector3
    """Damping c along x, y, z [N·s/m]."""
    turning_stiffness: Vector3 = (0.0, 0.0, 0.0)
    """Rotational stiffness k_r about x, y, z [N·m/rad]; the held body swings freely about an axis with 0."""
    turning_damping: Vector3 = (0.0, 0.0, 0.0)
    """Rotational damping c_r about x, y, z [N·m·s/rad]."""
    reach: Positive = 0.1
    """Maximum distance at which the jaws grip [m]; beyond this distance they close empty, and stay empty until opened."""
    closing_time: Positive = 0.1
    """Time constant of closing and opening [s]."""
    closed: bool = False
    """True if the grip initially holds an object within reach."""

    def __post_init__(self) -> None:
        check_fields(self, f"grip {self.name!r}: Grip")
        for key in ("stiffness", "damping", "turning_stiffness", "turning_damping"):
            value = getattr(self, key)
            if min(value) < 0.0:
                raise ValueError(f"grip {self.name!r}: {key} is {list(value)}, must be at least 0")

    def check(self, model: Model) -> None:
        check_frames(model, f"grip {self.name!r}", self.holder, self.held)

    def states(self, model: Model) -> list[Slot]:
        return [Slot("strength", self._start), Slot("jaws", 1.0 if self.closed else 0.0)]

    def _start(self, now: Now) -> float:
        """Return the initial strength: 1 if the grip is closed with an object within reach, otherwise 0."""
        return 1.0 if self.closed and self.apart(now.model, now.kin) < 1.0 else 0.0

    def apart(self, model: Model, kin: Any) -> Any:
        """Return the distance between the frames, relative to the reach, in one world or many."""
        a, b = (kin.p_WB[i] + kin.R_WB[i] @ p if i >= 0 else p for i, p, _ in map(model.locate, (self.holder, self.held)))
        return norm(np.moveaxis(b - a, -1, 0)) / self.reach

    def closing(self, model: Model, kin: Any) -> list[str]:
        held, far = f"{self.name!r} closes on {self.held!r}", f"{self.name!r} closes without an object: {self.held!r} is"
        apart = np.atleast_1d(self.apart(model, kin)).tolist()
        return [held if x < 1.0 else f"{far} {x * self.reach:.3g} m away, reach {self.reach:g} m" for x in apart]

    def inputs(self, model: Model) -> list[Slot]:
        return [Slot("closed", 1.0 if self.closed else 0.0, setting=True, limits=(0.0, 1.0))]

    def act(self, now: Now, z: Values, u: Values) -> Action:
        """Return equal and opposite forces of springs and dampers; closing on a stretched spring is work done by the jaws."""
        a, b, s = now.frame(self.holder), now.frame(self.held), z["strength"]
        e, T = a.R.T @ (b.p - a.p), a.R.T @ b.R
        e_rate = a.R.T @ (b.v - a.v - cross(a.w, b.p - a.p))
        w = a.R.T @ (b.w - a.w)
        turning, turned = _spring(T, self.turning_stiffness)
        k, c, c_r = np.array(self.stiffness), np.array(self.damping), np.array(self.turning_damping)
        force, torque = -s * (k * e + c * e_rate), -s * (turning + c_r * w)
        stored = 0.5 * (k * e) @ e + turned
        in_time = where(z["jaws"] < TOO_LATE, 1.0, 0.0)
        found = where(s > HOLDS, 1.0, where(norm(e) < self.reach, in_time, 0.0))
        rate = (u["closed"] * found - s) / self.closing_time
        f, m = a.R @ force, a.R @ torque
        return Action(
            forces=[b.force(f, m), a.force(-f, -m - cross(b.p - a.p, f))],
            rates={"strength": rate, "jaws": (u["closed"] - z["jaws"]) / self.closing_time},
            energy=s * stored,
            power=rate * stored - s * ((c * e_rate) @ e_rate + (c_r * w) @ w),
            record={
                "grip_force": np.concatenate([force, torque]),
                "grip_error": np.array([norm(e), _angle(T)]),
                "grip_strength": s,
            },
        )

    def modes(self, model: Model, mobility: Mobility) -> Sequence[FastMode]:
        """Return the fast modes of the stiffest spring, with the lever arm of a misalignment, and of the rotational spring."""
        places = [p for p in map(model.locate, (self.holder, self.held)) if model.moves[p.body]]
        turns = sum(mobility.turn(p.body) for p in places)
        moves = sum(mobility.point(p.body, p.p) for p in places) + self.reach**2 * turns
        turning = (max(self.turning_stiffness), max(self.turning_damping), turns)
        out = [mode_of(f"grip {self.name!r}", max(self.stiffness), max(self.damping), moves)]
        return [*out, mode_of(f"rotation of grip {self.name!r}", *turning)] if any(turning[:2]) else out


Holding: TypeAlias = Grasp | Grip
"""Rigid and compliant grasps."""


def _spring(T: Array, k: tuple[float, float, float]) -> tuple[Array, Scalar]:
    """Return ∂E/∂θ [N·m], shape (3,), and E [J] for a rotation T: E = tr(G (1 − T)), so that Ė = ω·(∂E/∂θ) for Ṫ = ω × T.

    The diagonal matrix G follows from E = ½ Σ (g_i + g_j) θ_k² for small angles.
    """
    G = 0.5 * np.array([k[1] + k[2] - k[0], k[0] + k[2] - k[1], k[0] + k[1] - k[2]])
    M = T * G
    gradient = np.array([M[2, 1] - M[1, 2], M[0, 2] - M[2, 0], M[1, 0] - M[0, 1]])
    return gradient, G @ (1.0 - np.array([T[0, 0], T[1, 1], T[2, 2]]))


def _angle(T: Array) -> Scalar:
    sine = 0.5 * norm([T[2, 1] - T[1, 2], T[0, 2] - T[2, 0], T[1, 0] - T[0, 1]])
    return np.arctan2(sine, 0.5 * (T[0, 0] + T[1, 1] + T[2, 2] - 1.0))
