"""Probes: contact points of a body."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hydromechs.geometry import Capsule, Placed
from hydromechs.spatial import clamp, where
from hydromechs.values import Array

PARALLEL = 1e-12
"""Sine squared below which the axes of two capsules count as parallel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PointProbe:
    """A probe: a point of a body, or a sphere about a point."""

    position: tuple[float, float, float]
    """Position in body axes from the body origin [m], shape (3,)."""
    radius: float = 0.0
    """Radius of the sphere; 0 for a point [m]."""

    @property
    def center(self) -> tuple[float, float, float]:
        """Its position [m], shape (3,)."""
        return self.position

    def nearest(self, other: Placed, R: Array, p: Array) -> Array:
        """Return the point of the probe nearest to a solid, in body axes [m], shape (3,).

        The body has the axes R (3, 3) and the origin p (3,) [m] in the frame that carries the solid.
        """
        return np.array(self.position)


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

    def nearest(self, other: Placed, R: Array, p: Array) -> Array:
        """As of `PointProbe`: the t in ±l that brings w + t u nearest to the axis τ e of the other, w from its centre to ours,

            t = (b e·w − u·w) / (1 − b²),  b = u·e;   then τ = e·w + b t and t = b τ − u·w, each held at the ends

        which is exact (Ericson 2005, sec. 5.1.9). At that point the distance from the other's axis does not change with t, or t
        is held, so its rate is that of the point fixed to the body.
        """
        half, center, direction = self.half_length, np.array(self.center), np.array(self.direction)
        w, u = p + R @ center - np.array(other.origin.xyz), R @ direction
        along = u @ w
        if isinstance(other.shape, Capsule):
            e, reach = other.origin.R[:, 2], 0.5 * other.shape.length
            b, beside = u @ e, e @ w
            sine = 1.0 - b * b
            t = clamp((b * beside - along) / where(sine > PARALLEL, sine, PARALLEL), -half, half)
            tau = clamp(beside + b * t, -reach, reach)
            return center + clamp(b * tau - along, -half, half) * direction
        return center + clamp(-along, -half, half) * direction
