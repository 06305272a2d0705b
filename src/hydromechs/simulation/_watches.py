"""Monitors with messages once per run: unexplained energy, undetermined forces, joints far beyond their limits."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hydromechs.recording import STORED_ENERGIES

from ._plant import Plant

SHARE = 0.02
"""Unexplained energy that is reported, as a fraction of the exchanged energy [-]."""
ROUNDING = 1e-8
"""Unexplained energy that may be rounding error, as a fraction of the maximum stored energy [-]."""
PASSIVE = "contact"
"""Cause that stores and dissipates energy but supplies none, so that its work is never positive."""


class EnergyWatch:
    """Monitor of the energy residual and the work of contacts during a run.

    The exchanged energy is the sum of the ranges of all stored energies and works, plus the initial kinetic energy. Net
    changes are unsuitable, because those of a bouncing ball return to zero.

    `causes`: names of the causes of work.
    """

    def __init__(self, causes: Sequence[str]) -> None:
        self._passive = list(causes).index(PASSIVE) if PASSIVE in causes else None
        self._low, self._high, self._start = np.zeros(0), np.zeros(0), 0.0
        self._first: tuple[float, float] | None = None  # residual and work of contacts in the first sample
        self._last = (0.0, 0.0)  # time and residual of the newest sample
        self._residual, self._supplied = 0.0, 0.0
        self._jump = (0.0, 0.0, 0.0)  # largest change of the residual between samples, its start and end time

    def update(self, times: np.ndarray, block: Mapping[str, np.ndarray]) -> None:
        """Process samples in order of time. `block`: recorded variables, keyed by name, shape (n, ...) each."""
        stored = [block[name] for name in STORED_ENERGIES]
        work = block.get("work", np.zeros((len(times), 0)))  # a mechanism without forces has no work
        columns = np.column_stack([*stored, work])
        residual = block["energy_residual"]
        passive = np.zeros(len(times)) if self._passive is None else work[:, self._passive]
        if self._first is None:
            self._first, self._last = (residual[0], passive[0]), (times[0], residual[0])
            self._low = self._high = columns[0]
            self._start = float(sum(block[name][0] for name in STORED_ENERGIES if name.startswith("kinetic")))
        self._low = np.minimum(self._low, columns.min(axis=0))
        self._high = np.maximum(self._high, columns.max(axis=0))
        since = residual - self._first[0]
        self._residual = max((self._residual, since.max(), since.min()), key=abs)
        self._supplied = max(self._supplied, float((passive - self._first[1]).max()))
        before = np.concatenate([[self._last[1]], residual[:-1]])
        k = int(np.argmax(np.abs(residual - before)))
        if abs(residual[k] - before[k]) > abs(self._jump[0]):
            self._jump = (residual[k] - before[k], float(times[k - 1]) if k else self._last[0], float(times[k]))
        self._last = (float(times[-1]), residual[-1])

    def messages(self, remedy: str, damped: bool = False) -> list[str]:
        """Return warnings about unexplained energy; empty if this energy is small or values are not finite.

        `remedy`: advice as an imperative. `damped`: True for a method with intended numerical damping, whose losses are not
        reported.
        """
        if self._first is None or not np.isfinite([self._residual, self._supplied, *self._low, *self._high]).all():
            return []
        exchanged = float((self._high - self._low).sum()) + self._start
        stored = len(STORED_ENERGIES)
        large = float(np.abs([self._low[:stored], self._high[:stored]]).max(initial=0.0))
        limit = max(SHARE * exchanged, ROUNDING * large)
        share = f"of the exchanged energy of {exchanged:.3g} J (limit {100 * SHARE:g} %)"
        out = []
        if abs(self._residual) > limit and not (damped and self._residual < 0.0):
            goes = "appear unexplained" if self._residual > 0.0 else "disappear unexplained"
            out.append(
                f"energy residual: {abs(self._residual):.3g} J {goes}, {100 * abs(self._residual) / exchanged:.2g} % {share}, "
                f"mostly from t = {self._jump[1]:g} s to {self._jump[2]:g} s; {remedy}"
            )
        if self._supplied > limit:
            out.append(
                f"contacts supply {self._supplied:.3g} J, {100 * self._supplied / exchanged:.2g} % {share}, "
                f"although they can only store and dissipate energy; {remedy}"
            )
        return out


class FreeForces:
    """Monitor of `constraint_free`, condensed to intervals. `groups`: names of the constraint groups."""

    def __init__(self, groups: Sequence[str]) -> None:
        self._groups = tuple(groups)
        self._spans: list[list[list[float]]] = [[] for _ in groups]  # for each group: first and last interval
        self._count = [0] * len(self._groups)
        self._most, self._last = np.zeros(len(self._groups)), np.zeros(len(self._groups))
        self._t = -np.inf

    def look(self, times: np.ndarray, free: np.ndarray) -> None:
        """Process samples in order of time. `free`: numbers of forces that were set to 0, shape (n, groups)."""
        self._most = np.maximum(self._most, free.max(axis=0, initial=0.0))
        before = np.concatenate([self._last[None], free[:-1]])
        for k, spans in enumerate(self._spans):
            for i in np.flatnonzero((free[:, k] > 0.0) != (before[:, k] > 0.0)):
                if free[i, k] > 0.0:
                    spans[:] = [*spans[:1], [float(times[i]), np.inf]]
                    self._count[k] += 1
                else:
                    spans[-1][1] = float(times[i])
        self._last, self._t = free[-1], float(times[-1])

    def messages(self) -> list[str]:
        """Return one line for each group with undetermined forces."""
        out = []
        for name, spans, count, most in zip(self._groups, self._spans, self._count, self._most, strict=True):
            if not spans:
                continue
            times = [f"{begin:g} s to {min(end, self._t):g} s" for begin, end in spans]
            when = times[0] if count == 1 else f"{times[0]}, {count} times, the last {times[-1]}"
            out.append(
                f"t = {when}: the constraints {name} are redundant; up to {most:.0f} constraint "
                "forces are undetermined and were set to 0 (`constraint_free` in the recording)"
            )
        return out


FAR = 0.05
"""Fraction of the travel by which a joint must exceed a limit to be reported [-]."""


class SoftStops:
    """Monitor of joints whose stops have default parameters, derived from the limits and inertias in the model."""

    def __init__(self, plant: Plant) -> None:
        assumed: list[Any] = [c for c in plant.components if getattr(c, "assumed", False)]
        parts = [(c, plant.model.joint_part(c.joint)) for c in assumed]
        self._joints = [(c, part) for c, part in parts if part.joint.nv == 1]
        self._at = [part.q.start for _, part in self._joints]
        self._lower = np.array([c.lower for c, _ in self._joints])
        self._upper = np.array([c.upper for c, _ in self._joints])
        travel = self._upper - self._lower
        self._allowed = FAR * np.where(np.isfinite(travel), travel, 1.0)

    def described(self) -> list[dict[str, Any]]:
        """Return the joints with their limits for a program in another language."""
        out = []
        for (c, part), at, low, high, allowed in zip(
            self._joints, self._at, self._lower, self._upper, self._allowed, strict=True
        ):
            limits = [float(x) if math.isfinite(x) else None for x in (low, high)]
            own = {"joint": c.joint, "unit": part.joint.unit, "stiffness": c.stiffness, "allowed": float(allowed)}
            out.append({**own, "at": at, "limits": limits})
        return out

    def look(self, q: np.ndarray) -> list[str]:
        """Return messages for a configuration, shape (nq,), once for each joint."""
        if not self._joints:
            return []
        beyond = np.maximum(self._lower - q[self._at], q[self._at] - self._upper)
        said = []
        for k in np.flatnonzero(beyond > self._allowed):
            c, part = self._joints[k]
            unit = part.joint.unit
            limit = self._upper[k] if q[self._at[k]] > self._upper[k] else self._lower[k]
            stiff = f"{c.stiffness:.3g} {'N m' if unit == 'rad' else 'N'}/{unit}"
            said.append(
                f"joint {c.joint!r} is {beyond[k]:.3g} {unit} beyond its limit of {limit:.4g} {unit}, because the default "
                f"stop of {stiff} is too soft; define stops for the joint"
            )
            self._allowed[k] = math.inf
        return said
