"""Other ways to the accelerations in water: composite bodies of a star, and decoupled dynamics (McMillan 1994, 5 and 7.5.2)."""

from __future__ import annotations

from typing import Unpack

from numpy.typing import ArrayLike

from hydromechs import dynamics
from hydromechs.dynamics import Balance
from hydromechs.model import Model
from hydromechs.values import Array

from . import _arguments as arguments
from ._balance import FlowOptions, prepared


def star_dynamics(model: Model, q: ArrayLike, v: ArrayLike, tau: ArrayLike, **flow: Unpack[FlowOptions]) -> Array:
    """Accelerations for given joint forces of a star, by composite bodies: `forward_dynamics`, of the same arguments.

    A star is a base body with chains that do not branch; any other tree is an `UnsupportedFeature` that names the body.
    """
    if arguments.model_of(model).wet:
        return dynamics.star_dynamics(*prepared(model, q, v, tau, flow))
    model, q, v = arguments.state(model, q, v)
    tau, external = arguments.torques(model, tau), arguments.dry(model, **flow)
    return dynamics.rigid_star_dynamics(model, dynamics.kinematics(model, q, v), tau, external)


def arm_dynamics(
    model: Model, q: ArrayLike, v: ArrayLike, tau: ArrayLike, vdot_base: ArrayLike, **flow: Unpack[FlowOptions]
) -> Array:
    """Accelerations for given joint forces and a given acceleration of the base, by articulated bodies in water, shape (nv,).

    With the acceleration that the base has in `forward_dynamics` the result is the same. It costs less, for a base whose
    motion a separate model gives, or that is held to its course.

    The model has one base that carries all other bodies; `vdot_base` is v̇ of its joint, shape (6,) for a free base, and its
    entries of
    `tau` do not matter. The other arguments are those of `forward_dynamics`.
    """
    model, b, tau = _prepared(model, q, v, tau, flow)
    n = model.bodies[0].joint.nv
    vdot_base = arguments.array(vdot_base, ((n,),), "vdot_base", "acceleration of the base's joint")
    return dynamics.arm_dynamics(model, b, tau, vdot_base)


def decoupled_dynamics(model: Model, q: ArrayLike, v: ArrayLike, tau: ArrayLike, **flow: Unpack[FlowOptions]) -> Array:
    """Accelerations with a base that does not feel what it carries: its own equation first, then `arm_dynamics`, shape (nv,).

    The arm's reaction, its weight and its buoyancy are all missing from the base's equation: trim the base by itself.

    The model has one base that carries all other bodies; arguments are those of `forward_dynamics`.
    """
    return dynamics.decoupled_dynamics(*_prepared(model, q, v, tau, flow))


def _prepared(model: Model, q: ArrayLike, v: ArrayLike, tau: ArrayLike, flow: FlowOptions) -> tuple[Model, Balance, Array]:
    dynamics.base_bodies(arguments.model_of(model))  # several bases are an error before any work
    return prepared(model, q, v, tau, flow)
