"""Recorded quantities at the current instant of a mission, in compiled code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from hydromechs.compiler import Argument, Entries, Recipe, Routine
from hydromechs.recording import ATTITUDE, STORED_ENERGIES, find_terms
from hydromechs.values import Array, Scalar

from ._observe import coordinates, quantities
from ._programs import PlantPrograms

DIRECT = ("q", "v", "internal_state", "work", "command", "held_input", "signal")
"""Recorded variables that are part of the arrays of a mission."""


class QuantitiesNow:
    """Named quantities as functions of the arrays of a mission; `energy_residual` includes its initial value.

    `names`: names as in `find_terms`, or "time", but not the orientation. `signals`: units of the signals of blocks, keyed by
    signal. `upright`: bodies for which the vertical in body axes, the last row of R_WB, is appended to the values.
    """

    def __init__(
        self, programs: PlantPrograms, names: Sequence[str], signals: Mapping[str, str], upright: Sequence[int] = ()
    ) -> None:
        self._programs, self._plant = programs, programs.plant
        variables, labels = quantities(self._plant, signals), coordinates(self._plant, signals)
        self._terms = [find_terms(name, variables, labels) for name in names]
        self._terms += [("R_WB", [(i, 2, axis)]) for i in upright for axis in range(3)]
        used: set[str] = set()
        for head, _ in self._terms:
            audit = {*STORED_ENERGIES, *({"work"} & variables.keys())}
            used |= audit if head == "energy_residual" else {"R_WB" if head in ATTITUDE else head}
        self._direct = [name for name in DIRECT if name in used]
        self._computed = sorted(used - {*DIRECT, "time"})
        self.identity = repr((self._terms, self._direct, self._computed))
        """Identifier of the quantities."""

    def call(
        self,
        r: Routine,
        t: Entries,
        parts: Mapping[str, Entries],
        function: Callable[..., Any],
        kept: Mapping[str, Entries],
        name: str,
        identity: str,
    ) -> None:
        """Append a call of a function of (t, values, kept) that returns new values of `kept`.

        `t`: entry of the time. `parts`: entries of q, x, inputs, command, held_input and signal. `kept`: arrays that the
        function reads and updates, in the order of its arguments. `identity`: identifier of the function.
        """
        given, arguments = [t], [Argument("t", ())]
        if self._computed:
            recipe = self._programs.observing(self._computed).recipe
            given += [r.scratch(a.name, a.size) for a in recipe.outputs]
            arguments += [Argument(a.name, a.shape) for a in recipe.outputs]
            r.call(recipe, [t, parts["q"], parts["x"], parts["inputs"]], given[1:])
        x, nv, causes = parts["x"], self._plant.model.nv, len(self._plant.layout.causes)
        own = {"v": x._replace(size=nv), "internal_state": Entries(x.array, x.start + nv, x.size - nv)}
        places = {**parts, **own, "work": Entries(x.array, x.start + x.size - causes, causes)}
        given += [places[name] for name in self._direct]
        arguments += [Argument(name, (places[name].size,)) for name in self._direct]
        held = [Argument(f"kept_{name}", (e.size,)) for name, e in kept.items()]

        def program(**found: Array) -> tuple[Any, ...]:
            values = [self._value(found, *row) for row in self._terms]
            return tuple(function(np.asarray(found["t"])[()], values, *(found[a.name] for a in held)))

        results = tuple(a._replace(name=f"{a.name}_after") for a in held)
        recipe = Recipe(
            name, program, (*arguments, *held), results, f"{self.identity} {arguments} {identity}", rarely_called=True
        )
        r.call(recipe, [*given, *kept.values()], list(kept.values()))

    @staticmethod
    def _value(found: Mapping[str, Array], head: str, terms: Sequence[tuple[int, ...]]) -> Scalar:
        if head == "time":
            return np.asarray(found["t"])[()]
        if head == "energy_residual":
            stored = sum((np.asarray(found[name])[()] for name in STORED_ENERGIES), 0.0)
            return stored - sum(found["work"], 0.0) if "work" in found else stored
        if head in ATTITUDE:
            return sum((_angle(head, found["R_WB"][i]) for (i,) in terms), 0.0)
        return sum((np.asarray(found[head])[place] for place in terms), 0.0)


def _angle(name: str, R: Array) -> Scalar:
    """Return the angle `name` of `ATTITUDE` for a rotation R_WB."""
    angle, degrees = name.removesuffix("_deg"), name.endswith("_deg")
    if angle == "roll":
        out = np.arctan2(R[2, 1], R[2, 2])
    elif angle == "pitch":
        out = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    elif angle == "heading":
        out = np.arctan2(R[1, 0], R[0, 0])
    else:
        out = np.arctan2(np.hypot(R[0, 2], R[1, 2]), R[2, 2])
    return out * (180.0 / np.pi) if degrees else out
