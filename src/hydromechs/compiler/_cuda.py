"""A program as a CUDA kernel, one thread per world, compiled and run through CuPy.

Arrays come in as CuPy, PyTorch, JAX or any other arrays with `__dlpack__` or `__cuda_array_interface__`, without a copy, or as
NumPy arrays, which are copied to the GPU. Results are CuPy arrays, which other libraries take by DLPack.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ._c_text import c_body, c_literal, short_lives
from ._program import Argument, Program

__all__ = ["CudaAttributes", "CudaKernel", "cuda_text"]

REALS = {"float32": "float", "float64": "double"}
OPTIONS = ("--std=c++17", "--fmad=true")
"""For nvrtc, which optimises by default. Never --use_fast_math: it may drop NaN, and divergence must stay visible."""

# 2/π, π/2 in three parts, and polynomials for sine and cosine on |r| ≤ π/4; the double ones are those of the LLVM back end
_TRIGONOMETRY = {
    "float": (
        0.636619747,
        (1.57079601, 3.13916473e-07, 5.39030253e-15),
        (-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4),
        (4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5),
    ),
    "double": (
        0.6366197723675814,
        (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33),
        (
            -1.66666666666666324348e-01,
            8.33333333332248946124e-03,
            -1.98412698298579493134e-04,
            2.75573137070700676789e-06,
            -2.50507602534068634195e-08,
            1.58969099521155010221e-10,
        ),
        (
            4.16666666666666019037e-02,
            -1.38888888888741095749e-03,
            2.48015872894767294178e-05,
            -2.75573143513906633035e-07,
            2.08757232129817482790e-09,
            -1.13596475577881948265e-11,
        ),
    ),
}


def _sincos(real: str) -> str:
    """A device function for sine and cosine, error about 1 ulp for |x| < 10⁵; NaN and inf give NaN.

    CUDA's own keeps an array in local memory for the exact reduction of huge angles, in every thread and whether it is used or
    not; this one has none.
    """
    f = "f" if real == "float" else ""
    two_over_pi, parts, sine, cosine = _TRIGONOMETRY[real]

    def literal(x: float) -> str:
        return c_literal(x, real)

    def polynomial(coefficients) -> str:
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


def cuda_text(program: Program, precision: str, *, block: int = 128, min_blocks: int = 0) -> str:
    """The CUDA C source of a program: a kernel `world_kernel`.

    Its arguments are the number of worlds, then of each input and output its address and its strides in numbers, over worlds
    and over each of its own axes.

    Args:
        program: What to write.
        precision: "float32" or "float64".
        block: Threads per block that the kernel is compiled for.
        min_blocks: Blocks that must fit on a multiprocessor, which limits registers; 0 for no limit but the machine's.
    """
    if precision not in REALS:
        raise ValueError(f"precision is {precision!r}, must be 'float32' or 'float64'")
    real = REALS[precision]
    n = len(program.inputs)
    arguments = (*program.inputs, *program.outputs)
    parameters, starts = ["const long long worlds"], []
    for k, argument in enumerate(arguments):
        constant = "const " if k < n else ""
        parameters.append(f"{constant}{real} *__restrict__ a{k}")
        parameters += [f"const long long s{k}_{axis}" for axis in range(-1, len(argument.shape))]
        starts.append(f"a{k} += world * s{k}_w;")
    parameters = [p.replace("_-1", "_w") for p in parameters]

    def address(k: int, entry: int) -> str:
        index = np.unravel_index(entry, arguments[k].shape) if arguments[k].shape else ()
        terms = [f"{i} * s{k}_{axis}" if i > 1 else f"s{k}_{axis}" for axis, i in enumerate(map(int, index)) if i]
        return f"a{k}[{' + '.join(terms) or '0'}]"

    body = c_body(
        program,
        real,
        address,
        lambda output, entry, text: f"{address(n + output, entry)} = {text};",
        order=short_lives(program),
        sincos="hm_sincos",
    )
    bounds = f"{block}, {min_blocks}" if min_blocks else f"{block}"
    f = REALS[precision]
    infinity = "__int_as_float(0x7f800000)" if f == "float" else "__longlong_as_double(0x7ff0000000000000LL)"
    nan = "__int_as_float(0x7fffffff)" if f == "float" else "__longlong_as_double(0x7fffffffffffffffLL)"
    lines = [
        f"/* {program.name}, one thread per world; written by HydroMechs */",
        f"#undef INFINITY\n#undef NAN\n#define INFINITY {infinity}\n#define NAN {nan}",
        "",
        _sincos(real),
        "",
        f'extern "C" __global__ void __launch_bounds__({bounds}) world_kernel(',
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
