"""Machine code by LLVM: IR to object code, object code to callable functions."""

from __future__ import annotations

import ctypes
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from hydromechs.errors import UnsupportedFeature

from ._llvm_near import with_constants
from ._llvm_objects import built_in, layout_is_known
from ._operations import KINDS, Library
from ._progress import longest_program

if TYPE_CHECKING:
    import llvmlite.binding

    from ._backend import Form

LARGE = 20_000
"""Lines of IR above which the optimiser costs more time than it gains; straight-line code is nearly optimal as it is."""

HUGE = 100_000
"""Lines of IR above which code is not optimised: LLVM's scheduler and register allocator would need minutes and gigabytes.
The longest explicit step of the library, `tethered_rov`, has 73,000 lines; optimising it pays for its 15 s."""

LARGEST = 3_000_000
"""Lines of IR above which programs are rejected; `HYDROMECHS_LONGEST_PROGRAM` overrides it."""

LIBRARY = {way.name: k.arity for k in KINDS.values() if isinstance(way := k.dialects["llvm"], Library)}
"""Functions of the C library, and how many numbers they take."""

FAR = re.compile(rf"call double @({'|'.join(LIBRARY)})\(|call ptr @malloc|^@\w+ = global ", re.MULTILINE)
"""What code may refer to that can lie far away: functions of the C library and variables."""


@cache
def _llvm() -> Any:
    """LLVM, loaded and ready when first needed: worlds on a GPU do without it."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@cache
def target() -> tuple[str, str, str, str]:
    """Version of LLVM and llvmlite, triple, CPU and features: everything about the machine that can change the code."""
    import llvmlite

    llvm = _llvm()
    features = llvm.get_host_cpu_features().flatten()
    version = f"{llvmlite.__version__} {llvm.llvm_version_info}"
    return version, llvm.get_default_triple(), llvm.get_host_cpu_name(), features


def native_lanes() -> int:
    """Doubles in a vector register of this machine: 8 with AVX-512, else 4 (two registers of two on ARM)."""
    return 8 if "+avx512f" in target()[3] else 4


def _machine(effort: int = 2, **model: str) -> llvmlite.binding.TargetMachine:
    llvm = _llvm()
    _, triple, cpu, features = target()
    return llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, features=features, opt=effort, jit=not model, **model)


def object_code(text: str, rarely_called: bool = False) -> bytes:
    """Object code of LLVM IR for this machine, with the constants next to the code where that can be done.

    Args:
        rarely_called: Made without optimising: in a twentieth of the time, for code that takes three times as long.
    """
    lines = text.count("\n")
    if lines > longest_program(LARGEST):
        raise UnsupportedFeature(
            f"a program of {lines / 1e6:.1f} million operations is too long to compile; linearly_implicit includes the "
            "derivatives of all contacts and internal states: use rk4 with a shorter step, use fewer contact points, "
            "or raise HYDROMECHS_LONGEST_PROGRAM"
        )
    rarely_called = rarely_called or lines > HUGE
    if target()[1].startswith("x86_64") and "linux" in target()[1] and not FAR.search(text):
        code = with_constants(_compiled(text, rarely_called, reloc="pic", codemodel="small"))
        if code is not None:
            return code
    return _compiled(text, rarely_called)


def _compiled(text: str, rarely_called: bool, **model: str) -> bytes:
    """Object code of LLVM IR for a code model."""
    llvm, machine = _llvm(), _machine(0 if rarely_called else 2, **model)
    module = llvm.parse_assembly(text)
    module.verify()
    if not rarely_called and text.count("\n") < LARGE:
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1))
        builder.getModulePassManager().run(module, builder)
    return machine.emit_object(module)


def _holding(function: Any, engine: Any) -> Any:
    """A C function that keeps alive the engine that owns its code."""
    function.engine = engine
    return function


class LoadedCode:
    """Functions of a piece of object code in this process; without arguments, the loop alone."""

    def __init__(self, code: bytes, n_arguments: int, form: Form) -> None:
        llvm, machine = _llvm(), _machine()
        self.engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        self.engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self.engine.finalize_object()
        address = self.engine.get_function_address
        self.address = address("packed") if form.packed else 0
        """Address of the function of packed arrays; 0 if there is none."""
        loop = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
        self.loop = _holding(loop(address("loop") or 0), self.engine)
        """Worlds begin..end of arrays in a table of addresses and strides; runs without Python's lock."""
        self.objects: Any = None
        """Evaluates NumPy arrays and returns True if they are as they should be; None where their layout is unknown."""
        if form.lanes == 1 and n_arguments and layout_is_known():
            self.objects = built_in(address("objects"), self.engine)
