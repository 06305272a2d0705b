"""Configurations that a constant velocity reaches, and the constant velocity that reaches a configuration."""

from __future__ import annotations

import numpy as np

from hydromechs.model import BallStep, FreeStep, HelicalStep, Model, PrismaticStep, RevoluteStep, SlideStep
from hydromechs.spatial import cross, quaternion_exp, quaternion_matrix, quaternion_product, turn_between, where
from hydromechs.values import Array, Scalar

from ._chart import SERIES

__all__ = ["displacement", "integrate"]

SMALL = 0.0625
"""θ² below which the series of `SERIES` is exact to rounding."""


def integrate(model: Model, q: Array, v: Array, dt: Scalar) -> Array:
    """Configuration after moving with the constant velocity `v` for `dt` [s], on the manifold, shape (nq,).

    Quaternions advance by the exponential map, q ⊗ exp(ω dt / 2); the position of a free joint by the exponential of
    SE(3), p + R J_l(φ) u dt with φ = ω dt and J_l = 1 + (1 − cos φ)/φ² φ̃ + (φ − sin φ)/φ³ φ̃².
    """
    out = list(q)
    for steps in model.steps:
        for step in steps:
            match step:
                case RevoluteStep() | PrismaticStep() | HelicalStep() | SlideStep():
                    out[step.iq] = q[step.iq] + v[step.iv] * dt
                case BallStep():
                    turn = quaternion_exp(np.asarray(v[step.iv : step.iv + 3]) * dt)
                    out[step.iq : step.iq + 4] = quaternion_product(q[step.iq : step.iq + 4], turn)
                case FreeStep():
                    u, phi = (np.asarray(v[step.iv + k : step.iv + k + 3]) * dt for k in (0, 3))
                    turn = quaternion_exp(phi)
                    # |φ|² as in `norm`, which keeps φ = 0 finite; there the two factors are 1/2 and irrelevant
                    square = phi[0] * phi[0] + phi[1] * phi[1] + phi[2] * phi[2] + 1e-300
                    sinc_half = 2.0 * np.sin(0.5 * np.sqrt(square)) / np.sqrt(square)
                    first = 0.5 * sinc_half * sinc_half
                    second = (1.0 - np.sin(np.sqrt(square)) / np.sqrt(square)) / square
                    across = cross(phi, u)
                    moved = u + first * across + second * cross(phi, across)
                    at = slice(step.iq + 3, step.iq + 7)
                    out[step.iq : step.iq + 3] = np.asarray(q[step.iq : step.iq + 3]) + quaternion_matrix(q[at]) @ moved
                    out[at] = quaternion_product(q[at], turn)
    return np.array(out)


def displacement(model: Model, q: Array, q_other: Array) -> Array:
    """The velocity that leads from `q` to `q_other` in unit time: integrate(q, displacement, 1) = q_other, shape (nv,).

    Orientations turn by φ, the shorter way. The position of a free joint goes by u = J_l⁻¹(φ) Rᵀ (p_other − p), with

        J_l⁻¹ = 1 − ½ φ̃ + c φ̃²,    c = (1 − (θ/2) cot(θ/2))/θ²,    θ = |φ|

    Args:
        model: The mechanism.
        q: Configuration to start at, shape (nq,).
        q_other: Configuration to reach, shape (nq,).
    """
    out: list[Scalar] = [0.0] * model.nv
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
                    phi, half_cot = turn_between(q[at], q_other[at])
                    moved = np.asarray(q_other[step.iq : step.iq + 3]) - np.asarray(q[step.iq : step.iq + 3])
                    d = quaternion_matrix(q[at]).T @ moved
                    square = phi @ phi
                    series: Scalar = 0.0
                    for coefficient in reversed(SERIES):
                        series = series * square + coefficient
                    c = where(square < SMALL, series, (1.0 - half_cot) / (square + 1e-300))
                    across = cross(phi, d)
                    out[step.iv : step.iv + 3] = d - 0.5 * across + c * cross(phi, across)
                    out[step.iv + 3 : step.iv + 6] = phi
    return np.array(out)
