"""Quantities that a loop over the bodies of a large tree computes of each body when its acceleration is known."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from hydromechs.hydro import WetMotion
from hydromechs.values import Array


class BodyNow(NamedTuple):
    """A body at an instant, for what is computed of it when its acceleration is known."""

    acting: Any
    """Source of the force: `rigid`, `mass`, `com`, `moves`."""
    body: Any
    """It as the equations of water see it: `name` and `hydro`."""
    motion: WetMotion
    V: Array
    """Its velocity in the world, in its axes, shape (6,)."""
    a: Array
    """a' as the recursions have it, shape (6,)."""
    rate: Array
    """Derivative of the numbers in V [m/s², rad/s²], shape (6,)."""


class After(NamedTuple):
    """Quantities computed of every body when its acceleration is known."""

    function: Callable[[BodyNow], Mapping[str, Array]]
    """Gives an array for each name below."""
    rows: Mapping[str, tuple[int, ...]]
    """Results of each body, name to shape."""
    totals: tuple[str, ...] = ()
    """Numbers that are added up over all bodies."""
