"""Programs as C99, with one statement per operation; CUDA shares the statements.

`c_body` writes the statements of one function. `c_header` and `c_source` write a self-contained pair of files, which allocates
no memory, has no globals and uses only math.h of the C library. `c_test` writes a `main` that checks the functions on a few
cases.
"""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hydromechs.errors import UnsupportedFeature
from hydromechs.values import Array

from ._backend import Backend, Case, Form, SourceFile, SourceFunction
from ._c_calls import CFunctions, Placed, c_literal
from ._callee import Argument
from ._operations import KINDS
from ._program import Call, Program
from ._rolled import Rolled

KEYWORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while asm typeof bool
    true false class delete explicit export friend mutable namespace new operator private protected public template this
    throw try catch typename using virtual and or not xor
"""
"""Reserved words of C and C++; C++ programs may include the header."""

MATH = """
    acos asin atan atan2 cos sin tan acosh asinh atanh cosh sinh tanh exp exp2 expm1 frexp ilogb ldexp log log10 log1p log2
    logb modf scalbn scalbln cbrt fabs hypot pow sqrt erf erfc lgamma tgamma ceil floor nearbyint rint lrint llrint round
    lround llround trunc fmod remainder remquo copysign nan nextafter nexttoward fdim fmax fmin fma j0 j1 jn y0 y1 yn gamma
    isnan isinf isfinite isnormal signbit fpclassify signgam sincos
"""
"""Names in math.h that parameters must not shadow."""

SHARING = 3
"""Number of calls of a function in a program from which its arrays are in fast memory."""

RESERVED = frozenset([*KEYWORDS.split(), *MATH.split(), *(f"{name}f" for name in MATH.split())])


def c_identifier(name: str) -> str:
    """Return `name` as a C identifier that is neither reserved, nor in math.h, nor a local variable t0, t1, ..."""
    out = re.sub(r"[^0-9A-Za-z_]+", "_", name).strip("_")
    if not out or out[0].isdigit():
        out = f"m_{out}".rstrip("_")
    own = re.fullmatch(r"t\d+", out)
    return f"{out}_" if out in RESERVED or own else out


class _Site(NamedTuple):
    """Arrays of a call in a program: arguments, followed by results."""

    function: str
    sizes: tuple[int, ...]
    placed: Placed
    first: int
    """Operation of the first call with the same arrays."""

    @classmethod
    def of(cls, call: Call, functions: CFunctions, often: bool, k: int) -> _Site:
        """Return the arrays of a call, which is operation k."""
        placed = functions.placed(call.callee, often)
        return cls(placed.name, tuple(a.size for a in (*call.callee.inputs, *call.callee.outputs)), placed, k)

    def name(self, i: int) -> str:
        """Return the name of an array."""
        return f"c{self.first}_{i}"

    def entry(self, functions: CFunctions | None, i: int, j: int) -> str:
        """Return the expression of an entry of an array."""
        if functions is None:
            return f"{self.name(i)}[{j}]"
        return functions.fast(self.placed.fast[i, j]) if (i, j) in self.placed.fast else f"{self.name(i)}[{j}]"


def c_body(
    program: Program,
    real: str,
    load: Callable[[int, int], str],
    store: Callable[[int, int, str], str],
    *,
    order: Sequence[int] | None = None,
    sincos: str | None = None,
    functions: CFunctions | None = None,
    own: Mapping[str, str] | None = None,
    overwritten: Callable[[int, int], Sequence[int]] = lambda output, entry: (),
) -> list[str]:
    """Return the statements of a program.

    Constants are written as literals, and inputs are loaded immediately before their first use. `KINDS` defines all operations.

    Args:
        real: Type of all variables, "double" or "float".
        load: Function (argument, entry) that returns the expression of an input entry.
        store: Function (output, entry, expression) that returns a statement to store a result entry.
        order: Indices of the operations in the order of the text; each result is stored immediately after its computation.
            Defaults to the order of the program with all results stored at the end, so that they may overwrite arguments.
        sincos: Name of a function (x, *sine, *cosine) that computes sine and cosine of an angle. Defaults to calls of sin and
            cos.
        functions: Collection of called functions; optional if the program calls none.
        own: Expressions that override those in `KINDS`, keyed by name of operation.
        overwritten: Function (output, entry) that returns the inputs, as indices of operations, that the store of a result
            overwrites; they are loaded before it.
    """
    operations = program.operations
    if program.calls and functions is None:
        raise UnsupportedFeature(f"{program.name} calls other programs, tables or a solver; pass the argument `functions`")
    suffix = "f" if real == "float" else ""
    one, zero = c_literal(1.0, real), c_literal(0.0, real)
    names: dict[int, str] = {}
    lines: list[str] = []
    places: dict[int, list[tuple[int, int]]] = {}
    for k, row in enumerate(program.results):
        for entry, place in enumerate(row):
            places.setdefault(place, []).append((k, entry))
    one_place = functions is not None and functions.cuda  # calls of a function share arrays: a thread has little fast memory
    sites: dict[int, _Site] = {}
    waiting: dict[str, list[int]] = {}  # by function, its calls that are not yet written
    arguments: dict[int, list[int]] = {}  # calls that an operation is an argument of
    results: dict[int, list[int]] = {}
    counts = Counter(call.callee.key for call in program.calls)
    for k in range(len(operations)) if order is None else order:
        op = operations[k]
        if op.kind == "result":
            results.setdefault(op.a, []).append(k)
        elif op.kind == "call" and functions is not None:
            call = program.calls[op.value]
            sites[k] = _Site.of(call, functions, one_place and counts[call.callee.key] >= SHARING, k)
            earlier = waiting.setdefault(sites[k].function, [])
            if earlier and one_place:
                sites[k] = sites[k]._replace(first=earlier[0])
            earlier.append(k)
            for p in {p for row in call.arguments for p in row}:
                arguments.setdefault(p, []).append(k)
    declared: set[str] = set()
    held: dict[str, dict[str, int]] = {}  # by function, the values in the arrays of its arguments
    left: dict[str, list[int]] = {}  # by function, results of its last call
    other = {}
    if sincos:
        pairs = {(op.kind, op.a): k for k, op in enumerate(operations) if op.kind in ("sin", "cos")}
        other = {k: pairs.get(("cos" if kind == "sin" else "sin", a)) for (kind, a), k in pairs.items()}

    def define(k: int, expression: str) -> None:
        names[k] = f"t{k}"
        lines.append(f"const {real} t{k} = {expression};")

    def value(k: int) -> str:
        """Return the text of a value: a literal, or a variable that is loaded if necessary."""
        op = operations[k]
        if op.kind == "const":
            return c_literal(op.value, real)
        if k not in names and op.kind == "result":
            site = sites[op.a]
            entry = site.entry(functions, len(program.calls[operations[op.a].value].arguments) + op.value[0], op.value[1])
            if not one_place:
                return entry
            define(k, entry)
        elif k not in names:
            define(k, load(*op.value))
        return names[k]

    def pass_on(k: int, wanted: Collection[int]) -> None:
        """Write some values into the arrays of a call's arguments."""
        site, call = sites[k], program.calls[operations[k].value]
        if site.function not in declared:
            lines.extend(f"{real} {site.name(i)}[{max(1, site.sizes[i])}];" for i in site.placed.slow)
        declared.add(site.function)
        read, known = call.callee.read_entries, held.setdefault(site.function, {})
        for i, row in enumerate(call.arguments):
            for j, p in enumerate(row):
                entry = site.entry(functions, i, j)
                if p in wanted and (read is None or (i, j) in read) and known.get(entry) != p:
                    known[entry] = p
                    lines.append(f"{entry} = {value(p)};")

    def called(k: int) -> None:
        """Write the arrays of a call's arguments and results, and the call."""
        site, call = sites[k], program.calls[operations[k].value]
        n = len(call.arguments)
        if one_place:
            for x in left.pop(site.function, ()):
                value(x)
            pass_on(k, {p for row in call.arguments for p in row})
            waiting[site.function].remove(k)
            left[site.function] = results.get(k, [])
        else:
            for i, row in enumerate(call.arguments):
                entries = ", ".join(value(p) for p in row) or zero
                lines.append(f"const {real} {site.name(i)}[{max(1, len(row))}] = {{{entries}}};")
            lines.extend(f"{real} {site.name(n + i)}[{max(1, size)}];" for i, size in enumerate(site.sizes[n:]))
        lines.append(f"{site.function}({', '.join(map(site.name, site.placed.slow))});")
        if one_place and site.placed.slow and not call.callee.inline:  # it may use the same fast memory
            for function, values in held.items():
                if function != site.function:
                    values.clear()

    def emit(k: int) -> None:
        op = operations[k]
        if op.kind == "call":
            called(k)
            return
        if op.kind == "result":
            return
        a = value(op.a)
        b = value(op.b) if op.b >= 0 else ""
        if sincos and op.kind in ("sin", "cos"):
            if k not in names:
                sine, cosine = (k, other[k]) if op.kind == "sin" else (other[k], k)
                n, m = (f"t{x}" if x is not None else f"unused{k}" for x in (sine, cosine))
                lines.append(f"{real} {n}, {m}; {sincos}({a}, &{n}, &{m});")
                names.update({x: f"t{x}" for x in (sine, cosine) if x is not None})
            return
        define(k, (own or {}).get(op.kind, KINDS[op.kind].dialects["c"]).format(a=a, b=b, f=suffix, one=one, zero=zero))

    def put(k: int) -> None:
        for output, entry in places.pop(k, ()):
            text = value(k)
            for x in overwritten(output, entry):
                value(x)
            lines.append(store(output, entry, text))

    for k in range(len(operations)) if order is None else order:
        if operations[k].kind not in ("const", "input"):
            emit(k)
            if order is not None:
                put(k)
            for call in arguments.get(k, ()) if one_place and operations[k].kind != "result" else ():
                if waiting[sites[call].function][0] == call:
                    pass_on(call, (k,))
    for k in list(places):
        value(k)  # all loads precede the first store
    for k in list(places):
        put(k)
    return lines


def _comment(lines: Sequence[str]) -> str:
    """Return lines as a C comment, in ASCII and without text that would end the comment early."""
    plain = {"²": "^2", "³": "^3", "·": "*", "×": "x", "−": "-", "–": "-", "°": " deg"}
    out = ["/*"]
    for line in lines:
        text = "".join(plain.get(c, c) for c in re.sub(r"[\r\n\v\f]+", " ", line))
        text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
        text = text.encode("ascii", "backslashreplace").decode()
        for two in ("*/", "/*", "??"):
            while two in text:
                text = text.replace(two, f"{two[0]} {two[1]}")
        out.append(f" * {text}".rstrip())
    return "\n".join([*out, " */"])


def _signature(file: SourceFile, function: SourceFunction, names: Mapping[int, str]) -> str:
    program = function.program
    n = len(program.inputs)
    parts = [f"{'const ' if k < n else ''}double *{names[k]}" for k in range(n + len(program.outputs))]
    return f"void {file.name}_{c_identifier(program.name)}({', '.join(parts)})"


def _parameters(program: Program) -> dict[int, str]:
    out: dict[int, str] = {}
    for k, argument in enumerate((*program.inputs, *program.outputs)):
        name = c_identifier(argument.name)
        while name in out.values():
            name += "_"
        out[k] = name
    return out


def _describe(function: SourceFunction) -> list[str]:
    program, count = function.program, function.program.count()
    names = _parameters(program)
    lines = [function.purpose or program.name, ""]
    for k, argument in enumerate((*program.inputs, *program.outputs)):
        where = "in " if k < len(program.inputs) else "out"
        shape = [" x ".join(map(str, argument.shape)) + ", row by row"] if len(argument.shape) > 1 else []
        note = [function.notes[argument.name]] if argument.name in function.notes else []
        lines.append(f"  {where} {names[k]}[{argument.size}]  {', '.join(note + shape)}")
    lines += [
        "",
        f"{count.multiplications} multiplications, {count.divisions} divisions, {count.square_roots} square roots, "
        f"{count.additions} additions,",
        f"{count.sines_cosines} sines and cosines, {count.others} others.",
    ]
    return lines


RULES = (
    "Arrays hold double; matrices are row-major. Results may overlap arguments. No function allocates memory, keeps",
    "state between calls or calls functions outside math.h: all may be called from several threads at once.",
)


def c_header(file: SourceFile) -> str:
    """Return the header: a comment that describes the model, followed by a declaration of every function."""
    guard = f"HYDROMECHS_{file.name.upper()}_H"
    parts = [
        _comment([f"{file.name}.h, written by HydroMechs. Do not edit; export again.", "", *file.about, "", *RULES]),
        f"#ifndef {guard}\n#define {guard}",
        "\n".join(f"#define {file.name.upper()}_{key} {value}" for key, value in file.constants.items()),
        '#ifdef __cplusplus\nextern "C" {\n#endif',
    ]
    for function in file.functions:
        declaration = _signature(file, function, _parameters(function.program))
        parts.append(f"{_comment(_describe(function))}\n{declaration};")
    parts.append("#ifdef __cplusplus\n}\n#endif")
    parts.append(f"#endif /* {guard} */")
    return "\n\n".join(p for p in parts if p) + "\n"


def _array_body(program: Program, names: Mapping[int, str], functions: CFunctions) -> list[str]:
    """Return the statements of a program whose arguments and results are arrays with the given names."""

    def load(argument: int, entry: int) -> str:
        return f"{names[argument]}[{entry}]"

    def store(output: int, entry: int, text: str) -> str:
        return f"{names[len(program.inputs) + output]}[{entry}] = {text};"

    return c_body(program, "double", load, store, functions=functions)


def c_source(file: SourceFile) -> str:
    """Return the source with straight-line code of every function."""
    parts = [
        _comment([f"{file.name}.c, written by HydroMechs. Do not edit; export again. Described in {file.name}.h."]),
        f'#include "{file.name}.h"\n\n#include <math.h>',
    ]
    called = CFunctions("double")
    bodies = [_array_body(f.program, _parameters(f.program), called) for f in file.functions]
    parts += called.text
    for function, body in zip(file.functions, bodies, strict=True):
        program, names = function.program, _parameters(function.program)
        n = len(program.inputs)
        used = {op.value[0] for op in program.operations if op.kind == "input"}
        used |= {n + k for k, a in enumerate(program.outputs) if a.size}
        body = [f"(void){names[k]};" for k in names if k not in used] + body
        text = "\n".join(f"    {line}" for line in body)
        parts.append(f"{_signature(file, function, names)}\n{{\n{text}\n}}")
    return "\n\n".join(parts) + "\n"


_CHECK = """\
static int check(const char *what, int size, const double *got, const double *expected, double tolerance)
{
    double scale = 0.0, worst = 0.0;
    int i, good = 1;
    for (i = 0; i < size; i++)
        if (fabs(expected[i]) > scale)
            scale = fabs(expected[i]);
    for (i = 0; i < size; i++) {
        const double error = fabs(got[i] - expected[i]);
        if (!(error <= tolerance * scale)) /* NaN is not good */
            good = 0;
        if (!(error <= worst))
            worst = error;
    }
    printf("%-4s %s: error %.2g, largest value %.2g\\n", good ? "ok" : "BAD", what, worst, scale);
    return good;
}"""


def _table(name: str, argument: Argument, rows: Sequence[Array]) -> str:
    """Return a constant table with one row per case; an argument without entries gets one entry (C has no empty arrays)."""
    text = []
    for row in rows:
        numbers = [c_literal(float(x), "double") for x in np.ravel(row)] or ["0.0"]
        lines = [", ".join(numbers[k : k + 5]) for k in range(0, len(numbers), 5)]
        text.append("    {" + ",\n     ".join(lines) + "}")
    return f"static const double {name}[{len(rows)}][{max(1, argument.size)}] = {{\n" + ",\n".join(text) + "\n};"


def c_test(file: SourceFile, cases: Mapping[str, Sequence[Case]]) -> str:
    """Return a `main` that runs the cases of every function; its status is 0 if all results agree, else 1.

    `cases` is keyed by the name of the program.
    """
    top = f"{file.name}_test.c, written by HydroMechs: compares {file.name}.c with the results of the Python functions."
    parts = [_comment([top]), f'#include "{file.name}.h"\n\n#include <math.h>\n#include <stdio.h>', _CHECK]
    calls = []
    for function in file.functions:
        program = function.program
        own = cases[program.name]
        if not own:
            continue
        label = f"{file.name}_{c_identifier(program.name)}"
        tables = []
        for k, argument in enumerate(program.inputs):
            tables.append(_table(f"in{k}", argument, [case.inputs[k] for case in own]))
        for k, argument in enumerate(program.outputs):
            tables.append(_table(f"expected{k}", argument, [case.outputs[k] for case in own]))
        tolerances = ", ".join(c_literal(case.tolerance, "double") for case in own)
        tables.append(f"static const double tolerance[{len(own)}] = {{{tolerances}}};")
        body = [line for table in tables for line in table.split("\n")]
        body += [f"double out{k}[{max(1, a.size)}];" for k, a in enumerate(program.outputs)]
        body += ["int i, good = 1;", f"for (i = 0; i < {len(own)}; i++) {{"]
        arguments = [f"in{k}[i]" for k in range(len(program.inputs))] + [f"out{k}" for k in range(len(program.outputs))]
        body.append(f"    {label}({', '.join(arguments)});")
        for k, a in enumerate(program.outputs):
            body.append(
                f'    good &= check("{label}: {c_identifier(a.name)}", {a.size}, out{k}, expected{k}[i], tolerance[i]);'
            )
        body += ["}", "return good;"]
        parts.append(f"static int test_{c_identifier(program.name)}(void)\n{{\n" + "\n".join(f"    {x}" for x in body) + "\n}")
        calls.append(f"    good &= test_{c_identifier(program.name)}();")
    end = f'    printf("%s\\n", good ? "{file.name}: all results agree" : "{file.name}: RESULTS DIFFER");'
    main = "\n".join(["    int good = 1;", *calls, end, "    return good ? 0 : 1;"])
    parts.append(f"int main(void)\n{{\n{main}\n}}")
    return "\n\n".join(parts) + "\n"


class C(Backend):
    """Back end that writes a header, a source file and a test program in C99."""

    key = "c"
    about = "C99 header, source file and test program"
    exports = True

    def source(self, program: Program | Rolled, form: Form, precision: str = "float64") -> str:
        """Return a source file with one function; see `Backend.source`."""
        if form.state is not None:
            raise self._unable("supports only single calls")
        return c_source(SourceFile(c_identifier(program.name), (SourceFunction(self._straight(program)),)))

    def files(self, file: SourceFile, cases: Mapping[str, Sequence[Case]]) -> dict[str, str]:
        """Return header, source file and test program; see `Backend.files`."""
        texts = c_header(file), c_source(file), c_test(file, cases)
        return dict(zip((f"{file.name}.h", f"{file.name}.c", f"{file.name}_test.c"), texts, strict=True))

    def check_command(self, paths: Sequence[Path]) -> str:
        _, source, test = paths
        program = test.with_suffix("").absolute()
        compiled = shlex.join(map(str, (source, test, "-lm", "-o", program)))
        return f"cc -std=c99 -O2 {compiled} && {shlex.quote(str(program))}"
