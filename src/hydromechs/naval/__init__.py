"""Hydrodynamics of a dry robot from geometry: volume, added mass and drag; hydrostatics and ballast."""

from ._add_water import HydroEstimate, WaterReport, WetModel, add_water
from ._added_mass import AddedMassGuess, AddedMassMethod, FromPanels, FromShapes, fitted_ellipsoid
from ._ballast import Ballast, Piece, ballast, box_of
from ._hydrostatics import Hydrostatics, hydrostatics
from ._panels import PanelMass, panel_added_mass
from ._parts import SolidMesh, SolidPart

__all__ = [
    "AddedMassGuess",
    "AddedMassMethod",
    "Ballast",
    "FromPanels",
    "FromShapes",
    "HydroEstimate",
    "Hydrostatics",
    "PanelMass",
    "Piece",
    "SolidMesh",
    "SolidPart",
    "WaterReport",
    "WetModel",
    "add_water",
    "ballast",
    "box_of",
    "fitted_ellipsoid",
    "hydrostatics",
    "panel_added_mass",
]
