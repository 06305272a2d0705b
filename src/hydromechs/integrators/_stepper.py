"""Steps in machine code: programs of an integrator and its system, which call the dynamics as a function."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from hydromechs import compiler, dynamics
from hydromechs.compiler import Address, Argument, Compiled, March, Recipe, Rolled, Stage, Sweep
from hydromechs.model import Model
from hydromechs.values import Array, Scalar

from ._integrator import Integrator, OneStep, Propagator
from ._methods import System, embedded_step, implicit_part


class Stepper:
    """Compiled combination of one method and one system: a march of many steps, or single steps with an error estimate.

    Args:
        model: The mechanism, which defines the chart.
        derivative: Traceable function ẏ = f(t, q, y, *inputs), shape (2 nv + nz,).
        nz: Number of internal states.
        inputs: Additional arguments of the derivative.
        name: Name of the programs.
        identity: Text that determines the derivative together with the package's source, or None.
        counted: 1 for entries of y = (u, v, z) whose error adaptive steps control, else 0, shape (n,); defaults to all entries.
        differentiable: The derivative without calls of compiled functions, for the Jacobian, which treats results of calls as
            constant; optional.
        loops: Function that builds the derivative of a large system as loops, so that steps are also loops over the entries of
            the state. None to trace `derivative`.
        at_points: Function of times (p,), q (p, nq), v (p, nv) and the inputs that returns v̇ at several points of a block,
            shape (p, nv). Optional, for block methods without internal states.
    """

    def __init__(
        self,
        model: Model,
        derivative: Callable[..., Array],
        nz: int,
        inputs: tuple[Argument, ...],
        method: Integrator,
        *,
        name: str,
        identity: str | None,
        lanes: int,
        threads: int,
        counted: np.ndarray | None = None,
        differentiable: Callable[..., Array] | None = None,
        loops: Callable[[], Rolled] | None = None,
        at_points: Callable[..., Array] | None = None,
    ) -> None:
        self.model, self.derivative, self.nz, self.inputs, self.method = model, derivative, nz, inputs, method
        self.name, self.identity, self.lanes, self.threads = name, identity, lanes, threads
        self.counted = np.ones(self.n) if counted is None else counted
        self.differentiable, self.loops, self.at_points = differentiable or derivative, loops, at_points

    @property
    def n(self) -> int:
        """Length of y = (u, v, z)."""
        return 2 * self.model.nv + self.nz

    @property
    def work_count(self) -> int:
        """Number of entries at the end of y whose error is ignored."""
        return int(np.sum(self.counted == 0.0))

    def _key(self, what: str) -> str | None:
        return None if self.identity is None else f"{self.identity} {what} {self.method!r}"

    @cached_property
    def derivative_program(self) -> compiler.Program | Rolled:
        """Derivative ẏ as a program or as loops."""
        if self.loops is not None:
            return self.loops()
        shapes = {"t": (), "q": (self.model.nq,), "y": (self.n,), **{a.name: a.shape for a in self.inputs}}
        return compiler.trace(self.derivative, shapes, name=f"{self.name}_derivative", outputs=("ydot",))

    @cached_property
    def _loops(self) -> tuple[Rolled, Rolled]:
        """Loops for q ⊕ u and for u̇."""
        return retract_loop(self.model), chart_rate_loop(self.model)

    def _recipe(
        self, name: str, one: Callable[..., Any], inputs: tuple[Argument, ...], outputs: tuple[Argument, ...], what: str
    ) -> Recipe:
        def loops() -> Rolled:
            return compiler.trace_whole(one, inputs, outputs, name=name)

        return Recipe(name, one, inputs, outputs, self._key(what), None if self.loops is None else loops)

    @cached_property
    def jacobian_program(self) -> compiler.Program:
        """Program for ∂ẏ/∂y without the work integrals."""
        n, work_count = self.n - self.work_count, np.zeros(self.work_count)
        shapes = {"t": (), "q": (self.model.nq,), "y": (n,), **{a.name: a.shape for a in self.inputs}}

        def rates(t: Scalar, q: Array, y: Array, **inputs: Array) -> Array:
            return self.differentiable(t=t, q=q, y=np.concatenate([y, work_count]), **inputs)[:n]

        program = compiler.trace(rates, shapes, name=f"{self.name}_rates", outputs=("ydot",))
        return compiler.jacobian_program(program, ("y",))

    def _jacobian(self, t: Scalar, q: Array, y: Array, *inputs: Array) -> Array:
        """Return a call of the Jacobian; constant entries, most of which are 0, are numbers."""
        program, n = self.jacobian_program, self.n - self.work_count
        J = np.array(compiler.call(program, t, q, y[:n], *inputs)[0], dtype=object).ravel()
        for k, place in enumerate(program.results[0]):
            if program.operations[place].kind == "const":
                J[k] = program.operations[place].value
        return J.reshape(n, n)

    def system(self, inputs: dict[str, Array]) -> System:
        """Return the system as calls of compiled functions, for a trace with the given inputs."""
        model, held = self.model, list(inputs.values())
        return System(
            model.nv,
            lambda t, q, y: compiler.call(self.derivative_program, t, q, y, *held)[0],
            lambda t, q, y: self._jacobian(t, q, y, *held),
            compiler.solve,
            self._moved if self.loops is None else lambda q, u: compiler.call(self._loops[0], q, u)[0],
            self._rate if self.loops is None else lambda q, v: compiler.call(self._loops[1], q, np.zeros(model.nv), v)[0],
            self.work_count,
        )

    def _moved(self, q: Array, u: Array) -> Array:
        return dynamics.retract(self.model, q, u)

    def _rate(self, q: Array, v: Array) -> Array:
        return dynamics.chart_rate(self.model, q, np.zeros(self.model.nv), v)

    def reference(self, inputs: dict[str, Array]) -> System:
        """Return the system in uncompiled NumPy operations, for checks."""
        return System(
            self.model.nv,
            lambda t, q, y: self.differentiable(t=t, q=q, y=y, **inputs),
            lambda t, q, y: self.jacobian_program(t, q, y[: self.n - self.work_count], *inputs.values())[0],
            np.linalg.solve,
            self._moved,
            self._rate,
            self.work_count,
        )

    @cached_property
    def _state(self) -> tuple[Argument, ...]:
        return Argument("q", (self.model.nq,)), Argument("x", (self.model.nv + self.nz,))

    @cached_property
    def march(self) -> March:
        """March of many steps: state (n, q, x), time t = offset + n h, inputs h, offset and those of the derivative."""
        method = self.method
        if not isinstance(method, OneStep):
            raise TypeError(f"{method.name} uses more than the current state; use its propagator")

        def one(n: Scalar, q: Array, x: Array, h: Scalar, offset: Scalar, **inputs: Array) -> tuple[Scalar, Array, Array]:
            system = self.system(inputs)
            if method.stages == 1 and self.loops is None:  # one evaluation, at u = 0: without a call most of the chart vanishes
                system = system._replace(derivative=lambda t, q, y: self.derivative(t=t, q=q, y=y, **inputs))
            q, x = method.step(system, offset + n * h, q, x, h)
            return n + 1.0, q, x

        arguments = (Argument("n", ()), *self._state, Argument("h", ()), Argument("offset", ()), *self.inputs)
        recipe = self._recipe(f"{self.name}_step", one, arguments, (Argument("n", ()), *self._state), "march")
        return March(recipe, self.lanes, self.threads)

    @cached_property
    def attempts(self) -> March:
        """March of many attempts at parts of linearly implicit steps; see `implicit_part`.

        The state is (n, part, size, q, x) and the time t = offset + (n + part) h. The inputs are h, offset, the index of the
        last point, and those of the derivative.
        """

        def one(
            n: Scalar, part: Scalar, size: Scalar, q: Array, x: Array, h: Scalar, offset: Scalar, last: Scalar, **inputs: Array
        ) -> tuple:
            n, part, size, h, offset, last = (np.asarray(a)[()] for a in (n, part, size, h, offset, last))
            return implicit_part(self.system(inputs), n, part, size, q, x, h, offset, last)

        state = (Argument("n", ()), Argument("part", ()), Argument("size", ()), *self._state)
        arguments = (*state, Argument("h", ()), Argument("offset", ()), Argument("last", ()), *self.inputs)
        return March(Recipe(f"{self.name}_part", one, arguments, state, self._key("attempts")), self.lanes, self.threads)

    @cached_property
    def embedded(self) -> Compiled:
        """Compiled Dormand-Prince step: (t, q, x, h, inputs) → (q, x, error, stages)."""

        def one(t: Scalar, q: Array, x: Array, h: Scalar, **inputs: Array) -> tuple[Array, Array, Array, Array]:
            return embedded_step(self.system(inputs), t, q, x, h)

        arguments = (Argument("t", ()), *self._state, Argument("h", ()), *self.inputs)
        outputs = (
            Argument("q_next", (self.model.nq,)),
            Argument("x_next", (self.model.nv + self.nz,)),
            Argument("error", (self.n,)),
            Argument("stages", (7, self.n)),
        )
        return Compiled(self._recipe(f"{self.name}_embedded", one, arguments, outputs, "embedded"), 1, 1)

    @cached_property
    def propagator(self) -> Propagator:
        """Propagator that advances states in time with the method."""
        return self.method.propagator(self)


def retract_loop(model: Model) -> Rolled:
    """Return loops for the retraction (q, u) → q ⊕ u."""
    return _loop(model, "retract", ("q", "u"), "q")


def chart_rate_loop(model: Model) -> Rolled:
    """Return loops for the chart rate (q, u, v) → u̇."""
    return _loop(model, "chart_rate", ("q", "u", "v"), "u")


def _loop(model: Model, name: str, inputs: tuple[str, ...], like: str) -> Rolled:
    """Return loops that apply a method of all moving steps to their slices of the arrays.

    The result has the shape of the input `like`.
    """
    kinds: dict[Any, int] = {}
    programs, rows = [], []
    for step in dynamics.moving_steps(model):
        key = step.chart_key
        if key not in kinds:
            kinds[key] = len(kinds)
            sizes = {x: (step.nq if x == "q" else step.nv,) for x in inputs}
            method = getattr(step, name)
            traced = compiler.trace(
                lambda _m=method, **given: np.asarray(_m(*given.values())), sizes, name=name, outputs=("out",)
            )
            programs.append(traced)
        rows.append((step.iq, step.iv, kinds[key]))
    column = {"q": "q", "u": "v", "v": "v"}
    places = (*(Address(x, column[x]) for x in inputs), Address("out", column[like]))
    shapes = {"q": (model.nq,), "u": (model.nv,), "v": (model.nv,)}
    stage = Stage(tuple(programs), (places,) * len(programs), "kind" if len(programs) > 1 else None)
    return Rolled(
        name,
        tuple(Argument(x, shapes[x]) for x in inputs),
        (Argument("out", shapes[like]),),
        ("q", "v", "kind"),
        np.array(rows, dtype=int).reshape(-1, 3),
        np.zeros(0),
        {},
        (Sweep((stage,)),),
    )
