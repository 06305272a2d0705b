"""Blocks in NumPy operations: controllers that are compiled for one or many worlds."""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np

from hydromechs.compiler import Compiled, compile_function
from hydromechs.model import Model, State
from hydromechs.values import Array, Scalar, nearest

from ._controller import Controller, Measured
from ._plant import Plant


class Pack:
    """Layout of named arrays in a flat array. `shapes`: shapes of the arrays, keyed by name."""

    def __init__(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        self._places: dict[str, tuple[slice, tuple[int, ...]]] = {}
        at = 0
        for name, shape in shapes.items():
            self._places[name] = (slice(at, at + math.prod(shape)), shape)
            at += math.prod(shape)
        self.size = at
        """Length of the flat array."""

    def views(self, flat: Array) -> dict[str, Array]:
        """Return the arrays as writable views of a flat array, keyed by name."""
        return {name: flat[at].reshape(shape) for name, (at, shape) in self._places.items()}


NUMBERS = 4
"""Maximum number of values in a report."""
NOTHING: Mapping[str, Any] = MappingProxyType({})


class _Named(dict[str, Any]):
    """Dictionary whose error for an unknown name suggests the nearest known name."""

    def __init__(self, label: str, items: Any) -> None:
        super().__init__(items)
        self.label = label

    def __missing__(self, name: object) -> Any:
        raise KeyError(f"{self.label} has no {name!r}{nearest(name, self)}")


class Site(NamedTuple):
    """Context for which a block is prepared."""

    plant: Plant
    """Plant that the block measures or controls."""
    step: float
    """Step of the integrator [s]."""
    start_q: Array
    """Initial configuration of the mission, even in a resumed run, shape (nq,)."""
    measured: Mapping[str, Measured] = NOTHING
    """Sensors, keyed by name, with NaN values in the shape of readings."""

    @property
    def model(self) -> Model:
        """Model of the mechanism."""
        return self.plant.model

    @property
    def actuators(self) -> tuple[str, ...]:
        """Names of the commands in order."""
        return self.plant.layout.commands


class Tick(NamedTuple):
    """Inputs of a block at a tick, as numbers or symbols."""

    t: Scalar
    """Time [s]."""
    first: Scalar
    """Flag, 1 at the first tick of the block in this world, otherwise 0."""
    q: Array
    """Configuration reported by navigation, shape (nq,)."""
    v: Array
    """Velocity reported by navigation, shape (nv,)."""
    inputs: Mapping[str, Scalar]
    """Current commands and held inputs, keyed by name."""
    measured: Mapping[str, Array]
    """Last received values of each sensor in the order of its channels, keyed by sensor, shape (n,); NaN before the first."""
    memory: Mapping[str, Array]
    """Memory of the block, keyed by name; see `TracedBlock.first_memory`."""
    design: Mapping[str, Array]
    """Design values from `prepare`, keyed by name; see `TracedBlock.design`."""


class Update(NamedTuple):
    """Actions of a block at a tick, as numbers or symbols."""

    commands: Mapping[str, Scalar] = NOTHING
    """Values of all commands and held inputs in `TracedBlock.commanded`, keyed by name."""
    memory: Mapping[str, Any] = NOTHING
    """New memory, keyed by name; omitted arrays keep their values."""
    signals: Mapping[str, Scalar] = NOTHING
    """Values of all `signals`, keyed by name."""
    messages: Mapping[str, tuple[Scalar, ...]] = NOTHING
    """Conditions, each followed by up to four numbers of its text, keyed as `message_texts`; nonzero conditions are reported.
    """
    stops: Mapping[str, tuple[Scalar, ...]] = NOTHING
    """Conditions that end the mission, with the numbers of their texts, keyed as `stop_texts`."""


class TracedBlock(Controller):
    """Controller in NumPy operations. `prepare` runs once in Python; `update` is traced, compiled and called at every tick.

    `update` must not branch on values (use `hydromechs.spatial.where`) or store state outside `memory`. With
    `compiled = False`, `update` runs with floats, for example in a debugger.

        class Damping(TracedBlock):
            period = 0.05

            def prepare(self, site):
                self.commanded, self.signals = ("thruster",), {"speed": "m/s"}

            def update(self, tick):
                return Update(commands={"thruster": -20.0 * tick.v[0]}, signals={"speed": tick.v[0]})
    """

    compiled: ClassVar[bool] = True
    """False to run `update` with floats in Python."""
    optimised: ClassVar[bool] = False
    """True if the code runs long enough to justify optimisation by LLVM, which roughly doubles the compile time."""
    first_memory: Mapping[str, Any] = NOTHING
    """Initial memory, numbers or arrays keyed by name; `prepare` may set it."""
    design: Any = NOTHING
    """Design values: numbers or arrays keyed by name, or a dataclass with arrays. `update` reads them from `tick.design`; they
    are inputs of the program, so that new values require no compilation."""
    commanded: tuple[str, ...] = ()
    """Names of the commands and held inputs that the block sets; `prepare` may change them."""
    message_texts: Mapping[str, Callable[..., str]] = NOTHING
    """Functions from four numbers to a message, keyed by name, such as "rejected {0:.0f} times".format."""
    stop_texts: Mapping[str, Callable[..., str]] = NOTHING
    """Functions from four numbers to a message for conditions that end the mission, keyed by name."""
    stop_error: ClassVar[type[Exception]] = RuntimeError
    """Exception class that a stop raises in a simulation of one world."""
    stop_errors: Mapping[str, type[Exception]] = NOTHING
    """Exception classes of stops that differ from `stop_error`, keyed as `stop_texts`; `prepare` may set them."""

    def prepare(self, site: Site) -> None:
        """Look up names, compute gains, and set `first_memory`, `design`, `commanded` and `signals`; runs once in Python.

        Do not use the current state, because a resumed run starts at a different state.
        """

    @abc.abstractmethod
    def update(self, tick: Tick) -> Update:
        """Return the actions of the block at a tick, in NumPy operations."""

    # -- compiled --------------------------------------------------------------------------------------------------------------

    def prepared(self, site: Site) -> TracedBlock:
        """Prepare the block for a site, lay out its memory, and return the block."""
        self.site = site
        self.prepare(site)
        first = {name: np.asarray(x, dtype=float) for name, x in self.first_memory.items()}
        self.pack = Pack({"ticks": (), **{name: x.shape for name, x in first.items()}})
        design = self.design if isinstance(self.design, Mapping) else _arrays(self.design)
        self._design = {name: np.asarray(x, dtype=float) for name, x in design.items()}
        self._numbers = Pack({name: x.shape for name, x in self._design.items()})
        sizes = {name: (len(m.values),) for name, m in site.measured.items()}
        self._sensors = Pack(sizes)
        self.memory = np.zeros(self.pack.size)
        for name, place in self.pack.views(self.memory).items():
            place[...] = first.get(name, 0.0)
        return self

    @property
    def design_values(self) -> Array:
        """Design values in one array, shape (nd,)."""
        return np.concatenate([np.zeros(0), *(np.ravel(x) for x in self._design.values())])

    @design_values.setter
    def design_values(self, values: Array) -> None:
        self._design = dict(self._numbers.views(np.array(values, dtype=float)))

    def evaluate(
        self, t: Scalar, q: Array, v: Array, inputs: Array, measured: Array, memory: Array, design: Array
    ) -> tuple[Array, Array, Array, Array]:
        """Run `update` on flat arrays; return commands, new memory, signals, and reports with 5 numbers per text."""
        layout, before = self.site.plant.layout, self.pack.views(np.asarray(memory))
        update = f"{type(self).__name__}.update"
        tick = Tick(
            np.asarray(t)[()],
            before["ticks"][()] == 0.0,
            q,
            v,
            _Named(f"{update}: tick.inputs", zip((*layout.commands, *layout.held), inputs, strict=False)),
            _Named(f"{update}: tick.measured", self._sensors.views(np.asarray(measured))),
            _Named(f"{update}: tick.memory", {n: x if x.ndim else x[()] for n, x in before.items() if n != "ticks"}),
            _Named(f"{update}: tick.design", self._numbers.views(np.asarray(design))),
        )
        done = self.update(tick)
        for what, given, known in (
            ("commanded", done.commands, self.commanded),
            ("signals", done.signals, self.signals),
            ("message_texts", done.messages, self.message_texts),
            ("stop_texts", done.stops, self.stop_texts),
        ):
            if set(given) != set(known):
                returned = f"{what.replace('commanded', 'commands').replace('_texts', 's')} {sorted(given)}"
                raise ValueError(
                    f"{update} returns {returned}, but {what} lists {sorted(known)}; list all names in `{what}` in prepare"
                )
        if extra := set(done.memory) - set(tick.memory):
            raise ValueError(
                f"{update} returns memory {sorted(extra)}, but `first_memory` lists {sorted(tick.memory)}; list all names in "
                "`first_memory` in prepare"
            )
        after = [done.memory.get(name, x) for name, x in before.items()]
        after[0] = before["ticks"] + 1.0
        rows = [(*done.messages[k], *(0.0,) * (1 + NUMBERS - len(done.messages[k]))) for k in self.message_texts]
        rows += [(*done.stops[k], *(0.0,) * (1 + NUMBERS - len(done.stops[k]))) for k in self.stop_texts]
        return (
            np.array([done.commands[name] for name in self.commanded]),
            np.concatenate([np.ravel(np.asarray(x)) for x in after]),
            np.array([done.signals[name] for name in self.signals]),
            np.array([x for row in rows for x in row]),
        )

    @property
    def report_size(self) -> int:
        """Number of values in the reports of the block."""
        return (1 + NUMBERS) * (len(self.message_texts) + len(self.stop_texts))

    def program(self, *, lanes: int = 1, threads: int = 1) -> Compiled:
        """Return `evaluate` as machine code. `lanes`: worlds per vector operation. `threads`: threads that share worlds."""
        model, layout = self.site.model, self.site.plant.layout
        inputs = {
            "t": (),
            "q": (model.nq,),
            "v": (model.nv,),
            "inputs": (len(layout.commands) + len(layout.held),),
            "measured": (self._sensors.size,),
            "memory": (self.pack.size,),
            "design": (self._numbers.size,),
        }
        outputs = {
            "commands": (len(self.commanded),),
            "memory_after": (self.pack.size,),
            "signals": (len(self.signals),),
            "reports": (self.report_size,),
        }
        name = f"block_{type(self).__name__.replace('_', '')}"
        return compile_function(
            name, self.evaluate, inputs, outputs, rarely_called=not self.optimised, lanes=lanes, threads=threads
        )

    def reported(self, reports: Array) -> tuple[list[str], list[str]]:
        """Return the texts of messages and of stops with nonzero conditions, from reports with 5 numbers per text."""
        rows = np.reshape(reports, (-1, 1 + NUMBERS))
        texts = [*self.message_texts.values(), *self.stop_texts.values()]
        said = [text(*row[1:]) if row[0] != 0.0 else "" for text, row in zip(texts, rows, strict=True)]
        first = len(self.message_texts)
        return [x for x in said[:first] if x], [x for x in said[first:] if x]

    def stopped(self, reports: Array) -> type[Exception]:
        """Return the exception class of the first stop with a nonzero condition, from reports with 5 numbers per text."""
        rows = np.reshape(reports, (-1, 1 + NUMBERS))[len(self.message_texts) :]
        held = [key for key, row in zip(self.stop_texts, rows, strict=True) if row[0] != 0.0]
        return self.stop_errors.get(held[0], self.stop_error) if held else self.stop_error

    # -- in floats -------------------------------------------------------------------------------------------------------------

    def start(self, simulation: Any) -> None:
        self.prepared(Site(simulation.plant, simulation.step_size, simulation.start_q, self.measured))

    def __getstate__(self) -> dict[str, Any]:
        """Return the data for pickling without the site, which `prepared` sets again."""
        return {name: x for name, x in self.__dict__.items() if name != "site"}

    def __call__(self, state: State) -> dict[str, float]:
        """Return the commands for a state, keyed by name; `update` runs with floats."""
        measured = np.full(self._sensors.size, np.nan)
        for name, place in self._sensors.views(measured).items():
            if name in self.measured:
                place[:] = self.measured[name].values
        inputs, design = np.concatenate([state.command, state.held]), self.design_values
        found = self.evaluate(state.t, np.array(state.q), np.array(state.v), inputs, measured, np.array(self.memory), design)
        commands, self.memory, self.signal_values, reports = (np.asarray(x, dtype=float) for x in found)
        self.messages, stops = self.reported(reports)
        if stops:
            raise self.stopped(reports)(f"t = {state.t:.3f} s: {stops[0]}")
        return dict(zip(self.commanded, commands.tolist(), strict=True))


def _arrays(design: Any) -> dict[str, Array]:
    return {name: x for name, x in vars(design).items() if isinstance(x, np.ndarray)}
