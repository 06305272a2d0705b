"""Dense layers of neural networks: loops over weights that are stored as constants next to the code."""

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from hydromechs.values import Array

from ._c_calls import CFunctions
from ._callee import Argument, Callee, OperationCount
from ._llvm_solve import WIDE, Loops
from ._llvm_text import Module


@dataclass(frozen=True, eq=False)
class Dense(Callee):
    """Affine map W x + b, summed input by input, so that one vector operation computes adjacent outputs of one world."""

    weights: Array
    """Weight matrix W, shape (m, n)."""
    bias: Array
    """Bias vector b, shape (m,)."""
    reads_in_place = True

    @property
    def inputs(self) -> tuple[Argument, ...]:
        """Input vector of the layer."""
        return (Argument("x", (self.weights.shape[1],)),)

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """Output vector of the layer."""
        return (Argument("y", self.bias.shape),)

    @cached_property
    def key(self) -> str:
        """Hash of weights and bias."""
        return hashlib.sha256(repr(self.weights.shape).encode() + self.weights.tobytes() + self.bias.tobytes()).hexdigest()

    def __repr__(self) -> str:
        return f"dense {self.key}"

    def count(self) -> OperationCount:
        return OperationCount(multiplications=self.weights.size, additions=self.weights.size)

    def __call__(self, x: ArrayLike) -> tuple[Array]:
        return (self.weights @ np.ravel(x) + self.bias,)

    def llvm(self, name: str, module: Module) -> str:
        (m, n), lanes, T = self.weights.shape, module.lanes, module.type
        numbers = np.concatenate([self.weights.T, self.bias[None]])
        text = "\\" + np.ascontiguousarray(numbers, dtype=np.float64).tobytes().hex("\\") if m else "\\00"
        module.parts.append(f'{name}.numbers = internal constant [{max(1, numbers.nbytes)} x i8] c"{text}", align 64\n')
        t = Loops()

        def spread(value: str, kind: str, width: int) -> str:
            """Return a number in all lanes of a vector."""
            if width == 1:
                return value
            one = t.new(f"insertelement {kind} poison, double {value}, i32 0")
            return t.new(f"shufflevector {kind} {one}, {kind} poison, <{width} x i32> zeroinitializer")

        def row(number: str, change: bool) -> None:
            """Add a row of the weights times an input to the results, or set the results to that row."""
            begin = t.new(f"mul i64 {number}, {m}")
            x = "" if change else t.new(f"load {T}, ptr {t.new(f'getelementptr inbounds {T}, ptr %p0, i64 {number}')}, align 8")
            whole = m - m % WIDE if lanes == 1 else 0
            for first, end, width in ((0, whole, WIDE), (whole, m, 1)):
                if first == end:
                    continue
                kind = T if width == 1 else f"<{width} x double>"
                factor = "" if change else spread(x, kind, width)
                with t.loop(str(first), str(end), width) as i:
                    at = t.new(f"getelementptr inbounds double, ptr {name}.numbers, i64 {t.new(f'add i64 {begin}, {i}')}")
                    w = t.new(f"load {kind if width > 1 else 'double'}, ptr {at}, align 8")
                    w = spread(w, T, lanes) if width == 1 else w
                    y = t.new(f"getelementptr inbounds {T}, ptr %p1, i64 {i}")
                    if not change:
                        product = t.new(f"fmul contract {kind} {w}, {factor}")
                        w = t.new(f"fadd contract {kind} {t.new(f'load {kind}, ptr {y}, align 8')}, {product}")
                    t.put(f"store {kind} {w}, ptr {y}, align 8")

        row(str(n), change=True)
        with t.loop("0", str(n)) as j:
            row(j, change=False)
        body = "\n".join([*t.head, *t.lines])
        return f"define internal void {name}(ptr noalias %p0, ptr noalias %p1) noinline nounwind {{\n{body}\n  ret void\n}}\n"

    def c(self, functions: CFunctions, *, overlapping: bool) -> list[str]:
        (m, n), real = self.weights.shape, functions.real
        numbers = ", ".join(functions.literal(float(x)) for x in np.ravel(np.concatenate([self.weights.T, self.bias[None]])))
        return [
            f"static const {real} w[{(n + 1) * m}] = {{{numbers}}};",
            f"{real} x[{n}];",
            f"for (int j = 0; j < {n}; ++j) x[j] = a0[j];",
            f"for (int i = 0; i < {m}; ++i) r0[i] = w[{n * m} + i];",
            f"for (int j = 0; j < {n}; ++j) for (int i = 0; i < {m}; ++i) r0[i] += w[j * {m} + i] * x[j];",
        ]
