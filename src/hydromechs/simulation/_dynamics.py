"""A model in machine code: every equation of it as a method, for single states and for batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from hydromechs import compiler
from hydromechs.compiler import Argument, Compiled, OperationCount, Recipe
from hydromechs.model import Hydro, Model

from . import _equations as equations
from . import _fossen as fossen
from ._arguments import model_of
from ._parameters import parameter_value, with_parameters
from ._table import EQUATIONS, Equation, shape_of

__all__ = ["Dynamics", "compile_model", "operation_count"]

FLUID = ("fluid_velocity", "fluid_acceleration")


def compile_model(model: Model, *, lanes: int | None = None, threads: int = 1, parameters: Sequence[str] = ()) -> Dynamics:
    """A model in machine code; the code of each method is made when it is first called, and cached on disk.

    Args:
        model: The mechanism.
        lanes: Worlds per vector operation in batches: 1, 4 or 8; what the machine has unless given.
        threads: Threads that share a batch.
        parameters: Names of numbers of the model that stay inputs, as "vehicle.inertia.mass" or "world.water_density".
    """
    return Dynamics(model, lanes=lanes, threads=threads, parameters=parameters)


class Dynamics:
    """The equations of one model, compiled. All methods take leading batch dimensions, which broadcast, and `out=`.

    Numbers are not checked: NaN in gives NaN out, and quaternions are taken as they are.

    Args:
        model: The mechanism.
        lanes: As in `hm.compile`.
        threads: As in `hm.compile`.
        parameters: As in `hm.compile`.
    """

    def __init__(self, model: Model, *, lanes: int | None = None, threads: int = 1, parameters: Sequence[str] = ()):
        self.model = model_of(model)
        self.lanes = compiler.native_lanes() if lanes is None else lanes
        if self.lanes not in (1, 4, 8):
            raise ValueError(f"lanes is {lanes!r}, must be 1, 4 or 8")
        if not isinstance(threads, int) or threads < 1:
            raise ValueError(f"threads is {threads!r}, must be a whole number of at least 1")
        self.threads = threads
        self.parameters = {name: parameter_value(model, name) for name in parameters}
        """Names and values of the parameters that stayed inputs."""
        own = any(b.hydro is not None and not isinstance(b.hydro, Hydro) for b in model.bodies)
        self._identity = None if own else repr(model)  # a user's class can only be known by its trace
        self._made: dict[tuple, Compiled] = {}
        self._fast = None

    def __reduce__(self):
        """Sent to another process, it is compiled there, or taken from the cache."""
        options = dict(lanes=self.lanes, threads=self.threads, parameters=tuple(self.parameters))
        return partial(compile_model, **options), (self.model,)

    def on(self, *, lanes: int | None = None, threads: int = 1) -> Dynamics:
        """The same equations on other lanes and threads; what is traced already is shared.

        Args:
            lanes: As in `hm.compile`.
            threads: As in `hm.compile`.
        """
        other = Dynamics(self.model, lanes=lanes, threads=threads, parameters=tuple(self.parameters))
        for key, made in self._made.items():
            other._made[key] = Compiled(made.recipe, other.lanes, threads, program=made._program)
        return other

    # -- making programs --------------------------------------------------------------------------------------------------

    def _compiled(self, name: str, equation: Equation | None = None, extra: tuple = (), variant: str = "") -> Compiled:
        """An equation compiled, by name unless given, with further inputs; `variant` tells apart what these do not."""
        key = (name, extra, variant)
        if key not in self._made:
            if equation is None and name not in EQUATIONS:
                raise KeyError(f"no equation {name!r}; there are {', '.join(EQUATIONS)}")
            equation = equation or EQUATIONS[name]

            def traced(**arrays):
                values = {p: arrays.pop(p) for p in self.parameters}
                return equation.function(with_parameters(self.model, values) if values else self.model, **arrays)

            inputs = [Argument(x, shape_of(x, self.model)) for x in equation.inputs]
            opened = [Argument(p, value.shape) for p, value in self.parameters.items()]
            outputs = tuple(Argument(y, shape_of(y, self.model)) for y in equation.outputs)
            identity = None if self._identity is None else f"{self._identity} {variant}"
            recipe = Recipe(name, traced, (*inputs, *extra, *opened), outputs, identity)
            self._made[key] = Compiled(recipe, self.lanes, self.threads)
        return self._made[key]

    def _run(self, name: str, arrays: tuple, options: Mapping, parameters: Mapping | None, out) -> list[np.ndarray]:
        """An equation for arrays and for those of the optional ones that are not None; `out` is an array, a tuple or None."""
        given, extra = self._options(arrays, options)
        return self._call(self._compiled(name, extra=extra), [*arrays, *given], parameters, out)

    def _call(self, compiled: Compiled, arrays: list, parameters: Mapping | None, out) -> list[np.ndarray]:
        """Run with the parameters' values appended."""
        values = dict(self.parameters)
        if parameters:
            unknown = set(parameters) - set(values)
            if unknown:
                known = ", ".join(values) or "none; name them in hm.compile(model, parameters=[...])"
                raise KeyError(f"no parameter {sorted(unknown)[0]!r}; there are {known}")
            values |= parameters
        outs = None if out is None else list(out) if isinstance(out, tuple | list) else [out]
        return compiled([*arrays, *values.values()], outs)

    def _options(self, others: tuple, options: Mapping) -> tuple[list, tuple]:
        """Those of the optional arrays that were given, and their arguments.

        A fluid is uniform or has one row per body; in a batch, rows without batch dimensions are taken as bodies unless
        there are as many as worlds.
        """
        given = {name: np.asarray(x, dtype=float) for name, x in options.items() if x is not None}
        if not given:
            return [], ()
        batch = np.broadcast_shapes(*[np.shape(x)[:-1] for x in others])
        nb, arguments = self.model.nb, []
        for name, x in given.items():
            per_body = name in FLUID and x.ndim >= 2 and x.shape[-2] == nb and x.shape[:-1] != batch
            arguments.append(Argument(name, (nb, 3) if per_body else shape_of(name, self.model)))
        return list(given.values()), tuple(arguments)

    # -- equations of motion ------------------------------------------------------------------------------------------------

    def forward_dynamics(
        self, q, v, tau, *, fluid_velocity=None, fluid_acceleration=None, wrench=None, parameters=None, out=None
    ) -> np.ndarray:
        """v̇ by the articulated-body algorithm in water, shape (..., nv).

        Args:
            q: Configuration, shape (..., nq).
            v: Velocity, shape (..., nv).
            tau: Generalised force, shape (..., nv).
            fluid_velocity: In world axes [m/s], shape (..., 3) or (..., nb, 3); still if None.
            fluid_acceleration: In world axes [m/s²], shape (..., 3) or (..., nb, 3); zero if None.
            wrench: On each body in its axes about its origin [N, N·m], shape (..., nb, 6); none if None.
            parameters: Values of open parameters by name; those not named have the model's value.
            out: Array for the result.
        """
        plain = fluid_velocity is None and fluid_acceleration is None and wrench is None
        if plain and not self.parameters and not parameters:
            if self._fast is None:
                self._fast = self._compiled("forward_dynamics").single()
            result = np.empty(self.model.nv) if out is None else out
            if self._fast(q, v, tau, result) == 0:
                return result
        flow = dict(fluid_velocity=fluid_velocity, fluid_acceleration=fluid_acceleration, wrench=wrench)
        return self._run("forward_dynamics", (q, v, tau), flow, parameters, out)[0]

    def inverse_dynamics(
        self, q, v, vdot, *, fluid_velocity=None, fluid_acceleration=None, wrench=None, parameters=None, out=None
    ) -> np.ndarray:
        """τ that gives the accelerations v̇, shape (..., nv).

        Args:
            q: Configuration, shape (..., nq).
            v: Velocity, shape (..., nv).
            vdot: Time derivative of the numbers in v, shape (..., nv).
            fluid_velocity: As in `forward_dynamics`.
            fluid_acceleration: As in `forward_dynamics`.
            wrench: As in `forward_dynamics`.
            parameters: As in `forward_dynamics`.
            out: Array for the result.
        """
        flow = dict(fluid_velocity=fluid_velocity, fluid_acceleration=fluid_acceleration, wrench=wrench)
        return self._run("inverse_dynamics", (q, v, vdot), flow, parameters, out)[0]

    def mass_matrix(self, q, *, parameters=None, out=None) -> np.ndarray:
        """Joint-space inertia matrix with added mass, shape (..., nv, nv).

        Args:
            q: Configuration, shape (..., nq).
            parameters: As in `forward_dynamics`.
            out: Array for the result.
        """
        return self._run("mass_matrix", (q,), {}, parameters, out)[0]

    def damping_force(self, q, v, *, fluid_velocity=None, parameters=None, out=None) -> np.ndarray:
        """D(q, v) in M v̇ + C v + D + g = τ: the water's damping, shape (..., nv).

        Args:
            q: Configuration, shape (..., nq).
            v: Velocity, shape (..., nv).
            fluid_velocity: As in `forward_dynamics`.
            parameters: As in `forward_dynamics`.
            out: Array for the result.
        """
        return self._run("damping_force", (q, v), dict(fluid_velocity=fluid_velocity), parameters, out)[0]

    def restoring_force(self, q, *, parameters=None, out=None) -> np.ndarray:
        """g(q) in M v̇ + C v + D + g = τ: weight and buoyancy in still water, shape (..., nv).

        Args:
            q: Configuration, shape (..., nq).
            parameters: As in `forward_dynamics`.
            out: Array for the result.
        """
        return self._run("restoring_force", (q,), {}, parameters, out)[0]

    # -- kinematics, energy -------------------------------------------------------------------------------------------------

    def kinematics(self, q, v, *, parameters=None, out=None) -> equations.BodyMotion:
        """Poses (..., nb, 4, 4) and velocities (..., nb, 6) of all bodies.

        Args:
            q: Configuration, shape (..., nq).
            v: Velocity, shape (..., nv).
            parameters: As in `forward_dynamics`.
            out: Pair of arrays for the results.
        """
        return equations.BodyMotion(*self._run("kinematics", (q, v), {}, parameters, out))

    def jacobian(self, q, name: str, point=(0.0, 0.0, 0.0), *, parameters=None, out=None) -> np.ndarray:
        """J with V = J v of a point of a body or frame, in its axes, linear first, shape (..., 6, nv).

        Args:
            q: Configuration, shape (..., nq).
            name: Name of a body or frame.
            point: Position in the axes of that body or frame [m], shape (..., 3).
            parameters: As in `forward_dynamics`.
            out: Array for the result.
        """
        equations._place(self.model, name, (0.0, 0.0, 0.0))  # an unknown name is an error now, not in the trace
        equation = Equation(lambda m, q, point: equations.jacobian(m, q, name, point), ("q", "point"), ("J",), "")
        return self._call(self._compiled("jacobian", equation, variant=name), [q, point], parameters, out)[0]

    def energy(self, q, v, *, fluid_velocity=None, parameters=None) -> equations.Energy:
        """Kinetic energy of bodies and water, potential energy [J], each of the batch's shape.

        Args:
            q: Configuration, shape (..., nq).
            v: Velocity, shape (..., nv).
            fluid_velocity: As in `forward_dynamics`.
            parameters: As in `forward_dynamics`.
        """
        return equations.Energy(*self._run("energy", (q, v), dict(fluid_velocity=fluid_velocity), parameters, None))

    def momentum(self, q, v, *, fluid_velocity=None, parameters=None, out=None) -> np.ndarray:
        """Momentum of bodies and water in world axes about the world's origin, shape (..., 6).

        Args:
            q: Configuration, shape (..., nq).
            v: Velocity, shape (..., nv).
            fluid_velocity: As in `forward_dynamics`.
            parameters: As in `forward_dynamics`.
            out: Array for the result.
        """
        return self._run("momentum", (q, v), dict(fluid_velocity=fluid_velocity), parameters, out)[0]

    def integrate(self, q, v, dt, *, out=None) -> np.ndarray:
        """Configuration after moving with the constant velocity `v` for `dt` [s], on the manifold, shape (..., nq).

        Args:
            q: Configuration, shape (..., nq).
            v: Velocity, shape (..., nv).
            dt: Time [s], shape (...).
            out: Array for the result.
        """
        return self._run("integrate", (q, v, dt), {}, None, out)[0]

    # -- derivatives --------------------------------------------------------------------------------------------------------

    def linearize(self, q, v, tau, *, fluid_velocity=None, parameters=None) -> tuple[np.ndarray, np.ndarray]:
        """A (..., 2nv, 2nv) and B (..., 2nv, nv) of  d/dt (δ, δv) = A (δ, δv) + B δτ  about a state.

        δ (nv,) displaces the configuration on its manifold, q ⊕ δ = integrate(q, δ, 1), so that a quaternion has three
        coordinates and no constraint: δ̇ = δv − v × δ for a free joint. Nothing is assumed about equilibrium.

        Args:
            q: Configuration, shape (..., nq).
            v: Velocity, shape (..., nv).
            tau: Generalised force, shape (..., nv).
            fluid_velocity: As in `forward_dynamics`.
            parameters: As in `forward_dynamics`.
        """

        def ab(m, v, tau, **others):
            def vdot(displacement, v, tau):
                return fossen.perturbed_dynamics(m, displacement=displacement, v=v, tau=tau, **others)

            return compiler.linearized(vdot, fossen.velocity_coupling(m, v), v, tau)

        given, extra = self._options((q, v, tau), dict(fluid_velocity=fluid_velocity))
        made = self._compiled("linearize", Equation(ab, ("q", "v", "tau"), ("A", "B"), ""), extra)
        A, B = self._call(made, [q, v, tau, *given], parameters, None)
        return A, B

    def program(self, name: str):
        """The traced program of an equation by name: "forward_dynamics", "mass_matrix", ... with its default inputs.

        Args:
            name: Name of the equation.
        """
        return self._compiled(name).program

    def casadi(self, name: str):
        """A CasADi function of flat arguments, for optimal control.

        Args:
            name: Name of the equation, as in `program`.
        """
        return self.program(name).casadi_function

    def differentiate(self, name: str, wrt: str | Sequence[str]) -> Callable:
        """A compiled function for ∂ (first result) / ∂ wrt, of the equation's inputs, each of shape (..., size, size).

        Args:
            name: Name of the equation, as in `program`.
            wrt: Name of an input or parameter, or several; several give a tuple.
        """
        names = (wrt,) if isinstance(wrt, str) else tuple(wrt)
        made = self._derived(name, f"jacobian {names}", lambda p: compiler.jacobian_program(p, names))
        return self._function(made, single=isinstance(wrt, str))

    def jvp(self, name: str, wrt: str) -> Callable:
        """A compiled Jacobian-vector product of an equation; the direction comes after its inputs.

        Args:
            name: Name of the equation, as in `program`.
            wrt: Name of an input or parameter.
        """
        return self._function(self._derived(name, f"jvp {wrt}", lambda p: compiler.jvp_program(p, wrt)), single=True)

    def vjp(self, name: str, wrt: str) -> Callable:
        """A compiled vector-Jacobian product of an equation; the weight comes after its inputs.

        Args:
            name: Name of the equation, as in `program`.
            wrt: Name of an input or parameter.
        """
        return self._function(self._derived(name, f"vjp {wrt}", lambda p: compiler.vjp_program(p, wrt)), single=True)

    def _derived(self, name: str, variant: str, make: Callable) -> Compiled:
        key = (name, "derived", variant)
        if key not in self._made:
            program = make(self.program(name))
            recipe = Recipe(program.name, None, program.inputs, program.outputs, None)
            self._made[key] = Compiled(recipe, self.lanes, self.threads, program=program)
        return self._made[key]

    def _function(self, made: Compiled, single: bool) -> Callable:
        names = [a.name for a in made.recipe.inputs]
        own = [n for n in names if n in self.parameters]

        def function(*arrays, parameters=None):
            given = dict(zip([n for n in names if n not in own], arrays, strict=True))
            values = {**self.parameters, **(parameters or {})}
            results = made([given[n] if n in given else values[n] for n in names])
            return results[0] if single else tuple(results)

        return function


def operation_count(model: Model, algorithm: str) -> OperationCount:
    """Operations of an algorithm, traced for a model: what its straight-line program does.

    Args:
        model: The mechanism.
        algorithm: "articulated_body" (forward dynamics in moving, accelerating water; dry if no body is wet),
            "inverse_dynamics", "composite_body" (the mass matrix) or "kinematics".
    """
    model = model_of(model)
    names = {"articulated_body": "forward_dynamics", "composite_body": "mass_matrix"}
    names |= {"inverse_dynamics": "inverse_dynamics", "kinematics": "kinematics"}
    if algorithm not in names:
        raise ValueError(f"algorithm is {algorithm!r}, must be one of {', '.join(names)}")
    equation = EQUATIONS[names[algorithm]]
    wet = "dynamics" in names[algorithm] and any(b.hydro is not None for b in model.bodies)
    inputs = {x: shape_of(x, model) for x in (*equation.inputs, *(FLUID if wet else ()))}
    return compiler.trace(lambda **arrays: equation.function(model, **arrays), inputs, name=algorithm).count()
