"""Configurations that a constant velocity reaches, and the constant velocity that reaches a configuration."""

from __future__ import annotations

import numpy as np

from hydromechs.model import Model
from hydromechs.values import Array, Scalar

from ._chart import moving_steps


def integrate(model: Model, q: Array, v: Array, dt: Scalar) -> Array:
    """Configuration after moving with the constant velocity `v` for `dt` [s], on the manifold, shape (nq,).

    Quaternions advance by the exponential map, q ⊗ exp(ω dt / 2); the position of a free joint by the exponential of
    SE(3), p + R J_l(φ) u dt with φ = ω dt and J_l = 1 + (1 − cos φ)/φ² φ̃ + (φ − sin φ)/φ³ φ̃²; a joint of a user's own by its
    chart.
    """
    out = list(q)
    for step in moving_steps(model):
        out[step.at_q] = step.integrate(np.asarray(q[step.at_q]), np.asarray(v[step.at_v]), dt)
    return np.array(out)


def displacement(model: Model, q: Array, q_other: Array) -> Array:
    """The velocity that leads from `q` to `q_other` in unit time: integrate(q, displacement, 1) = q_other, shape (nv,).

    Orientations turn by φ, the shorter way. The position of a free joint goes by u = J_l⁻¹(φ) Rᵀ (p_other − p), with

        J_l⁻¹ = 1 − ½ φ̃ + c φ̃²,    c = (1 − (θ/2) cot(θ/2))/θ²,    θ = |φ|
    """
    out: list[Scalar] = [0.0] * model.nv
    for step in moving_steps(model):
        out[step.at_v] = step.displacement(np.asarray(q[step.at_q]), np.asarray(q_other[step.at_q]))
    return np.array(out)
