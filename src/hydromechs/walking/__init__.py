"""Walking: gaits, leg kinematics, body courses, and the controllers that combine them."""

from collections.abc import Mapping

from hydromechs.simulation import Controller

from ._articulated_drive import ArticulatedDrive
from ._drives import JointServos
from ._frames import FlatPose, FrameWalker
from ._gait import GAITS, Course, CoursePoint, Gait, Step, SupportGait, Tripod, Wave
from ._legs import Legs
from ._support import AlternatingSupport
from ._walk import Walk

__all__ = [
    "GAITS",
    "TYPES",
    "AlternatingSupport",
    "ArticulatedDrive",
    "Course",
    "CoursePoint",
    "FlatPose",
    "FrameWalker",
    "Gait",
    "JointServos",
    "Legs",
    "Step",
    "SupportGait",
    "Tripod",
    "Walk",
    "Wave",
]

TYPES: Mapping[str, type[Controller]] = {
    "walk": Walk,
    "alternating_support": AlternatingSupport,
    "articulated_drive": ArticulatedDrive,
}
"""Controller classes, keyed by the type name in files."""
