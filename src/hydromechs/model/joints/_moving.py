"""The interface of a moving step: transformation, motion subspace and chart; the same for a sequence of steps."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hydromechs.spatial import Path
from hydromechs.values import Array, Scalar


class StepPlace(NamedTuple):
    """Indices of a step without numbers: the start of its coordinates and velocities."""

    iq: int
    iv: int


class MovingStep(abc.ABC):
    """A moving step of a joint: equations use only this interface of joints.

    `q` (nq,), `v` (nv,) and `u` (nv,) are its own coordinates, velocities and chart coordinates, floats or symbols. In axes of
    the frame after the step, V_J = S(q) v, so that V = X V_before + S v.
    """

    __slots__ = ()

    iq: int
    """Index of its first coordinate in the mechanism's q."""
    iv: int
    """Index of its first velocity in the mechanism's v."""
    nq: int
    """Number of its coordinates."""
    nv: int
    """Number of its velocities."""
    rows: tuple[int, ...] | None = None
    """Components of V_J that are its velocities up to sign; None if the subspace is general."""
    quaternion: int | None = None
    """Index of the first entry of a unit quaternion in its coordinates; None without one."""
    turning: tuple[int, ...] = ()
    """Coordinates on which the rate of its chart depends; none if chart coordinates add."""

    @property
    def at_q(self) -> slice:
        """Its slice of the mechanism's q."""
        return slice(self.iq, self.iq + self.nq)

    @property
    def at_v(self) -> slice:
        """Its slice of the mechanism's v."""
        return slice(self.iv, self.iv + self.nv)

    @property
    def chart_key(self) -> object:
        """Key that is equal for steps with the same chart."""
        return type(self)

    @abc.abstractmethod
    def transformation(self, q: Array) -> Any:
        """From the frame before it to the frame after it: a `Screw`, `Shift` or `Turn`."""

    @abc.abstractmethod
    def subspace(self, q: Array) -> Array:
        """S, shape (6, nv)."""

    def velocity(self, q: Array, v: Array) -> Array:
        """V_J = S v, shape (6,)."""
        return self.subspace(q) @ v

    def subspace_rate(self, q: Array, v: Array) -> Array | None:
        """dS/dt while it moves with v, shape (6, nv); None if S is constant."""
        return None

    def subspace_changes(self, q: Array) -> Array | None:
        """∂_k S along its velocities, [k, :, :], shape (nv, 6, nv); None if S is constant."""
        return None

    def brackets(self, q: Array) -> Array | None:
        """c with [e_i, e_j] = Σ_k c^k_ij e_k of the motions of its velocities, [k, i, j], shape (nv, nv, nv); None for 0."""
        return None

    def integrate(self, q: Array, v: Array, dt: Scalar) -> Array:
        """Return the coordinates after motion with the constant velocity `v` for `dt` [s], shape (nq,)."""
        return self.retract(q, v * dt)

    def displacement(self, q: Array, q_other: Array) -> Array:
        """Return the velocity that leads from `q` to `q_other` in unit time, shape (nv,)."""
        return self.difference(q, q_other)

    def retract(self, q: Array, u: Array) -> Array:
        """q ⊕ u, shape (nq,)."""
        return q + u

    def chart_rate(self, q: Array, u: Array, v: Array) -> Array:
        """u̇ at the configuration `q`, which has the chart coordinates `u` and moves with `v`, shape (nv,)."""
        return v

    def difference(self, q: Array, q_other: Array) -> Array:
        """u with q ⊕ u = q_other, shape (nv,)."""
        return q_other - q

    def turn(self, q: Array) -> Array | None:
        """Unit quaternions (4, n) of its rotation, smooth in the configuration, at coordinates (nq, n); None if unknown."""
        return None

    def opened(self) -> MovingStep:
        """Return the step with its numbers separate from its structure, so that loops over joints can share a program."""
        return self

    def without_axis(self) -> tuple[tuple, MovingStep, tuple]:
        """Return the same motion without a coordinate axis in its structure: constant, moving and constant steps."""
        return (), self, ()

    def without_offset(self) -> tuple[MovingStep, float]:
        """Return the step without its constant angle, and the offset of its coordinate that replaces it."""
        return self, 0.0


def transformation(step: Any, q: Array | Sequence[Scalar]) -> Any:
    """Return the transformation of a step at configuration `q` (nq,), floats or symbols."""
    return step.transformation(np.asarray(q[step.at_q])) if isinstance(step, MovingStep) else step


def motion_subspace(steps: Sequence[Any], transformations: Sequence[Any], q: Array | Sequence[Scalar]) -> Array:
    """S in V = X V_parent + S v of steps with their transformations, in axes of the body at its origin, shape (6, n)."""
    columns: list = []
    for step, X in zip(steps, transformations, strict=True):
        columns = [Path((X,)).motion(c) for c in columns]
        if isinstance(step, MovingStep):
            columns += list(step.subspace(np.asarray(q[step.at_q])).T)
    return np.stack(columns, axis=1) if columns else np.zeros((6, 0))


def free_rows(steps: Sequence[Any]) -> tuple[int, ...] | None:
    """Return the components of the body's motion that equal joint velocities up to sign; None if the subspace is general."""
    moving = [s for s in steps if isinstance(s, MovingStep)]
    if not moving:
        return ()
    return None if len(moving) > 1 or steps[-1] is not moving[0] else moving[0].rows
