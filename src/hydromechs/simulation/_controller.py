"""Controllers, which set commands at individual rates."""

from __future__ import annotations

import abc
import copy
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from hydromechs.dynamics import kinematics
from hydromechs.model import Model, State
from hydromechs.registry import Described
from hydromechs.values import positive

if TYPE_CHECKING:
    from ._simulation import Simulation


Commands: TypeAlias = Mapping[str, float] | Sequence[float] | np.ndarray | None
"""Commands and held inputs keyed by name (others do not change), all commands in order, or None for no change."""


class Measured(NamedTuple):
    """Last reading of a sensor."""

    frame: str
    """Name of the frame or body that carries the sensor; empty if the sensor has no frame."""
    values: np.ndarray
    """Values in the order of the channels, shape (n,); NaN before a run begins."""
    labels: tuple[str, ...] = ()
    """Names of the channels."""


class Controller(Described, abc.ABC):
    """Base class of controllers. All memory of a controller must be in `memory`, so that a run can be resumed.

    Arguments of the constructor are keys in scenario files; their annotations are checked.
    """

    period: float
    """Time between two calls [s]."""
    batched: ClassVar[bool] = False
    """True if one call serves all n worlds: arrays of the state, memory, measurements and signals have shape (n, ...), and
    commands and messages are given for each world. A simulation has one world."""
    memory: np.ndarray = np.zeros(0)
    """Memory, shape (nm,), available after `start`; part of the state of a simulation."""
    signals: Mapping[str, str] = MappingProxyType({})
    """Units of recorded signals, keyed by name, such as {"reference.x": "m"}; constant after `start`."""
    signal_values: np.ndarray = np.zeros(0)
    """Values of the signals at the last call, in order, shape (ns,); NaN before the first call."""
    measured: Mapping[str, Measured] = MappingProxyType({})
    """Readings keyed by sensor, set before `start` and each call; calls omit sensors without a reading."""
    notes: Sequence[str] = ()
    """Properties known after `start`, such as stability margins, for the summary of a run."""
    messages: Sequence[Any] = ()
    """Messages of the last call, which are added to those of the run; a batched controller gives one sequence per world."""

    def start(self, simulation: Simulation) -> None:
        """Prepare the controller, for example look up names; called once per simulation, before the first call.

        Do not use the current state of the simulation, because a resumed run starts at a different state.

        Args:
            simulation: Simulation to control.
        """

    @abc.abstractmethod
    def __call__(self, state: State) -> Commands:
        """Return the commands for a state."""

    def idle(self, state: State) -> None:
        """Advance while control is off: measurements continue, no commands are set, and signals are NaN."""
        self.signal_values, self.messages = np.full((*np.shape(state.t), len(self.signals)), np.nan), ()


class FunctionController(Controller):
    """Controller that calls a function without memory. `function`: function of the state that returns commands."""

    def __init__(self, function: Callable[[State], Commands], period: float) -> None:
        self.function, self.period = function, positive(period, "period")

    def __call__(self, state: State) -> Commands:
        return self.function(state)

    def __repr__(self) -> str:
        return getattr(self.function, "__name__", repr(self.function))


def as_controller(controller: Any, period: float | None) -> Controller | None:
    """Return a controller for an argument, which is a `Controller`, a function with a period, or None.

    `controller`: argument to convert. `period`: time between two calls of a function [s].
    """
    if controller is None:
        if period is not None:
            raise ValueError(f"period is {period!r}, but there is no controller; omit period, or pass a controller")
        return None
    if isinstance(controller, type):
        name = controller.__name__
        raise TypeError(f"controller is the class {name}, must be an instance: {name}(...)")
    if isinstance(controller, Controller):
        if not hasattr(controller, "period"):
            raise TypeError(
                f"controller {type(controller).__name__} has no period; set the time between two calls [s] with "
                "period = 0.02 in the class, or self.period"
            )
        if period is not None and positive(period, "period") != float(controller.period):
            raise ValueError(
                f"period is {period:g} s, but the controller {type(controller).__name__} has a period of "
                f"{controller.period:g} s; omit period"
            )
        return controller
    if not callable(controller):
        raise TypeError(f"controller is {controller!r}, must be a hydromechs.Controller or a function of the state")
    remembers = [name for name in ("memory", "start", "period") if hasattr(controller, name)]
    if remembers and not isinstance(controller, type(as_controller)):
        raise TypeError(
            f"controller {type(controller).__name__} has {', '.join(remembers)}; derive the class from hydromechs.Controller, "
            "so that a run can be resumed"
        )
    if period is None:
        raise ValueError("the controller has no period; set the time between two calls [s], such as period=0.02")
    return FunctionController(controller, period)


def own_controller(controller: Controller) -> Controller:
    """Return a copy of a controller for one simulation, so that simulations with the same controller do not interfere.

    `controller`: result of `as_controller`. A function has no memory and is not copied.
    """
    if isinstance(controller, FunctionController):
        return controller
    try:
        return copy.deepcopy(controller)
    except Exception as error:
        raise TypeError(
            f"controller {type(controller).__name__} cannot be copied for the simulation: {error}; "
            "open files and devices in start, which runs on the copy"
        ) from error


def signals_of(controller: Controller, signals: Mapping[str, str], *worlds: int) -> np.ndarray:
    """Return a copy of the signal values of a controller, shape (*worlds, ns); `signals` are its signals after `start`."""
    values, shape = np.array(controller.signal_values, dtype=float), (*worlds, len(signals))
    if values.shape != shape:
        raise ValueError(f"signal_values must have shape {shape} ({', '.join(signals)}), got {values.shape}")
    return values


def check_free_in_world(model: Model, body: int) -> None:
    """Raise `ValueError` unless the coordinates of the free joint of a body are its pose in the world.

    They differ if the joint has an offset origin, or if its parent moves or is not at the origin of the world.
    """
    name, parent = model.body_names[body], model.parent[body]
    if parent >= 0 and model.moves[parent]:
        text = f"the free joint of {name!r} is on the moving body {model.body_names[parent]!r}"
        raise ValueError(f"{text}; remove the parent, because control requires the pose in the world")
    q = model.initial().q.copy()
    q[model.q_slices[body]] = (0, 0, 0, 1, 0, 0, 0)
    kin = kinematics(model, q, np.zeros(model.nv))
    R, p = np.array(kin.R_WB[body], dtype=float), np.array(kin.p_WB[body], dtype=float)
    if np.abs(p).max() > 1e-9 or np.abs(R - np.eye(3)).max() > 1e-9:
        xyz = ", ".join(f"{x:.3g}" for x in p)
        raise ValueError(
            f"the free joint of {name!r} has an offset origin, ({xyz}) m, but control requires the pose in the world; "
            "remove the origin, and set position and orientation of the joint"
        )
