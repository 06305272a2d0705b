"""Controllers: set commands at their own rate."""

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
"""Commands and held inputs by name (others stay), or all commands in order, or None for no change."""


class Measured(NamedTuple):
    """Last reading of a sensor."""

    frame: str
    """Name of the frame or body that carries it; empty if there is none."""
    values: np.ndarray
    """Its values, in the order of its channels, shape (n,); NaN before a run begins."""
    labels: tuple[str, ...] = ()
    """Names of its channels."""


class Controller(Described, abc.ABC):
    """Base class of controllers. Their whole memory must be in `memory`, so that a run can be resumed.

    Arguments of its constructor are keys in scenario files; their annotations are checked.
    """

    period: float
    """Time between two of its calls [s]."""
    batched: ClassVar[bool] = False
    """True if each call is for all n worlds: arrays of the state, memory, measured and signal values are of shape (n, ...),
    commands and messages of each world. A simulation is one world."""
    memory: np.ndarray = np.zeros(0)
    """Memory, shape (nm,), available once started; part of the state of a simulation."""
    signals: Mapping[str, str] = MappingProxyType({})
    """Recorded variables besides its commands, name to unit, such as {"reference.x": "m"}; fixed once it has started."""
    signal_values: np.ndarray = np.zeros(0)
    """Values of its signals at its last call, in order, shape (ns,); NaN before the first call."""
    measured: Mapping[str, Measured] = MappingProxyType({})
    """Sensors by name, set before `start` and each call; sensors without a reading yet are absent during calls."""
    notes: Sequence[str] = ()
    """Facts known after its start, such as its margins, for the summary of a run."""
    messages: Sequence[Any] = ()
    """Messages of its last call, for the messages of the run: texts, or if it is batched, a sequence of them for each world."""

    def start(self, simulation: Simulation) -> None:
        """Look up names and compile; called once per simulation, before the first call.

        Do not use the simulation's current state: a resumed run starts elsewhere.

        Args:
            simulation: The simulation that it will control.
        """

    @abc.abstractmethod
    def __call__(self, state: State) -> Commands:
        """Return the commands at a state."""

    def idle(self, state: State) -> None:
        """Advance while control is off: measurements continue, nothing is commanded, and signals are NaN."""
        self.signal_values, self.messages = np.full((*np.shape(state.t), len(self.signals)), np.nan), ()


class FunctionController(Controller):
    """A function of the state as a controller. It must have no memory. `function`: from the state to commands."""

    def __init__(self, function: Callable[[State], Commands], period: float) -> None:
        self.function, self.period = function, positive(period, "period")

    def __call__(self, state: State) -> Commands:
        return self.function(state)

    def __repr__(self) -> str:
        return getattr(self.function, "__name__", repr(self.function))


def as_controller(controller: Any, period: float | None) -> Controller | None:
    """Convert a caller's controller: a `Controller`, or a function and a period.

    `controller`: the given controller, or None; `period`: time between two calls [s], for a function.
    """
    if controller is None:
        if period is not None:
            raise ValueError(f"period is {period!r}, but there is no controller; omit it, or give a controller")
        return None
    if isinstance(controller, type):
        name = controller.__name__
        raise TypeError(f"controller is the class {name}, must be an instance: {name}(...)")
    if isinstance(controller, Controller):
        if not hasattr(controller, "period"):
            raise TypeError(
                f"controller {type(controller).__name__} has no period: set the time between two of its calls [s], "
                "period = 0.02 in its class, or self.period"
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
            f"controller {type(controller).__name__} has {', '.join(remembers)}: derive its class from hydromechs.Controller, "
            "so that a run can be resumed"
        )
    if period is None:
        raise ValueError("the controller has no period: set the time between two of its calls, period=0.02")
    return FunctionController(controller, period)


def own_controller(controller: Controller) -> Controller:
    """Return a copy of a controller for one simulation, so that others with the same object do not interfere.

    `controller`: result of `as_controller`; a function has no memory and is not copied.
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


def signals_of(controller: Controller, signals: Mapping[str, str], *worlds: int) -> np.ndarray:
    """Return values of a controller's signals, a copy, shape (*worlds, ns); `signals` are those at its start."""
    values, shape = np.array(controller.signal_values, dtype=float), (*worlds, len(signals))
    if values.shape != shape:
        raise ValueError(f"signal_values must have shape {shape} ({', '.join(signals)}), got {values.shape}")
    return values


def check_free_in_world(model: Model, body: int) -> None:
    """Raise `ValueError` unless position and orientation of a body's free joint are those of the body in the world.

    They differ if the joint has an offset origin, or is on a body that can move or is not at the world's origin.
    """
    name, parent = model.body_names[body], model.parent[body]
    if parent >= 0 and model.moves[parent]:
        text = f"the free joint of {name!r} is on {model.body_names[parent]!r}, which moves"
        raise ValueError(f"{text}; control needs its pose in the world: remove the parent")
    q = model.initial().q.copy()
    q[model.q_slices[body]] = (0, 0, 0, 1, 0, 0, 0)
    kin = kinematics(model, q, np.zeros(model.nv))
    R, p = np.array(kin.R_WB[body], dtype=float), np.array(kin.p_WB[body], dtype=float)
    if np.abs(p).max() > 1e-9 or np.abs(R - np.eye(3)).max() > 1e-9:
        xyz = ", ".join(f"{x:.3g}" for x in p)
        raise ValueError(
            f"the free joint of {name!r} has an offset origin, ({xyz}) m; control needs its pose in the world: remove the "
            "origin, and give the joint's position and orientation"
        )
