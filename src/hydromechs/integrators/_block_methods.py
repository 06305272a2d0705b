"""Sliding-block predictor-corrector methods (thesis ch. 3), which compute several points in time on the lanes of one core.

A block method of order k with p points starts from the newest state y_0 and the derivatives f_i at the last k points, i = 1 − k
... 0. It computes the next p points, j = 1 ... p, in four stages:

    predict     y_j = y_0 + h Σ_i a_ji f_i      with the k old derivatives;
    evaluate    f_j = f(t_j, y_j)               for all p points in parallel;
    correct     y_j = y_0 + h Σ_i b_ji f_i      with the k − p newest old derivatives and the p predicted derivatives;
    evaluate    f_j = f(t_j, y_j)               for all p points in parallel.

For p = 1 this is the classical Adams-Bashforth-Moulton PECE method.

The configuration is on a manifold. A block is computed in the chart around its newest configuration, q_0 ⊕ u (see
`dynamics.retract`). The old points are first expressed in this chart: u_i = q_i ⊖ q_0, with u̇_i from the velocity at point i.
Derivatives of velocities and internal states are equal in all charts.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np

from hydromechs.model.component import fastest_root
from hydromechs.values import Array, Scalar

from ._integrator import Integrator

LARGEST_ORDER = 10
"""Maximum order; above it the stability region of Adams methods is almost empty."""


@cache
def integration_weights(nodes: tuple[int, ...], end: int) -> tuple[Fraction, ...]:
    """Return w with ∫_0^end f = Σ w_i f(node_i) for every polynomial f of degree below the number of nodes.

    Each weight is the integral of the node's Lagrange polynomial, as an exact fraction.
    """
    out = []
    for node in nodes:
        polynomial = [Fraction(1)]  # coefficients of powers 0, 1, ...
        for other in nodes:
            if other != node:
                scale = Fraction(1, node - other)
                shifted = [Fraction(0), *polynomial]
                polynomial = [scale * (a - other * b) for a, b in zip(shifted, [*polynomial, Fraction(0)], strict=True)]
        terms = (c * Fraction(end) ** (power + 1) / (power + 1) for power, c in enumerate(polynomial))
        out.append(sum(terms, Fraction(0)))
    return tuple(out)


def predictor_weights(order: int, points: int) -> list[tuple[Fraction, ...]]:
    """Return the predictor weights a_ji of the derivatives at the nodes 1 − k ... 0, one row for each point j = 1 ... p."""
    return [integration_weights(tuple(range(1 - order, 1)), j) for j in range(1, points + 1)]


def corrector_weights(order: int, points: int) -> list[tuple[Fraction, ...]]:
    """Return the corrector weights b_ji of the derivatives at the nodes p + 1 − k ... p, one row for each point j = 1 ... p."""
    return [integration_weights(tuple(range(points + 1 - order, points + 1)), j) for j in range(1, points + 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlidingBlock(Integrator):
    """PECE method of order k that computes p points in time per block; "b4pc5" has p = 4 and k = 5.

    The method starts with Dormand-Prince steps of the same length, and restarts after every jump of the inputs.
    """

    steps = "BlockSteps"
    impact = 0.02  # a block would reuse derivatives from before the jump of the force
    order: int = 5  # a field that replaces the interface's property
    """Order k of predictor and corrector, 2 to 10 [-]."""
    points: int = 4
    """Number p of points of a block, below k [-]."""
    tasks: int | None = None
    """Number of points evaluated in parallel, a divisor of p (p̃ of the thesis) [-]; all p if None, 1 for sequential
    evaluation."""

    def __post_init__(self) -> None:
        for name in ("order", "points"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer):
                raise ValueError(f"integrator.{name} is {value!r}; enter an integer")
        if not 2 <= self.order <= LARGEST_ORDER:
            raise ValueError(f"integrator.order is {self.order}; use 2 to {LARGEST_ORDER}")
        if self.points < 1:
            raise ValueError(f"integrator.points is {self.points}; use at least 1")
        if self.points >= self.order:
            raise ValueError(
                f"integrator.points is {self.points} with order {self.order}; this leaves no old derivative for the corrector; "
                f"use at most {self.order - 1} points or a higher order"
            )
        if self.tasks is not None and (self.tasks not in range(1, self.points + 1) or self.points % self.tasks):
            raise ValueError(f"integrator.tasks is {self.tasks!r}; use a divisor of the {self.points} points of a block")

    @property
    def name(self) -> str:
        return f"b{self.points}pc{self.order}"

    @property
    def stages(self) -> int:
        """Evaluations of the dynamics per point: one for the predictor and one for the corrector."""
        return 2

    def longest_step(self, frequency: float, decay: float) -> float:
        """Return the longest step [s] for ẍ + decay ẋ + frequency² x = 0 with a growth of at most 1e-3 in a block."""
        if frequency == 0.0 and decay == 0.0:
            return math.inf
        root = complex(-0.5 * decay, math.sqrt(max(0.0, frequency - 0.5 * decay)) * math.sqrt(frequency + 0.5 * decay))
        if decay >= 2.0 * frequency:
            root = complex(-fastest_root(frequency, decay), 0.0)
        direction = complex(round(root.real / abs(root), 2), round(root.imag / abs(root), 2))
        return _stable_until(self.order, self.points, direction, 0.0 if root.imag == 0.0 else 1e-3) / abs(root)

    @property
    def substeps(self) -> int:
        """Number of Dormand-Prince substeps per step at the start, so that their error is negligible for orders above 5."""
        return 2 ** max(0, self.order - 5)

    @property
    def stability(self) -> float:
        """Maximum |h λ| of a decaying mode λ < 0 for which a block is stable."""
        return _stable_until(self.order, self.points, -1.0, 0.0)

    @property
    def oscillation(self) -> float:
        """Maximum h ω of an undamped oscillation ω whose amplitude grows by at most 1e-3 in a block."""
        return _stable_until(self.order, self.points, 1.0j, 1e-3)


def block_named(name: str) -> SlidingBlock | None:
    """Return the block method for a name such as "b4pc5" (4 points, order 5), or None if the name has another form."""
    found = re.fullmatch(r"b(\d+)pc(\d+)", name) if isinstance(name, str) else None
    return SlidingBlock(points=int(found[1]), order=int(found[2])) if found else None


def amplification(order: int, points: int, z: complex) -> np.ndarray:
    """Return the matrix of a block for ẏ = λ y with z = h λ, shape (k + 1, k + 1); it acts on (y_0, h f_{1−k}, ..., h f_0)."""
    k, p = order, points
    A, B = (np.array(w(k, p), dtype=float) for w in (predictor_weights, corrector_weights))
    predicted = z * np.column_stack([np.ones(p), A])
    known = np.vstack([np.eye(k + 1)[1 + p :], predicted])  # derivatives that the corrector uses
    corrected = np.eye(1, k + 1) + B @ known
    return np.vstack([corrected[-1:], np.eye(k + 1)[1 + p :], z * corrected])


@cache
def _stable_until(order: int, points: int, direction: complex, growth: float) -> float:
    """Return the largest r for which all z from 0 to r · direction have at most this `growth` in a block."""

    def stable(r: float) -> bool:
        return bool(np.abs(np.linalg.eigvals(amplification(order, points, r * direction))).max() <= 1.0 + growth + 1e-9)

    low = 0.0
    while stable(low + 0.01) and low < 10.0:
        low += 0.01
    high = low + 0.01
    for _ in range(20):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if stable(middle) else (low, middle)
    return low


class BlockSystem(NamedTuple):
    """Equations that a block method integrates, as functions of floats or symbols; the first dimension counts points."""

    nv: int
    """Degrees of freedom."""
    rates: Callable[..., Array]
    """Function of q, configurations (k, nq) and velocities (k, nv) that returns u̇ of the old points in the chart around q,
    shape (k, nv)."""
    predict: Callable[..., Array]
    """Function of times (p,), q, x, h, derivatives F (k, n) and weights W (p, k) that returns ẏ (p, n) at y_0 + h W F."""
    correct: Callable[..., tuple[Array, Array, Array]]
    """Function of the arguments of `predict` that returns q, x and ẋ at y_0 + h W F, shape (p, ...) each."""


def block_step(
    method: SlidingBlock, system: BlockSystem, t: Scalar, Q: Array, X: Array, D: Array, h: Scalar
) -> tuple[Array, Array, Array]:
    """Return the last k points of the trajectory after a block of p points; `t` is the time of the newest given point [s].

    Points consist of configurations `Q` (k, nq), velocities and internal states `X` (k, nv + nz), and derivatives `D` of `X`.
    """
    k, p = method.order, method.points
    q, x = Q[-1], X[-1]
    times = np.array([t + j * h for j in range(1, p + 1)])
    A, B = (np.array(w(k, p), dtype=float) for w in (predictor_weights, corrector_weights))
    F = np.concatenate([system.rates(q, Q, X[:, : system.nv]), D], axis=1)
    predicted = system.predict(times, q, x, h, F, A)
    Q_new, X_new, D_new = system.correct(times, q, x, h, np.concatenate([F[p:], predicted]), B)
    return np.concatenate([Q[p:], Q_new]), np.concatenate([X[p:], X_new]), np.concatenate([D[p:], D_new])
