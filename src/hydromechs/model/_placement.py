"""Where a frame sits on its parent: `Origin` (URDF's way) or `Mdh` (modified Denavit-Hartenberg)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from hydromechs.registry import Degrees
from hydromechs.spatial import Screw, Shift, cos_sin, matrix_from_rpy, planar_rotation
from hydromechs.values import Finite, Vector3, convert_fields

__all__ = ["Mdh", "Origin", "constant_screw", "rotation_steps"]

Angle = Annotated[Finite, Degrees()]
"""An angle [rad]."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Frame at `xyz` with the axes of R = Rz(yaw) Ry(pitch) Rx(roll) in the parent."""

    xyz: Vector3 = (0.0, 0.0, 0.0)
    """Position in the parent's axes [m], shape (3,)."""
    rpy: Annotated[Vector3, Degrees()] = (0.0, 0.0, 0.0)
    """Roll, pitch, yaw [rad], shape (3,)."""

    def __post_init__(self) -> None:
        convert_fields(self, "origin")

    @property
    def R(self) -> np.ndarray:
        """Axes in the parent, shape (3, 3)."""
        return matrix_from_rpy(self.rpy)

    def steps(self, axis: int) -> tuple:
        """Transformations from the parent, the last one about coordinate `axis`."""
        shift = (Shift(np.array(self.xyz)),) if any(self.xyz) else ()
        return (*shift, *rotation_steps(self.R, axis))


@dataclass(frozen=True, slots=True, kw_only=True)
class Mdh:
    """Craig's modified Denavit-Hartenberg parameters, after branch parameters (McMillan, Orin and McGhee 1996, Fig. 4).

    Frame = Rz(branch_theta) Tz(branch_d) · Rx(alpha) Tx(a) · Rz(theta) Tz(d). A revolute joint adds its position to
    `theta`, a prismatic one to `d`; both move about the frame's own z axis.
    """

    a: Finite = 0.0
    """Distance along x of the parent [m]."""
    alpha: Angle = 0.0
    """Angle about x of the parent [rad]."""
    d: Finite = 0.0
    """Distance along z [m]; a prismatic joint adds its position."""
    theta: Angle = 0.0
    """Angle about z [rad]; a revolute joint adds its position."""
    branch_d: Finite = 0.0
    """Distance along the parent's z before the other parameters [m]."""
    branch_theta: Angle = 0.0
    """Angle about the parent's z before the other parameters [rad]."""

    def __post_init__(self) -> None:
        convert_fields(self, "mdh")

    def steps(self, axis: int) -> tuple:
        """Transformations from the parent; the last one is the z screw, whatever `axis` is."""
        branch = () if self.branch_d == self.branch_theta == 0.0 else (constant_screw(2, self.branch_d, self.branch_theta),)
        return (*branch, constant_screw(0, self.a, self.alpha), constant_screw(2, self.d, self.theta))


def constant_screw(axis: int, distance: float, angle: float) -> Screw:
    """A screw by constants, exact for multiples of 90°."""
    return Screw(axis, distance, *cos_sin(angle))


def rotation_steps(R: np.ndarray, axis: int) -> tuple[Screw, ...]:
    """A constant rotation as planar rotations about `axis`, the next axis, and `axis` again; none for the identity.

    R = R_k(γ) R_i(β) R_k(α) with k = axis, i = (k + 1) mod 3. Multiples of 90° come out exact.
    """
    k, i, j = axis, (axis + 1) % 3, (axis + 2) % 3
    across = math.hypot(R[i, k], R[j, k])
    beta = math.atan2(across, R[k, k])
    gamma = math.atan2(R[i, k], -R[j, k]) if across else 0.0
    # the last angle from what the first two leave, so that it is right also where γ is not defined well (β near 0 or π)
    left = (planar_rotation(k, *cos_sin(gamma)) @ planar_rotation(i, *cos_sin(beta))).T @ R
    angles = (gamma, beta, math.atan2(left[j, i], left[i, i]))
    steps = tuple(constant_screw(a, 0.0, angle) for a, angle in zip((k, i, k), angles, strict=True))
    return tuple(s for s in steps if (s.cos, s.sin) != (1.0, 0.0))
