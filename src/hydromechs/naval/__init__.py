"""Water on a dry robot: volumes, added mass and drag from geometry; how a vehicle floats, and the ballast that it needs."""

from ._add_water import WetModel, add_water
from ._added_mass import AddedMassGuess, AddedMassMethod, FromPanels, FromShapes, fitted_ellipsoid
from ._ballast import Ballast, Piece, ballast
from ._hydrostatics import Hydrostatics, hydrostatics
from ._panels import PanelMass, panel_added_mass
from ._parts import BoxPart, CapsulePart, CylinderPart, EllipsoidPart, MeshPart, Part
from ._report import Guess, WaterReport
from ._solid import Integrals, Solid, convex_hull, integrals, read_solid, silhouette, solid_faults

__all__ = [
    "AddedMassGuess",
    "AddedMassMethod",
    "Ballast",
    "BoxPart",
    "CapsulePart",
    "CylinderPart",
    "EllipsoidPart",
    "FromPanels",
    "FromShapes",
    "Guess",
    "Hydrostatics",
    "Integrals",
    "MeshPart",
    "PanelMass",
    "Part",
    "Piece",
    "Solid",
    "WaterReport",
    "WetModel",
    "add_water",
    "ballast",
    "convex_hull",
    "fitted_ellipsoid",
    "hydrostatics",
    "integrals",
    "panel_added_mass",
    "read_solid",
    "silhouette",
    "solid_faults",
]
