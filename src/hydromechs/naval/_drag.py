"""Drag of a body from the projected areas of its parts.

Coefficients of boxes, cylinders and spheres apply at the Reynolds numbers of vehicles (10⁴ to 10⁵), as in DNV-RP-C205 App. E
and DNV-RP-H103 App. B. Coefficients of plates and square rods agree with a transcription of DNV-RP-H103 table B-2 in another
program, coefficients of short cylinders with the table of a wind code (NBR 6123); the standard itself was not consulted.
Cylinders along the flow and spheres were not compared. All values are estimates.

A mesh is represented by a box with its extents, whose faces have the drag area of the silhouettes. The coefficient is 1.1
⟨cos²⟩ with the angle between normal and flow, averaged over the silhouette: 0 for a needle along the flow, 0.55 for a sphere,
0.73 for a cylinder across the flow, 1.1 for a flat face. Friction on the wetted area is added.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hydromechs.geometry import Box, Capsule, Cylinder, Ellipsoid, Origin, Placed, Sphere, Triangles
from hydromechs.model import drag
from hydromechs.values import Array

from ._parts import SIDES, SolidPart

FLAT, FRICTION = 1.1, 0.005
"""Drag coefficient of a flat face, and friction coefficient of the wetted area."""
ROUND = 0.5
"""Drag coefficient of a sphere below the critical Reynolds number."""
CAPPED = 0.2
"""Pressure drag coefficient of a cylinder with round ends along the flow."""
LONG_CYLINDER = 1.2
"""Drag coefficient of an infinitely long cylinder across the flow, below the critical Reynolds number."""
SHORT = ((2.0, 5.0, 10.0, 20.0, 40.0, 100.0), (0.58, 0.62, 0.68, 0.74, 0.82, 0.98))
"""Ratio of length to diameter of a cylinder across the flow, and its coefficient relative to an infinite cylinder."""
END = ((0.0, 1.0, 2.0, 4.0, 7.0), (1.12, 0.91, 0.85, 0.87, 0.99))
"""Ratio of length to diameter of a cylinder along the flow, and its coefficient."""
PLATE = ((1.0, 5.0, 10.0, 20.0), (1.16, 1.20, 1.50, 1.70))
"""Aspect ratio of a rectangular plate, and its coefficient; 1.90 is the value of an infinitely long plate."""
DEPTH = ((0.0, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0), (1.0, 0.99, 0.84, 0.75, 0.78, 0.80, 0.82))
"""Ratio of depth along the flow to √area of a box, and its coefficient relative to a plate with the same face (square rods)."""
ERROR, ALONE = 0.5, 0.3
"""Relative standard uncertainties of drag: of a mesh or several parts, which shield each other, and of one simple shape."""


class DragGuess(NamedTuple):
    """Estimated drag of a body, with its uncertainty."""

    elements: tuple[Any, ...]
    """Elements of `hydromechs.drag`."""
    areas: Array
    """Drag area, coefficient times area, along x, y, z of the body [m²], shape (3,)."""
    uncertainty: float
    """Relative standard uncertainty, 0 to 1."""
    how: str
    """Description of the method of estimation."""


def drag_guess(parts: Sequence[SolidPart]) -> DragGuess:
    """Return the quadratic drag of the parts of a body."""
    elements = tuple(_of_part(part) for part in parts)
    # coefficient times area along x, y, z of the body [m²]: twice the force over ρ v²
    along = [[-2.0 * float(element.wrench(np.eye(6)[k], 1.0)[k]) for k in range(3)] for element in elements]
    areas = np.sum(along, axis=0)
    simple = len(parts) == 1 and isinstance(parts[0].shape, Box | Cylinder | Capsule | Ellipsoid | Sphere)
    names = ", ".join(dict.fromkeys(part.name for part in parts))
    how = f"coefficients of DNV-RP-C205 on projected areas: {names}" if simple else f"projected areas: {names}"
    return DragGuess(elements, areas, ALONE if simple else ERROR, how)


def mesh_drag(solid: Triangles, origin: Origin) -> drag.ShapeDrag:
    """Return the drag of a mesh, represented by a box with its extents."""
    low, high = solid.vertices.min(axis=0), solid.vertices.max(axis=0)
    size, middle = high - low, 0.5 * (low + high)
    vectors = solid.area_vectors
    area = np.linalg.norm(vectors, axis=1)
    some = area > 0.0
    faces = np.prod(size) / size

    def coefficient(k: int) -> float:
        across = np.abs(vectors[some, k])
        blunt = float((across**3 / area[some] ** 2).sum() / across.sum())
        return (FLAT * blunt * solid.silhouette(k) + FRICTION * float(area.sum())) / float(faces[k])

    center = tuple((np.array(origin.xyz) + origin.R @ middle).tolist())
    coefficients = coefficient(0), coefficient(1), coefficient(2)
    return drag.ShapeDrag(shape=Box(size=tuple(size.tolist())).at(center, origin.rpy), coefficient=coefficients)


def _of_part(part: SolidPart) -> Any:
    match shape := part.shape:
        case Sphere():
            return drag.ShapeDrag(shape=shape.at(part.origin.xyz), coefficient=ROUND)
        case Box():
            x, y, z = (_box_coefficient(shape.size, k) for k in range(3))
            return drag.ShapeDrag(shape=Placed(shape=shape, origin=part.origin), coefficient=(x, y, z))
        case Capsule(radius=r, length=l):
            return _cylinder(part, r, l + 2.0 * r, CAPPED + FRICTION * 2.0 * (l + 2.0 * r) / r)
        case Cylinder(radius=r, length=l):
            return _cylinder(part, r, l, float(np.interp(0.5 * l / r, *END)))
    return mesh_drag(shape.triangulate(SIDES).merged(), part.origin)


def _cylinder(part: SolidPart, radius: float, length: float, end: float) -> drag.ShapeDrag:
    side = LONG_CYLINDER * float(np.interp(0.5 * length / radius, *SHORT))
    solid = Placed(shape=Cylinder(radius=radius, length=length), origin=part.origin)
    return drag.ShapeDrag(shape=solid, coefficient=side, end_coefficient=end)


def _box_coefficient(size: Sequence[float], k: int) -> float:
    short, long = sorted((size[(k + 1) % 3], size[(k + 2) % 3]))
    depth = size[k] / np.sqrt(short * long)
    return float(np.interp(long / short, *PLATE) * np.interp(depth, *DEPTH))
