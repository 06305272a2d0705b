"""Dense layers in machine code and C equal NumPy."""

from __future__ import annotations

import ctypes
import subprocess

import numpy as np
import pytest

from hydromechs import compiler
from hydromechs.compiler import SourceFile, SourceFunction, c_header, c_source, compile_function

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("m,n", [(1, 1), (5, 3), (8, 13), (24, 7), (67, 130)])
@pytest.mark.parametrize("lanes", [1, compiler.native_lanes()])
def test_dense_layer_equals_numpy(m, n, lanes):
    """Full vectors of outputs and a part of one; sums of n products."""
    W, b, x = RNG.normal(size=(m, n)), RNG.normal(size=m), RNG.normal(size=(11, n))
    code = compile_function("layer", lambda x: compiler.dense(W, b, x), {"x": (n,)}, {"y": (m,)}, lanes=lanes)
    scale = np.abs(x) @ np.abs(W).T + np.abs(b)
    for worlds in (1, 11):
        (y,) = code([x[:worlds]])
        assert (np.abs(y - (x[:worlds] @ W.T + b)) <= n * np.finfo(float).eps * scale[:worlds]).all()
    assert len(code.traced.operations) <= 2 + m + n  # the weights are no operations


def test_other_weights_are_another_program():
    def program(W):
        return compiler.trace(lambda x: compiler.dense(W, np.zeros(2), x), {"x": (2,)})

    assert program(np.eye(2)).hash == program(np.eye(2)).hash != program(2.0 * np.eye(2)).hash


def test_dense_layer_in_c(tmp_path):
    """The exported C compiles without a warning and equals floats, also where the result overwrites the argument."""
    W, b, x = RNG.normal(size=(3, 3)), RNG.normal(size=3), RNG.normal(size=3)
    program = compiler.trace(lambda x: compiler.dense(W, b, x), {"x": (3,)}, name="layer")
    file = SourceFile("net", (SourceFunction(program),))
    (tmp_path / "net.h").write_text(c_header(file))
    (tmp_path / "net.c").write_text(c_source(file))
    command = ["cc", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "net.c", "-o", "net.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    y = x.copy()
    ctypes.CDLL(str(tmp_path / "net.so")).net_layer(ctypes.c_void_p(y.ctypes.data), ctypes.c_void_p(y.ctypes.data))
    np.testing.assert_allclose(y, W @ x + b, rtol=1e-14)
