"""Application of one function at several points: the function is traced once and called for each point instead of copied."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import casadi
import numpy as np

from hydromechs.spatial import where
from hydromechs.values import Array

from ._callee import Argument
from ._hoist import hoist
from ._program import Program
from ._symbol import TAPE, Symbol, applied, call_on_lanes, column, symbols, when
from ._trace import free_symbols, program_with_calls


def each(
    function: Callable[..., Any],
    *rows: Sequence[Any],
    least: int = 0,
    conditions: Sequence[Any] | None = None,
    kept: Sequence[Any] | None = None,
) -> list[Any]:
    """Return the results of a function at several points.

    In a traced function, `function` becomes a separate program that is called for each point. If the trace is compiled for one
    world at a time, the points use the lanes of vector operations. Derivatives treat the results as constants.

        strains = compiler.each(lambda a, b: norm(b - a) / rest - 1.0, points[:-1], points[1:])

    `function` takes and returns numbers, arrays, None, and tuples of these; it may use symbols of the enclosing trace. `rows`
    contains the values of each argument, with equal structure at all points. `least` is the total number of operations below
    which the function is copied for each point.
    """
    points = list(zip(*rows, strict=True))
    entries = np.array([list(_leaves(point)) for point in points], dtype=object)
    if TAPE.get() is None and not any(isinstance(x, Symbol) for x in entries.ravel()):
        if conditions is None or kept is None:
            return [function(*point) for point in points]
        return [function(*point) if c else other for point, c, other in zip(points, conditions, kept, strict=True)]
    differs = [k for k, values in enumerate(entries.T) if not all(_same(x, values[0]) for x in values)]
    common = [k for k, x in enumerate(entries[0]) if k not in differs and isinstance(x, Symbol) and x.constant is None]
    own, given = symbols("point", (len(differs),)), entries[0].copy()
    given[differs], given[common] = own, (fixed := symbols("common", (len(common),)))
    token = TAPE.set([])
    try:
        result, sites = function(*_rebuilt(points[0], iter(given))), TAPE.get() or []
    finally:
        TAPE.reset(token)
    leaves = list(_leaves(result))
    computed = [k for k, x in enumerate(leaves) if isinstance(x, Symbol) and x.constant is None]
    wanted = column(np.array([leaves[k] for k in computed], dtype=object))
    taken = [x for site in sites for x in site.arguments]
    shared = free_symbols([wanted, *taken], [column(own), column(fixed), *(y for site in sites for y in site.results)])
    program = program_with_calls(
        "each",
        [column(own), casadi.vertcat(column(fixed), *shared)],
        [wanted],
        (Argument("point", (len(own),)), Argument("shared", (len(common) + len(shared),))),
        (Argument("result", (len(computed),)),),
        sites,
    )
    around = np.array([*entries[0][common], *map(Symbol, shared)], dtype=object)
    if conditions is not None and kept is not None:
        out = []
        for condition, given, otherwise in zip(conditions, entries[:, differs], kept, strict=True):
            other = list(_leaves(otherwise))
            (row,) = when(condition, program, [given, around], [np.array([other[k] for k in computed], dtype=object)])
            filled = [x if _same(x, y) else where(condition, x, y) for x, y in zip(leaves, other, strict=True)]
            for k, x in zip(computed, row, strict=True):
                filled[k] = x
            out.append(_rebuilt(result, iter(filled)))
        return out
    if len(program.operations) * len(points) < least:
        return [function(*point) for point in points]
    program, around = _hoisted(program, around)
    (values,) = call_on_lanes(program, entries[:, differs], np.broadcast_to(around, (len(points), len(around))))
    out = []
    for row in values:
        filled = list(leaves)
        for k, x in zip(computed, row, strict=True):
            filled[k] = x
        out.append(_rebuilt(result, iter(filled)))
    return out


def _hoisted(program: Program, around: Array) -> tuple[Program, Array]:
    """Return the program for one point, and its input `shared`, with operations on that alone moved to the enclosing trace."""
    parts = hoist(program, "shared")
    if all(op.kind in ("const", "input") for op in parts.before.operations):
        return program, around
    (values,) = parts.before.replayed([[x.sx for x in around]], casadi.SX, _no_calls, applied)
    return parts.after, np.array([Symbol(x) for x in values], dtype=object)


def _no_calls(callee: Any, arguments: Any) -> Any:
    raise AssertionError("hoisted operations call nothing")


def _same(x: Any, y: Any) -> bool:
    return x is y or (not isinstance(x, Symbol) and not isinstance(y, Symbol) and bool(x == y))


def _leaves(thing: Any) -> Iterator[Any]:
    """Yield the numbers and symbols of a structure in order."""
    if isinstance(thing, tuple):
        for part in thing:
            yield from _leaves(part)
    elif thing is not None:
        yield from np.ravel(thing)


def _rebuilt(thing: Any, leaves: Iterator[Any]) -> Any:
    if isinstance(thing, tuple):
        parts = [_rebuilt(part, leaves) for part in thing]
        return type(thing)(*parts) if hasattr(thing, "_fields") else tuple(parts)
    if thing is None:
        return None
    if not np.ndim(thing):
        return next(leaves)
    flat = [next(leaves) for _ in range(np.size(thing))]
    return np.array(flat).reshape(np.shape(thing))
