"""Distances from terrain in the world and from shapes on bodies, along normals and along rays."""

from __future__ import annotations

from hydromechs.geometry import Placed
from hydromechs.values import Array, Scalar

from .terrain import Terrain


def signed_distance(solid: Terrain | Placed, p: Array, down: Array) -> tuple[Scalar, Array]:
    """Return the distance of a point from the surface of a solid, below 0 inside, and its gradient, the unit normal out of it.

    It is exact, also outside edges and inside; where the nearest point is not unique one of them is taken. For a height
    field the distance is that from the tangent plane at the point below, (z − h) cos θ, so off the surface the gradient's
    length differs from 1 by about distance · curvature · slope.

    Args:
        solid: Terrain, or a shape of a body.
        p: The point, in the world for terrain, in body axes from the body origin for a shape [m], shape (3,).
        down: Unit vector down, constant, shape (3,).

    Returns:
        The distance [m], and its gradient by `p`, shape (3,).
    """
    return placed(solid).distance(p, down)


def ray_distance(solid: Terrain | Placed, p: Array, b: Array, down: Array) -> Scalar:
    """Return the distance along a ray to the point where it enters a solid [m], infinite where it does not or starts inside.

    Args:
        solid: Terrain, or a shape of a body.
        p: Start of the ray [m], shape (3,).
        b: Its direction, a unit vector, shape (3,).
        down: Unit vector down, constant, shape (3,).
    """
    return placed(solid).ray(p, b, down)


def placed(solid: Terrain | Placed) -> Placed:
    """Return the shape of terrain in the world; a shape of a body as it is."""
    return solid.solid if isinstance(solid, Terrain) else solid
