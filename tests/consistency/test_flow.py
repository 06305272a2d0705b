"""Conditional and repeated calls: machine code on lanes and C against the interpreted program, lane by lane."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from hydromechs import compiler
from hydromechs.compiler import Argument, Compiled, Recipe, SourceFile, SourceFunction, trace
from hydromechs.spatial import where

WORLDS = 37


def newton(x, a):
    """One pass of Newton's iteration for √a; done once the step is small."""
    after = np.array([0.5 * (x[0] + a[0] / x[0]), x[1] + 1.0])
    return after, np.abs(after[0] - x[0]) < 1e-9


NEWTON = trace(newton, {"x": (2,), "a": (1,)}, name="newton", outputs=("x", "done"))
SQUARE = trace(lambda x, y: (x * x, np.array(1.0 / y[0])), {"x": (3,), "y": (1,)}, name="square", outputs=("s", "r"))


def function(c, x, a):
    """Runs one program where c is positive, and iterates another inside a second condition."""
    s, r = compiler.when(c[()] > 0.0, SQUARE, [x, a], [x - 1.0, np.array(0.25)])
    root, passes = compiler.iterate(NEWTON, 40, np.array([1.0 + s[0] * s[0], 0.0]), a)
    return np.concatenate([s, [r[()], root[0], root[1], passes[()], where(c[()] > 0.0, 1.0, 0.0)]])


SHAPES = {"c": (), "x": (3,), "a": (1,)}


def data():
    rng = np.random.default_rng(2)
    a = np.exp(rng.uniform(-8, 8, (WORLDS, 1)))  # so that lanes need different numbers of passes
    return [rng.normal(size=WORLDS), rng.normal(size=(WORLDS, 3)), a]


@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_each_lane_has_its_own_condition_and_number_of_passes(lanes):
    inputs = tuple(Argument(name, shape) for name, shape in SHAPES.items())
    code = Compiled(Recipe("flow", function, inputs, (Argument("y", (8,)),), None), lanes, 1)
    given, program = data(), trace(function, SHAPES, outputs=("y",))
    got, want = np.asarray(code(given)[0]), np.array([program(*row)[0] for row in zip(*given, strict=True)])
    plain = np.array([function(*map(np.asarray, row)) for row in zip(*given, strict=True)])
    assert np.array_equal(want, plain)
    assert len(np.unique(want[:, 6])) > 5 and 0 < want[:, 7].sum() < WORLDS
    assert np.array_equal(got[:, 5:], want[:, 5:])
    np.testing.assert_allclose(got, want, rtol=1e-14)  # one rounding per operation may differ where products are fused
    np.testing.assert_allclose(want[:, 4] ** 2, given[2][:, 0], rtol=1e-12)


def test_a_world_does_not_depend_on_the_others():
    """A world that stays at its fallback keeps its bits beside any neighbour, NaN in it stays in it."""
    inputs = tuple(Argument(name, shape) for name, shape in SHAPES.items())
    code = Compiled(Recipe("flow", function, inputs, (Argument("y", (8,)),), None), 8, 1)
    c, x, a = data()
    whole = np.asarray(code([c, x, a])[0])
    x[3], a[4] = np.nan, np.nan
    others = np.delete(np.asarray(code([c, x, a])[0]), [3, 4], axis=0)
    assert others.tobytes() == np.delete(whole, [3, 4], axis=0).tobytes()


def test_iteration_ends_at_its_maximum():
    never = trace(lambda x: (x + 1.0, np.array(0.0 * x[0])), {"x": (1,)}, name="never", outputs=("x", "done"))
    recipe = Recipe("never", lambda x: compiler.iterate(never, 7, x)[0], (Argument("x", (1,)),), (Argument("y", (1,)),), None)
    assert Compiled(recipe, 8, 1)([np.arange(5.0)[:, None]])[0].ravel().tolist() == [7.0, 8.0, 9.0, 10.0, 11.0]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc on this machine")
def test_numbers_among_symbols():
    """A part of an array of symbols may hold only numbers; it is computed at once."""
    part = np.array([1.0, 0.0, "a symbol"], dtype=object)[:2]
    assert compiler.iterate(NEWTON, 40, part, np.array([4.0]))[0][0] == pytest.approx(2.0)


def test_exported_c(tmp_path):
    program = trace(function, SHAPES, name="flow", outputs=("y",))
    file = SourceFile("flow", [SourceFunction(program, "Flow.", {})])
    (tmp_path / "flow.h").write_text(compiler.c_header(file))
    (tmp_path / "flow.c").write_text(compiler.c_source(file))
    command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-shared", "-fPIC"]
    subprocess.run([*command, tmp_path / "flow.c", "-lm", "-o", tmp_path / "flow.so"], check=True)
    shared = ctypes.CDLL(str(tmp_path / "flow.so"))
    for row in zip(*data(), strict=True):
        given, out = [np.ascontiguousarray(x) for x in row], np.zeros(8)
        shared.flow_flow(*(ctypes.c_void_p(x.ctypes.data) for x in (*given, out)))
        np.testing.assert_allclose(out, program(*row)[0], rtol=1e-14)
