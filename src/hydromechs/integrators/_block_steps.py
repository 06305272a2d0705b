"""Block methods in machine code: a start by Dormand-Prince steps, followed by a march of blocks."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from hydromechs import compiler, dynamics
from hydromechs.compiler import Argument, March, Recipe
from hydromechs.values import Array, Scalar

from ._block_methods import BlockSystem, SlidingBlock, block_step
from ._integrator import NotFinite, Paths, Point, Propagator, Stretch, next_multiple, reached, rounding, slack
from ._methods import embedded_step
from ._stepper import Stepper

CHUNK = 4096
"""Number of blocks recorded per call."""


class BlockSteps(Propagator):
    """Steps of a stepper whose method is a `SlidingBlock`."""

    def __init__(self, stepper: Stepper) -> None:
        if not isinstance(stepper.method, SlidingBlock):
            raise TypeError(f"{stepper.method.name} is not a block method; use the propagator of the method")
        self.stepper, self.method = stepper, stepper.method

    # -- compiled programs ---------------------------------------------------------------------------------------------------

    @cached_property
    def start(self) -> March:
        """March of Dormand-Prince steps with the state (n, q, x, ẋ) and the time t = offset + n h.

        The inputs are h, offset and those of the derivative.
        """
        s, nx = self.stepper, self.stepper.n - self.stepper.model.nv

        def one(
            n: Scalar, q: Array, x: Array, xdot: Array, h: Scalar, offset: Scalar, **inputs: Array
        ) -> tuple[Scalar, Array, Array, Array]:
            system = s.system(inputs)
            first = np.concatenate([system.rate(q, x[: system.nv]), xdot])
            q, x, _, stages = embedded_step(system, offset + n * h, q, x, h, first)
            return n + 1.0, q, x, stages[-1][system.nv :]

        state = (Argument("n", ()), Argument("q", (s.model.nq,)), Argument("x", (nx,)), Argument("xdot", (nx,)))
        return self._march("start", one, state)

    @cached_property
    def blocks(self) -> March:
        """March of blocks: state (n, Q, X, D), where n is the index of the newest point; inputs as for `start`."""
        s, k, p = self.stepper, self.method.order, self.method.points
        nx = s.n - s.model.nv

        def one(
            n: Scalar, Q: Array, X: Array, D: Array, h: Scalar, offset: Scalar, **inputs: Array
        ) -> tuple[Scalar, Array, Array, Array]:
            Q, X, D = block_step(self.method, self.system(inputs), offset + n * h, Q, X, D, h)
            return n + float(p), Q, X, D

        state = (Argument("n", ()), Argument("Q", (k, s.model.nq)), Argument("X", (k, nx)), Argument("D", (k, nx)))
        return self._march("blocks", one, state)

    def _march(self, name: str, one: Callable[..., tuple[Any, ...]], state: tuple[Argument, ...]) -> March:
        s = self.stepper
        arguments = (*state, Argument("h", ()), Argument("offset", ()), *s.inputs)
        identity = None if s.identity is None else f"{s.identity} {name} {self.method!r}"
        return March(Recipe(f"{s.name}_{name}", one, arguments, state, identity), s.lanes, s.threads)

    def system(self, inputs: dict[str, Array]) -> BlockSystem:
        """Return the programs called by a block; the work of each point is one program, called on lanes."""
        s, p = self.stepper, self.method.points
        model, nv = s.model, s.model.nv
        held = [np.broadcast_to(value, (p, *np.shape(value))) for value in inputs.values()]

        def rates(q: Array, Q: Array, V: Array) -> Array:
            out = np.concatenate([V[:-1], [dynamics.chart_rate(model, q, np.zeros(nv), V[-1])]])
            at_q, at_v = self._turning
            if at_v:
                centre = np.broadcast_to(q[at_q], (len(Q) - 1, len(at_q)))
                out[:-1, at_v] = self._on_lanes(self._rate_program, centre, Q[:-1, at_q], V[:-1, at_v])[0]
            return out

        def at_points(what: str, times: Array, q: Array, x: Array, h: Scalar, F: Array, W: Array) -> list[Array]:
            if s.at_points is not None:
                Y = np.concatenate([np.zeros(nv), x]) + h * (W @ F)
                Q, V = np.stack([dynamics.retract(model, q, y[:nv]) for y in Y]), Y[:, nv:]
                vdot = s.at_points(times, Q, V, *inputs.values())
                if what == "correct":
                    return [Q, V, vdot]
                rates = [dynamics.chart_rate(model, *row) for row in zip(Q, Y[:, :nv], V, strict=True)]
                return [np.concatenate([np.stack(rates), vdot], axis=1)]
            if self._tasks(p) > 1:
                shared = [np.broadcast_to(a, (p, *np.shape(a))) for a in (q, x, np.asarray(h), F)]
                return self._on_lanes(self._point_program(what), times, *shared, W, *held)
            points = [self._point(what, t, q, x, h, F, w, *inputs.values()) for t, w in zip(times, W, strict=True)]
            return [np.stack(rows) for rows in zip(*points, strict=True)]

        def correct(*given: Any) -> tuple[Array, Array, Array]:
            q, x, xdot = at_points("correct", *given)
            return q, x, xdot

        return BlockSystem(nv, rates, lambda *given: at_points("predict", *given)[0], correct)

    def _tasks(self, points: int) -> int:
        return points if self.method.tasks is None else min(self.method.tasks, points)

    def _on_lanes(self, program: compiler.Program, *arrays: Array) -> list[Array]:
        """Return results at several points, evaluated in parallel in groups of the method's `tasks`."""
        n = len(arrays[0])
        tasks = self._tasks(n)
        parts = [compiler.call_on_lanes(program, *(a[j : j + tasks] for a in arrays)) for j in range(0, n, tasks)]
        return [np.concatenate(rows) for rows in zip(*parts, strict=True)]

    @cached_property
    def _turning(self) -> tuple[list[int], list[int]]:
        """Indices into q and v of joints with an orientation or a custom chart, whose coordinates depend on the chart."""
        at_q: list[int] = []
        at_v: list[int] = []
        for step in dynamics.moving_steps(self.stepper.model):
            if step.turning:
                at_q += [step.iq + k for k in step.turning]
                at_v += range(step.iv, step.iv + step.nv)
        return at_q, at_v

    @cached_property
    def _rate_program(self) -> compiler.Program:
        """Program for u̇ of one old point in the chart around q, for joints with an orientation or a custom chart."""
        model, (at_q, at_v) = self.stepper.model, self._turning

        def rate(q: Array, q_old: Array, v_old: Array) -> Array:
            full = [np.zeros(model.nq, dtype=object), np.zeros(model.nq, dtype=object), np.zeros(model.nv, dtype=object)]
            for array, at, values in zip(full, (at_q, at_q, at_v), (q, q_old, v_old), strict=True):
                array[at] = values
            u = dynamics.difference(model, full[0], full[1])
            return dynamics.chart_rate(model, full[1], u, full[2])[at_v]

        shapes = {"q": (len(at_q),), "q_old": (len(at_q),), "v_old": (len(at_v),)}
        return compiler.trace(rate, shapes, name="old_rate", outputs=("udot",))

    def _point(
        self, what: str, t: Scalar, q: Array, x: Array, h: Scalar, F: Array, w: Array, *inputs: Array
    ) -> tuple[Array, ...]:
        """Return the derivative at one point y = y_0 + h w F; for the corrector also q, x and ẋ."""
        s = self.stepper
        nv = s.model.nv
        change = w[0] * F[0]
        for i in range(1, self.method.order):
            change = change + w[i] * F[i]
        y = np.concatenate([np.zeros(nv), x]) + h * change
        (f,) = compiler.call(s.derivative_program, t, q, y, *inputs)
        return (f,) if what == "predict" else (dynamics.retract(s.model, q, y[:nv]), y[nv:], f[nv:])

    def _point_program(self, what: str) -> compiler.Program:
        """Return `_point` as a program."""
        s, k = self.stepper, self.method.order
        shapes = {"t": (), "q": (s.model.nq,), "x": (s.n - s.model.nv,), "h": (), "F": (k, s.n), "w": (k,)}
        shapes |= {a.name: a.shape for a in s.inputs}
        return compiler.trace(lambda **given: self._point(what, *given.values()), shapes, name=f"{s.name}_{what}")

    def compile(self) -> None:
        self.start.code(1)
        self.blocks.code(1)

    # -- running ------------------------------------------------------------------------------------------------------------

    def _run(self, stretch: Stretch) -> Paths:
        """Take steps with held inputs, all worlds in parallel: a start, then complete blocks."""
        offset, n, q, x, inputs, h, steps, record = stretch
        k, p = self.method.order, self.method.points
        blocks = max(0, (steps - (k - 1)) // p)
        first = steps - blocks * p
        Q, X, D, good = self._started(n, offset, q, x, inputs, h, first)
        kept = np.arange(record, first + 1, record)
        rows_q, rows_x = [Q[:, kept]], [X[:, kept]]
        state = [np.full(len(Q), n + first), *(np.ascontiguousarray(a[:, -k:]) for a in (Q, X, D))]
        alive, done = good == first, first
        while done < steps:
            some = min(blocks if record >= steps else CHUNK, (steps - done) // p)
            result = self.blocks(
                state, [np.array([h]), np.array([offset]), *inputs], some, stride=1 if record < steps else some
            )
            wanted = np.arange(-(-(done + 1) // record) * record, done + some * p + 1, record)
            for rows, part in ((rows_q, 1), (rows_x, 2)):
                new = result.records[part][:, :, -p:].reshape(len(Q), -1, state[part].shape[-1])
                rows.append(new[:, [-1] * len(wanted) if record >= steps else wanted - done - 1])
            good = good + np.where(alive, result.good * p, 0.0)
            alive, state, done = alive & (result.good == some), result.ends, done + some * p
        q_path, x_path = np.concatenate(rows_q, axis=1), np.concatenate(rows_x, axis=1)
        for w in np.flatnonzero(good < steps):  # a diverged world stays at its last finite state
            late = np.arange(1, q_path.shape[1] + 1) * record > good[w]
            at_start = good[w] < first
            q_path[w, late] = Q[w, int(good[w])] if at_start else state[1][w, -1]
            x_path[w, late] = X[w, int(good[w])] if at_start else state[2][w, -1]
        return Paths(q_path, x_path, good)

    def _started(
        self, n: float | np.ndarray, offset: float, q: np.ndarray, x: np.ndarray, inputs: list[np.ndarray], h: float, steps: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the points from the given one to `steps` steps later: Q, X, D (worlds, steps + 1, ...), and good (worlds,)."""
        worlds, m = len(q), self.method.substeps
        state = [np.zeros(worlds), q, x, np.zeros_like(x)]
        # a step of zero length keeps the state and returns its derivative
        here = self.start(state, [np.zeros(1), np.array([offset + n * h]), *inputs], 1).ends
        state = [np.full(worlds, n * m), q, x, here[3]]
        result = self.start(state, [np.array([h / m]), np.array([offset]), *inputs], steps * m, stride=m)
        Q, X, D = (
            np.concatenate([np.asarray(a)[:, None], rows], axis=1)
            for a, rows in zip(state[1:], result.records[1:], strict=True)
        )
        return Q, X, D, np.floor(result.good / m)

    def march(self, stretch: Stretch) -> Paths:
        for given, argument in zip(stretch.inputs, self.stepper.inputs, strict=True):
            if given.ndim > 1 + len(argument.shape):
                raise ValueError(
                    f"{argument.name} changes with every step, but {self.method.name} uses earlier derivatives and requires "
                    "inputs without jumps; hold it constant, split the rollout at its changes, or use rk4"
                )
        first = float(np.max(stretch.n, initial=0.0))
        if np.any(stretch.n != first):
            raise ValueError(
                f"{self.method.name} uses earlier derivatives, so all worlds must have equal times; reset all worlds or use rk4"
            )
        return self._run(stretch._replace(n=first))

    def advance(self, at: Point, inputs: np.ndarray, t_end: float, h: float) -> Point:
        """Implement `Propagator.advance`: one Dormand-Prince step to the grid, blocks on the grid, one step to the end."""
        n = round(at.t / h)
        if abs(at.t - n * h) > slack(at.t, h):
            at = self._short_step(at, inputs, min(next_multiple(at.t, h, h), t_end), h)
            n = round(at.t / h)
        steps = math.floor((t_end - at.t + slack(t_end, h)) / h)
        if steps > 0:
            at = self._blocks(at, n, inputs, steps, h)
        if not reached(at.t, t_end, h):
            at = self._short_step(at, inputs, t_end, h)
        return at

    def _short_step(self, at: Point, inputs: np.ndarray, t_end: float, h: float) -> Point:
        Q, X, _, good = self._started(0.0, at.t, at.q[None], at.x[None], [inputs[None]], t_end - at.t, 1)
        if good[0] < 1:
            raise NotFinite(at, "the next step is not finite")
        return Point(t_end, Q[0, 1].copy(), X[0, 1].copy())

    def _blocks(self, at: Point, n: int, inputs: np.ndarray, steps: int, h: float) -> Point:
        offset = 0.0 if abs(at.t - n * h) <= rounding(at.t) else at.t - n * h
        path = self._run(Stretch(offset, n, at.q[None], at.x[None], [inputs[None]], h, steps, 1))
        good = int(path.good[0])
        numbers = n + np.arange(1, good + 1)
        end = at
        if good:
            end = Point(offset + float(numbers[-1]) * h, path.q[0, good - 1].copy(), path.x[0, good - 1].copy())
        if good < steps:
            raise NotFinite(end, "the next step is not finite")
        return end
