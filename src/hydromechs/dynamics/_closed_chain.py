"""Forward dynamics of chains that hold one load, by operational-space inertias (McMillan 1994, ch. 2, Table 1).

One or more trees of the forest hold the load by grips. A grip connects a frame of a body of the tree (the holder) to a frame of
the load; some directions of the grip may be free (the general contact joint). The forces f_k are exerted by the holders on the
load, in the axes of the grip. The equations of the thesis are generalised from serial chains to trees, and from rigid-body
inertias to 6×6 inertias with added mass.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from hydromechs.model import Model, held_directions
from hydromechs.spatial import Ldl, Path, Shift, Turn, cross, ldl
from hydromechs.values import Array, Scalar

from ._articulated_body import articulated_body
from ._composite_body import columns_outwards, mass_matrix_from_columns
from ._inverse_dynamics import accelerations, generalized_force, inverse_dynamics, rigid_links
from ._kinematics import Balance, Kinematics
from ._sweeps import world_acceleration


class Holding(NamedTuple):
    """One grip: its frames on the holder and on the load, and the held directions."""

    body: int
    path: Path
    """Constant transformation from the holder's frame to the grip frame."""
    load_path: Path
    """Constant transformation from the load's frame to the grip frame."""
    rows: tuple[int, ...] = (0, 1, 2, 3, 4, 5)
    """Indices of the held directions, in the axes of the grip: translations x y z, then rotations about x y z."""


class OpenChain(NamedTuple):
    """Contribution of one tree with free tips in the c directions in which the tree holds the load."""

    dofs: tuple[int, ...]
    """Degrees of freedom of the tree, as indices into v."""
    factor: Ldl
    """Factors of the joint-space inertia matrix, H = L D Lᵀ."""
    pushed: Array
    """Vector y = L⁻¹ (τ − b), so that q̈_open = L⁻ᵀ D⁻¹ y, shape (n,)."""
    W: Array
    """Matrix W = L⁻¹ Jᵀ, shape (n, c); the matrix Ω = H⁻¹ Jᵀ = L⁻ᵀ D⁻¹ W is never formed."""
    mobility: Array
    """Mobility Λ⁻¹ = J H⁻¹ Jᵀ = Wᵀ D⁻¹ W, shape (c, c)."""
    acceleration: Array
    """Tip acceleration ẍ_open minus gravity and minus the effect of the load's velocity (ζ), shape (c,)."""
    onto: Array
    """Matrix X that maps the acceleration a_r of the load to these directions, shape (c, 6)."""
    paths: tuple[Path | None, ...]
    """Transformation X from the load's frame for each grip that holds all six directions, else None."""
    directions: Array
    """Directions D in the axes of the grip, shape (c, 6): forces f (c,) give the force and moment Dᵀ f."""


class ClosedChains(NamedTuple):
    """Accelerations and grip forces of closed chains."""

    vdot: Array
    """Accelerations v̇ of all trees and of the load, shape (nv,)."""
    forces: tuple[Array, ...]
    """Force of each tree on the load along the held directions, shape (c,) each."""
    directions: tuple[Array, ...]
    """Held directions in the axes of their grips, shape (c, 6) each."""


def held_trees(model: Model, load: int, holdings: Sequence[Holding]) -> list[tuple[int, list]]:
    """Return the roots of the trees that hold the load, each with its grips; the load is a free body without children."""
    if model.parent[load] >= 0 or model.free_rows[load] != (0, 1, 2, 3, 4, 5) or load in model.parent:
        raise ValueError(
            f"load {model.body_names[load]!r} must be a single free body; for loads with joints, use a simulation with grasps"
        )
    out: dict[int, list] = {}
    for holding in holdings:
        root = holding.body
        while model.parent[root] >= 0:
            root = model.parent[root]
        if root == load:
            raise ValueError(
                f"a grip connects load {model.body_names[load]!r} to itself; use a frame of another tree as the holder"
            )
        out.setdefault(root, []).append(holding)
    return list(out.items())


def _dofs(model: Model, root: int) -> list[int]:
    members = {root}
    for i in range(root, model.nb):
        if model.parent[i] in members:
            members.add(i)
    return [k for i in sorted(members) if model.owner[i] == i for k in range(model.nv)[model.v_slices[i]]]


def open_chains(
    model: Model, b: Balance, tau: Array, load: int, holdings: Sequence[Holding]
) -> tuple[list[OpenChain], np.ndarray, np.ndarray]:
    """Return the open chains, the load inertia I_r (6, 6), and the other forces on the load less its bias (6,).

    Accelerations are gravity-biased, a' = a − g (eqs. 2.22-2.25).
    """
    kin, still = b.kin, np.zeros(model.nv)
    columns = columns_outwards(model, kin)
    M = mass_matrix_from_columns(model, kin, b.inertia, columns)
    true = b.bias is kin.zeta
    if true:
        links = rigid_links(model, kin, still, b.wrench, {})
        holding = generalized_force(model, kin._replace(paths=links.paths), links.force)
        a = [links.own_acceleration(i) for i in range(model.nb)]
    else:
        holding = inverse_dynamics(model, b, still)
        a = accelerations(model, kin, b.bias, still, world_acceleration(model))
    out = []
    for root, grips in held_trees(model, load, holdings):
        dofs = _dofs(model, root)[::-1]  # from the tips inwards: a tip joint moves few directions, so that many terms are zero
        H = ldl([[M[i, j] for j in dofs] for i in dofs])
        y = H.forward([tau[k] - holding[k] for k in dofs])
        rows, start, onto, along, paths = [], [], [], [], []
        for g in grips:
            X = g.load_path
            if len(g.rows) == 6:
                J = tip_jacobian(model, columns[g.body], g.path)
                zeta = swing(g.path, kin.V[g.body], true) - swing(X, kin.V[load], true)
                tip = g.path.motion(a[g.body]) + zeta
            else:
                J, X, tip = _moving_grip(model, kin, columns[g.body], g, load, a, true)
            X_matrix = np.stack([X.motion(column) for column in np.eye(6)], axis=1)
            D, rate = _directions(kin, g, load)
            alone = sum(r >= 3 for r in g.rows) == 1
            J, tip, X_matrix = (D @ J, D @ tip, D @ X_matrix) if alone else (x[list(g.rows)] for x in (J, tip, X_matrix))
            rows += list(J)
            start += list(tip - rate)
            onto += list(X_matrix)
            along += list(D)
            paths.append(X if len(g.rows) == 6 else None)
        W = np.stack([H.forward(row) for row in np.array(rows)[:, dofs]], axis=1)
        scaled = W * np.array(H.inverse_diagonal)[:, None]
        mobility, open_ = _symmetric_product(W.T, scaled), scaled.T @ y + np.array(start)
        out.append(OpenChain(tuple(dofs), H, y, W, mobility, open_, np.array(onto), tuple(paths), np.array(along)))
    at = model.v_slices[load]
    I_r = b.inertia[load]
    I_r = np.zeros((6, 6)) if I_r is None else I_r
    # the force that supports the stationary load is I_r a' + bias forces at a' = −g, with v̇ = 0
    return out, I_r, tau[at] - (holding[at] - I_r @ a[load])


def _directions(kin: Kinematics, g: Holding, load: int) -> tuple[Array, Array]:
    """Return the held directions of a grip and their rates times the load's motion relative to the holder."""
    if sum(r >= 3 for r in g.rows) != 1:
        return np.eye(6)[list(g.rows)], np.zeros(len(g.rows))
    R_WA = kin.R_WB[g.body] @ g.path.pose()[0]
    S = R_WA.T @ kin.R_WB[load]
    w = S @ kin.V[load][3:] - g.path.motion(kin.V[g.body])[3:]
    return held_directions(S @ g.load_path.pose()[0], w, g.rows)


def _moving_grip(
    model: Model, kin: Kinematics, columns: Mapping[int, Array], g: Holding, load: int, a: Sequence[Array], true: bool
) -> tuple[Array, Path, Array]:
    """Return J, X and the tip acceleration of a grip with free directions.

    The grip's frames A (holder) and B (load) move relative to each other. Let d be the vector from A to B and S the rotation
    from the axes of the load, both expressed in the axes of A. Then d̈ = S (a_B) − a_A − α × d − ω × (ω × d) − 2 ω × ḋ, and the
    relative angular acceleration is S α_L − α + ω_rel × S ω_L.
    """
    R, p = g.path.pose()
    p_b = g.load_path.pose()[1]
    R_WA = kin.R_WB[g.body] @ R
    S = R_WA.T @ kin.R_WB[load]
    d = R_WA.T @ (kin.p_WB[load] + kin.R_WB[load] @ p_b - kin.p_WB[g.body] - kin.R_WB[g.body] @ p)
    V_A, V_L = g.path.motion(kin.V[g.body]), kin.V[load]
    w, w_L = V_A[3:], S @ V_L[3:]
    d_rate = S @ (V_L[:3] + cross(V_L[3:], p_b)) - V_A[:3] - cross(w, d)
    tip = g.path.motion(a[g.body]) + swing(g.path, kin.V[g.body], true)
    linear = tip[:3] + cross(tip[3:], d) + cross(w, cross(w, d)) + 2.0 * cross(w, d_rate)
    linear = linear - S @ cross(V_L[3:], cross(V_L[3:], p_b))
    if not true:  # derivatives of components: add ω × v on both sides
        linear = linear + cross(w, V_A[:3]) - S @ cross(V_L[3:], V_L[:3])
    angular = tip[3:] - cross(w_L - w, w_L)
    J = tip_jacobian(model, columns, Path((*g.path.steps, Shift(d))))
    return J, Path((Shift(p_b), Turn(S.T, np.zeros(3)))), np.concatenate([linear, angular])


def swing(path: Path, V: Array, true: bool) -> Array:
    """Return the centripetal acceleration of the end of a path about the body origin, in axes of the end, shape (6,).

    The result is 0 for derivatives of velocity components.
    """
    if not true or not path.steps:
        return np.zeros(6)
    w, p = V[3:], path.pose()[1]
    return np.concatenate([path.rotate(cross(w, cross(w, p))), np.zeros(3)])


def chain_vdot(chain: OpenChain, f: Array) -> Array:
    """Return q̈ = q̈_open − Ω f = L⁻ᵀ D⁻¹ (y − W f), shape (n,), for the forces f (c,) of the tips on the load."""
    return chain.factor.back((chain.pushed - chain.W @ f) * np.array(chain.factor.inverse_diagonal))


def tip_jacobian(model: Model, columns: Mapping[int, Array], path: Path) -> Array:
    """Return J with V = J v for the frame at the end of a path (the tip), from the body's columns, shape (6, nv)."""
    moved = {k: path.motion(column) for k, column in columns.items()}
    return np.stack([moved.get(k, np.zeros(6)) for k in range(model.nv)], axis=1)


def _symmetric_product(J: Array, omega: Array) -> Array:
    """Return the symmetric product J Ω; each entry is computed once."""
    c = len(J)
    out = [[0.0] * c for _ in range(c)]
    for i in range(c):
        for j in range(i, c):
            out[i][j] = out[j][i] = J[i] @ omega[:, j]
    return np.array(out)


def inverse(A: Array) -> Array:
    """Return the inverse of a symmetric positive definite matrix, exactly symmetric, shape (n, n)."""
    n, factor = len(A), ldl(A)
    out = [[0.0] * n for _ in range(n)]
    # A⁻¹ = L⁻ᵀ D⁻¹ L⁻¹, from the columns of L⁻¹
    L, d = factor.lower, factor.inverse_diagonal
    low = [[0.0] * n for _ in range(n)]
    for j in range(n):
        low[j][j] = 1.0
        for i in range(j + 1, n):
            low[i][j] = -L[i][j] - sum((L[i][k] * low[k][j] for k in range(j + 1, i)), 0.0)
    for j in range(n):
        scaled = [low[k][j] * d[k] for k in range(n)]
        for i in range(j + 1):
            out[i][j] = out[j][i] = sum((low[k][i] * scaled[k] for k in range(j + 1, n)), low[j][i] * scaled[j])
    return np.array(out)


def closed_chain_dynamics(model: Model, b: Balance, tau: Array, load: int, holdings: Sequence[Holding]) -> ClosedChains:
    """Return the accelerations of nonsingular chains that hold a load (McMillan 1994, Table 1).

    [I_r + Σ Xᵀ Λ_k X] a'_r = f_r + Σ Xᵀ Λ_k ẍ'_open,    f_k = Λ_k (ẍ'_open − X a'_r),    q̈_k = q̈_open − Ω_k f_k
    """
    chains, A, rhs = open_chains(model, b, tau, load, holdings)
    Lambdas = []
    for chain in chains:
        if len(chain.mobility) > len(chain.dofs):
            name = model.body_names[next(i for i, s in enumerate(model.v_slices) if s.start <= chain.dofs[-1] < s.stop)]
            raise ValueError(
                f"the tree of {name!r} has {len(chain.dofs)} degrees of freedom but holds {len(chain.mobility)} directions, "
                "so that it is always singular; release some directions or use `singular_chain_dynamics`"
            )
        Lambda = inverse(chain.mobility)
        Lambdas.append(Lambda)
        pushed = Lambda @ chain.acceleration
        if len(chain.paths) == 1 and chain.paths[0] is not None:  # all directions held: two planar or general screws
            A = A + chain.paths[0].inertia_back(Lambda)
            rhs = rhs + chain.paths[0].force_back(pushed)
        else:
            A = A + chain.onto.T @ Lambda @ chain.onto
            rhs = rhs + chain.onto.T @ pushed
    a_r = ldl(A).solve(rhs)
    forces = []
    for chain, Lambda in zip(chains, Lambdas, strict=True):
        seen = chain.paths[0].motion(a_r) if len(chain.paths) == 1 and chain.paths[0] is not None else chain.onto @ a_r
        forces.append(Lambda @ (chain.acceleration - seen))
    return joined(model, b, tau, load, holdings, chains, a_r, forces)


def joined(
    model: Model,
    b: Balance,
    tau: Array,
    load: int,
    holdings: Sequence[Holding],
    chains: Sequence[OpenChain],
    a_r: Array,
    forces: Sequence[Array],
) -> ClosedChains:
    """Return all accelerations for the load's a'_r (6,) and the forces of the chains on the load."""
    vdot = _alone(model, b, tau, load, holdings)
    for chain, f in zip(chains, forces, strict=True):
        for i, value in zip(chain.dofs, chain_vdot(chain, f), strict=True):
            vdot[i] = value
    own = accelerations(model, b.kin, b.bias, np.zeros(model.nv), world_acceleration(model))[load]
    for k, i in enumerate(range(model.nv)[model.v_slices[load]]):
        vdot[i] = a_r[k] - own[k]
    return ClosedChains(np.array(vdot), tuple(forces), tuple(chain.directions for chain in chains))


def _alone(model: Model, b: Balance, tau: Array, load: int, holdings: Sequence[Holding]) -> list[Scalar]:
    """Return v̇ of the trees that do not hold the load, and 0 for other degrees of freedom, shape (nv,)."""
    busy = [root for root, _ in held_trees(model, load, holdings)] + [load]
    rest = [i for i in range(model.nb) if model.parent[i] < 0 and i not in busy]
    if not rest:
        return [0.0] * model.nv
    vdot = articulated_body(model, b, tau)
    dofs = {k for root in rest for k in _dofs(model, root)}
    return [vdot[k] if k in dofs else 0.0 for k in range(model.nv)]
