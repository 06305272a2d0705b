"""Trajectories of a plant for many trials, with derivatives with respect to initial states and inputs.

The equations and their exact Jacobians form one compiled program. The classical Runge-Kutta method in the chart, as in
`integrators`, also integrates the sensitivities:

    ẏ = f(t, q, y, p),    S = ∂y/∂θ,    Ṡ = ∂f/∂y S + ∂f/∂p P,    P = ∂p/∂θ
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from hydromechs import compiler, dynamics
from hydromechs.compiler import Compiled, Program, Recipe
from hydromechs.simulation import InitialInstant, Plant, check_derivable, derivative
from hydromechs.values import Array, Scalar

from ._samples import Trial, motion_names


def on_lanes(recipe: Recipe, program: Program | None = None) -> Compiled:
    """Return vectorised machine code. Single trials also use it, so that results do not depend on the number of trials."""
    code = Compiled(recipe, compiler.native_lanes(), 1, program)
    code.single_lanes = code.lanes
    return code


def _on_lanes(
    name: str, function: Callable[..., Any], inputs: Mapping[str, tuple[int, ...]], outputs: Mapping[str, tuple[int, ...]]
) -> Compiled:
    """Return vectorised machine code of a function, given the shapes of its inputs and outputs keyed by name."""
    return on_lanes(compiler.compile_function(name, function, inputs, outputs).recipe)


class SensitiveState(NamedTuple):
    """States of many trials with derivatives."""

    q: np.ndarray
    """Configurations, shape (n, nq)."""
    x: np.ndarray
    """Velocities and internal states without work integrals, shape (n, nx)."""
    S: np.ndarray
    """Derivatives of (chart of q, x) with respect to θ, shape (n, nv + nx, k)."""


class Sensitivities:
    """Integration steps of a plant without contact or friction, and derivatives with respect to p, the inputs at `places`."""

    def __init__(self, plant: Plant, places: Sequence[int]) -> None:
        self.plant, self.places = plant, tuple(int(k) for k in places)
        self.rest = tuple(k for k in range(plant.layout.size) if k not in set(self.places))
        self.nv = plant.model.nv
        self.work_count = len(plant.layout.causes)
        self.nx = self.nv + plant.layout.nz - self.work_count
        check_derivable("identify", plant, self._rates)

    @cached_property
    def _rates(self) -> Program:
        """Program from (t, q, y, p, rest) to ẏ."""
        plant, nv, n = self.plant, self.nv, self.nv + self.nx
        order = np.argsort([*self.places, *self.rest])

        def rates(t: Scalar, q: Array, y: Array, p: Array, rest: Array) -> Array:
            inputs = np.concatenate([p, rest])[order]
            z = np.concatenate([y[2 * nv :], np.zeros(self.work_count)])
            return derivative(plant, t, q, y[:nv], y[nv : 2 * nv], z, inputs)[:n]

        shapes = {"t": (), "q": (plant.model.nq,), "y": (n,), "p": (len(self.places),), "rest": (len(self.rest),)}
        return compiler.trace(rates, shapes, name="rates", outputs=("ydot",))

    @cached_property
    def _code(self) -> Compiled:
        """Code from (t, q, y, p, rest) to ẏ, ∂ẏ/∂y and ∂ẏ/∂p."""
        both = compiler.jacobian_program(self._rates, ("y", "p"), with_value=True)
        return on_lanes(Recipe.of(both), both)

    @cached_property
    def _turn(self) -> Compiled:
        """Code from (q ⊕ u, u) to ∂u̇/∂v at u and at the centre of the chart."""
        model, nv = self.plant.model, self.nv
        columns = np.eye(nv)

        def rates(here: Array, u: Array) -> tuple[Array, Array]:
            there = np.stack([dynamics.chart_rate(model, here, u, e) for e in columns], axis=1)
            centre = np.stack([dynamics.chart_rate(model, here, np.zeros(nv), e) for e in columns], axis=1)
            return there, centre

        return _on_lanes("chart_turn", rates, {"here": (model.nq,), "u": (nv,)}, {"there": (nv, nv), "centre": (nv, nv)})

    def moved(self, q: np.ndarray, u: np.ndarray, S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return q ⊕ u for u of shape (n, nv), and S = ∂u/∂θ in the chart around the result, shape (n, nv, k)."""
        (here,) = self._retract([q, u])
        if not S.shape[2]:
            return here, S
        there, centre = self._turn([here, u])
        return here, centre @ np.linalg.solve(there, S)

    def between(self, q: np.ndarray, other: np.ndarray, S: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return chart coordinates u of other configurations around q, shape (n, nv), with derivatives.

        Given S in the chart around the others, the derivatives are ∂u/∂θ, shape (n, nv, k), and the derivative of u by
        coordinates of the chart around q, shape (n, nv, nv).
        """
        (u,) = self._difference([q, other])
        there, centre = self._turn([other, u])
        here, own_centre = self._turn([q, -u])  # q = other ⊕ −u
        return u, there @ np.linalg.solve(centre, S), -here @ np.linalg.inv(own_centre)

    @cached_property
    def _difference(self) -> Compiled:
        model = self.plant.model
        shapes = {"q": (model.nq,), "q_other": (model.nq,)}
        return _on_lanes("difference", partial(dynamics.difference, model), shapes, {"u": (self.nv,)})

    @cached_property
    def _retract(self) -> Compiled:
        model = self.plant.model
        shapes = {"q": (model.nq,), "u": (self.nv,)}
        return _on_lanes("retract", partial(dynamics.retract, model), shapes, {"here": (model.nq,)})

    def step(self, t: np.ndarray, at: SensitiveState, inputs: np.ndarray, P: np.ndarray, h: np.ndarray) -> SensitiveState:
        """Advance all trials by h [s] from times t [s], both (n,), with inputs (n, nu) and P = ∂p/∂θ, shape (n, np, k)."""
        n, k = len(at.q), at.S.shape[2]
        H, W = h[:, None], h[:, None, None]
        p, rest = np.ascontiguousarray(inputs[:, self.places]), np.ascontiguousarray(inputs[:, self.rest])
        y0 = np.concatenate([np.zeros((n, self.nv)), at.x], axis=1)

        def slope(late: np.ndarray | float, y: np.ndarray, S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            ydot, A, B = self._code([t + late, at.q, y, p, rest])
            return ydot, A @ S + B @ P if k else S

        k1, s1 = slope(0.0, y0, at.S)
        k2, s2 = slope(0.5 * h, y0 + 0.5 * H * k1, at.S + 0.5 * W * s1)
        k3, s3 = slope(0.5 * h, y0 + 0.5 * H * k2, at.S + 0.5 * W * s2)
        k4, s4 = slope(h, y0 + H * k3, at.S + W * s3)
        y = y0 + (H / 6.0) * (k1 + 2.0 * (k2 + k3) + k4)
        S = at.S + (W / 6.0) * (s1 + 2.0 * (s2 + s3) + s4)
        u = np.ascontiguousarray(y[:, : self.nv])
        q, turned = self.moved(at.q, u, S[:, : self.nv])
        S = np.concatenate([turned, S[:, self.nv :]], axis=1)
        return SensitiveState(q, y[:, self.nv :], S)


DIFFERENCE = 1e-6
"""Relative step of central differences for initial internal states that depend on the initial instant."""


class InternalStarts:
    """Initial internal states of trials.

    Most are constants. Some depend on the initial instant, such as the node positions of a hanging tether. These are
    recomputed for every initial state and differentiated by central differences.
    """

    def __init__(self, dynamics: Sensitivities, trials: Sequence[Trial]) -> None:
        self.dynamics, self.plant, self.trials = dynamics, dynamics.plant, trials
        slots = self.plant.layout.state_slots
        self.follow = np.array([k for k, slot in enumerate(slots) if callable(slot.start)], dtype=int)
        self.guess = np.zeros((len(trials), len(slots)))
        for j, trial in enumerate(trials):
            now = InitialInstant(self.plant, trial.start, trial.q, trial.v, {})
            moved = motion_names(self.plant, trial)
            for component in self.plant.components:
                if component.name not in moved:
                    try:
                        component.check_start(now)
                    except ValueError as error:
                        error.add_note(f"in trial {trial.name!r}")
                        raise
            self.guess[j] = now.states()

    def __call__(
        self, q: np.ndarray, v: np.ndarray, inputs: np.ndarray, S: np.ndarray, P: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return internal states, shape (n, nz), and their derivatives with respect to θ, shape (n, nz, k).

        The arguments are initial q, v and inputs, S = ∂(chart of q, v)/∂θ, shape (n, 2 nv, k), and P = ∂p/∂θ, shape (np, k).
        """
        z, by = self.guess.copy(), np.zeros((len(q), self.guess.shape[1], S.shape[2]))
        if not len(self.follow):
            return z, by
        for j in range(len(q)):
            z[j, self.follow] = self._at(j, q[j], v[j], inputs[j])
        for k in range(S.shape[2]):
            along, change = S[..., k], P[:, k]
            h = DIFFERENCE / max(1.0, np.abs(along).max(initial=0.0), np.abs(change).max(initial=0.0))
            if along.any() or change.any():
                up, down = (self._away(q, v, inputs, along, change, s * h) for s in (1.0, -1.0))
                by[:, self.follow, k] = (up - down) / (2.0 * h)
        return z, by

    def _away(
        self, q: np.ndarray, v: np.ndarray, inputs: np.ndarray, along: np.ndarray, change: np.ndarray, h: float
    ) -> np.ndarray:
        """Return the dependent internal states after a displacement h along a direction, shape (n, len(follow))."""
        nv = self.dynamics.nv
        there, _ = self.dynamics.moved(q, np.ascontiguousarray(h * along[:, :nv]), np.zeros((len(q), nv, 0)))
        other = inputs.copy()
        other[:, self.dynamics.places] += h * change
        return np.stack([self._at(j, there[j], v[j] + h * along[j, nv:], other[j]) for j in range(len(q))])

    def _at(self, j: int, q: np.ndarray, v: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        layout = self.plant.layout
        parameters = {name: layout.array(f"parameter.{name}", inputs) for name in self.plant.parameters}
        now = InitialInstant(self.plant, self.trials[j].start, q, v, parameters)
        return now.states()[self.follow]
