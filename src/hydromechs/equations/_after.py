"""Quantities of each body of a large tree that compiled loops compute after the accelerations."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from hydromechs.hydro import WetMotion
from hydromechs.values import Array


class BodyNow(NamedTuple):
    """Motion of a body at one instant, after computation of its acceleration."""

    acting: Any
    """Inertial data of the body: `rigid`, `mass`, `com`, `moves`."""
    body: Any
    """Hydrodynamic data of the body: `name` and `hydro`."""
    motion: WetMotion
    V: Array
    """Velocity relative to the world, in body axes [m/s, rad/s], shape (6,)."""
    a: Array
    """Acceleration a' in the form that the recursions use [m/s², rad/s²], shape (6,)."""
    rate: Array
    """Time derivative of the components of V [m/s², rad/s²], shape (6,)."""


class After(NamedTuple):
    """Quantities to compute for every body after its acceleration is known."""

    function: Callable[[BodyNow], Mapping[str, Array]]
    """Function that returns an array for each name in `rows` and `totals`."""
    rows: Mapping[str, tuple[int, ...]]
    """Shape of each result per body, keyed by name."""
    totals: tuple[str, ...] = ()
    """Names of scalar results that are summed over all bodies."""
