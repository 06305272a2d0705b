"""Soft contact of bodies with terrain and with each other: distances, normal laws, friction, pairs of what may touch."""

from . import ground, terrain
from ._coverage import unrepresented_contacts
from ._distance import ray_distance, signed_distance
from ._forces import Contact, contact_wrench
from ._grasp import Grasp, GraspRows, grasp_gap, grasp_misfit, grasp_rows
from ._grip import Grip, Holding
from ._height import ground_height
from ._law import ContactFriction, ContactLaw, DryFriction, LinearContact, Material, NonlinearContact, NormalForce
from ._pair import Pair
from ._probe import PointProbe, Segment
from ._probes import contact_pairs
from ._touching import BodyContact, PointContact
from .terrain import Terrain

__all__ = [
    "BodyContact",
    "Contact",
    "ContactFriction",
    "ContactLaw",
    "DryFriction",
    "Grasp",
    "GraspRows",
    "Grip",
    "Holding",
    "LinearContact",
    "Material",
    "NonlinearContact",
    "NormalForce",
    "Pair",
    "PointContact",
    "PointProbe",
    "Segment",
    "Terrain",
    "contact_pairs",
    "contact_wrench",
    "grasp_gap",
    "grasp_misfit",
    "grasp_rows",
    "ground",
    "ground_height",
    "ray_distance",
    "signed_distance",
    "terrain",
    "unrepresented_contacts",
]
