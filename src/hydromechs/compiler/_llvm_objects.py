"""Single calls with Python objects: a built-in Python function in machine code that reads the array structs of NumPy.

Python calls the function like other built-in functions (METH_FASTCALL), with a pointer to the arguments and their number.
`self` is an array of all required addresses, so that the code contains no external references.
"""

import ctypes
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ._callee import Argument

# offsets in NumPy's PyArrayObject on 64-bit machines, and two of its flags
TYPE, DATA, NDIM, SHAPE, STRIDES, DTYPE, ARRAY_FLAGS = 8, 16, 24, 32, 40, 56, 64
ALIGNED, WRITEABLE = 0x0100, 0x0400
FASTCALL = 0x0080  # METH_FASTCALL in Python's stable interface


class _Method(ctypes.Structure):
    """Python's description of a built-in function, PyMethodDef."""

    _fields_ = [("name", ctypes.c_char_p), ("code", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]


class _Bound(np.ndarray):
    """Array `self` of the function: addresses of two types, of True and False, and of the function that adds a reference."""

    keep: tuple[Any, ...]
    """Objects that must outlive the function."""


def built_in(address: int, keep: object) -> Any:
    """Return a Python function for the machine code of `objects` at an address; `keep` owns the code."""
    hold = ctypes.cast(ctypes.pythonapi.Py_IncRef, ctypes.c_void_p).value
    things = (np.ndarray, np.dtype(np.float64), True, False)
    bound = np.array([*map(id, things), hold], dtype=np.int64).view(_Bound)
    method = _Method(b"evaluate", address, FASTCALL, None)
    bound.keep = (keep, method)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, (ctypes.POINTER(_Method), ctypes.py_object, ctypes.c_void_p)
    return make(method, bound, None)


@cache
def layout_is_known() -> bool:
    """Return True if a test finds the layout of NumPy's array structs that the compiled code expects."""
    if ctypes.sizeof(ctypes.c_void_p) != 8 or sys.implementation.name != "cpython":
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
    """Return `objects`, which calls `eval` with the data of NumPy arrays, inputs first, or returns False if they do not fit."""
    lines = [
        "define ptr @objects(ptr %self, ptr %arguments, i64 %n) nounwind {",
        f"  %boundp = getelementptr inbounds i8, ptr %self, i64 {DATA}",
        "  %bound = load ptr, ptr %boundp, align 8",
    ]
    for k, (name, type_) in enumerate([("array", "i64"), ("float", "i64"), ("true", "ptr"), ("false", "ptr"), ("hold", "ptr")]):
        lines.append(f"  %{name}p = getelementptr inbounds i64, ptr %bound, i64 {k}")
        lines.append(f"  %{name} = load {type_}, ptr %{name}p, align 8")

    def field(k: int, name: str, offset: int, type_: str) -> str:
        lines.append(f"  %{name}p{k} = getelementptr inbounds i8, ptr %o{k}, i64 {offset}")
        lines.append(f"  %{name}{k} = load {type_}, ptr %{name}p{k}, align 8")
        return f"%{name}{k}"

    def require(k: int, what: str, test: str) -> None:
        lines.append(f"  %{what}ok{k} = icmp eq {test}")
        lines.append(f"  br i1 %{what}ok{k}, label %{what}next{k}, label %bad")
        lines.append(f"{what}next{k}:")

    require(0, "count", f"i64 %n, {len(arguments)}")
    data = []
    for k, argument in enumerate(arguments):
        lines.append(f"  %op{k} = getelementptr inbounds ptr, ptr %arguments, i64 {k}")
        lines.append(f"  %o{k} = load ptr, ptr %op{k}, align 8")
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
        "  call void %hold(ptr %true)",
        "  ret ptr %true",
        "bad:",
        "  call void %hold(ptr %false)",
        "  ret ptr %false",
        "}",
    ]
    return "\n".join(lines) + "\n"
