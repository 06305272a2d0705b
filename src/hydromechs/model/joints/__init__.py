"""Joints: the motion of a body on its parent, and its placement.

A joint is data. For the equations, the joint becomes a sequence of *steps* from the parent frame to the body frame:
constant transformations and moving transformations (`MovingStep`), which store their indices in the configuration `q` and
the velocity `v`. A composition is one joint with several moving steps and one motion subspace.

A joint type is one class in one file and one row of `TYPES`. It either derives from `Joint` and defines pose, motion subspace
and chart, or derives from `SteppedJoint` and defines steps, which gives shorter programs.

Damping, friction, stiffness and limits act in simulations, as friction, springs and stops; in forward dynamics the joint
force is an input.
"""

from collections.abc import Mapping

from ._ball import Ball
from ._composite import Composite, Fixed
from ._foreign import foreign, missing
from ._free import Free
from ._joint import Coordinates, CustomJoint, Joint, SteppedJoint
from ._modal import ModalJoint
from ._one_axis import Helical, OneAxis
from ._prismatic import Prismatic
from ._revolute import Revolute

__all__ = [
    "TYPES",
    "Ball",
    "Composite",
    "Coordinates",
    "CustomJoint",
    "Fixed",
    "Free",
    "Helical",
    "Joint",
    "ModalJoint",
    "OneAxis",
    "Prismatic",
    "Revolute",
    "SteppedJoint",
    "foreign",
    "missing",
]

TYPES: Mapping[str, type[Joint]] = {cls.kind: cls for cls in (Free, Fixed, Revolute, Prismatic, Helical, Ball)}
"""Joint types, keyed by name in files."""
