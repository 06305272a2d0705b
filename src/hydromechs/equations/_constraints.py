"""Constraints between accelerations, solved together with the dynamics, independent groups separately."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hydromechs import compiler, dynamics
from hydromechs.model import Model
from hydromechs.model.component import Constraint
from hydromechs.spatial import ldl
from hydromechs.values import Array, Scalar

DEPENDENT = 1e-12
"""Minimum fraction of a row's mobility that is independent of other rows: the squared sine of an angle."""
ROUNDING = 1e-6
"""Fraction of the mobility of its degrees of freedom, Σ 1/M_jj, that is added to a row's mobility: with `DEPENDENT`,
entries of J below 1e-9 (a lever arm of 1e-9 m) count as zero."""


class Response(NamedTuple):
    """Power and energy of forces along constraints."""

    change: Array
    """M⁻¹ Jᵀ λ, shape (nv,)."""
    free: Array
    """Number of undetermined forces of each group, which are set to 0, shape (ng,)."""
    pivot: Array
    """Smallest pivot over the largest of each group's scaled rows, about the inverse condition number, shape (ng,)."""
    forces: tuple[Array, ...]
    """λ of the constraints, shape (c,); 0 for open ones."""


def constraint_groups(model: Model, constraints: Sequence[Constraint]) -> tuple[tuple[int, ...], ...]:
    """Return the indices of constraints, open or closed, in groups that share a movable tree directly or through others."""
    tree: dict[int, int] = {}  # for each degree of freedom: the outermost moving body that carries it
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
    """Contribution of all active constraints to the accelerations, M⁻¹ Jᵀ λ, so that J v̇ + J̇ v = −2 α J v − α² error.

    `M`: Joint-space inertia, shape (nv, nv); `vdot`: accelerations without constraints, shape (nv,); `groups`: indices of
    constraints that are solved together; `given`: indices in v of joints with prescribed motion, which forces do not change.
    """
    lacking = []
    for c in constraints:
        alpha = c.stabilisation
        lacking.append(c.J @ vdot + c.bias + 2.0 * alpha * (c.J @ v) + alpha**2 * c.error)
    return constraint_response(M, constraints, lacking, groups, given)


def with_loops(model: Model, q: Array, v: Array, M: Array, vdot: Array) -> Array:
    """Return accelerations (nv,) including loop forces, from those of the open tree and its inertia (nv, nv)."""
    kin = dynamics.kinematics(model, q, v)
    rows = [dynamics.loop_constraint(model, kin, q, v, loop) for loop in model.loops]
    return vdot + constrained(M, v, vdot, rows, constraint_groups(model, rows)).change


def constraint_response(
    M: Array,
    constraints: Sequence[Constraint],
    lacking: Sequence[Array],
    groups: Sequence[Sequence[int]],
    given: Sequence[int] = (),
) -> Response:
    """Return forces λ along the active constraints with J M⁻¹ Jᵀ λ = −lacking, and their accelerations (or jumps).

    M⁻¹ = L⁻ᵀ D⁻¹ L⁻¹ and W = L⁻¹ Jᵀ as in `dynamics.closed_chain_dynamics`; blocks between separate trees are zeros, which are
    eliminated.
    Each row is divided by the root of its mobility a = (Wᵀ D⁻¹ W)_ii, so that masses and units do not matter, and the system
    is solved with full pivoting, so that rows may depend on each other: a pivot is the remaining fraction of a row's mobility.
    If a is itself rounding, as for out-of-plane motion of a planar mechanism, a + ROUNDING Σ 1/M_jj replaces it.

    `M`: Joint-space inertia, shape (nv, nv); `lacking`: missing acceleration of each, shape (c,); `groups`: indices of
    constraints that are solved together; `given`: indices in v of joints with prescribed motion, which forces do not change.
    """
    nv = len(M)
    held = set(given)
    if held:  # infinite inertia: a separate row and column, without mobility
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
        along = along + scaled @ lam
        free.append(n - rank)
        pivots.append(pivot)
        at = 0
        for k in group:
            forces[k] = lam[at : at + len(constraints[k].J)]
            at += len(constraints[k].J)
    return Response(factor.back(along), np.array(free), np.array(pivots), tuple(forces[k] for k in range(len(constraints))))
