"""Walking: gaits, legs, the course of the body, and the controller that puts them together."""

from ._course import Course, CoursePoint
from ._drives import JointServos
from ._gait import GAITS, Gait, Tripod, Wave
from ._legs import Legs
from ._walk import Walk

__all__ = ["GAITS", "Course", "CoursePoint", "Gait", "JointServos", "Legs", "Tripod", "Walk", "Wave"]
