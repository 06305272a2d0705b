"""Decoupled dynamics of a vehicle and what it carries (McMillan 1994, 7.5.2): the base does not feel the arm.

The base is the one body without a parent, with all that is fixed to it. Its acceleration is known when the arm's is computed:
given by a separate model of the vehicle, or from the vehicle's own equation, without the arm's reaction. Cheaper
than the full dynamics by the base's force, its articulated inertia and a 6×6 solve, and wrong by what the arm does to the base.
"""

from collections.abc import Sequence

import numpy as np

from hydromechs.errors import UnsupportedFeature
from hydromechs.model import Model
from hydromechs.values import Array

from ._kinematics import Balance
from ._sweeps import arriving, inward, outward, world_acceleration


def base_bodies(model: Model) -> tuple[int, ...]:
    """The base and the bodies that are fixed to it, by index; an error if there is not one base."""
    roots = [model.body_names[i] for i in range(model.nb) if model.parent[i] < 0]
    if len(roots) > 1:
        raise UnsupportedFeature(
            f"{model.name} has {len(roots)} bodies without a parent ({', '.join(roots)}); decoupled dynamics needs one base "
            "that carries all others"
        )
    base = [0]
    for i in range(1, model.nb):
        if model.bodies[i].joint.nv == 0 and model.parent[i] in base:
            base.append(i)
    return tuple(base)


def arm_dynamics(model: Model, b: Balance, tau: Array, vdot_base: Array, armature: Array | None = None) -> Array:
    """Accelerations v̇ (nv,) of all joints for a given acceleration of the base's joint, (n,), n = 6 for a free base.

    By articulated bodies; inertia and force of the base, and its entries of τ, do not matter.
    """
    base, a = base_bodies(model), {-1: world_acceleration(model)}
    for i in base:
        a_bar = arriving(b.kin.paths[i], b.bias[i], a[model.parent[i]])
        a[i] = a_bar if i else a_bar + b.kin.subspaces[0] @ vdot_base
    rest = [i for i in range(model.nb) if i not in base]
    return np.array([*vdot_base, *_solved(model, b, tau, armature, rest, a)[0]])


def decoupled_dynamics(model: Model, b: Balance, tau: Array, armature: Array | None = None) -> Array:
    """Accelerations v̇ (nv,) with a base that does not feel what it carries: neither reaction nor weight.

    The base's own equation, I_0^H a'_0 = ϕ τ_0 + F_0, then `arm_dynamics` with its acceleration.
    """
    base, a = base_bodies(model), {-1: world_acceleration(model)}
    rest = [i for i in range(model.nb) if i not in base]
    own, a = _solved(model, b, tau, armature, base, a)
    others, _ = _solved(model, b, tau, armature, rest, a)
    return np.concatenate([own, others])


def _solved(
    model: Model, b: Balance, tau: Array, armature: Array | None, members: Sequence[int], a: dict[int, Array]
) -> tuple[Array, dict[int, Array]]:
    """v̇ of some bodies' joints and all a', from the a' of the bodies that carry them, which do not feel them."""
    inertia, force = {i: b.inertia[i] for i in members}, {i: b.force[i] for i in members}
    swept = inward(model, b.kin, b.bias, tau, inertia, force, armature, members=members)
    return outward(model, b.kin, b.bias, swept.gains, swept.parts, a, members=members)
