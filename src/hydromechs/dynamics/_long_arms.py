"""Dynamics of long arms that hold one load, with a cost proportional to the number of joints (Lilly and Orin 1994).

Articulated bodies give the motion of the open chains. The mobility of a tip is computed from the root outwards:

    Λ_i⁻¹ = L_i Λ_p⁻¹ L_iᵀ + ϕ_i m*_i⁻¹ ϕ_iᵀ,     L_i = (1 − ϕ_i (n_i m*_i⁻¹)ᵀ) X_i,     Λ_world⁻¹ = 0

The load is treated as in `closed_chain_dynamics`. The tip forces are then propagated inwards and the changes of v̇ outwards.
"""

from collections.abc import Sequence

import numpy as np

from hydromechs.model import Model
from hydromechs.spatial import Path, Screw, Shift, Turn, ldl
from hydromechs.values import Array

from ._closed_chain import ClosedChains, Holding, held_trees, inverse, swing
from ._kinematics import Balance, Kinematics
from ._sweeps import FREE, Articulated, arriving, inward, outward, world_acceleration

LONG = 12
"""Number of joints of an arm above which this method needs fewer operations than `closed_chain_dynamics`."""


def has_long_arms(model: Model, load: int, holdings: Sequence[Holding]) -> bool:
    """Return True if each tree has one grip in all six directions and one arm has more than `LONG` joints."""
    grips = [own for _, own in held_trees(model, load, holdings)]
    if any(len(own) > 1 or len(own[0].rows) < 6 for own in grips):
        return False
    return (
        max(sum(model.free_rows[i] != FREE and model.bodies[i].joint.nv for i in _way(model, own[0].body)) for own in grips)
        > LONG
    )


def _way(model: Model, body: int) -> list[int]:
    """Return the bodies from the root to a body, by index."""
    out = [body]
    while model.parent[out[-1]] >= 0:
        out.append(model.parent[out[-1]])
    return out[::-1]


def long_arm_dynamics(model: Model, b: Balance, tau: Array, load: int, holdings: Sequence[Holding]) -> ClosedChains:
    """Return the same accelerations as `closed_chain_dynamics`; each tree holds the load once, in all six directions."""
    kin, everyone, world = b.kin, range(model.nb), world_acceleration(model)
    swept = inward(model, kin, b.bias, tau, dict(enumerate(b.inertia)), dict(enumerate(b.force)), members=everyone)
    vdot, a = outward(model, kin, b.bias, swept.gains, swept.parts, {-1: world}, members=everyone)
    at, true = model.v_slices[load], b.bias is kin.zeta
    A, rhs = swept.inertia[load], tau[at] + swept.force[load]
    tips = []
    for _, (grip,) in held_trees(model, load, holdings):
        Lambda = inverse(_mobility(model, kin, swept, grip))
        bend = swing(grip.path, kin.V[grip.body], true) - swing(grip.load_path, kin.V[load], true)
        open_ = grip.path.motion(a[grip.body]) + bend
        A, rhs = A + grip.load_path.inertia_back(Lambda), rhs + grip.load_path.force_back(Lambda @ open_)
        tips.append((grip, Lambda, open_))
    a_r = ldl(A).solve(rhs)
    forces = [Lambda @ (open_ - grip.load_path.motion(a_r)) for grip, Lambda, open_ in tips]
    pushed = {grip.body: -grip.path.force_back(f) for (grip, _, _), f in zip(tips, forces, strict=True)}
    out = vdot + _response(model, kin, swept, pushed)
    out[at] = a_r - arriving(kin.paths[load], b.bias[load], world)
    return ClosedChains(out, tuple(forces), (np.eye(6),) * len(forces))


def _mobility(model: Model, kin: Kinematics, swept: Articulated, grip: Holding) -> Array:
    """Return Λ⁻¹ at a grip, symmetric, shape (6, 6)."""
    found = np.zeros((6, 6))
    for i in _way(model, grip.body):
        found = _moved(found, kin.paths[i])
        if i in swept.parts:
            phi, gain = kin.subspaces[i], swept.gains[i]
            pivot = inverse(phi.T @ swept.inertia[i] @ phi)
            found = pivot if gain is None else _released(found, phi, gain) + phi @ pivot @ phi.T
    return _moved(found, grip.path)


def _moved(mobility: Array, path: Path) -> Array:
    """Return X M Xᵀ of a mobility M (6, 6) at the end of a path.

    The transformation is that of an inertia along the reversed path, with linear and angular blocks exchanged.
    """
    swap = (3, 4, 5, 0, 1, 2)
    back = [_reversed(step) for step in reversed(path.steps)]
    return Path(back).inertia_back(mobility[np.ix_(swap, swap)])[np.ix_(swap, swap)]


def _reversed(step: Screw | Shift | Turn) -> Screw | Shift | Turn:
    """Return the inverse transformation, from child to parent."""
    if isinstance(step, Screw):
        return Screw(step.axis, -step.distance, step.cos, -step.sin)
    return Shift(-np.asarray(step.p)) if isinstance(step, Shift) else Turn(step.R.T, -(step.R.T @ np.asarray(step.p)))


def _released(S: Array, phi: Array, gain: Array) -> Array:
    """Return (1 − ϕ gainᵀ) S (1 − ϕ gainᵀ)ᵀ, shape (6, 6)."""
    L = np.eye(6) - phi @ gain.T
    half = L @ S
    return np.array([[half[min(i, j)] @ L[max(i, j)] for j in range(6)] for i in range(6)])


def _response(model: Model, kin: Kinematics, swept: Articulated, pushed: dict[int, Array]) -> Array:
    """Return the change of v̇ (nv,) caused by forces (6,) on some bodies."""
    parts: dict[int, Array] = {}
    for i in reversed(range(model.nb)):
        if i not in pushed:
            continue
        p, phi = pushed[i], kin.subspaces[i]
        if i in swept.parts:
            gain, along = swept.gains[i], phi.T @ p
            parts[i] = ldl(phi.T @ swept.inertia[i] @ phi).solve(along)
            if gain is None:
                continue
            p = p - gain @ along
            p = np.array([0.0 if k in (model.free_rows[i] or ()) else p[k] for k in range(6)])
        parent = model.parent[i]
        if parent >= 0:
            moved = kin.paths[i].force_back(p)
            pushed[parent] = pushed[parent] + moved if parent in pushed else moved
    vdot: list = []
    a: list[Array] = []
    for i, (parent, path, phi) in enumerate(zip(model.parent, kin.paths, kin.subspaces, strict=True)):
        a_bar = path.motion(a[parent]) if parent >= 0 else np.zeros(6)
        change = np.zeros(phi.shape[1])
        if i in swept.parts:
            gain, part = swept.gains[i], parts.get(i, change)
            change = part - (a_bar if gain is None else gain.T @ a_bar)
        vdot.extend(change)
        a.append(a_bar + phi @ change)
    return np.array(vdot)
