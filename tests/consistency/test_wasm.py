"""WebAssembly: own elementary functions, the linker, and routines under Node against machine code of this process."""

import ctypes
import json
import math
import re
import shutil
import subprocess

import numpy as np
import pytest
from tests.consistency.test_routine import COUNT, floats, mission, start

from hydromechs import compiler
from hydromechs.compiler import Argument, Recipe, WasmModule
from hydromechs.compiler._llvm import LIBRARY
from hydromechs.compiler._wasm_link import Linker, signed, unsigned
from hydromechs.compiler._wasm_math import math_text

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="needs Node.js: install node 20 or later")
RUN = """
const fs = require("fs");
const { wasm, calls } = JSON.parse(fs.readFileSync(0));
const { memory, table, run } = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(wasm, "base64"))).exports;
const bits = (x) => x.map((s) => BigInt("0x" + s));
const out = calls.map(({ call, put, get }) => {
  for (const [address, values] of put) new BigUint64Array(memory.buffer, address, values.length).set(bits(values));
  const n = call.length === 2 ? run(...call) : (table.get(call[0])(call[2]), 0);
  return [n, get.map(([address, size]) => Array.from(new BigUint64Array(memory.buffer, address, size), (x) => x.toString(16)))];
});
console.log(JSON.stringify(out));
"""
"""Runs routines and programs: puts the bits of numbers, calls, and returns the bits of others."""


def as_bits(values):
    return [f"{x:x}" for x in np.ravel(np.asarray(values, dtype=float)).view(np.uint64).tolist()]


def as_floats(bits):
    return np.array([int(x, 16) for x in bits], dtype=np.uint64).view(float)


def under_node(module, calls):
    """Run calls of a module: (call, {place: values}, places); return the results of each."""
    import base64

    rows = [{"call": c, "put": [[p.address, as_bits(x)] for p, x in put], "get": get} for c, put, get in calls]
    text = json.dumps({"wasm": base64.b64encode(module.code({})).decode(), "calls": rows})
    done = subprocess.run([NODE, "-e", RUN], input=text, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return [(n, [as_floats(x) for x in got]) for n, got in json.loads(done.stdout)]


@pytest.fixture(scope="module")
def functions():
    """The elementary functions in machine code of this process, which runs the same operations."""
    llvm = pytest.importorskip("llvmlite.binding")
    from hydromechs.compiler._llvm import _llvm, _machine

    _llvm()
    text = re.sub(rf"@({'|'.join(LIBRARY)})\(", r"@own_\1(", math_text())
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), _machine())
    engine.finalize_object()
    kinds = {name: ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * n) for name, n in LIBRARY.items()}
    found = {name: np.vectorize(kind(engine.get_function_address(f"own_{name}"))) for name, kind in kinds.items()}
    return found, engine


NUMPY = {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "pow": np.power, "atan2": np.arctan2}
SPECIAL = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 2.0, -3.0, 0.5, 800.0, -800.0, 5e-324, 1e308]


@pytest.mark.parametrize("name", LIBRARY)
def test_elementary_functions_agree_with_the_c_library(name, functions):
    """Values agree to 8 units in the last place (2 |y| more for powers), over many orders of magnitude; so do special cases."""
    own, other, rng = functions[0][name], NUMPY.get(name) or getattr(np, name), np.random.default_rng(4)
    spread = rng.normal(size=(LIBRARY[name], 4000)) * 10.0 ** rng.uniform(-6, 2, (LIBRARY[name], 4000))
    with np.errstate(all="ignore"):
        expected = other(*spread)
        more = 2.0 * np.abs(spread[1]).max() if name == "pow" else 0.0
        np.testing.assert_allclose(own(*spread), expected, rtol=(8 + more) * np.finfo(float).eps, atol=0.0)
        given = np.array(SPECIAL) if LIBRARY[name] == 1 else np.array([(a, b) for a in SPECIAL[:10] for b in SPECIAL[:10]]).T
        given = given if name != "tan" else given[np.isfinite(given) & (np.abs(given) < 1e5)]
        expected = other(*np.atleast_2d(given))
        np.testing.assert_allclose(own(*np.atleast_2d(given)), expected, rtol=1e-15, atol=0.0)


def test_numbers_of_the_format():
    """LEB128 as in the specification's examples."""
    assert [unsigned(x).hex() for x in (0, 2, 127, 128, 624485)] == ["00", "02", "7f", "8001", "e58e26"]
    assert [signed(x).hex() for x in (0, 2, -1, 64, -64, -123456)] == ["00", "02", "7f", "c000", "40", "c0bb78"]


def test_linker_names_what_is_missing():
    from hydromechs.compiler._wasm import WASM

    text = "declare double @f(double)\ndefine double @g(double %x) {\n %y = call double @f(double %x)\n ret double %y\n}\n"
    with pytest.raises(ValueError, match="a calls 'f', which no object defines"):
        Linker({"a": WASM.object_code(text)}, {}).module({})
    with pytest.raises(ValueError, match="b is not a WebAssembly object"):
        Linker({"b": b"ELF"}, {})


def test_march_is_rejected():
    with pytest.raises(compiler.BACKENDS["wasm"]._unable("").__class__, match="'wasm' does not compile marches"):
        compiler.BACKENDS["wasm"].source(COUNT.program(), compiler.Form(state=2))


def everything(x, A, seed):
    """Functions, a solution of equations, noise, a table, a condition and a repetition."""
    inside = np.concatenate([np.sin(x), np.cos(3.0 * x), np.exp(x), np.tanh(x), np.arctan2(x, x[::-1]), np.sqrt(x * x + 1.0)])
    noise = compiler.draw(6, seed[()], 3.0, 7.0, 11.0)
    even = compiler.draw(3, seed[()], 3.0, 7.0, 12.0, normal=False)
    return inside, compiler.solve(A @ A.T + np.eye(3), x), noise, even


@needs_node
def test_programs_agree_under_node():
    """Noise has the same bits; other results agree to rounding."""
    inputs = (Argument("x", (3,)), Argument("A", (3, 3)), Argument("seed", ()))
    outputs = tuple(Argument(n, (k,)) for n, k in (("inside", 18), ("solution", 3), ("noise", 6), ("even", 3)))
    recipe = Recipe("everything", everything, inputs, outputs, None)
    rng = np.random.default_rng(1)
    given = [rng.normal(size=3), rng.normal(size=(3, 3)), np.array(7.0**18)]
    expected = compiler.Compiled(recipe, 1, 1)(given)
    module = WasmModule({}, {"everything": recipe}, 1)
    p = module.programs["everything"]
    put = list(zip(p.inputs.values(), given, strict=True))
    [(_, got)] = under_node(module, [([p.entry, 0, p.arguments], put, list(p.outputs.values()))])
    for found, wanted in zip(got, expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-14, atol=1e-15)
    np.testing.assert_array_equal(got[2], expected[2])
    np.testing.assert_array_equal(got[3], expected[3])


@needs_node
def test_routine_agrees_under_node():
    """Conditions, repetitions, pieces of arrays, short steps and records, as the routine node by node."""
    routine, state, passes = mission(), start(1), 7
    module = WasmModule({"mission": routine}, {}, passes)
    placed = module.routines["mission"]
    put = [(placed.arrays[name], x[0]) for name, x in state.items()] + [(placed.arrays["h"], [0.01])]
    names = list(state)
    recorded = [(p.address, passes * p.size) for p in placed.records.values()]
    calls = [([placed.table, passes], put, [*(placed.arrays[name] for name in names), *recorded])]
    [(rows, got)] = under_node(module, calls)
    expected = floats(routine, state, 0.01, passes)
    assert rows == passes
    for name, x in zip(names, got, strict=False):
        np.testing.assert_allclose(x, state[name][0], rtol=1e-13, atol=1e-14)
    for (name, wanted), x in zip(expected.items(), got[len(names) :], strict=True):
        np.testing.assert_allclose(x.reshape(wanted[0].shape), wanted[0], rtol=1e-13, atol=1e-14, err_msg=name)
