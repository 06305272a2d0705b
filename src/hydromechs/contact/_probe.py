"""Probes: what of a body touches."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PointProbe:
    """A probe: a point of a body, or a sphere about it."""

    position: tuple[float, float, float]
    """Place in body axes from the body origin [m], shape (3,)."""
    radius: float = 0.0
    """Radius of the sphere; 0 for a point [m]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A probe: a capsule of a body that meets a sphere or another capsule at the point of its axis nearest to that one's."""

    center: tuple[float, float, float]
    """Middle of the axis in body axes [m], shape (3,)."""
    direction: tuple[float, float, float]
    """Unit vector along the axis in body axes, shape (3,)."""
    half_length: float
    """Half the distance between the centres of the caps [m]."""
    radius: float
    """Radius [m]."""
