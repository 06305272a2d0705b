"""Ghost: the future vehicle, simulated ahead of real time from delayed telemetry and the commands in transit."""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from hydromechs.errors import SimulationDiverged
from hydromechs.integrators import next_multiple, reached, whole_steps
from hydromechs.model import State
from hydromechs.simulation import Simulation
from hydromechs.values import positive

from ._channel import Message

Deliver: TypeAlias = Callable[[Simulation, Any], None]
"""Function that applies a message to a vehicle: it sets commands, or setpoints in its controller's memory."""

OnMessage: TypeAlias = Callable[[str], None]
"""Receiver of a controller's messages."""


def as_commands(simulation: Simulation, content: Any) -> None:
    """Apply a message with commands of all actuators, in order or by name; they remain in force."""
    simulation.command = content


def warn(text: str) -> None:
    """Report a vehicle's messages as warnings."""
    warnings.warn(text, stacklevel=3)


def discard(text: str) -> None:
    """Drop messages of a ghost's controller: the vehicle's own controller sends them."""


def advance(
    simulation: Simulation,
    contents: Iterable[Any],
    duration: float,
    deliver: Deliver = as_commands,
    on_message: OnMessage = warn,
) -> State:
    """Simulate a vehicle's next tick: deliver messages that have arrived, then advance, with the controller at its own rate.

    It equals `Simulation.run`, to the last bit, but has no events and no recording.

    Args:
        contents: Contents of arrived messages, in order.
        duration: Length of the tick [s].
        deliver: Action of a message.
        on_message: Receives the messages of its controller. Defaults to warnings.
    """
    for content in contents:
        deliver(simulation, content)
    period, step = simulation.period, simulation.step_size
    if period is None:
        return simulation.step(None, duration)
    state, t_end = simulation.state, simulation.state.t + duration
    while not reached(state.t, t_end, step):
        for text in simulation.control():
            on_message(text)
        state = simulation.step(None, min(t_end, next_multiple(state.t, period, step)) - state.t)
    return state


class Telemetry(NamedTuple):
    """Telemetry of a vehicle."""

    tick: int
    """Tick of the telemetry, before messages that arrive at that tick are delivered."""
    state: State
    """Reported part of its state: always q and v; other arrays may be empty, and the ghost uses its own. A t of 0 counts as
    unreported, as does a control of 1 in a state without `internal`: the time is that of the tick, and control that of the
    ghost."""
    received: int | None = None
    """Number of the last delivered message, -1 if none; None if unreported, so that no message counts as lost."""
    control: bool | None = None
    """True if its controller is active; None if it follows from the state or is unknown."""


class Ghost:
    """The future vehicle: a simulation of the same plant that runs ahead of real time.

    From the last telemetry it simulates to any tick with the messages in transit, each delivered at the tick of its arrival.
    `ghost.predict(now + channel.latency)` is the vehicle at the time when a command sent now arrives. Pilots steer by this
    prediction: a command acts on the ghost at once, as if there were no delay. Everything that reaches the vehicle until then
    is already sent, so that no input of the pilot is predicted. Earlier times, including the present, come from the same path
    at no cost.

    With the vehicle's own plant, step and water it is exact. A message counts as received until telemetry shows that it was
    lost. Between telemetry messages one tick is added at a time; if telemetry differs from the prediction, the whole interval
    is simulated again. Events of a scenario are ignored: their effects come with the telemetry.

    Args:
        simulation: The station's model of the vehicle, reserved for the ghost. Its present state is the start. An
            on-board controller is its controller, with its whole state in its memory.
        tick: Length of a tick [s], an integer number of steps.
        deliver: Action of a message on the vehicle. Defaults to setting commands.
        start: Tick of the simulation's present state.
        on_message: Receives the messages of the ghost's controller, before the vehicle's sends them. Defaults to warnings.
    """

    def __init__(
        self,
        simulation: Simulation,
        tick: float,
        *,
        deliver: Deliver = as_commands,
        start: int = 0,
        on_message: OnMessage = warn,
    ) -> None:
        self.simulation, self.deliver, self.on_message = simulation, deliver, on_message
        self.tick = positive(tick, "tick")
        whole_steps(self.tick, simulation.step_size, "tick")
        self._first, self._path = start, [simulation.state]
        self._at: int | None = start  # tick of the simulation itself; None if it failed
        self._under_way: list[Message] = []

    @property
    def last(self) -> int:
        """Tick of the last telemetry used, or of the start."""
        return self._first

    @property
    def under_way(self) -> tuple[Message, ...]:
        """Messages that the vehicle presumably receives and whose effect telemetry has not shown yet."""
        return tuple(self._under_way)

    @property
    def _head(self) -> int:
        return self._first + len(self._path) - 1

    def sent(self, message: Message | None) -> None:
        """Register a message to the vehicle, from the channel's `send`; None, from a busy channel, is ignored."""
        if message is None or message.arrives < self._first:
            return
        self._under_way.append(message)
        del self._path[message.arrives - self._first + 1 :]  # the path after this is different now

    def receive(self, telemetry: Telemetry) -> State:
        """Restart from newer telemetry; older telemetry is ignored. Return the predicted state at its time.

        Telemetry equal to the prediction, to the last bit, changes nothing and costs nothing. Messages that should have arrived
        by then but did not are lost; the interval from the last telemetry is simulated again without them. Parts missing in the
        telemetry are taken from there: states of actuators, commands and integrals of controllers need not be transmitted.
        """
        tick, state = telemetry.tick, telemetry.state
        if tick < self._first:
            return self._path[0]
        self._leave_out_lost(telemetry)
        try:
            own = self.predict(tick)
        except SimulationDiverged:  # telemetry corrects it
            own = replace(self._path[-1], t=self._path[0].t + (tick - self._first) * self.tick)
        arrays = {f.name: getattr(state, f.name) for f in fields(state) if f.name not in ("t", "control")}
        given: dict[str, Any] = {name: x for name, x in arrays.items() if np.size(x)}
        if state.t:
            given["t"] = state.t
        if telemetry.control is not None:
            given["control"] = float(telemetry.control)
        elif np.size(state.internal) or not state.control:
            given["control"] = state.control
        start = replace(own, **given)
        if start == own and tick <= self._head:  # as predicted
            del self._path[: tick - self._first]
        else:
            self._at = None
            self._path, self._at = [self.simulation.reset(start)], tick
        self._first = tick
        self._under_way = [m for m in self._under_way if m.arrives >= tick]
        return own

    def _leave_out_lost(self, telemetry: Telemetry) -> None:
        """Drop messages that telemetry shows to be lost, and the path from there on."""
        if telemetry.received is None:
            return
        come = [m for m in self._under_way if m.arrives >= telemetry.tick or m.number <= telemetry.received]
        numbers = {m.number for m in come}
        lost = [m.arrives for m in self._under_way if m.number not in numbers]
        if lost:
            self._under_way = come
            del self._path[min(lost) - self._first + 1 :]

    def predict(self, tick: int) -> State:
        """Return the vehicle at a tick, before messages that arrive there are delivered.

        The tick is that of the last telemetry or a later one. Beyond now + latency the last message stays in force.
        """
        if tick < self._first:
            raise ValueError(f"tick is {tick}, before the last telemetry, of {self._first}; use the telemetry instead")
        while self._head < tick:
            if self._at != self._head:
                self.simulation.reset(self._path[-1])
            self._at = None
            due = [m.content for m in self._under_way if m.arrives == self._head]
            try:
                self._path.append(advance(self.simulation, due, self.tick, self.deliver, self.on_message))
            except (KeyError, TypeError, ValueError):  # invalid content is reported once and then ignored
                self._under_way = [m for m in self._under_way if m.arrives != self._head]
                raise
            self._at = self._head
        return self._path[tick - self._first]
