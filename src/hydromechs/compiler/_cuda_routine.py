"""Routines as CUDA kernels: one thread per world runs all passes.

A thread stores the numbers of its world in a workspace in GPU memory. Worlds are grouped in tiles of 32, the number of threads
in a warp. Entry k of a tile is one line of 32 numbers, so that a warp reads complete lines, and the address offset of an entry
is a constant of the instruction. Each program is a function that is not inlined and can therefore use all registers. The same
applies to integration steps, whose state remains in registers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from hydromechs.values import Array

from ._c_calls import as_program
from ._cuda import (
    OPTIONS,
    TILE,
    CudaAttributes,
    CupyArray,
    cuda_functions,
    definitions,
    import_cupy,
    kernel_body,
    multiprocessors,
)
from ._program import Program
from ._rolled import Rolled
from ._routine import CallNode, CopyNode, Entries, Node, Pieces, RepeatNode, Routine, SampleNode, StepsNode, WhenNode

BLOCK = 64
"""Number of threads per block."""
RESIDENT = 4
"""Number of resident blocks per multiprocessor, limited by registers; later blocks reuse their workspaces."""


class _Text:
    """Text of the kernel of a routine; inputs in `shared`, equal for all worlds, are not copied to the workspace."""

    def __init__(self, routine: Routine, shared: frozenset[str]) -> None:
        self.routine, self.shared = routine, shared
        self.functions = cuda_functions("double", BLOCK)
        self.nodes: list[str] = []
        self.offsets: dict[str, int] = {}
        self.given: dict[str, int] = {}
        self.size = 0
        for name, size in (*routine.state.items(), *routine.inputs.items(), *routine.work.items()):
            if name in shared:
                self.given[name] = 1 + sum(routine.inputs[x] for x in self.given)
            else:
                self.offsets[name] = self.size
                self.size += size

    def at(self, entries: Entries, k: int | str = 0) -> str:
        """Return the expression for entry k of a slice."""
        if entries.array in self.shared:
            return f"given[{self.given[entries.array] + entries.start} + {k}]"
        first = self.offsets[entries.array] + entries.start
        return f"w[{(first + k) * TILE}]" if isinstance(k, int) else f"w[({first} + {k}) * {TILE}]"

    def places(self, pieces: Pieces) -> list[str]:
        """Return the expressions for all entries of an argument."""
        return [self.at(p, k) for p in pieces for k in range(p.size)]

    def function(self, body: Sequence[str]) -> str:
        """Add a device function for one world; return a call of the function."""
        name = f"node{len(self.nodes)}"
        text = "\n".join(f"    {line}" for line in body)
        unused = "    (void)w;\n    (void)given;\n"
        self.nodes.append(f"static __device__ __noinline__ void {name}(double *w, const double *given)\n{{\n{unused}{text}\n}}")
        return f"{name}(w, given);"

    def body(self, nodes: Sequence[Node]) -> list[str]:
        """Return the statements of some nodes."""
        out: list[str] = []
        for node in nodes:
            match node:
                case CallNode():
                    out.append(self.function(self.call(node)))
                case CopyNode():
                    entry = f"{self.at(node.target, 'k')} = {self.at(node.source, 'k')};"
                    out.append(f"for (int k = 0; k < {node.source.size}; ++k) {entry}")
                case WhenNode():
                    out += [f"if ({self.at(node.condition)} != 0.0) {{", *_inside(self.body(node.body)), "}"]
                case RepeatNode():
                    head = f"for (int c = 0; c < {node.times} && {self.at(node.condition)} != 0.0; ++c) {{"
                    out += [head, *_inside(self.body(node.body)), "}"]
                case StepsNode():
                    out.append(self.function(self.steps(node)))
                case SampleNode():
                    out.append("if (row < room) {")
                    for j, name in enumerate(self.routine.sampled):
                        size, entry = self.routine.state[name], self.at(self.routine[name], "k")
                        out.append(f"    for (int k = 0; k < {size}; ++k) r{j}[(world * room + row) * {size} + k] = {entry};")
                    out += ["    ++row;", "}"]
        return out

    def call(self, node: CallNode) -> list[str]:
        """Return the statements of a call of a program."""
        program = _straight(node.recipe.program())
        given = [self.places(p) for p in node.inputs]
        wanted = [self.places(p) for p in node.outputs]
        writes = {x for row in wanted for x in row}
        clash = not writes.isdisjoint(x for row in given for x in row)

        def places(program: Program) -> Any:
            readers: dict[str, list[int]] = {}
            for k, op in enumerate(program.operations):
                if op.kind == "input":
                    readers.setdefault(given[op.value[0]][op.value[1]], []).append(k)
            return lambda output, entry: readers.get(wanted[output][entry], ())

        return kernel_body(
            program,
            self.functions,
            lambda a, k: given[a][k],
            lambda r, k, text: f"{wanted[r][k]} = {text};",
            places=places if clash else None,
        )

    def steps(self, node: StepsNode) -> list[str]:
        """Return the statements of the steps to a goal.

        A step reads one copy of the state and writes another. If the new state is finite, the two copies are exchanged.
        """
        program, p = _straight(node.recipe.program()), node.places
        assert p.q.array == p.x.array and p.x.start == p.q.start + p.q.size
        first = {1: 0, 2: p.q.size}
        size, other = p.q.size + p.x.size, self.size
        self.size += size

        def load(argument: int, entry: int) -> str:
            if argument in first:
                return f"old[{(first[argument] + entry) * TILE}]"
            return self.at(p.inputs, entry) if argument == 5 else {0: "number", 3: "length", 4: "offset"}[argument]

        def store(output: int, entry: int, text: str) -> str:
            if output not in first:
                return f"(void){text};"
            k = first[output] + entry  # x · 0 is not 0 if x is not finite; four independent sums
            return f"next[{k * TILE}] = {text}; bad{k % 4} = fma({text}, 0.0, bad{k % 4});"

        body = ["double bad0 = 0.0, bad1 = 0.0, bad2 = 0.0, bad3 = 0.0;", "(void)number;", "(void)w;", "(void)given;"]
        body += [*kernel_body(program, self.functions, load, store), "return (bad0 + bad1) + (bad2 + bad3);"]
        name = f"step{len(self.nodes)}"
        pointers = (
            "const double *__restrict__ old, double *__restrict__ next, const double *__restrict__ w, const double *given"
        )
        head = f"static __device__ __noinline__ double {name}({pointers}, double number, double length, double offset)"
        self.nodes.append("\n".join([head, "{", *_inside(body), "}"]))
        return [
            f"double *const home = &{self.at(p.q)}, *old = home, *next = &w[{other * TILE}];",
            f"double n = {self.at(p.n)}, part = {self.at(p.part)};",
            f"const double h = {self.at(p.h)}, goal = {self.at(p.goal, 0)}, goal_part = {self.at(p.goal, 1)};",
            f"bool alive = {self.at(p.alive)} != 0.0;",
            "while (alive && (n < goal || (n == goal && part < goal_part))) {",
            "    const bool before = n < goal, full = before && part == 0.0;",
            "    const double now = n * h + part, until = before ? (n + 1.0) * h : goal * h + goal_part;",
            "    const double number = full ? n : 0.0, length = full ? h : until - now, offset = full ? 0.0 : now;",
            f"    alive = {name}(old, next, w, given, number, length, offset) == 0.0;",
            "    if (alive) {",
            "        double *const taken = next;",
            "        next = old;",
            "        old = taken;",
            "        n = before ? n + 1.0 : n;",
            "        part = before ? 0.0 : goal_part;",
            "    }",
            "}",
            "if (old != home) {",
            f"    for (int k = 0; k < {size}; ++k) home[k * {TILE}] = old[k * {TILE}];",
            "}",
            f"{self.at(p.n)} = n;",
            f"{self.at(p.part)} = part;",
            f"{self.at(p.alive)} = alive ? {self.at(p.alive)} : 0.0;",
        ]

    def kernel(self, min_blocks: int) -> str:
        """Return the source of the kernel."""
        routine = self.routine
        body = self.body(routine.body)
        own = [name for name in routine.inputs if name not in self.shared]
        parameters = [
            "const long long first",
            "const long long worlds",
            "const int passes",
            "const int room",
            "double *__restrict__ space",
        ]
        parameters += ["const double *__restrict__ given", "int *__restrict__ rows"]
        parameters += [f"double *__restrict__ s{k}" for k in range(len(routine.state))]
        parameters += [f"const double *__restrict__ i{k}" for k in range(len(own))]
        parameters += [f"double *__restrict__ r{k}" for k in range(len(routine.sampled))]

        def each(size: int, statement: str) -> str:
            return f"for (int k = 0; k < {size}; ++k) {statement}"

        def whole(name: str) -> str:
            return self.at(routine[name], "k")

        sizes = dict(routine.state) | dict(routine.inputs)
        enter = [each(n, f"{whole(x)} = s{j}[world * {n} + k];") for j, (x, n) in enumerate(routine.state.items())]
        enter += [each(sizes[x], f"{whole(x)} = i{j}[world * {sizes[x]} + k];") for j, x in enumerate(own)]
        enter += [each(size, f"{whole(name)} = 0.0;") for name, size in routine.work.items()]
        leave = [each(n, f"s{j}[world * {n} + k] = {whole(x)};") for j, (x, n) in enumerate(routine.state.items())]
        return "\n".join(
            [
                f"/* {routine.name}, one thread per world; written by HydroMechs */",
                definitions("double"),
                *self.functions.fast_memory,
                *self.functions.text,
                *self.nodes,
                f'extern "C" __global__ void __launch_bounds__({BLOCK}, {min_blocks}) routine_kernel(',
                "    " + ",\n    ".join(parameters) + ")",
                "{",
                "    const long long here = blockIdx.x * (long long)blockDim.x + threadIdx.x, world = first + here;",
                "    if (world >= worlds)",
                "        return;",
                f"    double *w = space + (here / {TILE}) * {self.size * TILE}LL + here % {TILE};",
                "    int row = 0;",
                *_inside(enter),
                "    for (int pass = 0; pass < passes; ++pass) {",
                *_inside(_inside(body)),
                "    }",
                *_inside(leave),
                "    rows[world] = row;",
                "}",
                "",
            ]
        )


def _inside(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _straight(program: Program | Rolled) -> Program:
    return program if isinstance(program, Program) else as_program(program)


class DeviceState(Mapping[str, Any]):
    """Arrays (worlds, size) of the state of worlds on a GPU; the host copies the arrays on request.

    The host may change a copied array; the array is copied back to the GPU before the next run.
    """

    def __init__(self, initial: Mapping[str, Array]) -> None:
        self._cupy = import_cupy()
        self._host: dict[str, Array] = dict(initial)
        self._taken = set(initial)
        self._device: dict[str, CupyArray] = {}

    def __getitem__(self, name: str) -> Array:
        if name not in self._taken:
            self._host[name] = self._cupy.asnumpy(self._device[name])
            self._taken.add(name)
        return self._host[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._host)

    def __len__(self) -> int:
        return len(self._host)

    def device(self, name: str) -> CupyArray:
        """Return a GPU array of shape (worlds, size) for reading or writing."""
        if name in self._taken:
            self._device[name] = self._cupy.asarray(self._host[name])
            self._taken.remove(name)
        return self._device[name]

    def rows(self, which: Any) -> DeviceState:
        """Return a copy of some worlds, selected by indices or a slice."""
        out = DeviceState({})
        at = which if isinstance(which, slice) else self._cupy.asarray(which)
        for name in self._host:
            out._host[name], out._device[name] = np.zeros((0, 0)), self._cupy.array(self.device(name)[at])
        return out

    def put(self, which: Array, rows: DeviceState) -> None:
        """Replace the state of some worlds."""
        at = self._cupy.asarray(which)
        for name in self._host:
            self.device(name)[at] = rows.device(name)


class CudaRoutine:
    """Routine on a GPU in float64; see `RoutineCode`. `own` lists inputs that differ between worlds; others are shared."""

    def __init__(self, routine: Routine, own: Collection[str] = ()) -> None:
        self.routine = routine
        self._own = frozenset(own)
        self._cupy = import_cupy()
        self._kernels: dict[frozenset[str], tuple[Any, int]] = {}
        self._space: CupyArray = None

    def compile(self) -> None:
        """Compile the kernel immediately."""
        self._kernel(frozenset(self.routine.inputs) - self._own)

    def attributes(self) -> CudaAttributes:
        """Return register and local memory usage of the compiled kernel."""
        k, _ = next(iter(self._kernels.values()))
        return CudaAttributes(k.num_regs, k.local_size_bytes, k.max_threads_per_block)

    def _kernel(self, shared: frozenset[str]) -> tuple[Any, int]:
        if shared not in self._kernels:
            text = _Text(self.routine, shared)
            module = self._cupy.RawModule(code=text.kernel(1), options=OPTIONS, backend="nvrtc")
            self._kernels[shared] = module.get_function("routine_kernel"), text.size
        return self._kernels[shared]

    def run(
        self, state: Mapping[str, Array], inputs: Mapping[str, Any], passes: int, records: Mapping[str, Any] | None = None
    ) -> Array:
        """Run a number of passes in place. Return the number of recorded rows in each world, shape (worlds,).

        `state` contains the arrays of the state, shape (worlds, size) each, as a `DeviceState` or as NumPy arrays, which are
        copied. `inputs` contains the arrays for the run, shape (worlds or 1, size) each. `records` contains a NumPy array for
        the rows of each sampled array, shape (worlds, rows, size).
        """
        xp, routine = self._cupy, self.routine
        here = state if isinstance(state, DeviceState) else DeviceState(state)
        own = {name: here.device(name) for name in routine.state}
        worlds = len(next(iter(own.values())))
        given = {name: xp.asarray(inputs[name], dtype=np.float64) for name in routine.inputs}
        for name, size in (*routine.state.items(), *routine.inputs.items()):
            x, wanted = {**own, **given}[name], (worlds, size)
            if (
                x.dtype != np.float64
                or not x.flags.c_contiguous
                or (x.shape != wanted and (name in own or x.shape != (1, size)))
            ):
                raise ValueError(f"{name} must be contiguous float64 of shape {wanted}, got {x.dtype} {x.shape}")
        shared = frozenset(name for name, x in given.items() if len(x) == 1 and name not in self._own)
        given |= {name: xp.tile(given[name], (worlds, 1)) for name in self._own & given.keys() if len(given[name]) < worlds}
        kernel, size = self._kernel(shared)
        some = min(BLOCK * RESIDENT * multiprocessors(), -(-worlds // BLOCK) * BLOCK)
        needed = some * size
        if self._space is None or self._space.size < needed:
            self._space = None  # free the old workspace first
            self._space = xp.empty(needed)
        together = xp.concatenate([xp.zeros(1), *(given[name].ravel() for name in routine.inputs if name in shared)])
        room = next(iter(records.values())).shape[1] if records else 0
        rows = [xp.empty((worlds, room, routine.state[name])) for name in routine.sampled]
        count = xp.zeros(worlds, np.int32)
        arguments: list[Any] = [np.int64(worlds), np.int32(passes), np.int32(room), self._space, together, count]
        arguments += [*own.values(), *(given[name] for name in routine.inputs if name not in shared), *rows]
        for first in range(0, worlds if passes else 0, some):
            blocks = -(-min(some, worlds - first) // BLOCK)
            kernel((blocks,), (BLOCK,), (np.int64(first), *arguments))
        if records is not None:
            for name, x in zip(routine.sampled, rows, strict=True):
                records[name][...] = xp.asnumpy(x)
        if here is not state:
            for name in routine.state:
                state[name][...] = here[name]
        return np.asarray(xp.asnumpy(count), dtype=np.int64)
