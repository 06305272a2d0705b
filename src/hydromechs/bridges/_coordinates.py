"""Conversion between our coordinates and those of third-party programs.

Three things can differ: the order of the joints (other programs need contiguous subtrees), the order of a quaternion's
numbers, and the axes of a free joint's linear velocity. With P the permutation of degrees of freedom and R(q) the rotation of
a free joint in the world,

    v' = P B(q) v,    τ' = P B(q) τ,    v̇' = P (B(q) v̇ + Ḃ v)

where B is 1 except for the linear velocity of free joints that the other program expresses in world axes; there it is R, and Ḃ
v = R (ω × u).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hydromechs.model import Model
from hydromechs.spatial import quaternion_matrix, quaternion_product
from hydromechs.values import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeJoint:
    """Free joint whose position and velocity the other program expresses in the world."""

    q: slice
    """Its indices in our q."""
    v: slice
    """Its indices in our v."""
    p: Array
    """Origin of its joint frame in the world [m], shape (3,)."""
    quaternion: Array
    """Axes of its joint frame in the world, as (w, x, y, z), shape (4,)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinateMap:
    """Order and signs of coordinates in a third-party program, for single states; methods named `our_...` convert back."""

    model: Model
    q_of: Array
    """Index in their q of each entry of ours, quaternions entry by entry, shape (nq,)."""
    v_of: Array
    """Index in their v and tau of each entry of ours, shape (nv,)."""
    in_world: tuple[FreeJoint, ...] = ()
    """Free joints whose linear velocity they express in world axes."""

    def q(self, q: ArrayLike) -> Array:
        """Configuration in their order, from ours, shape (nq,)."""
        ours = _row(q, self.model.nq, "q").copy()
        for joint in self.in_world:
            p, turn = ours[joint.q][:3], ours[joint.q][3:]
            place = joint.p + quaternion_matrix(joint.quaternion) @ p
            ours[joint.q] = np.concatenate([place, quaternion_product(joint.quaternion, turn)])
        return _put(ours, self.q_of)

    def v(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Their velocity, shape (nv,)."""
        return _put(self._turned(_row(q, self.model.nq, "q"), _row(v, self.model.nv, "v")), self.v_of)

    def tau(self, q: ArrayLike, tau: ArrayLike) -> Array:
        """Their generalised force from ours, dual to their velocity, shape (nv,)."""
        return _put(self._turned(_row(q, self.model.nq, "q"), _row(tau, self.model.nv, "tau")), self.v_of)

    def vdot(self, q: ArrayLike, v: ArrayLike, vdot: ArrayLike) -> Array:
        """Time derivative of their velocity coordinates from ours, shape (nv,)."""
        q, v, vdot = _row(q, self.model.nq, "q"), _row(v, self.model.nv, "v"), _row(vdot, self.model.nv, "vdot")
        return _put(self._turned(q, vdot + self._drift(v)), self.v_of)

    def our_q(self, theirs: ArrayLike) -> Array:
        """Configuration in our order, from theirs, shape (nq,)."""
        q = _row(theirs, self.model.nq, "q")[self.q_of]
        for joint in self.in_world:
            back = joint.quaternion * np.array([1.0, -1.0, -1.0, -1.0])
            place = quaternion_matrix(back) @ (q[joint.q][:3] - joint.p)
            q[joint.q] = np.concatenate([place, quaternion_product(back, q[joint.q][3:])])
        return q

    def our_v(self, q: ArrayLike, theirs: ArrayLike) -> Array:
        """Velocity in our order, from theirs, shape (nv,)."""
        return self._turned_back(_row(q, self.model.nq, "q"), _row(theirs, self.model.nv, "v"))

    def our_tau(self, q: ArrayLike, theirs: ArrayLike) -> Array:
        """Our generalised force from theirs, shape (nv,)."""
        return self._turned_back(_row(q, self.model.nq, "q"), _row(theirs, self.model.nv, "tau"))

    def our_vdot(self, q: ArrayLike, v: ArrayLike, theirs: ArrayLike) -> Array:
        """Time derivative of our velocity coordinates from theirs, shape (nv,)."""
        q, v = _row(q, self.model.nq, "q"), _row(v, self.model.nv, "v")
        return self._turned_back(q, _row(theirs, self.model.nv, "vdot")) - self._drift(v)

    def matrix(self, q: ArrayLike) -> Array:
        """T with v' = T v and τ' = T τ; orthogonal, so that their mass matrix is T M Tᵀ, shape (nv, nv)."""
        return np.stack([self.v(q, unit) for unit in np.eye(self.model.nv)], axis=1) if self.model.nv else np.zeros((0, 0))

    def _rotation(self, joint: FreeJoint, q: Array) -> Array:
        return quaternion_matrix(joint.quaternion) @ quaternion_matrix(q[joint.q][3:])

    def _turned(self, q: Array, x: Array) -> Array:
        """B x, shape (nv,)."""
        out = x.copy()
        for joint in self.in_world:
            at = slice(joint.v.start, joint.v.start + 3)
            out[at] = self._rotation(joint, q) @ x[at]
        return out

    def _turned_back(self, q: Array, theirs: Array) -> Array:
        """B⁻¹ Pᵀ of their numbers, shape (nv,)."""
        out = theirs[self.v_of]
        for joint in self.in_world:
            at = slice(joint.v.start, joint.v.start + 3)
            out[at] = self._rotation(joint, q).T @ out[at]
        return out

    def _drift(self, v: Array) -> Array:
        """B⁻¹ Ḃ v = ω × u of free joints, shape (nv,)."""
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
