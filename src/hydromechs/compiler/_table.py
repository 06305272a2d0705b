"""Tables of constants that a program looks up by a call."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from hydromechs.values import Array

from ._callee import Argument, Callee

if TYPE_CHECKING:
    from ._c_calls import CFunctions
    from ._llvm_text import Emitter, Module, Results


@dataclass(frozen=True)
class Table(Callee):
    """A table of constants; called with an index, it gives the entry there, held at the ends, NaN for NaN."""

    values: tuple[float, ...]
    inputs = (Argument("index", (1,)),)
    """Inputs."""
    outputs = (Argument("entry", (1,)),)
    """Outputs."""

    def __call__(self, index: ArrayLike) -> tuple[Array]:
        x = float(np.ravel(index)[0])
        return (np.array([x if math.isnan(x) else self.values[int(min(max(x, 0.0), len(self.values) - 1.0))]]),)

    @property
    def key(self) -> bytes:
        """Bits of the entries: 0 and -0 are different."""
        return np.array(self.values).tobytes()

    @property
    def inline(self) -> bool:
        return True

    def llvm(self, name: str, module: Module) -> str:
        from ._llvm_sincos import constants_text

        return constants_text(name, self.values)

    def llvm_call(self, emitter: Emitter, arguments: Sequence[Sequence[str]], given: Sequence[str]) -> Results:
        from ._llvm_text import Results

        value = emitter.entry(emitter.module.name(self), len(self.values), arguments[0][0])
        return Results([lambda entry: value], [], self)

    def c(self, functions: CFunctions, *, overlapping: bool) -> list[str]:
        real, f = functions.real, functions.suffix
        name = functions.constants("table", real, self.values)
        last, zero = functions.literal(len(self.values) - 1.0), functions.literal(0.0)
        return [f"const {real} x = a0[0];", f"r0[0] = x != x ? x : {name}[(int)fmin{f}(fmax{f}(x, {zero}), {last})];"]
