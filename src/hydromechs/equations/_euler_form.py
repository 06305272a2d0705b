"""Equations of a vehicle with arms in Euler angles, eqs. (27)-(30) of From, Pettersen and Gravdahl 2010.

The equations are singular at a pitch of ±90° and cost more than the closed form. They are provided for comparison with the
literature.
"""

from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike

from hydromechs import dynamics
from hydromechs.model import Model
from hydromechs.spatial import matrix_from_rpy, quaternion_product, skew
from hydromechs.values import Array

from . import _arguments as arguments
from ._balance import WaterOptions
from ._closed_form import closed_form


class EulerForm(NamedTuple):
    """Terms of  M ξ̈ + C ξ̇ + D + N + F = J⁻ᵀ τ,  with ξ̇ = J v."""

    q: Array
    """Configuration of the model, shape (..., nq)."""
    v: Array
    """Velocity of the model, v = J⁻¹ ξ̇, shape (..., nv)."""
    J: Array
    """Matrix J(ξ) of eqs. (28) and (30), undefined at a pitch of ±90°, shape (..., nv, nv)."""
    J_inverse: Array
    """Inverse J⁻¹(ξ), finite everywhere but singular at a pitch of ±90°, shape (..., nv, nv)."""
    M: Array
    """Inertia matrix J⁻ᵀ M J⁻¹ with added mass, shape (..., nv, nv)."""
    C: Array
    """Coriolis matrix J⁻ᵀ (C − M J⁻¹ J̇) J⁻¹; Ṁ − 2C is skew-symmetric, shape (..., nv, nv)."""
    D: Array
    """Damping force J⁻ᵀ D, shape (..., nv)."""
    N: Array
    """Restoring force J⁻ᵀ N, shape (..., nv)."""
    F: Array
    """Inertia force J⁻ᵀ F of a current, shape (..., nv)."""


def euler_form(model: Model, xi: ArrayLike, xi_rate: ArrayLike, **water: Unpack[WaterOptions]) -> EulerForm:
    """Return the closed form in ξ = (x, y, z, roll, pitch, yaw, joints), eqs. (27)-(30).

    The first body must be a free vehicle, and all other joints must have one coordinate per velocity.

    Args:
        model: The mechanism.
        xi: Position and Euler angles (zyx) of the vehicle, then joint coordinates, shape (nv,).
        xi_rate: Time derivative of `xi`, shape (nv,).
        water: `fluid_velocity` and `fluid_acceleration`, as in `closed_form`.
    """
    model = arguments.model_of(model)
    dynamics.check_vehicle(model)
    if model.nq != model.nv + 1:
        raise ValueError(
            f"{model.name}: velocities of a ball or free joint on the vehicle are not coordinate rates; use closed_form"
        )
    xi = arguments.array(xi, ((model.nv,),), "xi", "position, Euler angles and joints")
    xi_rate = arguments.array(xi_rate, ((model.nv,),), "xi_rate", "rates of xi")
    R, (T, W, W_rate) = matrix_from_rpy(xi[3:6]), _rates(xi[3:6], xi_rate[3:6])
    q = np.concatenate([xi[:3], _quaternion(xi[3:6]), xi[6:]])
    v = np.concatenate([R.T @ xi_rate[:3], W @ xi_rate[3:6], xi_rate[6:]])
    J, inverse = _diagonal(R, T, np.eye(model.nv - 6)), _diagonal(R.T, W, np.eye(model.nv - 6))
    change = _diagonal(-skew(v[3:6]) @ R.T, W_rate, np.zeros((model.nv - 6, model.nv - 6)))  # d/dt J⁻¹ = −J⁻¹ J̇ J⁻¹
    terms = closed_form(model, q, v, **water)
    forces = (inverse.T @ force for force in (terms.D, terms.N, terms.F))
    M = terms.M
    return EulerForm(q, v, J, inverse, inverse.T @ M @ inverse, inverse.T @ (terms.C @ inverse + M @ change), *forces)


def _rates(angles: Array, rates: Array) -> tuple[Array, Array, Array]:
    """Return T(Θ) of eq. (26) with Θ̇ = T ω, W = T⁻¹ and Ẇ, shape (3, 3) each."""
    (sf, st), (cf, ct) = np.sin(angles[:2]), np.cos(angles[:2])
    roll, pitch = rates[:2]
    T = np.array([[1.0, sf * st / ct, cf * st / ct], [0.0, cf, -sf], [0.0, sf / ct, cf / ct]])
    W = np.array([[1.0, 0.0, -st], [0.0, cf, sf * ct], [0.0, -sf, cf * ct]])
    by_roll = np.array([[0.0, 0.0, 0.0], [0.0, -sf, cf * ct], [0.0, -cf, -sf * ct]])
    by_pitch = np.array([[0.0, 0.0, -ct], [0.0, 0.0, -sf * st], [0.0, 0.0, -cf * st]])
    return T, W, roll * by_roll + pitch * by_pitch


def _quaternion(angles: Array) -> Array:
    """Return the unit quaternion of Rz(yaw) Ry(pitch) Rx(roll), shape (4,)."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(0.5 * angles), np.sin(0.5 * angles)
    tilt = quaternion_product(np.array([cp, 0.0, sp, 0.0]), np.array([cr, sr, 0.0, 0.0]))
    return quaternion_product(np.array([cy, 0.0, 0.0, sy]), tilt)


def _diagonal(*blocks: Array) -> Array:
    """Return a matrix with square blocks along its diagonal."""
    widths = [len(block) for block in blocks]
    rows = [[np.zeros((m, n)) for n in widths] for m in widths]
    for i, block in enumerate(blocks):
        rows[i][i] = block
    return np.concatenate([np.concatenate(row, axis=1) for row in rows])
