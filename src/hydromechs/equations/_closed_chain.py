"""Closed chains in water: several arms that hold one load, as a function of the state (McMillan 1994, ch. 2 and 4)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, Unpack

import numpy as np
from numpy.typing import ArrayLike

from hydromechs import dynamics
from hydromechs.dynamics import Holding
from hydromechs.model import Model
from hydromechs.spatial import Path, Shift, Turn

from ._balance import FlowOptions, prepared


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
    model: Model, q: ArrayLike, v: ArrayLike, tau: ArrayLike, *, load: str, grasps: Iterable[Grip], **flow: Unpack[FlowOptions]
) -> dynamics.ClosedChains:
    """Accelerations of arms that hold a load, and their forces on it; none of the arms at a singularity.

    Args:
        model: The mechanism: arms, and the load as a free body.
        q: Configuration, in which the grasps meet, shape (nq,).
        load: Name of the load's body.
        grasps: `hydromechs.contact.Grasp`s whose `held` is on the load.
        flow: `fluid_velocity`, `fluid_acceleration` and `wrench`, as in `forward_dynamics`.
    """
    return dynamics.closed_chain_dynamics(*prepared(model, q, v, tau, flow), *_holdings(model, load, grasps))


def singular_chain_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    *,
    load: str,
    grasps: Iterable[Grip],
    threshold: float = 1e8,
    **flow: Unpack[FlowOptions],
) -> tuple[dynamics.ClosedChains, dynamics.LoadSolution]:
    """As `closed_chain_dynamics`, for floats, with arms at or near singularities; the load's solution says what was chosen.

    Args:
        model: As in `closed_chain_dynamics`, like all that follow but one.
        load: Name of the load's body.
        threshold: Condition number of Λ⁻¹ from which on an arm counts as singular.
        flow: `fluid_velocity`, `fluid_acceleration` and `wrench`, as in `forward_dynamics`.
    """
    at = prepared(model, q, v, tau, flow)
    return dynamics.singular_chain_dynamics(*at, *_holdings(model, load, grasps), threshold=threshold)
