"""The CUDA kernels against the float64 program: on a GPU, and their very text compiled by the host's C compiler without one."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import library
from hydromechs.compiler import trace
from hydromechs.compiler._cuda import MISSING, CudaKernel, cuda_text
from hydromechs.compiler._schedule import most_alive, short_lives
from hydromechs.spatial import maximum, norm, where

PRECISIONS = ("float32", "float64")
WORLDS = 200


def why_no_gpu():
    """The reason for which kernels cannot run here, or nothing."""
    try:
        import cupy
    except ImportError:
        return "CuPy is not installed"
    return "" if cupy.cuda.is_available() else "there is no CUDA GPU"


REASON = why_no_gpu()
on_gpu = pytest.mark.skipif(bool(REASON), reason=f"kernels cannot run: {REASON}")
CC = shutil.which("gcc")
on_host = pytest.mark.skipif(CC is None, reason="no gcc on this machine")


def programs(model):
    q, v = {"q": (model.nq,)}, {"v": (model.nv,)}
    flow = dict(fluid_velocity=(3,), wrench=(model.nb, 6))
    return [
        trace(
            lambda q, v, tau, **flow: hm.forward_dynamics(model, q, v, tau, **flow),
            q | v | dict(tau=(model.nv,)) | flow,
            name="forward_dynamics",
        ),
        trace(
            lambda q, v, vdot: hm.inverse_dynamics(model, q, v, vdot), q | v | dict(vdot=(model.nv,)), name="inverse_dynamics"
        ),
        trace(lambda q: hm.mass_matrix(model, q), q, name="mass_matrix"),
        trace(lambda q, v: tuple(hm.kinematics(model, q, v)), q | v, name="kinematics"),
    ]


LARGE = {"aquarobot"}  # above 24 degrees of freedom
MODELS = [*(name for name in library.names() if name not in LARGE), *range(200, 212)]
"""Models of the library, and random trees by their seeds."""


def made(model):
    """A model by its name or seed."""
    if isinstance(model, str):
        return library.load(model)
    return library.random_tree(np.random.default_rng(model), max_bodies=5)


def worlds(model, program, dtype=np.float64):
    """Random arguments of many worlds, as a type of number holds them; quaternions unit."""
    rng = np.random.default_rng(9)
    out = []
    for argument in program.inputs:
        x = rng.normal(size=(WORLDS, *argument.shape))
        if argument.name == "q":
            x = np.tile(model.initial().q, (WORLDS, 1))
            for body, at in zip(model.bodies, model.q_slices, strict=True):
                if body.joint.kind in ("revolute", "prismatic"):
                    x[:, at] = rng.uniform(-2, 2, (WORLDS, 1))
                if body.joint.kind in ("free", "ball"):
                    quaternion = rng.normal(size=(WORLDS, 4))
                    x[:, at.stop - 4 : at.stop] = quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True)
        out.append(x.astype(dtype))
    return out


def interpret(program, arrays, dtype, noise=None):
    """The program's operations one by one in NumPy, all worlds at once, each rounded to `dtype`: what a precision can give.

    With a generator of random numbers, `noise`, each result that is rounded is off by up to half a unit of its last place more,
    as other orders of sums and other sines round.
    """
    flat, n = [np.asarray(x, dtype).reshape(len(x), -1) for x in arrays], len(arrays[0])
    binary = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}
    unary = {"tanh": np.tanh, "neg": np.negative, "sqrt": np.sqrt, "abs": np.abs, "sin": np.sin, "cos": np.cos}
    values = []
    for op in program.operations:
        if op.kind == "const":
            values.append(np.full(len(flat[0]), op.value, dtype))
            continue
        if op.kind == "input":
            values.append(flat[op.value[0]][:, op.value[1]])
            continue
        if op.kind == "call":
            callee, rows = program.calls[op.value]
            given = [
                np.stack([values[p] for p in row], axis=1).astype(float).reshape(n, *a.shape)
                for row, a in zip(rows, callee.inputs, strict=True)
            ]
            found = [callee(*(x[world] for x in given)) for world in range(n)]
            values.append([np.stack([np.ravel(row[k]) for row in found]) for k in range(len(callee.outputs))])
            continue
        if op.kind == "result":
            x = values[op.a][op.value[0]][:, op.value[1]].astype(dtype)
        elif op.kind in binary:
            x = binary[op.kind](values[op.a], values[op.b])
        else:
            x = unary[op.kind](values[op.a])
        if noise is not None and op.kind not in ("neg", "abs"):
            x = (x * (1.0 + 0.5 * np.finfo(dtype).eps * noise.uniform(-1.0, 1.0, len(x)))).astype(dtype)
        values.append(x)
    return [
        np.stack([values[p] for p in places], axis=1).reshape(-1, *a.shape).astype(float)
        for places, a in zip(program.results, program.outputs, strict=True)
    ]


def errors(ours, reference):
    """Median and largest error over all worlds, relative to the largest entry of each world's result, shape (2,)."""
    n = len(reference)
    scale = np.abs(reference).reshape(n, -1).max(axis=1, initial=0)
    each = np.abs(ours - reference).reshape(n, -1).max(axis=1) / np.where(scale, scale, 1.0)
    return np.array([np.median(each), each.max()])


def assert_as_good_as(precision, program, arrays, results):
    """Results of a kernel against the program in float64.

    float32: median and largest error over all worlds are at most 4 times those of three interpreters that round at random: fused
    operations and another sine round otherwise, but not worse. The largest is that of one world that amplifies rounding most;
    a single interpreter can be lucky there (a tenth of what others have). float64: 1e-11, or where the mechanism amplifies
    rounding more, that error scaled with the ratio of the precisions.
    """
    reference = interpret(program, arrays, np.float64)
    noise = np.random.default_rng(0)
    singles = [interpret(program, arrays, np.float32, noise) for _ in range(3)]
    ratio = np.finfo(np.float64).eps / np.finfo(np.float32).eps
    for k, (ours, exact) in enumerate(zip(results, reference, strict=True)):
        expected = 4 * np.max([errors(single[k], exact) for single in singles], axis=0)
        if precision == "float64":
            limit = np.maximum(1e-11, ratio * expected)
        else:
            limit = expected + 8 * np.finfo(np.float32).eps
        got = errors(np.asarray(ours, float), exact)
        assert (got <= limit).all(), (program.name, got, limit)


SHIM = """
#include <math.h>
#include <string.h>
#include <stdint.h>
#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(a, b)
static struct { long long x; } blockIdx, blockDim, threadIdx;
static inline int __float2int_rn(float x) { return isnan(x) ? 0 : (int)rintf(x); }
static inline int __double2int_rn(double x) { return isnan(x) ? 0 : (int)rint(x); }
static inline float __int_as_float(int32_t i) { float x; memcpy(&x, &i, 4); return x; }
static inline double __longlong_as_double(int64_t i) { double x; memcpy(&x, &i, 8); return x; }
"""


class HostKernel:
    """The text of a CUDA kernel compiled by gcc, world after world."""

    def __init__(self, program, precision, folder):
        self.program, self.dtype = program, np.dtype(precision)
        text = cuda_text(program, precision).replace('extern "C" ', "")
        source, shared = folder / f"{precision}.c", folder / f"{program.name}_{precision}.so"
        loop = "void set_world(long long i) { blockIdx.x = i; blockDim.x = 1; threadIdx.x = 0; }\n"
        source.write_text(SHIM + text + loop)
        flags = ["-std=gnu11", "-Wall", "-Werror", "-O1", "-fPIC", "-shared"]
        result = subprocess.run([CC, *flags, source, "-o", shared, "-lm"], capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        self.library = ctypes.CDLL(str(shared))

    def __call__(self, *arrays):
        n = len(arrays[0])
        outs = [np.full((*a.shape, n), 7.0, self.dtype) for a in self.program.outputs]  # worlds fastest
        outs = [np.moveaxis(y, -1, 0) for y in outs]
        arguments = [ctypes.c_longlong(n)]
        arrays = [np.asarray(x, self.dtype) for x in arrays]
        for x in (*arrays, *outs):
            arguments.append(ctypes.c_void_p(x.ctypes.data))
            arguments += [ctypes.c_longlong(s // self.dtype.itemsize) for s in x.strides]
        for i in range(n + 1):  # one thread too many, as in a last block
            self.library.set_world(ctypes.c_longlong(i))
            self.library.world_kernel(*arguments)
        return outs


@on_host
@pytest.mark.parametrize(
    ("model", "precision"),
    [(m, PRECISIONS[k % len(PRECISIONS)]) for k, m in enumerate(MODELS[::5])],
)
def test_text_on_the_host(model, precision, tmp_path):
    model = made(model)
    for program in programs(model)[:: 1 if model.nb < 4 else 3]:
        arrays = worlds(model, program, precision)
        assert_as_good_as(precision, program, arrays, HostKernel(program, precision, tmp_path)(*arrays))


def waves(x):
    return np.array([np.sin(x[0]), np.cos(x[0]), np.sin(x[1]), np.cos(x[2])])


@on_host
@pytest.mark.parametrize("precision", PRECISIONS)
def test_sine_and_cosine(precision, tmp_path):
    """Within 2 ulp of 1 up to 10⁵ rad, NaN for NaN and infinity."""
    kernel = HostKernel(trace(waves, dict(x=(3,)), name="waves"), precision, tmp_path)
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-10, 10, (5000, 1)), rng.uniform(-1e5, 1e5, (5000, 1)), [[0.0], [np.pi / 4], [-np.pi]]])
    x = np.tile(x, 3).astype(precision)
    (y,) = kernel(x)
    exact = np.stack([np.sin(x[:, 0], dtype=np.longdouble), np.cos(x[:, 0], dtype=np.longdouble)] * 2, axis=1)
    assert np.abs(y - exact).max() <= 2 * np.finfo(precision).eps
    (y,) = kernel(np.full((3, 3), [[np.nan], [np.inf], [-np.inf]]))
    assert np.isnan(y).all()


def forward_dynamics(model):
    shapes = dict(q=(model.nq,), v=(model.nv,), tau=(model.nv,))
    return trace(lambda q, v, tau: hm.forward_dynamics(model, q, v, tau), shapes, name="forward_dynamics")


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on this machine")
@pytest.mark.parametrize("name", ["tiburon_titan2", "rexrov2_oberon7"])
def test_nvcc_finds_no_spills_in_float32(name, tmp_path):
    (tmp_path / "kernel.cu").write_text(cuda_text(forward_dynamics(library.load(name)), "float32"))
    command = ["nvcc", "-arch=sm_90", "-Xptxas", "-v", "-c", "kernel.cu", "-o", "kernel.o"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in result.stderr


@pytest.mark.parametrize("name", library.names()[::6])
def test_order_shortens_lives(name):
    """The kernel's order holds every operation once, after its operands, with fewer values alive than the trace's."""
    program = programs(library.load(name))[0]
    order = short_lives(program)
    computed = [k for k, op in enumerate(program.operations) if op.kind not in ("const", "input")]
    assert sorted(order) == computed
    place = {k: i for i, k in enumerate(order)}
    for k in order:
        op = program.operations[k]
        assert all(place.get(x, -1) < place[k] for x in (op.a, op.b) if x >= 0)
    needs = [{x for x in (op.a, op.b) if x >= 0 and program.operations[x].kind != "const"} for op in program.operations]
    assert most_alive(needs, order) < most_alive(needs, computed)


def test_wrong_precision():
    program = trace(waves, dict(x=(3,)), name="waves")
    with pytest.raises(ValueError, match="precision is 'float16'; use 'float32' or 'float64'"):
        CudaKernel(program, "float16")


@pytest.mark.skipif(not REASON, reason="there is a GPU")
def test_without_gpu_the_error_reports_what_to_install():
    with pytest.raises(ModuleNotFoundError, match="the cuda back end needs CuPy and a CUDA GPU") as caught:
        CudaKernel(trace(waves, dict(x=(3,)), name="waves"), "float32")
    assert str(caught.value) == MISSING


@on_gpu
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("model", MODELS)
def test_models(model, precision):
    """Every function, with the worlds slowest and fastest; NaN in one world stays there."""
    import cupy

    model = made(model)
    for program in programs(model):
        kernel = CudaKernel(program, precision)
        arrays = worlds(model, program, precision)
        results = kernel(*arrays)
        results = results if isinstance(results, tuple) else (results,)
        assert_as_good_as(precision, program, arrays, [y.get() for y in results])
        fastest = kernel(*(cupy.asfortranarray(cupy.asarray(x)) for x in arrays))
        for y, z in zip(results, fastest if isinstance(fastest, tuple) else (fastest,), strict=True):
            assert z.strides[0] == z.itemsize
            np.testing.assert_array_equal(y.get(), z.get())
        if "v" in {a.name for a in program.inputs}:
            arrays[1][3] = np.nan
            broken = kernel(*arrays)
            broken = broken if isinstance(broken, tuple) else (broken,)
            assert any(np.isnan(y[3].get()).any() for y in broken)
            for y, z in zip(results, broken, strict=True):
                others = np.arange(WORLDS) != 3
                np.testing.assert_array_equal(y.get()[others], z.get()[others])


@on_gpu
@pytest.mark.parametrize("name", ["tiburon_titan2", "rexrov2_oberon7", "bluerov2_heavy_alpha5", "puma560"])
def test_float32_does_not_spill(name):
    attributes = CudaKernel(forward_dynamics(library.load(name)), "float32").attributes()
    assert attributes.local_bytes == 0 and 0 < attributes.registers < 255


def mixed(x, A, s):
    """Arguments of all ranks, several results."""
    return A @ x * s, np.array([where(x[0] < y, y, 2.0 * y) for y in x]), maximum(s[()], x[0])


@on_gpu
def test_arguments():
    """Layouts, broadcasting, out=, other libraries, empty batches, errors."""
    import cupy

    program = trace(mixed, dict(x=(3,), A=(3, 3), s=()), name="mixed", outputs=("y", "z", "m"))
    kernel = CudaKernel(program, "float64")
    rng = np.random.default_rng(1)
    x, A, s = rng.normal(size=(70, 3)), rng.normal(size=(70, 3, 3)), rng.normal(size=70)
    expected = [np.stack([np.asarray(f[k]) for f in (mixed(*w) for w in zip(x, A, s, strict=True))]) for k in range(3)]

    def same(results, worlds=slice(None)):
        for ours, reference in zip(results, expected, strict=True):
            np.testing.assert_allclose(ours.get(), reference[worlds], rtol=1e-14, atol=1e-14)

    same(kernel(x, A, s))
    big = cupy.zeros((70, 20))
    big[:, 1:19:6] = cupy.asarray(x)
    same(kernel(big[:, 1:19:6], cupy.asarray(A.transpose(0, 2, 1).copy()).transpose(0, 2, 1), cupy.asarray(s)[::-1][::-1]))
    same(kernel(x[:1], A[:1], s[:1]), slice(0, 1))
    alone = kernel(x[0], A[0], s[0])
    assert [y.shape for y in alone] == [(3,), (3,), ()]
    shared = kernel(x, A[0], s[0])
    np.testing.assert_allclose(shared[0].get(), x @ A[0].T * s[0], rtol=1e-13, atol=1e-13)
    assert [y.shape for y in kernel(x[:0], A[:0], s[:0])] == [(0, 3), (0, 3), (0,)]
    # results on top of an argument
    X = cupy.asarray(x)
    y, z, m = kernel(X, A, s, out=(X, cupy.empty((70, 3)), cupy.empty(70)))
    assert y is X
    same((y, z, m))
    for bad, message in (
        ((x, A), "got 2 arrays; pass 3"),
        ((x[:, :2], A, s), r"x must have shape \(B, 3\)"),
        ((x[:5], A, s), "different numbers of worlds"),
        (("no", A, s), "x must be an array of numbers"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            kernel(*bad)
    with pytest.raises(ValueError, match="out for y must be an array of float64"):
        kernel(x, A, s, out=(np.empty((70, 3)), z, m))


@on_gpu
@pytest.mark.parametrize("package", ["torch", "jax"])
def test_arrays_of_other_libraries(package):
    """Their arrays go in without a copy, and results go back by DLPack."""
    module = pytest.importorskip(package, reason=f"needs {package} on a machine with a GPU")
    x = np.random.default_rng(2).normal(size=(40, 3)).astype(np.float32)
    kernel = CudaKernel(trace(waves, dict(x=(3,)), name="waves"), "float32")
    if package == "torch":
        if not module.cuda.is_available():
            pytest.skip("this PyTorch has no GPU")
        y = module.from_dlpack(kernel(module.from_numpy(x).cuda()))
        out = module.empty((40, 4), device="cuda")
        kernel(module.from_numpy(x).cuda(), out=out)
        np.testing.assert_array_equal(out.cpu().numpy(), y.cpu().numpy())
        y = y.cpu().numpy()
    else:
        if module.default_backend() != "gpu":
            pytest.skip("this JAX has no GPU")
        y = np.asarray(module.numpy.from_dlpack(kernel(module.numpy.asarray(x))))
    exact = np.stack([waves(row) for row in x.astype(float)])
    np.testing.assert_allclose(y, exact, atol=4 * np.finfo(np.float32).eps)


class ViscousSphere:
    """Custom hydrodynamics: as in examples/custom_components.py."""

    def __init__(self, radius):
        self.radius = radius

    def added_mass(self, body, motion):
        mass = 2 / 3 * np.pi * motion.density * self.radius**3
        return np.diag([mass, mass, mass, 0.0, 0.0, 0.0])

    def wrench(self, body, motion):
        v = motion.velocity[:3]
        stokes = 6 * np.pi * 1e-3 * self.radius
        quadratic = 0.5 * motion.density * 0.4 * np.pi * self.radius**2
        wet = 0.5 + 0.5 * np.tanh(motion.depth / self.radius)
        buoyancy = wet * motion.density * 4 / 3 * np.pi * self.radius**3 * motion.a_fg
        return np.concatenate([buoyancy - (stokes + quadratic * norm(v)) * v, np.zeros(3)])


def own_model():
    inertia = hm.Inertia(mass=0.5, com=(0.01, 0.02, 0.03), tensor=(1e-3, 2e-3, 2.5e-3, 0, 0, 0))
    return hm.Model(bodies=[hm.Body(name="ball", inertia=inertia, hydro=ViscousSphere(0.05))])


@on_host
@pytest.mark.parametrize("precision", PRECISIONS)
def test_custom_hydrodynamics_on_the_host(precision, tmp_path):
    program = forward_dynamics(own_model())
    arrays = worlds(own_model(), program, precision)
    assert_as_good_as(precision, program, arrays, HostKernel(program, precision, tmp_path)(*arrays))


@on_gpu
@pytest.mark.parametrize("precision", PRECISIONS)
def test_custom_hydrodynamics_on_the_gpu(precision):
    program = forward_dynamics(own_model())
    arrays = worlds(own_model(), program, precision)
    results = CudaKernel(program, precision)(*arrays)
    results = results if isinstance(results, tuple | list) else (results,)
    assert_as_good_as(precision, program, arrays, [y.get() for y in results])
