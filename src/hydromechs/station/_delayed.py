"""Vehicle controlled over an acoustic link, with delayed commands, delayed telemetry, and a ghost."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hydromechs.errors import SimulationDiverged
from hydromechs.model import State
from hydromechs.simulation import Simulation

from ._channel import AcousticChannel, AcousticLink
from ._ghost import Ghost, Telemetry, discard
from ._operator import Inputs, Operator
from ._telemetry import Snapshot

REFRESH = 1.0
"""Minimum interval between restarts of the ghost from telemetry [s]; messages in between are only displayed."""


class TelemetryMessage(NamedTuple):
    """Telemetry of a vehicle, with data for the ghost and for the display."""

    telemetry: Telemetry
    asked: Operator
    """Last operator input that has reached the vehicle."""
    snapshot: Snapshot


class DueInputs(Inputs):
    """Inputs of the pilot of a ghost: at each tick, the last message that will have arrived."""

    def __init__(self, asked: Operator) -> None:
        self.asked = asked
        """Input that applies before the first message in transit arrives."""
        self.ghost: Ghost | None = None
        """Ghost whose messages in transit contain the inputs."""

    def at(self, tick: int) -> Operator:
        """Return the input that will have reached the vehicle at a tick."""
        due = [] if self.ghost is None else [m.content for m in self.ghost.under_way if m.arrives <= tick]
        return due[-1] if due else self.asked


class Delayed:
    """Both directions of a link between an operator and a vehicle, and the ghost of the vehicle. A tick is a control period.

    At each tick, call `tell`; the inputs of the vehicle then call `carry`. After the tick, call `predict`. If no commands are
    lost, the prediction is bit-identical to the vehicle, including sensor noise.

    Args:
        link: Delay, message time and loss of each direction.
        simulation: Simulation of the same scenario for the ghost; its pilot reads `inputs`.
        inputs: Inputs of the pilot of the ghost.
        period: Length of a tick [s].
        state: Present state of the vehicle.
        snapshot: Snapshot to display until telemetry arrives.
    """

    def __init__(
        self, link: AcousticLink, simulation: Simulation, inputs: DueInputs, period: float, state: State, snapshot: Snapshot
    ) -> None:
        self.link = link
        """Delay, message time and loss of each direction."""
        self.down, self.up = AcousticChannel(link, period), AcousticChannel(replace(link, seed=link.seed + 1), period)
        self.last_received = snapshot
        """Snapshot from the last telemetry."""
        self.problem = ""
        """Reason why the ghost has stopped; empty while the prediction works."""
        self._tick = round(state.t / period)
        self._asked, self._received = inputs.asked, -1
        self._refresh = round(REFRESH / period)
        simulation.reset(_without_signals(state))
        # its pilot receives messages through its inputs
        self.ghost = Ghost(simulation, period, deliver=lambda simulation, content: None, start=self._tick, on_message=discard)
        """Ghost, which predicts the vehicle at the time when a command sent now arrives."""
        self._inputs = inputs
        self._inputs.ghost = self.ghost

    def tell(self, tick: int, state: State, snapshot: Callable[[], Snapshot]) -> None:
        """Send telemetry of the vehicle if the channel is free, and receive telemetry at the station.

        Args:
            tick: Present tick.
            state: State of the vehicle before the messages of this tick are delivered.
            snapshot: Function that returns the displayed data of this state.
        """
        if self.up.takes(tick):
            telemetry = Telemetry(tick, _without_signals(state), self._received)
            self.up.send(tick, TelemetryMessage(telemetry, self._asked, snapshot()))
        for message in self.up.receive(tick):
            content: TelemetryMessage = message.content
            self.last_received = content.snapshot
            if content.telemetry.tick - self.ghost.last >= self._refresh:
                self.ghost.receive(content.telemetry)
                self._inputs.asked = content.asked

    def carry(self, tick: int, asked: Operator) -> Operator:
        """Send the operator input `asked`; return the input that has reached the vehicle by now."""
        self._tick = tick
        self.ghost.sent(self.down.send(tick, asked))
        for message in self.down.receive(tick):
            self._received, self._asked = message.number, message.content
        return self._asked

    def predict(self) -> None:
        """Advance the ghost to the time at which a command sent now arrives."""
        try:
            self.ghost.predict(self._tick + self.down.latency)
            self.problem = ""
        except (SimulationDiverged, ValueError) as error:  # telemetry brings it back
            self.problem = f"the ghost has stopped until the next telemetry: {error}".splitlines()[0]

    @property
    def asked(self) -> Operator:
        """Last operator input that has reached the vehicle."""
        return self._asked


def _without_signals(state: State) -> State:
    """Return a state as transmitted, without signals, which serve only recordings."""
    return replace(state, signal=np.zeros(0))
