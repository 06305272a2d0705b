"""Compliant contact of bodies with terrain and each other: distances, normal laws, friction, contact pairs."""

from collections.abc import Mapping

from hydromechs.model.component import Component

from ._convex_pair import ConvexPair
from ._coverage import contact_cost, unrepresented_contacts
from ._grasp import Grasp
from ._grip import Grip, Holding
from ._law import (
    MATERIAL_SOURCES,
    MATERIALS,
    ContactFriction,
    ContactLaw,
    DryFriction,
    LinearContact,
    Material,
    NonlinearContact,
    NormalForce,
)
from ._loop import CouplingClosure, LoopClosure, loop_closures
from ._pair import Contact, Pair, PointProbe, Segment, contact_wrench
from ._probes import contact_pairs, touching_shape
from ._touching import BodyContact, CollisionGroup, ContactExclusion, PointContact, Terrain, ground_height

__all__ = [
    "LAWS",
    "MATERIALS",
    "MATERIAL_SOURCES",
    "TYPES",
    "BodyContact",
    "CollisionGroup",
    "Contact",
    "ContactExclusion",
    "ContactFriction",
    "ContactLaw",
    "ConvexPair",
    "CouplingClosure",
    "DryFriction",
    "Grasp",
    "Grip",
    "Holding",
    "LinearContact",
    "LoopClosure",
    "Material",
    "NonlinearContact",
    "NormalForce",
    "Pair",
    "PointContact",
    "PointProbe",
    "Segment",
    "Terrain",
    "contact_cost",
    "contact_pairs",
    "contact_wrench",
    "ground_height",
    "loop_closures",
    "touching_shape",
    "unrepresented_contacts",
]

TYPES: Mapping[str, type[Component]] = {
    "point_contact": PointContact,
    "body_contact": BodyContact,
    "collision_group": CollisionGroup,
    "contact_exclusion": ContactExclusion,
    "grasp": Grasp,
    "grip": Grip,
}
"""Component classes, keyed by their names in files; terrain uses the names of its shapes."""
LAWS: Mapping[str, type[ContactLaw]] = {"linear": LinearContact, "nonlinear": NonlinearContact}
"""Contact laws, keyed by their names in files."""
