"""One-step methods on the configuration manifold; the step of a method is traced like any other equation.

The state is (q, x) with x = (v, z). A step is computed in the chart around q (see `dynamics.retract`): y = (u, v, z) starts at
(0, x) and is an element of a vector space. The classical methods therefore keep their order even for quaternions.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hydromechs.model.component import fastest_root
from hydromechs.spatial import floor, maximum, where
from hydromechs.values import Array, Positive, Scalar, check_fields

from ._block_methods import block_named
from ._integrator import FixedStep, Integrator, OneStep


class System(NamedTuple):
    """Equations of a system to integrate, as functions of floats or symbols."""

    nv: int
    """Number of degrees of freedom, the length of u and v."""
    derivative: Callable[..., Array]
    """Derivative ẏ = f(t, q, y), shape (n,)."""
    jacobian: Callable[..., Array]
    """Jacobian ∂f/∂y (t, q, y) without the work integrals, shape (n − work_count, n − work_count)."""
    solve: Callable[..., Array]
    """Linear solver (A, b) → x = A⁻¹ b."""
    retract: Callable[..., Array]
    """Retraction (q, u) → q ⊕ u."""
    rate: Callable[..., Array]
    """Chart rate (q, v) → u̇ at u = 0."""
    work_count: int = 0
    """Number of integrals at the end of y, such as work: no rate depends on these, and their error is ignored."""


@dataclass(frozen=True, slots=True)
class Euler(FixedStep):
    """Explicit Euler method of order 1, for comparison only, because it adds energy to oscillations."""

    name = "euler"
    order = 1
    stages = 1

    def longest_step(self, frequency: float, decay: float) -> float:
        """Return the longest stable step [s] for ẍ + decay ẋ + frequency² x = 0: d/ω² for oscillations, else 2/|λ|.

        Undamped modes are never stable; with a step of 0.01/ω the amplitude grows by 0.5 % per radian.
        """
        if decay < 2.0 * frequency:
            return max(decay / frequency / frequency, 0.01 / frequency)
        fastest = fastest_root(frequency, decay)
        return 2.0 / fastest if fastest else np.inf

    def step(self, system: System, t: Scalar, q: Array, x: Array, h: Scalar) -> tuple[Array, Array]:
        y = _start(system, x)
        return _end(system, q, y + h * system.derivative(t, q, y))


@dataclass(frozen=True, slots=True)
class SemiImplicitEuler(FixedStep):
    """Semi-implicit (symplectic) Euler method of order 1: the position advances with the new velocity."""

    name = "semi_implicit_euler"
    order = 1
    stages = 1

    def longest_step(self, frequency: float, decay: float) -> float:
        """Return the longest stable step [s] for ẍ + decay ẋ + frequency² x = 0: h² ω² + 2 h d = 4."""
        if frequency == 0.0:
            return 2.0 / decay if decay else np.inf
        return 4.0 / (math.hypot(decay, 2.0 * frequency) + decay)

    def longest_internal_step(self, frequency: float, decay: float) -> float:
        """Return the longest stable step [s] of Euler's method, because internal states advance with the old velocity."""
        return Euler().longest_step(frequency, decay)

    def step(self, system: System, t: Scalar, q: Array, x: Array, h: Scalar) -> tuple[Array, Array]:
        """Return x' = x + h ẋ(q, x) and q' = q ⊕ h u̇(q, v')."""
        y = _start(system, x)
        x = x + h * system.derivative(t, q, y)[system.nv :]
        return system.retract(q, h * system.rate(q, x[: system.nv])), x


@dataclass(frozen=True, slots=True)
class RungeKutta4(FixedStep):
    """Classical Runge-Kutta method of order 4 with four evaluations per step (the default)."""

    name = "rk4"
    order = 4
    stages = 4

    def longest_step(self, frequency: float, decay: float) -> float:
        """Return the longest stable step [s] for ẍ + decay ẋ + frequency² x = 0: 2.6/|λ|, the minimum over damping ratios."""
        return 2.6 / max(fastest_root(frequency, decay), 1e-300)

    def step(self, system: System, t: Scalar, q: Array, x: Array, h: Scalar) -> tuple[Array, Array]:
        """Return y + h/6 (k_1 + 2 k_2 + 2 k_3 + k_4).

        k_1 = f(y), k_2 = f(y + h/2 k_1), k_3 = f(y + h/2 k_2), k_4 = f(y + h k_3).
        """
        y, f, half = _start(system, x), system.derivative, 0.5 * h
        k1 = f(t, q, y)
        k2 = f(t + half, q, y + half * k1)
        k3 = f(t + half, q, y + half * k2)
        k4 = f(t + h, q, y + h * k3)
        return _end(system, q, y + (h / 6.0) * (k1 + 2.0 * (k2 + k3) + k4))


@dataclass(frozen=True, slots=True, kw_only=True)
class DormandPrince(OneStep):
    """Adaptive Runge-Kutta method of order 5 with an error estimate of order 4 (Dormand and Prince 1980)."""

    relative: Positive = 1e-6
    """Allowed error per step, relative to the size of velocities and internal states, or to 1 m or 1 rad [-]."""
    absolute: Positive = 1e-9
    """Allowed error per step if these quantities are small [SI]."""
    largest: Positive = 0.1
    """Longest step [s]."""
    name = "dormand_prince"
    order = 5
    stages = 6
    adaptive = True
    controlled = True
    steps = "AdaptiveSteps"

    def longest_step(self, frequency: float, decay: float) -> float:
        """Return infinity, because the method selects its step automatically."""
        return np.inf

    def step(self, system: System, t: Scalar, q: Array, x: Array, h: Scalar) -> tuple[Array, Array]:
        return embedded_step(system, t, q, x, h)[:2]

    def __post_init__(self) -> None:
        check_fields(self, "integrator")


@dataclass(frozen=True, slots=True)
class LinearlyImplicit(OneStep):
    """Rosenbrock method ROS2 of order 2 with the exact Jacobian, L-stable, for stiff contacts and drives (Verwer et al. 1999).

    The order does not depend on the Jacobian, so that parts of the Jacobian (tables, waves) may be held constant. A step is
    divided if the estimated error is too large, for example at touchdown or at the end of sliding; see `implicit_step` and
    `ImplicitSteps`.
    """

    name = "linearly_implicit"
    order = 2
    stages = 2
    controlled = True
    other = ""
    steps = "ImplicitSteps"

    def longest_step(self, frequency: float, decay: float) -> float:
        return np.inf

    def step(self, system: System, t: Scalar, q: Array, x: Array, h: Scalar) -> tuple[Array, Array]:
        return implicit_step(system, t, q, x, h)[:2]


RELATIVE = 1e-3
"""Allowed error per part of a linearly implicit step, relative to the size of the integrated quantity [-]."""
ABSOLUTE = 1e-5
"""Allowed error if velocities are small [m/s, rad/s]."""
GROWTH_LIMIT = 0.1
"""Ratio of estimated to allowed error below which the next part is longer [-]; doubling a part quadruples its error."""
LASTING = 0.1
"""Period over which the error of an internal state may change a velocity by `ABSOLUTE` [s]."""


def implicit_step(system: System, t: Scalar, q: Array, x: Array, h: Scalar) -> tuple[Array, Array, Scalar]:
    """Return a ROS2 step: new q and x, and the ratio of the estimated to the allowed error.

    With W = 1 − γ h J and γ = 1 − 1/√2:

        W k_1 = f(y),   W k_2 = f(y + h k_1) − 2 k_1,   y + h (3/2 k_1 + 1/2 k_2),   error h/2 (k_1 + k_2)

    The error is the maximum over all entries of the difference from the embedded first-order solution, y + h k_1. The allowed
    error of an internal state is `RELATIVE` of its size, or the error that would change velocities by `ABSOLUTE` within
    `LASTING`. A pressure in Pa and a deflection in m are thus measured by their effect. A state that has no effect yet, such as
    the anchor of a contact that starts within the step, is measured by its change in the same period. Work integrals are
    ignored; they are summed by the trapezoidal rule.
    """
    y, nv, n = _start(system, x), system.nv, system.nv + len(x) - system.work_count
    J = np.array(system.jacobian(t, q, y))
    W = np.eye(n) - (GAMMA * h) * J
    first = system.derivative(t, q, y)
    k1 = system.solve(W, first[:n])
    ahead = np.concatenate([y[:n] + h * k1, y[n:]])
    second = system.derivative(t + h, q, ahead)[:n]
    k2 = system.solve(W, second - 2.0 * k1)
    end = np.concatenate([y[:n] + h * (1.5 * k1 + 0.5 * k2), y[n:]])
    if system.work_count:
        end[n:] = y[n:] + (0.5 * h) * (first[n:] + system.derivative(t + h, q, end)[n:])
    error = (0.5 * h) * (k1 + k2)
    worst: Scalar = 0.0
    for i in range(n):
        allowed = RELATIVE * maximum(abs(y[i]), abs(end[i]))
        if i < 2 * nv:
            allowed = allowed + ABSOLUTE
        else:
            effect: Scalar = 0.0
            for k in range(nv, 2 * nv):
                effect = maximum(effect, abs(J[k, i]))
            gone = (RELATIVE * LASTING) * maximum(abs(first[i]), abs(second[i]))
            allowed = allowed + where(effect > 0.0, ABSOLUTE / (LASTING * effect + TINY), gone) + TINY
        worst = maximum(worst, abs(error[i]) / allowed)
    return (*_end(system, q, end), worst)


SMALLEST = 2.0**-30
"""Minimum length of a part as a fraction of a step."""


def implicit_part(
    system: System, n: Scalar, part: Scalar, size: Scalar, q: Array, x: Array, h: Scalar, offset: Scalar, last: Scalar
) -> tuple[Scalar, Scalar, Scalar, Array, Array]:
    """Return the result of one attempt at a part of a linearly implicit step: new n, part, size, q and x.

    A full step is tried first. If the error is too large, the step is halved repeatedly; parts are 1/2ᵏ of a step and start at
    multiples of their size. If the error is small, the next part is twice as long, provided that it starts at a multiple of its
    size. Every step starts with a full attempt and thus depends only on the state. The result is not finite if parts become too
    small.

    `n` is the index of the point before the step, and `last` the index of the final point. `part`, 0 to 1, is the completed
    fraction of the step, and `size` the fraction to try.
    """
    q1, x1, error = implicit_step(system, offset + (n + part) * h, q, x, size * h)
    goes = n < last
    taken = where(goes, where(error <= 1.0, 1.0, 0.0), 0.0)
    after = part + size
    whole = after >= 1.0
    pairs = 0.5 * after / size
    larger = where(error < GROWTH_LIMIT, where(floor(pairs) == pairs, 2.0 * size, size), size)
    smaller = size * where(error < 16.0, 0.5, where(error < 256.0, 0.25, 0.0625))
    moved = taken > 0.0
    lost = where(goes, where(moved, 0.0, where(smaller < SMALLEST, np.nan, 0.0)), 0.0)
    return (
        n + where(moved, where(whole, 1.0, 0.0), 0.0) + lost,
        where(moved, where(whole, 0.0, after), part),
        where(moved, where(whole, 1.0, larger), where(goes, smaller, size)),
        np.array([where(moved, a, b) for a, b in zip(q1, q, strict=True)]),
        np.array([where(moved, a, b) for a, b in zip(x1, x, strict=True)]),
    )


METHODS: dict[str, type[OneStep]] = {
    m.name: m for m in (Euler, SemiImplicitEuler, RungeKutta4, DormandPrince, LinearlyImplicit)
}
"""Integrators, keyed by name."""
EQUAL_STEPS = f"use {', '.join(name for name, m in METHODS.items() if not m.adaptive)}, or a block method such as b1pc5"
"""Fix stated in messages if a method with equal steps is required."""


def method_named(name: str | Integrator) -> Integrator:
    """Return the method with a given name, or the method itself."""
    if isinstance(name, Integrator):
        return name
    block = block_named(name)
    if block is not None:
        return block
    if name not in METHODS:
        raise ValueError(f"there is no integrator {name!r}; available: {', '.join(METHODS)}, and block methods such as b4pc5")
    return METHODS[name]()


def _start(system: System, x: Array) -> Array:
    return np.concatenate([np.zeros(system.nv), x])


def _end(system: System, q: Array, y: Array) -> tuple[Array, Array]:
    return system.retract(q, y[: system.nv]), y[system.nv :]


GAMMA = 1.0 - np.sqrt(0.5)
TINY = 1e-12
"""Offset that keeps quotients finite."""


NODES = (0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
STAGES = (
    (),
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
"""Difference of the fifth-order and fourth-order weights."""


def embedded_step(
    system: System, t: Scalar, q: Array, x: Array, h: Scalar, first: Array | None = None
) -> tuple[Array, Array, Array, Array]:
    """Return a Dormand-Prince step: new q and x, the estimated error of y (n,), and the stages (7, n).

    The last stage equals the first stage of the next step. Passing it as `first` saves one evaluation.
    """
    y = _start(system, x)
    k: list[Array] = [] if first is None else [first]
    for node, row in list(zip(NODES, STAGES, strict=True))[len(k) :]:
        at = y
        for a, stage in zip(row, k, strict=True):
            if a:
                at = at + (h * a) * stage
        k.append(system.derivative(t + node * h, q, at))
    error = sum((h * e) * stage for e, stage in zip(ERROR, k, strict=True) if e)
    return (*_end(system, q, at), error, np.stack(k))
