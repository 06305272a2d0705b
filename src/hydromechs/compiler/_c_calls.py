"""What programs call, in C and CUDA: other programs, tables, solvers; each written once as a function of arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ._c_rolled import rolled_body
from ._flow import Iterate, When
from ._fuse import fused_sums
from ._program import Callee, Packed, Program, Solve, SolveSemidefinite, Table
from ._random import DEGREE, KEY_STEPS, MULTIPLIERS, PARTS, ROUNDS, Draw, quantile_table
from ._rolled import Rolled
from ._schedule import short_lives

SMALL = 200
"""Operations up to which a program is written where it is called."""


class CFunctions:
    """Functions for all that programs call, named when they are first needed.

    Args:
        real: Type of all numbers, "double" or "float".
        cuda: Whether they are for a GPU.
        sincos: As of `c_body`.
        own: As of `c_body`.
    """

    def __init__(
        self, real: str, *, cuda: bool = False, sincos: str | None = None, own: Mapping[str, str] | None = None
    ) -> None:
        self.real, self.cuda, self.sincos, self.own = real, cuda, sincos, own
        self.text: list[str] = []
        """The functions, those that others call first."""
        self._names: dict[object, str] = {}

    def name(self, callee: Callee, *, overlapping: bool = False) -> str:
        """Name of the function for a callee; arrays of its arguments, then of its results.

        Args:
            callee: What is called.
            overlapping: True if results of a program may be where its arguments are.
        """
        key: object = (id(callee), overlapping) if isinstance(callee, Program) else callee
        if key not in self._names:
            match callee:
                case Program():
                    body, inline = self._program(callee, overlapping), len(callee.operations) <= SMALL
                case Table():
                    body, inline = self._table(callee), True
                case Solve():
                    body, inline = self._solve(callee), False
                case SolveSemidefinite():
                    body, inline = self._semidefinite(callee), False
                case Draw():
                    body, inline = self._draw(callee), False
                case When():
                    body, inline = self._when(callee), False
                case Iterate():
                    body, inline = self._iterate(callee), False
                case Packed():
                    body, inline = self._packed(callee), False
                case Rolled():
                    body, inline = rolled_body(self, callee), False
            name = f"hm_call{len(self._names)}"
            self._names[key] = name
            self.text.append(self._function(name, callee, body, inline))
        return self._names[key]

    def _function(self, name: str, callee: Callee, body: Sequence[str], inline: bool) -> str:
        how = "static"
        if self.cuda:
            how = f"static __device__ {'__forceinline__' if inline else '__noinline__'}"
        given = [f"const {self.real} *a{k}" for k in range(len(callee.inputs))]
        given += [f"{self.real} *r{k}" for k in range(len(callee.outputs))]
        unused = [f"(void)a{k};" for k in range(len(callee.inputs))] + [f"(void)r{k};" for k in range(len(callee.outputs))]
        text = "\n".join(f"    {line}" for line in (*unused, *body))
        return f"{how} void {name}({', '.join(given)})\n{{\n{text}\n}}"

    def _program(self, program: Program, overlapping: bool) -> list[str]:
        from ._c_text import c_body

        if self.cuda:
            program = fused_sums(program)
        return c_body(
            program,
            self.real,
            lambda k, entry: f"a{k}[{entry}]",
            lambda k, entry, text: f"r{k}[{entry}] = {text};",
            order=None if program.calls or overlapping else short_lives(program),
            sincos=self.sincos,
            functions=self,
            own=self.own,
        )

    def _packed(self, packed: Packed) -> list[str]:
        function, lines = self.name(packed.program), []
        both = list(zip(packed.program.inputs, packed.shared, strict=True))
        for p in range(packed.count):
            given = [f"a{k}" if same else f"a{k} + {p * a.size}" for k, (a, same) in enumerate(both)]
            given += [f"r{k} + {p * a.size}" for k, a in enumerate(packed.program.outputs)]
            lines.append(f"{function}({', '.join(given)});")
        return lines

    def _when(self, when: When) -> list[str]:
        n, count = len(when.program.inputs), len(when.outputs)
        given = [f"a{1 + k}" for k in range(n)] + [f"r{k}" for k in range(count)]
        copies = [f"    {_copied(f'a{1 + n + k}', f'r{k}', a.size)}" for k, a in enumerate(when.outputs)]
        run = f"    {self.name(when.program)}({', '.join(given)});"
        return ["if (a0[0] != 0) {", run, "} else {", *copies, "}"]

    def _iterate(self, iterate: Iterate) -> list[str]:
        program, n = iterate.program, iterate.states
        sizes = [a.size for a in program.outputs[:-1]]
        given = [f"r{k}" for k in range(n)] + [f"a{k}" for k in range(n, len(program.inputs))]
        given += [f"s{k}" for k in range(n)] + ["&done"]
        return [
            *(f"{self.real} s{k}[{max(1, size)}];" for k, size in enumerate(sizes)),
            f"{self.real} done = 0;",
            "int pass = 0;",
            *(_copied(f"a{k}", f"r{k}", size) for k, size in enumerate(sizes)),
            f"for (; pass < {iterate.times} && !(done != 0); ++pass) {{",
            f"    {self.name(program)}({', '.join(given)});",
            *(f"    {_copied(f's{k}', f'r{k}', size)}" for k, size in enumerate(sizes)),
            "}",
            f"r{n}[0] = ({self.real})pass;",
        ]

    def constants(self, name: str, kind: str, values: Sequence[float]) -> str:
        """Write an array of constants; return its name.

        Args:
            name: Part of its name.
            kind: "int", "float" or "double".
            values: Its entries.
        """
        from ._c_text import c_literal

        name = f"hm_{name}{len(self.text)}"
        entries = ", ".join(str(int(x)) if kind == "int" else c_literal(x, kind) for x in values)
        memory = "static __device__ const" if self.cuda else "static const"
        self.text.append(f"{memory} {kind} {name}[{len(values)}] = {{{entries}}};")
        return name

    def _table(self, table: Table) -> list[str]:
        from ._c_text import c_literal

        n, f = len(table.values), "f" if self.real == "float" else ""
        name = self.constants("table", self.real, table.values)
        last, zero = c_literal(n - 1.0, self.real), c_literal(0.0, self.real)
        return [f"const {self.real} x = a0[0];", f"r0[0] = x != x ? x : {name}[(int)fmin{f}(fmax{f}(x, {zero}), {last})];"]

    def _solve(self, solve: Solve) -> list[str]:
        n, real, f = solve.n, self.real, "f" if self.real == "float" else ""
        return [
            f"{real} M[{n}][{n + 1}];",
            f"for (int i = 0; i < {n}; ++i) {{",
            f"    for (int j = 0; j < {n}; ++j) M[i][j] = a0[i * {n} + j];",
            f"    M[i][{n}] = a1[i];",
            "}",
            f"for (int k = 0; k < {n}; ++k) {{",
            "    int p = k;",
            f"    for (int i = k + 1; i < {n}; ++i) if (fabs{f}(M[i][k]) > fabs{f}(M[p][k])) p = i;",
            f"    for (int j = k; j <= {n}; ++j) {{ const {real} y = M[k][j]; M[k][j] = M[p][j]; M[p][j] = y; }}",
            f"    for (int i = k + 1; i < {n}; ++i) {{",
            f"        const {real} factor = M[i][k] / M[k][k];",
            f"        for (int j = k + 1; j <= {n}; ++j) M[i][j] -= factor * M[k][j];",
            "    }",
            "}",
            f"for (int k = {n - 1}; k >= 0; --k) {{",
            f"    {real} rest = M[k][{n}];",
            f"    for (int j = k + 1; j < {n}; ++j) rest -= M[k][j] * r0[j];",
            "    r0[k] = rest / M[k][k];",
            "}",
        ]

    def _semidefinite(self, solve: SolveSemidefinite) -> list[str]:
        from ._c_text import c_literal

        n, real = solve.n, self.real
        zero, tolerance, least = (c_literal(x, real) for x in (0.0, solve.tolerance, solve.least))
        return [
            f"{real} M[{n}][{n + 1}], first = {zero}, last = {zero};",
            f"int order[{n}], rank = 0;",
            f"for (int i = 0; i < {n}; ++i) {{",
            f"    for (int j = 0; j < {n}; ++j) M[i][j] = a0[i * {n} + j];",
            f"    M[i][{n}] = a1[i];",
            "    order[i] = i;",
            "}",
            f"for (int k = 0; k < {n}; ++k) {{",
            "    int p = k;",
            f"    for (int i = k + 1; i < {n}; ++i) if (M[i][i] > M[p][p]) p = i;",
            f"    const {real} size = M[p][p];",
            "    if (k == 0) first = size;",
            f"    if (!(size > {tolerance} * first && size > {least})) break;",
            f"    for (int j = 0; j <= {n}; ++j) {{ const {real} y = M[k][j]; M[k][j] = M[p][j]; M[p][j] = y; }}",
            f"    for (int i = 0; i < {n}; ++i) {{ const {real} y = M[i][k]; M[i][k] = M[i][p]; M[i][p] = y; }}",
            "    { const int o = order[k]; order[k] = order[p]; order[p] = o; }",
            f"    for (int i = k + 1; i < {n}; ++i) {{",
            f"        const {real} factor = M[i][k] / M[k][k];",
            f"        for (int j = k; j <= {n}; ++j) M[i][j] -= factor * M[k][j];",
            "    }",
            "    rank = k + 1;",
            "    last = size;",
            "}",
            f"for (int i = 0; i < {n}; ++i) r0[i] = {zero};",
            "for (int k = rank - 1; k >= 0; --k) {",
            f"    {real} rest = M[k][{n}];",
            "    for (int j = k + 1; j < rank; ++j) rest -= M[k][j] * r0[order[j]];",
            "    r0[order[k]] = rest / M[k][k];",
            "}",
            f"r1[0] = ({real})rank;",
            "r2[0] = last / first;",
        ]

    def _draw(self, draw: Draw) -> list[str]:
        """Random numbers, always in double precision."""
        device = "static __device__" if self.cuda else "static"
        if "hm_philox" not in self._names:
            self._names["hm_philox"] = "hm_philox"
            self.text.append(PHILOX.format(device=device, rounds=ROUNDS, m=MULTIPLIERS, w=KEY_STEPS))
        if draw.normal and "hm_normal" not in self._names:
            self._names["hm_normal"] = "hm_normal"
            table = self.constants("quantiles", "double", quantile_table()[:, : DEGREE + 1].ravel().tolist())
            self.text.append((ROUNDED_CUDA if self.cuda else ROUNDED_C).strip())
            self.text.append(NORMAL.format(device=device, table=table, parts=PARTS, size=DEGREE + 1, degree=DEGREE))
        number = "hm_normal(x[{0}])" if draw.normal else "((double)(x[{0}] >> 12) + 0.5) * 0x1p-52"
        lines = ["unsigned long long x[2];"]
        for i in range(draw.n):
            if i % 2 == 0:
                lines.append(f"hm_philox(a0[0], a1[0], a2[0], a3[0], {i // 2}u, x);")
            lines.append(f"r0[{i}] = ({self.real}){number.format(i % 2)};")
        return lines


def _copied(source: str, to: str, size: int) -> str:
    """A loop that copies an array."""
    return f"for (int i = 0; i < {size}; ++i) {to}[i] = {source}[i];"


PHILOX = """{device} void hm_philox(double seed, double world, double stream, double tick, unsigned int draw,
                      unsigned long long *x)
{{
    const unsigned long long whole = (unsigned long long)seed;
    unsigned int k0 = (unsigned int)whole, k1 = (unsigned int)(whole >> 32);
    unsigned int c0 = (unsigned int)(unsigned long long)tick, c1 = draw, c2 = (unsigned int)stream, c3 = (unsigned int)world;
    for (int i = 0; i < {rounds}; ++i) {{
        const unsigned long long p = {m[0]}ull * c0, q = {m[1]}ull * c2;
        c0 = (unsigned int)(q >> 32) ^ c1 ^ k0;
        c1 = (unsigned int)q;
        c2 = (unsigned int)(p >> 32) ^ c3 ^ k1;
        c3 = (unsigned int)p;
        k0 += {w[0]}u;
        k1 += {w[1]}u;
    }}
    x[0] = c0 | (unsigned long long)c1 << 32;
    x[1] = c2 | (unsigned long long)c3 << 32;
}}"""
"""Philox4x32 in C: two integers of 64 random bits."""
ROUNDED_CUDA = """
#define HM_SUM(a, b) __dadd_rn(a, b)
#define HM_PRODUCT(a, b) __dmul_rn(a, b)
#define HM_ZEROS(x) __clzll((long long)(x))
"""
"""Sums and products that CUDA does not fuse."""
ROUNDED_C = """
static double hm_sum(double a, double b) { volatile double y = a; return y + b; }
#define HM_SUM(a, b) hm_sum(a, b)
#define HM_PRODUCT(a, b) ((a) * (b))
static int hm_zeros(unsigned long long x) { int n = 0; while (!(x >> 63)) { x <<= 1; ++n; } return n; }
#define HM_ZEROS(x) hm_zeros(x)
"""
"""Sums that no C compiler fuses with a product, whatever its options."""
NORMAL = """{device} double hm_normal(unsigned long long bits)
{{
    const unsigned long long magnitude = (bits & 0x7FFFFFFFFFFFFFFFull) | 1ull;
    const int zeros = HM_ZEROS(magnitude);
    const unsigned long long behind = magnitude << zeros << 1;
    const double *c = {table} + {size} * ((zeros - 1) * {parts} + (int)(behind >> 60));
    const double s = HM_SUM(HM_PRODUCT((double)((behind << 4) >> 12), 0x1p-52), -0.5);
    double y = c[{degree}];
    for (int k = {degree} - 1; k >= 0; --k) y = HM_SUM(HM_PRODUCT(y, s), c[k]);
    return bits >> 63 ? -y : y;
}}"""
"""The normal distribution in C, see `compiler/_random.py`."""
