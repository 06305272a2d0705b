"""Sources of worlds: compiled steps and the layout of their inputs."""

import abc
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from hydromechs.compiler import NATIVE, Backend
from hydromechs.errors import UnsupportedFeature
from hydromechs.integrators import METHODS, FixedStep, Integrator, Stepper
from hydromechs.model import Model

from ._target import Home, Marched, Target


class WorldMessage(NamedTuple):
    """Message about one world."""

    world: int
    """Index of the world."""
    t: float
    """Time [s]."""
    text: str
    """Text of the message."""


class Place(NamedTuple):
    """Location of an input in the input arrays of the stepper."""

    argument: int
    """Index of the stepper input that contains the entries."""
    at: tuple[int | slice, ...]
    """Index of the entries within the stepper input; () for all entries."""
    shape: tuple[int, ...]
    """Shape of the input in one world."""


class Source(abc.ABC):
    """Mechanism or plant of which worlds are copies."""

    model: Model
    """Model of the mechanism."""
    method: Integrator
    """Integrator."""
    stepper: Stepper
    """Compiled steps of the integrator."""
    nz: int
    """Number of internal states."""
    places: dict[str, Place]
    """Locations of the inputs, keyed by name."""
    opened: dict[str, Place]
    """Locations of open parameters, keyed by name."""
    parameters: dict[str, np.ndarray]
    """Values of open parameters in the model, keyed by name."""
    commands: tuple[str, ...]
    """Names of commands; empty for a mechanism without components."""
    held: tuple[str, ...]
    """Names of held inputs; empty for a mechanism without components."""

    def check_value(self, name: str, values: np.ndarray) -> None:  # noqa: B027  a mechanism takes all
        """Raise `ValueError` if values of an open parameter are invalid in the model, such as a negative mass.

        `name`: name of the parameter. `values`: values in n worlds, shape (n, ...).
        """

    @abc.abstractmethod
    def named(self, inputs: Any) -> dict[str, Any]:
        """Return inputs, keyed by name, from a mapping, a single array, or None."""


class Run:
    """Stepping of worlds, with hooks that subclasses override. `home`: arrays of the worlds."""

    def __init__(self, source: Source, home: Home) -> None:
        self.source, self.home = source, home
        self.seeds = np.zeros(home.worlds, dtype=object)
        """Seed of gusts and waves of each world, integers, shape (worlds,)."""

    @property
    def memory(self) -> Any:
        """Memory of the blocks of each world, shape (worlds, nm)."""
        return self.home.arrays.zeros(self.home.worlds, 0)

    @property
    def sizes(self) -> dict[str, int]:
        """Sizes of additional arrays of `State` that these worlds use, keyed by name."""
        return {}

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """Channel labels of each sensor, keyed by sensor name."""
        return {}

    @property
    def readings(self) -> dict[str, np.ndarray]:
        """Last measurement of each sensor, keyed by name, shape (worlds, n)."""
        return {}

    def begin(self, which: np.ndarray, resumed: bool, start: Mapping[str, np.ndarray]) -> None:
        """Initialise worlds whose configurations and velocities have been set.

        Args:
            which: Indices of the worlds.
            resumed: True if the worlds resume from internal states of an earlier run.
            start: Other arrays of the initial state, keyed by field of `State`, shape (len(which), n). Constraints that its
                held inputs close are already closed. Without held inputs, constraints of the first step are already closed
                in resumed worlds only.
        """
        home = self.home
        for place in self.source.places.values():
            home.put(home.inputs[place.argument], which, np.zeros((len(which), *place.shape)))

    def why(self, world: int) -> str:
        """Return the reason why a world stopped."""
        return "the next step is not finite"

    @property
    def messages(self) -> list[WorldMessage]:
        """Messages of blocks and events, and the reasons for the end of worlds."""
        return [WorldMessage(k, float(self.home.get(self.home.t)[k]), text) for k, text in self.ended.items()]

    @property
    def ended(self) -> dict[int, str]:
        """Reasons why worlds ended early, keyed by index of the world."""
        return {int(k): self.why(int(k)) for k in np.flatnonzero(self.home.frozen)}

    @property
    def failed(self) -> set[int]:
        """Indices of worlds that ended by divergence or an error."""
        return set(np.flatnonzero(self.home.frozen).tolist())

    def check_given(self, driven: Mapping[str, Any]) -> None:
        """Check held inputs and the inputs `driven`, which change with every step."""

    # -- steps ----------------------------------------------------------------------------------------------------------------

    def ready(self, driven: Mapping[str, Any], done: int, steps: int) -> int:
        """Prepare the current instant of all worlds; return the number of steps until the next preparation.

        `driven`: inputs that change with every step, shape (worlds or 1, all steps, ...) each. `done`: number of completed
        steps. `steps`: number of remaining steps.
        """
        return steps

    def step(self, inputs: list[Any], steps: int, stride: int | None) -> Marched:
        """Take steps after `ready` has prepared them."""
        return self.target.march(inputs, steps, stride)

    @property
    def target(self) -> Target:
        """Arrays of the worlds, which must have no blocks."""
        assert isinstance(self.home, Target)
        return self.home

    def march(self, driven: Mapping[str, Any], steps: int, record: int | None) -> Marched:
        """Take steps, with preparation whenever required.

        `driven`: inputs that change with every step, shape (worlds or 1, steps, ...) each. `record`: number of steps
        between recorded states, beginning with the initial state; None to record no states.
        """
        home, done = self.home, 0
        rows_q: list[Any] = []
        rows_x: list[Any] = []
        good: Any = 0 if record is None else home.arrays.zeros(home.worlds)
        while done < steps:
            some = self.ready(driven, done, steps - done)
            stride = None
            if record is not None:
                if not rows_q:
                    rows_q, rows_x = [home.q[:, None].copy()], [home.x[:, None].copy()]
                elif done % record == 0:
                    rows_x[-1][:, -1] = home.x  # constraints that close here are included
                stride = record if done % record == 0 and some % record == 0 else 1
            path = self.step(self._piece(driven, done, some), some, stride)
            if record is not None and stride is not None:
                good = good + path.good
                due = (done + stride * np.arange(1, some // stride + 1)) % record == 0
                rows = np.flatnonzero(due).tolist()
                rows_q.append(path.q if due.all() else path.q[:, rows])
                rows_x.append(path.x if due.all() else path.x[:, rows])
            done += some
        return Marched(home.stack(rows_q, 1), home.stack(rows_x, 1), good) if rows_q else Marched(None, None, good)

    def _piece(self, driven: Mapping[str, Any], done: int, some: int) -> list[Any]:
        out = list(self.home.inputs)
        whole_ones = {}
        for name, x in driven.items():
            place = self.source.places[name]
            if not place.at:
                out[place.argument] = x[:, done : done + some]
                continue
            k = place.argument
            if k not in whole_ones:
                whole_ones[k] = self.home.arrays.repeated(self.home.inputs[k], some)
            whole_ones[k][(slice(None), slice(None), *place.at)] = x[:, done : done + some]
        for k, array in whole_ones.items():
            out[k] = array
        return out


def check_target(source: Source, backend: Backend) -> None:
    """Raise `UnsupportedFeature` if a back end cannot run the worlds of a source."""
    if not isinstance(source.method, FixedStep) and not backend.takes_divided_steps:
        known = ", ".join(name for name, method in METHODS.items() if issubclass(method, FixedStep))
        raise UnsupportedFeature(
            f"integrator {source.method.name!r} is adaptive or multi-step, which target {backend.target!r} does not support; "
            f"use one of {known}, or target='{NATIVE.target}'"
        )
    if source.stepper.loops is not None and not backend.takes_loops:
        raise UnsupportedFeature(
            f"{source.model.name} with {source.model.nb} bodies is compiled as loops over its bodies (form 'rolled'), which "
            f"target {backend.target!r} cannot run; use form='specialised', or target='{NATIVE.target}'"
        )
