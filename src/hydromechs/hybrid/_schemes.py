"""Added-mass schemes: ways to apply the force −M_A v̇ in an engine without added mass.

An engine moves M_RB v̇ = τ. The equation is (M_RB + M_A) v̇ = τ', τ' all other forces (Razzanelli et al. 2019, eqs. 33-44):

    exact      M_A is part of the engine's inertia
    iterated   τ = τ' − M_A a, with a the acceleration of this same step (their eq. 39)
    causal     τ = τ' − M_A a, with a that of the previous step (their eq. 44)
    filtered   τ = τ' − M_A a, with a low-pass filtered from previous steps, as in plugins of Gazebo
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
"""Maximum number of trial steps."""
SETTLED = 1e-12
"""Relative change of the acceleration at which iteration stops."""


ROUNDING = 1e3 * 2.0**-52
"""Relative rounding of velocities, which is not counted as an error of the acceleration."""


class NotConverged(ArithmeticError):
    """Raised if the iteration for the acceleration does not converge."""


class Instant(NamedTuple):
    """Quantities at the current instant for a scheme."""

    force: Array
    """τ', shape (nv,)."""
    added: Array
    """M_A and rotors unknown to the engine, shape (nv, nv)."""
    rigid: Array
    """M_RB and rotors known to the engine, shape (nv, nv)."""
    carried: Array
    """The part of M_A that the engine's bodies carry, shape (nv, nv)."""
    carried_bias: Array
    """Their bias force without acceleration, shape (nv,)."""


class Scheme(abc.ABC):
    """Base class of added-mass schemes."""

    __slots__ = ()
    name: ClassVar[str]
    """Name in files."""
    limit: float
    """Eigenvalue of M_RB⁻¹ M_A above which errors grow."""

    def carried(self, engine: Engine, model: Model, added: Array) -> Array:
        """Return the part of added masses (nb, 6, 6) carried by the engine's bodies; none by default."""
        return np.zeros_like(added)

    def growth(self, ratio: Array) -> Array:
        """Return the growth factor per step of acceleration errors, for eigenvalues of M_RB⁻¹ M_A; 0 if they do not persist."""
        return np.zeros_like(ratio)

    @abc.abstractmethod
    def step(self, engine: Engine, now: Instant, a: Array, h: float) -> Array:
        """Take one step of length h [s]; return the acceleration to store, shape (nv,). `a` is that of the previous step."""

    @property
    def words(self) -> str:
        """Return a description of the scheme."""
        return f"{self.name} added mass"


@dataclass(frozen=True, slots=True)
class Causal(Scheme):
    """Use the acceleration of the previous step (eq. 44). Each step multiplies an error by −μ, whatever its length."""

    name = "causal"
    limit = 1.0

    def growth(self, ratio: Array) -> Array:
        return -np.asarray(ratio)

    def step(self, engine: Engine, now: Instant, a: Array, h: float) -> Array:
        """τ = τ' − M_A a_{k−1}."""
        return engine.advance(h, now.force - now.added @ a)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filtered(Checked, Scheme):
    """A low-pass filtered acceleration, a ← (1 − w) a + w v̇: stable up to μ = 2/w − 1, with a lag of about 1/w steps."""

    name = "filtered"
    weight: Annotated[float, Bound(above=0.0, most=1.0)] = 0.3
    """w, weight of the newest acceleration; 1 is causal, 0.3 is that of uuv_simulator [-]."""

    @property
    def limit(self) -> float:  # type: ignore[override]
        """2/w − 1."""
        return 2.0 / self.weight - 1.0

    def growth(self, ratio: Array) -> Array:
        return 1.0 - self.weight * (1.0 + np.asarray(ratio))

    def step(self, engine: Engine, now: Instant, a: Array, h: float) -> Array:
        """τ = τ' − M_A a, then a is moved towards the resulting acceleration."""
        return a + self.weight * (engine.advance(h, now.force - now.added @ a) - a)

    @property
    def words(self) -> str:
        return f"filtered added mass of weight {self.weight:g}"


@dataclass(frozen=True, slots=True)
class Iterated(Scheme):
    """Use the acceleration of the step itself (eq. 39): a step is taken, undone and repeated until the accelerations agree."""

    name = "iterated"
    limit = np.inf

    def step(self, engine: Engine, now: Instant, a: Array, h: float) -> Array:
        return agree(engine, now, now.added, a, h)


@dataclass(frozen=True, slots=True)
class Exact(Scheme):
    """Added mass is part of the engine's inertia: all of it in MuJoCo and DART; in Bullet, the remainder is iterated."""

    name = "exact"
    limit = np.inf

    def carried(self, engine: Engine, model: Model, added: Array) -> Array:
        return engine.carries(model, added)

    def step(self, engine: Engine, now: Instant, a: Array, h: float) -> Array:
        """Take a step with the engine's inertia; see `agree` for a remainder."""
        if engine.takes_inertia:
            return engine.advance(h, now.force, now.added)
        return agree(engine, now, now.added - now.carried, a, h)


def agree(engine: Engine, now: Instant, rest: Array, a: Array, h: float) -> Array:
    """Take a step with τ' − rest a whose resulting acceleration is a; return a; the argument is an initial guess.

    A trial with a results in v̇ = K⁻¹ (τ' − rest a), K the engine's inertia. Plain repetition a ← v̇ diverges like the
    causal scheme; a ← a + W (v̇ − a), W = (K + rest)⁻¹ K, converges immediately without contact. With contact v̇ depends less
    on a, and W is updated from the trials (Broyden 1965).
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
        f"no convergence of the acceleration in {MAX_TRIALS} iterations; use a shorter step, or mujoco with exact"
    )


class UnstableScheme(ValueError):
    """A scheme of added mass is unstable: errors grow at every step for this mechanism."""


class Ratios(NamedTuple):
    """Eigenvalues of M_RB⁻¹ M_A of a whole mechanism: ratio of the water's inertia to the mechanism's, mode by mode."""

    values: Array
    """μ in descending order, shape (nv,)."""
    modes: tuple[str, ...]
    """Name of the degree of freedom with the largest share of the kinetic energy in each mode."""


class Stability(NamedTuple):
    """Amplification of errors by a scheme."""

    scheme: Scheme
    ratio: float
    """Maximum eigenvalue μ of M_RB⁻¹ M_A."""
    mode: str
    """Degree of freedom with the largest share in that mode."""
    growth: float
    """Maximum factor, in magnitude, by which a step multiplies an error."""

    @property
    def stable(self) -> bool:
        """True if errors decay."""
        return self.growth < 1.0

    @property
    def words(self) -> str:
        """Description of the result."""
        where = f"the largest eigenvalue of M_RB⁻¹ M_A at the start is {self.ratio:.4g} (mostly {self.mode!r})"
        how = f"{self.scheme.words}: {where}"
        if not np.isfinite(self.scheme.limit):
            return f"{how}; the scheme is stable for any"
        grows = f"a step multiplies errors of the acceleration by up to {self.growth:.4g} in magnitude, for any step length"
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
    """Eigenvalues of M_RB⁻¹ M_A at a configuration, shape (nq,), with all bodies under water.

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
            f"{model.name}: without water its inertia is not positive in every direction; engines do not support bodies "
            "without mass; set a mass"
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
