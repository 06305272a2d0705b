"""The interface of drag elements, and damping from coefficients (Fossen 2011, sec. 6.4)."""

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

DRAG_SIGN = "use positive drag numbers, the opposite sign of Fossen's X_u < 0"
"""Usual cause of negative drag, as a hint in messages."""


class DragElement:
    """Drag, damping or lift of a body or of a part of a body; the wrenches of all elements of a body are summed.

    An element is a frozen dataclass that defines the method `wrench`, or the method `numbers`. The other methods have
    defaults.
    """

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        if "wrench" in vars(cls) and "numbers" not in vars(cls):
            cls.numbers = DragElement.numbers  # type: ignore[method-assign]  # not those of a parent class, whose wrench differs

    def wrench(self, V_r: Array, density: Scalar) -> Array:
        """Return the wrench (6,) about the body origin for V_r (6,) relative to water with a density [kg/m³], in body axes."""
        if type(self).numbers is DragElement.numbers:
            raise NotImplementedError(f"{type(self).__name__} has no method wrench(V_r, density); define this method")
        return self.numbers(density).wrench(V_r)

    def numbers(self, density: Scalar) -> Any:
        """Return the coefficients in water with a density [kg/m³]: a named tuple with the method `wrench(V_r)`.

        Programs of many bodies loop over elements whose coefficients have the same structure.
        """
        return AtDensity(self, density)

    def matrix(self, V_r: Array, density: Scalar) -> Array:
        """Return the damping matrix D about the body origin in body axes [N·s/m, N·s, N·m·s], shape (6, 6): wrench = −D V_r.

        The force f = −k |a V_r| a V_r opposes the velocity a V_r of a point or strip along some directions, the rows of a.
        Its matrix D = k |a V_r| aᵀ a is symmetric and positive semidefinite. The arguments are those of `wrench`.
        """
        raise UnsupportedFeature(f"{self!r} has no method matrix(V_r, density); define this method, or use damping_force")

    @property
    def center(self) -> Array | None:
        """Point at which the element samples the water, in body axes [m], shape (3,); None for the mean over the body."""
        return None

    def surface(self) -> Triangles | None:
        """Return the surface to draw, in body axes from the body origin; None for no surface."""
        return None

    def problems(self, label: str) -> Iterator[Fault]:
        """Yield errors other than violated bounds; `label` is the path of the element, such as "hydro.drag.0"."""
        yield from ()


class AtDensity(NamedTuple):
    """Custom element without coefficients, in water with a given density."""

    element: DragElement
    density: Scalar
    """Water density [kg/m³]."""

    def wrench(self, V_r: Array) -> Array:
        """Return the wrench about the body origin in body axes [N, N·m], shape (6,)."""
        return self.element.wrench(V_r, self.density)


def unfit(label: str, name: str, value: object, must: str, remedy: str = "") -> Fault:
    """Return the error of an invalid field."""
    text = f"{label}.{name} is {plain(value)}, {must}{'; ' if remedy else ''}{remedy}"
    return Fault((name,), text, value, must, remedy)


def point_velocity(x: Array) -> Array:
    """Return [1, −x̂], which maps the velocity of a body to the velocity of its point x, shape (3, 6)."""
    return np.concatenate([np.eye(3), -skew(x)], axis=1)


COUPLED_TERM = re.compile(r"([XYZKMN])\|([uvwpqr])\|([uvwpqr])")
"""Cross-coupled damping coefficient in Fossen's notation, such as Y|r|v."""
Term = Annotated[str, Pattern(COUPLED_TERM.pattern, "write it as 'Y|r|v' (one of XYZKMN, then two of uvwpqr)")]
"""Name of a cross-coupled damping coefficient."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Damping(DragElement):
    """Damping about `origin` in Fossen's form; positive coefficients oppose motion.

    F = −(D ν + Q (|ν| ∘ ν) + cross terms). For example, the term "Y|r|v": c adds −c |r| v to Y. Velocity ν and wrench F
    refer to the point and axes of `origin`.
    """

    linear: Vector6 | Matrix6 = (0.0,) * 6
    """Linear damping D, positive: a diagonal (6 numbers) or a matrix (6 rows of 6) [N·s/m, N·s/rad, N·m·s/rad]."""
    quadratic: Vector6 | Matrix6 = (0.0,) * 6
    """Quadratic damping Q, positive: a diagonal (6 numbers) or a matrix (6 rows of 6) [N·s²/m², N·s²/rad², N·m·s²/rad²]."""
    coupled: tuple[tuple[Term, Finite], ...] = ()
    """Cross terms keyed by name: "Y|r|v" with c adds −c |r| v to Y [SI]."""
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
        """Return D + Q diag(|ν|) + cross terms; symmetric only if the coefficients are symmetric."""
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
            yield Fault(
                ("coupled",), f"{label}.coupled has the term {term!r} twice; keep one term with the sum of the coefficients"
            )


class Coefficients(NamedTuple):
    """Coefficients of F = −(D ν + Q (|ν| ∘ ν) + cross terms), with ν relative to the water (Fossen 2011, sec. 6.4)."""

    linear: Array
    """Linear damping D, shape (6,) or (6, 6)."""
    quadratic: Array
    """Quadratic damping Q, shape (6,) or (6, 6)."""
    names: tuple[str, ...]
    """Names of the cross terms, such as "Y|r|v"."""
    coupled: Array
    """Coefficients of the cross terms."""

    def wrench(self, V_r: Array) -> Array:
        """Return the wrench about the body origin in body axes [N, N·m], shape (6,)."""
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
    """Reference axes, shape (3, 3)."""
    point: Array
    """Reference point [m], shape (3,)."""
    numbers: Coefficients

    def wrench(self, V_r: Array) -> Array:
        """Return the wrench about the body origin in body axes [N, N·m], shape (6,)."""
        V = shift_motion(V_r, self.point)
        F = self.numbers.wrench(np.concatenate([self.R.T @ V[:3], self.R.T @ V[3:]]))
        return shift_wrench(np.concatenate([self.R @ F[:3], self.R @ F[3:]]), self.point)


def to_frame(R: Array, x: Array) -> Array:
    """Return the matrix from the velocity of a body to the velocity of a frame at x, in its axes R, shape (6, 6)."""
    return np.concatenate([R.T @ point_velocity(x), np.concatenate([np.zeros((3, 3)), R.T], axis=1)])
