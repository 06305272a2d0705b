"""Interface of drag elements: anything that resists, damps or lifts a body in water."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from hydromechs.errors import Fault, UnsupportedFeature
from hydromechs.geometry import Triangles
from hydromechs.spatial import skew
from hydromechs.values import Array, Scalar, plain

DRAG_SIGN = "drag numbers are positive here (Fossen's X_u < 0 changes sign)"
"""Usual cause of negative drag."""


class DragElement:
    """Drag, damping or lift of a body or a part of it; the wrenches of all elements of a body are summed.

    An element is a frozen dataclass with the method `wrench`, or `numbers`. The other methods have defaults.
    """

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        if "wrench" in vars(cls) and "numbers" not in vars(cls):
            cls.numbers = DragElement.numbers  # type: ignore[method-assign]  # not those of a parent class, whose wrench is another

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
        f = −k |a V_r| a V_r, has D = k |a V_r| aᵀ a: symmetric and positive semi-definite. Arguments as of `wrench`.
        """
        raise UnsupportedFeature(f"{self!r} has no method matrix(V_r, density); add it, or use damping_force")

    @property
    def center(self) -> Array | None:
        """Point at which it samples the water, in body axes [m], shape (3,); None for the mean over the body."""
        return None

    def surface(self) -> Triangles | None:
        """Return the surface that is drawn, in body axes from the body origin; None for none."""
        return None

    def problems(self, label: str) -> Iterator[Fault]:
        """Yield the errors of its numbers beyond the annotated bounds; `label` is its path, such as "hydro.drag.0"."""
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
