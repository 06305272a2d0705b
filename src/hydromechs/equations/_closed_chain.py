"""Closed chains in water: several arms that hold one load, as a function of the state (McMillan 1994, ch. 2 and 4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from hydromechs import dynamics
from hydromechs.dynamics import Bias, Holding, Kinematics
from hydromechs.model import Model
from hydromechs.spatial import Path, Shift, Turn
from hydromechs.values import Array

from . import _arguments as arguments
from ._balance import balance


class Grip(Protocol):
    """What is asked of a grasp; a `Grasp` of the package for contact has it."""

    @property
    def name(self) -> str:
        """Name, for errors."""

    @property
    def holder(self) -> str:
        """Frame or body that holds."""

    @property
    def held(self) -> str:
        """Frame or body that is held."""

    @property
    def rows(self) -> tuple[int, ...]:
        """Directions that are held, of x y z and rotations about them in the axes of the holder's frame."""


def _on_body(model: Model, name: str) -> tuple[int, Path]:
    """Index of the body of a frame or body, and the way from the body's frame."""
    i, p, R = model.locate(name)
    shift = (Shift(p),) if p.any() else ()
    turn = () if np.array_equal(R, np.eye(3)) else (Turn(R, np.zeros(3)),)
    return i, Path((*shift, *turn))


def _holdings(model: Model, load: str, grasps: Iterable[Grip]) -> tuple[int, list[Holding]]:
    """Index of the load and the grasps as the dynamics take them."""
    body, out = model.body_index(load), []
    for grasp in grasps:
        (holder, path), (held, load_path) = _on_body(model, grasp.holder), _on_body(model, grasp.held)
        if held != body:
            raise ValueError(f"grasp {grasp.name!r} holds {grasp.held!r}, which is not on the load {load!r}")
        out.append(Holding(holder, path, load_path, grasp.rows))
    return body, out


def closed_chain_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    *,
    load: str,
    grasps: Iterable[Grip],
    fluid_velocity: ArrayLike | None = None,
    fluid_acceleration: ArrayLike | None = None,
    wrench: ArrayLike | None = None,
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
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    *,
    load: str,
    grasps: Iterable[Grip],
    threshold: float = 1e8,
    fluid_velocity: ArrayLike | None = None,
    fluid_acceleration: ArrayLike | None = None,
    wrench: ArrayLike | None = None,
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


def _arguments(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    fluid_velocity: ArrayLike | None,
    fluid_acceleration: ArrayLike | None,
    wrench: ArrayLike | None,
) -> tuple[Model, Kinematics, Sequence[Bias], Array, list[Array | None], list[Array]]:
    model, q, v = arguments.state(model, q, v)
    tau = arguments.torques(model, tau)
    b = balance(model, q, v, fluid_velocity, fluid_acceleration, wrench)
    return model, b.kin, b.bias, tau, b.inertia, b.force
