"""Shapes: solids in their own frame, centred and along z, with the operations that water, contact and drawing need."""

from ._box import Box, gauss
from ._cylinder import Capsule, Cylinder
from ._ellipsoid import Ellipsoid, Sphere, ellipsoid_wet, ellipsoid_wetting
from ._ground import HeightField, Plane
from ._mesh_file import read_mesh
from ._origin import Origin, constant_screw, rotation_steps
from ._polyhedra import Convex, Mesh
from ._shape import Cell, Face, Placed, Shape, Strip
from ._triangles import Integrals, Triangles, grid, joined, read_triangles, revolved

__all__ = [
    "SHAPES",
    "Box",
    "Capsule",
    "Cell",
    "Convex",
    "Cylinder",
    "Ellipsoid",
    "Face",
    "HeightField",
    "Integrals",
    "Mesh",
    "Origin",
    "Placed",
    "Plane",
    "Shape",
    "Sphere",
    "Strip",
    "Triangles",
    "constant_screw",
    "ellipsoid_wet",
    "ellipsoid_wetting",
    "gauss",
    "grid",
    "joined",
    "read_mesh",
    "read_triangles",
    "revolved",
    "rotation_steps",
]

SHAPES: dict[str, type[Shape]] = {
    "box": Box,
    "sphere": Sphere,
    "cylinder": Cylinder,
    "capsule": Capsule,
    "ellipsoid": Ellipsoid,
    "convex": Convex,
    "mesh": Mesh,
    "plane": Plane,
    "height_field": HeightField,
}
"""Class by the name that files have for it."""
