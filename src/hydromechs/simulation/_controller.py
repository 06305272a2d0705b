"""Controllers: what gives commands, at its own rate."""

from __future__ import annotations

import abc
import copy
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from hydromechs.model import State
from hydromechs.registry import Described
from hydromechs.values import positive

if TYPE_CHECKING:
    from ._simulation import Simulation

Commands: TypeAlias = Mapping[str, float] | Sequence[float] | np.ndarray | None
"""Commands by actuator name, held inputs too (those not named stay), or all commands in order, or None for no change."""


class Measured(NamedTuple):
    """Last reading of a sensor."""

    frame: str
    """Name of the frame or body that it is mounted on; empty if there is none."""
    values: np.ndarray
    """Its values, in the order of its channels, shape (n,); NaN before a run begins."""
    labels: tuple[str, ...] = ()
    """Names of its channels."""


class Controller(Described, abc.ABC):
    """Base class of controllers. Their whole memory must be in `memory`, so that a run can be resumed.

    Scenario files have the arguments of its constructor as keys; what a class annotates there is checked.
    """

    period: float
    """Time between two of its calls [s]."""
    memory: np.ndarray = np.zeros(0)
    """Memory, shape (nm,), from its start on; part of the state of a simulation."""
    signals: Mapping[str, str] = MappingProxyType({})
    """Recorded variables besides its commands, name to unit, as {"reference.x": "m"}; fixed once it has started."""
    signal_values: np.ndarray = np.zeros(0)
    """Values of its signals at its last call, in their order, shape (ns,); a simulation sets them to NaN before the first."""
    measured: Mapping[str, Measured] = MappingProxyType({})
    """Sensors by name, set by their owner before `start` and each call; those without a reading yet are absent then."""
    notes: Sequence[str] = ()
    """Facts about it once it has started, as its margins, for the summary of a run."""
    messages: Sequence[str] = ()
    """Messages of its last call, for the messages of the run."""

    def start(self, simulation: Simulation) -> None:
        """Called once for each simulation before the first call: to look up names, to compile.

        Take nothing from the simulation's present state: a run that is resumed starts elsewhere.

        Args:
            simulation: The simulation that it will control.
        """

    @abc.abstractmethod
    def __call__(self, state: State) -> Commands:
        """Commands at a state."""

    def idle(self, state: State) -> None:
        """Advance while control is off: measurements continue, nothing is commanded, and signals are NaN.

        Args:
            state: The state.
        """
        self.signal_values, self.messages = np.full(len(self.signals), np.nan), ()


class FunctionController(Controller):
    """A function of the state as a controller. It must not remember anything.

    Args:
        function: From the state to commands.
    """

    def __init__(self, function: Callable[[State], Commands], period: float) -> None:
        self.function, self.period = function, positive(period, "period")

    def __call__(self, state: State) -> Commands:
        return self.function(state)

    def __repr__(self) -> str:
        return getattr(self.function, "__name__", repr(self.function))


def as_controller(controller: Any, period: float | None) -> Controller | None:
    """Convert a caller's controller: a `Controller`, or a function and a period.

    `controller`: what was given, or None; `period`: time between two calls [s], for a function.
    """
    if controller is None:
        if period is not None:
            raise ValueError(f"period is {period!r}, but there is no controller; leave it out, or give a controller")
        return None
    if isinstance(controller, type):
        name = controller.__name__
        raise TypeError(f"controller is the class {name}, must be an object of it: {name}(...)")
    if isinstance(controller, Controller):
        if not hasattr(controller, "period"):
            raise TypeError(
                f"controller {type(controller).__name__} has no period: set the time between two of its calls [s], "
                "period = 0.02 in its class, or self.period"
            )
        if period is not None and positive(period, "period") != float(controller.period):
            raise ValueError(
                f"period is {period:g} s, but the controller {type(controller).__name__} has a period of "
                f"{controller.period:g} s; leave period out"
            )
        return controller
    if not callable(controller):
        raise TypeError(f"controller is {controller!r}, must be a hydromechs.Controller or a function of the state")
    remembers = [name for name in ("memory", "start", "period") if hasattr(controller, name)]
    if remembers and not isinstance(controller, type(as_controller)):
        raise TypeError(
            f"controller {type(controller).__name__} has {', '.join(remembers)}: derive its class from hydromechs.Controller, "
            "so that a run can be resumed"
        )
    if period is None:
        raise ValueError("the controller has no period: give the time between two of its calls, period=0.02")
    return FunctionController(controller, period)


def own_controller(controller: Controller) -> Controller:
    """A controller for one simulation alone: a copy, so that others with the same object do not mix with it.

    `controller`: what `as_controller` gave; a function remembers nothing and stays as it is.
    """
    if isinstance(controller, FunctionController):
        return controller
    try:
        return copy.deepcopy(controller)
    except Exception as error:
        raise TypeError(
            f"controller {type(controller).__name__} cannot be copied for the simulation: {error}; "
            "open files and devices in its start, which runs on the copy"
        ) from error


def signals_of(controller: Controller, signals: Mapping[str, str]) -> np.ndarray:
    """Values of a controller's signals, a copy, shape (ns,); `signals` are those that it had when it started."""
    values = np.array(controller.signal_values, dtype=float)
    if values.shape != (len(signals),):
        raise ValueError(f"signal_values must have shape ({len(signals)},) ({', '.join(signals)}), got {values.shape}")
    return values
