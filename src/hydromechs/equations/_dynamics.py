"""A model in machine code: every equation of it as a method, for single states and for batches."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from hydromechs import compiler
from hydromechs.compiler import Argument, Compiled, OperationCount, Recipe
from hydromechs.errors import UnsupportedFeature
from hydromechs.hydro import drag_wrench
from hydromechs.model import Model, added_mass_matrix

from . import _equations as equations
from . import _fossen as fossen
from ._arguments import model_of
from ._parameters import parameter_value, with_parameters
from ._table import EQUATIONS, FLUID, FORMULATIONS, Equation, shape_of

__all__ = ["Dynamics", "compile_model", "identity_of", "is_ours", "operation_count"]


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
    """The equations of one model, compiled. All methods take leading batch dimensions, which broadcast; most take `out=`.

    Numbers are not checked: NaN in gives NaN out, and quaternions are taken as they are.

    Args:
        model: The mechanism.
        lanes: As in `hm.compile`.
        threads: As in `hm.compile`.
        parameters: As in `hm.compile`.
    """

    def __init__(self, model: Model, *, lanes: int | None = None, threads: int = 1, parameters: Sequence[str] = ()):
        self.model = model_of(model)
        self.lanes = compiler.native_lanes() if lanes is None else _whole(lanes, "lanes", "1, 4 or 8")
        if self.lanes not in (1, 4, 8):
            raise ValueError(f"lanes is {lanes!r}, must be 1, 4 or 8")
        self.threads = _whole(threads, "threads", "a whole number of at least 1")
        if self.threads < 1:
            raise ValueError(f"threads is {threads!r}, must be a whole number of at least 1")
        parameters = (parameters,) if isinstance(parameters, str) else tuple(parameters)
        for a in parameters:
            if any(b != a and b.startswith(f"{a}.") for b in parameters) or parameters.count(a) > 1:
                raise ValueError(f"parameter {a!r} is named twice, or a part of it is too")
        self.parameters = {name: parameter_value(model, name) for name in parameters}
        """Names and values of the parameters that stayed inputs."""
        # code of a user's own, in a class or a handler, can only be known by its trace
        self._identity = repr(model) if is_ours(model) else None
        self._made: dict[tuple, Compiled] = {}
        self._fast = None

    def __reduce__(self):
        """Sent to another process, it is compiled there, or taken from the cache."""
        options = dict(lanes=self.lanes, threads=self.threads, parameters=tuple(self.parameters))
        return partial(compile_model, **options), (self.model,)

    def on(self, *, lanes: int | None = None, threads: int | None = None) -> Dynamics:
        """The same equations on other lanes and threads; what is traced already is shared.

        Args:
            lanes: Worlds per vector operation; as they are unless given.
            threads: Threads that share a batch; as they are unless given.
        """
        lanes, threads = lanes or self.lanes, threads or self.threads
        other = Dynamics(self.model, lanes=lanes, threads=threads, parameters=tuple(self.parameters))
        for key, made in self._made.items():
            if isinstance(made, Compiled):
                other._made[key] = Compiled(made.recipe, lanes, threads, program=made._program)
        return other

    def made(self, key: tuple, make: Callable):
        """What was made for this model under a key, made now if it was not; kept with it.

        Args:
            key: What it is.
            make: Makes it.
        """
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    # -- making programs --------------------------------------------------------------------------------------------------

    def _compiled(self, name: str, equation: Equation | None = None, extra: tuple = (), variant: str = "") -> Compiled:
        """An equation compiled, by name unless given, with further inputs; `variant` tells apart what these do not."""
        key = (name, extra, variant)
        if key in self._made:
            return self._made[key]
        known = EQUATIONS | FORMULATIONS
        if equation is None and name not in known:
            raise KeyError(f"no equation {name!r}; there are {', '.join(known)}")
        equation = equation or known[name]

        def traced(**arrays):
            values = {p: arrays.pop(p) for p in self.parameters}
            if not values:
                return equation.function(self.model, **arrays)
            try:
                return equation.function(with_parameters(self.model, values), **arrays)
            except (TypeError, ValueError) as error:
                raise UnsupportedFeature(
                    f"one of {', '.join(values)} decides the structure of the program; it must stay a number"
                ) from error

        inputs = [Argument(x, shape_of(x, self.model)) for x in equation.inputs]
        opened = [Argument(p, value.shape) for p, value in self.parameters.items()]
        outputs = tuple(Argument(y, shape_of(y, self.model)) for y in equation.outputs)
        identity = None if self._identity is None else f"{self._identity} {variant}"
        recipe = Recipe(name, traced, (*inputs, *extra, *opened), outputs, identity)
        return self._made.setdefault(key, Compiled(recipe, self.lanes, self.threads))

    def _run(self, name: str, arrays: tuple, options: Mapping, parameters: Mapping | None, out) -> list[np.ndarray]:
        """An equation for arrays and for those of the optional ones that are not None; `out` is an array, a tuple or None."""
        given, extra = self._options(arrays, options)
        return self._call(self._compiled(name, extra=extra), [*arrays, *given], parameters, out)

    def _values(self, parameters: Mapping | None) -> list:
        """Values of all open parameters, those of the caller in place of the model's."""
        if not parameters:
            return list(self.parameters.values())
        unknown = set(parameters) - set(self.parameters)
        if unknown:
            known = ", ".join(self.parameters) or "none; name them in hm.compile(model, parameters=[...])"
            raise KeyError(f"no parameter {sorted(unknown)[0]!r}; there are {known}")
        return list({**self.parameters, **parameters}.values())

    def _call(self, compiled: Compiled, arrays: list, parameters: Mapping | None, out) -> list[np.ndarray]:
        """Run with the parameters' values appended: straight into machine code if all arrays are as it wants them."""
        arrays = [*arrays, *self._values(parameters)] if parameters or self.parameters else arrays
        outs = None if out is None else list(out) if isinstance(out, tuple | list) else [out]
        recipe = compiled.recipe
        if getattr(arrays[0], "ndim", 0) == len(recipe.inputs[0].shape):  # one state, most likely
            results = outs or [np.empty(a.shape) for a in recipe.outputs]
            if len(results) == len(recipe.outputs) and compiled.single()(*arrays, *results) == 0:
                return results
        return compiled(arrays, outs)

    def _options(self, others: tuple, options: Mapping) -> tuple[list, tuple]:
        """Those of the optional arrays that were given, and their arguments.

        A fluid is uniform or has one row per body. Where rows could be either worlds or bodies, the caller must say.
        """
        given = {name: _numbers(x, name) for name, x in options.items() if x is not None}
        if not given:
            return [], ()
        nb, arguments = self.model.nb, []
        batch = max((np.shape(x)[:-1] for x in others), key=len)
        for name, x in given.items():
            shape = shape_of(name, self.model)
            if name in FLUID and x.ndim >= 2:
                if x.shape[:-1] == batch and x.shape[-2] == nb > 1:
                    raise ValueError(
                        f"{name} of shape {x.shape} could mean {nb} worlds or {nb} bodies; "
                        f"write {(*batch, 1, 3)} for worlds or {(*[1] * len(batch), nb, 3)} for bodies"
                    )
                if x.shape[-2] == nb:
                    shape = (nb, 3)
                elif x.shape[-2] == 1 and x.ndim > len(batch) + 1:
                    given[name] = x[..., 0, :]
            arguments.append(Argument(name, shape))
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
            fluid_velocity: In world axes [m/s], shape (..., 3) or, one row per body, (..., nb, 3); still if None. In a batch of
                just nb worlds write (nb, 1, 3) for worlds or (1, nb, 3) for bodies.
            fluid_acceleration: In world axes [m/s²], shaped alike; zero if None.
            wrench: On each body in its axes about its origin [N, N·m], shape (..., nb, 6); none if None.
            parameters: Values of open parameters by name; those not named have the model's value.
            out: Array for the result.
        """
        plain = fluid_velocity is None and fluid_acceleration is None and wrench is None
        if plain and not self.parameters and not parameters and getattr(q, "ndim", 1) == 1:
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

    def star_dynamics(
        self, q, v, tau, *, fluid_velocity=None, fluid_acceleration=None, wrench=None, parameters=None, out=None
    ) -> np.ndarray:
        """v̇ of a star by composite bodies (CRB/DTS), the same as `forward_dynamics`, shape (..., nv).

        Args:
            q: Configuration, shape (..., nq).
            v: Velocity, shape (..., nv).
            tau: Generalised force, shape (..., nv).
            fluid_velocity: As in `forward_dynamics`.
            fluid_acceleration: As in `forward_dynamics`.
            wrench: As in `forward_dynamics`.
            parameters: As in `forward_dynamics`.
            out: Array for the result.
        """
        flow = dict(fluid_velocity=fluid_velocity, fluid_acceleration=fluid_acceleration, wrench=wrench)
        return self._run("star_dynamics", (q, v, tau), flow, parameters, out)[0]

    def decoupled_dynamics(
        self, q, v, tau, *, fluid_velocity=None, fluid_acceleration=None, wrench=None, parameters=None, out=None
    ) -> np.ndarray:
        """v̇ with a base that does not feel what it carries (thesis 7.5.2), shape (..., nv).

        Args:
            q: Configuration, shape (..., nq).
            v: Velocity, shape (..., nv).
            tau: Generalised force, shape (..., nv).
            fluid_velocity: As in `forward_dynamics`.
            fluid_acceleration: As in `forward_dynamics`.
            wrench: As in `forward_dynamics`.
            parameters: As in `forward_dynamics`.
            out: Array for the result.
        """
        flow = dict(fluid_velocity=fluid_velocity, fluid_acceleration=fluid_acceleration, wrench=wrench)
        return self._run("decoupled_dynamics", (q, v, tau), flow, parameters, out)[0]

    def arm_dynamics(
        self, q, v, tau, vdot_base, *, fluid_velocity=None, fluid_acceleration=None, wrench=None, parameters=None, out=None
    ) -> np.ndarray:
        """v̇ for a given acceleration of the base, shape (..., nv).

        Args:
            q: Configuration, shape (..., nq).
            v: Velocity, shape (..., nv).
            tau: Generalised force, of which the base's entries do not matter, shape (..., nv).
            vdot_base: v̇ of the base's joint, shape (..., 6) for a free base.
            fluid_velocity: As in `forward_dynamics`.
            fluid_acceleration: As in `forward_dynamics`.
            wrench: As in `forward_dynamics`.
            parameters: As in `forward_dynamics`.
            out: Array for the result.
        """
        flow = dict(fluid_velocity=fluid_velocity, fluid_acceleration=fluid_acceleration, wrench=wrench)
        return self._run("arm_dynamics", (q, v, tau, vdot_base), flow, parameters, out)[0]

    def mass_matrix(self, q, *, parameters=None, out=None) -> np.ndarray:
        """Joint-space inertia matrix with added mass, shape (..., nv, nv).

        Args:
            q: Configuration, shape (..., nq).
            parameters: As in `forward_dynamics`.
            out: Array for the result.
        """
        return self._run("mass_matrix", (q,), {}, parameters, out)[0]

    def coriolis_matrix(self, q, v, *, fluid_velocity=None, parameters=None, out=None) -> np.ndarray:
        """C(q, v) in M v̇ + C v + D + g = τ, of the factorisation for which Ṁ − 2C is skew, shape (..., nv, nv).

        Args:
            q: Configuration, shape (..., nq).
            v: Velocity, shape (..., nv).
            fluid_velocity: As in `forward_dynamics`.
            parameters: As in `forward_dynamics`.
            out: Array for the result.
        """
        return self._run("coriolis_matrix", (q, v), dict(fluid_velocity=fluid_velocity), parameters, out)[0]

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
        made = self._made.get(("jacobian", (), name))
        if made is None:
            equations._place(self.model, name, (0.0, 0.0, 0.0))  # an unknown name is an error now, not in the trace
            equation = Equation(lambda m, q, point: equations.jacobian(m, q, name, point), ("q", "point"), ("J",), "")
            made = self._compiled("jacobian", equation, variant=name)
        return self._call(made, [q, np.asarray(point, dtype=float)], parameters, out)[0]

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
        return self._run("integrate", (q, v, np.asarray(dt, dtype=float)), {}, None, out)[0]

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

    def program(self, name: str, inputs: Sequence[str] = ()):
        """The traced program of an equation by name: "forward_dynamics", "mass_matrix", ...

        Args:
            name: Name of the equation.
            inputs: Optional inputs that it takes too: "fluid_velocity", "fluid_acceleration", "wrench".
        """
        return self._with_inputs(name, inputs).program

    def _with_inputs(self, name: str, inputs: Sequence[str]) -> Compiled:
        unknown = [x for x in inputs if x not in (*FLUID, "wrench")]
        if unknown:
            raise KeyError(f"no optional input {unknown[0]!r}; there are {', '.join(FLUID)}, wrench")
        return self._compiled(name, extra=tuple(Argument(x, shape_of(x, self.model)) for x in inputs))

    def casadi(self, name: str, inputs: Sequence[str] = ()):
        """A CasADi function of flat arguments, for optimal control.

        Args:
            name: Name of the equation, as in `program`.
            inputs: Optional inputs, as in `program`.
        """
        return self.program(name, inputs).casadi_function

    def differentiate(self, name: str, wrt: str | Sequence[str], *, output: str | None = None, inputs: Sequence[str] = ()):
        """A compiled function for ∂ output / ∂ wrt, of the equation's inputs, each of shape (..., size, size).

        Args:
            name: Name of the equation, as in `program`.
            wrt: Name of an input or parameter, or several; several give a tuple.
            output: Name of the result, as in `program`; the first unless given.
            inputs: Optional inputs, as in `program`.
        """
        names = (wrt,) if isinstance(wrt, str) else tuple(wrt)
        make = lambda p: compiler.jacobian_program(p, names, output=output)  # noqa: E731
        return self._function(name, inputs, f"jacobian {names} {output}", make, single=isinstance(wrt, str))

    def jvp(self, name: str, wrt: str, *, output: str | None = None, inputs: Sequence[str] = ()) -> Callable:
        """A compiled Jacobian-vector product of an equation; the direction comes after its inputs.

        Args:
            name: Name of the equation, as in `program`.
            wrt: Name of an input or parameter.
            output: As in `differentiate`.
            inputs: As in `differentiate`.
        """
        make = lambda p: compiler.jvp_program(p, wrt, output=output)  # noqa: E731
        return self._function(name, inputs, f"jvp {wrt} {output}", make, single=True)

    def vjp(self, name: str, wrt: str, *, output: str | None = None, inputs: Sequence[str] = ()) -> Callable:
        """A compiled vector-Jacobian product of an equation; the weight comes after its inputs.

        Args:
            name: Name of the equation, as in `program`.
            wrt: Name of an input or parameter.
            output: As in `differentiate`.
            inputs: As in `differentiate`.
        """
        make = lambda p: compiler.vjp_program(p, wrt, output=output)  # noqa: E731
        return self._function(name, inputs, f"vjp {wrt} {output}", make, single=True)

    def _function(self, name: str, inputs: Sequence[str], variant: str, make: Callable, single: bool) -> Callable:
        """A derivative as a function of the equation's inputs, and of parameters by name."""
        key = (name, tuple(inputs), variant)
        if key not in self._made:
            program = make(self.program(name, inputs))
            recipe = Recipe(program.name, None, program.inputs, program.outputs, None)
            self._made.setdefault(key, Compiled(recipe, self.lanes, self.threads, program=program))
        made = self._made[key]
        names = [a.name for a in made.recipe.inputs]
        plain = [n for n in names if n not in self.parameters]

        def function(*arrays, parameters=None):
            if len(arrays) != len(plain):
                raise TypeError(f"the derivative of {name} takes {', '.join(plain)}; got {len(arrays)} arrays")
            values = dict(zip(plain, arrays, strict=True)) | dict(zip(self.parameters, self._values(parameters), strict=True))
            results = made([values[n] for n in names])
            return results[0] if single else tuple(results)

        return function


def _whole(value, name: str, wanted: str) -> int:
    """`value` as an int."""
    try:
        return operator.index(value)
    except TypeError:
        raise ValueError(f"{name} is {value!r}, must be {wanted}") from None


def _numbers(value, name: str) -> np.ndarray:
    """An optional array."""
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of numbers, got {value!r}") from None


def identity_of(thing) -> str | None:
    """A text that fixes the equations of a thing together with the package's source; None with code of a user's own."""
    return repr(thing) if is_ours(thing) else None


def is_ours(thing) -> bool:
    """Whether a model, down to its last element, consists of this package's own classes with this package's own equations."""
    handlers = (*drag_wrench.registry.values(), *added_mass_matrix.registry.values())
    return _types_are_ours(thing) and all(h.__module__.startswith("hydromechs.") for h in handlers)


def _types_are_ours(thing) -> bool:
    if isinstance(thing, tuple):
        return all(map(_types_are_ours, thing))
    if thing is None or type(thing) in (bool, int, float, str):
        return True
    fields = getattr(thing, "__dataclass_fields__", {})
    return type(thing).__module__.startswith("hydromechs.") and all(_types_are_ours(getattr(thing, name)) for name in fields)


def operation_count(model: Model, algorithm: str) -> OperationCount:
    """Operations of an algorithm, traced for a model: what its straight-line program does.

    Args:
        model: The mechanism.
        algorithm: "articulated_body" (forward dynamics in moving, accelerating water; dry if no body is wet),
            "inverse_dynamics", "composite_body" (the mass matrix), "kinematics", "star" (forward dynamics of a star by
            composite bodies), "decoupled_arm" (forward dynamics for a given acceleration of the base) or "decoupled".
    """
    model = model_of(model)
    names = {"articulated_body": "forward_dynamics", "composite_body": "mass_matrix"}
    names |= {"inverse_dynamics": "inverse_dynamics", "kinematics": "kinematics"}
    names |= {"star": "star_dynamics", "decoupled": "decoupled_dynamics", "decoupled_arm": "arm_dynamics"}
    if algorithm not in names:
        raise ValueError(f"algorithm is {algorithm!r}, must be one of {', '.join(names)}")
    equation = (EQUATIONS | FORMULATIONS)[names[algorithm]]
    wet = "dynamics" in names[algorithm] and any(b.hydro is not None for b in model.bodies)
    inputs = {x: shape_of(x, model) for x in (*equation.inputs, *(FLUID if wet else ()))}
    return compiler.trace(lambda **arrays: equation.function(model, **arrays), inputs, name=algorithm).count()
