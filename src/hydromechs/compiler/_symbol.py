"""Scalars with CasADi expressions for NumPy object arrays.

The product of a NumPy array and a CasADi `SX` is a CasADi matrix. `Symbol` returns `NotImplemented` for arrays, so that NumPy
broadcasts. It folds 0 and 1 immediately, so that zeros of the mechanism need no operations. It also has the methods (`sqrt`,
`sin`, ...) that NumPy functions call on objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, NamedTuple, SupportsFloat

import casadi
import numpy as np
from numpy.typing import ArrayLike

from hydromechs.values import Array, Scalar

from ._callee import Callee, Table
from ._dense import Dense
from ._flow import Iterate, When
from ._operations import KINDS, Kind
from ._program import Packed, Program
from ._random import Draw, stream_number
from ._rolled import Rolled
from ._solve import Solve, SolveSemidefinite
from ._whole import Whole, call_whole

NUMBERS = (int, float, np.integer, np.floating)


class Site(NamedTuple):
    """Call in a trace of a function that expressions cannot represent."""

    callee: Callee
    arguments: list[casadi.SX]
    """Arguments, one column each."""
    results: list[casadi.SX]
    """New symbols of the results, one column each."""


TAPE: ContextVar[list[Site] | None] = ContextVar("hydromechs_tape", default=None)
"""Calls of the current trace in this context, in order."""


SX = casadi.SX

CODES = {kind.name: getattr(casadi, kind.casadi[0]) for kind in KINDS.values()}
"""CasADi code of each operation."""


UNARY, BINARY = casadi._casadi.SX_unary, casadi._casadi.SX_binary  # type: ignore[attr-defined]
"""CasADi functions of one and two scalars, several times as fast as operators; a trace calls one for each operation."""

ADD, SUB, MUL = (CODES[kind] for kind in ("add", "sub", "mul"))


def applied(kind: str, a: casadi.SX, b: casadi.SX | None = None) -> casadi.SX:
    """Return an operation of the table, applied to one or two CasADi scalars."""
    return UNARY(CODES[kind], a) if b is None else BINARY(CODES[kind], a, b)


@lru_cache(maxsize=4096)
def _number(x: float) -> casadi.SX:
    """Return a number as a CasADi scalar; zeros are excluded, because CasADi does not distinguish their signs."""
    return casadi.SX(x)


class Symbol:
    """Scalar expression, or a constant that results from folding."""

    __slots__ = ("sx",)

    def __init__(self, sx: casadi.SX | SupportsFloat) -> None:
        self.sx = sx if type(sx) is SX else casadi.SX(float(sx))

    @property
    def constant(self) -> float | None:
        """Value of the symbol if it is constant, else None."""
        return float(self.sx) if self.sx.is_constant() else None

    def _binary(self, kind: str, other: Scalar, swapped: bool = False) -> Symbol:
        other = _operand(other)
        if other is NotImplemented:
            return NotImplemented
        a, b = (other, self) if swapped else (self, other)
        return Symbol(applied(kind, a.sx, b.sx))

    def __add__(self, other: Scalar) -> Symbol:
        if type(other) is not Symbol:
            other = _operand(other)
        if other is ZERO:
            return self
        if self is ZERO or other is NotImplemented:
            return other
        return Symbol(BINARY(ADD, self.sx, other.sx))

    __radd__ = __add__

    def __sub__(self, other: Scalar) -> Symbol:
        if type(other) is not Symbol:
            other = _operand(other)
        if other is ZERO:
            return self
        return other if other is NotImplemented else Symbol(BINARY(SUB, self.sx, other.sx))

    def __rsub__(self, other: Scalar) -> Symbol:
        other = _operand(other)
        return other if self is ZERO or other is NotImplemented else Symbol(BINARY(SUB, other.sx, self.sx))

    def __mul__(self, other: Scalar) -> Symbol:
        if type(other) is not Symbol:
            other = _operand(other)
        if self is ZERO or other is ZERO:
            return other if other is NotImplemented else ZERO
        return other if other is NotImplemented else Symbol(BINARY(MUL, self.sx, other.sx))

    __rmul__ = __mul__

    def __truediv__(self, other: Scalar) -> Symbol:
        return self._binary("div", other)

    def __rtruediv__(self, other: Scalar) -> Symbol:
        return self._binary("div", other, swapped=True)

    def __pow__(self, exponent: Scalar) -> Symbol:
        if not isinstance(exponent, int) or isinstance(exponent, bool):
            return self._binary("pow", exponent)
        if exponent < 0:
            return 1.0 / self**-exponent
        out = Symbol(1.0)
        for _ in range(exponent):  # small integer powers are products
            out = out * self
        return out

    def __neg__(self) -> Symbol:
        return self if self is ZERO else Symbol(applied("neg", self.sx))

    def __pos__(self) -> Symbol:
        return self

    conjugate = __pos__  # called by np.vdot and other functions

    def __abs__(self) -> Symbol:
        return Symbol(applied("abs", self.sx))

    def __lt__(self, other: Scalar) -> Symbol:
        return self._binary("lt", other)

    def __le__(self, other: Scalar) -> Symbol:
        return self._binary("le", other)

    def __gt__(self, other: Scalar) -> Symbol:
        return self._binary("lt", other, swapped=True)

    def __ge__(self, other: Scalar) -> Symbol:
        return self._binary("le", other, swapped=True)

    def __eq__(self, other: Scalar) -> Symbol:  # type: ignore[override]  # a condition, not a bool
        return self._binary("eq", other)

    def __ne__(self, other: Scalar) -> Symbol:  # type: ignore[override]  # a condition, not a bool
        return self._binary("ne", other)

    __hash__ = object.__hash__

    def where(self, a: Scalar, b: Scalar) -> Symbol:
        """Return `a` if this condition holds, else `b`."""
        yes, no = (x if isinstance(x, Symbol) else Symbol(x) for x in (a, b))
        return Symbol(casadi.if_else(self.sx, yes.sx, no.sx))

    def maximum(self, other: Scalar) -> Symbol:
        """Return the larger of this and another scalar, for `hydromechs.spatial.maximum`."""
        return self._binary("max", other)

    def minimum(self, other: Scalar) -> Symbol:
        """Return the smaller of this and another scalar, for `hydromechs.spatial.minimum`."""
        return self._binary("min", other)

    def lookup(self, table: tuple[float, ...]) -> Symbol:
        """Return the entry of a table of constants at this integer index, for `hydromechs.spatial.lookup`."""
        return _called(Table(table), [np.array([self], dtype=object)])[0][0]

    def hypot(self, other: Scalar) -> Symbol:
        """Return √(self² + other²), for np.hypot."""
        return Symbol(applied("sqrt", (self * self + other * other).sx))

    def __rpow__(self, base: Scalar) -> Symbol:
        return self._binary("pow", base, swapped=True)

    def __mod__(self, other: Scalar) -> Symbol:
        """Return the remainder with the sign of the positive divisor, from the nearest multiple, exact for integers."""
        other = _operand(other)
        if other is NotImplemented:
            return other
        rest = self - other * Symbol(applied("floor", (self / other + 0.5).sx))
        return (rest < 0.0).where(rest + other, rest)

    def __bool__(self) -> bool:
        raise TypeError("a traced function must not branch on a value; use hydromechs.spatial.where, maximum or minimum")

    def __float__(self) -> float:
        if self.constant is None:
            raise TypeError(
                "a symbol has no value during tracing; do not convert it to float in a traced function, "
                "and use NumPy functions, such as np.sin, instead of the math module"
            )
        return self.constant

    def __repr__(self) -> str:
        return f"Symbol({self.sx})"


ZERO = Symbol(0.0)
"""Zero symbol for folding; most factors in matrices of a mechanism are zero, and CasADi is not called for zeros."""


def _operand(x: Scalar) -> Symbol:
    """Return a number as a symbol, or NotImplemented for other operands, such as arrays, which NumPy broadcasts."""
    if isinstance(x, Symbol):
        return x
    if isinstance(x, NUMBERS):
        return ZERO if x == 0.0 else Symbol(_number(float(x)))
    return NotImplemented


def _method(kind: Kind) -> Callable[..., Symbol]:
    if kind.arity == 2:
        return lambda self, other: self._binary(kind.name, other)
    return lambda self: Symbol(applied(kind.name, self.sx))


for _kind in KINDS.values():
    if _kind.method:
        setattr(Symbol, _kind.method, _method(_kind))


def symbols(name: str, shape: tuple[int, ...]) -> Array:
    """Return an object array of new symbols `name_0`, `name_1`, ... of the given shape."""
    flat = [Symbol(casadi.SX.sym(f"{name}_{k}")) for k in range(int(np.prod(shape)))]
    out = np.empty(len(flat), dtype=object)
    out[:] = flat
    return out.reshape(shape)


def column(array: ArrayLike) -> casadi.SX:
    """Return the entries of an array of symbols and numbers, row-major, as one column."""
    entries = [x.sx if isinstance(x, Symbol) else casadi.SX(float(x)) for x in np.ravel(array).tolist()]
    # densify, because CasADi would omit zero entries of a sparse matrix
    return casadi.densify(casadi.vertcat(*entries)) if entries else casadi.SX(0, 1)


def _called(callee: Callee, arguments: Sequence[ArrayLike]) -> list[Array]:
    """Return the results of a call as new symbols; the call is recorded on the tape."""
    tape = TAPE.get()
    if tape is None:
        raise TypeError("a call received symbols outside of a trace; pass symbols only in a function that is being traced")
    results = [symbols(f"call{len(tape)}_{k}", a.shape) for k, a in enumerate(callee.outputs)]
    tape.append(Site(callee, [column(a) for a in arguments], [column(y) for y in results]))
    return results


def _has_symbols(arrays: Iterable[ArrayLike]) -> bool:
    return any(isinstance(x, Symbol) for a in arrays for x in np.ravel(a))


def call(program: Program | Rolled, *arrays: Any) -> list[Array]:
    """Return the results of a program or a loop: a call in a traced function, numbers otherwise.

    `arrays` contains one array per input. Derivatives treat results of calls as constants.
    """
    for a, x in zip(program.inputs, arrays, strict=True):
        if np.shape(x) != a.shape:
            raise ValueError(f"{program.name}: {a.name} must have shape {a.shape}, got {np.shape(x)}")
    if any(isinstance(x, Whole) for x in arrays):
        return call_whole(program, arrays)  # type: ignore[return-value]  # arrays to the function that is traced
    return _called(program, list(arrays)) if _has_symbols(arrays) else list(program(*arrays))


def call_on_lanes(program: Program, *arrays: Any) -> list[Array]:
    """Return a program's results at several points, from arrays (points, ...).

    Arrays from `np.broadcast_to` are passed once for all points. In a traced function that is compiled for one world at a time,
    points are evaluated in parallel on the lanes of vector operations; with one world per lane, sequentially. Numbers are
    evaluated point by point. Derivatives treat the results as constants.
    """
    counts = {np.shape(x)[0] if np.ndim(x) else 0 for x in arrays}
    count = max(counts, default=0)
    if len(counts) != 1 or not count:
        raise ValueError(f"{program.name}: arguments have {sorted(counts)} points; pass equal numbers of points, at least 1")
    for a, x in zip(program.inputs, arrays, strict=True):
        if np.shape(x) != (count, *a.shape):
            wanted = (count, *a.shape)
            raise ValueError(f"{program.name}: {a.name} of {count} points must have shape {wanted}, got {np.shape(x)}")
    shared = tuple(count > 1 and isinstance(x, np.ndarray) and x.strides[0] == 0 and x.size > 0 for x in arrays)
    packed = Packed(program, count, shared)
    given = [x[0] if same else x for x, same in zip(arrays, shared, strict=True)]
    return _called(packed, given) if _has_symbols(given) else list(packed(*given))


def solve(A: ArrayLike, b: Array | Sequence[Scalar]) -> Array:
    """Return x with A x = b for a general matrix (n, n) and b (n,), by Gaussian elimination with pivoting, shape (n,)."""
    if _has_symbols((A, b)):
        return _called(Solve(len(b)), [np.asarray(A), np.asarray(b)])[0]
    return np.linalg.solve(np.asarray(A, dtype=float), np.asarray(b, dtype=float))


def dense(weights: Array, bias: Array, x: ArrayLike) -> Array:
    """Return W x + b, shape (m,), with constant weights, compiled as a loop.

    `weights` is W, shape (m, n), `bias` is b, shape (m,), and `x` has the shape (n,).
    """
    callee, given = Dense(np.asarray(weights, dtype=float), np.asarray(bias, dtype=float)), [np.asarray(x)]
    return _called(callee, given)[0] if _has_symbols(given) else callee(*given)[0]


def solve_semidefinite(
    A: ArrayLike, b: Array | Sequence[Scalar], tolerance: float = 1e-12, least: float = 0.0
) -> tuple[Array, Scalar, Scalar]:
    """Return a solution of A x = b for a semidefinite A (n, n) and b (n,) in its range, the rank, and the pivot ratio.

    The pivot ratio is that of the last pivot to the first. See `SolveSemidefinite` for `tolerance` and `least`.
    """
    callee = SolveSemidefinite(len(b), tolerance, least)
    if not _has_symbols((A, b)):
        x, rank, pivot = callee(A, b)
        return x, rank[()], pivot[()]
    x, rank, pivot = _called(callee, [np.asarray(A), np.asarray(b)])
    return x, rank[()], pivot[()]


def draw(n: int, seed: Scalar, world: Scalar, stream: str | Scalar, tick: Scalar, *, normal: bool = True) -> Array:
    """Return n independent random numbers, standard `normal` or uniform in (0, 1), shape (n,); see `Draw`.

    `seed` is an integer below 2⁵³, and `world` an integer below 2³². `stream` is a name, or a number computed by
    `stream_number`. `tick` is an integer, used modulo 2³².
    """
    number = float(stream_number(stream)) if isinstance(stream, str) else stream
    given = [np.asarray(x) for x in (seed, world, number, tick)]
    callee = Draw(n, normal)
    return _called(callee, given)[0] if _has_symbols(given) else callee(*given)[0]


def when(condition: Scalar, program: Program, arrays: Sequence[ArrayLike], kept: Sequence[ArrayLike]) -> list[Array]:
    """Return the results of a program if a condition is not 0, otherwise the values `kept`; see `When`."""
    callee, given = When(program), [np.asarray(condition), *map(np.asarray, arrays), *map(np.asarray, kept)]
    return _called(callee, given) if _has_symbols(given) else list(callee(*given))


def iterate(program: Program, times: int, *arrays: ArrayLike) -> list[Array]:
    """Return the final state and the number of passes, at most `times`, of a program repeated until done; see `Iterate`.

    `arrays` contains the initial state, followed by constant arrays. The program returns the state after one pass and `done`.
    """
    callee, given = Iterate(program, times), [np.asarray(x) for x in arrays]
    # slices of arrays with symbols may be object arrays that contain only numbers
    return _called(callee, given) if _has_symbols(given) else list(callee(*(x.astype(float) for x in given)))
