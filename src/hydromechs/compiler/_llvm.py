"""Machine code by LLVM: from IR to object code, and from object code to functions on lanes and threads.

By default, LLVM assumes that sections of code loaded at run time can be at any address. Each constant then needs an instruction
for its 64-bit address, and in long straight-line code most constants are spilled to the stack. In the small code model of LLVM,
an instruction reads its constant directly if the distance is at most 2 GB. To guarantee this at any load address, the constants
are appended to the code as one section without relocations.
"""

from __future__ import annotations

import ctypes
import os
import re
import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hydromechs.errors import UnsupportedFeature

from ._backend import Arrays, Backend, Form, Marcher
from ._llvm_objects import built_in, layout_is_known
from ._operations import KINDS, Library
from ._program import Program
from ._progress import longest_program
from ._rolled import Rolled

if TYPE_CHECKING:
    import llvmlite.binding

    from ._backend import Form
    from ._compiled import Compiled
    from ._march import March


LARGE = 20_000
"""Number of lines of IR above which optimisation costs more time than it saves; straight-line code is nearly optimal without
optimisation."""

HUGE = 100_000
"""Number of lines of IR above which code is not optimised, because the scheduler and register allocator of LLVM would need
minutes and gigabytes. The longest explicit step in the library, `tethered_rov`, has 73,000 lines; its optimisation takes 15
s and is worthwhile."""

LARGEST = 3_000_000
"""Number of lines of IR above which programs are rejected; `HYDROMECHS_LONGEST_PROGRAM` overrides this limit."""

LIBRARY = {way.name: k.arity for k in KINDS.values() if isinstance(way := k.dialects["llvm"], Library)}
"""Numbers of arguments of C library functions, keyed by name."""

FAR = re.compile(rf"call double @({'|'.join(LIBRARY)})\(|call ptr @malloc|^@\w+ = global ", re.MULTILINE)
"""Pattern of symbols that may be far from the code: C library functions and variables."""


@cache
def _llvm() -> Any:
    """Return the LLVM binding, loaded on first use, because worlds on a GPU do not need LLVM."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@cache
def target() -> tuple[str, str, str, str]:
    """Return versions of LLVM and llvmlite, triple, CPU and features, which are all properties that can change the code."""
    import llvmlite

    llvm = _llvm()
    features = llvm.get_host_cpu_features().flatten()
    version = f"{llvmlite.__version__} {llvm.llvm_version_info}"
    return version, llvm.get_default_triple(), llvm.get_host_cpu_name(), features


def native_lanes() -> int:
    """Return the number of lanes of this machine: 8 with AVX-512, else 4 (on ARM, two registers of two numbers)."""
    return 8 if "+avx512f" in target()[3] else 4


def _machine(effort: int = 2, **model: str) -> llvmlite.binding.TargetMachine:
    llvm = _llvm()
    _, triple, cpu, features = target()
    return llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, features=features, opt=effort, jit=not model, **model)


def object_code(text: str, rarely_called: bool = False) -> bytes:
    """Return object code of LLVM IR for this machine, with the constants next to the code if possible.

    Code that is `rarely_called` is not optimised, which makes compilation 20 times faster and execution three times slower.
    """
    lines = text.count("\n")
    if lines > longest_program(LARGEST):
        raise UnsupportedFeature(
            f"a program of {lines / 1e6:.1f} million operations is too long to compile; linearly_implicit includes the "
            "derivatives of all contacts and internal states; use rk4 with a shorter step, use fewer contact points, "
            "or raise HYDROMECHS_LONGEST_PROGRAM"
        )
    rarely_called = rarely_called or lines > HUGE
    if target()[1].startswith("x86_64") and "linux" in target()[1] and not FAR.search(text):
        code = with_constants(_compiled(text, rarely_called, reloc="pic", codemodel="small"))
        if code is not None:
            return code
    return _compiled(text, rarely_called)


def _compiled(text: str, rarely_called: bool, **model: str) -> bytes:
    llvm, machine = _llvm(), _machine(0 if rarely_called else 2, **model)
    module = llvm.parse_assembly(text)
    module.verify()
    if not rarely_called and text.count("\n") < LARGE:
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1))
        builder.getModulePassManager().run(module, builder)
    return machine.emit_object(module)


class LoadedCode:
    """Functions of loaded object code; without single calls, only the loop is available."""

    def __init__(self, code: bytes, n_arguments: int, form: Form) -> None:
        llvm, machine = _llvm(), _machine()
        self.engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        self.engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self.engine.finalize_object()
        address = self.engine.get_function_address
        self.address = address("packed") if form.packed else 0
        """Address of the function of packed arrays; 0 if the code contains none."""
        loop: Any = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
        self.loop = loop(address("loop") or 0)
        self.loop.engine = self.engine  # referenced, because the engine owns the code
        """Function that evaluates worlds begin..end of arrays in a table of addresses and strides, without the Python lock."""
        self.objects: Any = None
        """Function that evaluates NumPy arrays and returns True if types and shapes fit; None if their memory layout is
        unknown."""
        if form.lanes == 1 and n_arguments and layout_is_known():
            self.objects = built_in(address("objects"), self.engine)


def optimised() -> bool:
    """Return False if `HYDROMECHS_OPTIMISE=0` requests fast compilation, for tests that run each program briefly."""
    return os.environ.get("HYDROMECHS_OPTIMISE") != "0"


class Llvm(Backend):
    """Back end that generates machine code for this CPU by LLVM."""

    key = "llvm"
    about = "machine code of this CPU"
    target = "cpu"
    lanes = True
    takes_loops = True
    takes_divided_steps = True

    def source(self, program: Program | Rolled, form: Form, precision: str = "float64") -> str:
        """Return the LLVM IR; see `Backend.source`."""
        from ._llvm_march import march_text
        from ._llvm_text import llvm_text, packed_text

        quickly = form.rarely or not optimised()
        if form.packed:
            return packed_text(program, form.lanes, quickly)
        if form.state is None:
            return llvm_text(program, form.lanes, quickly)
        return march_text(program, form.state, form.lanes, quickly)

    def versions(self) -> tuple[str, ...]:
        """Return versions of LLVM and llvmlite, triple, CPU features, and the optimisation mode."""
        return (*target(), "optimised" if optimised() else "quickly compiled")

    def build(self, source: str, form: Form) -> bytes:
        return object_code(source, (form.rarely and form.lanes == 1) or not optimised())

    def load(self, code: bytes, arguments: int, form: Form) -> LoadedCode:
        return LoadedCode(code, arguments, form)

    def arrays(self, precision: str) -> Arrays:
        return Arrays()

    def caller(self, code: Compiled, precision: str) -> Callable[[Sequence[Any]], list[Any]]:
        """Return the compiled function unchanged; see `Backend.caller`."""
        return code

    def marcher(self, march: March, precision: str) -> Marcher:
        def go(state: Sequence[Any], inputs: Sequence[Any], frozen: Any, steps: int, stride: int) -> tuple[list[Any], Any]:
            if frozen.any():  # a step length of NaN gives a state that is not finite, so the step is not taken
                inputs = [np.where(frozen, np.nan, inputs[0]), *inputs[1:]]
            done = march(state, inputs, steps, stride=stride or steps + 1, ends=list(state))
            return done.records, done.good

        return go


SYMBOLS, RELOCATIONS = 2, 4  # types of sections
WRITE, ALLOCATED, CODE = 1, 2, 4  # flags of sections
RELATIVE = (2, 4)  # types of relocations that contain a distance of 32 bits: R_X86_64_PC32 and R_X86_64_PLT32
HEADER = struct.Struct("<IIQQQQIIQQ")


class _Section(NamedTuple):
    """Header of a section in an ELF file."""

    name: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry: int


def with_constants(code: bytes) -> bytes | None:
    """Return an x86-64 ELF object for the small code model with its constants appended; None if that is insufficient."""
    table, size, count = struct.unpack_from("<Q", code, 40)[0], *struct.unpack_from("<HH", code, 58)
    sections = [_Section(*HEADER.unpack_from(code, table + k * size)) for k in range(count)]
    loaded = [k for k, s in enumerate(sections) if s.flags & ALLOCATED and s.size]
    texts = [k for k in loaded if sections[k].flags & CODE]
    symbols = [s for s in sections if s.type == SYMBOLS]
    if len(texts) != 1 or len(symbols) != 1 or any(sections[k].flags & WRITE for k in loaded):
        return None
    out, begins = bytearray(), {}
    for k in sorted(loaded, key=lambda k: k not in texts):
        s = sections[k]
        out += bytes(-len(out) % max(1, s.alignment))
        begins[k] = len(out)
        out += code[s.offset : s.offset + s.size]
    patched = bytearray(code)
    for k, s in enumerate(sections):
        if s.type != RELOCATIONS or s.info not in loaded:
            continue
        for at in range(s.offset, s.offset + s.size, 24):
            place, info, addend = struct.unpack_from("<QQq", code, at)
            section, value = struct.unpack_from("<HQ", code, symbols[0].offset + 24 * (info >> 32) + 6)
            if s.info not in texts or info & 0xFFFFFFFF not in RELATIVE or section not in begins:
                return None
            struct.pack_into("<i", out, place, begins[section] + value + addend - place)
        HEADER.pack_into(patched, table + k * size, *s._replace(size=0))
    patched += bytes(-len(patched) % 64)
    alignment = max(sections[k].alignment for k in loaded)
    text = sections[texts[0]]._replace(offset=len(patched), size=len(out), alignment=alignment)
    HEADER.pack_into(patched, table + texts[0] * size, *text)
    return bytes(patched + out)
