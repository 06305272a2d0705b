"""Machine code of this process by LLVM, on lanes and threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._backend import Arrays, Backend, Form, Marcher
from ._program import Program
from ._rolled import Rolled

if TYPE_CHECKING:  # others come when they are used: the table of back ends must stay quick to import
    from ._compiled import Compiled
    from ._llvm import LoadedCode
    from ._march import March


def optimised() -> bool:
    """False if `HYDROMECHS_OPTIMISE=0` asks for code that is compiled quickly, for tests that run each program briefly."""
    return os.environ.get("HYDROMECHS_OPTIMISE") != "0"


class Llvm(Backend):
    """LLVM's code for this machine."""

    key = "llvm"
    about = "machine code of this CPU"
    target = "cpu"
    lanes = True
    takes_loops = True
    takes_divided_steps = True

    def source(self, program: Program | Rolled, form: Form, precision: str = "float64") -> str:
        """The IR; see `Backend.source`."""
        from ._llvm_march import march_text
        from ._llvm_text import llvm_text, packed_text

        quickly = form.rarely or not optimised()
        if form.packed:
            return packed_text(program, form.lanes, quickly)
        if form.state is None:
            return llvm_text(program, form.lanes, quickly)
        return march_text(program, form.state, form.lanes, quickly)

    def versions(self) -> tuple[str, ...]:
        """Those of LLVM and llvmlite, triple, CPU and its features, and whether code is optimised."""
        from ._llvm import target

        return (*target(), "optimised" if optimised() else "quickly compiled")

    def build(self, source: str, form: Form) -> bytes:
        from ._llvm import object_code

        return object_code(source, (form.rarely and form.lanes == 1) or not optimised())

    def load(self, code: bytes, arguments: int, form: Form) -> LoadedCode:
        from ._llvm import LoadedCode

        return LoadedCode(code, arguments, form)

    def arrays(self, precision: str) -> Arrays:
        return Arrays()

    def caller(self, code: Compiled, precision: str) -> Callable[[Sequence[Any]], list[Any]]:
        """The function itself; see `Backend.caller`."""
        return code

    def marcher(self, march: March, precision: str) -> Marcher:
        def go(state: Sequence[Any], inputs: Sequence[Any], frozen: Any, steps: int, stride: int) -> tuple[list[Any], Any]:
            if frozen.any():  # a step of NaN is not finite, and so not taken
                inputs = [np.where(frozen, np.nan, inputs[0]), *inputs[1:]]
            done = march(state, inputs, steps, stride=stride or steps + 1, ends=list(state))
            return done.records, done.good

        return go
