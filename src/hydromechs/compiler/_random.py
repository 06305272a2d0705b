"""Counter-based random numbers: Philox4x32-10 (Salmon et al. 2011) and the quantile function of the normal distribution.

A number depends only on (seed, world, stream, tick, draw). There is no generator state, so that a run can be resumed, reset or
replayed for a single world. All operations are integer operations, or products and sums in a fixed order without fusing. NumPy
and every back end therefore compute equal bits.
"""

import functools
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hydromechs.values import Array

from ._c_calls import CFunctions
from ._callee import Argument, Callee
from ._llvm_loop import transposed
from ._llvm_sincos import constants_text, double
from ._llvm_text import Module

ROUNDS = 10
"""Number of rounds of Philox4x32."""
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
"""Factors of the first and third word in each round."""
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
"""Increments of the two key words per round."""
PARTS = 16
"""Number of equal parts of each octave of probabilities [2^-(k+1), 2^-k); each part has one polynomial."""
DEGREE = 5
"""Degree of the polynomials; with 16 parts their error is below 2e-12 standard deviations."""
MASK = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


@functools.cache
def quantile_table() -> Array:
    """Return the coefficients of −Φ⁻¹(p), p < 1/2, in powers of s, shape (63 · 16, 8); the last two columns are padding.

    Row 16 k + j covers p = 2^-(k+2) (1 + (j + 1/2 + s) / 16) for s in [-1/2, 1/2). The coefficients are stored in a file,
    because computed bits could depend on library versions.
    """
    table: Array = np.load(Path(__file__).with_name("normal_quantiles.npy"))
    return table


def stream_number(name: str) -> int:
    """Return the number of a stream of random numbers, 0 to 2³² − 1, from its name, for example "dvl.noise"."""
    return zlib.crc32(name.encode())


def philox(counter: ArrayLike, key: ArrayLike) -> NDArray[np.uint64]:
    """Return four words of 32 random bits (..., 4) for a counter (..., 4) and a key (..., 2) of 32-bit words."""
    c = [np.asarray(counter, dtype=np.uint64)[..., i] for i in range(4)]
    k = [np.asarray(key, dtype=np.uint64)[..., i] for i in range(2)]
    for _ in range(ROUNDS):
        p, q = c[0] * np.uint64(MULTIPLIERS[0]), c[2] * np.uint64(MULTIPLIERS[1])
        c = [(q >> HALF) ^ c[1] ^ k[0], q & MASK, (p >> HALF) ^ c[3] ^ k[1], p & MASK]
        k = [(x + np.uint64(step)) & MASK for x, step in zip(k, KEY_STEPS, strict=True)]
    return np.stack(c, axis=-1)


@dataclass(frozen=True)
class Draw(Callee):
    """Independent random numbers, standard normal or uniform in (0, 1).

    Numbers 2 i and 2 i + 1 are computed from the counter (tick, i, stream, world) and the key (seed mod 2³², seed div 2³²).
    """

    n: int
    normal: bool = True
    """True for the standard normal distribution, False for the uniform distribution."""
    inputs = tuple(Argument(name, ()) for name in ("seed", "world", "stream", "tick"))
    """Integers: the seed below 2⁵³, all others below 2³²."""

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """Random numbers."""
        return (Argument("numbers", (self.n,)),)

    def __call__(self, seed: Any, world: Any, stream: Any, tick: Any) -> tuple[Array]:
        seed, world, stream, tick = (int(np.ravel(x)[0]) for x in (seed, world, stream, tick))
        blocks = [(tick % 2**32, i, stream, world) for i in range(-(-self.n // 2))]
        words = philox(np.array(blocks, dtype=np.uint64).reshape(-1, 4), np.array([seed % 2**32, seed >> 32], dtype=np.uint64))
        bits = (words[:, 0::2] | words[:, 1::2] << HALF).ravel()[: self.n]
        return ((_normal if self.normal else _uniform)(bits),)

    def llvm(self, name: str, module: Module) -> str:
        return draw_text(name, self, module)

    def c(self, functions: CFunctions, *, overlapping: bool) -> list[str]:
        return draw_body(functions, self)


def _uniform(bits: NDArray[np.uint64]) -> Array:
    """Return the midpoints of 2⁵² equal parts of (0, 1), so that 0 and 1 do not occur."""
    return ((bits >> np.uint64(12)).astype(float) + 0.5) * 2.0**-52


def _normal(bits: NDArray[np.uint64]) -> Array:
    """Return normal quantiles of random bits: one bit is the sign, and 63 bits are the probability.

    The leading zeros of the probability and the next four bits select the polynomial.
    """
    magnitude = (bits & np.uint64(2**63 - 1)) | np.uint64(1)
    zeros = np.array([64 - int(m).bit_length() for m in magnitude], dtype=np.uint64)
    behind = magnitude << zeros << np.uint64(1)  # bits after the leading one
    part = behind >> np.uint64(60)
    s = ((behind << np.uint64(4)) >> np.uint64(12)).astype(float) * 2.0**-52 - 0.5
    c = quantile_table()[((zeros - np.uint64(1)) * np.uint64(PARTS) + part).astype(int)]
    y = c[:, DEGREE]
    for k in reversed(range(DEGREE)):
        y = y * s + c[:, k]
    return np.where(bits >> np.uint64(63), -y, y)


ROW = 8
"""Length of a row of the table in memory."""


class _Lines:
    """Lines of a function, for a number of worlds (lanes) per vector operation."""

    def __init__(self, lanes: int) -> None:
        self.lanes, self.lines = lanes, list[str]()
        self.real = "double" if lanes == 1 else f"<{lanes} x double>"
        self.integer = "i64" if lanes == 1 else f"<{lanes} x i64>"

    def new(self, text: str) -> str:
        """Write a line that defines a value; return the name of the value."""
        self.lines.append(f"  %v{len(self.lines)} = {text}")
        return f"%v{len(self.lines) - 1}"

    def whole(self, value: int) -> str:
        """Return a constant integer on all lanes."""
        return str(value) if self.lanes == 1 else "<" + ", ".join([f"i64 {value}"] * self.lanes) + ">"

    def constant(self, value: float) -> str:
        """Return a constant on all lanes."""
        return double(value) if self.lanes == 1 else "<" + ", ".join([f"double {double(value)}"] * self.lanes) + ">"

    def do(self, operation: str, a: str, b: str | int) -> str:
        """Write an operation on integers."""
        return self.new(f"{operation} {self.integer} {a}, {b if isinstance(b, str) else self.whole(b)}")

    def arithmetic(self, operation: str, a: str, b: str | float) -> str:
        """Write an operation on numbers without fast-math flags, because nothing may be fused or reordered."""
        return self.new(f"{operation} {self.real} {a}, {b if isinstance(b, str) else self.constant(b)}")

    def philox(self, counter: list[str], key: list[str]) -> list[str]:
        """Return two integers of 64 random bits each."""
        c, k = counter, key
        for _ in range(ROUNDS):
            p, q = self.do("mul", c[0], MULTIPLIERS[0]), self.do("mul", c[2], MULTIPLIERS[1])
            high = [self.do("lshr", x, 32) for x in (q, p)]
            mixed = [self.do("xor", self.do("xor", h, x), y) for h, x, y in zip(high, (c[1], c[3]), k, strict=True)]
            low = [self.do("and", x, 0xFFFFFFFF) for x in (q, p)]
            c = [mixed[0], low[0], mixed[1], low[1]]
            k = [self.do("and", self.do("add", x, step), 0xFFFFFFFF) for x, step in zip(k, KEY_STEPS, strict=True)]
        return [self.do("or", c[i], self.do("shl", c[i + 1], 32)) for i in (0, 2)]

    def uniform(self, bits: str) -> str:
        """Return a random number in (0, 1)."""
        x = self.new(f"sitofp {self.integer} {self.do('lshr', bits, 12)} to {self.real}")
        return self.arithmetic("fmul", self.arithmetic("fadd", x, 0.5), 2.0**-52)

    def normal(self, bits: str) -> str:
        """Return a random number of the standard normal distribution."""
        magnitude = self.do("or", self.do("and", bits, 2**63 - 1), 1)
        suffix = "i64" if self.lanes == 1 else f"v{self.lanes}i64"
        zeros = self.new(f"call {self.integer} @llvm.ctlz.{suffix}({self.integer} {magnitude}, i1 true)")
        behind = self.do("shl", self.do("shl", magnitude, zeros), 1)
        row = self.do("add", self.do("mul", self.do("sub", zeros, 1), PARTS), self.do("lshr", behind, 60))
        fraction = self.do("lshr", self.do("shl", behind, 4), 12)
        x = self.new(f"sitofp {self.integer} {fraction} to {self.real}")
        s = self.arithmetic("fsub", self.arithmetic("fmul", x, 2.0**-52), 0.5)
        c = self.coefficients(self.do("mul", row, ROW))
        y = c[DEGREE]
        for k in reversed(range(DEGREE)):
            y = self.arithmetic("fadd", self.arithmetic("fmul", y, s), c[k])
        bare = self.new(f"bitcast {self.real} {y} to {self.integer}")
        signed = self.do("xor", bare, self.do("and", bits, -(2**63)))
        return self.new(f"bitcast {self.integer} {signed} to {self.real}")

    def coefficients(self, first: str) -> list[str]:
        """Return rows of the table, one per lane, as columns; complete rows are loaded, because gathers of LLVM are slow."""
        firsts = [first]
        if self.lanes > 1:
            firsts = [self.new(f"extractelement {self.integer} {first}, i32 {lane}") for lane in range(self.lanes)]
        rows = [self.new(f"getelementptr inbounds double, ptr @normal_quantiles, i64 {k}") for k in firsts]
        columns: list[str] = []
        for begin in range(0, DEGREE + 1, self.lanes):
            at = [self.new(f"getelementptr inbounds double, ptr {row}, i64 {begin}") for row in rows]
            columns += transposed(self.new, [self.new(f"load {self.real}, ptr {p}, align 8") for p in at])
        return columns


def draw_text(name: str, draw: Draw, module: Module) -> str:
    """Return the function `name(seed, world, stream, tick, numbers)` of packed arrays."""
    if draw.normal:
        module.once("@normal_quantiles", lambda: constants_text("@normal_quantiles", quantile_table().ravel()))
    t = _Lines(module.lanes)
    loaded = [t.new(f"load {t.real}, ptr %p{k}, align 8") for k in range(len(draw.inputs))]
    seed, world, stream, tick = (t.new(f"fptosi {t.real} {x} to {t.integer}") for x in loaded)
    key = [t.do("and", seed, 0xFFFFFFFF), t.do("lshr", seed, 32)]
    tick = t.do("and", tick, 0xFFFFFFFF)
    for i in range(draw.n):
        if i % 2 == 0:
            bits = t.philox([tick, t.whole(i // 2), stream, world], key)
        number = (t.normal if draw.normal else t.uniform)(bits[i % 2])
        at = t.new(f"getelementptr inbounds {t.real}, ptr %p{len(draw.inputs)}, i64 {i}")
        t.lines.append(f"  store {t.real} {number}, ptr {at}, align 8")
    signature = ", ".join(f"ptr noalias %p{k}" for k in range(len(draw.inputs) + 1))
    return f"define internal void {name}({signature}) noinline nounwind {{\n" + "\n".join(t.lines) + "\n  ret void\n}\n"


def draw_body(functions: CFunctions, draw: Draw) -> list[str]:
    """Return the C statements of a draw, always in double precision."""
    functions.once("hm_philox", lambda: PHILOX.format(device=functions.device, rounds=ROUNDS, m=MULTIPLIERS, w=KEY_STEPS))
    if draw.normal:
        functions.once("hm_normal", lambda: _c_normal(functions))
    number = "hm_normal(x[{0}])" if draw.normal else "((double)(x[{0}] >> 12) + 0.5) * 0x1p-52"
    lines = ["unsigned long long x[2];"]
    for i in range(draw.n):
        if i % 2 == 0:
            lines.append(f"hm_philox(a0[0], a1[0], a2[0], a3[0], {i // 2}u, x);")
        lines.append(f"r0[{i}] = ({functions.real}){number.format(i % 2)};")
    return lines


def _c_normal(functions: CFunctions) -> str:
    table = functions.constants("quantiles", "double", quantile_table()[:, : DEGREE + 1].ravel().tolist())
    rounded = ROUNDED_CUDA if functions.cuda else ROUNDED_C
    return rounded + NORMAL.format(device=functions.device, table=table, parts=PARTS, size=DEGREE + 1, degree=DEGREE)


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
"""Philox4x32 in C, which returns two integers of 64 random bits each."""
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
"""Sums that no C compiler fuses with a product, regardless of its options."""
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
"""Quantile function of the normal distribution in C."""
