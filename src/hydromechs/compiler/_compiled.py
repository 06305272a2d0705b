"""Functions in machine code: single calls on one lane, and batches on lanes and threads."""

from __future__ import annotations

import abc
import math
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hydromechs.values import Array

from ._backend import Executable, Form
from ._backends import NATIVE
from ._cache import cached, fingerprint, source_hash
from ._callee import Argument
from ._program import Program
from ._progress import Progress
from ._rolled import Rolled
from ._workers import Workers

SMALL = 2048
"""Number of worlds per thread below which waking a thread (about 0.1 ms) costs more time than it saves."""


class Recipe(NamedTuple):
    """Instructions to build a program, with all data that identify the program."""

    name: str
    function: Callable[..., Any] | None
    """NumPy function of the named inputs; None if the program already exists."""
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    identity: str | None
    """Text that identifies the program together with the source of the package; None if only the trace identifies it."""
    rolled: Callable[[], Rolled] | None = None
    """Function that builds the loop that replaces a trace; None for a trace."""
    single_world: Callable[[Recipe], Program | Rolled] | None = None
    """Function that builds a faster variant for a single world; None to use the same program."""
    rarely_called: bool = False
    """True if single calls are so rare that compile time matters more than run time."""

    @property
    def key(self) -> object:
        """Hashable key that is equal for recipes of one program; compared only while the recipe exists."""
        return id(self) if self.identity is None else (self.name, self.inputs, self.outputs, self.identity, self.rarely_called)

    @classmethod
    def of(cls, program: Program, *, rarely_called: bool = False) -> Recipe:
        """Return the recipe of an existing program."""
        return cls(program.name, None, program.inputs, program.outputs, None, rarely_called=rarely_called)

    def program(self) -> Program | Rolled:
        """Return the program by tracing the function, or build the loop."""
        return self.traced(self.function) if self.rolled is None else self.rolled()

    def single_world_program(self) -> Program | Rolled:
        """Return the variant of the program for one world at a time."""
        return self.program() if self.single_world is None else self.single_world(self)

    def traced(self, function: Callable[..., Any] | None) -> Program:
        """Trace a NumPy function of the named inputs."""
        from ._trace import trace  # cached code must not load CasADi

        if function is None:
            raise TypeError(f"{self.name} has no function to trace; use the existing program")
        shapes = {a.name: a.shape for a in self.inputs}
        program = trace(function, shapes, name=self.name, outputs=tuple(a.name for a in self.outputs))
        for said, found in zip(self.outputs, program.outputs, strict=True):  # buffers have the sizes stated in the recipe
            if said.shape != found.shape:
                raise ValueError(f"{self.name}: {said.name} has shape {found.shape}; return an array of shape {said.shape}")
        return program


class MachineCode(abc.ABC):
    """Recipe in machine code, compiled on first use and cached on disk; batches use 1, 4 or 8 worlds per vector (lanes)."""

    def __init__(self, recipe: Recipe, lanes: int, threads: int, program: Program | Rolled | None = None) -> None:
        self.recipe, self.lanes, self.threads = recipe, lanes, threads
        self._sizes = [a.size for a in (*recipe.inputs, *recipe.outputs)]
        self._program = program
        self._single_program: Program | Rolled | None = None
        self._code: dict[int, Executable] = {}
        self._workers: Workers | None = None
        self._lock = threading.RLock()  # several threads may request the code, which is compiled once
        self.share = SMALL
        """Number of worlds per thread below which a batch is not split between threads."""
        self.single_lanes = 1
        """Number of lanes for a batch of one world; the value `lanes` gives the same bits as in a larger batch."""

    @property
    def program(self) -> Program | Rolled:
        """Traced program, or loop."""
        with self._lock:
            if self._program is None:
                self._program = self.recipe.program()
            return self._program

    def program_on(self, lanes: int) -> Program | Rolled:
        """Return the program or loop that is compiled for a number of lanes."""
        if lanes > 1 or self.recipe.single_world is None:
            return self.program
        with self._lock:
            if self._single_program is None:
                self._single_program = self.recipe.single_world_program()
            return self._single_program

    @property
    def traced(self) -> Program:
        """Traced program; raises `TypeError` for a loop."""
        program = self.program
        if not isinstance(program, Program):
            raise TypeError(f"{self.recipe.name} is a loop over bodies, not a traced program; use `program`")
        return program

    def code(self, lanes: int) -> Executable:
        """Return the object code for a number of lanes, from the cache or newly compiled."""
        loaded = self._code.get(lanes)
        if loaded is not None:
            return loaded
        with self._lock:
            if lanes not in self._code:
                with Progress(self.recipe.name) as progress:
                    self._code[lanes] = self._new_code(lanes, progress)
            return self._code[lanes]

    def _new_code(self, lanes: int, progress: Progress) -> Executable:
        """Return loaded machine code for a number of lanes, from the cache or newly compiled."""
        r = self.recipe
        if r.identity is None:  # traced to compute the hash
            progress.start()
        identity = r.identity if r.identity is not None else self.program_on(lanes).hash
        identity += " alone" if lanes == 1 and r.single_world is not None else ""
        versions = [_version(package) for package in ("numpy", "scipy", "casadi")]
        kind = type(self).__name__
        backend = NATIVE.versions()
        key = fingerprint(
            source_hash(), kind, r.name, r.inputs, r.outputs, identity, lanes, r.rarely_called, *backend, *versions
        )
        form = self.form(lanes)

        def build() -> bytes:
            progress.start()
            text = NATIVE.source(self.program_on(lanes) if form.state is None else self.program, form)
            progress.phase = f"machine code of {text.count(chr(10)):,} lines"
            return NATIVE.build(text, form)

        return NATIVE.load(cached(key, build), self._arguments, form)

    @property
    @abc.abstractmethod
    def _arguments(self) -> int:
        """Number of arrays of a single call; 0 if single calls are unavailable."""

    @abc.abstractmethod
    def form(self, lanes: int) -> Form:
        """Return the form of compilation for a number of lanes."""

    def run(self, table: Array, worlds: int, keep: object) -> None:
        """Run the compiled loop on a table of addresses and strides for all worlds, in blocks of full vectors per thread.

        Every thread holds references to the arrays in `keep`, even if the calling thread is interrupted.
        """
        loop, address = self.code(self.lanes if worlds > 1 else self.single_lanes).loop, table.ctypes.data
        parts = min(self.threads, -(-worlds // self.share))
        if parts <= 1:
            loop(address, 0, worlds)
            return
        with self._lock:
            if self._workers is None or self._workers.process != os.getpid():  # threads do not survive a fork
                self._workers = Workers(self.threads - 1)
            workers = self._workers
        block = -(-worlds // (parts * self.lanes)) * self.lanes
        bounds = [(b, min(b + block, worlds)) for b in range(0, worlds, block)]
        workers.share(lambda begin, end: loop(address, begin, end), bounds, (table, keep))


class Compiled(MachineCode):
    """Function in machine code; in batches, vector operations process 1, 4 or 8 worlds (lanes)."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Compiled:
        """Return the same object, because machine code is immutable."""
        return self

    @property
    def _arguments(self) -> int:
        return len(self._sizes)

    def form(self, lanes: int) -> Form:
        return Form(lanes, rarely=self.recipe.rarely_called)

    def single(self) -> Callable[..., bool]:
        """Return the fastest call, for float64 arrays of exact shape, with results last.

        The call returns False if arrays do not fit.
        """
        return self.code(1).objects or (lambda *arrays: False)

    def single_results(self, *arrays: Array) -> list[Array]:
        """Return the results for one state; arrays of suitable type and shape are passed directly to machine code.

        `arrays` contains one array per input.
        """
        results = [np.empty(a.shape) for a in self.recipe.outputs]
        return results if self.single()(*arrays, *results) else self(list(arrays))

    def __call__(self, arrays: Sequence[ArrayLike], outs: Sequence[Array] | None = None) -> list[Array]:
        """Return the results for one array per input, whose leading batch dimensions broadcast.

        Results are written to the arrays `outs` if given.
        """
        recipe = self.recipe
        inputs = [_as_float(x, a) for x, a in zip(arrays, recipe.inputs, strict=True)]
        leading = [x.shape[: x.ndim - len(a.shape)] for x, a in zip(inputs, recipe.inputs, strict=True)]
        batch = max(leading, key=len, default=())
        if any(lead != batch and lead != () for lead in leading):
            try:
                batch = np.broadcast_shapes(*leading)
            except ValueError:
                shapes = ", ".join(f"{a.name} {x.shape}" for x, a in zip(inputs, recipe.inputs, strict=True))
                raise ValueError(
                    f"the batch dimensions of the arguments do not broadcast ({shapes}); use equal batch dimensions"
                ) from None
        given = outs is not None
        if outs is None:
            outs = [np.empty(batch + a.shape) for a in recipe.outputs]
        else:
            if len(outs) != len(recipe.outputs):
                raise ValueError(f"out has {len(outs)} arrays; pass {len(recipe.outputs)}")
            outs = [_as_out(y, batch + a.shape, a) for y, a in zip(outs, recipe.outputs, strict=True)]
        places = [_address(y) for y in outs]
        table: list[int] = []
        keep: list[Array] = []
        for x, lead, size in zip(inputs, leading, self._sizes, strict=False):
            same = lead == () or math.prod(lead) == 1
            if not same and lead != batch:
                x = np.broadcast_to(x, batch + x.shape[len(lead) :])
            if not (x.flags.c_contiguous and x.flags.aligned):
                x = np.require(x, requirements=("C", "A"))
            at = _address(x)
            if given:
                # a result may overwrite an argument, but a partial overlap would change arguments of other worlds
                for y, there in zip(outs, places, strict=True):
                    overlaps = at < there + y.nbytes and there < at + x.nbytes
                    if overlaps and (same or at != there or x.size != y.size):
                        x = x.copy()
                        at = _address(x)
            keep.append(x)
            table += (at, 0 if same else size)
        for at, size in zip(places, self._sizes[len(inputs) :], strict=True):
            table += (at, size)
        worlds = math.prod(batch)
        if worlds:
            self.run(np.array(table, dtype=np.int64), worlds, (keep, outs))
        return outs


FLOAT64 = np.dtype(np.float64)
"""Dtype object that all native float64 arrays share."""


def _address(array: Array) -> int:
    return array.__array_interface__["data"][0]


@cache
def _version(package: str) -> str:
    """Return the version of a package from its metadata, without import, or else from the package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return import_module(package).__version__


def _as_float(value: ArrayLike, argument: Argument) -> Array:
    """Return `value` as a float64 array whose last dimensions equal those of the argument."""
    n = len(argument.shape)
    if (
        type(value) is np.ndarray
        and value.dtype is FLOAT64
        and value.ndim >= n
        and value.shape[value.ndim - n :] == argument.shape
    ):
        return value
    try:
        out = np.asarray(value)
        if out.dtype.kind not in "biuf":
            raise ValueError
        out = out.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise ValueError(f"{argument.name} must be an array of numbers, got {value!r}") from None
    if out.ndim < n or out.shape[out.ndim - n :] != argument.shape:
        raise ValueError(f"{argument.name} must have shape (..., {', '.join(map(str, argument.shape))}), got {out.shape}")
    return out


def _as_out(out: Any, shape: tuple[int, ...], argument: Argument) -> Array:
    """Return `out` if results can be written to it; otherwise raise `ValueError`."""
    good = isinstance(out, np.ndarray) and out.dtype == np.float64 and out.shape == shape and out.flags.c_contiguous
    if not (good and out.flags.writeable and out.flags.aligned):
        raise ValueError(f"out for {argument.name} must be a writeable contiguous float64 array of shape {shape}")
    return out


def recipe_of(
    name: str,
    function: Callable[..., Any],
    inputs: Mapping[str, tuple[int, ...]],
    outputs: Mapping[str, tuple[int, ...]],
    identity: str | None = None,
    *,
    rarely_called: bool = False,
) -> Recipe:
    """Return the recipe of a function of scalars and arrays, from the shapes of its named inputs and outputs."""

    def of_arrays(**arrays: Any) -> tuple[Array, ...]:
        results = function(**{key: np.asarray(x)[()] if inputs[key] == () else x for key, x in arrays.items()})
        return tuple(map(np.asarray, results if isinstance(results, tuple) else (results,)))

    given, wanted = (tuple(Argument(*item) for item in shapes.items()) for shapes in (inputs, outputs))
    return Recipe(name, of_arrays, given, wanted, identity, rarely_called=rarely_called)


def compile_function(
    name: str,
    function: Callable[..., Any],
    inputs: Mapping[str, tuple[int, ...]],
    outputs: Mapping[str, tuple[int, ...]],
    identity: str | None = None,
    *,
    rarely_called: bool = False,
    lanes: int = 1,
    threads: int = 1,
) -> Compiled:
    """Return a function of scalars and arrays in machine code; see `recipe_of` and `Compiled`."""
    return Compiled(recipe_of(name, function, inputs, outputs, identity, rarely_called=rarely_called), lanes, threads)
