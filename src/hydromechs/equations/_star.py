"""Forward dynamics of a star in water by composite bodies (CRB/DTS), as a function of its state."""

from __future__ import annotations

from numpy.typing import ArrayLike

from hydromechs import dynamics
from hydromechs.model import Model
from hydromechs.values import Array

from . import _arguments as arguments
from ._balance import balance


def star_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    *,
    fluid_velocity: ArrayLike | None = None,
    fluid_acceleration: ArrayLike | None = None,
    wrench: ArrayLike | None = None,
) -> Array:
    """Accelerations for given joint forces of a star, by composite bodies; the same as `forward_dynamics`.

    A star is a base body with chains that do not branch; any other tree is an `UnsupportedFeature` that names the body.

    Args:
        model: The mechanism.
        q: Configuration, shape (nq,).
        v: Velocity, shape (nv,).
        tau: Generalised force dual to `v`, shape (nv,).
        fluid_velocity: As in `forward_dynamics`.
        fluid_acceleration: As in `forward_dynamics`.
        wrench: As in `forward_dynamics`.

    Returns:
        v̇, the time derivative of the numbers in `v`, shape (nv,).
    """
    model, q, v = arguments.state(model, q, v)
    tau = arguments.torques(model, tau)
    if not model.wet:
        external = arguments.dry(model, fluid_velocity, fluid_acceleration, wrench)
        return dynamics.rigid_star_dynamics(model, dynamics.kinematics(model, q, v), tau, external)
    b = balance(model, q, v, fluid_velocity, fluid_acceleration, wrench)
    return dynamics.star_dynamics(model, b.kin, b.bias, tau, b.inertia, b.force)
