"""Small spatial algebra on floats or symbols: rotations, transformations, inertia, factorization."""

from ._axis_frame import axis_frame
from ._choice import any_of, clamp, floor, lookup, maximum, minimum, nearest_integer, positive_part, smallest_angle, where
from ._inertia import force_cross, motion_cross, rigid_inertia, tensor_matrix
from ._ldl import Ldl, ldl
from ._principal_axes import principal_axes
from ._rotation import (
    axis_rotation,
    cos_sin,
    cross,
    matrix_from_rpy,
    norm,
    planar_rotation,
    quaternion_exp,
    quaternion_from_matrix,
    quaternion_matrix,
    quaternion_product,
    rpy_from_matrix,
    skew,
)
from ._rotation_between import TURN_SERIES, rotation_between, turn_between, turning_rate
from ._semidefinite import PivotedSolution, pivoted_solve
from ._stick_slip import stick_slip
from ._transform import Path, Screw, Shift, Turn, pose_matrix, shift_inertia, shift_motion, shift_wrench, symmetric_matrix

__all__ = [
    "TURN_SERIES",
    "Ldl",
    "Path",
    "PivotedSolution",
    "Screw",
    "Shift",
    "Turn",
    "any_of",
    "axis_frame",
    "axis_rotation",
    "clamp",
    "cos_sin",
    "cross",
    "floor",
    "force_cross",
    "ldl",
    "lookup",
    "matrix_from_rpy",
    "maximum",
    "minimum",
    "motion_cross",
    "nearest_integer",
    "norm",
    "pivoted_solve",
    "planar_rotation",
    "pose_matrix",
    "positive_part",
    "principal_axes",
    "quaternion_exp",
    "quaternion_from_matrix",
    "quaternion_matrix",
    "quaternion_product",
    "rigid_inertia",
    "rotation_between",
    "rpy_from_matrix",
    "shift_inertia",
    "shift_motion",
    "shift_wrench",
    "skew",
    "smallest_angle",
    "stick_slip",
    "symmetric_matrix",
    "tensor_matrix",
    "turn_between",
    "turning_rate",
    "where",
]
