"""Added-mass schemes: methods to apply the force −M_A v̇ in an engine without added mass.

An engine solves M_RB v̇ = τ. The required equation is (M_RB + M_A) v̇ = τ', where τ' contains all other forces (Razzanelli et
al. 2019, eqs. 33-44):

    exact      M_A is part of the inertia in the engine
    iterated   τ = τ' − M_A a with the acceleration a of the same step (their eq. 39)
    causal     τ = τ' − M_A a with the acceleration a of the previous step (their eq. 44)
    filtered   τ = τ' − M_A a with a low-pass filtered acceleration a of previous steps, as in Gazebo plugins
"""

import abc
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from hydromechs import dynamics, hydro
from hydromechs.model import Model
from hydromechs.values import Array, Bound, Checked

from ._engine import Engine

MAX_TRIALS = 200
"""Maximum number of trial steps per step."""
SETTLED = 1e-12
"""Relative change of the acceleration at which the iteration stops."""


ROUNDING = 1e3 * 2.0**-52
"""Relative rounding error of velocities, which is tolerated in the acceleration."""


class NotConverged(ArithmeticError):
    """Error for an iteration of the acceleration that does not converge."""


class Instant(NamedTuple):
    """Inputs of a scheme at one instant."""

    force: Array
    """Generalised force τ', shape (nv,)."""
    added: Array
    """M_A and the rotor inertia that the engine lacks, shape (nv, nv)."""
    rigid: Array
    """M_RB and the rotor inertia that the engine includes, shape (nv, nv)."""
    carried: Array
    """Part of M_A carried by the bodies of the engine, shape (nv, nv)."""
    carried_bias: Array
    """Velocity-dependent bias force of the carried added mass, shape (nv,)."""


class Scheme(abc.ABC):
    """Base class of added-mass schemes."""

    __slots__ = ()
    name: ClassVar[str]
    """Name of the scheme in files."""
    limit: float
    """Eigenvalue of M_RB⁻¹ M_A above which errors grow [-]."""

    def carried(self, engine: Engine, model: Model, added: Array) -> Array:
        """Return the part of added masses carried by the bodies of the engine, shape (nb, 6, 6); none by default."""
        return np.zeros_like(added)

    def growth(self, ratio: Array) -> Array:
        """Return growth factors per step of acceleration errors, for eigenvalues of M_RB⁻¹ M_A; 0 if errors do not persist."""
        return np.zeros_like(ratio)

    @abc.abstractmethod
    def step(self, engine: Engine, now: Instant, a: Array, h: float) -> Array:
        """Take one step of length h [s] given the previous acceleration `a`; return the acceleration to store, shape (nv,)."""

    @property
    def words(self) -> str:
        """Description of the scheme."""
        return f"{self.name} added mass"


@dataclass(frozen=True, slots=True)
class Causal(Scheme):
    """Scheme with the acceleration of the previous step (eq. 44); each step multiplies an error by −μ, for any step length."""

    name = "causal"
    limit = 1.0

    def growth(self, ratio: Array) -> Array:
        return -np.asarray(ratio)

    def step(self, engine: Engine, now: Instant, a: Array, h: float) -> Array:
        """Take a step with τ = τ' − M_A a_{k−1}."""
        return engine.advance(h, now.force - now.added @ a)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filtered(Checked, Scheme):
    """Scheme with a filtered acceleration, a ← (1 − w) a + w v̇: stable up to μ = 2/w − 1, with a lag of about 1/w steps."""

    name = "filtered"
    weight: Annotated[float, Bound(above=0.0, most=1.0)] = 0.3
    """Weight w of the newest acceleration [-]; 1 gives the causal scheme, 0.3 the filter of uuv_simulator."""

    @property
    def limit(self) -> float:  # type: ignore[override]
        """Stability limit 2/w − 1 [-]."""
        return 2.0 / self.weight - 1.0

    def growth(self, ratio: Array) -> Array:
        return 1.0 - self.weight * (1.0 + np.asarray(ratio))

    def step(self, engine: Engine, now: Instant, a: Array, h: float) -> Array:
        """Take a step with τ = τ' − M_A a, and update the filtered acceleration a."""
        return a + self.weight * (engine.advance(h, now.force - now.added @ a) - a)

    @property
    def words(self) -> str:
        return f"filtered added mass of weight {self.weight:g}"


@dataclass(frozen=True, slots=True)
class Iterated(Scheme):
    """Scheme with the acceleration of the same step (eq. 39), which is repeated until the accelerations agree."""

    name = "iterated"
    limit = np.inf

    def step(self, engine: Engine, now: Instant, a: Array, h: float) -> Array:
        return agree(engine, now, now.added, a, h)


@dataclass(frozen=True, slots=True)
class Exact(Scheme):
    """Scheme with added mass in the engine's inertia: all of it in MuJoCo and DART, with an iterated remainder in Bullet."""

    name = "exact"
    limit = np.inf

    def carried(self, engine: Engine, model: Model, added: Array) -> Array:
        return engine.carries(model, added)

    def step(self, engine: Engine, now: Instant, a: Array, h: float) -> Array:
        """Take a step with added mass in the inertia of the engine, and iterate any remainder with `agree`."""
        if engine.takes_inertia:
            return engine.advance(h, now.force, now.added)
        return agree(engine, now, now.added - now.carried, a, h)


def agree(engine: Engine, now: Instant, rest: Array, a: Array, h: float) -> Array:
    """Take a step with τ' − rest a whose resulting acceleration is a, and return a; the argument is the initial guess.

    A trial with a yields v̇ = K⁻¹ (τ' − rest a) with the inertia K of the engine. The fixed-point iteration a ← v̇ diverges
    like the causal scheme. The iteration a ← a + W (v̇ − a) with W = (K + rest)⁻¹ K converges in one step without contact.
    In contact, v̇ depends less on a, and W is updated from the trials (Broyden 1965).
    """
    force = now.force + now.carried_bias
    if np.abs(rest).max(initial=0.0) <= 1e-14 * np.abs(now.added).max(initial=0.0):
        return engine.advance(h, force)
    K = now.rigid + now.carried
    W = np.linalg.solve(K + rest, K)
    start, speed = engine.save(), np.abs(engine.state()[1]).max(initial=1.0)
    least, size = ROUNDING * speed / h, np.abs(np.linalg.solve(K, now.force)).max(initial=0.0)
    change, before = np.zeros_like(a), np.zeros_like(a)
    for tried in range(MAX_TRIALS):
        if tried:
            engine.restore(start)
        missed = engine.advance(h, force - rest @ a) - a
        if not np.isfinite(missed).all():
            break
        if np.abs(missed).max(initial=0.0) <= SETTLED * 10.0 ** (tried / 10) * max(size, np.abs(a).max(initial=0.0)) + least:
            return a
        if tried:
            expected = W @ (missed - before)
            against = change @ expected
            if abs(against) > 1e-12 * (change @ change):
                W = W - np.outer(change + expected, change @ W) / against
        change, before = W @ missed, missed
        a = a + change
    raise NotConverged(
        f"the acceleration did not converge in {MAX_TRIALS} iterations; use a shorter step, or mujoco with the exact scheme"
    )


class UnstableScheme(ValueError):
    """Error for an added-mass scheme whose errors grow at every step for the mechanism."""


class Ratios(NamedTuple):
    """Eigenvalues of M_RB⁻¹ M_A of a mechanism: ratio of added to rigid-body inertia of each mode."""

    values: Array
    """Eigenvalues μ in descending order, shape (nv,)."""
    modes: tuple[str, ...]
    """Degree of freedom with the largest share of kinetic energy in each mode."""


class Stability(NamedTuple):
    """Amplification of errors by a scheme."""

    scheme: Scheme
    ratio: float
    """Maximum eigenvalue μ of M_RB⁻¹ M_A."""
    mode: str
    """Degree of freedom with the largest share of kinetic energy in the mode of the maximum eigenvalue."""
    growth: float
    """Maximum absolute factor by which a step multiplies an error."""

    @property
    def stable(self) -> bool:
        """True if errors decay."""
        return self.growth < 1.0

    @property
    def words(self) -> str:
        """Stability result as text."""
        where = f"the largest eigenvalue of M_RB⁻¹ M_A at the start is {self.ratio:.4g} (mode of {self.mode!r})"
        how = f"{self.scheme.words}: {where}"
        if not np.isfinite(self.scheme.limit):
            return f"{how}; the scheme is stable for any value"
        grows = f"each step multiplies acceleration errors by up to {self.growth:.4g} in magnitude, for any step length"
        if self.stable:
            return f"{how}, below the limit {self.scheme.limit:.4g}, so the scheme is stable; {grows}"
        remedy = "use the exact or iterated scheme"
        if self.ratio > 0.0:
            remedy += f", or the filtered scheme with a weight below {2.0 / (1.0 + self.ratio):.2g}"
        return f"{how}, not below the limit {self.scheme.limit:.4g}, so the scheme is unstable; {grows}; {remedy}"


def added_masses(model: Model) -> Array:
    """Return M_A of each body fully submerged, about its origin in body axes [kg, kg·m, kg·m²], shape (nb, 6, 6)."""
    rest = hydro.WetMotion(np.zeros(6), np.zeros(3), np.eye(3), np.zeros(3), 0.0, model.world.water_density)
    return np.stack([np.array(hydro.added_mass(body, rest), dtype=float) for body in model.bodies])


def ratios(model: Model, q: Array, added: Array, rotors: Array, known_rotors: Array) -> Ratios:
    """Return eigenvalues of M_RB⁻¹ M_A at a configuration, shape (nq,), with all bodies fully submerged.

    `added` is the added mass of each body, shape (nb, 6, 6); rotor inertias `rotors` count as added, `known_rotors` as rigid,
    shape (nv,).
    """
    kin = dynamics.kinematics(model, q, np.zeros(model.nv))
    rigid = [None if r is None else r.matrix for r in model.rigid]
    M = np.array(dynamics.mass_matrix(model, kin, rigid), dtype=float) + np.diag(known_rotors)
    A = np.array(dynamics.mass_matrix(model, kin, list(added)), dtype=float) + np.diag(rotors)
    try:
        L = np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        raise ValueError(
            f"{model.name}: the dry inertia matrix is not positive definite, and engines do not support bodies without mass; "
            "set masses"
        ) from None
    inverse = np.linalg.inv(L)
    values, vectors = np.linalg.eigh(inverse @ A @ inverse.T)
    modes = inverse.T @ vectors
    share = np.abs(modes * (M @ modes))
    names = model.coordinate_names[1]
    order = np.argsort(-values)
    return Ratios(values[order], tuple(names[int(np.argmax(share[:, k]))] for k in order))


def stability(scheme: Scheme, found: Ratios) -> Stability:
    """Return the error amplification of a scheme in a mechanism with the given eigenvalues."""
    growth = float(np.abs(scheme.growth(found.values)).max(initial=0.0))
    if not len(found.values):
        return Stability(scheme, 0.0, "", growth)
    return Stability(scheme, float(found.values[0]), found.modes[0], growth)
