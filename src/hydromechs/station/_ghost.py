"""Ghost: prediction of a vehicle, simulated ahead of real time from delayed telemetry and the commands in transit."""

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
"""Function that applies the content of a message to a vehicle: commands, or setpoints in the memory of its controller."""

OnMessage: TypeAlias = Callable[[str], None]
"""Function that receives a message from a controller."""


def as_commands(simulation: Simulation, content: Any) -> None:
    """Apply commands of all actuators, in order or keyed by name; the commands remain in force."""
    simulation.command = content


def warn(text: str) -> None:
    """Report a message from the controller of a vehicle as a warning."""
    warnings.warn(text, stacklevel=3)


def discard(text: str) -> None:
    """Ignore a message from the controller of a ghost, because the controller of the vehicle also sends it."""


def advance(
    simulation: Simulation,
    contents: Iterable[Any],
    duration: float,
    deliver: Deliver = as_commands,
    on_message: OnMessage = warn,
) -> State:
    """Simulate one tick of a vehicle: deliver messages that have arrived, then advance with the controller at its own rate.

    The result is bit-identical to `Simulation.run`, but events are ignored and nothing is recorded.

    Args:
        simulation: Simulation of the vehicle.
        contents: Contents of arrived messages, in order.
        duration: Length of the tick [s].
        deliver: Function that applies a message to the vehicle. Defaults to setting commands.
        on_message: Function that receives the messages of the controller. Defaults to warnings.
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
    """State of a vehicle as reported by telemetry."""

    tick: int
    """Tick of the reported state, before messages that arrive at this tick are delivered."""
    state: State
    """Reported part of the state: always q and v. The ghost replaces empty arrays by its own prediction, and also the
    time t if it is 0, and `control` if it is 1 in a state without `internal`."""
    received: int | None = None
    """Number of the last delivered message, or -1 before the first; None if unreported, so that no message counts as lost."""
    control: bool | None = None
    """True if the controller is active; None if unknown or if the state contains this information."""


class Ghost:
    """Prediction of a vehicle by a simulation of the same plant that runs ahead of real time.

    The ghost starts from the last telemetry and simulates to any tick. Messages in transit are delivered at the ticks of their
    arrival. `ghost.predict(now + channel.latency)` returns the vehicle at the time when a command sent now arrives. Pilots
    steer by this prediction: a command acts on the ghost immediately, as if there were no delay. All messages that reach the
    vehicle until then have already been sent, so no input of the pilot is predicted. Earlier times, including the present, are
    on the same path and need no further simulation.

    The prediction is exact if plant, step and water are identical. A message counts as received until telemetry shows that it
    was lost. Between telemetry messages, the path is extended by one tick at a time. If telemetry differs from the
    prediction, the whole interval is simulated again. Events of a scenario are ignored; telemetry contains their effects.

    Args:
        simulation: Simulation of the vehicle, reserved for the ghost, at its initial state. An on-board controller is the
            controller of the simulation and keeps its whole state in its memory.
        tick: Length of a tick [s], an integer multiple of the step.
        deliver: Function that applies a message to the vehicle. Defaults to setting commands.
        start: Tick of the present state of the simulation.
        on_message: Function that receives the messages of the controller of the ghost, before the vehicle sends them.
            Defaults to warnings.
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
        """Tick of the last telemetry that was used, or the initial tick."""
        return self._first

    @property
    def under_way(self) -> tuple[Message, ...]:
        """Messages that the vehicle presumably receives, and whose effect telemetry has not shown yet."""
        return tuple(self._under_way)

    @property
    def _head(self) -> int:
        return self._first + len(self._path) - 1

    def sent(self, message: Message | None) -> None:
        """Register a message returned by `AcousticChannel.send`; None, from a busy channel, is ignored."""
        if message is None or message.arrives < self._first:
            return
        self._under_way.append(message)
        del self._path[message.arrives - self._first + 1 :]  # the path after this is different now

    def receive(self, telemetry: Telemetry) -> State:
        """Restart from telemetry, and return the predicted state at its tick; outdated telemetry is ignored.

        Telemetry that is bit-identical to the prediction changes nothing and costs nothing. Messages that should have arrived
        but did not are lost; the interval from the last telemetry is then simulated again without them. The predicted state
        replaces parts that are missing in the telemetry, such as actuator states, commands and controller integrals.
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
        """Drop messages that telemetry shows to be lost, and the path after the first of them."""
        if telemetry.received is None:
            return
        come = [m for m in self._under_way if m.arrives >= telemetry.tick or m.number <= telemetry.received]
        numbers = {m.number for m in come}
        lost = [m.arrives for m in self._under_way if m.number not in numbers]
        if lost:
            self._under_way = come
            del self._path[min(lost) - self._first + 1 :]

    def predict(self, tick: int) -> State:
        """Return the predicted state at a tick, before messages that arrive at this tick are delivered.

        The tick must not precede the last telemetry. Beyond now + latency, the last message remains in force.
        """
        if tick < self._first:
            raise ValueError(f"tick {tick} precedes the last telemetry, of tick {self._first}; use the telemetry instead")
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
