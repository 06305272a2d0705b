"""Calls inside compiled programs: functions, linear systems, tables, floor; machine code on lanes against NumPy, and derivatives."""

import math

import numpy as np
import pytest

from hydromechs import compiler
from hydromechs.compiler import Argument, Compiled, Recipe, jacobian_program, trace
from hydromechs.spatial import floor, lookup, maximum, where

EPS = np.finfo(float).eps
LANES = (1, 4, 8)
WORLDS = 19


def compile_(function, shapes, outputs, lanes, threads=1):
    """`function` in machine code."""
    inputs = tuple(Argument(name, shape) for name, shape in shapes.items())
    return Compiled(Recipe("test", function, inputs, tuple(Argument(n, s) for n, s in outputs.items()), None), lanes, threads)


def inner_function(a, x):
    """Something with a call worth making: shape (3,) and scalar. Scalars come as arrays of no dimension."""
    a = np.asarray(a)[()]
    return np.array([np.sin(a) * x[0], x[1] * x[1] + a, np.exp(-(x[0] ** 2))]), x[0] * a


INNER = trace(inner_function, {"a": (), "x": (2,)}, name="inner", outputs=("y", "s"))


def outer_function(a, x):
    """Calls it several times, on symbols, on results of calls, and on numbers."""
    y1, s1 = compiler.call(INNER, a, x)
    y2, s2 = compiler.call(INNER, s1, np.array([y1[0], y1[2]]))
    y3, _ = compiler.call(INNER, 0.3, np.array([0.5, -0.2]))
    return np.array([y1[0] + y2[1], s2[()] * y3[2], y2[0] - y3[0], 1.5]), np.array([[y1[1], np.asarray(a)[()]], [x[0], y2[2]]])


def outer_plain(a, x):
    """The same without calls."""
    y1, s1 = inner_function(a, x)
    y2, s2 = inner_function(s1, np.array([y1[0], y1[2]]))
    y3, _ = inner_function(0.3, np.array([0.5, -0.2]))
    return np.array([y1[0] + y2[1], s2 * y3[2], y2[0] - y3[0], 1.5]), np.array([[y1[1], a], [x[0], y2[2]]])


SHAPES, OUTPUTS = {"a": (), "x": (2,)}, {"u": (4,), "m": (2, 2)}


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("threads", [1, 2])
def test_call_compiled_interpreted_and_inlined_agree(lanes, threads):
    """A program that calls another is the function without calls: in machine code on lanes and threads, and interpreted."""
    rng = np.random.default_rng(0)
    n = WORLDS if threads == 1 else 5000
    a, x = rng.normal(size=n), rng.normal(size=(n, 2))
    code = compile_(outer_function, SHAPES, OUTPUTS, lanes, threads)
    u, m = code([a, x])
    program = trace(outer_function, SHAPES)
    assert len(program.calls) >= 2
    for k in range(WORLDS):
        plain = outer_plain(a[k], x[k])
        for got in ((u[k], m[k]), program(a[k], x[k]), outer_function(a[k], x[k])):
            for one, other in zip(got, plain, strict=True):
                np.testing.assert_allclose(one, other, rtol=20 * EPS, atol=20 * EPS)


def test_call_counts_and_hash():
    """Operations of a called program count at every call; what is called is part of the program's identity."""
    program = trace(outer_function, SHAPES)
    calls = sum(call.callee is INNER for call in program.calls)
    assert program.count().sines_cosines == calls * INNER.count().sines_cosines
    other = trace(
        lambda a, x: (inner_function(a, x)[0] * 1.0001, x[0] * a), {"a": (), "x": (2,)}, name="inner", outputs=("y", "s")
    )

    def using(callee):
        return trace(lambda a, x: compiler.call(callee, np.asarray(a), x)[0], SHAPES)

    assert using(INNER).hash == using(INNER).hash != using(other).hash


def test_unused_calls_are_dropped():
    """A call whose results nothing needs is not made; nor one that only such a call needs."""

    def function(a, x):
        y, s = compiler.call(INNER, np.asarray(a), x)
        compiler.call(INNER, np.asarray(s), x)
        return y[0] * 0.0 + a

    program = trace(function, SHAPES)
    assert len(program.calls) <= 1
    np.testing.assert_allclose(program(0.3, np.ones(2))[0], 0.3)


def test_call_errors():
    with pytest.raises(ValueError, match=r"inner: x must have shape \(2,\), got \(3,\)"):
        compiler.call(INNER, 0.0, np.zeros(3))
    with pytest.raises(ValueError, match="argument"):
        compiler.call(INNER, 0.0)
    from hydromechs.compiler._symbol import symbols

    with pytest.raises(TypeError, match="being traced"):
        compiler.call(INNER, symbols("a", ()), symbols("x", (2,)))


# -- linear systems -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 16, 23])
def test_solve(lanes, n):
    """Gaussian elimination with pivots has a residual of n ε |A| |x|, whatever the size is to the width of vectors; pivots are needed."""
    rng = np.random.default_rng(n)
    A, b = rng.normal(size=(WORLDS, n, n)), rng.normal(size=(WORLDS, n))
    A[:, 0, 0] = 0.0 if n > 1 else 2.0  # without pivots this fails
    A[::3] *= 1e-8
    code = compile_(lambda A, b: compiler.solve(A, b), {"A": (n, n), "b": (n,)}, {"x": (n,)}, lanes)
    (x,) = code([A, b])
    for k in range(WORLDS):
        # backward error of elimination with partial pivots: growth of some n at most for random matrices
        limit = 10 * n * n * EPS * np.abs(A[k]).max() * np.abs(x[k]).sum()
        np.testing.assert_allclose(A[k] @ x[k], b[k], rtol=0, atol=limit)
        np.testing.assert_allclose(x[k], np.linalg.solve(A[k], b[k]), rtol=50 * n * EPS * np.linalg.cond(A[k]), atol=1e-300)


@pytest.mark.parametrize("lanes", LANES)
def test_solve_of_singular_and_nan_touches_no_other_lane(lanes):
    """A singular matrix gives numbers that are not finite, NaN gives NaN; the worlds beside have their results to the last bit."""
    n = 5
    rng = np.random.default_rng(3)
    A, b = rng.normal(size=(WORLDS, n, n)), rng.normal(size=(WORLDS, n))
    code = compile_(lambda A, b: compiler.solve(A, b), {"A": (n, n), "b": (n,)}, {"x": (n,)}, lanes)
    want = code([A, b])[0].copy()
    A[2] = 0.0
    A[9, :, 3] = 0.0
    A[5, 1, 1] = np.nan
    b[7, 2] = np.nan
    got = code([A, b])[0]
    good = [k for k in range(WORLDS) if k not in (2, 5, 7, 9)]
    np.testing.assert_array_equal(got[good], want[good])
    for k in (2, 9, 5, 7):
        assert not np.isfinite(got[k]).all(), k


def test_solve_mixes_numbers_and_symbols():
    """A constant matrix with a traced right-hand side, and the reverse; with floats alone it is NumPy's."""
    A = np.array([[2.0, 1.0], [0.5, 3.0]])
    for function in (lambda x: compiler.solve(A, x), lambda x: compiler.solve(A * x[0], np.array([1.0, 2.0]))):
        code = compile_(function, {"x": (2,)}, {"y": (2,)}, 4)
        x = np.random.default_rng(0).uniform(0.5, 2, size=(6, 2))
        np.testing.assert_allclose(code([x])[0], [function(row) for row in x], rtol=20 * EPS)


# -- tables and floor -----------------------------------------------------------------------------------------------------

TABLE = (3.0, -1.0, 4.0, 1.5, -5.0, 9.25)
HUGE = (1e30, -1e30, math.inf, -math.inf, math.nan)
PLACES = np.array([0.0, 1.0, 5.0, 2.0, 0.999999, 4.5, -0.3, -7.0, 5.0001, 6.0, *HUGE, -0.0, 1e-320, 3.0, 2.9999999999999996])


@pytest.mark.parametrize("lanes", LANES)
def test_lookup(lanes):
    """Entries at integers, cut and held at the ends; NaN for NaN; the compiled one is the plain one, bit for bit."""
    code = compile_(lambda x: lookup(TABLE, x[()]), {"x": ()}, {"y": ()}, lanes)
    got = code([PLACES])[0]
    np.testing.assert_array_equal(got, [lookup(TABLE, float(x)) for x in PLACES])
    program = trace(lambda x: lookup(TABLE, x[()]), {"x": ()})
    np.testing.assert_array_equal([float(program(x)[0]) for x in PLACES], got)
    np.testing.assert_array_equal(got[:8], [3.0, -1.0, 9.25, 4.0, 3.0, -5.0, 3.0, 3.0])
    np.testing.assert_array_equal(got[10:15], [9.25, 3.0, 9.25, 3.0, np.nan])


@pytest.mark.parametrize("lanes", LANES)
def test_lookup_in_tables_of_one_and_of_many_entries(lanes):
    for n in (1, 2, 1000):
        table = np.random.default_rng(n).normal(size=n)
        code = compile_(lambda x, table=table: lookup(table, x[()]), {"x": ()}, {"y": ()}, lanes)
        x = np.linspace(-3, n + 3, 5 * WORLDS)
        np.testing.assert_array_equal(code([x])[0], table[np.clip(np.trunc(np.clip(x, 0, None)), 0, n - 1).astype(int)])


@pytest.mark.parametrize("lanes", LANES)
def test_floor(lanes):
    """The largest integer not above, of negative and huge numbers too; NaN and infinities stay."""
    special = (math.inf, -math.inf, math.nan, 0.0, -1e-300, 0.9999999999999999)
    x = np.array([0.5, -0.5, 2.0, -2.0, 1e15 + 0.5, -1e15 - 0.5, 4e18, -3e300, *special])
    code = compile_(lambda x: floor(x[()]), {"x": ()}, {"y": ()}, lanes)
    got = code([x])[0]
    np.testing.assert_array_equal(got, np.floor(x))
    np.testing.assert_array_equal(got, [floor(float(v)) for v in x])


def interpolated(x):
    """Linear interpolation in the table, as force curves and terrain do it."""
    place = where(x < 0.0, 0.0, where(x > 4.999, 4.999, x))
    k = floor(place)
    return lookup(TABLE, k) + (place - k) * (lookup(TABLE, k + 1.0) - lookup(TABLE, k))


@pytest.mark.parametrize("lanes", LANES)
def test_interpolation(lanes):
    code = compile_(lambda x: interpolated(x[()]), {"x": ()}, {"y": ()}, lanes)
    x = np.random.default_rng(0).uniform(-1, 6, size=200)
    np.testing.assert_allclose(code([x])[0], np.interp(np.clip(x, 0, 4.999), np.arange(6), TABLE), rtol=0, atol=40 * EPS)


# -- derivatives ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lanes", LANES)
def test_jacobian_with_lookups(lanes):
    """The slope of an interpolated table is that of its piece; entries and floors count as constants."""

    def function(x):
        return np.array([interpolated(x[0]) * x[1], np.sin(x[1]) * lookup(TABLE, floor(x[0])), x[0] * x[0]])

    program = jacobian_program(trace(function, {"x": (2,)}), ("x",))
    code = Compiled(Recipe("j", None, program.inputs, program.outputs, None), lanes, 1, program=program)
    x = np.column_stack([np.random.default_rng(1).uniform(0.01, 4.9, 30), np.random.default_rng(2).normal(size=30)])
    J = code([x])[0].reshape(30, 3, 2)
    for row, got in zip(x, J, strict=True):
        k = int(row[0])
        slope, y = TABLE[k + 1] - TABLE[k], np.interp(row[0], np.arange(6), TABLE)
        want = [[slope * row[1], y], [0.0, np.cos(row[1]) * TABLE[k]], [2 * row[0], 0.0]]
        np.testing.assert_allclose(got, want, rtol=0, atol=100 * EPS)
        np.testing.assert_allclose(got, program(row)[0], rtol=0, atol=100 * EPS)


def test_jacobian_holds_results_of_calls_constant():
    """As it says: the derivative goes through the expression around a call, not through the call."""

    def function(x):
        y, _ = compiler.call(INNER, np.asarray(0.4), x)
        return np.array([y[0] * x[1], y[2] + 3.0 * x[0]])

    x = np.array([0.7, -1.2])
    y, _ = INNER(0.4, x)
    (J,) = jacobian_program(trace(function, {"x": (2,)}), ("x",))(x)
    np.testing.assert_allclose(J, [[0.0, y[0]], [3.0, 0.0]], atol=10 * EPS)


@pytest.mark.parametrize("lanes", LANES)
def test_nan_goes_through_choices_and_calls(lanes):
    """NaN in one world stays NaN through maximum, where, a call and a table, and stays in its world."""

    def function(a, x):
        y, s = compiler.call(INNER, np.asarray(a), x)
        return np.array([maximum(y[0], 0.0), lookup(TABLE, floor(s[()])), y[1]])

    code = compile_(function, SHAPES, {"y": (3,)}, lanes)
    rng = np.random.default_rng(0)
    a, x = rng.normal(size=WORLDS), rng.normal(size=(WORLDS, 2))
    want = code([a, x])[0].copy()
    a[6] = np.nan
    got = code([a, x])[0]
    assert np.isnan(got[6]).all()
    others = np.arange(WORLDS) != 6
    np.testing.assert_array_equal(got[others], want[others])
