"""The interface of a moving step: transformation, motion subspace and chart; functions for sequences of steps."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hydromechs.spatial import Path
from hydromechs.values import Array, Scalar


class StepPlace(NamedTuple):
    """Indices of a step without numbers: the first index of its coordinates and of its velocities."""

    iq: int
    iv: int


class MovingStep(abc.ABC):
    """Moving step of a joint. The equations use joints only through this interface.

    `q` (nq,), `v` (nv,) and `u` (nv,) are coordinates, velocities and chart coordinates of the step, floats or symbols. The
    joint velocity V_J = S(q) v is in axes of the frame after the step, so that V = X V_before + S v.
    """

    __slots__ = ()

    iq: int
    """Index of the first coordinate in the mechanism's q."""
    iv: int
    """Index of the first velocity in the mechanism's v."""
    nq: int
    """Number of coordinates."""
    nv: int
    """Number of velocities."""
    rows: tuple[int, ...] | None = None
    """Components of V_J that equal the velocities up to sign; None if the motion subspace is general."""
    quaternion: int | None = None
    """Index of the first entry of a unit quaternion in the coordinates; None without a quaternion."""
    turning: tuple[int, ...] = ()
    """Coordinates that affect the chart rate; empty if the chart adds coordinates."""

    @property
    def at_q(self) -> slice:
        """Slice of the step in the mechanism's q."""
        return slice(self.iq, self.iq + self.nq)

    @property
    def at_v(self) -> slice:
        """Slice of the step in the mechanism's v."""
        return slice(self.iv, self.iv + self.nv)

    @property
    def chart_key(self) -> object:
        """Key that is equal for steps with equal charts."""
        return type(self)

    @abc.abstractmethod
    def transformation(self, q: Array) -> Any:
        """Return the transformation from the frame before the step to the frame after it: a `Screw`, `Shift` or `Turn`."""

    @abc.abstractmethod
    def subspace(self, q: Array) -> Array:
        """Return the motion subspace S, shape (6, nv)."""

    def velocity(self, q: Array, v: Array) -> Array:
        """Return the joint velocity V_J = S v, shape (6,)."""
        return self.subspace(q) @ v

    def subspace_rate(self, q: Array, v: Array) -> Array | None:
        """Return dS/dt while the step moves with v, shape (6, nv); None if S is constant."""
        return None

    def subspace_changes(self, q: Array) -> Array | None:
        """Return the derivatives ∂_k S along the velocities, indexed [k, :, :], shape (nv, 6, nv); None if S is constant."""
        return None

    def brackets(self, q: Array) -> Array | None:
        """Return c^k_ij of the Lie brackets [e_i, e_j] = Σ_k c^k_ij e_k as [k, i, j], shape (nv, nv, nv); None if zero."""
        return None

    def integrate(self, q: Array, v: Array, dt: Scalar) -> Array:
        """Return the coordinates after motion with the constant velocity `v` for `dt` [s], shape (nq,)."""
        return self.retract(q, v * dt)

    def displacement(self, q: Array, q_other: Array) -> Array:
        """Return the constant velocity that moves `q` to `q_other` in unit time, shape (nv,)."""
        return self.difference(q, q_other)

    def retract(self, q: Array, u: Array) -> Array:
        """Return the configuration q ⊕ u, shape (nq,)."""
        return q + u

    def chart_rate(self, q: Array, u: Array, v: Array) -> Array:
        """Return u̇ at the configuration `q` with chart coordinates `u` and velocity `v`, shape (nv,)."""
        return v

    def difference(self, q: Array, q_other: Array) -> Array:
        """Return the chart coordinates u with q ⊕ u = q_other, shape (nv,)."""
        return q_other - q

    def turn(self, q: Array) -> Array | None:
        """Return unit quaternions (4, n) of the rotation, smooth in the coordinates (nq, n); None if unavailable."""
        return None

    def opened(self) -> MovingStep:
        """Return the step with numbers separate from the structure, so that loops over joints can share a program."""
        return self

    def without_axis(self) -> tuple[tuple, MovingStep, tuple]:
        """Return constant, moving and constant steps with the same motion, whose structure has no coordinate axis."""
        return (), self, ()

    def without_offset(self) -> tuple[MovingStep, float]:
        """Return the step without its constant angle, and the offset of its coordinate that replaces this angle."""
        return self, 0.0


def transformation(step: Any, q: Array | Sequence[Scalar]) -> Any:
    """Return the transformation of a step at configuration `q` (nq,), floats or symbols."""
    return step.transformation(np.asarray(q[step.at_q])) if isinstance(step, MovingStep) else step


def motion_subspace(steps: Sequence[Any], transformations: Sequence[Any], q: Array | Sequence[Scalar]) -> Array:
    """Return S of V = X V_parent + S v for a sequence of steps, in body axes at the body origin, shape (6, n)."""
    columns: list = []
    for step, X in zip(steps, transformations, strict=True):
        columns = [Path((X,)).motion(c) for c in columns]
        if isinstance(step, MovingStep):
            columns += list(step.subspace(np.asarray(q[step.at_q])).T)
    return np.stack(columns, axis=1) if columns else np.zeros((6, 0))


def free_rows(steps: Sequence[Any]) -> tuple[int, ...] | None:
    """Return the components of the body velocity that equal joint velocities up to sign; None if the subspace is general."""
    moving = [s for s in steps if isinstance(s, MovingStep)]
    if not moving:
        return ()
    return None if len(moving) > 1 or steps[-1] is not moving[0] else moving[0].rows
