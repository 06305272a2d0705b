"""Sine and cosine as LLVM IR, by polynomials with equal operations for scalars and vectors."""

import struct
from collections.abc import Iterable

from ._trigonometry import COSINE, HALF_PI, HALF_PI_SHORT, SINE, TWO_OVER_PI


def double(value: float) -> str:
    """Return a constant in LLVM notation, by its bits."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def constants_text(name: str, values: Iterable[float]) -> str:
    """Return the definition of a named array of constants."""
    row = [f"double {double(x)}" for x in values]
    return f"{name} = internal constant [{len(row)} x double] [{', '.join(row)}], align 64\n"


def sincos_text(T: str, lanes: int, fused: bool = True) -> str:
    """Return sine and cosine of a vector, error about 1 ulp for |x| < 10⁵ (Cody-Waite reduction with fused multiply-add).

    n = round(2x/π) is computed by adding and subtracting 1.5·2⁵². The low bits of the sum contain n mod 4, which avoids a
    conversion to integer (undefined for NaN). r = x − n π/2 is computed in three parts, followed by the polynomials of fdlibm.
    The quadrant determines exchange and signs. NaN and inf give NaN. Without `fused` operations, the first two parts of π/2 are
    so short that their products are exact.
    """
    suffix = "f64" if lanes == 1 else f"v{lanes}f64"
    I = "i64" if lanes == 1 else f"<{lanes} x i64>"
    B = "i1" if lanes == 1 else f"<{lanes} x i1>"
    lines = [f"define internal {{{T}, {T}}} @sincos{lanes}({T} %x) alwaysinline nounwind {{"]

    def splat(value: float) -> str:
        return double(value) if lanes == 1 else "<" + ", ".join([f"double {double(value)}"] * lanes) + ">"

    def integer(value: int) -> str:
        return str(value) if lanes == 1 else "<" + ", ".join([f"i64 {value}"] * lanes) + ">"

    def fma(name: str, a: str, b: str, c: str) -> None:
        if not fused:
            lines.append(f"  %{name}product = fmul {T} {a}, {b}")
            lines.append(f"  %{name} = fadd {T} %{name}product, {c}")
            return
        lines.append(f"  %{name} = call {T} @llvm.fma.{suffix}({T} {a}, {T} {b}, {T} {c})")

    magic = 6755399441055744.0
    parts = HALF_PI if fused else HALF_PI_SHORT
    fma("shifted", "%x", splat(TWO_OVER_PI), splat(magic))
    lines.append(f"  %n = fsub {T} %shifted, {splat(magic)}")
    lines.append(f"  %quadrant = bitcast {T} %shifted to {I}")
    lines.append(f"  %minus = fneg {T} %n")
    fma("r1", "%minus", splat(parts[0]), "%x")
    fma("r2", "%minus", splat(parts[1]), "%r1")
    fma("r", "%minus", splat(parts[2]), "%r2")
    lines.append(f"  %z = fmul {T} %r, %r")
    at = splat(SINE[-1])
    for k, c in enumerate(reversed(SINE[:-1])):
        fma(f"sp{k}", at, "%z", splat(c))
        at = f"%sp{k}"
    lines.append(f"  %zr = fmul {T} %z, %r")
    fma("s", at, "%zr", "%r")
    at = splat(COSINE[-1])
    for k, c in enumerate(reversed(COSINE[:-1])):
        fma(f"cp{k}", at, "%z", splat(c))
        at = f"%cp{k}"
    lines.append(f"  %zz = fmul {T} %z, %z")
    fma("half", "%z", splat(-0.5), splat(1.0))
    # 1 − z/2 loses bits of z/2, which ((1 − (1 − z/2)) − z/2) restores
    lines.append(f"  %lost = fsub {T} {splat(1.0)}, %half")
    fma("back", "%z", splat(-0.5), "%lost")
    fma("c0", at, "%zz", "%back")
    lines.append(f"  %c = fadd {T} %half, %c0")
    lines += [
        f"  %low = and {I} %quadrant, {integer(1)}",
        f"  %odd = icmp ne {I} %low, {integer(0)}",
        f"  %s0 = select {B} %odd, {T} %c, {T} %s",
        f"  %k0 = select {B} %odd, {T} %s, {T} %c",
        f"  %two = and {I} %quadrant, {integer(2)}",
        f"  %ssign = shl {I} %two, {integer(62)}",
        f"  %plus = add {I} %quadrant, {integer(1)}",
        f"  %two1 = and {I} %plus, {integer(2)}",
        f"  %ksign = shl {I} %two1, {integer(62)}",
    ]
    for name, value, sign in (("sine", "%s0", "%ssign"), ("cosine", "%k0", "%ksign")):
        lines += [
            f"  %{name}bits = bitcast {T} {value} to {I}",
            f"  %{name}flip = xor {I} %{name}bits, {sign}",
            f"  %{name} = bitcast {I} %{name}flip to {T}",
        ]
    lines += [
        f"  %pair = insertvalue {{{T}, {T}}} poison, {T} %sine, 0",
        f"  %both = insertvalue {{{T}, {T}}} %pair, {T} %cosine, 1",
        f"  ret {{{T}, {T}}} %both",
        "}",
        "",
    ]
    return "\n".join(lines)
