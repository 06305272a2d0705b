"""Single calls with Python objects: LLVM IR that reads NumPy's array structs, and a check of their layout in memory."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache

import numpy as np

from ._program import Argument

__all__ = ["layout_is_known", "objects_text"]

# offsets in NumPy's PyArrayObject on 64-bit machines, and two of its flags
TYPE, DATA, NDIM, SHAPE, STRIDES, DTYPE, ARRAY_FLAGS = 8, 16, 24, 32, 40, 56, 64
ALIGNED, WRITEABLE = 0x0100, 0x0400


@cache
def layout_is_known() -> bool:
    """Whether NumPy lays out its arrays in memory as the compiled code expects; looked up, not assumed."""
    if ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    array = np.arange(6.0).reshape(2, 3)

    def word(address: int) -> int:
        return ctypes.c_int64.from_address(address).value

    at = id(array)
    frozen = np.arange(2.0)
    frozen.flags.writeable = False
    both = ALIGNED | WRITEABLE
    return (
        word(at + TYPE) == id(np.ndarray)
        and word(at + DATA) == array.ctypes.data
        and ctypes.c_int32.from_address(at + NDIM).value == 2
        and [word(word(at + SHAPE) + 8 * k) for k in range(2)] == [2, 3]
        and [word(word(at + STRIDES) + 8 * k) for k in range(2)] == [24, 8]
        and word(at + DTYPE) == id(np.dtype(np.float64))
        and ctypes.c_int32.from_address(at + ARRAY_FLAGS).value & both == both
        and ctypes.c_int32.from_address(id(frozen) + ARRAY_FLAGS).value & both == ALIGNED
    )


def objects_text(arguments: Sequence[Argument], n_inputs: int) -> str:
    """`objects`: calls `eval` with the data of NumPy arrays if all are as they should be.

    Args:
        arguments: What the arrays must be, inputs first.
        n_inputs: Number of inputs; the others must be writeable.
    """
    lines = [
        "@array_type = global i64 0",
        "@float_type = global i64 0",
        f"define i32 @objects({', '.join(f'ptr %o{k}' for k in range(len(arguments)))}) nounwind {{",
        "  %array = load i64, ptr @array_type, align 8",
        "  %float = load i64, ptr @float_type, align 8",
    ]

    def field(k: int, name: str, offset: int, type_: str) -> str:
        lines.append(f"  %{name}p{k} = getelementptr inbounds i8, ptr %o{k}, i64 {offset}")
        lines.append(f"  %{name}{k} = load {type_}, ptr %{name}p{k}, align 8")
        return f"%{name}{k}"

    def require(k: int, what: str, test: str) -> None:
        lines.append(f"  %{what}ok{k} = icmp eq {test}")
        lines.append(f"  br i1 %{what}ok{k}, label %{what}next{k}, label %bad")
        lines.append(f"{what}next{k}:")

    data = []
    for k, argument in enumerate(arguments):
        require(k, "type", f"i64 {field(k, 'type', TYPE, 'i64')}, %array")
        require(k, "float", f"i64 {field(k, 'float', DTYPE, 'i64')}, %float")
        wanted = ALIGNED if k < n_inputs else ALIGNED | WRITEABLE
        flags = field(k, "flags", ARRAY_FLAGS, "i32")
        lines.append(f"  %set{k} = and i32 {flags}, {wanted}")
        require(k, "set", f"i32 %set{k}, {wanted}")
        ndim = len(argument.shape)
        require(k, "ndim", f"i32 {field(k, 'ndim', NDIM, 'i32')}, {ndim}")
        shape, strides = field(k, "shape", SHAPE, "ptr"), field(k, "strides", STRIDES, "ptr")
        step = 8
        for axis in reversed(range(ndim)):
            for name, base, value in (("n", shape, argument.shape[axis]), ("s", strides, step)):
                lines.append(f"  %{name}{axis}p{k} = getelementptr inbounds i64, ptr {base}, i64 {axis}")
                lines.append(f"  %{name}{axis}v{k} = load i64, ptr %{name}{axis}p{k}, align 8")
                require(k, f"{name}{axis}", f"i64 %{name}{axis}v{k}, {value}")
            step *= argument.shape[axis]
        data.append(field(k, "data", DATA, "ptr"))
    lines += [
        f"  call void @eval({', '.join(f'ptr {d}' for d in data)})",
        "  ret i32 0",
        "bad:",
        "  ret i32 1",
        "}",
    ]
    return "\n".join(lines) + "\n"
