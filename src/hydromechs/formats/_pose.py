"""Poses for readers and writers of robot descriptions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hydromechs.model import Origin
from hydromechs.spatial import rpy_from_matrix


@dataclass(frozen=True, slots=True, eq=False)
class Pose:
    """Pose of a frame relative to another frame."""

    p: np.ndarray
    """Origin [m], shape (3,)."""
    R: np.ndarray
    """Axes of the frame, shape (3, 3)."""

    def __matmul__(self, other: Pose) -> Pose:
        return Pose(self.p + self.R @ other.p, self.R @ other.R)

    @property
    def inverse(self) -> Pose:
        """Inverse pose, of the other frame relative to this frame."""
        return Pose(-self.R.T @ self.p, self.R.T)

    def shifted(self, by: np.ndarray) -> Pose:
        """Return the pose relative to an origin that is moved by a vector [m], shape (3,)."""
        return Pose(self.p - by, self.R)

    @property
    def origin(self) -> Origin:
        """The pose as an `Origin`."""
        x, y, z = map(float, self.p)
        roll, pitch, yaw = map(float, rpy_from_matrix(self.R))
        return Origin((x, y, z), (roll, pitch, yaw))


IDENTITY = Pose(np.zeros(3), np.eye(3))
