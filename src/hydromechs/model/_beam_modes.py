"""Mode shapes of a beam clamped at its root, by the Ritz method with polynomials in s = x/length from 0 to 1."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.polynomial import Polynomial

from hydromechs.values import Array

SPARE = 6
"""Number of polynomials in addition to the requested shapes; makes the highest shape accurate to about 1e-4."""
NODES, WEIGHTS = np.polynomial.legendre.leggauss(48)
S, W = 0.5 * (NODES + 1.0), 0.5 * WEIGHTS
"""Nodes and weights of the Gauss quadrature over s."""


class BeamShape(NamedTuple):
    """Mode shape, with a maximum of 1."""

    polynomial: Polynomial
    """Mode shape as a polynomial in s."""
    stiffness: float
    """Modal stiffness [N/m or N·m/rad]."""
    mass: float
    """Modal mass [kg or kg·m²]."""

    def at(self, s: float) -> float:
        """Return the value of the shape at s."""
        return float(self.polynomial(s))

    def slope(self, s: float) -> float:
        """Return the derivative of the shape with respect to s."""
        return float(self.polynomial.deriv()(s))

    def shortening(self, other: "BeamShape", s: float) -> float:
        """Return the integral from 0 to s of the product of the slopes of two shapes."""
        return float((self.polynomial.deriv() * other.polynomial.deriv()).integ()(s))


def bending_shapes(
    n: int, length: float, mass: Callable[[Array], Array], stiffness: Callable[[Array], Array], tip_mass: float
) -> list[BeamShape]:
    """Return n bending modes for mass per length [kg/m] and bending stiffness E·I [N·m²] along s, and a tip mass [kg]."""
    basis = [Polynomial([0.0, 0.0, 1.0]) * _legendre(k) for k in range(n + SPARE)]
    bent, values = (np.array([p(S) for p in row]) for row in ([p.deriv(2) for p in basis], basis))
    tips = np.array([p(1.0) for p in basis])
    K = (bent * (W * stiffness(S))) @ bent.T / length**3
    M = (values * (W * mass(S))) @ values.T * length + tip_mass * np.outer(tips, tips)
    return _shapes(basis, K, M, n)


def twist_shapes(
    n: int, length: float, inertia: Callable[[Array], Array], stiffness: Callable[[Array], Array]
) -> list[BeamShape]:
    """Return n torsion modes for moment of inertia per length [kg·m] and stiffness G·J [N·m²] along s."""
    basis = [Polynomial([0.0, 1.0]) * _legendre(k) for k in range(n + SPARE)]
    slopes, values = (np.array([p(S) for p in row]) for row in ([p.deriv() for p in basis], basis))
    K = (slopes * (W * stiffness(S))) @ slopes.T / length
    M = (values * (W * inertia(S))) @ values.T * length
    return _shapes(basis, K, M, n)


def _legendre(k: int) -> Polynomial:
    """Return the Legendre polynomial of order k on [0, 1]; near-orthogonality keeps K and M well conditioned."""
    return np.polynomial.Legendre.basis(k, domain=[0.0, 1.0]).convert(kind=Polynomial, domain=[-1.0, 1.0], window=[-1.0, 1.0])


def _shapes(basis: list[Polynomial], K: Array, M: Array, n: int) -> list[BeamShape]:
    squares, vectors = scipy.linalg.eigh(K, M)
    out = []
    for k in range(n):
        shape = sum((a * p for a, p in zip(vectors[:, k], basis, strict=True)), Polynomial([0.0]))
        largest = float(np.abs(shape(np.linspace(0.0, 1.0, 401))).max()) * (1.0 if shape(1.0) >= 0.0 else -1.0)
        out.append(BeamShape(shape / largest, float(squares[k]) / largest**2, 1.0 / largest**2))
    return out
