"""Thrust allocation: forces within the limits of the thrusters that best produce a demanded wrench."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hydromechs.model import Model
from hydromechs.spatial import Path

from ._thruster import Thruster

REGULAR = 1e-5
"""Weight on forces in the search for thrusters at a limit, relative to the largest singular value."""


class Allocation(NamedTuple):
    """Allocated thruster forces, and the residual wrench."""

    forces: np.ndarray
    """Force of each thruster [N], shape (nt,)."""
    residual: np.ndarray
    """Demanded wrench minus the produced wrench [N, N·m], shape (6,)."""
    saturated: np.ndarray
    """True for each thruster at a limit, shape (nt,)."""


def allocation_matrix(model: Model, thrusters: Sequence[Thruster], body: str) -> np.ndarray:
    """Return the wrench per newton of each thruster, about the body origin in body axes [1, m], shape (6, nt).

    The column of a thruster at position p with the direction e is (e, p × e).

    Args:
        model: Model that contains the thruster frames.
        thrusters: Thrusters on `body`, or on bodies fixed to it.
        body: Name of the body.
    """
    root, R_RB, p_RB = _on_rigid_body(model, model.body_index(body))
    columns = []
    for thruster in thrusters:
        carrier, p_B, R_B = thruster.place(model)
        its_root, R, p = _on_rigid_body(model, carrier)
        if its_root != root:
            raise ValueError(
                f"thruster {thruster.name!r}: the frame {thruster.frame!r} is on body {model.bodies[carrier].name!r}, which "
                f"moves relative to {body!r}; allocate over thrusters on one rigid body"
            )
        e = R_RB.T @ R @ R_B[:, 0]
        p = R_RB.T @ (p + R @ p_B - p_RB)
        columns.append(np.concatenate([e, np.cross(p, e)]))
    return np.array(columns).reshape(-1, 6).T


def _on_rigid_body(model: Model, i: int) -> tuple[int, np.ndarray, np.ndarray]:
    """Return the index of the body that rigidly carries body i, and the axes and origin of body i relative to it."""
    R, p = np.eye(3), np.zeros(3)
    while model.bodies[i].joint.nv == 0 and model.parent[i] >= 0:
        R_i, p_i = Path(model.steps[i]).pose()
        R, p = R_i @ R, p_i + R_i @ p
        i = model.parent[i]
    return i, R, p


class Allocator:
    """Bounded least squares: forces f that minimise |W (B f − τ)| and, among these solutions, |f|.

    The solution is exact. If the pseudo-inverse satisfies the limits, f = (W B)⁺ W τ is one matrix product. Otherwise an
    active-set method finds the thrusters at a limit (Stark and Parker 1995, from SciPy, with a weight of 10⁻⁵ on f for a unique
    solution), and the pseudo-inverse of the other thrusters distributes the remaining wrench.

    Args:
        B: Wrench per force, as in `allocation_matrix` [1, m], shape (6, nt).
        lower: Minimum force of each thruster [N], a number or shape (nt,).
        upper: Maximum force of each thruster [N], a number or shape (nt,).
        weights: Weight W of each component of the wrench, at least 0, shape (6,); defaults to 1.
    """

    def __init__(self, B: ArrayLike, lower: ArrayLike, upper: ArrayLike, weights: ArrayLike | None = None) -> None:
        self.B = np.array(B, dtype=float)
        if self.B.ndim != 2 or not self.B.size:
            raise ValueError(f"B has shape {self.B.shape}, must be (6, n) for n thrusters, n ≥ 1")
        if not np.isfinite(self.B).all():
            raise ValueError("B contains numbers that are not finite; correct the positions and axes of the thrusters")
        m, n = self.B.shape
        self.lower, self.upper = (np.array(np.broadcast_to(x, n), dtype=float) for x in (lower, upper))
        self.weights = np.ones(m) if weights is None else np.array(np.broadcast_to(weights, m), dtype=float)
        for k in range(n):
            if not self.lower[k] <= self.upper[k]:
                raise ValueError(f"lower[{k}] is {self.lower[k]:.6g} N, must be at most upper[{k}], {self.upper[k]:.6g} N")
        if not (self.weights >= 0.0).all():
            raise ValueError(f"weights is {self.weights.tolist()}, must be at least 0; use 0 for components without demand")
        self.A = self.weights[:, None] * self.B
        """Weighted wrench per force, W B, shape (6, nt)."""
        self.inverse = np.linalg.pinv(self.A, rcond=1e-10)
        """Pseudo-inverse of the weighted matrix, shape (nt, 6)."""
        self._size = np.linalg.norm(self.A, 2) or 1.0
        self.weight = float(REGULAR * self._size)
        """Weight on forces in the search for thrusters at a limit."""
        self._regular = np.vstack([self.A, self.weight * np.eye(n)])

    def __call__(self, wrench: ArrayLike) -> Allocation:
        """Return the thruster forces for a demanded `wrench` [N, N·m], shape (6,)."""
        tau = np.asarray(wrench, dtype=float)
        if tau.shape != self.weights.shape or not np.isfinite(tau).all():
            raise ValueError(f"wrench is {tau.tolist()}, must be {len(self.weights)} finite numbers")
        f = self.inverse @ (self.weights * tau)
        if not ((f >= self.lower) & (f <= self.upper)).all():
            f = self._bounded(self.weights * tau)
        return Allocation(f, tau - self.B @ f, (f <= self.lower) | (f >= self.upper))

    def _bounded(self, b: np.ndarray) -> np.ndarray:
        from scipy.optimize import lsq_linear  # slow to import, and rarely needed: few vehicles saturate

        f, free = self.lower.copy(), self.lower < self.upper
        if free.any():
            limits, target = (self.lower[free], self.upper[free]), np.concatenate([b, np.zeros(len(f))])
            rest = target - self._regular[:, ~free] @ f[~free]
            found = lsq_linear(self._regular[:, free], rest, limits, method="bvls", tol=1e-14, max_iter=50 * len(f))
            if not found.success:
                raise RuntimeError(f"the allocation did not converge for the weighted wrench {b.tolist()}; report this case")
            at = found.active_mask.astype(int)
            f[free] = np.choose(at + 1, [limits[0], found.x, limits[1]])  # exactly at the limits
            free[free] = at == 0
        return self._share(b, f, free)

    def _share(self, b: np.ndarray, f: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Return the minimum-norm least-squares forces of the free thrusters, given the forces of thrusters at a limit."""
        rest = np.linalg.pinv(self.A[:, free], rcond=1e-10) @ (b - self.A[:, ~free] @ f[~free])
        f[free] = np.clip(rest, self.lower[free], self.upper[free])
        return f


def allocate(
    B: ArrayLike, wrench: ArrayLike, lower: ArrayLike, upper: ArrayLike, weights: ArrayLike | None = None
) -> Allocation:
    """Return the thruster forces for one demanded wrench; use an `Allocator` for many wrenches.

    Args:
        B: Wrench per force, as in `allocation_matrix` [1, m], shape (6, nt).
        wrench: Demanded wrench [N, N·m], shape (6,).
        lower: Minimum force of each thruster [N], a number or shape (nt,).
        upper: Maximum force of each thruster [N], a number or shape (nt,).
        weights: Weight of each component of the wrench, shape (6,). Defaults to 1.
    """
    return Allocator(B, lower, upper, weights)(wrench)
