"""Stability of a scheme for a mechanism, before it runs."""

from typing import NamedTuple

import numpy as np

from hydromechs import dynamics, hydro
from hydromechs.model import Model
from hydromechs.values import Array

from ._schemes import Scheme


class UnstableScheme(ValueError):
    """A scheme of added mass whose errors grow at every step, for this mechanism."""


class Ratios(NamedTuple):
    """Eigenvalues of M_RB⁻¹ M_A of a whole mechanism: how much heavier than itself the water makes it, mode by mode."""

    values: Array
    """μ, falling, shape (nv,)."""
    modes: tuple[str, ...]
    """Name of the degree of freedom that moves most in each mode, by its share of the kinetic energy."""


class Stability(NamedTuple):
    """Amplification of errors by a scheme."""

    scheme: Scheme
    ratio: float
    """Largest eigenvalue μ of M_RB⁻¹ M_A."""
    mode: str
    """Degree of freedom that moves most in that mode."""
    growth: float
    """Largest factor, in size, by which a step multiplies an error."""

    @property
    def stable(self) -> bool:
        """True if errors shrink."""
        return self.growth < 1.0

    @property
    def words(self) -> str:
        """The verdict in words."""
        where = f"the largest eigenvalue of M_RB⁻¹ M_A at the start is {self.ratio:.4g} (mostly {self.mode!r})"
        how = f"{self.scheme.words}: {where}"
        if not np.isfinite(self.scheme.limit):
            return f"{how}; the scheme is stable for any"
        grows = f"a step multiplies errors of the acceleration by up to {self.growth:.4g} in size, whatever its length"
        if self.stable:
            return f"{how}, below the limit {self.scheme.limit:.4g}: stable; {grows}"
        remedy = "use the scheme exact or iterated"
        if self.ratio > 0.0:
            remedy += f", or filtered with a weight below {2.0 / (1.0 + self.ratio):.2g}"
        return f"{how}, and the limit is {self.scheme.limit:.4g}: unstable; {grows}. {remedy[0].upper()}{remedy[1:]}"


def added_masses(model: Model) -> Array:
    """M_A of each body under water at rest, about its origin in its axes [kg, kg·m, kg·m²], shape (nb, 6, 6)."""
    rest = hydro.WetMotion(np.zeros(6), np.zeros(3), np.eye(3), np.zeros(3), 0.0, model.world.water_density)
    return np.stack([np.array(hydro.added_mass(body, rest), dtype=float) for body in model.bodies])


def ratios(model: Model, q: Array, added: Array, rotors: Array, known_rotors: Array) -> Ratios:
    """Eigenvalues of M_RB⁻¹ M_A at a configuration, shape (nq,), all bodies under water.

    `added` is the added mass of each body, shape (nb, 6, 6); `rotors` count as added, `known_rotors` as rigid, shape (nv,).
    """
    kin = dynamics.kinematics(model, q, np.zeros(model.nv))
    rigid = [None if r is None else r.matrix for r in model.rigid]
    M = np.array(dynamics.mass_matrix(model, kin, rigid), dtype=float) + np.diag(known_rotors)
    A = np.array(dynamics.mass_matrix(model, kin, list(added)), dtype=float) + np.diag(rotors)
    try:
        L = np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        raise ValueError(
            f"{model.name}: without water its inertia is not positive in every direction; an engine cannot move a body "
            "without mass, give it some"
        ) from None
    inverse = np.linalg.inv(L)
    values, vectors = np.linalg.eigh(inverse @ A @ inverse.T)
    modes = inverse.T @ vectors
    share = np.abs(modes * (M @ modes))
    names = model.coordinate_names[1]
    order = np.argsort(-values)
    return Ratios(values[order], tuple(names[int(np.argmax(share[:, k]))] for k in order))


def stability(scheme: Scheme, found: Ratios) -> Stability:
    """Return the amplification of errors by a scheme in a mechanism with these ratios."""
    growth = float(np.abs(scheme.growth(found.values)).max(initial=0.0))
    if not len(found.values):
        return Stability(scheme, 0.0, "", growth)
    return Stability(scheme, float(found.values[0]), found.modes[0], growth)
