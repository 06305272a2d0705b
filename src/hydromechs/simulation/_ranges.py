"""Input values from callers, as mappings or in order, and messages about commands outside their ranges."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from hydromechs.errors import FieldError
from hydromechs.values import nearest, number

from ._controller import Commands
from ._layout import Layout
from ._plant import Plant

ROUNDING = 1e-9
"""Fraction of a limit by which a command may exceed the limit [-]."""


class CommandRanges:
    """Ranges of commands, and counts of commands outside their ranges.

    `layout`: layout of the inputs of a plant.
    """

    def __init__(self, layout: Layout) -> None:
        self.slots = dict(zip(layout.commands, layout.input_slots, strict=False))
        self.counts: Counter[str] = Counter()
        """Number of commands outside their range, keyed by actuator."""
        limits = np.array([s.limits for s in self.slots.values()], dtype=float).reshape(-1, 2)
        slack = ROUNDING * np.abs(np.where(np.isfinite(limits), limits, 0.0))
        self._lower, self._upper = limits[:, 0] - slack[:, 0], limits[:, 1] + slack[:, 1]

    def fault(self, name: str, value: float) -> str:
        """Return the problem of a command of actuator `name`; empty if the command is in range or `name` is unknown."""
        slot = self.slots.get(name)
        k = None if slot is None else list(self.slots).index(name)
        if slot is None or k is None or self._lower[k] <= value <= self._upper[k]:
            return ""
        unit = "" if slot.unit == "1" else f" {slot.unit}"
        rest = "" if callable(slot.start) else f"; its rest value is {slot.start:g}{unit}"
        within = f"{slot.limits[0]:g} to {slot.limits[1]:g}{unit}"
        return f"the command of {name!r} is {value:g}{unit}, outside its range {within}{rest}"

    def faults(self, given: Mapping[str, float]) -> dict[str, str]:
        """Return the problems of commands outside their ranges, keyed by actuator."""
        said = {name: self.fault(name, value) for name, value in given.items()}
        return {name: text for name, text in said.items() if text}

    def found(self, counts: np.ndarray, values: np.ndarray) -> list[str]:
        """Add counts of commands out of range, with their first values, shape (na,) each; return messages of new actuators."""
        out = []
        for k, name in enumerate(self.slots) if counts.any() else ():
            if counts[k]:
                out += [] if name in self.counts else [self.fault(name, float(values[k]))]
                self.counts[name] += int(counts[k])
        counts[:] = 0.0
        return out

    def look(self, values: np.ndarray) -> list[str]:
        """Count commands outside their ranges; return messages of actuators without earlier messages.

        `values`: all commands, shape (na,), or commands of many worlds and steps, shape (..., na).
        """
        out = []
        bad = (values < self._lower) | (values > self._upper)
        for k, name in enumerate(self.slots) if bad.any() else ():
            n = int(np.count_nonzero(bad[..., k]))
            if n and name not in self.counts:
                out.append(self.fault(name, float(values[..., k][bad[..., k]][0])))
            if n:
                self.counts[name] += n
        return out


class HeldRanges:
    """Ranges of the held inputs of a plant; switches of constraints are 0 or 1."""

    def __init__(self, plant: Plant) -> None:
        layout = plant.layout
        self.names, first = layout.held, len(layout.commands)
        self.limits = np.array([s.limits for s in layout.input_slots[first:]], dtype=float).reshape(-1, 2)
        self.switches = np.zeros(len(self.names), dtype=bool)
        self.switches[[i - first for k in plant.constraining for i in layout.u[k].values() if i >= first]] = True

    def check(self, values: np.ndarray) -> None:
        """Raise an error for the first held input out of range; NaN is permitted.

        `values`: all held inputs, shape (nh,), or held inputs of many worlds and steps, shape (..., nh).
        """
        bad = (values < self.limits[:, 0]) | (values > self.limits[:, 1]) | (self.switches & (values > 0.0) & (values < 1.0))
        for k in np.flatnonzero(bad.reshape(-1, len(self.names)).any(axis=0)) if bad.any() else ():
            low, high = self.limits[k]
            must = "0 (open) or 1 (closed)" if self.switches[k] else f"between {low:g} and {high:g}"
            raise ValueError(f"held input {self.names[k]!r} is {values[..., k][bad[..., k]][0]:g}, must be {must}")


def by_name(given: Any, what: str) -> dict[str, float]:
    """Return a mapping of names to numbers after checking it; error messages contain `what`."""
    if not isinstance(given, Mapping):
        raise FieldError(what, given, "must map names of actuators to numbers")
    single = {name: x.item() if isinstance(x, np.ndarray) and x.size == 1 else x for name, x in given.items()}
    return {name: number(x, f"{what} {name!r}") for name, x in single.items()}


def input_values(given: Commands, present: np.ndarray, names: tuple[str, ...], what: str, t: float) -> np.ndarray:
    """Return input values from a caller, shape (n,).

    `given`: a mapping of some inputs, or all values in order. `present`: values of omitted inputs, shape (n,). `what`: kind of
    input in error messages, such as "actuator". `t`: time in error messages [s].
    """
    values = present.copy()
    if isinstance(given, Mapping):
        for name, value in by_name(given, what).items():
            if name not in names:
                raise KeyError(f"unknown {what} {name!r}{nearest(name, names)}")
            values[names.index(name)] = value
    else:
        try:
            values = np.array(given, dtype=float)
        except (TypeError, ValueError):
            must = f"must be {len(names)} numbers ({', '.join(names)}), or a mapping of names to numbers"
            raise FieldError(f"values of the {what}s", given, must) from None
        if values.shape != present.shape:
            raise ValueError(f"values of the {what}s must have shape {present.shape} ({', '.join(names)}), got {values.shape}")
    bad = ~np.isfinite(values)
    if bad.any():
        k = int(np.argmax(bad))
        raise ValueError(f"t = {t:g} s: the value of {what} {names[k]!r} is {values[k]}, must be finite")
    return values


def input_rows(given: Any, worlds: int, names: tuple[str, ...], commands: int) -> np.ndarray:
    """Return input values of a batched controller in many worlds, shape (worlds, len(names)); NaN for omitted inputs.

    `given`: a mapping of some inputs to a number, or one number per world; the first `commands` inputs in order, shape
    (worlds, commands); or None.
    """
    out = np.full((worlds, len(names)), np.nan)
    if given is None:
        return out
    if not isinstance(given, Mapping):
        values = np.asarray(given, dtype=float)
        if values.shape != (worlds, commands):
            raise ValueError(f"commands in order must have shape ({worlds}, {commands}), got {values.shape}")
        given = dict(zip(names[:commands], values.T, strict=True))
    for name, x in given.items():
        if name not in names:
            raise KeyError(f"unknown actuator {name!r}{nearest(name, names)}")
        values = np.asarray(x, dtype=float)
        if values.shape not in ((), (worlds,)):
            raise ValueError(f"values of actuator {name!r} have shape {values.shape}, must have shape () or ({worlds},)")
        if not np.isfinite(values).all():
            raise ValueError(f"the value of actuator {name!r} must be finite in all worlds")
        out[:, names.index(name)] = values
    return out
