"""Machine code whose constants lie behind it: the same results as from code that may lie anywhere, and no relocations."""

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import library
from hydromechs.compiler import trace
from hydromechs.compiler._backend import Form
from hydromechs.compiler._llvm import LoadedCode, _compiled, object_code, target, with_constants
from hydromechs.compiler._llvm_march import march_text
from hydromechs.compiler._llvm_text import llvm_text

pytestmark = pytest.mark.skipif(
    not (target()[1].startswith("x86_64") and "linux" in target()[1]), reason="constants are moved on x86-64 with Linux only"
)


def near(text):
    return with_constants(_compiled(text, False, reloc="pic", codemodel="small"))


def results(code, lanes, inputs, shape):
    out = np.full(shape, np.nan)
    arrays = [*inputs, out]
    table = np.array([x for a in arrays for x in (a.ctypes.data, a.shape[1])], dtype=np.int64)
    LoadedCode(code, 0, Form(lanes=lanes)).loop(table.ctypes.data, 0, len(out))
    return out


@pytest.mark.parametrize(("name", "lanes"), [("puma560", 4), ("bluerov2_heavy_alpha5", 8)])
def test_same_results(name, lanes):
    model = library.load(name)
    program = trace(
        lambda q, v, tau: hm.forward_dynamics(model, q, v, tau), dict(q=(model.nq,), v=(model.nv,), tau=(model.nv,))
    )
    text = llvm_text(program, lanes)
    code = near(text)
    assert code is not None and object_code(text) == code
    rng = np.random.default_rng(3)
    inputs = [rng.normal(size=(20, n)) for n in (model.nq, model.nv, model.nv)]
    shape = (20, model.nv)
    far = results(_compiled(text, False), lanes, inputs, shape)
    assert np.isfinite(far).all()
    np.testing.assert_allclose(results(code, lanes, inputs, shape), far, rtol=1e-12, atol=1e-12 * np.abs(far).max())


@pytest.mark.parametrize("size", [3, 40])
def test_march_of_one_lane(size):
    """LLVM turns loops that copy 33 numbers or more into calls of memcpy where it may."""
    program = trace(lambda x, u: x + 0.1 * np.sin(1.7 * x) + u[0], dict(x=(3,), u=(size,)))
    assert near(march_text(program, 1, 1)) is not None


def test_code_that_refers_to_something_far():
    """Functions of the C library can be anywhere; single calls know addresses of Python from their arguments alone."""
    tangent = trace(lambda x: np.tan(1.7 * x), dict(x=(3,)))
    assert near(llvm_text(tangent, 8)) is None
    assert near(llvm_text(trace(lambda x: 1.7 * x, dict(x=(3,))), 1)) is not None
    x = np.linspace(0.1, 0.5, 30).reshape(10, 3)
    np.testing.assert_allclose(results(object_code(llvm_text(tangent, 8)), 8, [x], x.shape), np.tan(1.7 * x), rtol=1e-15)
