"""Manifold of configurations: motion with a constant velocity, and coordinates around a configuration.

In these coordinates every Runge-Kutta method keeps its order (Munthe-Kaas 1999). A configuration is q ⊕ u with u (nv,) in a
vector space. Angles and displacements add, orientations rotate by the exponential map, the position of a free joint moves in
world axes, and a custom joint moves in its own chart. Every integration step starts at u = 0 of a new chart.
"""

from collections.abc import Iterator

import numpy as np

from hydromechs.model import Model, MovingStep
from hydromechs.values import Array, Scalar


def moving_steps(model: Model) -> Iterator[MovingStep]:
    """Return the moving steps of all joints."""
    return (step for steps in model.steps for step in steps if isinstance(step, MovingStep))


def retract(model: Model, q: Array, u: Array) -> Array:
    """Return q ⊕ u, shape (nq,), for the coordinates u (nv,) in the chart around q."""
    out = list(q)
    for step in moving_steps(model):
        out[step.at_q] = step.retract(np.asarray(q[step.at_q]), np.asarray(u[step.at_v]))
    return np.array(out)


def chart_rate(model: Model, q: Array, u: Array, v: Array) -> Array:
    """Return u̇ at the configuration q = (centre ⊕ u) with the velocity v, shape (nv,).

    Angles: u̇ = v. Orientations: u̇ = ω + ½ u × ω + c u × (u × ω), c = (1 − (θ/2) cot(θ/2))/θ², θ = |u|; this is the inverse of
    the derivative of the exponential map. Positions of free joints: u̇ = R(q ⊕ u) (u, v, w).
    """
    out = list(v)
    for step in moving_steps(model):
        if step.turning:
            at = step.at_v
            out[at] = step.chart_rate(np.asarray(q[step.at_q]), np.asarray(u[at]), np.asarray(v[at]))
    return np.array(out)


def difference(model: Model, q: Array, q_other: Array) -> Array:
    """Return u with q ⊕ u = q_other, in the chart around q, shape (nv,); rotation angles are at most π."""
    out: list = [0.0] * model.nv
    for step in moving_steps(model):
        out[step.at_v] = step.difference(np.asarray(q[step.at_q]), np.asarray(q_other[step.at_q]))
    return np.array(out)


def integrate(model: Model, q: Array, v: Array, dt: Scalar) -> Array:
    """Return the configuration after motion with the constant velocity `v` for `dt` [s], on the manifold, shape (nq,).

    Quaternions advance by the exponential map, q ⊗ exp(ω dt / 2). The position of a free joint advances by the exponential of
    SE(3), p + R J_l(φ) u dt with φ = ω dt and J_l = 1 + (1 − cos φ)/φ² φ̃ + (φ − sin φ)/φ³ φ̃². A custom joint advances in its
    own chart.
    """
    out = list(q)
    for step in moving_steps(model):
        out[step.at_q] = step.integrate(np.asarray(q[step.at_q]), np.asarray(v[step.at_v]), dt)
    return np.array(out)


def displacement(model: Model, q: Array, q_other: Array) -> Array:
    """Return the velocity that leads from `q` to `q_other` in unit time, shape (nv,).

    The result satisfies integrate(q, displacement, 1) = q_other. Orientations rotate by φ along the shorter path. The position
    of a free joint moves by u = J_l⁻¹(φ) Rᵀ (p_other − p), with

        J_l⁻¹ = 1 − ½ φ̃ + c φ̃²,    c = (1 − (θ/2) cot(θ/2))/θ²,    θ = |φ|
    """
    out: list[Scalar] = [0.0] * model.nv
    for step in moving_steps(model):
        out[step.at_v] = step.displacement(np.asarray(q[step.at_q]), np.asarray(q_other[step.at_q]))
    return np.array(out)
