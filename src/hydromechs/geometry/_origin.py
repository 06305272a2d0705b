"""Pose of a frame on its parent, in the URDF convention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from hydromechs.registry import Degrees
from hydromechs.spatial import Screw, Shift, cos_sin, matrix_from_rpy, planar_rotation
from hydromechs.values import Vector3, convert_fields


@dataclass(frozen=True, slots=True)
class Origin:
    """Frame at `xyz` in the parent, with axes R = Rz(yaw) Ry(pitch) Rx(roll)."""

    xyz: Vector3 = (0.0, 0.0, 0.0)
    """Position in parent axes [m], shape (3,)."""
    rpy: Annotated[Vector3, Degrees()] = (0.0, 0.0, 0.0)
    """Roll, pitch, yaw [rad], shape (3,)."""

    def __post_init__(self) -> None:
        if not (isinstance(self.xyz, tuple) and any(hasattr(x, "where") for x in self.xyz)):  # no symbols for open parameters
            convert_fields(self, "origin")

    @classmethod
    def pointing(cls, xyz: Sequence[float], direction: Sequence[float]) -> Origin:
        """Return a frame at `xyz` [m] with z axis along a nonzero direction; zeros in the direction stay exactly 0."""
        x, y, z = (float(a) for a in direction)
        if not x and not y:
            rpy = (0.0 if z > 0.0 else math.pi, 0.0, 0.0)
        elif not y:
            rpy = (0.0, math.atan2(x, z), 0.0)
        elif not x:
            rpy = (math.atan2(-y, z), 0.0, 0.0)
        else:
            rpy = (0.0, math.atan2(math.hypot(x, y), z), math.atan2(y, x))
        return cls(tuple(xyz), rpy)  # type: ignore[arg-type]

    @property
    def R(self) -> np.ndarray:
        """Axes of the frame, expressed in parent axes, shape (3, 3)."""
        return matrix_from_rpy(self.rpy)

    def steps(self, axis: int) -> tuple:
        """Return transformations from the parent; the last one is about coordinate axis `axis`."""
        shift = (Shift(np.array(self.xyz)),) if any(self.xyz) else ()
        return (*shift, *rotation_steps(self.R, axis))


def constant_screw(axis: int, distance: float, angle: float) -> Screw:
    """Return a constant screw displacement, exact for multiples of 90°."""
    return Screw(axis, distance, *cos_sin(angle))


def rotation_steps(R: np.ndarray, axis: int) -> tuple[Screw, ...]:
    """Return a constant rotation as planar rotations about `axis`, the next axis and `axis` again; empty for the identity.

    R = R_k(γ) R_i(β) R_k(α) with k = axis, i = (k + 1) mod 3. Multiples of 90° are exact.
    """
    k, i, j = axis, (axis + 1) % 3, (axis + 2) % 3
    across = math.hypot(R[i, k], R[j, k])
    beta = math.atan2(across, R[k, k])
    gamma = math.atan2(R[i, k], -R[j, k]) if across else 0.0
    # the last angle comes from the remaining rotation, so that it is correct where γ is ill-conditioned (β near 0 or π)
    left = (planar_rotation(k, *cos_sin(gamma)) @ planar_rotation(i, *cos_sin(beta))).T @ R
    angles = (gamma, beta, math.atan2(left[j, i], left[i, i]))
    steps = tuple(constant_screw(a, 0.0, angle) for a, angle in zip((k, i, k), angles, strict=True))
    return tuple(s for s in steps if (s.cos, s.sin) != (1.0, 0.0))
