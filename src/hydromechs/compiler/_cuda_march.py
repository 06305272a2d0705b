"""Repeated steps of a program in one CUDA kernel: one thread per world, with the state on the chip.

In every array the world index varies fastest: entry k of world w is at a[k * worlds + w], so that adjacent threads read
adjacent numbers. The state is in registers. Shared memory stores the last finite state, one column per thread. A diverged world
is restored from shared memory, so that no registers store the old state during a step. Inputs are read in every step; constant
inputs are served by the cache.

If a step exceeds the registers but its code fits into the instruction cache, two copies of the state are in GPU memory instead.
A step reads one copy and writes the other, and all shared memory serves as cache. The threads of a block start each step
together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._c_calls import c_literal
from ._cuda import OPTIONS, REALS, TILE, CudaAttributes, CupyArray, cuda_functions, definitions, import_cupy, kernel_body
from ._program import Program

MIN_BLOCKS = {"float32": (6, 1), "float64": (1,)}
"""Minimum number of resident blocks of 64 threads per multiprocessor, to try in order; 6 blocks leave 168 registers per
thread. On an H200, the semi-implicit step of a vehicle with 6 joints runs at 1.50e10 steps per second with 5 or 6 blocks,
1.47e10 with 1 block (253 registers) and 1.38e10 with 8 blocks (128 registers, with spills)."""
SPILLS = 400
"""Local memory per thread above which the state is stored in GPU memory [bytes]."""
MOST_OPERATIONS = 8192
"""Maximum number of operations whose code fits into the instruction cache of 128 KiB. Synchronised threads stall together
for longer code."""
LARGE_BLOCK = 256
"""Number of threads per block for steps with the state in GPU memory."""
SHARED = 48 * 1024
"""Shared memory per block that is available without opting in [bytes]."""


def cuda_march_text(program: Program, n_state: int, precision: str, *, block: int = 64, min_blocks: int = 1) -> str:
    """Return the CUDA C source of a march as a kernel `march_kernel`; options are those of `cuda_text`.

    The kernel's arguments are, in this order:

    - the number of worlds, the number of steps, and the number of steps between records (0 for none);
    - the address of each part of the state;
    - the address of each other input, with its strides over worlds, entries and steps, counted in numbers;
    - the address of the records of each part of the state;
    - the mask of stopped worlds, and the number of steps taken.
    """
    if precision not in REALS:
        raise ValueError(f"precision is {precision!r}; use 'float32' or 'float64'")
    real = REALS[precision]
    sizes = [a.size for a in program.inputs]
    first = np.concatenate([[0], np.cumsum(sizes[:n_state])]).astype(int)
    used = {op.value[0] for op in program.operations if op.kind == "input"}
    parameters = ["const long long worlds", "const int steps", "const int stride"]
    parameters += [f"{real} *__restrict__ a{k}" for k in range(n_state)]
    for k in range(n_state, len(sizes)):
        parameters += [f"const {real} *__restrict__ a{k}", *(f"const long long s{k}_{x}" for x in ("world", "entry", "step"))]
    parameters += [f"{real} *__restrict__ r{k}" for k in range(n_state)]
    parameters += ["const unsigned char *__restrict__ frozen", "int *__restrict__ good"]

    def load(argument: int, entry: int) -> str:
        if argument < n_state:
            return f"state{argument}[{entry}]"
        return f"i{argument}[{f'{entry} * s{argument}_entry' if entry else '0'}]"

    functions = cuda_functions(real)
    body = kernel_body(program, functions, load, lambda output, entry, text: f"const {real} n{output}_{entry} = {text};")
    parts = [(k, j, f"n{k}_{j}") for k in range(n_state) for j in range(sizes[k])]
    f, zero = "f" if real == "float" else "", c_literal(0.0, real)
    # x · 0 is not 0 if x is not finite; four independent sums
    sums = [zero] * 4
    for j, (_, _, name) in enumerate(parts):
        sums[j % 4] = f"fma{f}({name}, {zero}, {sums[j % 4]})"

    def each(k: int, statement: str) -> list[str]:
        """Return a statement for every entry j of a part of the state; unrolled, so that the state remains in registers."""
        return ["#pragma unroll", f"for (int j = 0; j < {sizes[k]}; ++j) {statement}"]

    def indent(lines: Sequence[str], by: int) -> list[str]:
        return [line if line.startswith("#") else " " * by + line for line in lines]

    others = [k for k in range(n_state, len(sizes)) if k in used]
    lines = [
        f"/* {program.name}, many steps, one thread per world; written by HydroMechs */",
        definitions(real),
        *functions.text,
        f'extern "C" __global__ void __launch_bounds__({block}, {min_blocks}) march_kernel(',
        "    " + ",\n    ".join(parameters) + ")",
        "{",
        f"    extern __shared__ {real} memory[];",
        "    const long long world = blockIdx.x * (long long)blockDim.x + threadIdx.x;",
        "    if (world >= worlds)",
        "        return;",
        f"    volatile {real} *const last = memory + threadIdx.x;",
        *(f"    {real} state{k}[{max(1, sizes[k])}];" for k in range(n_state)),
    ]
    for k in range(n_state):
        lines += indent(each(k, f"last[({first[k]} + j) * {block}] = state{k}[j] = a{k}[j * worlds + world];"), 4)
    lines += [
        *(f"    const {real} *i{k} = a{k} + world * s{k}_world;" for k in others),
        "    int taken = 0, left = stride, row = 0;",
        "    bool moves = !frozen[world];",
        "    for (int step = 0; step < steps; ++step) {",
        "        if (moves) {",
        *indent(body, 12),
        f"            const {real} noughts = ({sums[0]} + {sums[1]}) + ({sums[2]} + {sums[3]});",
        f"            moves = noughts == {zero};",
        "            taken += moves;",
        *(f"            state{k}[{j}] = {name};" for k, j, name in parts),
        "            if (moves) {",
        *(f"                last[{first[k] + j} * {block}] = {name};" for k, j, name in parts),
        "            } else {",
        *(line for k in range(n_state) for line in indent(each(k, f"state{k}[j] = last[({first[k]} + j) * {block}];"), 16)),
        "            }",
        *(f"            i{k} += s{k}_step;" for k in others),
        "        }",
        "        if (--left == 0) {",
    ]
    for k in range(n_state):
        record = f"r{k}[((long long)row * {sizes[k]} + j) * worlds + world] = last[({first[k]} + j) * {block}];"
        lines.append(f"            for (int j = 0; j < {sizes[k]}; ++j) {record}")
    lines += ["            left = stride;", "            ++row;", "        }", "    }"]
    for k in range(n_state):
        lines.append(f"    for (int j = 0; j < {sizes[k]}; ++j) a{k}[j * worlds + world] = last[({first[k]} + j) * {block}];")
    lines += ["    good[world] = taken;", "}", ""]
    return "\n".join(lines)


def large_march_text(program: Program, n_state: int, precision: str) -> str:
    """Return the CUDA C source of a march with the state in GPU memory.

    The kernel's arguments are those of `cuda_march_text`, followed by the address of a workspace of 2 n numbers per world,
    in tiles of 32 worlds.
    """
    real = REALS[precision]
    sizes = [a.size for a in program.inputs]
    first = np.concatenate([[0], np.cumsum(sizes[:n_state])]).astype(int)
    total, functions = int(first[-1]), cuda_functions(real, LARGE_BLOCK)
    used = {op.value[0] for op in program.operations if op.kind == "input"}
    others = [k for k in range(n_state, len(sizes)) if k in used]
    f, zero = "f" if real == "float" else "", c_literal(0.0, real)

    def load(argument: int, entry: int) -> str:
        if argument < n_state:
            return f"old[{(first[argument] + entry) * TILE}]"
        return f"i{argument}[{f'{entry} * s{argument}' if entry else '0'}]"

    def store(output: int, entry: int, text: str) -> str:
        k = first[output] + entry  # x · 0 is not 0 if x is not finite; four independent sums
        return f"next[{k * TILE}] = {text}; bad{k % 4} = fma{f}({text}, {zero}, bad{k % 4});"

    body = kernel_body(program, functions, load, store)
    given = [f"const {real} *__restrict__ old", f"{real} *__restrict__ next"]
    given += [x for k in others for x in (f"const {real} *__restrict__ i{k}", f"const long long s{k}")]
    parameters = ["const long long worlds", "const int steps", "const int stride"]
    parameters += [f"{real} *__restrict__ a{k}" for k in range(n_state)]
    for k in range(n_state, len(sizes)):
        parameters += [f"const {real} *__restrict__ a{k}", *(f"const long long s{k}_{x}" for x in ("world", "entry", "step"))]
    parameters += [f"{real} *__restrict__ r{k}" for k in range(n_state)]
    parameters += ["const unsigned char *__restrict__ frozen", "int *__restrict__ good", f"{real} *space"]

    def each(statement: str) -> list[str]:
        """Return a statement for every entry j of every part k of the state."""
        rows = ((k, n, f"old[({first[k]} + j) * {TILE}]") for k, n in enumerate(sizes[:n_state]))
        return [f"for (int j = 0; j < {n}; ++j) {statement.format(k=k, n=n, entry=entry)}" for k, n, entry in rows]

    arguments = ", ".join(["old", "next", *(x for k in others for x in (f"i{k}", f"s{k}_entry"))])
    lines = [
        f"/* {program.name}, many steps, one thread per world; written by HydroMechs */",
        definitions(real),
        *functions.fast_memory,
        *functions.text,
        f"static __device__ __noinline__ {real} one_step({', '.join(given)})",
        "{",
        f"    {real} bad0 = {zero}, bad1 = {zero}, bad2 = {zero}, bad3 = {zero};",
        *(f"    {line}" for line in body),
        "    return (bad0 + bad1) + (bad2 + bad3);",
        "}",
        f'extern "C" __global__ void __launch_bounds__({LARGE_BLOCK}, 1) march_kernel(',
        "    " + ",\n    ".join(parameters) + ")",
        "{",
        "    const long long world = blockIdx.x * (long long)blockDim.x + threadIdx.x;",
        "    if (world >= worlds)",
        "        return;",
        f"    {real} *old = space + (world / {TILE}) * {2 * total * TILE}LL + world % {TILE}, *next = old + {total * TILE};",
        *(f"    {line}" for line in each("{entry} = a{k}[j * worlds + world];")),
        *(f"    const {real} *i{k} = a{k} + world * s{k}_world;" for k in others),
        "    int taken = 0, left = stride, row = 0;",
        "    bool moves = !frozen[world];",
        "    for (int step = 0; step < steps; ++step) {",
        "        __syncthreads();",
        "        if (moves) {",
        f"            moves = one_step({arguments}) == {zero};",
        "            if (moves) {",
        f"                {real} *const last = old;",
        "                old = next;",
        "                next = last;",
        "                ++taken;",
        "            }",
        *(f"            i{k} += s{k}_step;" for k in others),
        "        }",
        "        if (--left == 0) {",
        *(f"            {line}" for line in each("r{k}[((long long)row * {n} + j) * worlds + world] = {entry};")),
        "            left = stride;",
        "            ++row;",
        "        }",
        "    }",
        *(f"    {line}" for line in each("a{k}[j * worlds + world] = {entry};")),
        "    good[world] = taken;",
        "}",
        "",
    ]
    return "\n".join(lines)


class CudaMarch:
    """March of many worlds on a GPU.

    `program` is one step: its inputs are the parts of the state, then other inputs, and its outputs are the new parts of the
    state in the same order. `precision` is that of the computation, "float32" or "float64". `min_blocks` is the minimum number
    of resident blocks per multiprocessor. It defaults to the first entry of `MIN_BLOCKS` without register spills, or else to
    the last; large steps use `large_march_text`.
    """

    def __init__(
        self, program: Program, n_state: int, precision: str, *, block: int = 64, min_blocks: int | None = None
    ) -> None:
        self.program, self.n_state, self.precision, self.block = program, n_state, precision, block
        self._dtype = np.dtype(precision)
        self._cupy = import_cupy()
        self._numbers, self._large, self._space = sum(a.size for a in program.inputs[:n_state]), False, None
        for blocks in MIN_BLOCKS.get(precision, (1,)) if min_blocks is None else (min_blocks,):
            self._compile(cuda_march_text(program, n_state, precision, block=block, min_blocks=blocks))
            if self._kernel.local_size_bytes == 0:
                break
        count = program.count()
        fits = sum(count.papers) + count.sines_cosines + count.others <= MOST_OPERATIONS
        if min_blocks is None and fits and self._kernel.local_size_bytes > SPILLS:
            self._compile(large_march_text(program, n_state, precision))
            self._large, self.block = True, LARGE_BLOCK
        self._shared = 0 if self._large else self._numbers * block * self._dtype.itemsize
        if self._shared > SHARED:
            self._kernel.max_dynamic_shared_size_bytes = self._shared

    def _compile(self, text: str) -> None:
        self.text = text
        self._kernel = self._cupy.RawModule(code=text, options=OPTIONS, backend="nvrtc").get_function("march_kernel")

    def attributes(self) -> CudaAttributes:
        """Return register and local memory usage of the compiled kernel."""
        k = self._kernel
        return CudaAttributes(k.num_regs, k.local_size_bytes, k.max_threads_per_block)

    def __call__(
        self, state: Sequence[CupyArray], inputs: Sequence[CupyArray], frozen: CupyArray, steps: int, stride: int = 0
    ) -> tuple[list[CupyArray], CupyArray]:
        """Take steps in place; return records of each part of the state (worlds, rows, ...), and the steps taken (worlds,).

        `state` contains the parts of the state, shape (worlds, ...) each, with the world index varying fastest. `inputs`
        contains other inputs, constant ones of shape (worlds or 1, ...) or one per step, shape (worlds or 1, steps, ...), in
        any memory order. `frozen` marks worlds that keep their state, bool, shape (worlds,). `stride` is the number of steps
        between records; 0 disables recording.
        """
        cupy, worlds = self._cupy, len(state[0])
        rows = steps // stride if stride else 0
        arguments: list[Any] = [np.int64(worlds), np.int32(steps), np.int32(stride)]
        for x, a in zip(state, self.program.inputs, strict=False):
            if x.dtype != self._dtype or (x.size and x.strides[0] != x.itemsize) or x.shape != (worlds, *a.shape):
                raise ValueError(f"{a.name} must be {self._dtype} of shape {(worlds, *a.shape)} with the world index fastest")
            arguments.append(x)
        keep = []
        for given, a in zip(inputs, self.program.inputs[self.n_state :], strict=True):
            driven = given.ndim == len(a.shape) + 2
            x = given.astype(self._dtype, copy=False)
            flat = x.reshape(*x.shape[: 1 + driven], a.size)
            keep.append(flat)
            step = [s // self._dtype.itemsize for s in flat.strides]
            arguments += [flat, np.int64(0 if len(flat) == 1 < worlds else step[0]), np.int64(step[-1])]
            arguments.append(np.int64(step[1] if driven else 0))
        records = [cupy.empty((rows, a.size, worlds), self._dtype) for a in self.program.outputs]
        good = cupy.zeros(worlds, np.int32)
        if worlds and steps:
            grid = (-(-worlds // self.block),)
            arguments += [*records, frozen, good]
            if self._large:
                needed = -(-worlds // TILE) * TILE * 2 * self._numbers
                if self._space is None or self._space.size < needed:
                    self._space = None  # free the old workspace first
                    self._space = cupy.empty(needed, self._dtype)
                arguments.append(self._space)
            self._kernel(grid, (self.block,), tuple(arguments), shared_mem=self._shared)
        shaped = [
            cupy.moveaxis(r.reshape(rows, *a.shape, worlds), -1, 0) for r, a in zip(records, self.program.outputs, strict=True)
        ]
        return shaped, good
