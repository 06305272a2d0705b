"""Conversion between the coordinates of HydroMechs and of third-party programs.

The order of the joints can differ, because third-party programs require contiguous subtrees. The order of the numbers in a
quaternion, and the axes of the linear velocity of a free joint, can also differ. Let P be the permutation of degrees of
freedom and R(q) the rotation of a free joint in the world. Primed quantities belong to the third-party program:

    v' = P B(q) v,    τ' = P B(q) τ,    v̇' = P (B(q) v̇ + Ḃ v)

B is 1 except for the linear velocity of free joints that the third-party program expresses in world axes; for these rows, B
is R and Ḃ v = R (ω × u).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hydromechs.model import Model
from hydromechs.spatial import quaternion_matrix, quaternion_product
from hydromechs.values import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeJoint:
    """Free joint whose position and velocity the third-party program expresses in world axes."""

    q: slice
    """Indices of the joint in q of HydroMechs."""
    v: slice
    """Indices of the joint in v of HydroMechs."""
    p: Array
    """Origin of the joint frame in the world [m], shape (3,)."""
    quaternion: Array
    """Axes of the joint frame in the world, as a quaternion (w, x, y, z), shape (4,)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinateMap:
    """Order and axes of coordinates in a third-party program, for single states; `our_...` converts to HydroMechs."""

    model: Model
    q_of: Array
    """Index in the third-party q of each entry of q, including the entries of quaternions, shape (nq,)."""
    v_of: Array
    """Index in the third-party v and tau of each entry of v, shape (nv,)."""
    in_world: tuple[FreeJoint, ...] = ()
    """Free joints whose linear velocity the third-party program expresses in world axes."""

    def q(self, q: ArrayLike) -> Array:
        """Return the configuration of the third-party program, shape (nq,)."""
        ours = _row(q, self.model.nq, "q").copy()
        for joint in self.in_world:
            p, turn = ours[joint.q][:3], ours[joint.q][3:]
            place = joint.p + quaternion_matrix(joint.quaternion) @ p
            ours[joint.q] = np.concatenate([place, quaternion_product(joint.quaternion, turn)])
        return _put(ours, self.q_of)

    def v(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the velocity of the third-party program, shape (nv,)."""
        return _put(self._turned(_row(q, self.model.nq, "q"), _row(v, self.model.nv, "v")), self.v_of)

    def tau(self, q: ArrayLike, tau: ArrayLike) -> Array:
        """Return the generalised force of the third-party program, dual to its velocity, shape (nv,)."""
        return _put(self._turned(_row(q, self.model.nq, "q"), _row(tau, self.model.nv, "tau")), self.v_of)

    def vdot(self, q: ArrayLike, v: ArrayLike, vdot: ArrayLike) -> Array:
        """Return the time derivative of the velocity coordinates of the third-party program, shape (nv,)."""
        q, v, vdot = _row(q, self.model.nq, "q"), _row(v, self.model.nv, "v"), _row(vdot, self.model.nv, "vdot")
        return _put(self._turned(q, vdot + self._drift(v)), self.v_of)

    def our_q(self, theirs: ArrayLike) -> Array:
        """Return the configuration in HydroMechs from the third-party configuration, shape (nq,)."""
        q = _row(theirs, self.model.nq, "q")[self.q_of]
        for joint in self.in_world:
            back = joint.quaternion * np.array([1.0, -1.0, -1.0, -1.0])
            place = quaternion_matrix(back) @ (q[joint.q][:3] - joint.p)
            q[joint.q] = np.concatenate([place, quaternion_product(back, q[joint.q][3:])])
        return q

    def our_v(self, q: ArrayLike, theirs: ArrayLike) -> Array:
        """Return the velocity in HydroMechs from the third-party velocity, shape (nv,)."""
        return self._turned_back(_row(q, self.model.nq, "q"), _row(theirs, self.model.nv, "v"))

    def our_tau(self, q: ArrayLike, theirs: ArrayLike) -> Array:
        """Return the generalised force in HydroMechs from the third-party generalised force, shape (nv,)."""
        return self._turned_back(_row(q, self.model.nq, "q"), _row(theirs, self.model.nv, "tau"))

    def our_vdot(self, q: ArrayLike, v: ArrayLike, theirs: ArrayLike) -> Array:
        """Return the time derivative of v in HydroMechs from its third-party counterpart, shape (nv,)."""
        q, v = _row(q, self.model.nq, "q"), _row(v, self.model.nv, "v")
        return self._turned_back(q, _row(theirs, self.model.nv, "vdot")) - self._drift(v)

    def matrix(self, q: ArrayLike) -> Array:
        """Return T with v' = T v and τ' = T τ, shape (nv, nv); T is orthogonal, and the third-party mass matrix is T M Tᵀ."""
        return np.stack([self.v(q, unit) for unit in np.eye(self.model.nv)], axis=1) if self.model.nv else np.zeros((0, 0))

    def _rotation(self, joint: FreeJoint, q: Array) -> Array:
        return quaternion_matrix(joint.quaternion) @ quaternion_matrix(q[joint.q][3:])

    def _turned(self, q: Array, x: Array) -> Array:
        """Return B x, shape (nv,)."""
        out = x.copy()
        for joint in self.in_world:
            at = slice(joint.v.start, joint.v.start + 3)
            out[at] = self._rotation(joint, q) @ x[at]
        return out

    def _turned_back(self, q: Array, theirs: Array) -> Array:
        """Return B⁻¹ Pᵀ x for a third-party vector x, shape (nv,)."""
        out = theirs[self.v_of]
        for joint in self.in_world:
            at = slice(joint.v.start, joint.v.start + 3)
            out[at] = self._rotation(joint, q).T @ out[at]
        return out

    def _drift(self, v: Array) -> Array:
        """Return B⁻¹ Ḃ v, which is ω × u for free joints, shape (nv,)."""
        out = np.zeros(len(v))
        for joint in self.in_world:
            out[joint.v.start : joint.v.start + 3] = np.cross(v[joint.v][3:], v[joint.v][:3])
        return out


def _row(values: ArrayLike, n: int, name: str) -> Array:
    row = np.asarray(values, dtype=float)
    if row.shape != (n,):
        raise ValueError(f"{name} has shape {row.shape}, must be ({n},)")
    return row


def _put(ours: Array, places: Array) -> Array:
    out = np.empty(len(places))
    out[places] = ours
    return out
