"""The interface of drag elements, and damping by coefficients (Fossen 2011, sec. 6.4)."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

import numpy as np

from hydromechs.errors import Fault, UnsupportedFeature
from hydromechs.geometry import Origin, Triangles
from hydromechs.registry import Pattern
from hydromechs.spatial import shift_motion, shift_wrench, skew
from hydromechs.values import Array, Finite, Matrix6, Scalar, Vector6, floats, is_finite, matrix, number, plain

DRAG_SIGN = "drag numbers are positive here (Fossen's X_u < 0 changes sign)"
"""Usual cause of negative drag."""


class DragElement:
    """Drag, damping or lift of a body or a part of it; the wrenches of all elements of a body are summed.

    An element is a frozen dataclass with the method `wrench`, or `numbers`. The other methods have defaults.
    """

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        if "wrench" in vars(cls) and "numbers" not in vars(cls):
            cls.numbers = DragElement.numbers  # type: ignore[method-assign]  # not those of a parent class, whose wrench differs

    def wrench(self, V_r: Array, density: Scalar) -> Array:
        """Return the wrench (6,) about the body origin for V_r (6,) relative to water of a density [kg/m³], in body axes."""
        if type(self).numbers is DragElement.numbers:
            raise NotImplementedError(f"{type(self).__name__} has no method wrench(V_r, density)")
        return self.numbers(density).wrench(V_r)

    def numbers(self, density: Scalar) -> Any:
        """Return the coefficients in water of a density [kg/m³]: a named tuple with the method `wrench(V_r)`.

        Programs of many bodies are loops over those whose coefficients have the same structure.
        """
        return AtDensity(self, density)

    def matrix(self, V_r: Array, density: Scalar) -> Array:
        """Return the damping matrix D about the body origin in body axes [N·s/m, N·s, N·m·s], shape (6, 6): wrench = −D V_r.

        A force that opposes the velocity a V_r of a point or strip along some directions (the rows of a),
        f = −k |a V_r| a V_r, has D = k |a V_r| aᵀ a: symmetric and positive semi-definite. Arguments as in `wrench`.
        """
        raise UnsupportedFeature(f"{self!r} has no method matrix(V_r, density); add it, or use damping_force")

    @property
    def center(self) -> Array | None:
        """Point at which it samples the water, in body axes [m], shape (3,); None for the mean over the body."""
        return None

    def surface(self) -> Triangles | None:
        """Return the surface to draw, in body axes from the body origin; None for none."""
        return None

    def problems(self, label: str) -> Iterator[Fault]:
        """Yield errors of its numbers in addition to violated bounds; `label` is its path, such as "hydro.drag.0"."""
        yield from ()


class AtDensity(NamedTuple):
    """A custom element without coefficients, in water of a density."""

    element: DragElement
    density: Scalar
    """Density of the water [kg/m³]."""

    def wrench(self, V_r: Array) -> Array:
        """Wrench about the body origin in body axes, shape (6,)."""
        return self.element.wrench(V_r, self.density)


def unfit(label: str, name: str, value: object, must: str, remedy: str = "") -> Fault:
    """Return the problem of a field."""
    text = f"{label}.{name} is {plain(value)}, {must}{'; ' if remedy else ''}{remedy}"
    return Fault((name,), text, value, must, remedy)


def point_velocity(x: Array) -> Array:
    """Return [1, −x̂], which takes the velocity of a body to that of its point x, shape (3, 6)."""
    return np.concatenate([np.eye(3), -skew(x)], axis=1)


COUPLED_TERM = re.compile(r"([XYZKMN])\|([uvwpqr])\|([uvwpqr])")
"""A cross-coupled damping coefficient in Fossen's notation, such as Y|r|v."""
Term = Annotated[str, Pattern(COUPLED_TERM.pattern, "write it as 'Y|r|v' (one of XYZKMN, then two of uvwpqr)")]
"""The name of a cross-coupled damping coefficient."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Damping(DragElement):
    """Damping about `origin` in Fossen's form; positive coefficients oppose motion.

    F = −(D ν + Q (|ν| ∘ ν) + cross terms). For example, the term "Y|r|v": c adds −c |r| v to Y. ν and F refer to the point and
    axes of `origin`.
    """

    linear: Vector6 | Matrix6 = (0.0,) * 6
    """D, positive: a diagonal (6 numbers) or a matrix (6 rows of 6) [N·s/m, N·s/rad, N·m·s/rad]."""
    quadratic: Vector6 | Matrix6 = (0.0,) * 6
    """Q, positive: a diagonal (6 numbers) or a matrix (6 rows of 6) [N·s²/m², N·s²/rad², N·m·s²/rad²]."""
    coupled: tuple[tuple[Term, Finite], ...] = ()
    """Coupled terms by name: "Y|r|v" with c adds −c |r| v to Y [SI]."""
    origin: Origin = field(default_factory=Origin)
    """Point and axes on the body to which the coefficients refer; defaults to the body frame."""

    def __post_init__(self) -> None:
        for name in ("linear", "quadratic"):
            value = tuple(getattr(self, name))
            nested = any(not isinstance(v, int | float) and hasattr(v, "__len__") for v in value)
            convert = matrix if nested else floats
            object.__setattr__(self, name, convert(value, 6, f"drag.{name}"))
        pairs = self.coupled.items() if isinstance(self.coupled, Mapping) else self.coupled
        for name, _ in pairs:
            if not isinstance(name, str) or not COUPLED_TERM.fullmatch(name):
                raise ValueError(f"drag.coupled has {name!r}; write a term as 'Y|r|v' (one of XYZKMN, then two of uvwpqr)")
        object.__setattr__(self, "coupled", tuple((str(name), number(c, f"drag.coupled {name}")) for name, c in pairs))

    def numbers(self, density: Scalar) -> Any:
        names = tuple(name for name, _ in self.coupled)
        coupled = np.array([c for _, c in self.coupled])
        numbers = Coefficients(np.array(self.linear), np.array(self.quadratic), names, coupled)
        here = self.origin == Origin()
        return numbers if here else Referred(self.origin.R, np.array(self.origin.xyz), numbers)

    def matrix(self, V_r: Array, density: Scalar) -> Array:
        """D + Q diag(|ν|) + coupled terms; symmetric only if the coefficients are."""
        origin = self.origin
        X = None if origin == Origin() else to_frame(origin.R, np.array(origin.xyz))
        V_r = V_r if X is None else X @ V_r
        linear, quadratic = (A if A.ndim == 2 else np.diag(A) for A in map(np.array, (self.linear, self.quadratic)))
        out = [[linear[i, j] + quadratic[i, j] * abs(V_r[j]) for j in range(6)] for i in range(6)]
        for name, coefficient in self.coupled:
            row = "XYZKMN".index(name[0])
            first, second = ("uvwpqr".index(name[k]) for k in (2, 4))
            out[row][second] = out[row][second] + coefficient * abs(V_r[first])
        return np.array(out) if X is None else X.T @ np.array(out) @ X

    def problems(self, label: str) -> Iterator[Fault]:
        for name in ("linear", "quadratic"):
            value = getattr(self, name)
            diagonal = tuple(np.diag(value).tolist()) if isinstance(value[0], tuple) else value
            if is_finite(value) and min(diagonal) < 0.0:
                must = f"must be finite and at least 0{' on the diagonal' if diagonal != value else ''}"
                yield unfit(label, name, diagonal, must, DRAG_SIGN)
        values = tuple(value for _, value in self.coupled)
        if not is_finite(values):
            yield unfit(label, "coupled", values, "must be finite")
        for term in sorted(term for term, n in Counter(term for term, _ in self.coupled).items() if n > 1):
            yield Fault(("coupled",), f"{label}.coupled has the term {term!r} twice; give their sum once")


class Coefficients(NamedTuple):
    """F = −(D ν + Q (|ν| ∘ ν) + coupled terms), ν relative to the fluid (Fossen 2011, sec. 6.4)."""

    linear: Array
    """D, shape (6,) or (6, 6)."""
    quadratic: Array
    """Q, shape (6,) or (6, 6)."""
    names: tuple[str, ...]
    """Coupled terms, such as "Y|r|v"."""
    coupled: Array
    """Coefficients of the coupled terms."""

    def wrench(self, V_r: Array) -> Array:
        """Wrench about the body origin in body axes, shape (6,)."""
        quadratic = abs(V_r) * V_r
        F = -(_times(self.linear, V_r) + _times(self.quadratic, quadratic))
        for name, coefficient in zip(self.names, self.coupled, strict=True):
            row = "XYZKMN".index(name[0])
            first, second = ("uvwpqr".index(name[k]) for k in (2, 4))
            term = coefficient * abs(V_r[first]) * V_r[second]
            F = np.array([F[k] - term if k == row else F[k] for k in range(6)])
        return F


def _times(A: Array, values: Array) -> Array:
    """Multiply a diagonal (6,) or a matrix (6, 6) by a vector (6,)."""
    return A @ values if A.ndim == 2 else A * values


class Referred(NamedTuple):
    """Coefficients that refer to a point and axes on the body."""

    R: Array
    """Axes to which they refer, shape (3, 3)."""
    point: Array
    """Point to which they refer [m], shape (3,)."""
    numbers: Coefficients

    def wrench(self, V_r: Array) -> Array:
        """Wrench about the body origin in body axes, shape (6,)."""
        V = shift_motion(V_r, self.point)
        F = self.numbers.wrench(np.concatenate([self.R.T @ V[:3], self.R.T @ V[3:]]))
        return shift_wrench(np.concatenate([self.R @ F[:3], self.R @ F[3:]]), self.point)


def to_frame(R: Array, x: Array) -> Array:
    """Return the matrix from the velocity of a body to that of its frame at x with axes R, in these axes, shape (6, 6)."""
    return np.concatenate([R.T @ point_velocity(x), np.concatenate([np.zeros((3, 3)), R.T], axis=1)])
