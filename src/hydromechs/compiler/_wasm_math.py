"""Elementary functions as LLVM IR for machines without a C library: the algorithms of fdlibm without branches.

Errors are below 2 units in the last place. Errors of `sinh` and `tan` are below 4 units, those of `pow` below 2 |y| + 2 units.
"""

from __future__ import annotations

import math

from ._llvm_sincos import double, sincos_text

LN2 = (6.93147180369123816490e-01, 1.90821492927058770002e-10)
"""ln 2 as a double with 32 trailing zero bits, and the remainder."""
EXP = (
    1.66666666666666019037e-01,
    -2.77777777770155933842e-03,
    6.61375632143793436117e-05,
    -1.65339022054652515390e-06,
    4.13813679705723846039e-08,
)
EXPM1 = (
    1.0,
    -3.33333333333331316428e-02,
    1.58730158725481460165e-03,
    -7.93650757867487942473e-05,
    4.00821782732936239552e-06,
    -2.01099218183624371326e-07,
)
LOG = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)
ATAN = (
    3.33333333333329318027e-01,
    -1.99999999998764832476e-01,
    1.42857142725034663711e-01,
    -1.11111104054623557880e-01,
    9.09088713343650656196e-02,
    -7.69187620504482999495e-02,
    6.66107313738753120669e-02,
    -5.83357013379057348645e-02,
    4.97687799461593236017e-02,
    -3.65315727442169155270e-02,
    1.62858201153657823623e-02,
)
ATAN_AT = (
    (4.63647609000806093515e-01, 2.26987774529616870924e-17),
    (7.85398163397448278999e-01, 3.06161699786838301793e-17),
    (9.82793723247329054082e-01, 1.39033110312309984516e-17),
    (1.57079632679489655800e00, 6.12323399573676603587e-17),
)
"""Angles with the tangents 0.5, 1, 1.5 and infinity, each as a double and the remainder."""
ASIN_P = (
    1.66666666666666657415e-01,
    -3.25565818622400915405e-01,
    2.01212532134862925881e-01,
    -4.00555345006794114027e-02,
    7.91534994289814532176e-04,
    3.47933107596021167570e-05,
)
ASIN_Q = (
    1.0,
    -2.40339491173441421878e00,
    2.02094576023350569471e00,
    -6.88283971605453293030e-01,
    7.70381505559019352791e-02,
)
HALF_PI = (1.57079632679489655800e00, 6.12323399573676603587e-17)
"""π/2 as a double and the remainder."""
PI = (3.14159265358979311600e00, 1.22464679914735317720e-16)
"""π as a double and the remainder."""


class _Value:
    """Floating-point number, integer or condition in a function in IR."""

    def __init__(self, f: _Function, name: str, kind: str = "double") -> None:
        self.f, self.name, self.kind = f, name, kind

    def _do(self, operation: str, other: _Value | float, turned: bool = False) -> _Value:
        a, b = self, self.f.of(other, self.kind)
        a, b = (b, a) if turned else (a, b)
        prefix = "f" if self.kind == "double" else ""
        return self.f.new(f"{prefix}{operation} {self.kind} {a.name}, {b.name}", self.kind)

    def __add__(self, other: _Value | float) -> _Value:
        return self._do("add", other)

    __radd__ = __add__

    def __sub__(self, other: _Value | float) -> _Value:
        return self._do("sub", other)

    def __rsub__(self, other: float) -> _Value:
        return self._do("sub", other, turned=True)

    def __mul__(self, other: _Value | float) -> _Value:
        return self._do("mul", other)

    __rmul__ = __mul__

    def __truediv__(self, other: _Value | float) -> _Value:
        return self._do("div", other)

    def __rtruediv__(self, other: float) -> _Value:
        return self._do("div", other, turned=True)

    def __and__(self, other: _Value | int) -> _Value:
        return self._do("and", other)

    def __or__(self, other: _Value | int) -> _Value:
        return self._do("or", other)

    def __lshift__(self, n: int) -> _Value:
        return self._do("shl", n)

    def __rshift__(self, n: int) -> _Value:
        return self._do("ashr", n)

    def __lt__(self, other: _Value | float) -> _Value:
        return self.compare("olt", other)

    def __gt__(self, other: _Value | float) -> _Value:
        return self.compare("ogt", other)

    def __neg__(self) -> _Value:
        return self.f.new(f"fneg double {self.name}")

    def compare(self, how: str, other: _Value | float) -> _Value:
        """Return the condition of a comparison with another number."""
        return self.f.new(f"fcmp {how} double {self.name}, {self.f.of(other, 'double').name}", "i1")

    def either(self, yes: _Value | float, no: _Value | float) -> _Value:
        """Return one of two numbers, selected by this condition."""
        a, b = self.f.of(yes, "double"), self.f.of(no, "double")
        return self.f.new(f"select i1 {self.name}, double {a.name}, double {b.name}")

    @property
    def bits(self) -> _Value:
        """Bits of the floating-point number."""
        return self.f.new(f"bitcast double {self.name} to i64", "i64")

    @property
    def number(self) -> _Value:
        """Floating-point number with these bits."""
        return self.f.new(f"bitcast i64 {self.name} to double")

    @property
    def whole(self) -> _Value:
        """Conversion of a finite floating-point number to an integer."""
        return self.f.new(f"fptosi double {self.name} to i64", "i64")

    @property
    def real(self) -> _Value:
        """Conversion of an integer to a floating-point number."""
        return self.f.new(f"sitofp i64 {self.name} to double")


class _Function:
    """Lines of a function of floating-point numbers."""

    def __init__(self, name: str, arity: int, attributes: str = "") -> None:
        self.head = f"define {attributes}double @{name}({', '.join(f'double %x{k}' for k in range(arity))}) nounwind {{"
        self.lines: list[str] = []
        self.given = [_Value(self, f"%x{k}") for k in range(arity)]

    def new(self, text: str, kind: str = "double") -> _Value:
        """Write a line that defines a value; return the value."""
        self.lines.append(f"  %v{len(self.lines)} = {text}")
        return _Value(self, f"%v{len(self.lines) - 1}", kind)

    def of(self, value: _Value | float, kind: str) -> _Value:
        """Return a constant as a value."""
        if isinstance(value, _Value):
            return value
        return _Value(self, double(float(value)) if kind == "double" else str(int(value)), kind)

    def call(self, name: str, *given: _Value) -> _Value:
        """Call a function of floating-point numbers."""
        return self.new(f"call double @{name}({', '.join(f'double {x.name}' for x in given)})")

    def polynomial(self, x: _Value, coefficients: tuple[float, ...]) -> _Value:
        """Return Σ cₖ xᵏ by Horner's rule."""
        y = self.of(coefficients[-1], "double")
        for c in reversed(coefficients[:-1]):
            y = y * x + c
        return y

    def signed(self, magnitude: _Value, sign: _Value) -> _Value:
        """Return a non-negative number with the sign of another number."""
        return (magnitude.bits | (sign.bits & -(2**63))).number

    def returns(self, value: _Value) -> str:
        """Return the text of the function."""
        return "\n".join([self.head, *self.lines, f"  ret double {value.name}", "}", ""])


def _power_of_two(k: _Value) -> _Value:
    """Return 2ᵏ for an integer from -1022 to 1023."""
    return ((k + 1023) << 52).number


def _exp() -> str:
    f = _Function("exp", 1)
    x = f.given[0]
    inside = (x > -800.0).either((x < 800.0).either(x, 800.0), -800.0)  # also replaces NaN
    k = f.call("llvm.floor.f64", inside * (1.0 / math.log(2.0)) + 0.5)
    high, low = inside - k * LN2[0], k * LN2[1]
    r = high - low
    t = r * r
    c = r - t * f.polynomial(t, EXP)
    y = 1.0 - ((low - (r * c) / (2.0 - c)) - high)
    whole = k.whole
    half = whole >> 1
    y = y * _power_of_two(half) * _power_of_two(whole - half)
    return f.returns(x.compare("uno", x).either(x, y))


def _expm1() -> str:
    """Return exp(x) − 1; called only by other functions."""
    f = _Function("own_expm1", 1, "internal ")
    x = f.given[0]
    size = f.call("llvm.fabs.f64", x)
    half = 0.5 * x
    square = x * half
    r = f.polynomial(square, EXPM1)
    t = 3.0 - r * half
    e = square * ((r - t) / (6.0 - x * t))
    return f.returns((size < 0.35).either(x - (x * e - square), f.call("exp", x) - 1.0))


def _log() -> str:
    f = _Function("log", 1)
    x = f.given[0]
    tiny = x < 2.2250738585072014e-308
    bits = tiny.either(x * 2.0**54, x).bits
    moved = bits + ((0x3FF00000 - 0x3FE6A09E) << 32)  # moves the mantissa to the range √½ to √2
    k = (moved >> 52) - 1023
    m = ((moved & (2**52 - 1)) + (0x3FE6A09E << 32)).number
    dk = k.real - tiny.either(54.0, 0.0)
    g = m - 1.0
    half = 0.5 * g * g
    s = g / (2.0 + g)
    z = s * s
    w = z * z
    even, odd = f.polynomial(w, LOG[1::2]), f.polynomial(w, LOG[0::2])
    y = s * (half + (w * even + z * odd)) + dk * LN2[1] - half + g + dk * LN2[0]
    y = x.compare("oeq", math.inf).either(x, y)
    y = x.compare("oeq", 0.0).either(-math.inf, y)
    return f.returns(x.compare("ult", 0.0).either(math.nan, y))


def _atan() -> str:
    f = _Function("atan", 1)
    x = f.given[0]
    a = f.call("llvm.fabs.f64", x)
    rows = [(2.0 * a - 1.0) / (2.0 + a), (a - 1.0) / (a + 1.0), (a - 1.5) / (1.0 + 1.5 * a), -1.0 / a]
    r, high, low = rows[3], f.of(ATAN_AT[3][0], "double"), f.of(ATAN_AT[3][1], "double")
    for k, limit in ((2, 39 / 16), (1, 19 / 16), (0, 11 / 16)):
        below = a < limit
        r, high, low = below.either(rows[k], r), below.either(ATAN_AT[k][0], high), below.either(ATAN_AT[k][1], low)
    small = a < 7 / 16
    r = small.either(a, r)
    z = r * r
    w = z * z
    s = z * f.polynomial(w, ATAN[0::2]) + w * f.polynomial(w, ATAN[1::2])
    y = small.either(r - r * s, high - ((r * s - low) - r))
    return f.returns(x.compare("uno", x).either(x, f.signed(y, x)))


def _atan2() -> str:
    f = _Function("atan2", 2)
    y, x = f.given
    a, b = f.call("llvm.fabs.f64", y), f.call("llvm.fabs.f64", x)
    equal = a.compare("oeq", b)
    nothing = a.compare("oeq", 0.0)
    ratio = nothing.either(0.0, equal.either(1.0, a / b))
    z = f.call("atan", ratio)
    negative = f.signed(f.of(1.0, "double"), x) < 0.0
    z = negative.either(PI[0] - (z - PI[1]), z)
    return f.returns(y.compare("uno", x).either(y + x, f.signed(z, y)))


def _arcs() -> list[str]:
    texts = []
    for name in ("asin", "acos"):
        f = _Function(name, 1)
        x = f.given[0]
        a = f.call("llvm.fabs.f64", x)
        near = a < 0.5
        z = near.either(x * x, (1.0 - a) * 0.5)
        r = z * f.polynomial(z, ASIN_P) / f.polynomial(z, ASIN_Q)
        s = f.call("llvm.sqrt.f64", z)
        cut = (s.bits & -(2**32)).number
        sum_ = s + cut
        c = sum_.compare("oeq", 0.0).either(0.0, (z - cut * cut) / sum_)  # remainder of the square root
        if name == "asin":
            far = 0.5 * HALF_PI[0] - ((2.0 * s * r - (HALF_PI[1] - 2.0 * c)) - (0.5 * HALF_PI[0] - 2.0 * cut))
            y = near.either(x + x * r, f.signed(f.call("llvm.fabs.f64", far), x))
        else:
            middle = HALF_PI[0] - (x - (HALF_PI[1] - x * r))
            left = 2.0 * (HALF_PI[0] - (s + (r * s - HALF_PI[1])))
            y = near.either(middle, (x < 0.0).either(left, 2.0 * (cut + (r * s + c))))
        texts.append(f.returns((a.compare("ugt", 1.0)).either(math.nan, y)))
    return texts


def _hyperbolic() -> list[str]:
    texts = []
    f = _Function("tanh", 1)
    a = f.call("llvm.fabs.f64", f.given[0])
    one = a.compare("ult", 1.0)
    t = f.call("own_expm1", one.either(-2.0 * a, 2.0 * a))
    y = one.either(-(t / (t + 2.0)), 1.0 - 2.0 / (t + 2.0))
    texts.append(f.returns(f.signed((a > 22.0).either(1.0, y), f.given[0])))
    f = _Function("sinh", 1)
    a = f.call("llvm.fabs.f64", f.given[0])
    t = f.call("own_expm1", a)
    y = 0.5 * (a < 1.0).either(2.0 * t - t * t / (t + 1.0), t + t / (t + 1.0))
    root = f.call("exp", 0.5 * a)
    texts.append(f.returns(f.signed((a > 22.0).either((0.5 * root) * root, y), f.given[0])))
    f = _Function("cosh", 1)
    a = f.call("llvm.fabs.f64", f.given[0])
    w, root = f.call("exp", a), f.call("exp", 0.5 * a)
    texts.append(f.returns((a > 22.0).either((0.5 * root) * root, 0.5 * w + 0.5 / w)))
    return texts


def _tan() -> str:
    lines = [
        "define double @tan(double %x) nounwind {",
        "  %both = call {double, double} @sincos1(double %x)",
        "  %s = extractvalue {double, double} %both, 0",
        "  %c = extractvalue {double, double} %both, 1",
        "  %t = fdiv double %s, %c",
        "  ret double %t",
        "}",
        "",
    ]
    return "\n".join(lines)


def _pow() -> str:
    f = _Function("pow", 2)
    x, y = f.given
    a = f.call("llvm.fabs.f64", x)
    high = f.call("log", a)
    rest = a * f.call("exp", -high) - 1.0  # rounding error of the logarithm
    ordinary = f.call("llvm.fabs.f64", high) < 700.0
    product = y * high
    y_cut, high_cut = ((v.bits & -(2**27)).number for v in (y, high))
    y_rest, high_rest = y - y_cut, high - high_cut
    lost = ((y_cut * high_cut - product) + y_cut * high_rest + y_rest * high_cut) + y_rest * high_rest
    size = f.call("exp", product)
    better = size + size * (y * rest + lost)
    inside = f.call("llvm.fabs.f64", product) < 700.0
    z = inside.either(ordinary.either(better, size), size)
    whole = f.call("llvm.floor.f64", y).compare("oeq", y)
    half = 0.5 * y
    even = f.call("llvm.floor.f64", half).compare("oeq", half)
    negative = f.signed(f.of(1.0, "double"), x) < 0.0
    limit = x.compare("oeq", 0.0).either(z, a.compare("oeq", math.inf).either(z, math.nan))
    z = negative.either(whole.either(even.either(z, -z), limit), z)
    z = f.call("llvm.fabs.f64", y).compare("oeq", math.inf).either(a.compare("oeq", 1.0).either(1.0, z), z)
    z = x.compare("oeq", 1.0).either(1.0, z)
    z = y.compare("oeq", 0.0).either(1.0, z)
    return f.returns(z)


def math_text() -> str:
    """Return all functions of `_llvm.LIBRARY`."""
    intrinsics = ("floor", "fabs", "sqrt")
    declared = [f"declare double @llvm.{name}.f64(double)" for name in intrinsics]
    parts = [_exp(), _expm1(), _log(), _atan(), _atan2(), *_arcs(), *_hyperbolic(), _tan(), _pow()]
    return "\n".join([*declared, sincos_text("double", 1, fused=False), *parts])
