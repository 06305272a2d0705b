"""Soft contact of bodies with terrain and with each other: distances, normal laws, friction, pairs of what may touch."""

from . import terrain
from ._distance import signed_distance
from ._forces import Contact, contact_wrench
from ._grasp import Grasp, GraspRows, grasp_gap, grasp_impulse, grasp_misfit, grasp_rows
from ._law import (
    DryFriction,
    FrictionForce,
    LinearContact,
    Material,
    NonlinearContact,
    NormalForce,
    friction_force,
    normal_force,
)
from ._probes import Pair, Point, Segment, contact_pairs

__all__ = [
    "Contact",
    "DryFriction",
    "FrictionForce",
    "Grasp",
    "GraspRows",
    "LinearContact",
    "Material",
    "NonlinearContact",
    "NormalForce",
    "Pair",
    "Point",
    "Segment",
    "contact_pairs",
    "contact_wrench",
    "friction_force",
    "grasp_gap",
    "grasp_impulse",
    "grasp_misfit",
    "grasp_rows",
    "normal_force",
    "signed_distance",
    "terrain",
]
