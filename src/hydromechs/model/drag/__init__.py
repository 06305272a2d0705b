"""Drag, damping and lift elements of a body, one file each: data, equations, checks.

Positions and directions are in body axes from the body origin unless an element has its own `origin`.
"""

from collections.abc import Mapping

from ._damping import DRAG_SIGN, Damping, DragElement
from ._foil import Foil
from ._shape_drag import Faces, ShapeDrag, Strips

__all__ = ["DRAG_SIGN", "TYPES", "Damping", "DragElement", "Faces", "Foil", "ShapeDrag", "Strips"]

TYPES: Mapping[str, type[DragElement]] = {"damping": Damping, "shape": ShapeDrag, "foil": Foil}
"""Elements by their names in files."""
