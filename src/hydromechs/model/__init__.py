"""Models of mechanisms: bodies, joints, shapes, hydrodynamic data, states."""

from hydromechs.errors import Fault
from hydromechs.geometry import Origin

from . import added_mass, component, drag, flexible, joints
from ._added_mass_matrix import added_mass_matrix, added_mass_strips, total_added_mass
from ._attach import attach, mount_point, mount_problem, mounted_bodies
from ._body import Body, Frame, Hydro, HydroModel, Inertia
from ._body_shape import BodyShape, Role, element_word
from ._checks import body_faults, tree_faults, world_faults
from ._families import FAMILIES
from ._loop import DIRECTIONS, Coupling, Direction, Loop, check_free, frame_error, held_directions, held_rows
from ._mechanism import dry_faults
from ._model import JointPart, Model, Place, RigidBody, State, World
from ._placement import Mdh
from ._text import GIVEN, definition
from ._unit_mistakes import angle_mistake, limits_mistake
from .joints._joint import UNIT_TOLERANCE
from .joints._moving import MovingStep, motion_subspace, transformation

__all__ = [
    "DIRECTIONS",
    "FAMILIES",
    "GIVEN",
    "UNIT_TOLERANCE",
    "Body",
    "BodyShape",
    "Coupling",
    "Direction",
    "Fault",
    "Frame",
    "Hydro",
    "HydroModel",
    "Inertia",
    "JointPart",
    "Loop",
    "Mdh",
    "Model",
    "MovingStep",
    "Origin",
    "Place",
    "RigidBody",
    "Role",
    "State",
    "World",
    "added_mass",
    "added_mass_matrix",
    "added_mass_strips",
    "angle_mistake",
    "attach",
    "body_faults",
    "check_free",
    "component",
    "definition",
    "drag",
    "dry_faults",
    "element_word",
    "flexible",
    "frame_error",
    "held_directions",
    "held_rows",
    "joints",
    "limits_mistake",
    "motion_subspace",
    "mount_point",
    "mount_problem",
    "mounted_bodies",
    "total_added_mass",
    "transformation",
    "tree_faults",
    "world_faults",
]
