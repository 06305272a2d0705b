"""Closed chains in water: several arms that hold one load, as a function of the state (thesis ch. 2 and 4)."""

from __future__ import annotations

import numpy as np

from hydromechs import dynamics
from hydromechs.spatial import Path, Shift, Turn

from . import _arguments as arguments
from ._equations import balance

__all__ = ["closed_chain_dynamics", "singular_chain_dynamics"]


def _holdings(model, load: str, grasps) -> tuple[int, list]:
    """Index of the load and the grasps as the dynamics take them."""

    def place(name: str):
        i, frame = model.frames[name] if name in model.frames else (model.body_index(name), None)
        origin = () if frame is None else (Shift(np.array(frame.origin.xyz)), Turn(frame.origin.R, np.zeros(3)))
        return i, Path(origin)

    body, out = model.body_index(load), []
    for grasp in grasps:
        (holder, path), (held, load_path) = place(grasp.holder), place(grasp.held)
        if held != body:
            raise ValueError(f"grasp {grasp.name!r} holds {grasp.held!r}, which is not on the load {load!r}")
        out.append(dynamics.Holding(holder, path, load_path, grasp.rows))
    return body, out


def closed_chain_dynamics(
    model, q, v, tau, *, load: str, grasps, fluid_velocity=None, fluid_acceleration=None, wrench=None
) -> dynamics.ClosedChains:
    """Accelerations of arms that hold a load, and their forces on it; none of the arms at a singularity.

    Args:
        model: The mechanism: arms, and the load as a free body.
        q: Configuration, in which the grasps meet, shape (nq,).
        v: Velocity, shape (nv,).
        tau: Generalised force, shape (nv,).
        load: Name of the load's body.
        grasps: `hydromechs.contact.Grasp`s whose `held` is on the load.
        fluid_velocity: As in `forward_dynamics`.
        fluid_acceleration: As in `forward_dynamics`.
        wrench: As in `forward_dynamics`.
    """
    at = _arguments(model, q, v, tau, fluid_velocity, fluid_acceleration, wrench)
    return dynamics.closed_chain_dynamics(*at, *_holdings(model, load, grasps))


def singular_chain_dynamics(
    model, q, v, tau, *, load: str, grasps, threshold: float = 1e8, fluid_velocity=None, fluid_acceleration=None, wrench=None
) -> tuple[dynamics.ClosedChains, dynamics.LoadSolution]:
    """As `closed_chain_dynamics`, for floats, with arms at or near singularities; the load's solution says what was chosen.

    Args:
        model: The mechanism: arms, and the load as a free body.
        q: Configuration, in which the grasps meet, shape (nq,).
        v: Velocity, shape (nv,).
        tau: Generalised force, shape (nv,).
        load: Name of the load's body.
        grasps: `hydromechs.contact.Grasp`s whose `held` is on the load.
        threshold: Condition number of Λ⁻¹ from which on an arm counts as singular.
        fluid_velocity: As in `forward_dynamics`.
        fluid_acceleration: As in `forward_dynamics`.
        wrench: As in `forward_dynamics`.
    """
    at = _arguments(model, q, v, tau, fluid_velocity, fluid_acceleration, wrench)
    return dynamics.singular_chain_dynamics(*at, *_holdings(model, load, grasps), threshold=threshold)


def _arguments(model, q, v, tau, fluid_velocity, fluid_acceleration, wrench) -> tuple:
    model = arguments.model_of(model)
    q = arguments.configuration(model, q)
    v = arguments.array(v, ((model.nv,),), "v", "velocity")
    tau = arguments.array(tau, ((model.nv,),), "tau", "generalised force")
    b = balance(model, q, v, fluid_velocity, fluid_acceleration, wrench)
    return model, b.kin, b.bias, tau, b.inertia, b.force
