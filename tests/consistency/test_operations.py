"""Every row of the table of operations means the same in floats, CasADi, LLVM on all lanes, and C."""

import ctypes
import itertools
import shutil
import subprocess

import casadi
import numpy as np
import pytest

from hydromechs.compiler import Compiled, OperationCount, Recipe, SourceFile, SourceFunction, c_source
from hydromechs.compiler._callee import Argument
from hydromechs.compiler._operations import KINDS
from hydromechs.compiler._program import Operation, Program
from hydromechs.compiler._symbol import applied
from hydromechs.compiler._trace import program_of

CC = shutil.which("gcc") or shutil.which("cc")
VALUES = (0.0, 1.0, -1.0, 0.3, -0.7, 2.5, -3.0, 700.0, np.inf, -np.inf, np.nan)
PAIRS = np.array(list(itertools.product(VALUES, VALUES)))
INPUTS, OUTPUTS = (Argument("x", ()), Argument("y", ())), (Argument("z", (len(KINDS),)),)
OPERATIONS = (
    Operation("input", value=(0, 0)),
    Operation("input", value=(1, 0)),
    *(Operation(kind.name, 0, 1 if kind.arity == 2 else -1) for kind in KINDS.values()),
)
PROGRAM = Program("all_kinds", INPUTS, OUTPUTS, OPERATIONS, (tuple(range(2, len(OPERATIONS))),), None)
FLOATS = np.stack([PROGRAM(x, y)[0] for x, y in PAIRS])


def assert_same(ours, but=()):
    """Equal to the meaning in floats: 8 units in the last place, which two C libraries may differ by; NaN where it is NaN."""
    for k, kind in enumerate(KINDS):
        rows = ~np.isnan(PAIRS).any(axis=1) if kind in but else slice(None)
        np.testing.assert_allclose(ours[rows, k], FLOATS[rows, k], rtol=8 * np.finfo(float).eps, atol=1e-13, err_msg=kind)


def test_casadi():
    """Except for the extremes of NaN: CasADi's are fmin and fmax of C, which pass over it."""
    x, y = casadi.SX.sym("x"), casadi.SX.sym("y")
    expressions = [applied(kind.name, *(x, y)[: kind.arity]) for kind in KINDS.values()]
    function = casadi.Function("f", [x, y], [casadi.vertcat(*expressions)])
    assert_same(np.stack([np.array(function(*pair))[:, 0] for pair in PAIRS]), but=("min", "max"))
    program = program_of(function, INPUTS, OUTPUTS)
    kinds = [op.kind for op in program.operations if op.kind in KINDS]
    assert sorted(kinds) == sorted([*KINDS, "mul"])  # a quotient is a product with 1 / y


@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_llvm(lanes):
    compiled = Compiled(Recipe("all_kinds", None, INPUTS, OUTPUTS, None), lanes, 1, PROGRAM)
    assert_same(compiled([PAIRS[:, 0], PAIRS[:, 1]])[0])


@pytest.mark.skipif(CC is None, reason="no C compiler (gcc or cc) on this machine")
def test_c(tmp_path):
    (tmp_path / "x.h").write_text("")
    (tmp_path / "x.c").write_text(c_source(SourceFile("x", (SourceFunction(PROGRAM),))))
    subprocess.run([CC, "-std=c99", "-O1", "-shared", "-fPIC", "x.c", "-lm", "-o", "x.so"], cwd=tmp_path, check=True)
    function = ctypes.CDLL(str(tmp_path / "x.so")).x_all_kinds
    out = np.empty_like(FLOATS)
    for k in range(len(PAIRS)):
        function(*(ctypes.c_void_p(a.ctypes.data) for a in (PAIRS[k, :1], PAIRS[k, 1:], out[k])))
    assert_same(out)


def test_counts():
    assert PROGRAM.count() == OperationCount(
        multiplications=1, divisions=1, square_roots=1, additions=2, sines_cosines=2, others=len(KINDS) - 9
    )
