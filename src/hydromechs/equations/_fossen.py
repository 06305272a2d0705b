"""Damping and restoring force, D and g of  M(q) v̇ + C(q, v) v + D(q, v) + g(q) + F = τ  for a tree in water; linearisation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hydromechs import dynamics, hydro
from hydromechs.model import Hydro, Model
from hydromechs.spatial import cross
from hydromechs.values import Array

from . import _arguments as arguments
from ._balance import in_water


def damping_force(model: Model, q: ArrayLike, v: ArrayLike, *, fluid_velocity: ArrayLike | None = None) -> Array:
    """D(q, v): the water's damping as a generalised force on the left-hand side, so that D · v ≥ 0 in still water, shape (nv,).

    `model`, `q`, `v` and `fluid_velocity` are those of `forward_dynamics`.
    """
    model, q, v = arguments.state(model, q, v)
    kin, motions = in_water(model, q, v, arguments.fluid(model, fluid_velocity, "fluid_velocity"), np.zeros(3))
    wrenches = []
    for body, motion in zip(model.bodies, motions, strict=True):
        F = np.zeros(6)
        if isinstance(body.hydro, Hydro):
            F = hydro.viscous_wrench(body, motion)
        elif body.hydro is not None:  # what of a user's own force depends on the velocity
            F = hydro.viscous_wrench(body, motion) - hydro.viscous_wrench(body, motion._replace(velocity=0.0 * motion.velocity))
        wrenches.append(-F)
    return dynamics.generalized_force(model, kin, wrenches)


def restoring_force(model: Model, q: ArrayLike) -> Array:
    """g(q): weight and buoyancy as a generalised force on the left-hand side, in still water, shape (nv,).

    `model` is the mechanism, `q` its configuration, shape (nq,).
    """
    model = arguments.model_of(model)
    kin, motions = in_water(model, arguments.configuration(model, q), np.zeros(model.nv), np.zeros(3), np.zeros(3))
    wrenches = []
    for body, motion, rigid in zip(model.bodies, motions, model.rigid, strict=True):
        F = np.zeros(6)
        if rigid is not None:  # the weight, −m (−g) at the centre of mass
            F = -np.concatenate([rigid.mass * motion.a_fg, cross(rigid.first_moment, motion.a_fg)])
        if isinstance(body.hydro, Hydro):
            F = F + hydro.total_buoyancy(body, motion)
        elif body.hydro is not None:
            F = F + hydro.viscous_wrench(body, motion)
        wrenches.append(-F)
    return dynamics.generalized_force(model, kin, wrenches)


def velocity_coupling(model: Model, q: Array, v: Array) -> Array:
    """K with d/dt δ = δv + K δ for a displacement δ in tangent coordinates: −[v, ·] of each joint's own group, shape (nv, nv).

    A displacement exp(δ) in front of a moving frame is carried along by the frame's velocity: δ̇ = δv − v × δ for a free
    joint, δ̇ = δv − ω × δ for a ball, δ̇ = δv for the others.
    """
    rows: list[list[Any]] = [[0.0] * model.nv for _ in range(model.nv)]
    for step in dynamics.moving_steps(model):
        c = step.brackets(np.asarray(q[step.at_q]))
        if c is not None:
            own = v[step.at_v]
            for k in range(step.nv):
                for j in range(step.nv):
                    rows[step.iv + k][step.iv + j] = -(own @ c[k, :, j])
    return np.array(rows).reshape(model.nv, model.nv)
