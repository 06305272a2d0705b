"""The interface of a step that moves: transformation, motion subspace and chart; the same of a sequence of steps."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hydromechs.spatial import Path
from hydromechs.values import Array, Scalar


class StepPlace(NamedTuple):
    """Fields of a step without numbers: where its coordinates and velocities start."""

    iq: int
    iv: int


class MovingStep(abc.ABC):
    """A step of a joint that moves: the equations know joints through this interface only.

    `q` (nq,), `v` (nv,) and `u` (nv,) are its own coordinates, velocities and chart coordinates, floats or symbols. In axes of
    the frame right after it, it moves with V_J = S(q) v, so that V = X V_before + S v.
    """

    __slots__ = ()

    iq: int
    """Where its coordinates start in the mechanism's q."""
    iv: int
    """Where its velocities start in the mechanism's v."""
    nq: int
    """Number of its coordinates."""
    nv: int
    """Number of its velocities."""
    rows: tuple[int, ...] | None = None
    """Components of V_J that are its velocities up to sign; None where the subspace is general."""
    quaternion: int | None = None
    """Where a unit quaternion starts in its coordinates; None where there is none."""
    turning: tuple[int, ...] = ()
    """Coordinates on which the rate of its chart depends; none where chart coordinates just add."""

    @property
    def at_q(self) -> slice:
        """Its place in the mechanism's q."""
        return slice(self.iq, self.iq + self.nq)

    @property
    def at_v(self) -> slice:
        """Its place in the mechanism's v."""
        return slice(self.iv, self.iv + self.nv)

    @property
    def chart_key(self) -> object:
        """Equal for steps with the same chart."""
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
        """dS/dt while it moves with v, shape (6, nv); None where S is constant."""
        return None

    def subspace_changes(self, q: Array) -> Array | None:
        """∂_k S along its velocities, [k, :, :], shape (nv, 6, nv); None where S is constant."""
        return None

    def brackets(self, q: Array) -> Array | None:
        """c with [e_i, e_j] = Σ_k c^k_ij e_k of the motions of its velocities, [k, i, j], shape (nv, nv, nv); None for 0."""
        return None

    def integrate(self, q: Array, v: Array, dt: Scalar) -> Array:
        """Coordinates after moving with the constant velocity `v` for `dt` [s], shape (nq,)."""
        return self.retract(q, v * dt)

    def displacement(self, q: Array, q_other: Array) -> Array:
        """The velocity that leads from `q` to `q_other` in unit time, shape (nv,)."""
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
        """The step with its numbers apart from its structure, so that loops over joints can share a program."""
        return self

    def without_axis(self) -> tuple[tuple, MovingStep, tuple]:
        """The same motion without a coordinate axis in its structure: constant steps, the step that moves, constant steps."""
        return (), self, ()

    def without_offset(self) -> tuple[MovingStep, float]:
        """The step without its constant angle, and what its coordinate adds instead."""
        return self, 0.0


def transformation(step: Any, q: Array | Sequence[Scalar]) -> Any:
    """The transformation that a step is at configuration `q` (nq,), floats or symbols."""
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
    """Components of the body's motion that are the joint's own velocities up to sign, or None if the subspace is general."""
    moving = [s for s in steps if isinstance(s, MovingStep)]
    if not moving:
        return ()
    return None if len(moving) > 1 or steps[-1] is not moving[0] else moving[0].rows
