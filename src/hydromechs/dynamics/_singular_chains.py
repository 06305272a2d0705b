"""Closed chains with arms at or near singular configurations (McMillan 1994, ch. 4).

A chain whose Jacobian loses rank has a singular Λ⁻¹ = J H⁻¹ Jᵀ: its tip cannot move in some direction, and Λ does not exist.
The accelerations of the load and of all joints remain unique. Tip forces are undetermined in directions in which two chains are
singular; these components are set to 0, as in the thesis.

X_k maps the load's acceleration to the directions held by chain k, and f_k acts on the load as X_kᵀ f_k. The thesis writes the
equations at one reference point, so that X_k = 1.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from hydromechs.model import Model
from hydromechs.spatial import ldl, pivoted_solve
from hydromechs.values import Array

from ._closed_chain import ClosedChains, Holding, OpenChain, inverse, joined, open_chains
from ._kinematics import Balance

Solver: TypeAlias = Callable[[Array, Array], tuple[Any, Any, Any]]
"""Solver (A, b) → (x, rank, ratio of the smallest to the largest pivot) of a semidefinite system."""


class LoadSolution(NamedTuple):
    """Acceleration of the load and forces of the chains on it."""

    a_r: Array
    """Gravity-biased acceleration a'_r = a_r − g of the load, shape (6,)."""
    forces: tuple[Array, ...]
    """Forces f_k of the chains on the load, shape (c,) each."""
    free: float
    """Number of undetermined force components, which are set to 0."""
    pivot: float
    """Ratio of the smallest to the largest pivot of the singular chains' system; 1 if no chain is singular."""


def condition_numbers(chains: Sequence[OpenChain]) -> Array:
    """Return the condition number of Λ⁻¹ of each chain, infinite at a singularity; the chains must contain floats."""
    out = []
    for chain in chains:
        low, *_, high = np.linalg.eigvalsh(np.asarray(chain.mobility, dtype=float)).tolist() * 2
        low, high = min(low, high), max(low, high)
        out.append(high / low if low > 0.0 else np.inf)
    return np.array(out)


def load_solution(
    chains: Sequence[OpenChain], I_r: Array, f_r: Array, singular: Sequence[int], solve: Solver = pivoted_solve
) -> LoadSolution:
    """Return a'_r and f_k for any number of chains treated as singular (eqs. 4.1-4.23).

    The other chains form the nonsingular subsystem, Λ_* = I_r + Σ Xᵀ Λ_k X and f_* = f_r + Σ Xᵀ Λ_k ẍ_open. Then with
    E_k = X_k Λ_*⁻¹, for one singular chain m

        f_m = (Λ_m⁻¹ + E_m X_mᵀ)⁻¹ (ẍ_m − E_m f_*)

    For two or more singular chains, the first is eliminated by its positive definite Λ⁻¹ + E Xᵀ, and the others are solved with
    full pivoting. Rows and columns of this system are scaled by the square roots of the diagonal of each chain's Λ⁻¹ + E Xᵀ.

    I_r is the inertia of the load, shape (6, 6), and f_r the sum of all other forces on the load, shape (6,). `singular` may
    include chains that are not singular. Compiled code passes its own semidefinite solver `solve`, (A, b) → (x, rank, pivot).
    """
    Lambda_star, f_star, Lambdas = I_r, f_r, {}
    for k, chain in enumerate(chains):
        if k not in singular:
            Lambda = inverse(chain.mobility)
            Lambdas[k] = Lambda
            Lambda_star = Lambda_star + chain.onto.T @ Lambda @ chain.onto
            f_star = f_star + chain.onto.T @ (Lambda @ chain.acceleration)
    star = ldl(Lambda_star)
    moved = star.solve(f_star)
    forces: list[Any] = [None] * len(chains)
    free, pivot = 0.0, 1.0
    if singular:
        first, *others = singular
        # E_kᵀ = Λ_*⁻¹ X_kᵀ, shape (6, c)
        E = {k: np.stack([star.solve(row) for row in chains[k].onto], axis=1) for k in singular}
        lacking = {k: chains[k].acceleration - chains[k].onto @ moved for k in singular}

        def block(i: int, j: int) -> Array:
            return chains[i].onto @ E[j] + (chains[i].mobility if i == j else 0.0)

        own = ldl(block(first, first))
        if others:
            rows = [
                [block(i, j) - block(i, first) @ np.stack([own.solve(c) for c in block(first, j).T], axis=1) for j in others]
                for i in others
            ]
            A = np.concatenate([np.concatenate(row, axis=1) for row in rows])
            b = np.concatenate([lacking[i] - block(i, first) @ own.solve(lacking[first]) for i in others])
            # rows in metres and radians share one matrix: S A S, where S² block = 1 on the diagonal, is independent of units
            S = 1.0 / np.sqrt(np.concatenate([np.diagonal(block(i, i)) for i in others]))
            x, rank, pivot = solve(S[:, None] * A * S, S * b)
            x, free = S * x, len(b) - rank
            at = 0
            for i in others:
                forces[i] = x[at : at + len(chains[i].acceleration)]
                at += len(chains[i].acceleration)
        known = sum((block(first, i) @ forces[i] for i in others), np.zeros(len(lacking[first])))
        forces[first] = own.solve(lacking[first] - known)
        for k in singular:
            moved = moved + E[k] @ forces[k]
    for k, Lambda in Lambdas.items():
        forces[k] = Lambda @ (chains[k].acceleration - chains[k].onto @ moved)
    return LoadSolution(moved, tuple(forces), free, pivot)


def singular_chain_dynamics(
    model: Model,
    b: Balance,
    tau: Array,
    load: int,
    holdings: Sequence[Holding],
    *,
    threshold: float = 1e8,
    solve: Solver = pivoted_solve,
) -> tuple[ClosedChains, LoadSolution]:
    """Return `closed_chain_dynamics` for floats, with arms treated as singular if cond(Λ⁻¹) exceeds `threshold`."""
    chains, I_r, f_r = open_chains(model, b, tau, load, holdings)
    near = [k for k, c in enumerate(condition_numbers(chains)) if c > threshold]
    solution = load_solution(chains, I_r, f_r, near, solve)
    return joined(model, b, tau, load, holdings, chains, solution.a_r, solution.forces), solution


def dual_arm(
    mobility_1: Array, mobility_2: Array, x_1: Array, x_2: Array, I_r: Array, f_r: Array
) -> tuple[Array, Array, Array]:
    """Return a_r, f_1, f_2 (6,) of two nonsingular arms at the load's reference point by Method I of Table 7.

        a_r = (Λ_1 + Λ_2 + I_r)⁻¹ (Λ_1 ẍ_1 + Λ_2 ẍ_2 + f_r),    f_k = Λ_k (ẍ_k − a_r)

    `mobility_k` is Λ⁻¹ (6, 6) of arm k, and `x_k` the tip acceleration ẍ (6,) of the open arm. I_r is the diagonal of the
    load's inertia (6,), and f_r contains the other forces on the load less its bias (6,).
    """
    L1, L2 = inverse(mobility_1), inverse(mobility_2)
    A = np.array([[L1[i, j] + L2[i, j] + (I_r[i] if i == j else 0.0) for j in range(6)] for i in range(6)])
    a_r = ldl(A).solve(L1 @ x_1 + L2 @ x_2 + f_r)
    return a_r, L1 @ (x_1 - a_r), L2 @ (x_2 - a_r)


def dual_arm_without_detection(
    mobility_1: Array, mobility_2: Array, x_1: Array, x_2: Array, I_r: Array, f_r: Array
) -> tuple[Array, Array, Array]:
    """Return the results of `dual_arm` by Method II of Table 7, without singularity detection and also for singular arms.

        A = Λ_1⁻¹ + I_r⁻¹,   y = I_r⁻¹ f_r
        f_2 = [Λ_2⁻¹ + I_r⁻¹ − I_r⁻¹ A⁻¹ I_r⁻¹]⁻¹ {ẍ_2 − y − I_r⁻¹ A⁻¹ (ẍ_1 − y)}
        f_1 = A⁻¹ (ẍ_1 − y − I_r⁻¹ f_2),     a_r = y + I_r⁻¹ (f_1 + f_2)

    The bracket is singular only if both arms are singular in a common direction. The arguments are those of `dual_arm`.
    """
    light = [1.0 / i for i in I_r]
    y = np.array([light[i] * f_r[i] for i in range(6)])
    first, second = x_1 - y, x_2 - y
    inner = inverse(np.array([[mobility_1[i, j] + (light[i] if i == j else 0.0) for j in range(6)] for i in range(6)]))
    half = [[light[i] * inner[i, j] for j in range(6)] for i in range(6)]
    A = [[0.0] * 6 for _ in range(6)]
    for i in range(6):
        for j in range(i, 6):
            own = mobility_2[i, j] + light[i] if i == j else mobility_2[i, j]
            A[i][j] = A[j][i] = own - half[i][j] * light[j]
    f_2 = ldl(A).solve(second - np.array(half) @ first)
    f_1 = inner @ (first - np.array([light[i] * f_2[i] for i in range(6)]))
    return y + np.array([light[i] * (f_1[i] + f_2[i]) for i in range(6)]), f_1, f_2
