"""Forward dynamics of star topologies by composite bodies, method CRB/DTS (McMillan 1994, ch. 5, Tables 10-12).

A star is a base body with unbranched chains, for example a walker with legs or a vehicle with arms. With the motion of the base
last, the equations of motion are (eq. 5.7)

    | H_1          Q_1ᵀ | | v̇_1 |   | b_1 |   | τ_1 |
    |     ...      ...  | | ...  | + | ... | = | ... |
    |         H_m  Q_mᵀ | | v̇_m |   | b_m |   | τ_m |
    | Q_1 ... Q_m  K_r  | | a_r  |   | f'_r|   | f_r |

H_k is the inertia matrix of a chain on a fixed base, Q_k the inertial coupling between its joints and the base, and K_r the
composite inertia of all bodies. The bias is the inverse dynamics with zero accelerations.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hydromechs.errors import UnsupportedFeature
from hydromechs.model import Model
from hydromechs.spatial import ldl
from hydromechs.values import Array

from ._composite_body import mass_matrix
from ._inverse_dynamics import inverse_dynamics, rigid_inverse_dynamics
from ._kinematics import Balance, Bias, Kinematics
from ._sweeps import FREE, arriving, inward, outward, world_acceleration


class Star(NamedTuple):
    """Degrees of freedom of a base and of the chains attached to the base."""

    base: tuple[int, ...]
    """Degrees of freedom of the base's joint; empty for a fixed base."""
    chains: tuple[tuple[int, ...], ...]
    """Degrees of freedom of each chain, in order from the tip to the base."""


def star_of(model: Model) -> Star:
    """Return the base and the chains of a mechanism; raise `UnsupportedFeature` if the mechanism is not a star.

    The base is the only body without a parent, with all bodies fixed to it. If several bodies have no parent, the base is the
    world. Bodies fixed to a link are part of the link.
    """
    roots = [i for i in range(model.nb) if model.parent[i] < 0]
    base = roots[0] if len(roots) == 1 else -1
    hub = [-1, base]  # bodies that move with the base
    carrier: list[int] = []  # for each body, the body whose joint moves it
    follower: dict[int, int] = {}
    chains: list[list[int]] = []
    for i, (body, parent) in enumerate(zip(model.bodies, model.parent, strict=True)):
        if i == base or (body.joint.nv == 0 and parent in hub):
            hub.append(i)
            carrier.append(-1)
        elif body.joint.nv == 0:
            carrier.append(carrier[parent])
        else:
            carrier.append(i)
            if parent in hub:
                chains.append([i])
                continue
            link = carrier[parent]
            if link in follower:
                names = [model.body_names[k] for k in (link, follower[link], i)]
                raise UnsupportedFeature(
                    f"{model.name} is not a star: body {names[0]!r} carries the joints of {names[1]!r} and {names[2]!r}; "
                    "chains must not branch outside the base; use the articulated-body algorithm (forward_dynamics)"
                )
            follower[link] = i
            next(c for c in chains if c[-1] == link).append(i)
    if model.sections:
        raise UnsupportedFeature(f"{model.name} has flexible links; use the articulated-body algorithm (forward_dynamics)")
    dofs = [list(range(s.start, s.stop)) for s in model.v_slices]
    own = tuple(dofs[base]) if base >= 0 else ()
    return Star(own, tuple(tuple(k for i in reversed(chain) for k in reversed(dofs[i])) for chain in chains))


def star_dynamics(model: Model, b: Balance, tau: Array, armature: Array | None = None) -> Array:
    """Return the accelerations v̇ (nv,) of a star for given joint forces, with rigid or full 6×6 inertias.

    The result equals that of `articulated_body`, by block elimination of the chains (eqs. 5.22-5.25).
    """
    star, known = star_of(model), _base_at_rest(model)
    rest = tau - inverse_dynamics(model, b, np.zeros(model.nv), known)
    return _accelerations(model, star, b.kin, b.bias, mass_matrix(model, b.kin, b.inertia), rest, armature)


def rigid_star_dynamics(
    model: Model, kin: Kinematics, tau: Array, wrenches: Array | Sequence[Array] | None = None, armature: Array | None = None
) -> Array:
    """Return `star_dynamics` for rigid bodies without water, at lower cost.

    External wrenches (6,) are given in the frames of the bodies.
    """
    star, known = star_of(model), _base_at_rest(model)
    b = rigid_inverse_dynamics(model, kin, np.zeros(model.nv), wrenches, known)
    inertia = [None if r is None else r.matrix for r in model.rigid]
    return _accelerations(model, star, kin, kin.zeta, mass_matrix(model, kin, inertia), tau - b, armature)


def _base_at_rest(model: Model) -> dict[int, Array]:
    """Return a' = 0 of a free base for the bias; an empty mapping for other bases, whose bias is that of v̇ = 0.

    For a free base the unknown is a'_r, which includes gravity, and the recursion starts with zeros.
    """
    return {0: np.zeros(6)} if model.parent[0] < 0 and model.parent.count(-1) == 1 and model.free_rows[0] == FREE else {}


def _accelerations(
    model: Model, star: Star, kin: Kinematics, bias: Sequence[Bias], M: Array, rest: Array, armature: Array | None
) -> Array:
    """Solve M v̇ = `rest` for v̇ (nv,), chain by chain."""
    if armature is not None:
        M = M + np.diag(armature)
    vdot: list = [None] * model.nv
    base, solved = star.base, []
    K, f = [[M[i, j] for j in base] for i in base], [rest[i] for i in base]
    for chain in star.chains:
        factor = ldl([[M[i, j] for j in chain] for i in chain])
        W = np.array([factor.forward([M[i, j] for i in chain]) for j in base])  # rows of Q L⁻ᵀ
        y = factor.forward([rest[i] for i in chain])
        WD = [row * np.array(factor.inverse_diagonal) for row in W]
        for i in range(len(base)):
            f[i] = f[i] - WD[i] @ y
            for j in range(i + 1):
                K[i][j] = K[i][j] - WD[i] @ W[j]
        solved.append((chain, factor, y * np.array(factor.inverse_diagonal), WD))
    a_r = ldl(K).solve(f) if base else np.zeros(0)
    for chain, factor, z, WD in solved:
        for row, a in zip(WD, a_r, strict=True):
            z = z - row * a
        for i, value in zip(chain, factor.back(z), strict=True):
            vdot[i] = value
    if _base_at_rest(model):
        a_r = a_r - arriving(kin.paths[0], bias[0], world_acceleration(model))
    for i, value in zip(base, a_r, strict=True):
        vdot[i] = value
    return np.array(vdot)


def base_bodies(model: Model) -> tuple[int, ...]:
    """Return the indices of the base and of the bodies fixed to it; raise `UnsupportedFeature` if there are several bases."""
    roots = [model.body_names[i] for i in range(model.nb) if model.parent[i] < 0]
    if len(roots) > 1:
        raise UnsupportedFeature(
            f"{model.name} has {len(roots)} bodies without a parent ({', '.join(roots)}); decoupled dynamics needs one base; "
            "attach all other bodies to it"
        )
    base = [0]
    for i in range(1, model.nb):
        if model.bodies[i].joint.nv == 0 and model.parent[i] in base:
            base.append(i)
    return tuple(base)


def arm_dynamics(model: Model, b: Balance, tau: Array, vdot_base: Array, armature: Array | None = None) -> Array:
    """Return the accelerations v̇ (nv,) of all joints for a given acceleration (n,) of the base's joint, n = 6 for a free base.

    The method is that of articulated bodies. Inertia and force of the base, and its entries of τ, have no effect.
    """
    base, a = base_bodies(model), {-1: world_acceleration(model)}
    for i in base:
        a_bar = arriving(b.kin.paths[i], b.bias[i], a[model.parent[i]])
        a[i] = a_bar if i else a_bar + b.kin.subspaces[0] @ vdot_base
    rest = [i for i in range(model.nb) if i not in base]
    return np.array([*vdot_base, *_solved(model, b, tau, armature, rest, a)[0]])


def decoupled_dynamics(model: Model, b: Balance, tau: Array, armature: Array | None = None) -> Array:
    """Return the accelerations v̇ (nv,) if the carried bodies exert neither reaction nor weight on the base.

    The equation of the base alone, I_0^H a'_0 = ϕ τ_0 + F_0, gives its acceleration. The arms follow as in `arm_dynamics`.
    """
    base, a = base_bodies(model), {-1: world_acceleration(model)}
    rest = [i for i in range(model.nb) if i not in base]
    own, a = _solved(model, b, tau, armature, base, a)
    others, _ = _solved(model, b, tau, armature, rest, a)
    return np.concatenate([own, others])


def _solved(
    model: Model, b: Balance, tau: Array, armature: Array | None, members: Sequence[int], a: dict[int, Array]
) -> tuple[Array, dict[int, Array]]:
    """Return v̇ of some bodies' joints and all a', from the a' of the carrying bodies, without reaction on the carriers."""
    inertia, force = {i: b.inertia[i] for i in members}, {i: b.force[i] for i in members}
    swept = inward(model, b.kin, b.bias, tau, inertia, force, armature, members=members)
    return outward(model, b.kin, b.bias, swept.gains, swept.parts, a, members=members)
