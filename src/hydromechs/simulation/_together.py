"""Several controllers side by side, each with its own rate and in its own time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hydromechs.errors import placed
from hydromechs.integrators import is_multiple, whole_steps
from hydromechs.model import State
from hydromechs.values import positive

from ._controller import Controller
from ._held import settled_targets

if TYPE_CHECKING:
    from ._simulation import Simulation


class Part:
    """One of several controllers, and when it acts.

    Args:
        controller: The controller.
        name: Put before its signals; nothing if empty.
        start: Time from which it acts [s].
        end: Time from which it does not any more [s].
    """

    def __init__(self, controller: Controller, name: str, start: float, end: float) -> None:
        self.controller, self.name, self.start, self.end = controller, name, start, end

    @property
    def signals(self) -> dict[str, str]:
        """Its signals with its name before them."""
        before = f"{self.name}." if self.name else ""
        return {before + name: unit for name, unit in self.controller.signals.items()}


class Together(Controller):
    """Several controllers side by side, one for the vehicle and one for the arm, or one after the other. A controller.

    A part acts from `start` on until `end`; its commands then stay. Where two give the same command, that of the later in the
    list counts. Its signals are those of the parts, NaN where a part does not act yet, and held where it does not any more.

    Args:
        parts: The controllers, or `Part` with name and times.
        period: Time between two calls [s]; those of the parts are integer multiples of it.
    """

    def __init__(self, *, parts: Sequence[Controller | Part], period: float = 0.05) -> None:
        self.period = positive(period, "period")
        self.parts = [part if isinstance(part, Part) else Part(part, "", -np.inf, np.inf) for part in parts]
        if not self.parts:
            raise ValueError("parts is empty; give at least one controller")
        for part in self.parts:
            whole_steps(part.controller.period, self.period, "period of a part")

    def start(self, simulation: Simulation) -> None:
        """Start the parts.

        Args:
            simulation: The simulation that it will control.
        """
        signals: dict[str, str] = {}
        for part in self.parts:
            part.controller.measured = self.measured
            with placed(part.name):
                part.controller.start(simulation)
            twice = next((name for name in part.signals if name in signals), None)
            if twice is not None:
                raise ValueError(f"two parts have the signal {twice!r}; give one of them a name, as name: arm")
            signals |= part.signals
        self.signals = signals
        said: dict[str, list[str]] = {}
        for k, part in enumerate(self.parts):
            for note in part.controller.notes:
                said.setdefault(note, []).append(part.name or f"part {k} ({type(part.controller).__name__})")
        self.notes = [f"{', '.join(names)}: {note}" for note, names in said.items()]
        self._layout = simulation.plant.layout
        led = np.zeros(len(self.parts) * len(self._layout.commands))  # 1 if a part that has not ended drives the actuator
        self.memory = np.concatenate([*(p.controller.memory for p in self.parts), led])
        self._sizes = np.cumsum([len(p.controller.memory) for p in self.parts])

    def __call__(self, state: State) -> dict[str, float]:
        """Commands of the parts whose time it is."""
        return self._ask(state, lambda part: part(state))

    def idle(self, state: State) -> None:
        """The parts whose time it is are idle."""
        self._ask(state, lambda part: part.idle(state))

    def _ask(self, state: State, ask: Callable[[Controller], Any]) -> dict[str, float]:
        """Ask the parts whose time it is something; their answers."""
        out: dict[str, float] = {}
        *memories, moved = np.split(self.memory, self._sizes)
        led = moved.reshape(len(self.parts), -1).copy()
        shown: np.ndarray = self.signal_values
        values = np.split(shown, np.cumsum([len(p.controller.signals) for p in self.parts])[:-1])
        said: list[str] = []
        for k, part in enumerate(self.parts):
            if part.start <= state.t < part.end and is_multiple(state.t, part.controller.period, self.period):
                part.controller.memory, part.controller.signal_values = memories[k], values[k]
                part.controller.measured = self.measured
                given = ask(part.controller)
                if given is not None and not isinstance(given, Mapping):
                    name = type(part.controller).__name__
                    raise ValueError(f"part {k} ({name}) gives its commands in order; of several, each must give them by name")
                out |= dict(given or {})
                led[k, [i for i, name in enumerate(self._layout.commands) if name in (given or ())]] = 1.0
                said += part.controller.messages
                memories[k], values[k] = np.array(part.controller.memory), np.array(part.controller.signal_values)
        for k, part in enumerate(self.parts):
            if state.t >= part.end and led[k].any():  # nothing updates its servo targets from here on
                names = {name for name, on in zip(self._layout.commands, led[k], strict=True) if on and name not in out}
                out |= settled_targets(self._layout, state.command, state.held, state.t, names)
                led[k] = 0.0
        self.memory = np.concatenate([*memories, led.ravel()])
        self.signal_values = np.concatenate(values)
        self.messages = said
        return out
