"""Forward dynamics of a star in water by composite bodies (CRB/DTS), as a function of its state."""

from __future__ import annotations

from hydromechs import dynamics

from . import _arguments as arguments
from ._equations import balance

__all__ = ["star_dynamics"]


def star_dynamics(model, q, v, tau, *, fluid_velocity=None, fluid_acceleration=None, wrench=None):
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
    model = arguments.model_of(model)
    q = arguments.configuration(model, q)
    v = arguments.array(v, ((model.nv,),), "v", "velocity")
    tau = arguments.array(tau, ((model.nv,),), "tau", "generalised force")
    if all(body.hydro is None for body in model.bodies):
        arguments.fluid(model, fluid_velocity, "fluid_velocity")  # no effect, but no nonsense either
        arguments.fluid(model, fluid_acceleration, "fluid_acceleration")
        if wrench is not None:
            wrench = arguments.array(wrench, ((model.nb, 6),), "wrench", "on each body in its axes about its origin")
        return dynamics.rigid_star_dynamics(model, dynamics.kinematics(model, q, v), tau, wrench)
    b = balance(model, q, v, fluid_velocity, fluid_acceleration, wrench)
    return dynamics.star_dynamics(model, b.kin, b.bias, tau, b.inertia, b.force)
