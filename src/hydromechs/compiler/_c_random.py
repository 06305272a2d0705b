"""Counter-based random numbers in C and CUDA, see `_random.py` for the method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._random import DEGREE, KEY_STEPS, MULTIPLIERS, PARTS, ROUNDS, Draw, quantile_table

if TYPE_CHECKING:
    from ._c_calls import CFunctions


def draw_body(functions: CFunctions, draw: Draw) -> list[str]:
    """Return the statements of a draw, always in double precision."""
    functions.once("hm_philox", lambda: PHILOX.format(device=functions.device, rounds=ROUNDS, m=MULTIPLIERS, w=KEY_STEPS))
    if draw.normal:
        functions.once("hm_normal", lambda: _normal(functions))
    number = "hm_normal(x[{0}])" if draw.normal else "((double)(x[{0}] >> 12) + 0.5) * 0x1p-52"
    lines = ["unsigned long long x[2];"]
    for i in range(draw.n):
        if i % 2 == 0:
            lines.append(f"hm_philox(a0[0], a1[0], a2[0], a3[0], {i // 2}u, x);")
        lines.append(f"r0[{i}] = ({functions.real}){number.format(i % 2)};")
    return lines


def _normal(functions: CFunctions) -> str:
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
"""The normal distribution in C, see `_random.py`."""
