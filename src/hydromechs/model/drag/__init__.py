"""Drag, damping and lift elements of a body. Each file contains the data, equations and checks of one element.

Positions and directions are in body axes from the body origin unless an element has its own `origin`.
"""

from collections.abc import Mapping

from ._coefficient_map import CoefficientMap
from ._damping import DRAG_SIGN, Damping, DragElement
from ._foil import Foil
from ._potential import PotentialDamping
from ._shape_drag import Faces, ShapeDrag, Strips
from ._skin import SkinFriction
from ._surface import SurfaceDrag
from ._vortex import VortexDamping
from ._wave_drift import WaveDriftDamping

__all__ = [
    "DRAG_SIGN",
    "TYPES",
    "CoefficientMap",
    "Damping",
    "DragElement",
    "Faces",
    "Foil",
    "PotentialDamping",
    "ShapeDrag",
    "SkinFriction",
    "Strips",
    "SurfaceDrag",
    "VortexDamping",
    "WaveDriftDamping",
]

TYPES: Mapping[str, type[DragElement]] = {
    "damping": Damping,
    "shape": ShapeDrag,
    "surface": SurfaceDrag,
    "foil": Foil,
    "map": CoefficientMap,
    "potential": PotentialDamping,
    "skin": SkinFriction,
    "wave_drift": WaveDriftDamping,
    "vortex": VortexDamping,
}
"""Types of drag elements, keyed by name in files."""
