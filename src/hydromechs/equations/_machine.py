"""Programs of a model's equations, traced and compiled on demand, with their calls for single states, batches and options."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from hydromechs import compiler
from hydromechs.compiler import Argument, Compiled, Program, Recipe, Rolled
from hydromechs.errors import UnsupportedFeature
from hydromechs.model import Model
from hydromechs.registry import edits_of
from hydromechs.values import Array, nearest

from ._arguments import model_of
from ._branches_on_lanes import BranchesOnLanes
from ._parameters import LARGER, ROLLED, STRAIGHT, Form, form_of, open_identity, parameter_value, with_parameters
from ._table import FLUID, Equation, EquationName, check_options, equation_of, shape_of

Parameters: TypeAlias = Mapping[str, ArrayLike]
"""Values of open parameters, keyed by name."""


class CompiledEquations:
    """Equations of one model by name, traced and compiled on first use; arguments as in `hm.compile`."""

    def __init__(
        self,
        model: Model,
        *,
        lanes: int | None = None,
        threads: int = 1,
        parameters: Sequence[str] = (),
        form: Form | None = None,
    ) -> None:
        self.model = model_of(model)
        self.lanes = compiler.native_lanes() if lanes is None else _whole(lanes, "lanes", "1, 4 or 8")
        if self.lanes not in (1, 4, 8):
            raise ValueError(f"lanes is {lanes!r}; use 1, 4 or 8")
        self.threads = _whole(threads, "threads", "an integer of at least 1")
        if self.threads < 1:
            raise ValueError(f"threads is {threads!r}; use an integer of at least 1")
        parameters = (parameters,) if isinstance(parameters, str) else tuple(parameters)
        if len(set(parameters)) < len(parameters):
            raise ValueError(f"parameters is {list(parameters)}; list each parameter once")
        self.parameters = {name: parameter_value(self.model, name) for name in parameters}
        edits_of(self.model, self.parameters)  # raises an error if two paths name the same number
        """Values of the open parameters, keyed by name."""
        self._wanted = form
        self.form: Form = form_of(self.model, form, parameters)
        """Compiled form of the equations of motion: "specialised", "rolled" or "branches"."""
        # only the trace can identify custom code in a class or handler
        self._identity = open_identity(self.model, parameters)
        self._made: dict[tuple, Compiled] = {}
        self._kept: dict[tuple, Any] = {}

    def __repr__(self) -> str:
        opened = f", open: {', '.join(self.parameters)}" if self.parameters else ""
        size = f"{self.model.nb} bodies, {self.model.nv} degrees of freedom"
        form = f", {self.form}" if self.form != "specialised" else ""
        return f"<{type(self).__name__} of {self.model.name}: {size}; lanes {self.lanes}, threads {self.threads}{form}{opened}>"

    def __reduce__(self) -> tuple[Callable[[Model], Self], tuple[Model]]:
        """Return the arguments for pickling: another process compiles the equations again, or reads the cache."""
        parameters = tuple(self.parameters)
        make = partial(type(self), lanes=self.lanes, threads=self.threads, parameters=parameters, form=self._wanted)
        return make, (self.model,)

    def on(self, *, lanes: int | None = None, threads: int | None = None) -> Self:
        """Return the same equations with other numbers of lanes and threads; existing traces are shared."""
        lanes, threads = lanes or self.lanes, threads or self.threads
        other = type(self)(self.model, lanes=lanes, threads=threads, parameters=tuple(self.parameters), form=self._wanted)
        for key, made in self._made.items():
            other._made[key] = Compiled(made.recipe, lanes, threads, program=made._program)
        return other

    def kept(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """Return the object stored for this model under a key; create it if missing."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    # -- building programs ------------------------------------------------------------------------------------------------

    def _compiled(
        self, name: EquationName, equation: Equation | None = None, extra: tuple[Argument, ...] = (), variant: str = ""
    ) -> Compiled:
        """Return a compiled equation with optional inputs; `equation` defaults to that of the name.

        `variant` is appended to the cache key.
        """
        key = (str(name), extra, variant)
        if key in self._made:
            return self._made[key]
        title, equation = equation_of(name) if equation is None else (str(name), equation)
        variant += equation.variant
        return self._made.setdefault(key, self._made_of(title, equation, extra, variant))

    def _made_of(self, name: str, equation: Equation, extra: tuple[Argument, ...], variant: str) -> Compiled:
        loop = self.form == "rolled" and not variant and name in ROLLED
        straight = loop and self._wanted is None and name in STRAIGHT and self.model.nb < LARGER

        def traced(**arrays: Array) -> Any:
            values = {p: arrays.pop(p) for p in self.parameters}
            if not values:
                return equation.function(self.model, **arrays)
            try:
                return equation.function(with_parameters(self.model, values), **arrays)
            except (TypeError, ValueError) as error:
                raise UnsupportedFeature(
                    f"one of {', '.join(values)} determines the structure of the program; remove it from parameters"
                ) from error

        inputs = [Argument(x, shape_of(x, self.model)) for x in equation.inputs]
        opened = [Argument(p, value.shape) for p, value in self.parameters.items()]
        outputs = tuple(Argument(y, equation.rows.get(y) or shape_of(y, self.model)) for y in equation.outputs)
        identity = None if self._identity is None else f"{self._identity} {variant}{' rolled' if loop and not straight else ''}"
        rolled = partial(_rolled, self.model, name, extra)
        uniform = all(a.name in FLUID and a.shape == (3,) for a in extra)
        branched = self.form == "branches" and not variant and name == "forward_dynamics" and uniform
        alone: Callable[[Recipe], Program | Rolled] | None = None
        if branched:
            alone = lambda recipe: recipe.traced(partial(_on_lanes, self.model))  # noqa: E731
        elif straight:
            alone = lambda recipe: rolled()  # noqa: E731
        whole = rolled if loop and not straight else None
        recipe = Recipe(name, traced, (*inputs, *extra, *opened), outputs, identity, whole, alone, equation.rarely_called)
        return Compiled(recipe, self.lanes, self.threads)

    def _run(self, name: EquationName, arrays: tuple[ArrayLike, ...], keywords: Mapping[str, Any]) -> list[Array]:
        """Call an equation with arrays and options that are not None; `out` is an array, a tuple or None."""
        if not keywords:
            return self._call(self._compiled(name), arrays)
        options = dict(keywords)
        parameters, out = options.pop("parameters", None), options.pop("out", None)
        title, equation = equation_of(name)
        for x in options:
            if x not in equation.options:
                raise TypeError(
                    f"{title} does not accept the option {x!r}{nearest(x, (*equation.options, 'parameters', 'out'))}"
                )
        given, extra = self._options(arrays, options)
        return self._call(self._compiled(name, extra=extra), [*arrays, *given], parameters, out)

    def _values(self, parameters: Parameters | None) -> list[ArrayLike]:
        """Return the values of all open parameters: values passed by the caller, or else those of the model."""
        if not parameters:
            return list(self.parameters.values())
        unknown = set(parameters) - set(self.parameters)
        if unknown:
            known = ", ".join(self.parameters) or "none; list open parameters in hm.compile(model, parameters=[...])"
            raise KeyError(f"there is no open parameter {sorted(unknown)[0]!r}; available: {known}")
        return list({**self.parameters, **parameters}.values())

    def _call(
        self,
        compiled: Compiled,
        arrays: Sequence[ArrayLike],
        parameters: Parameters | None = None,
        out: Array | Sequence[Array] | None = None,
    ) -> list[Array]:
        """Call a compiled equation with the values of the parameters appended.

        Machine code is called directly if the form of all arrays is suitable.
        """
        arrays = [*arrays, *self._values(parameters)] if parameters or self.parameters else arrays
        outs: list[Any] | None = None if out is None else list(out) if isinstance(out, tuple | list) else [out]
        recipe = compiled.recipe
        if getattr(arrays[0], "ndim", 0) == len(recipe.inputs[0].shape):  # probably a single state
            results = outs or [np.empty(a.shape) for a in recipe.outputs]
            if len(results) == len(recipe.outputs) and compiled.single()(*arrays, *results):
                return results
        return compiled(arrays, outs)

    def _options(
        self, others: tuple[ArrayLike, ...], options: Mapping[str, ArrayLike | None]
    ) -> tuple[list[Array], tuple[Argument, ...]]:
        """Return the given optional arrays and their arguments; raise `ValueError` if rows could be states or bodies."""
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
                        f"use shape {(*batch, 1, 3)} for worlds or {(*[1] * len(batch), nb, 3)} for bodies"
                    )
                if x.shape[-2] == nb:
                    shape = (nb, 3)
                elif x.shape[-2] == 1 and x.ndim > len(batch) + 1:
                    given[name] = x[..., 0, :]
            arguments.append(Argument(name, shape))
        return list(given.values()), tuple(arguments)

    def program(self, name: EquationName, inputs: Sequence[str] = ()) -> Program:
        """Return the traced, specialised program of an equation, for example "forward_dynamics" or "mass_matrix".

        Here and in the derivatives, pass a `HeldLoad` in place of the name for `closed_chain_dynamics`.

        `inputs` lists optional inputs of the equation: "fluid_velocity", "fluid_acceleration", "wrench".
        """
        check_options(inputs)
        extra = tuple(Argument(x, shape_of(x, self.model)) for x in inputs)
        return self._compiled(name, extra=extra, variant="specialised" if self.form == "rolled" else "").traced

    def casadi(self, name: EquationName, inputs: Sequence[str] = ()) -> Any:
        """Return a CasADi function of flat arguments, for optimal control."""
        return self.program(name, inputs).casadi_function

    def differentiate(
        self, name: EquationName, wrt: str | Sequence[str], *, output: str | None = None, inputs: Sequence[str] = ()
    ) -> Callable[..., Any]:
        """Return a compiled function of the equation's inputs for ∂ output / ∂ wrt, shape (..., size, size) each.

        `wrt` is the name of an input or parameter, or several names, for which the function returns a tuple. `output` defaults
        to the first output; `inputs` is as in `program`.
        """
        names = (wrt,) if isinstance(wrt, str) else tuple(wrt)
        make = lambda p: compiler.jacobian_program(p, names, output=output)  # noqa: E731
        return self._function(name, inputs, f"jacobian {names} {output}", make, single=isinstance(wrt, str))

    def jvp(
        self, name: EquationName, wrt: str, *, output: str | None = None, inputs: Sequence[str] = ()
    ) -> Callable[..., Array]:
        """Return a compiled Jacobian-vector product of an equation, see `differentiate`; the direction is the last input."""
        make = lambda p: compiler.jvp_program(p, wrt, output=output)  # noqa: E731
        return self._function(name, inputs, f"jvp {wrt} {output}", make, single=True)

    def vjp(
        self, name: EquationName, wrt: str, *, output: str | None = None, inputs: Sequence[str] = ()
    ) -> Callable[..., Array]:
        """Return a compiled vector-Jacobian product of an equation, see `differentiate`; the weight is the last input."""
        make = lambda p: compiler.vjp_program(p, wrt, output=output)  # noqa: E731
        return self._function(name, inputs, f"vjp {wrt} {output}", make, single=True)

    def _function(
        self, name: EquationName, inputs: Sequence[str], variant: str, make: Callable[[Program], Program], single: bool
    ) -> Callable[..., Any]:
        """Return a derivative as a function of the equation's inputs, with parameters as keywords."""
        key = (str(name), tuple(inputs), variant)
        if key not in self._made:
            program = make(self.program(name, inputs))
            recipe = Recipe.of(program)
            self._made.setdefault(key, Compiled(recipe, self.lanes, self.threads, program=program))
        made = self._made[key]
        names = [a.name for a in made.recipe.inputs]
        plain = [n for n in names if n not in self.parameters]

        def function(*arrays: ArrayLike, parameters: Parameters | None = None) -> Any:
            if len(arrays) != len(plain):
                raise TypeError(f"the derivative of {name} got {len(arrays)} arrays; pass {', '.join(plain)}")
            values = dict(zip(plain, arrays, strict=True)) | dict(zip(self.parameters, self._values(parameters), strict=True))
            results = made([values[n] for n in names])
            return results[0] if single else tuple(results)

        return function


def _on_lanes(model: Model, **arrays: Array) -> Array:
    return BranchesOnLanes(model).forward_dynamics(**arrays)


def _rolled(model: Model, name: str, extra: tuple[Argument, ...]) -> Rolled:
    from ._rolled import rolled_equation  # cached code must not load CasADi

    return rolled_equation(model, name, extra)


def _whole(value: Any, name: str, wanted: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise ValueError(f"{name} is {value!r}; use {wanted}") from None


def _numbers(value: ArrayLike, name: str) -> Array:
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of numbers, got {value!r}") from None
