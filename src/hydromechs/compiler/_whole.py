"""Whole arrays: a function of long arrays becomes loops over their entries and calls instead of straight-line code.

`trace_whole` calls a function with `Whole` arrays, as `trace` does with arrays of symbols. Sums and products are delayed until
an array is needed; one loop then computes all entries. An integration step is therefore one function for any size of the state,
and the length of its code does not depend on the size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from ._callee import Argument
from ._program import Program
from ._rolled import ROW, Address, Rolled, Stage, Sweep

OPEN: ContextVar[_Loops | None] = ContextVar("loops", default=None)
"""Loops of the current trace in this context."""


class _Operation(NamedTuple):
    """Delayed operation on the entries of arrays."""

    name: str
    """Name of the method that computes the operation, such as __add__."""
    operands: tuple[Any, ...]
    """Whole arrays and numbers, in order."""


class _At(NamedTuple):
    """Slice of an array in memory."""

    array: str
    start: int
    """Index of the first entry of the slice in the array."""


class Whole:
    """Array in a function traced by `trace_whole`; `source` is a slice of memory, or the operation that computes the array."""

    __array_ufunc__ = None  # makes NumPy defer to the methods below

    def __init__(self, source: _Operation | _At, shape: tuple[int, ...]) -> None:
        self.source, self.shape = source, shape

    @property
    def size(self) -> int:
        """Number of entries."""
        return int(np.prod(self.shape))

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, at: slice) -> Whole:
        """Return a slice of the entries, with step 1."""
        if not isinstance(at, slice) or self.ndim != 1:
            raise TypeError(f"index {at!r} of shape {self.shape} is not supported; use slices of one-dimensional arrays")
        first, last, step = at.indices(self.shape[0])
        if step != 1:
            raise TypeError(f"a slice has step {step}; use step 1")
        shape = (max(0, last - first),)
        if isinstance(self.source, _At):
            return Whole(_At(self.source.array, self.source.start + first), shape)
        parts = (x[first:last] if isinstance(x, Whole) and x.shape else x for x in self.source.operands)
        return Whole(_Operation(self.source.name, tuple(parts)), shape)

    def reshape(self, shape: tuple[int, ...]) -> Whole:
        """Return an array with the same entries and another shape."""
        loops = OPEN.get()
        if loops is None or int(np.prod(shape)) != self.size:
            raise ValueError(f"cannot reshape an array of shape {self.shape} to {shape}; use an equal number of entries")
        return Whole(loops.place(self), shape)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Implement np.shape, np.size, np.ndim, np.concatenate and np.stack for whole arrays and arrays of equal numbers."""
        if function is np.shape:
            return self.shape
        if function is np.size:
            return self.size
        if function is np.ndim:
            return self.ndim
        if function is np.concatenate:
            return _joined(args[0], (sum(len(x) for x in args[0]),))
        if function is np.stack:
            return _joined(args[0], (len(args[0]), *np.shape(args[0][0])))
        return NotImplemented


def _equal(x: np.ndarray) -> bool:
    return x.size > 0 and x.dtype != object and bool((x == x.flat[0]).all())


def _operator(name: str) -> Callable[..., Whole]:
    def method(self: Whole, *others: Any) -> Whole:
        shape = self.shape
        others = tuple(float(x.flat[0]) if isinstance(x, np.ndarray) and _equal(x) else x for x in others)
        for x in others:
            if not isinstance(x, Whole | float | int | np.floating):
                return NotImplemented
            if isinstance(x, Whole) and x.shape and shape and x.shape != shape:
                raise ValueError(f"shapes {shape} and {x.shape} do not broadcast; use equal shapes")
            shape = shape or getattr(x, "shape", ())
        return Whole(_Operation(name, (self, *others)), shape)

    return method


for _name in ("add", "sub", "mul", "truediv", "radd", "rsub", "rmul", "rtruediv", "neg"):
    setattr(Whole, f"__{_name}__", _operator(f"__{_name}__"))


class _Loops:
    """Sequence of loops and calls, with the arrays between them."""

    def __init__(self) -> None:
        self.work: dict[str, int] = {}
        self.sweeps: list[Sweep] = []

    def array(self, size: int) -> str:
        """Add a working array; return its name."""
        name = f"work{len(self.work)}"
        self.work[name] = size
        return name

    def put(self, callee: Program | Rolled, places: Sequence[_At]) -> None:
        """Add a call with arguments and results in memory."""
        at = tuple(Address(x.array, None, 1, x.start) for x in places)
        self.sweeps.append(Sweep((Stage((callee,), (at,)),), once=True))

    def entries(self, whole: Any, to: _At) -> None:
        """Compute the entries of an array, in a loop if there are several entries."""
        from ._trace import trace  # circular import

        leaves: dict[tuple[_At, bool], int] = {}
        _leaves(whole, leaves)
        names = [f"x{k}" for k in range(len(leaves))]
        size = np.size(whole)

        def entry(**given: Any) -> Any:
            return np.reshape(_value(whole, leaves, [given[name][()] for name in names]), ())

        program = trace(entry, dict.fromkeys(names, ()), name="entry", outputs=("y",))
        places = [at for at, _ in leaves]
        if size == 1:
            self.put(program, [*places, to])
            return
        arguments = [Argument(name, (size,) if long else ()) for name, (_, long) in zip(names, leaves, strict=True)]
        at = [Address(a.name, ROW if a.shape else None) for a in arguments]
        sweep = Sweep((Stage((program,), ((*at, Address("y", ROW)),)),))
        table = np.zeros((size, 0), dtype=int)
        result = (Argument("y", (size,)),)
        self.put(Rolled("entries", tuple(arguments), result, (), table, np.zeros(0), {}, (sweep,)), [*places, to])

    def place(self, whole: Any) -> _At:
        """Return the slice of an array in memory; compute the array if necessary."""
        if isinstance(whole, Whole) and isinstance(whole.source, _At):
            return whole.source
        to = _At(self.array(int(np.size(whole))), 0)
        self.store(whole, to)
        return to

    def store(self, whole: Any, to: _At) -> None:
        """Copy an array to a slice."""
        if not isinstance(whole, Whole) and np.size(whole) and not _equal(np.asarray(whole, dtype=float)):
            raise TypeError("a whole array cannot contain an array of different numbers; pass that array as an argument")
        if np.size(whole) > 0:
            self.entries(whole, to)

    def call(self, callee: Program | Rolled, arrays: Sequence[Any]) -> list[Whole]:
        """Return the results of a call."""
        given = [self.place(x) for x in arrays]
        places = [_At(self.array(a.size), 0) for a in callee.outputs]
        self.put(callee, [*given, *places])
        return [Whole(at, a.shape) for at, a in zip(places, callee.outputs, strict=True)]


def _leaves(x: Any, found: dict[tuple[_At, bool], int]) -> None:
    """Number the slices of memory that an expression reads, and record whether each slice is as long as the result."""
    if isinstance(x, Whole):
        if isinstance(x.source, _At):
            found.setdefault((x.source, bool(x.shape)), len(found))
        else:
            for operand in x.source.operands:
                _leaves(operand, found)


def _value(x: Any, leaves: dict[tuple[_At, bool], int], given: Sequence[Any]) -> Any:
    """Return one entry of an expression from one entry of each slice."""
    if not isinstance(x, Whole):
        return float(np.ravel(x)[0])
    if isinstance(x.source, _At):
        return given[leaves[x.source, bool(x.shape)]]
    operands = [_value(operand, leaves, given) for operand in x.source.operands]
    return _APPLY[x.source.name](*operands)


_APPLY: dict[str, Callable[..., Any]] = {
    "__add__": lambda a, b: a + b,
    "__radd__": lambda a, b: b + a,
    "__sub__": lambda a, b: a - b,
    "__rsub__": lambda a, b: b - a,
    "__mul__": lambda a, b: a * b,
    "__rmul__": lambda a, b: b * a,
    "__truediv__": lambda a, b: a / b,
    "__rtruediv__": lambda a, b: b / a,
    "__neg__": lambda a: -a,
}


def _joined(parts: Sequence[Any], shape: tuple[int, ...]) -> Whole:
    loops = OPEN.get()
    if loops is None:
        raise TypeError("whole arrays were joined outside of a trace; join them only in a function that is being traced")
    to, start = loops.array(int(np.prod(shape))), 0
    for part in parts:
        loops.store(part, _At(to, start))
        start += part.size
    return Whole(_At(to, 0), shape)


def call_whole(callee: Program | Rolled, arrays: Sequence[Any]) -> list[Whole]:
    """Return the results of a call under `trace_whole`; each input is a whole array or an array of equal numbers."""
    loops = OPEN.get()
    if loops is None:
        raise TypeError("a call received whole arrays outside of a trace; pass them only in a function that is being traced")
    return loops.call(callee, arrays)


def trace_whole(
    function: Callable[..., Any], inputs: Sequence[Argument], outputs: Sequence[Argument], *, name: str = "program"
) -> Rolled:
    """Return the loops of a function of whole arrays.

    The function may use sums, products, slices, `np.concatenate`, `np.stack` and `compiler.call`. It takes arrays with
    the names of `inputs` and returns an array or a tuple of arrays. `inputs` and `outputs` define names and shapes.
    """
    loops = _Loops()
    taken = {a.name for a in inputs}
    outputs = [
        Argument(f"{a.name}_after" if a.name in taken else a.name, a.shape) for a in outputs
    ]  # a step has inputs and outputs of one name
    token = OPEN.set(loops)
    try:
        results = function(**{a.name: Whole(_At(a.name, 0), a.shape) for a in inputs})
        results = results if isinstance(results, tuple) else (results,)
        for a, y in zip(outputs, results, strict=True):
            if np.shape(y) != a.shape:
                raise ValueError(f"{name}: {a.name} has shape {np.shape(y)}; return an array of shape {a.shape}")
            loops.store(y, _At(a.name, 0))
    finally:
        OPEN.reset(token)
    table = np.zeros((0, 0), dtype=int)
    return Rolled(name, tuple(inputs), tuple(outputs), (), table, np.zeros(0), loops.work, tuple(loops.sweeps))


def scattered(places: Sequence[int], size: int, name: str = "scattered") -> Rolled:
    """Return a loop, named `name`, that scatters numbers (n,) to an array of zeros (size,)."""
    from ._trace import trace  # circular import

    one = trace(lambda x: x, {"x": ()}, name="one", outputs=("y",))
    stage = Stage((one,), ((Address("x", ROW), Address("y", "to")),))
    table = np.array(places, dtype=int).reshape(-1, 1)
    given, result = (Argument("x", (len(places),)),), (Argument("y", (size,)),)
    return Rolled(name, given, result, ("to",), table, np.zeros(0), {}, (Sweep((stage,)),), ("y",))
