"""Forward dynamics of a star in water by composite bodies (CRB/DTS), as a function of its state."""

from __future__ import annotations

from typing import Unpack

from numpy.typing import ArrayLike

from hydromechs import dynamics
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
