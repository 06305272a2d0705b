"""Coordinates of the configurations around one of them, in which any Runge-Kutta method keeps its order (Munthe-Kaas 1999).

A configuration is q ⊕ u with u (nv,) from a vector space: angles and displacements add, orientations turn by the exponential
map, the position of a free joint moves in world axes. Every step of an integrator starts at u = 0 of a new chart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hydromechs.model import BallStep, FreeStep, HelicalStep, Model, PrismaticStep, RevoluteStep, SlideStep
from hydromechs.spatial import cross, quaternion_exp, quaternion_matrix, quaternion_product, turn_between
from hydromechs.values import Array

__all__ = ["chart_rate", "chart_rate_steps", "difference", "retract", "retract_steps"]

SERIES = (1.0 / 12.0, 1.0 / 720.0, 1.0 / 30240.0, 1.0 / 1209600.0, 1.0 / 47900160.0)
"""(1 − (θ/2) cot(θ/2))/θ² in powers of θ²; cut off, it is exact to 1e-9 at θ = 1 and to 1e-15 at 0.25."""


def retract(model: Model, q: Array, u: Array) -> Array:
    """q ⊕ u, shape (nq,).

    Args:
        model: The mechanism.
        q: Configuration at the centre of the chart, shape (nq,).
        u: Coordinates, shape (nv,).
    """
    return retract_steps(model.steps, q, u)


def retract_steps(joints: Sequence[Sequence[Any]], q: Array, u: Array) -> Array:
    """As `retract`, of some joints, each given by its steps.

    Args:
        joints: Steps of each joint.
        q: Configuration at the centre of the chart, shape (nq,).
        u: Coordinates, shape (nv,).
    """
    out = list(q)
    for steps in joints:
        for step in steps:
            match step:
                case RevoluteStep() | PrismaticStep() | HelicalStep() | SlideStep():
                    out[step.iq] = q[step.iq] + u[step.iv]
                case BallStep():
                    at = slice(step.iq, step.iq + 4)
                    out[at] = quaternion_product(q[at], quaternion_exp(u[step.iv : step.iv + 3]))
                case FreeStep():
                    at, turned = slice(step.iq + 3, step.iq + 7), u[step.iv + 3 : step.iv + 6]
                    out[step.iq : step.iq + 3] = [q[step.iq + k] + u[step.iv + k] for k in range(3)]
                    out[at] = quaternion_product(q[at], quaternion_exp(turned))
    return np.array(out)


def chart_rate(model: Model, q: Array, u: Array, v: Array) -> Array:
    """u̇ at the configuration q ⊕ u that moves with v, shape (nv,).

    Angles: u̇ = v. Orientations: u̇ = ω + ½ u × ω + c u × (u × ω), c = (1 − (θ/2) cot(θ/2))/θ², θ = |u|, the inverse of the
    derivative of the exponential map. Positions of free joints: u̇ = R(q ⊕ u) (u, v, w).

    Args:
        model: The mechanism.
        q: Configuration q ⊕ u itself, shape (nq,).
        u: Its coordinates, shape (nv,).
        v: Velocity, shape (nv,).
    """
    return chart_rate_steps(model.steps, q, u, v)


def chart_rate_steps(joints: Sequence[Sequence[Any]], q: Array, u: Array, v: Array) -> Array:
    """As `chart_rate`, of some joints, each given by its steps.

    Args:
        joints: Steps of each joint.
        q: Configuration q ⊕ u itself, shape (nq,).
        u: Its coordinates, shape (nv,).
        v: Velocity, shape (nv,).
    """
    out = list(v)
    for steps in joints:
        for step in steps:
            match step:
                case BallStep():
                    at = slice(step.iv, step.iv + 3)
                    out[at] = _turning(u[at], v[at])
                case FreeStep():
                    at = slice(step.iv + 3, step.iv + 6)
                    out[at] = _turning(u[at], v[at])
                    R = quaternion_matrix(q[step.iq + 3 : step.iq + 7])
                    out[step.iv : step.iv + 3] = R @ np.asarray(v[step.iv : step.iv + 3])
    return np.array(out)


def _turning(u: Array, w: Array) -> Array:
    """Rate of the exponential coordinates u of an orientation that turns with ω, shape (3,)."""
    u, w = np.asarray(u), np.asarray(w)
    square = u @ u
    c = SERIES[-1]
    for coefficient in reversed(SERIES[:-1]):
        c = c * square + coefficient
    across = cross(u, w)
    return w + 0.5 * across + c * cross(u, across)


def difference(model: Model, q: Array, q_other: Array) -> Array:
    """u with q ⊕ u = q_other; angles of orientations at most π, shape (nv,).

    Args:
        model: The mechanism.
        q: Configuration at the centre of the chart, shape (nq,).
        q_other: The other configuration, shape (nq,).
    """
    out: list = [0.0] * model.nv
    for steps in model.steps:
        for step in steps:
            match step:
                case RevoluteStep() | PrismaticStep() | HelicalStep() | SlideStep():
                    out[step.iv] = q_other[step.iq] - q[step.iq]
                case BallStep():
                    at = slice(step.iq, step.iq + 4)
                    out[step.iv : step.iv + 3] = turn_between(q[at], q_other[at])[0]
                case FreeStep():
                    at = slice(step.iq + 3, step.iq + 7)
                    out[step.iv : step.iv + 3] = [q_other[step.iq + k] - q[step.iq + k] for k in range(3)]
                    out[step.iv + 3 : step.iv + 6] = turn_between(q[at], q_other[at])[0]
    return np.array(out)
