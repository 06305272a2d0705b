"""Cost of a rollout and exact derivatives, by reverse-mode differentiation of compiled steps with checkpoints."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hydromechs import compiler, dynamics
from hydromechs.compiler import Compiled, compile_function
from hydromechs.errors import FieldError, SimulationDiverged, UnsupportedFeature
from hydromechs.integrators import RungeKutta4, Stretch
from hydromechs.model import State
from hydromechs.values import Array, Scalar, positive

from ._evaluate import derivative
from ._plant import Plant
from ._programs import PlantPrograms
from ._simulation import Simulation


def check_derivable(who: str, plant: Plant, rates: compiler.Program) -> None:
    """Raise `UnsupportedFeature` if parts of the equations have no derivatives; the error names the components.

    `who`: caller that requires derivatives, for the message. `rates`: equations of the plant as a program.
    """
    if not rates.calls:
        return
    named = [f"{c.name!r} ({c.kind})" for c in plant.components if _calls(replace(plant, components=(c,)))]
    raise UnsupportedFeature(
        f"{who}: the equations of the plant have parts without derivatives, such as grasps or height tables"
        + (f": {', '.join(named)}; remove these components" if named else "; remove these parts")
    )


def _calls(plant: Plant) -> bool:
    """True if the equations of a plant call tables, solvers or other programs."""
    model, layout = plant.model, plant.layout

    def rates(t: Scalar, q: Array, u: Array, v: Array, z: Array, inputs: Array) -> Array:
        return derivative(plant, t, q, u, v, z, inputs)

    shapes = {"t": (), "q": (model.nq,), "u": (model.nv,), "v": (model.nv,), "z": (layout.nz,), "inputs": (layout.size,)}
    return bool(compiler.trace(rates, shapes, name="rates", outputs=("ydot",)).calls)


class CostGradient(NamedTuple):
    """Cost of a rollout and its derivatives."""

    value: float
    """Cost J."""
    commands: np.ndarray
    """Derivatives ∂J/∂u with respect to the commands of each step, shape (steps, na)."""
    delta: np.ndarray
    """Derivative ∂J/∂δ with respect to the initial configuration q ⊕ δ = integrate(q, δ, 1), shape (nv,)."""
    v: np.ndarray
    """Derivative ∂J/∂v with respect to the initial velocity, shape (nv,)."""
    internal: np.ndarray
    """Derivative ∂J/∂z with respect to the initial internal states, without work integrals, shape (nz,)."""
    parameters: dict[str, Any]
    """Derivatives ∂J/∂p with respect to open parameters, keyed by name, in the shape of the parameters."""


class _Path(NamedTuple):
    """States along a rollout."""

    q: np.ndarray
    """Configurations, shape (steps + 1, nq)."""
    x: np.ndarray
    """Velocities and internal states, shape (steps + 1, nv + nz)."""


class RolloutCost:
    """Cost J of a rollout with classical Runge-Kutta steps, and exact derivatives of these steps.

        J = Σ_k h running(t_k, q_k, v_k, u_k) + final(q_N, v_N),     k = 0 ... N − 1

    In the forward pass, machine code takes the steps and stores every ⌈√N⌉-th state. In the backward pass, each interval
    between two checkpoints is repeated, and machine code propagates the adjoint g of the state from the end of each step to
    its start:

        gᵀ ← gᵀ ∂step/∂x,    ∂J/∂u_k = gᵀ ∂step/∂u_k + h ∂running/∂u_k

    The backward pass uses vector-Jacobian products of the equations at the four stages. A gradient costs as much as a few
    rollouts, independently of the number of commands and parameters. At the onset of slip or contact, the derivative is
    one-sided; use smooth laws for meaningful derivatives at such points.

    Args:
        plant: Simulated plant.
        running: NumPy function of (t, q, v, u) that returns the running cost; u are the commands. Defaults to 0.
        final: NumPy function of (q, v) that returns the cost of the final state. Defaults to 0.

    Raises:
        UnsupportedFeature: The equations have parts without derivatives, such as grasps or height tables.
    """

    def __init__(
        self,
        plant: Plant,
        *,
        running: Callable[[Scalar, Array, Array, Array], Scalar] | None = None,
        final: Callable[[Array, Array], Scalar] | None = None,
    ) -> None:
        if not isinstance(plant, Plant):
            raise FieldError("plant", plant, "must be a Plant; use sim.plant of a simulation, or scenario.plant of a scenario")
        self.plant, self.running, self.final = plant, running or (lambda t, q, v, u: 0.0), final or (lambda q, v: 0.0)
        self.nv, self.na = plant.model.nv, len(plant.layout.commands)
        self.work_count = len(plant.layout.causes)
        self.nx = self.nv + plant.layout.nz - self.work_count
        check_derivable("RolloutCost", plant, self._rates)

    # -- programs -------------------------------------------------------------------------------------------------------------

    @cached_property
    def _rates(self) -> compiler.Program:
        """Program from (t, q, a), a = (d, y, inputs), to ẏ in the chart around q ⊕ d, without work integrals."""
        plant, nv, nx, work = self.plant, self.nv, self.nx, np.zeros(self.work_count)

        def rates(t: Scalar, q: Array, a: Array) -> Array:
            y, inputs = a[nv : 2 * nv + nx], a[2 * nv + nx :]
            centre = dynamics.retract(plant.model, q, a[:nv])
            z = np.concatenate([y[2 * nv :], work])
            return derivative(plant, t, centre, y[:nv], y[nv : 2 * nv], z, inputs)[: nv + nx]

        shapes = {"t": (), "q": (plant.model.nq,), "a": (2 * nv + nx + plant.layout.size,)}
        return compiler.trace(rates, shapes, name="rates", outputs=("ydot",))

    @cached_property
    def _end(self) -> compiler.Program:
        """Program from (q, end, b), b = (d, u), to (q ⊕ d) ⊕ u in the chart around `end`."""
        model, nv = self.plant.model, self.nv

        def chart(q: Array, end: Array, b: Array) -> Array:
            return dynamics.difference(model, end, dynamics.retract(model, dynamics.retract(model, q, b[:nv]), b[nv:]))

        return compiler.trace(chart, {"q": (model.nq,), "end": (model.nq,), "b": (2 * nv,)}, name="end", outputs=("u",))

    @cached_property
    def _backward(self) -> Compiled:
        """Program of one backward step of rk4, from (t, q, x, inputs, h, end, weight) to the adjoints of state and inputs."""
        nv, nx = self.nv, self.nx
        rates, back, back_end = self._rates, compiler.vjp_program(self._rates, "a"), compiler.vjp_program(self._end, "b")
        still = np.zeros(nv)

        def step(t: Scalar, q: Array, x: Array, inputs: Array, h: Scalar, end: Array, weight: Array) -> tuple[Array, Array]:
            late = (0.0, 0.5 * h, 0.5 * h, h)
            parts = (h / 6.0, h / 3.0, h / 3.0, h / 6.0)
            y0 = np.concatenate([still, x])
            ys, ks = [y0], []
            for k in range(4):
                ks.append(compiler.call(rates, t + late[k], q, np.concatenate([still, ys[k], inputs]))[0])
                if k < 3:
                    ys.append(y0 + late[k + 1] * ks[k])
            u = sum((part * k[:nv] for part, k in zip(parts, ks, strict=True)), still)
            of_end = compiler.call(back_end, q, end, np.concatenate([still, u]), weight[:nv])[0]
            d, y_end = of_end[:nv], np.concatenate([of_end[nv:], weight[nv:]])
            y, of_inputs = y_end, np.zeros(len(inputs))
            later: Array = np.zeros(nv + nx)
            for k in reversed(range(4)):
                slope = parts[k] * y_end + (late[k + 1] * later if k < 3 else 0.0)
                a = compiler.call(back, t + late[k], q, np.concatenate([still, ys[k], inputs]), slope)[0]
                d, later, of_inputs = d + a[:nv], a[nv : 2 * nv + nx], of_inputs + a[2 * nv + nx :]
                y = y + later
            return np.concatenate([d, y[nv:]]), of_inputs

        n, nq, nu = nv + nx, self.plant.model.nq, self.plant.layout.size
        shapes = {"t": (), "q": (nq,), "x": (nx,), "inputs": (nu,), "h": (), "end": (nq,), "weight": (n,)}
        return compile_function("rk4_backward", step, shapes, {"state": (n,), "of_inputs": (nu,)})

    def _cost(self, name: str, function: Callable[..., Scalar], inputs: dict[str, tuple[int, ...]]) -> Compiled:
        """Return a program from (t, q, c), c = (d, v, u), to the cost at q ⊕ d and its derivatives with respect to c."""
        model, nv = self.plant.model, self.nv

        def cost(t: Scalar, q: Array, c: Array) -> Array:
            here = dynamics.retract(model, q, c[:nv])
            return np.array([function(t, here, c[nv : 2 * nv], c[2 * nv :])])

        shapes = {"t": (), "q": (model.nq,), **inputs}
        program = compiler.trace(cost, shapes, name=name, outputs=("cost",))
        slopes = compiler.jacobian_program(program, ("c",))
        if slopes.calls:
            raise UnsupportedFeature(f"RolloutCost: the {name} cost has parts without derivatives; remove these parts")

        def both(t: Scalar, q: Array, c: Array) -> tuple[Array, Array]:
            return compiler.call(program, t, q, c)[0], compiler.call(slopes, t, q, c)[0]

        return compile_function(f"{name}_cost", both, shapes, {"cost": (1,), "slope": (1, *inputs["c"])})

    @cached_property
    def _running(self) -> Compiled:
        return self._cost("running", self.running, {"c": (2 * self.nv + self.na,)})

    @cached_property
    def _final(self) -> Compiled:
        return self._cost("final", lambda t, q, v, u: self.final(q, v), {"c": (2 * self.nv,)})

    @cached_property
    def _programs(self) -> PlantPrograms:
        return PlantPrograms(self.plant, RungeKutta4())

    # -- rollouts -------------------------------------------------------------------------------------------------------------

    def value(self, state: State, commands: ArrayLike, dt: float) -> float:
        """Return the cost J.

        Args:
            state: Initial state, which may include internal states, held inputs and open parameters.
            commands: Commands of each step, shape (steps, na).
            dt: Step h [s].
        """
        start, inputs = self._given(state, commands, positive(dt, "dt"))
        path = self._path(start, inputs, dt, 0, len(inputs))
        return self._sum(start, path, inputs, dt)

    def gradient(self, state: State, commands: ArrayLike, dt: float) -> CostGradient:
        """Return the cost J and its derivatives with respect to commands, initial state and open parameters.

        Args:
            state: Initial state, as in `value`.
            commands: Commands of each step, as in `value`.
            dt: Step h [s].
        """
        start, inputs = self._given(state, commands, positive(dt, "dt"))
        nv, steps = self.nv, len(inputs)
        stretch = max(1, math.ceil(math.sqrt(steps)))
        firsts = list(range(0, steps, stretch))
        kept = list(self._checkpoints(start, inputs, dt, firsts))
        value, of_inputs = 0.0, np.zeros_like(inputs)
        weight = np.zeros(nv + self.nx)
        for first, checkpoint in zip(reversed(firsts), reversed(kept), strict=True):
            last = min(first + stretch, steps)
            path = self._path(checkpoint, inputs, dt, first, last)
            if last == steps:
                cost, slope = self._final([np.array(0.0), path.q[-1], self._moving(path.x[-1])])
                value += float(cost[0])
                weight[: 2 * nv] = slope[0]
            for k in reversed(range(first, last)):
                at, t = k - first, np.array(start.t + k * dt)
                q, x = path.q[at], path.x[at, : self.nx]
                given = [t, q, x, inputs[k], np.array(dt), path.q[at + 1], weight]
                weight, of_inputs[k] = self._backward(given)
                cost, slope = self._running([t, q, self._moving(x, inputs[k])])
                value += dt * float(cost[0])
                weight[: 2 * nv] += dt * slope[0, : 2 * nv]
                of_inputs[k, : self.na] += dt * slope[0, 2 * nv :]
        turn = np.array([dynamics.chart_rate(self.plant.model, start.q, np.zeros(nv), e) for e in np.eye(nv)], dtype=float)
        opened = self.plant.parameter_values({}).size
        total = of_inputs.sum(axis=0)[len(of_inputs[0]) - opened :]
        return CostGradient(
            value=value,
            commands=of_inputs[:, : self.na],
            delta=turn @ weight[:nv],
            v=weight[nv : 2 * nv],
            internal=weight[2 * nv :],
            parameters=self.plant.named_parameters(total) if opened else {},
        )

    def _given(self, state: State, commands: ArrayLike, dt: float) -> tuple[State, np.ndarray]:
        """Return the complete initial state, and the inputs of each step, shape (steps, nu)."""
        commands = np.asarray(commands, dtype=float)
        if commands.ndim != 2 or commands.shape[1] != self.na or not len(commands):
            names = ", ".join(self.plant.layout.commands) or "none"
            raise ValueError(f"commands have shape {commands.shape}, must have shape (steps, {self.na}) for {names}")
        sim = Simulation(self.plant, state=state, step=dt, record=dt)
        until = sim.inputs_until
        if until < sim.state.t + dt * len(commands):
            timed = [c for c in self.plant.components if c.timed and c.timed_values(sim.state.t)[1] <= until]
            if timed:
                raise ValueError(
                    f"RolloutCost requires constant inputs, but those of {timed[0].name!r} ({timed[0].kind}) change at "
                    f"t = {until:g} s; use a motion with a formula, such as motions.Sine"
                )
            raise ValueError(
                f"RolloutCost requires steady water, but the current changes at t = {until:g} s; remove gusts and tables"
            )
        inputs = np.tile(sim.inputs, (len(commands), 1))
        inputs[:, : self.na] = commands
        return sim.state, inputs

    def _path(self, at: State, inputs: np.ndarray, dt: float, first: int, last: int) -> _Path:
        """Return the states from point `first` to `last`. `at`: state at `first`, but with the time of point 0."""
        x0 = np.concatenate([at.v, at.internal])
        stretch = Stretch(at.t, first, at.q[None], x0[None], [inputs[None, first:last]], dt, last - first, 1)
        path = self._programs.stepper.propagator.march(stretch)
        if path.good[0] < last - first:
            raise SimulationDiverged(f"t = {at.t + (first + path.good[0]) * dt:g} s: the next step is not finite")
        return _Path(np.vstack([at.q, path.q[0]]), np.vstack([x0, path.x[0]]))

    def _checkpoints(self, start: State, inputs: np.ndarray, dt: float, firsts: list[int]) -> Iterator[State]:
        """Yield the states at the start of each interval, with the time of point 0."""
        at = start
        for first, last in zip(firsts, [*firsts[1:], None], strict=True):
            yield at
            if last is not None:
                path = self._path(at, inputs, dt, first, last)
                at = State(t=start.t, q=path.q[-1], v=path.x[-1, : self.nv], internal=path.x[-1, self.nv :])

    def _moving(self, x: np.ndarray, inputs: np.ndarray | None = None) -> np.ndarray:
        parts = [np.zeros(self.nv), x[: self.nv]]
        return np.concatenate(parts if inputs is None else [*parts, inputs[: self.na]])

    def _sum(self, start: State, path: _Path, inputs: np.ndarray, dt: float) -> float:
        total = float(self._final([np.array(0.0), path.q[-1], self._moving(path.x[-1])])[0][0])
        for k, row in enumerate(inputs):
            total += dt * float(self._running([np.array(start.t + k * dt), path.q[k], self._moving(path.x[k], row)])[0][0])
        return total
