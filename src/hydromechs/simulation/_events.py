"""Events: something that crosses a level, or a time; what happens then, and what is said of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ._observe import ENERGIES, FORCES, KEPT, coordinates, schema
from ._plant import Plant

__all__ = ["Event", "Log", "place", "quantity", "watchable"]


class Log:
    """What a run has to say."""

    def __init__(self, messages: list[str]):
        self.messages = list(messages)
        """One line each."""

    def say(self, text: str) -> None:
        """Add a line."""
        self.messages.append(text)


def place(name: str, variables: Mapping[str, Sequence[str]], labels: Mapping[str, Sequence[str]]) -> tuple[str, tuple[int, ...]]:
    """The variable and the indices that the name of a quantity means: "position.gripper.z" is ("position", (5, 2)).

    Args:
        name: A variable and the names of its coordinates, joined by dots; names may have dots in them.
        variables: Dimensions of each variable, without time.
        labels: Names along each dimension.
    """
    head, _, rest = name.partition(".")
    if head not in variables:
        raise KeyError(f"no quantity {head!r}; there are {', '.join(variables)}")
    left: list[tuple[int, str]] = []

    def indices(rest: str, dims: Sequence[str]) -> tuple[int, ...] | None:
        left.append((len(dims), rest))
        if not dims:
            return None if rest else ()
        names = labels[dims[0]]
        for label in sorted((n for n in names if rest == n or rest.startswith(f"{n}.")), key=len, reverse=True):
            inner = indices(rest[len(label) + 1 :], dims[1:])
            if inner is not None:
                return (list(names).index(label), *inner)
        return None

    dims = tuple(variables[head])
    found = indices(rest, dims)
    if found is not None:
        return head, found
    missing, rest = min(left)
    if not missing:
        raise KeyError(f"{name!r}: {rest!r} at its end is too much")
    before = name.removesuffix(rest).removesuffix(".")
    known = labels[dims[len(dims) - missing]]
    raise KeyError(f"{name!r}: after {before!r} comes one of {', '.join(known) or 'none, there are none'}")


def watchable(plant: Plant) -> dict[str, tuple[str, ...]]:
    """Dimensions of the quantities that an event can watch.

    Args:
        plant: What is simulated.
    """
    computed = {"q", "v", "position", "velocity", "depth", *KEPT, *FORCES, *ENERGIES} - {"saturated"}
    return {"time": (), **{v.name: v.dims[1:] for v in schema(plant) if v.name in computed}}


def quantity(sim, name: str):
    """A function () → float of a simulation's present value of a recorded quantity, such as "depth.vehicle" or "position.gripper.z".

    Args:
        sim: The simulation.
        name: A scalar variable of the recording, or a variable and the names of its coordinates, joined by dots.
    """
    head, index = place(name, watchable(sim.plant), coordinates(sim.plant))
    direct = {"time": lambda: sim._t, "q": lambda: float(sim._q[index]), "v": lambda: float(sim._x[index])}
    return direct.get(head, lambda: float(sim.observe()[head][index]))


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that happens when a quantity crosses a level (use the quantity "time" for an instant)."""

    name: str
    """What to call it."""
    quantity: str
    """A recorded quantity, as "depth.vehicle", "q.elbow", "contact_force.foot_1 on floor" or "time"."""
    level: float
    """Level that it crosses, in the quantity's unit."""
    direction: str = "either"
    """"rising", "falling" or "either"."""
    stop: bool = False
    """Whether the run ends there."""
    command: tuple[tuple[str, float], ...] = ()
    """Commands to set when it happens, by actuator."""
    wrench: tuple[tuple[str, tuple[float, ...]], ...] = ()
    """Wrenches to put on bodies when it happens (the bodies must be `external`), by body."""

    def __post_init__(self):
        if self.direction not in ("rising", "falling", "either"):
            raise ValueError(f"event {self.name!r}: direction is {self.direction!r}, must be rising, falling or either")

    def watched(self, sim) -> Watched:
        """The event in a simulation."""
        return Watched(self, sim)


class Watched:
    """An event of a running simulation; it looks at the sign at every look of the run and then finds the instant."""

    def __init__(self, event: Event, sim):
        self.event, self.sim = event, sim
        self.value = quantity(sim, event.quantity)
        self.last = self.value() - event.level

    def check(self, before, log: Log) -> str | None:
        """See whether it happened since the state `before`; why the run stops, or None.

        Args:
            before: State at the last look.
            log: Where to say it.
        """
        now = self.value() - self.event.level
        last, self.last = self.last, now
        rising = last < 0.0 <= now
        falling = last > 0.0 >= now
        if not {"rising": rising, "falling": falling, "either": rising or falling}[self.event.direction]:
            return None
        instant = self._locate(before, last)
        log.say(f"t = {instant.t:.6f} s: {self.event.name} ({self.event.quantity} crosses {self.event.level:g})")
        if self.event.command:
            self.sim.command = dict(self.event.command)
        for body, wrench in self.event.wrench:
            self.sim.set_wrench(body, wrench)
        if not self.event.stop:
            return None
        self.sim._t, self.sim._q, self.sim._x = instant.t, instant.q, np.concatenate([instant.v, instant.internal])
        return f"{self.event.name} at t = {instant.t:.6f} s"

    def _locate(self, before, sign: float):
        """The state at the crossing: the interval is halved, each time with steps of the integrator from its start."""
        sim = self.sim
        after, low, high = sim.state, 0.0, sim._t - before.t
        h, memory = sim.step_size, (sim._t, sim._q, sim._x, sim._command)
        start, found = before, after
        try:
            while high - low > 1e-9 * max(1.0, abs(after.t)):
                middle = 0.5 * (low + high)
                if high - low > 2.0 * h:  # to whole steps first
                    middle = low + h * round((middle - low) / h)
                sim._t, sim._q, sim._x = start.t, start.q, np.concatenate([start.v, start.internal])
                sim._command, sim._steady = before.command, None
                sim.step_size = min(h, before.t + middle - start.t)
                sim._advance(before.t + middle, None)
                here = sim.state
                if (self.value() - self.event.level) * sign > 0.0:
                    low, start = middle, here
                else:
                    high, found = middle, here
        finally:
            sim.step_size = h
            sim._t, sim._q, sim._x, sim._command = memory
            sim._steady = None
        return found
