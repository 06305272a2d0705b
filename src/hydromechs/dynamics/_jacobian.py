"""Jacobians of points of bodies, and their time derivative times the velocity."""

import numpy as np

from hydromechs.model import Model
from hydromechs.spatial import shift_motion
from hydromechs.values import Array

from ._inverse_dynamics import accelerations
from ._kinematics import Kinematics


def jacobian(model: Model, kin: Kinematics, body: int, point: Array) -> Array:
    """Return J with V_P = J v for a point P of a body, in body axes, linear first, shape (6, nv).

    `point` is the position of P from the body's origin, in body axes [m], shape (3,). Only the configuration in `kin` is used.
    """
    chain = [body]
    while model.parent[chain[-1]] >= 0:
        chain.append(model.parent[chain[-1]])
    columns: dict[int, Array] = {}
    for i in reversed(chain):
        columns = {k: kin.paths[i].motion(column) for k, column in columns.items()}
        columns |= zip(range(model.nv)[model.v_slices[i]], kin.subspaces[i].T, strict=True)
    still = np.zeros(6)
    moving = [shift_motion(columns[k], point) if k in columns else still for k in range(model.nv)]
    return np.stack(moving, axis=1) if moving else np.zeros((6, 0))


def jacobian_derivative_times_velocity(model: Model, kin: Kinematics, body: int, point: Array) -> Array:
    """Return J̇ v, with d/dt V_P = J v̇ + J̇ v in body axes, shape (6,).

    `point` is as in `jacobian`; `kin` is relative to an observer at rest in the world.
    """
    return shift_motion(accelerations(model, kin, kin.c, np.zeros(model.nv), np.zeros(6))[body], point)
