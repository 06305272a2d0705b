"""Constraints between accelerations, solved together with the dynamics; independent groups are solved separately."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from hydromechs import compiler, dynamics
from hydromechs.model import Model
from hydromechs.model.component import Constraint
from hydromechs.spatial import ldl, minimum, where
from hydromechs.values import Array, Scalar, is_zero

DEPENDENT = 1e-12
"""Minimum fraction of a row's mobility that is independent of other rows, the squared sine of an angle [-]."""
ROUNDING = 1e-6
"""Fraction of the mobility of a row's degrees of freedom, Σ 1/M_jj, that is added to the row's mobility [-]. Together with
`DEPENDENT`, entries of J below 1e-9 (a lever arm of 1e-9 m) count as zero."""


REGULAR = 1e-5
"""Minimum pivot of a chain's scaled mobility for the solution chain by chain, whose errors are then below 1e-10 [-]."""


class Response(NamedTuple):
    """Constraint forces and their effect on the accelerations."""

    change: Array
    """Change of the accelerations M⁻¹ Jᵀ λ, shape (nv,)."""
    free: Array
    """Number of undetermined forces of each group, which are set to 0, shape (ng,)."""
    pivot: Array
    """Ratio of the smallest to the largest pivot of each group's scaled rows, approximately the inverse condition number,
    shape (ng,)."""
    forces: tuple[Array, ...]
    """Forces λ of each constraint, shape (c,); 0 for open constraints."""


def constraint_groups(model: Model, constraints: Sequence[Constraint]) -> tuple[tuple[int, ...], ...]:
    """Return indices of constraints, open or closed, in groups that share a movable tree directly or via other constraints."""
    tree: dict[int, int] = {}  # for each degree of freedom: the root of its movable tree
    roots: list[int] = []
    for i, dofs in enumerate(model.v_slices):
        parent = model.parent[i]
        roots.append(roots[parent] if parent >= 0 and model.moves[parent] else i)
        tree |= dict.fromkeys(range(model.nv)[dofs], roots[i])
    groups: list[tuple[set[int], list[int]]] = []
    for k, c in enumerate(constraints):
        trees, members = {tree[d] for d in (range(model.nv) if c.dofs is None else c.dofs)}, [k]
        for other in [g for g in groups if g[0] & trees]:
            groups.remove(other)
            trees, members = trees | other[0], other[1] + members
        groups.append((trees, members))
    return tuple(sorted(tuple(sorted(members)) for _, members in groups))


def constrained(
    M: Array,
    v: Array,
    vdot: Array,
    constraints: Sequence[Constraint],
    groups: Sequence[Sequence[int]],
    given: Sequence[int] = (),
) -> Response:
    """Return the effect of all active constraints on the accelerations, so that J v̇ + J̇ v = −2 α J v − α² error.

    `M` is the joint-space inertia, shape (nv, nv), and `vdot` contains the accelerations without constraints, shape (nv,).
    `groups` contains the indices of constraints that are solved together, and `given` the indices in v of joints with
    prescribed motion, which constraint forces do not change.
    """
    lacking = []
    for c in constraints:
        alpha = c.stabilisation
        lacking.append(c.J @ vdot + c.bias + 2.0 * alpha * (c.J @ v) + alpha**2 * c.error)
    return constraint_response(M, constraints, lacking, groups, given)


def with_loops(model: Model, q: Array, v: Array, M: Array, vdot: Array) -> Array:
    """Return accelerations (nv,) including loop forces, from the accelerations of the open tree and its inertia (nv, nv)."""
    kin = dynamics.kinematics(model, q, v)
    rows = [dynamics.loop_constraint(model, kin, q, v, loop) for loop in model.loops]
    return vdot + constrained(M, v, vdot, rows, constraint_groups(model, rows)).change


class _Chains(NamedTuple):
    """A load (one tree with few degrees of freedom) and the trees that hold the load."""

    load: tuple[int, ...]
    """Degrees of freedom of the load."""
    trees: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    """Degrees of freedom of each chain, and the rows of its constraints."""


def _chains(M: Array, constraints: Sequence[Constraint]) -> _Chains | None:
    """Return the load and the chains of a group of constraints; None if there is no load or a chain is always singular."""
    if len(constraints) < 2 or any(c.dofs is None for c in constraints):
        return None
    parts = _components(M)
    touched = [{parts[d] for d in c.dofs or ()} for c in constraints]
    load = set.intersection(*touched)  # several components if the inertia has zeros
    dofs = tuple(d for d in range(len(M)) if parts[d] in load)
    groups: list[tuple[set[int], list[int]]] = []
    row = 0
    for c, trees in zip(constraints, touched, strict=True):
        rest, rows = trees - load, list(range(row, row + len(c.J)))
        row += len(c.J)
        for other in [g for g in groups if g[0] & rest]:
            groups.remove(other)
            rest, rows = rest | other[0], other[1] + rows
        groups.append((rest, rows))
    chains = tuple((tuple(d for d in range(len(M)) if parts[d] in trees), tuple(rows)) for trees, rows in groups)
    fits = 0 < len(dofs) <= 6 and len(chains) > 1 and all(len(rows) <= len(tree) for tree, rows in chains)
    return _Chains(dofs, chains) if fits else None


def _components(M: Array) -> list[int]:
    """Return a component number for each degree of freedom; M couples degrees of freedom with equal numbers."""
    parts = list(range(len(M)))
    for i in range(len(M)):
        for j in range(i):
            if parts[i] != parts[j] and not is_zero(M[i, j]):
                new, old = min(parts[i], parts[j]), max(parts[i], parts[j])
                parts = [new if p == old else p for p in parts]
    return parts


def _by_chains(chains: _Chains, W: Array, inverse: Array, flags: Array, rhs: Array, scale: Array) -> Array:
    """Return the forces of chains on a load by McMillan 1994, eqs. 2.16-2.21, or by pivoting near a singularity.

        λ_k = Λ_k (r_k − X_kᵀ y),   (D + Σ X_k Λ_k X_kᵀ) y = Σ X_k Λ_k r_k,   Λ_k⁻¹ = W_kᵀ D_k⁻¹ W_k

    X_k contains the load's rows of W, and D is the load's part of the diagonal. Open constraints have λ = 0. All rows are
    scaled as for pivoting.
    """
    at = list(chains.load)
    A: Array = np.diag(1.0 / inverse[at])
    r: Array = np.zeros(len(at))
    smallest: Scalar = 1.0
    pieces = []
    for tree, members in chains.trees:
        rows, dofs = list(members), list(tree)
        on = flags[rows]
        part = W[np.ix_(dofs, rows)] * (scale[rows] * on)
        open_ = np.diag(1.0 - on)
        factor = ldl(part.T @ (part * inverse[dofs][:, None]) + open_)
        X, given = W[np.ix_(at, rows)] * (scale[rows] * on), rhs[rows] * scale[rows]
        solved = np.stack([factor.solve(row) for row in X])
        A, r = A + _symmetric(X, solved), r + solved @ given
        for d in factor.inverse_diagonal:
            smallest = minimum(smallest, 1.0 / d)
        pieces.append((rows, solved, factor.solve(given)))
    y = ldl(A).solve(r)
    out: list[Scalar] = [0.0] * len(rhs)
    for rows, solved, alone in pieces:
        for k, value in zip(rows, (alone - y @ solved) * scale[rows], strict=True):
            out[k] = value
    filled = tuple((i, j) for i in range(len(W)) for j in range(W.shape[1]) if not is_zero(W[i, j]))
    entries = np.array([W[i, j] for i, j in filled])
    program = _pivoted(filled, W.shape)
    near = where(smallest > REGULAR, 0.0, 1.0)
    return compiler.when(near, program, [entries, inverse, flags, rhs, scale], [np.array(out)])[0]


def _symmetric(X: Array, solved: Array) -> Array:
    """Return the symmetric product X Λ Xᵀ; each entry is computed once."""
    n = len(X)
    out = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i, n):
            out[i][j] = out[j][i] = X[i] @ solved[j]
    return np.array(out)


@cache
def _pivoted(filled: tuple[tuple[int, int], ...], shape: tuple[int, int]) -> compiler.Program:
    """Return a program for the solution by full pivoting, as a function of the nonzero entries of W."""
    nv, n = shape

    def solution(entries: Array, inverse: Array, flags: Array, rhs: Array, scale: Array) -> Array:
        W = np.zeros(shape, dtype=object)
        for (i, j), value in zip(filled, entries, strict=True):
            W[i, j] = value
        W = W * (flags * scale)
        A = _symmetric(W.T, (W * inverse[:, None]).T) + np.diag(1.0 - flags)
        return compiler.solve_semidefinite(A, rhs * scale, DEPENDENT, DEPENDENT)[0] * scale

    shapes = {"entries": (len(filled),), "inverse": (nv,), "flags": (n,), "rhs": (n,), "scale": (n,)}
    return compiler.trace(solution, shapes, name="pivoted_chains", outputs=("x",))


def constraint_response(
    M: Array,
    constraints: Sequence[Constraint],
    lacking: Sequence[Array],
    groups: Sequence[Sequence[int]],
    given: Sequence[int] = (),
) -> Response:
    """Return the forces λ of the active constraints with J M⁻¹ Jᵀ λ = −lacking, and the resulting accelerations (or jumps).

    The factors M⁻¹ = L⁻ᵀ D⁻¹ L⁻¹ and W = L⁻¹ Jᵀ are as in `dynamics.closed_chain_dynamics`; zero blocks between separate trees
    are skipped. Each row is divided by the square root of its mobility a = (Wᵀ D⁻¹ W)_ii, which makes the system independent of
    masses and units. If a is a rounding error, as for out-of-plane motion of a planar mechanism, a + ROUNDING Σ 1/M_jj replaces
    a. Full pivoting allows dependent rows; a pivot is the remaining fraction of a row's mobility. Trees that hold one load are
    solved chain by chain (`_by_chains`), unless one of them is near a singularity.

    `M` is the joint-space inertia, shape (nv, nv), and `lacking` the missing acceleration of each constraint, shape (c,).
    `groups` and `given` are as in `constrained`.
    """
    nv = len(M)
    held = set(given)
    if held:  # infinite inertia: a decoupled row and column without mobility
        M = np.array([[float(i == j) if i in held or j in held else M[i, j] for j in range(nv)] for i in range(nv)])
        still = np.array([0.0 if j in held else 1.0 for j in range(nv)])
        constraints = [c._replace(J=c.J * still) for c in constraints]
    factor = ldl(M)
    inverse = np.array(factor.inverse_diagonal)
    along: Array = np.zeros(nv)  # D⁻¹ W λ
    free, pivots, forces = [], [], {}
    for group in groups:
        rows: list[Array] = []
        flags: list[Scalar] = []
        rhs: list[Scalar] = []
        floors: list[Scalar] = []
        for k in group:
            c = constraints[k]
            floor = ROUNDING * sum(1.0 / M[j, j] for j in (range(nv) if c.dofs is None else c.dofs))
            rows += [factor.forward(row) for row in c.J]
            flags += [c.active] * len(c.J)
            rhs += [-c.active * x for x in lacking[k]]
            floors += [floor] * len(c.J)
        W = np.stack(rows, axis=1)
        scaled = W * inverse[:, None]
        n = len(rhs)
        own = [W[:, i] @ scaled[:, i] for i in range(n)]
        scale = [1.0 / np.sqrt(a + floor) for a, floor in zip(own, floors, strict=True)]
        A: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
        for i in range(n):
            A[i][i] = flags[i] * (own[i] * scale[i] * scale[i]) + (1.0 - flags[i])
            for j in range(i + 1, n):
                A[i][j] = A[j][i] = flags[i] * flags[j] * (W[:, i] @ scaled[:, j] * (scale[i] * scale[j]))
        b = np.array([r * s for r, s in zip(rhs, scale, strict=True)])
        x, rank, pivot = compiler.solve_semidefinite(np.array(A), b, DEPENDENT, DEPENDENT)
        lam = x * np.array(scale)
        chains = _chains(M, [constraints[k] for k in group])
        if chains is not None:
            lam = _by_chains(chains, W, inverse, np.array(flags), np.array(rhs), np.array(scale))
        along = along + scaled @ lam
        free.append(n - rank)
        pivots.append(pivot)
        at = 0
        for k in group:
            forces[k] = lam[at : at + len(constraints[k].J)]
            at += len(constraints[k].J)
    return Response(factor.back(along), np.array(free), np.array(pivots), tuple(forces[k] for k in range(len(constraints))))
