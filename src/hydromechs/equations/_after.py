"""Quantities of each body of a large tree that loops compute once its acceleration is known."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from hydromechs.hydro import WetMotion
from hydromechs.values import Array


class BodyNow(NamedTuple):
    """A body at one instant, after its acceleration has been computed."""

    acting: Any
    """Source of the force on it: `rigid`, `mass`, `com`, `moves`."""
    body: Any
    """Its hydrodynamic data: `name` and `hydro`."""
    motion: WetMotion
    V: Array
    """Velocity relative to the world, in its axes, shape (6,)."""
    a: Array
    """Acceleration a' in the form that the recursions use, shape (6,)."""
    rate: Array
    """Time derivative of the components of V [m/s², rad/s²], shape (6,)."""


class After(NamedTuple):
    """Quantities to compute for every body once its acceleration is known."""

    function: Callable[[BodyNow], Mapping[str, Array]]
    """Function that returns an array for each name below."""
    rows: Mapping[str, tuple[int, ...]]
    """Results per body, name to shape."""
    totals: tuple[str, ...] = ()
    """Numbers that are summed over all bodies."""
