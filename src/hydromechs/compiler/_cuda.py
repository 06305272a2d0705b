"""Programs as CUDA kernels with one thread per world, compiled and run through CuPy.

Arguments may be arrays of CuPy, PyTorch, JAX or any library with `__dlpack__` or `__cuda_array_interface__`; these are used
without copies. NumPy arrays are copied to the GPU. Results are CuPy arrays, which other libraries import through DLPack.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from ._backend import Arrays, Backend, Form, Marcher
from ._c_calls import CFunctions, c_literal
from ._c_text import c_body
from ._callee import Argument
from ._program import Program
from ._rolled import Rolled
from ._schedule import fused_sums, short_lives
from ._trigonometry import COSINE, HALF_PI, SINE, TWO_OVER_PI

if TYPE_CHECKING:
    from ._compiled import Compiled
    from ._march import March


CupyArray: TypeAlias = Any
"""CuPy array; CuPy is imported only on machines with a GPU."""

REALS = {"float32": "float", "float64": "double"}
OPTIONS = ("--fmad=true",)
"""Options of nvrtc, which optimises fully by default. Never add --use_fast_math: it may remove NaN and thus hide divergence."""

MISSING = "the cuda back end needs CuPy and a CUDA GPU; install CuPy with pip install 'hydromechs[cuda]'"
NO_GPU = "the cuda back end found no CUDA GPU ({}); check the driver with nvidia-smi"

TILE = 32
"""Number of worlds whose entries are adjacent in GPU memory, equal to the number of threads in a warp."""

ON_GPU = (2, 13)
"""DLPack device types of CUDA memory, ordinary and managed."""

# 2/π, π/2 in three parts, and polynomials for sine and cosine on |r| ≤ π/4; in double those of the LLVM back end
_TRIGONOMETRY = {
    "float": (
        0.636619747,
        (1.57079601, 3.13916473e-07, 5.39030253e-15),
        (-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4),
        (4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5),
    ),
    "double": (TWO_OVER_PI, HALF_PI, SINE, COSINE),
}


OWN = {"float": {"sqrt": "hm_sqrt({a})", "div": "{a} * hm_reciprocal({b})"}, "double": {}}
"""Operations that replace those of C; see `ROOTS`."""
ROOTS = """\
static __device__ __forceinline__ float hm_sqrt(float x)
{
#ifdef __CUDA_ARCH__
    float y;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return sqrtf(x);
#endif
}

static __device__ __forceinline__ float hm_reciprocal(float x)
{
#ifdef __CUDA_ARCH__
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return 1.0f / x;
#endif
}

"""
"""Square root and reciprocal in single precision within 1 ulp; numbers below 1e-38 are treated as 0, and NaN remains NaN.

The correctly rounded versions branch for rare arguments, and the compiler cannot reorder operations across branches.
"""


def _sincos(real: str) -> str:
    """Return a device function for sine and cosine with an error of about 1 ulp for |x| < 10⁵; NaN and inf give NaN.

    The function of the CUDA library reserves an array in the local memory of every thread for the exact reduction of huge
    angles. This function needs no such array.
    """
    f = "f" if real == "float" else ""
    two_over_pi, parts, sine, cosine = _TRIGONOMETRY[real]

    def literal(x: float) -> str:
        return c_literal(x, real)

    def polynomial(coefficients: Sequence[float]) -> str:
        text = literal(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            text = f"fma{f}({text}, z, {literal(c)})"
        return text

    return "\n".join(
        [
            f"static __device__ __forceinline__ void hm_sincos({real} x, {real} *sine, {real} *cosine)",
            "{",
            f"    const {real} n = rint{f}(x * {literal(two_over_pi)});",
            f"    const int quadrant = __{real}2int_rn(n);",
            f"    {real} r = fma{f}(-n, {literal(parts[0])}, x);",
            *(f"    r = fma{f}(-n, {literal(p)}, r);" for p in parts[1:]),
            f"    const {real} z = r * r;",
            f"    const {real} s = fma{f}({polynomial(sine)}, z * r, r);",
            f"    const {real} half = fma{f}(z, {literal(-0.5)}, {literal(1.0)});",
            f"    const {real} lost = fma{f}(z, {literal(-0.5)}, {literal(1.0)} - half);",
            f"    const {real} c = half + fma{f}({polynomial(cosine)}, z * z, lost);",
            f"    const {real} a = quadrant & 1 ? c : s, b = quadrant & 1 ? s : c;",
            "    *sine = quadrant & 2 ? -a : a;",
            "    *cosine = (quadrant + 1) & 2 ? -b : b;",
            "}",
        ]
    )


def definitions(real: str) -> str:
    """Return the header of every kernel; `real` is the type of all numbers, "double" or "float"."""
    infinity, nan = {
        "float": ("__int_as_float(0x7f800000)", "__int_as_float(0x7fffffff)"),
        "double": ("__longlong_as_double(0x7ff0000000000000LL)", "__longlong_as_double(0x7fffffffffffffffLL)"),
    }[real]
    roots = ROOTS if real == "float" else ""
    return f"#undef INFINITY\n#undef NAN\n#define INFINITY {infinity}\n#define NAN {nan}\n\n{roots}{_sincos(real)}\n"


def cuda_functions(real: str, block: int = 0) -> CFunctions:
    """Return a collection of functions for the GPU, in float or double (`real`); `block`: see `CFunctions`."""
    return CFunctions(real, cuda=True, sincos="hm_sincos", own=OWN[real], block=block)


def kernel_body(
    program: Program,
    functions: CFunctions,
    load: Callable[[int, int], str],
    store: Callable[[int, int, str], str],
    *,
    places: Callable[[Program], Callable[[int, int], Sequence[int]]] | None = None,
) -> list[str]:
    """Return the lines of a program for one thread; see `c_body`.

    `places`: returns `overwritten` of `c_body` for a program, if results may overwrite arguments.
    """
    program = fused_sums(program.unpacked().without_unread())
    how: dict[str, Any] = dict(sincos=functions.sincos, functions=functions, own=functions.own)
    if places is not None:
        how["overwritten"] = places(program)
    return c_body(program, functions.real, load, store, order=short_lives(program), **how)


def cuda_text(program: Program, precision: str, *, block: int = 64, min_blocks: int = 1) -> str:
    """Return the CUDA C source of a program as a kernel `world_kernel`.

    The kernel's arguments are the number of worlds, and for each input and output the address and the strides over worlds and
    each axis, counted in numbers.

    `precision` is "float32" or "float64", and `block` the number of threads per block. `min_blocks` is the minimum number of
    resident blocks per multiprocessor, which limits the number of registers per thread.
    """
    if precision not in REALS:
        raise ValueError(f"precision is {precision!r}; use 'float32' or 'float64'")
    real = REALS[precision]
    n = len(program.inputs)
    arguments = (*program.inputs, *program.outputs)
    parameters, starts = ["const long long worlds"], []
    for k, argument in enumerate(arguments):
        constant = "const " if k < n else ""
        parameters.append(f"{constant}{real} *__restrict__ a{k}")
        parameters += [f"const long long s{k}_{axis}" for axis in ("w", *range(len(argument.shape)))]
        starts.append(f"a{k} += world * s{k}_w;")

    def address(k: int, entry: int) -> str:
        index = np.unravel_index(entry, arguments[k].shape) if arguments[k].shape else ()
        terms = [f"{i} * s{k}_{axis}" if i > 1 else f"s{k}_{axis}" for axis, i in enumerate(map(int, index)) if i]
        return f"a{k}[{' + '.join(terms) or '0'}]"

    functions = cuda_functions(real)
    body = kernel_body(program, functions, address, lambda output, entry, text: f"{address(n + output, entry)} = {text};")
    lines = [
        f"/* {program.name}, one thread per world; written by HydroMechs */",
        definitions(real),
        *functions.text,
        "",
        f'extern "C" __global__ void __launch_bounds__({block}, {min_blocks}) world_kernel(',
        "    " + ",\n    ".join(parameters) + ")",
        "{",
        "    const long long world = blockIdx.x * (long long)blockDim.x + threadIdx.x;",
        "    if (world >= worlds)",
        "        return;",
        *(f"    {line}" for line in (*starts, *body)),
        "}",
        "",
    ]
    return "\n".join(lines)


def import_cupy() -> ModuleType:
    """Import CuPy on a machine with a GPU, or raise an error with installation instructions."""
    try:
        import cupy

        cupy.cuda.runtime.getDeviceCount()
    except ImportError as error:
        raise ModuleNotFoundError(MISSING) from error
    except RuntimeError as error:  # CUDARuntimeError: no driver, an outdated driver, or no GPU
        raise ModuleNotFoundError(NO_GPU.format(error)) from error
    return cupy


def use_gpu(device: int) -> None:
    """Select the GPU of this thread by its index."""
    cupy = import_cupy()
    count = cupy.cuda.runtime.getDeviceCount()
    if not 0 <= device < count:
        raise ValueError(f"device is {device}, but this machine has {count} GPUs; use an index from 0 to {count - 1}")
    cupy.cuda.Device(device).use()


def multiprocessors() -> int:
    """Return the number of multiprocessors of the current GPU."""
    return int(import_cupy().cuda.Device().attributes["MultiProcessorCount"])


def free_gpu_memory() -> int:
    """Return the free memory of the current GPU [bytes]."""
    free, _ = import_cupy().cuda.runtime.memGetInfo()
    return int(free)


class CudaAttributes(NamedTuple):
    """Resource usage of a kernel."""

    registers: int
    local_bytes: int
    """Local memory per thread for values that do not fit into registers [bytes]."""
    max_threads: int
    """Maximum number of threads per block."""


class CudaKernel:
    """Program on a GPU: world i of the results is computed from world i of the arguments.

    Arrays may have any strides; row-major arrays of shape (B, n) are the fastest.

    `precision` is that of the computation, "float32" or "float64". `min_blocks` is the minimum number of resident blocks per
    multiprocessor, which limits the number of registers per thread. Larger values hide latency better until registers spill;
    see `attributes`.
    """

    def __init__(self, program: Program, precision: str, *, block: int = 64, min_blocks: int = 1) -> None:
        self.program, self.precision, self.block = program, precision, block
        self.text = cuda_text(program, precision, block=block, min_blocks=min_blocks)
        self._dtype = np.dtype(precision)
        self._cupy = import_cupy()
        module = self._cupy.RawModule(code=self.text, options=OPTIONS, backend="nvrtc")
        self._kernel = module.get_function("world_kernel")

    def attributes(self) -> CudaAttributes:
        """Return register and local memory usage of the compiled kernel."""
        k = self._kernel
        return CudaAttributes(k.num_regs, k.local_size_bytes, k.max_threads_per_block)

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        """Return results as CuPy arrays: one array, or a tuple if the program has several results.

        Without `out`, results have the layout of the first argument with a batch dimension.

        `*arrays` contains one array per input, of shape (B, *shape), or of shape (*shape) for a value shared by all worlds. GPU
        arrays of any library with DLPack are used in place; NumPy arrays are copied. `out` is a GPU array that receives the
        result, or a tuple of arrays for several results; shapes and types must match exactly.
        """
        if len(arrays) != len(self.program.inputs):
            names = ", ".join(a.name for a in self.program.inputs)
            raise TypeError(f"{self.program.name} got {len(arrays)} arrays; pass {len(self.program.inputs)} ({names})")
        inputs = [self._input(x, a) for x, a in zip(arrays, self.program.inputs, strict=True)]
        batched = [x for x, a in zip(inputs, self.program.inputs, strict=True) if x.ndim > len(a.shape)]
        sizes = {len(x) for x in batched} - {1} or {1}
        if len(sizes) > 1:
            given = ", ".join(f"{a.name} {x.shape}" for x, a in zip(inputs, self.program.inputs, strict=True))
            raise ValueError(f"the arguments have different numbers of worlds ({given}); use equal numbers")
        worlds = sizes.pop()
        shapes = [((worlds, *a.shape) if batched else a.shape) for a in self.program.outputs]
        fastest = bool(batched) and batched[0].strides[0] == self._dtype.itemsize
        order = "F" if fastest else "C"
        if out is None:
            outs = targets = [self._cupy.empty(shape, self._dtype, order=order) for shape in shapes]
        else:
            targets = self._targets(out, shapes)
            # results are stored while arguments are read, so results that may share memory use temporary arrays
            clash = [any(self._cupy.may_share_memory(y, x) for x in inputs) for y in targets]
            outs = [self._cupy.empty_like(y) if c else y for y, c in zip(targets, clash, strict=True)]
        self._launch(worlds, inputs, outs)
        for y, target in zip(outs, targets, strict=True):
            if y is not target:
                target[...] = y
        return targets[0] if len(targets) == 1 else tuple(targets)

    def _input(self, value: Any, argument: Argument) -> CupyArray:
        """Return an argument as a GPU array of shape (*shape) or (B, *shape)."""
        array = self._on_gpu(value)
        if array is None:
            try:
                array = self._cupy.asarray(np.asarray(value, dtype=self._dtype))
            except (TypeError, ValueError):
                raise ValueError(f"{argument.name} must be an array of numbers, got {value!r}") from None
        array = array.astype(self._dtype, copy=False)
        lead = array.ndim - len(argument.shape)
        if lead not in (0, 1) or array.shape[lead:] != argument.shape:
            own = ", ".join(map(str, argument.shape))
            raise ValueError(f"{argument.name} must have shape (B, {own}) or ({own}), got {array.shape}")
        return self._cupy.ascontiguousarray(array) if any(s % self._dtype.itemsize for s in array.strides) else array

    def _on_gpu(self, value: Any) -> CupyArray | None:
        """Return `value` as a CuPy array that shares its memory, or None if `value` is not on a GPU."""
        if isinstance(value, self._cupy.ndarray):
            return value
        device = getattr(value, "__dlpack_device__", None)
        if device is not None and int(device()[0]) in ON_GPU:
            return self._cupy.from_dlpack(value)
        if getattr(value, "__cuda_array_interface__", None) is not None:
            return self._cupy.asarray(value)
        return None

    def _targets(self, out: Any, shapes: list[tuple[int, ...]]) -> list[CupyArray]:
        given = out if isinstance(out, tuple | list) else (out,)
        if len(given) != len(shapes):
            names = ", ".join(a.name for a in self.program.outputs)
            raise ValueError(f"out has {len(given)} arrays; pass one array for each of {names}")
        targets = []
        for y, shape, argument in zip(given, shapes, self.program.outputs, strict=True):
            array = self._on_gpu(y)
            if array is None or array.dtype != self._dtype or array.shape != shape:
                raise ValueError(f"out for {argument.name} must be an array of {self._dtype} of shape {shape} on the GPU")
            targets.append(array)
        return targets

    def _launch(self, worlds: int, inputs: list[CupyArray], outs: list[CupyArray]) -> None:
        """Run all worlds on the GPU that holds the arrays, in CuPy's current stream."""
        devices = {x.device.id for x in (*inputs, *outs)}
        if len(devices) > 1:
            raise ValueError(f"the arrays are on GPUs {sorted(devices)}; move them to one GPU")
        if worlds == 0:
            return
        arguments: list[Any] = [np.int64(worlds)]
        for x, a in zip((*inputs, *outs), (*self.program.inputs, *self.program.outputs), strict=True):
            steps = [s // self._dtype.itemsize for s in x.strides]
            if x.ndim == len(a.shape) or len(x) == 1:  # shared by all worlds
                steps = [0, *steps[x.ndim - len(a.shape) :]]
            arguments += [x, *map(np.int64, steps)]
        with self._cupy.cuda.Device(devices.pop()):
            self._kernel((-(-worlds // self.block),), (self.block,), tuple(arguments))


BLOCK = 64
"""Number of threads per block."""


class Cuda(Backend):
    """Back end for a GPU with CuPy arrays, which PyTorch, JAX and other libraries read through DLPack without a copy."""

    key = "cuda"
    about = "a GPU (needs CuPy)"
    target = "cuda"
    precisions = ("float64", "float32")

    def source(self, program: Program | Rolled, form: Form, precision: str = "float64") -> str:
        """Return the source of the kernel; see `Backend.source`."""
        from ._cuda_march import cuda_march_text

        if form.state is None:
            return cuda_text(self._straight(program), precision, block=BLOCK)
        return cuda_march_text(self._straight(program), form.state, precision, block=BLOCK)

    def unavailable(self) -> str:
        try:
            import_cupy()
        except ModuleNotFoundError as error:
            return str(error)
        return ""

    def arrays(self, precision: str) -> CudaArrays:
        return CudaArrays(precision)

    def caller(self, code: Compiled, precision: str) -> Callable[[Sequence[Any]], list[Any]]:
        kernel = CudaKernel(code.traced, precision)
        return lambda arrays: list(kernel(*arrays))

    def marcher(self, march: March, precision: str) -> Marcher:
        from ._cuda_march import CudaMarch

        return CudaMarch(march.traced, march.n_state, precision, block=BLOCK)


class CudaArrays(Arrays):
    """CuPy arrays, float32 or float64, whose world index varies fastest, so that adjacent threads read adjacent numbers."""

    on_host = False

    def __init__(self, precision: str) -> None:
        self.precision = precision
        self._cupy = import_cupy()

    def check_memory(self, numbers: int, worlds: int) -> None:
        needed = numbers * np.dtype(self.precision).itemsize * worlds
        free = int(self._cupy.cuda.runtime.memGetInfo()[0])
        if needed > free:
            raise MemoryError(
                f"{worlds} worlds need {needed / 2**30:.3g} GiB, but {free / 2**30:.3g} GiB of the GPU are free; use at most "
                f"{free * worlds // max(1, needed)} worlds, or precision='float32'"
            )

    def zeros(self, worlds: int, *shape: int) -> Any:
        return self._cupy.moveaxis(self._cupy.zeros((*shape, worlds), self.precision), -1, 0)

    def mask(self, worlds: int) -> Any:
        return self._cupy.zeros(worlds, bool)

    def full(self, value: float) -> Any:
        return self._cupy.full(1, value, self.precision)

    def repeated(self, array: Any, steps: int) -> Any:
        out = self._cupy.moveaxis(self._cupy.empty((steps, *array.shape[1:], len(array)), self.precision), -1, 0)
        out[...] = array[:, None]
        return out

    def put(self, array: Any, which: np.ndarray, values: np.ndarray) -> None:
        array[self._cupy.asarray(which)] = self._cupy.asarray(values, dtype=self.precision)

    def get(self, array: Any) -> np.ndarray:
        return self._cupy.asnumpy(array).astype(float)

    def seen(self, mask: Any) -> np.ndarray:
        return self._cupy.asnumpy(mask)

    def array(self, values: Any) -> Any:
        if not isinstance(values, self._cupy.ndarray) and hasattr(values, "__dlpack__") and not isinstance(values, np.ndarray):
            values = self._cupy.from_dlpack(values)
        return self._cupy.asarray(values, dtype=self.precision)

    def index(self, which: np.ndarray) -> Any:
        return self._cupy.asarray(which)

    def rows(self, array: Any, which: Any) -> Any:
        return self._cupy.asfortranarray(array[which])

    def stack(self, parts: Sequence[Any], axis: int) -> Any:
        return parts[0] if len(parts) == 1 else self._cupy.concatenate(parts, axis=axis)
