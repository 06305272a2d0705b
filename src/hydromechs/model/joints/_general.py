"""Step of a joint that is given by pose, motion subspace, subspace derivative and chart."""

from __future__ import annotations

import copy
from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hydromechs.errors import UnsupportedFeature
from hydromechs.spatial import Turn, ldl, motion_cross
from hydromechs.values import Array

from ._moving import MovingStep

if TYPE_CHECKING:
    from ._joint import Joint


def _plain(given: Any) -> Array:
    """Return the result of a joint method as an array; of floats if all entries are numbers."""
    out = np.asarray(given)
    if out.dtype == object and all(isinstance(x, int | float) for x in out.ravel()):
        return out.astype(float)
    return out


class _OfJoint(MovingStep):
    """Step defined by the methods of a joint."""

    __slots__ = ()
    joint: Joint

    def _asked(self, name: str, *given: Array) -> Any:
        """Return the result of a joint method; raise `UnsupportedFeature` if the method fails on symbols."""
        try:
            return getattr(self.joint, name)(*given)
        except (TypeError, AttributeError) as e:
            if all(np.asarray(x).dtype != object for x in given):
                raise
            remedy = "use NumPy functions, such as np.cos(q[0]), and hydromechs.spatial.where for branches"
            if isinstance(self, OpenStep):
                remedy += (
                    "; this also applies to fields, which are inputs of the rolled form; or compile with form='specialised'"
                )
            raise UnsupportedFeature(f"method {name} of joint type {self.joint.kind} cannot be traced: {e}; {remedy}") from e

    @property
    def nq(self) -> int:  # type: ignore[override]
        """Number of coordinates of the joint."""
        return self.joint.nq

    @property
    def nv(self) -> int:  # type: ignore[override]
        """Number of velocities of the joint."""
        return self.joint.nv

    @property
    def quaternion(self) -> int | None:  # type: ignore[override]
        """Index of the first entry of a unit quaternion in the coordinates; None without a quaternion."""
        return self.joint.quaternion

    @property
    def turning(self) -> tuple[int, ...]:  # type: ignore[override]
        return () if self.joint.adds else tuple(range(self.nq))

    @property
    def chart_key(self) -> object:
        """Unique key of the joint, because the chart may depend on the numbers of the joint."""
        return type(self), id(self.joint)

    def transformation(self, q: Array) -> Turn:
        R, p = self._asked("pose", q)
        return Turn(_plain(R), _plain(p))

    def subspace(self, q: Array) -> Array:
        return _plain(self._asked("subspace", q))

    def subspace_rate(self, q: Array, v: Array) -> Array:
        return _plain(self._asked("subspace_rate", q, v))

    def subspace_changes(self, q: Array) -> Array:
        """Return dS/dt for a unit value of each velocity in turn, shape (nv, 6, nv)."""
        return np.stack([self.subspace_rate(q, unit) for unit in np.eye(self.nv)])

    def brackets(self, q: Array) -> Array | None:
        """Return the structure coefficients c_ij from S c_ij = ∂_i S_j − ∂_j S_i + S_i × S_j; None if all are 0.

        The equation is valid because poses form a group. Rates of coordinates have zero coefficients.
        """
        n = self.nv
        if n == 1 or self.joint.adds:
            return None
        S = self.subspace(q)
        changes, normal = self.subspace_changes(q), ldl(S.T @ S)
        out: Array = np.zeros((n, n, n), dtype=object)
        for i in range(n):
            for j in range(i):
                out[:, i, j] = normal.solve(S.T @ (changes[i][:, j] - changes[j][:, i] + motion_cross(S[:, i], S[:, j])))
                out[:, j, i] = -out[:, i, j]
        return out if S.dtype == object else out.astype(float)

    def retract(self, q: Array, u: Array) -> Array:
        return _plain(self._asked("retract", q, u))

    def chart_rate(self, q: Array, u: Array, v: Array) -> Array:
        return _plain(self._asked("chart_rate", q, u, v))

    def difference(self, q: Array, q_other: Array) -> Array:
        return _plain(self._asked("difference", q, q_other))


class _GeneralFields(NamedTuple):
    joint: Joint
    iq: int
    iv: int


class GeneralStep(_GeneralFields, _OfJoint):
    """Step of a joint, with the numbers of the joint as constants."""

    __slots__ = ()

    def opened(self) -> GeneralStep | OpenStep:
        """Return the step with separate fields; the step itself if the joint stores more than its fields."""
        joint = self.joint
        names = tuple(f.name for f in fields(joint) if f.name not in joint.data)
        if set(getattr(joint, "__dict__", {})) - {f.name for f in fields(joint)}:
            return self
        return OpenStep(type(joint), names, tuple(copy.copy(getattr(joint, name)) for name in names), self.iq, self.iv)


class _OpenFields(NamedTuple):
    kind: type
    names: tuple[str, ...]
    values: tuple[Any, ...]
    iq: int
    iv: int


class OpenStep(_OpenFields, _OfJoint):
    """Step of a joint with separate fields, so that joints with different numbers can share a structure."""

    __slots__ = ()

    @property
    def joint(self) -> Joint:  # type: ignore[override]
        """Joint with the separate fields, which may be symbols; fields are not checked."""
        out: Joint = object.__new__(self.kind)
        for name, value in zip(self.names, self.values, strict=True):
            object.__setattr__(out, name, value)
        return out
