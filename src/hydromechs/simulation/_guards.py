"""Guards of events in compiled code: at each tick and sample, did a quantity cross its level?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hydromechs.compiler import Argument, Entries, Recipe, Routine
from hydromechs.recording import ATTITUDE, angle_difference, find_quantity, period_of
from hydromechs.spatial import where
from hydromechs.values import Array, Scalar

from ._events import Event
from ._observe import coordinates, quantities
from ._programs import PlantPrograms

DIRECT = ("q", "v", "internal_state", "command", "held_input", "signal")
"""Variables of the recording that are in the arrays of a mission."""
IN_PYTHON = ("time", "work", "energy_residual", "orientation")
"""Quantities without a compiled guard: instants, and what needs the start or the past of a run."""


class _Guard(NamedTuple):
    """One event."""

    event: Event
    head: str
    place: tuple[int, ...]


class Guards:
    """The guards of events, but for those of `IN_PYTHON`.

    Args:
        events: Events of a mission; others are ignored.
        signals: Signals of its controllers, name to unit.
    """

    def __init__(self, programs: PlantPrograms, events: Sequence[Event], signals: Mapping[str, str]) -> None:
        self.programs, self.plant = programs, programs.plant
        variables, labels = quantities(self.plant, signals), coordinates(self.plant, signals)
        found = [(event, *find_quantity(event.quantity, variables, labels)) for event in events]
        self.rows = [_Guard(*row) for row in found if row[1] not in IN_PYTHON]
        computed = {"R_WB" if g.head in ATTITUDE else g.head for g in self.rows}
        self._computed = sorted(computed - set(DIRECT))

    @property
    def events(self) -> list[Event]:
        """Events with compiled guards."""
        return [g.event for g in self.rows]

    def add(self, r: Routine, t: Entries, parts: Mapping[str, Entries]) -> None:
        """Add a look at the present instant: `parts` has q, x, inputs, command, held_input, signal, last, paused."""
        given, wanted = [], []
        if self._computed:
            recipe = self._observer
            places = [r.scratch(a.name, a.size) for a in recipe.outputs]
            r.call(recipe, [t, parts["q"], parts["x"], parts["inputs"]], places)
            given, wanted = places, [Argument(a.name, a.shape) for a in recipe.outputs]
        own = [name for name in DIRECT if any(g.head == name for g in self.rows)]
        nv = self.plant.model.nv
        x = parts["x"]
        entries = {
            **parts,
            "v": x._replace(size=nv),
            "internal_state": Entries(x.array, x.start + nv, x.size - nv),
        }
        given += [entries[name] for name in own]
        wanted += [Argument(name, (entries[name].size,)) for name in own]
        r.call(self._look(tuple(wanted)), [*given, parts["last"], parts["paused"]], [parts["last"], parts["paused"]])

    @cached_property
    def _observer(self) -> Recipe:
        return self.programs.observing(self._computed).recipe

    def _look(self, inputs: tuple[Argument, ...]) -> Recipe:
        """Whether a guard crossed 0 since the last look; then the world pauses, and the last values stay."""
        n = len(self.rows)

        def look(last: Array, paused: Scalar, **found: Array) -> tuple[Array, Scalar]:
            out, now = np.asarray(paused)[()], []
            for g, before in zip(self.rows, last, strict=True):
                period = period_of(g.event.quantity)
                off = angle_difference(_value(g, found) - g.event.level, period)
                rising = where(before < 0.0, where(off >= 0.0, 1.0, 0.0), 0.0)
                falling = where(before > 0.0, where(off <= 0.0, 1.0, 0.0), 0.0)
                crossed = {"rising": rising, "falling": falling, "either": rising + falling}[g.event.direction]
                if period is not None:
                    crossed = where(abs(off - before) > 0.5 * period, 0.0, crossed)
                out = where(crossed != 0.0, 1.0, out)
                now.append(off)
            return np.array([where(out != 0.0, a, b) for a, b in zip(last, now, strict=True)]), out

        arguments = (*inputs, Argument("last", (n,)), Argument("paused", ()))
        identity = repr([(g.head, g.place, g.event.level, g.event.direction) for g in self.rows])
        outputs = Argument("last_after", (n,)), Argument("paused_after", ())
        return Recipe("guards", look, arguments, outputs, f"{identity} {inputs}", rarely_called=True)


def _value(g: _Guard, found: Mapping[str, Array]) -> Scalar:
    """Value of a guarded quantity."""
    if g.head not in ATTITUDE:
        return np.asarray(found[g.head])[g.place]
    R = found["R_WB"][g.place[0]]
    name, degrees = g.head.removesuffix("_deg"), g.head.endswith("_deg")
    if name == "roll":
        out = np.arctan2(R[2, 1], R[2, 2])
    elif name == "pitch":
        out = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    elif name == "heading":
        out = np.arctan2(R[1, 0], R[0, 0])
    else:
        out = np.arctan2(np.hypot(R[0, 2], R[1, 2]), R[2, 2])
    return out * (180.0 / np.pi) if degrees else out
