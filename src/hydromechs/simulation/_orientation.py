"""Quaternions of bodies whose sign follows from the configuration, so that it never jumps and a resumed run has the same."""

import numpy as np

from hydromechs import dynamics
from hydromechs.model import Model, MovingStep
from hydromechs.spatial import Path, quaternion_from_matrix, quaternion_product
from hydromechs.values import Array

ONE = np.array([1.0, 0.0, 0.0, 0.0])


class Orientations:
    """Unit quaternions (w, x, y, z) of rotation matrices R_WB.

    q and −q are the same rotation. The sign is that of the product of the joints' quaternions from the world to the body: those
    in the configuration, and (cos θ/2, a sin θ/2) of an angle θ. So it is a smooth function of the configuration. Of a body on
    the world with a free or ball joint it is the sign that the configuration has, of others w ≥ 0 where all joints are at zero.
    The turn of a joint without `MovingStep.turn` is not known: its quaternion counts with w ≥ 0, and jumps at 180°.
    """

    def __init__(self, model: Model) -> None:
        self._parent = model.parent
        q, v = model.neutral()
        self._parts = [_parts(steps, q) for steps in model.steps]
        needed = None in self._parts  # kinematics of large trees take their time
        R = np.array(dynamics.kinematics(model, q, v).R_WB, dtype=float) if needed else np.zeros((model.nb, 3, 3))
        self._first = np.where(self._product(R[None], q[None])[0, :, 0] < -1e-9, -1.0, 1.0)

    def __call__(self, R: Array, q: Array) -> Array:
        """Quaternions (n, nb, 4) of the rotations R_WB of each body (n, nb, 3, 3) at configurations (n, nq)."""
        found = quaternion_from_matrix(R)
        side = self._first * np.sum(found * self._product(R, q), axis=-1)
        return np.where(side < 0.0, -1.0, 1.0)[..., None] * found

    def _product(self, R: Array, q: Array) -> Array:
        """The joints' quaternions multiplied from the world to each body, shape (n, nb, 4)."""
        out: list[Array] = []
        for k, (i, parts) in enumerate(zip(self._parent, self._parts, strict=True)):
            here = np.broadcast_to(ONE[:, None], (4, len(q))) if i < 0 else out[i]
            if parts is None:
                turned = R[:, k] if i < 0 else np.swapaxes(R[:, i], 1, 2) @ R[:, k]
                parts = [quaternion_from_matrix(turned).T]
            for part in parts:
                turn = part.turn(q[:, part.at_q].T) if isinstance(part, MovingStep) else part
                assert turn is not None  # as `_parts` found
                here = quaternion_product(here, turn)
            out.append(here)
        return np.moveaxis(np.array(out).reshape(-1, 4, len(q)), 2, 0)


def _parts(steps: tuple, q: Array) -> list | None:
    """The rotations among the steps of a joint: those that move, and constant quaternions, shape (4, 1); None if unknown."""
    out: list = []
    for step in steps:
        if not isinstance(step, MovingStep):
            out.append(quaternion_from_matrix(Path((step,)).pose()[0])[:, None])
        elif step.turn(q[step.at_q][:, None]) is None:
            return None
        else:
            out.append(step)
    return out
