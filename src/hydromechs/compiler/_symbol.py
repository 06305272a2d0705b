"""A scalar for NumPy object arrays that holds a CasADi expression.

A NumPy array times a bare CasADi `SX` becomes a CasADi matrix. `Symbol` answers `NotImplemented` to arrays, so that NumPy
broadcasts; it folds 0 and 1 at once, so that zeros of the mechanism cost nothing; and it has the methods (`sqrt`, `sin`,
...) that NumPy's functions call on objects.
"""

from __future__ import annotations

import casadi
import numpy as np

__all__ = ["Symbol", "symbols"]

NUMBERS = (int, float, np.integer, np.floating)


class Symbol:
    """A scalar expression, or a constant that came out of folding."""

    __slots__ = ("sx",)

    def __init__(self, sx):
        self.sx = sx if isinstance(sx, casadi.SX) else casadi.SX(float(sx))

    @property
    def constant(self) -> float | None:
        """Its value if it is a constant, else None."""
        return float(self.sx) if self.sx.is_constant() else None

    def _binary(self, other, operation, swapped=False):
        if isinstance(other, NUMBERS):
            other = Symbol(other)
        elif not isinstance(other, Symbol):
            return NotImplemented
        a, b = (other, self) if swapped else (self, other)
        return Symbol(operation(a.sx, b.sx))

    def __add__(self, other):
        return self._binary(other, lambda a, b: a + b)

    __radd__ = __add__

    def __sub__(self, other):
        return self._binary(other, lambda a, b: a - b)

    def __rsub__(self, other):
        return self._binary(other, lambda a, b: a - b, swapped=True)

    def __mul__(self, other):
        return self._binary(other, lambda a, b: a * b)

    __rmul__ = __mul__

    def __truediv__(self, other):
        return self._binary(other, lambda a, b: a / b)

    def __rtruediv__(self, other):
        return self._binary(other, lambda a, b: a / b, swapped=True)

    def __pow__(self, exponent):
        if not isinstance(exponent, int) or isinstance(exponent, bool):
            return self._binary(exponent, lambda a, b: a**b)
        if exponent < 0:
            return 1.0 / self**-exponent
        out = Symbol(1.0)
        for _ in range(exponent):  # small powers, as products
            out = out * self
        return out

    def __neg__(self):
        return Symbol(-self.sx)

    def __pos__(self):
        return self

    def __abs__(self):
        return Symbol(casadi.fabs(self.sx))

    def __lt__(self, other):
        return self._binary(other, lambda a, b: a < b)

    def __le__(self, other):
        return self._binary(other, lambda a, b: a <= b)

    def __gt__(self, other):
        return self._binary(other, lambda a, b: a > b)

    def __ge__(self, other):
        return self._binary(other, lambda a, b: a >= b)

    def __eq__(self, other):
        return self._binary(other, lambda a, b: a == b)

    def __ne__(self, other):
        return self._binary(other, lambda a, b: a != b)

    __hash__ = object.__hash__

    def where(self, a, b):
        """`a` where this condition holds, else `b`."""
        yes, no = (x if isinstance(x, Symbol) else Symbol(x) for x in (a, b))
        return Symbol(casadi.if_else(self.sx, yes.sx, no.sx))

    def arctan2(self, other):
        """atan2(self, other), as np.arctan2 asks for."""
        return self._binary(other, casadi.atan2)

    def hypot(self, other):
        """√(self² + other²), as np.hypot asks for."""
        return (self * self + other * other).sqrt()

    def __rpow__(self, base):
        return self._binary(base, lambda a, b: a**b, swapped=True)

    def __bool__(self):
        raise TypeError(
            "a traced function must not branch on a value that is not known yet; "
            "use hydromechs.spatial.where, maximum or minimum"
        )

    def __float__(self):
        if self.constant is None:
            raise TypeError("a symbol has no value yet; do not convert it to float in a traced function")
        return self.constant

    def __repr__(self):
        return f"Symbol({self.sx})"


def _unary(name):
    function = getattr(casadi, {"arcsin": "asin", "arccos": "acos", "arctan": "atan"}.get(name, name))
    return lambda self: Symbol(function(self.sx))


for _name in ("sqrt", "sin", "cos", "tan", "exp", "log", "tanh", "arcsin", "arccos", "arctan", "sinh", "cosh"):
    setattr(Symbol, _name, _unary(_name))
Symbol.conjugate = Symbol.__pos__  # what np.vdot and friends ask of objects


def symbols(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """An object array of new symbols `name_0`, `name_1`, ... of the given shape."""
    flat = [Symbol(casadi.SX.sym(f"{name}_{k}")) for k in range(int(np.prod(shape)))]
    out = np.empty(len(flat), dtype=object)
    out[:] = flat
    return out.reshape(shape)
