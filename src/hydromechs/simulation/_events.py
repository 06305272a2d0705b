"""Events: something that crosses a level, or a time; what happens then, and what is said of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hydromechs.recording import place

from ._observe import ENERGIES, FORCES, KEPT, coordinates, schema
from ._plant import Plant

__all__ = ["Event", "Log", "happened", "quantity", "watchable"]


class Log:
    """What a run has to say."""

    def __init__(self, messages: list[str]):
        self.messages = list(messages)
        """One line each."""

    def say(self, text: str) -> None:
        """Add a line."""
        self.messages.append(text)


def watchable(plant: Plant) -> dict[str, tuple[str, ...]]:
    """Dimensions of the quantities that an event can watch.

    Args:
        plant: What is simulated.
    """
    computed = {"q", "v", "position", "velocity", "depth", *KEPT, *FORCES, *ENERGIES} - {"saturated"}
    return {"time": (), **{v.name: v.dims[1:] for v in schema(plant) if v.name in computed}}


def quantity(sim, name: str):
    """A function () → float of a simulation's present value of a recorded quantity, such as "depth.vehicle".

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
    grasp: tuple[str, ...] = ()
    """Names of grasps that close when it happens."""
    release: tuple[str, ...] = ()
    """Names of grasps that open when it happens."""

    def __post_init__(self):
        if isinstance(self.level, bool) or not isinstance(self.level, int | float) or not math.isfinite(self.level):
            raise ValueError(f"event {self.name!r}: level is {self.level!r}, must be a finite number")
        for key in ("command", "wrench"):
            value = getattr(self, key)
            object.__setattr__(self, key, tuple(value.items()) if isinstance(value, Mapping) else tuple(map(tuple, value)))
        for body, wrench in self.wrench:
            if len(wrench) != 6 or not all(math.isfinite(x) for x in wrench):
                raise ValueError(f"event {self.name!r}: the wrench on {body!r} is {wrench!r}, must be 6 finite numbers")
        for key in ("grasp", "release"):
            value = getattr(self, key)
            object.__setattr__(self, key, (value,) if isinstance(value, str) else tuple(value))
        if self.direction not in ("rising", "falling", "either"):
            raise ValueError(f"event {self.name!r}: direction is {self.direction!r}, must be rising, falling or either")

    @property
    def acts(self) -> bool:
        """Whether anything is different after it."""
        return bool(self.stop or self.command or self.wrench or self.grasp or self.release)

    def watched(self, sim) -> Watched:
        """The event in a simulation."""
        return Watched(self, sim)


class Watched:
    """An event of a running simulation; it looks at the sign at every look of the run and then finds the instant."""

    def __init__(self, event: Event, sim):
        self.event, self.sim = event, sim
        self.value = quantity(sim, event.quantity)
        self.last = self.value() - event.level

    def instant(self, before):
        """The state at which it happened since the state `before`, or None.

        Args:
            before: State at the last look.
        """
        now, last = self.value() - self.event.level, self.last
        rising, falling = last < 0.0 <= now, last > 0.0 >= now
        crossed = {"rising": rising, "falling": falling, "either": rising or falling}[self.event.direction]
        return self._locate(before, last) if crossed else None

    def _locate(self, before, sign: float):
        """The state at the crossing: the interval is halved, each time with steps of the integrator from its start."""
        sim, h = self.sim, self.sim.step_size
        start, found = before, sim.state
        after = found
        try:
            while found.t - start.t > 1e-9 * max(1.0, abs(found.t)):
                middle = 0.5 * (start.t + found.t)
                if found.t - start.t > 2.0 * h:  # to whole steps first
                    middle = h * round(middle / h)
                _put(sim, start)
                sim._advance(middle, None)
                if (self.value() - self.event.level) * sign > 0.0:
                    start = sim.state
                else:
                    found = sim.state
        finally:
            _put(sim, after)
        return found


def _put(sim, state) -> None:
    """Put a simulation into a state of this run; its commands, wrenches and grasps stay."""
    sim._t, sim._q, sim._x = state.t, state.q, np.concatenate([state.v, state.internal])


def happened(watch, before, log: Log) -> str | None:
    """See which events happened since the state `before`, up to the first that acts; why the run stops, or None.

    The simulation goes back to the instant of an event that acts, and on from there.

    Args:
        watch: The watched events.
        before: State at the last look.
        log: Where to say it.
    """
    found = [(instant, w) for instant, w in ((w.instant(before), w) for w in watch) if instant is not None]
    acting = [instant for instant, w in found if w.event.acts]
    first = min(acting, key=lambda state: state.t) if acting else None
    stopped = None
    if first is not None:
        _put(watch[0].sim, first)
        together = first.t + 1e-8 * max(1.0, abs(first.t))
        found = [(instant, w) for instant, w in found if instant.t <= together]
    for instant, watched in sorted(found, key=lambda pair: pair[0].t):
        event = watched.event
        log.say(f"t = {instant.t:.6f} s: {event.name} ({event.quantity} crosses {event.level:g})")
        _act(watched.sim, event, log)
        stopped = stopped or (f"{event.name} at t = {instant.t:.6f} s" if event.stop else None)
    for watched in watch:
        watched.last = watched.value() - watched.event.level
    return stopped


def _act(sim, event: Event, log: Log) -> None:
    """Do what an event asks for."""
    if event.command:
        sim.command = dict(event.command)
    for body, wrench in event.wrench:
        sim.set_wrench(body, wrench)
    for name in event.release:
        sim.release(name)
    for name in event.grasp:
        lost = sim.grasp(name)
        log.say(f"t = {sim.state.t:.6f} s: grasp {name!r} closes; {lost:.3g} J are lost in the impact")
