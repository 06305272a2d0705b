"""Fast modes of stiff parts of a plant, stable steps for single and coupled parts, and the size of implicit steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import TypeAlias

import numpy as np

from hydromechs import dynamics, equations
from hydromechs.compiler import Argument, Compiled, Recipe, compile_function, longest_program
from hydromechs.contact import Pair
from hydromechs.errors import UnsupportedFeature
from hydromechs.integrators import Integrator, LinearlyImplicit, NotFinite, Point
from hydromechs.model import Model
from hydromechs.model.component import Component, FastMode
from hydromechs.spatial import skew
from hydromechs.values import Array

from ._plant import Plant

DENSE = 600
"""Maximum number of degrees of freedom for which the inertia matrix is inverted."""
POWERS = 60
"""Number of iterations of the power method for larger systems."""
SURE = 1.05
"""Safety factor for the result of the power method, which is a lower bound [-]."""
KEPT = 1000
"""Maximum number of cached pairs of valid steps and parameters."""


class _Mobility:
    """Mobility of the mechanism of a plant at a configuration."""

    def __init__(self, plant: Plant, model: Model, q: Array) -> None:
        self.plant, self.model, self.q = plant, model, np.asarray(q)
        self._jacobians: dict[int, Array] = {}

    @cached_property
    def kin(self) -> dynamics.Kinematics:
        """Kinematics at zero velocity."""
        return dynamics.kinematics(self.model, self.q, np.zeros(self.model.nv))

    @property
    def mass_matrix(self) -> Array:
        """Mass matrix M without rotors, shape (nv, nv)."""
        return np.array(equations.mass_matrix(self.model, self.q), dtype=float)

    @cached_property
    def inverse(self) -> Array:
        """Inverse mass matrix M⁻¹ with rotors, shape (nv, nv)."""
        M = self.mass_matrix
        if self.plant.armature is not None:
            M = M + np.diag(self.plant.armature)
        return np.linalg.inv(M) if self.model.nv else M

    def together(self, k: Array) -> float:
        """Return the largest eigenvalue of M⁻¹ diag(k)."""
        root = np.sqrt(k)
        if not root.any():
            return 0.0
        if self.model.nv <= DENSE:
            return float(np.linalg.eigvalsh(root[:, None] * self.inverse * root)[-1])
        x, value = np.random.default_rng(0).normal(size=self.model.nv) * (root > 0.0), 0.0
        for _ in range(POWERS):
            x = x / np.linalg.norm(x)
            y = root * self._accelerated(root * x)
            x, value = y, float(x @ y)
        return SURE * value

    @cached_property
    def _accelerated(self) -> Callable[[Array], Array]:
        """Function that multiplies a vector by M⁻¹ with loops over the bodies."""
        model, still, rolled = self.model, np.zeros(self.model.nv), self.plant.rolled
        same = rolled is not None and model is self.plant.model
        tree = rolled.tree if rolled is not None and same else equations.RolledTree(model, self.plant.armature)
        inputs = (Argument("q", (model.nq,)), Argument("v", (model.nv,)), Argument("tau", (model.nv,)))
        code = Compiled(
            Recipe("accelerations", None, inputs, (Argument("vdot", (model.nv,)),), None, tree.forward_dynamics), 1, 1
        )
        (rest,) = code([self.q, still, still])
        return lambda tau: code([self.q, still, tau])[0] - rest

    def joint(self, dofs: slice) -> float:
        """Return the maximum acceleration per force in a joint [1/kg or 1/(kg·m²)]."""
        return float(np.linalg.eigvalsh(self.inverse[dofs, dofs])[-1])

    def point(self, body: int, p: Array) -> float:
        """Return the maximum acceleration per force at a point of a body [1/kg]."""
        J = self.jacobian(body)
        return self._most(J[:3] - skew(np.asarray(p, dtype=float)) @ J[3:])

    def turn(self, body: int) -> float:
        """Return the maximum angular acceleration per torque on a body [1/(kg·m²)]."""
        return self._most(self.jacobian(body)[3:])

    def jacobian(self, body: int) -> Array:
        """Return the Jacobian J of V = J v at the origin of a body in body axes, shape (6, nv)."""
        if body not in self._jacobians:
            at_origin = dynamics.jacobian(self.model, self.kin, body, np.zeros(3))
            self._jacobians[body] = np.array(at_origin, dtype=float)
        return self._jacobians[body]

    def _most(self, J: Array) -> float:
        return float(np.linalg.eigvalsh(J @ self.inverse @ J.T)[-1]) if self.model.nv else 0.0


class _KnownMobility(_Mobility):
    """Mobility from matrices computed by compiled code.

    `M`: mass matrix without rotors, shape (nv, nv). `J`: Jacobians at the origins of the bodies in body axes, shape
    (nb, 6, nv).
    """

    def __init__(self, plant: Plant, q: Array, M: Array, J: Array) -> None:
        super().__init__(plant, plant.model, q)
        self._M = M
        self._jacobians = dict(enumerate(J))

    @property
    def mass_matrix(self) -> Array:
        return self._M


def stiff_modes(plant: Plant, q: Array) -> list[FastMode]:
    """Return the fast modes of individual components with their effective inertia at a configuration."""
    return [mode for _, mode in _modes(plant, _Mobility(plant, plant.model, q))]


def _modes(plant: Plant, mobility: _Mobility) -> list[tuple[Component, FastMode]]:
    return [(c, mode) for c in plant.components for mode in c.modes(plant.model, mobility)]


def step_limit(mode: FastMode, method: Integrator) -> float:
    """Return the longest stable step for a mode [s], which also resolves impacts unless the method controls its error."""
    impact = method.impact / mode.fastest if mode.meets and mode.fastest and not method.controlled else math.inf
    longest = method.longest_internal_step if mode.internal else method.longest_step
    return min(longest(mode.frequency, mode.decay), impact)


def stiff_parts(plant: Plant, q: Array, method: Integrator, step: float) -> list[tuple[Component, str]]:
    """Return components that are too stiff for the step, stiffest first, each with a message and the longest stable step."""
    return _stiff_parts(plant, _Mobility(plant, plant.model, q), method, step)


def _stiff_parts(plant: Plant, mobility: _Mobility, method: Integrator, step: float) -> list[tuple[Component, str]]:
    """Return components that are too stiff for the step; see `stiff_parts`."""
    slow = [(step_limit(mode, method), c, mode) for c, mode in _modes(plant, mobility)]
    worst = sorted([row for row in slow if row[0] < step], key=lambda row: row[0])
    other = other_method(plant, method)
    return [
        (
            c,
            f"{mode.name} is too stiff for a step of {step:g} s with {method.name}; the rate of {mode.fastest:.3g} 1/s "
            f"requires a step below {limit:.2g} s; {_remedy(mode, other)}",
        )
        for limit, c, mode in worst
    ]


def _remedy(mode: FastMode, other: str) -> str:
    return f"use a shorter step, {mode.remedy}, or {other}" if other else f"use a shorter step, or {mode.remedy}"


def step_faults(plant: Plant, q: Array, method: Integrator, step: float) -> list[str]:
    """Return messages about the five stiffest of `stiff_parts`, one line each."""
    worst = stiff_parts(plant, q, method, step)
    more = [f"{len(worst) - 5} more parts are too stiff for the step; reduce the step"] if len(worst) > 5 else []
    return [text for _, text in worst[:5]] + more


class StepChecks:
    """Checks of the step length of a plant; each pair of step and open parameters is checked once."""

    def __init__(self, plant: Plant, method: Integrator) -> None:
        self.plant, self.method = plant, method
        self._passed: set[tuple[float, bytes]] = set()
        self._start: Array | None = None

    def look(self, step: float, q: Array, parameters: Array) -> None:
        """Raise `ValueError` with the first of `step_faults`, unless the parameters, shape (np,), were already checked."""
        key = (step, parameters.tobytes())
        if key not in self._passed:
            for text in step_faults(self.plant.with_values(parameters), q, self.method, step):
                raise ValueError(text)  # results could be finite but wrong
            if len(self._passed) >= KEPT:
                self._passed.clear()
            self._passed.add(key)

    def faults(self, step: float, q: Array, inputs: Array) -> list[str]:
        """Return a message about the part that is too stiff for the step in each world, or "".

        `q`: initial configurations, shape (n, nq). `inputs`: inputs as in `plant.layout`, shape (n, nu).
        """
        plant = self.plant
        if not plant.components:
            return [""] * len(q)
        plants = [plant.opened(row) for row in inputs] if plant.opens_components else [plant] * len(q)
        if plant.rolled is not None:  # without open parameters
            mobilities = [_Mobility(plant, plant.model, at) for at in q]
        else:
            M, J = self._matrices([q, inputs])
            mobilities = [_KnownMobility(plant, *row) for row in zip(q, M, J, strict=True)]
        found = (_stiff_parts(own, mobility, self.method, step) for own, mobility in zip(plants, mobilities, strict=True))
        return [worst[0][1] if worst else "" for worst in found]

    @cached_property
    def _matrices(self) -> Compiled:
        """Compiled function from (q, inputs) to mass matrices and Jacobians at body origins, for many worlds."""
        plant, model = self.plant, self.plant.model
        inputs = {"q": (model.nq,), "inputs": (plant.layout.size,)}
        outputs = {"M": (model.nv, model.nv), "J": (model.nb, 6, model.nv)}

        def function(q: Array, inputs: Array) -> tuple[Array, Array]:
            opened = plant.opened(inputs).model
            kin = dynamics.kinematics(opened, q, np.zeros(model.nv))
            J = [dynamics.jacobian(opened, kin, i, np.zeros(3)) for i in range(model.nb)]
            return equations.mass_matrix(opened, q), np.stack(J)

        identity = None if plant.identity is None else f"{plant.identity} mobility"
        return compile_function("mobility", function, inputs, outputs, identity, rarely_called=True)

    def begin(self, q: Array) -> None:
        """Discard results of earlier checks if the initial configuration differs."""
        if self._start is None or not np.array_equal(self._start, q):
            self._passed.clear()
        self._start = np.array(q)


def divergence_hint(plant: Plant, at: Point, method: Integrator, step: float) -> str:
    """Return a description of the fastest motion at the last finite point of a diverging run, and the remedy."""
    model = plant.model
    with np.errstate(all="ignore"):
        V = np.array(dynamics.kinematics(model, at.q, at.x[: model.nv]).V, dtype=float)
        k = int(np.argmax(np.nan_to_num(np.linalg.norm(V, axis=1), nan=np.inf)))
        linear, angular = np.linalg.norm(V[k, :3]), np.linalg.norm(V[k, 3:])
    fastest = f"body {model.body_names[k]!r} moves fastest, at {linear:.3g} m/s and {angular:.3g} rad/s"
    stiff = step_faults(plant, model.initial().q, method, step)
    return f"{fastest}; {stiff[0] if stiff else advice(plant, method, step)}"


LIMIT = 500_000
"""Default maximum number of lines of LLVM IR in a linearly implicit step. Memory and time of LLVM grow with the square of the
number of lines; tracing needs additional time."""

# measured on chains of 1 to 12 bodies with 1 to 48 frictional contacts on a plane; other contacts need more operations
BODY, CONTACT = 300, 114
"""Number of operations of the derivative per body in water and per contact."""
COLUMN = 1.25
"""Ratio of the operations of the Jacobian to those of the derivative, per degree of freedom [-]."""
SQUARE, LINE = 9, 200
"""Number of lines of the remaining step per entry and per row of the Jacobian."""


def implicit_length(plant: Plant) -> int:
    """Estimate the lines of LLVM IR in a linearly implicit step of a plant from its bodies, contacts and states."""
    nv, layout = plant.model.nv, plant.layout
    n = 2 * nv + layout.nz - len(layout.causes)
    rates = BODY * plant.model.nb + CONTACT * sum(isinstance(c, Pair) for c in plant.components)
    return int(COLUMN * nv * rates + SQUARE * n * n + LINE * n)


def check_length(plant: Plant, method: Integrator) -> None:
    """Raise `UnsupportedFeature` if the program of a linearly implicit step is too long to compile."""
    if not isinstance(method, LinearlyImplicit):
        return
    lines, limit = implicit_length(plant), longest_program(LIMIT)
    if lines > limit:
        contacts = sum(isinstance(c, Pair) for c in plant.components)
        states = plant.layout.nz - len(plant.layout.causes)
        raise UnsupportedFeature(
            f"integrator linearly_implicit: the program has about {lines:,} lines for {plant.model.nv} degrees of freedom, "
            f"{contacts} contacts and {states} internal states, but the limit is {limit:,} lines; use rk4 with a shorter step, "
            "fewer contacts, frictionless contacts, or a larger HYDROMECHS_LONGEST_PROGRAM"
        )


def other_method(plant: Plant, method: Integrator) -> str:
    """Return advice on another method for a stiff plant; empty if no method is suitable, or the plant is too large."""
    return method.other if implicit_length(plant) <= longest_program(LIMIT) else ""


def advice(plant: Plant, method: Integrator, step: float) -> str:
    """Return advice for a run whose state or energy diverged."""
    return method.remedy(step) if not method.other or other_method(plant, method) else f"use a step below {step:g} s"


Advanced: TypeAlias = Callable[[Point, Array, float], Point]
"""Function of a point, constant inputs and a time [s] that returns the point at this time."""
NEAR = 10.0
"""Ratio of the longest stable step of a single part to the step, below which coupled parts are checked [-]."""
MAX_COORDINATES = 150
"""Maximum number of coordinates of a state in the check of coupled parts, which takes a step for each coordinate."""
GROWTH_LIMIT = 0.01
"""Relative growth in one step above which a motion is unstable [-]."""
GROWTH_RATIO = 2.0
"""Minimum ratio of the growth in one step to the growth in two half steps [-]; physical growth is equal in both."""
APART = 1e-7
"""Displacement for finite differences [SI]."""
HALVINGS = 6
"""Maximum number of times that the step is halved."""
SHARE = 0.3
"""Minimum contribution of a listed joint to a motion, relative to the largest contribution [-]."""


def unstable_together(plant: Plant, method: Integrator, advanced: Advanced, at: Point, inputs: Array, step: float) -> list[str]:
    """Return a warning about a step with which coupled motions of parts grow; empty if the step is short enough.

    The compiled step Φ_h is differentiated at the initial point; the eigenvalues of ∂Φ_h are the growth of small motions per
    step. Adaptive methods, large plants, and plants whose parts are all far from their limits are not checked.

    `advanced`: function that returns the point at a later time in at most one step. `inputs`: inputs of the plant, shape
    (nu,).
    """
    n = plant.model.nv + len(at.x) - len(plant.layout.causes)
    if method.adaptive or method.restarts_at_stops or not method.many_worlds or n > MAX_COORDINATES:
        return []
    close = [mode for mode in stiff_modes(plant, at.q) if step_limit(mode, method) < NEAR * step]
    if len(close) < 2:
        return []
    slopes = _Slopes(plant, advanced, at, inputs)
    with np.errstate(all="ignore"):
        growth, mover = slopes.fastest(step)
        if growth <= 1.0 + GROWTH_LIMIT or growth - 1.0 <= GROWTH_RATIO * max(slopes.fastest(0.5 * step)[0] ** 2 - 1.0, 0.0):
            return []
        tried = (step / 2.0**k for k in range(1, HALVINGS + 1))
        good = next((h for h in tried if slopes.fastest(h)[0] <= 1.0 + GROWTH_LIMIT), None)
    remedy = "use a much shorter step" if good is None else f"use a step of {good:g} s"
    instead = other_method(plant, method)
    other = f", or {instead}" if instead else ""
    return [
        f"a step of {step:g} s is too long for the coupled parts, although not for any single part: with {method.name}, a "
        f"small motion of {', '.join(mover)} grows {growth:.3g}-fold per step; {remedy}{other}"
    ]


class _Slopes:
    """Derivatives of steps from one point in the coordinates (δ, v, z) of q ⊕ δ, without work integrals."""

    def __init__(self, plant: Plant, advanced: Advanced, at: Point, inputs: Array) -> None:
        self.plant, self.advanced, self.at, self.inputs = plant, advanced, at, inputs
        self.nx = len(at.x) - len(plant.layout.causes)
        self.tangent = self._tangent(at.q)

    def _tangent(self, q: Array) -> Array:
        """Return ∂(q ⊕ δ)/∂δ, shape (nq, nv)."""
        model = self.plant.model
        columns = [dynamics.integrate(model, q, APART * e, 1.0) - q for e in np.eye(model.nv)]
        return np.array(columns, dtype=float).reshape(model.nv, model.nq).T / APART

    def _after(self, q: Array, x: Array, h: float) -> Array:
        """Return q and x after a step, shape (nq + nx,)."""
        end = self.advanced(Point(self.at.t, q, x), self.inputs, self.at.t + h)
        return np.concatenate([end.q, end.x[: self.nx]])

    def fastest(self, h: float) -> tuple[float, list[str]]:
        """Return the largest |eigenvalue| of ∂Φ_h for a step `h` [s], inf if not finite, and the moving coordinates."""
        nv, nq, at = self.plant.model.nv, self.plant.model.nq, self.at
        try:
            end = self._after(at.q, at.x, h)
            columns = [self._after(at.q + APART * dq, at.x, h) - end for dq in self.tangent.T]
            for i in range(self.nx):
                x = at.x.copy()
                x[i] += APART
                columns.append(self._after(at.q, x, h) - end)
        except NotFinite:
            return np.inf, ["all"]
        moved = np.array(columns).T / APART  # derivatives of q and x, shape (nq + nx, nv + nx)
        J = np.vstack([np.linalg.pinv(self._tangent(end[:nq])) @ moved[:nq], moved[nq:]])
        if not np.isfinite(J).all():
            return np.inf, ["all"]
        values, vectors = np.linalg.eig(J)
        k = int(np.argmax(np.abs(values)))
        share = np.abs(vectors[nv : 2 * nv, k])
        names = self.plant.model.coordinate_names[1]
        who = [name for name, s in zip(names, share, strict=True) if s >= SHARE * share.max(initial=0.0)]
        return float(np.abs(values[k])), who
