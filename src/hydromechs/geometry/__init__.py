"""Shapes: solids in local frames, centred and with the axis along z, with operations for water, contact and drawing."""

from typing import Any

from hydromechs.registry import Family, Holder, options

from ._box import Box
from ._cylinder import Capsule, Cylinder
from ._ellipsoid import Ellipsoid, Sphere, ellipsoid_wet, ellipsoid_wetting
from ._ground import HeightField, Plane
from ._height_files import read_heights
from ._height_sources import GENERATORS, height_field, rubble_mound, slope, steps
from ._keys import SHORTHAND
from ._mesh_checks import read_mesh
from ._origin import Origin, constant_screw, rotation_steps
from ._polyhedra import Convex, Mesh, Polyhedron
from ._shape import Cell, Face, Placed, Shape, Strip
from ._triangles import Integrals, Triangles, grid, joined, quads, read_triangles, revolved

__all__ = [
    "GENERATORS",
    "SHAPES",
    "SHORTHAND",
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
    "Polyhedron",
    "Shape",
    "Sphere",
    "Strip",
    "Triangles",
    "constant_screw",
    "ellipsoid_wet",
    "ellipsoid_wetting",
    "grid",
    "height_field",
    "joined",
    "quads",
    "read_heights",
    "read_mesh",
    "read_triangles",
    "revolved",
    "rotation_steps",
    "rubble_mound",
    "shape_family",
    "slope",
    "steps",
]


def shape_family(name: str, base: Any, *kinds: type[Shape]) -> Family:
    """Return the family of shapes for a key in files: the type selects the shape; its keys are merged with those of `base`.

    `base` is the class of the placed shape, in union with `str` if the key may contain the name of a shape. By default, all
    kinds of shapes are allowed.
    """
    table = {word: kind for word, kind in SHAPES.items() if not kinds or kind in kinds}
    owner = next(kind for kind in options(base) if kind is not str)
    return Family(name=name, base=base, table=table, holder=Holder(owner, "shape", Shape), shorthand=SHORTHAND)


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
"""Shape classes, keyed by name in files."""
