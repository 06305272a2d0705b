"""Compilation of NumPy functions to machine code: trace, program, back ends, cache, derivatives."""

from hydromechs._lazy import lazy_names as _lazy_names

from ._callee import Argument, OperationCount, Table
from ._program import Operation, Program

__getattr__, __dir__, _later = _lazy_names(
    __name__,
    {  # back ends load separately: cached machine code needs no CasADi, and CUDA needs no LLVM
        "._backend": ("Arrays", "Backend", "Case", "Form", "SourceFile", "SourceFunction"),
        "._backends": ("BACKENDS", "NATIVE", "TARGETS"),
        "._c_calls": ("as_program",),
        "._c_text": ("c_header", "c_identifier", "c_source", "c_test"),
        "._cache": ("fingerprint", "source_hash"),
        "._casadi": ("casadi_function", "jacobian_program", "jvp_program", "linearized", "vjp_program"),
        "._compiled": ("Compiled", "Recipe", "compile_function", "recipe_of"),
        "._cuda": ("CudaAttributes", "CudaKernel", "free_gpu_memory", "import_cupy", "use_gpu"),
        "._cuda_march": ("CudaMarch",),
        "._cuda_routine": ("CudaRoutine", "DeviceState"),
        "._each": ("each",),
        "._flow": ("typical_operations",),
        "._hoist": ("Hoisted", "evaluate_rows", "hoist", "merge"),
        "._llvm": ("native_lanes",),
        "._march": ("BoundMarch", "March", "MarchResult"),
        "._progress": ("longest_program",),
        "._random": ("stream_number",),
        "._rolled": ("Address", "NUMBERS", "ROW", "Rolled", "Stage", "Sweep"),
        "._routine": ("Entries", "Routine", "StepPlaces"),
        "._routine_code": ("PackedCode", "RoutineCode"),
        "._symbol": (
            "Symbol",
            "call",
            "call_on_lanes",
            "dense",
            "draw",
            "iterate",
            "solve",
            "solve_semidefinite",
            "symbols",
            "when",
        ),
        "._trace": ("program_between", "read_by", "trace"),
        "._wasm_module": ("MemoryPlace", "PlacedProgram", "PlacedRoutine", "WasmModule"),
        "._whole": ("Whole", "scattered", "trace_whole"),
    },
)

__all__ = ["Argument", "Operation", "OperationCount", "Program", "Table", *_later]
