"""Table of all operations of programs: definitions in floats, CasADi and each dialect, and operation counts.

Comparisons and logic return 1 or 0. NaN counts as true and compares as in IEEE 754; min, max and sign return NaN for NaN. A
program also contains constants, inputs, calls and their results, which are not operations.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

FLAGS = "contract nsz arcp"
"""Fast-math flags of LLVM. Never add nnan or ninf, which would hide divergence."""


class Lines(NamedTuple):
    """LLVM instructions, each of which defines a value; the last value is the result."""

    text: tuple[str, ...]
    """Text with fields in braces: `T` type, `flags` of arithmetic, `a` and `b` operands, `zero`, `one`, `minus_one`, `bits`
    type of conditions, and 0, 1, ... for values of preceding lines."""


class Intrinsic(NamedTuple):
    """LLVM intrinsic that exists for any number of lanes."""

    name: str
    """Name of the intrinsic between "llvm." and the type."""


class Library(NamedTuple):
    """C library function that is called lane by lane."""

    name: str


class OfPair(NamedTuple):
    """Sine or cosine of an angle; one function computes both together."""

    place: int
    """Index in the pair: 0 for the sine, 1 for the cosine."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One operation, a row of the table."""

    name: str
    arity: int
    """Number of operands, 1 or 2."""
    floats: Callable[..., Any]
    """Definition as a function of `np.float64`."""
    casadi: tuple[str, ...]
    """Names of equivalent CasADi codes; the first code is used for writing."""
    dialects: Mapping[str, Any]
    """Text keyed by dialect. The text of "llvm" is `Lines`, `Intrinsic`, `Library` or `OfPair`. The text of "c" is an
    expression with fields in braces: operands `a` and `b`, `zero`, `one`, and `f`, the suffix of single-precision functions.
    A back end can override entries of a dialect."""
    count: str = "others"
    """Field of `OperationCount` that counts the operation; empty if the operation is free."""
    commutes: bool = False
    """True if the operation is commutative."""
    method: str = ""
    """Method that the equivalent NumPy function calls on objects."""


def _truth(test: int) -> str:
    """Return the line that converts the condition in line `test` to 1 or 0."""
    return f"select {{bits}} {{{test}}}, {{T}} {{one}}, {{T}} {{zero}}"


def _arithmetic(name: str, floats: Callable[..., Any], sign: str, count: str, commutes: bool = False) -> Kind:
    llvm = Lines((f"f{name} {{flags}} {{T}} {{a}}, {{b}}",))
    return Kind(name, 2, floats, (f"OP_{name.upper()}",), {"llvm": llvm, "c": f"{{a}} {sign} {{b}}"}, count, commutes)


def _comparison(name: str, floats: Callable[..., Any], how: str, sign: str, commutes: bool = False) -> Kind:
    llvm = Lines((f"fcmp {how} {{T}} {{a}}, {{b}}", _truth(0)))
    c = f"{{a}} {sign} {{b}} ? {{one}} : {{zero}}"
    return Kind(name, 2, floats, (f"OP_{name.upper()}",), {"llvm": llvm, "c": c}, commutes=commutes)


def _logic(name: str, floats: Callable[..., Any], sign: str) -> Kind:
    tests = "fcmp une {T} {a}, {zero}", "fcmp une {T} {b}, {zero}"
    llvm = Lines((*tests, f"{name} {{bits}} {{0}}, {{1}}", _truth(2)))
    c = f"({{a}} != {{zero}}) {sign} ({{b}} != {{zero}}) ? {{one}} : {{zero}}"
    return Kind(name, 2, floats, (f"OP_{name.upper()}",), {"llvm": llvm, "c": c}, commutes=True)


def _extreme(name: str, floats: Callable[..., Any], how: str, sign: str) -> Kind:
    """Return minimum or maximum: a comparison that keeps a NaN of `b`, followed by one that keeps a NaN of `a`."""
    pick = (f"fcmp {how} {{T}} {{a}}, {{b}}", "select {bits} {0}, {T} {a}, {T} {b}")
    llvm = Lines((*pick, "fcmp uno {T} {a}, {zero}", "select {bits} {2}, {T} {a}, {T} {1}"))
    c = f"{{a}} {sign} {{b}} || {{a}} != {{a}} ? {{a}} : {{b}}"
    return Kind(name, 2, floats, (f"OP_F{name.upper()}",), {"llvm": llvm, "c": c}, commutes=True)


def _function(name: str, floats: Callable[..., Any], method: str) -> Kind:
    """Return a function of one number with an equal name in the C library."""
    dialects = {"llvm": Library(name), "c": f"{name}{{f}}({{a}})"}
    return Kind(name, 1, floats, (f"OP_{name.upper()}",), dialects, method=method)


_TABLE = (
    _arithmetic("add", np.add, "+", "additions", commutes=True),
    _arithmetic("sub", np.subtract, "-", "additions"),
    _arithmetic("mul", np.multiply, "*", "multiplications", commutes=True),
    _arithmetic("div", np.divide, "/", "divisions"),
    Kind("neg", 1, np.negative, ("OP_NEG",), {"llvm": Lines(("fneg {flags} {T} {a}",)), "c": "-{a}"}, count=""),
    Kind("sqrt", 1, np.sqrt, ("OP_SQRT",), {"llvm": Intrinsic("sqrt"), "c": "sqrt{f}({a})"}, "square_roots", method="sqrt"),
    Kind("abs", 1, np.abs, ("OP_FABS",), {"llvm": Intrinsic("fabs"), "c": "fabs{f}({a})"}, count=""),
    Kind("floor", 1, np.floor, ("OP_FLOOR",), {"llvm": Intrinsic("floor"), "c": "floor{f}({a})"}, method="floor"),
    Kind("sin", 1, np.sin, ("OP_SIN",), {"llvm": OfPair(0), "c": "sin{f}({a})"}, "sines_cosines", method="sin"),
    Kind("cos", 1, np.cos, ("OP_COS",), {"llvm": OfPair(1), "c": "cos{f}({a})"}, "sines_cosines", method="cos"),
    _function("tan", np.tan, "tan"),
    _function("exp", np.exp, "exp"),
    _function("log", np.log, "log"),
    _function("tanh", np.tanh, "tanh"),
    _function("asin", np.arcsin, "arcsin"),
    _function("acos", np.arccos, "arccos"),
    _function("atan", np.arctan, "arctan"),
    _function("sinh", np.sinh, "sinh"),
    _function("cosh", np.cosh, "cosh"),
    Kind("pow", 2, np.power, ("OP_POW", "OP_CONSTPOW"), {"llvm": Library("pow"), "c": "pow{f}({a}, {b})"}),
    Kind("atan2", 2, np.arctan2, ("OP_ATAN2",), {"llvm": Library("atan2"), "c": "atan2{f}({a}, {b})"}, method="arctan2"),
    _comparison("lt", lambda a, b: np.float64(a < b), "olt", "<"),
    _comparison("le", lambda a, b: np.float64(a <= b), "ole", "<="),
    _comparison("eq", lambda a, b: np.float64(a == b), "oeq", "==", commutes=True),
    _comparison("ne", lambda a, b: np.float64(a != b), "une", "!=", commutes=True),
    _logic("and", lambda a, b: np.float64(a != 0.0 and b != 0.0), "&&"),
    _logic("or", lambda a, b: np.float64(a != 0.0 or b != 0.0), "||"),
    Kind(
        "not",
        1,
        lambda a: np.float64(a == 0.0),
        ("OP_NOT",),
        {"llvm": Lines(("fcmp oeq {T} {a}, {zero}", _truth(0))), "c": "{a} == {zero} ? {one} : {zero}"},
    ),
    Kind(
        "if_else_zero",
        2,
        lambda a, b: b if a != 0.0 else np.float64(0.0),
        ("OP_IF_ELSE_ZERO",),
        {
            "llvm": Lines(("fcmp une {T} {a}, {zero}", "select {bits} {0}, {T} {b}, {T} {zero}")),
            "c": "{a} != {zero} ? {b} : {zero}",
        },
    ),
    _extreme("min", np.minimum, "olt", "<"),
    _extreme("max", np.maximum, "ogt", ">"),
    Kind(
        "sign",
        1,
        np.sign,
        ("OP_SIGN",),
        {
            "llvm": Lines(
                (
                    "fcmp ogt {T} {a}, {zero}",
                    "fcmp olt {T} {a}, {zero}",
                    "select {bits} {1}, {T} {minus_one}, {T} {a}",
                    "select {bits} {0}, {T} {one}, {T} {2}",
                )
            ),
            "c": "{a} > {zero} ? {one} : {a} < {zero} ? -{one} : {a}",
        },
    ),
)

KINDS = {kind.name: kind for kind in _TABLE}
"""Operations, keyed by name."""
