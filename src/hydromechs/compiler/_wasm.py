"""WebAssembly back end: LLVM compiles programs to relocatable objects, which `WasmModule` links."""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any

from ._backend import Backend, Form
from ._cache import cached, fingerprint
from ._program import Program
from ._rolled import Rolled

TRIPLE = "wasm32-unknown-unknown"
FEATURES = ("bulk-memory", "mutable-globals", "nontrapping-fptoint", "sign-ext")
"""Extensions of WebAssembly 1.0 that all browsers have supported since 2021."""
LONG = 20_000
"""Number of lines of IR above which optimisation costs more time than it saves."""


@cache
def _machine(effort: int) -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    features = ",".join(f"+{name}" for name in FEATURES)
    return llvm.Target.from_triple(TRIPLE).create_target_machine(cpu="mvp", features=features, opt=effort, reloc="static")


class Wasm(Backend):
    """Back end that generates WebAssembly for browsers, as functions of packed arrays that a routine calls."""

    key = "wasm"
    about = "WebAssembly for browsers"
    takes_loops = True

    def source(self, program: Program | Rolled, form: Form, precision: str = "float64") -> str:
        """Return the LLVM IR of a function of packed arrays; see `Backend.source`."""
        from ._llvm_text import packed_text

        if form.state is not None:
            raise self._unable("does not compile marches")
        return packed_text(program, 1, form.rarely, fused=False)

    def versions(self) -> tuple[str, ...]:
        import llvmlite
        import llvmlite.binding as llvm

        return llvmlite.__version__, str(llvm.llvm_version_info), TRIPLE, *FEATURES

    def build(self, source: str, form: Form) -> bytes:
        """Return a relocatable object."""
        import llvmlite.binding as llvm

        machine = _machine(2)
        module = llvm.parse_assembly(f'target datalayout = "{machine.target_data}"\ntarget triple = "{TRIPLE}"\n{source}')
        module.verify()
        if source.count("\n") < LONG:
            builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1))
            builder.getModulePassManager().run(module, builder)
        return machine.emit_object(module)

    def object_code(self, source: str) -> bytes:
        """Return a relocatable object, from the cache or newly compiled."""
        key = fingerprint("wasm object", hashlib.sha256(source.encode()).hexdigest(), *self.versions())
        return cached(key, lambda: self.build(source, Form(packed=True)))


WASM = Wasm()
