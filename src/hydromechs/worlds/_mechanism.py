"""Worlds of a mechanism without components; forces and the motion of the water are inputs."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from hydromechs import compiler, dynamics, equations
from hydromechs.compiler import Argument, Rolled
from hydromechs.equations import FLOW, Dynamics, open_identity, shape_of, with_parameters
from hydromechs.integrators import Integrator, Stepper, chart_rate_loop, retract_loop
from hydromechs.values import Array, Scalar, nearest

from ._source import Place, Source


class Mechanism(Source):
    """Mechanism without components, driven by input forces.

    `dyn`: compiled mechanism, which defines lanes and threads. `names`: compiled inputs in addition to "tau", a subset of
    `FLOW`.
    """

    def __init__(self, dyn: Dynamics, method: Integrator, names: Iterable[str] = ()) -> None:
        chosen = tuple(names)
        for name in chosen:
            if name not in FLOW:
                raise KeyError(f"unknown input {name!r}{nearest(name, ('tau', *FLOW))}")
        self.dyn, self.model, self.method = dyn, dyn.model, method
        self.names = ("tau", *(name for name in FLOW if name in chosen))
        self.stepper = model_stepper(dyn, method, self.names)
        self.nz, self.commands, self.held = 0, (), ()
        self.parameters = {name: np.array(x, dtype=float) for name, x in dyn.parameters.items()}
        self.places = {
            a.name: Place(k, (), a.shape) for k, a in enumerate(self.stepper.inputs) if a.name not in self.parameters
        }
        self.opened = {a.name: Place(k, (), a.shape) for k, a in enumerate(self.stepper.inputs) if a.name in self.parameters}

    def named(self, inputs: Any) -> dict[str, Any]:
        given = {} if inputs is None else dict(inputs) if isinstance(inputs, Mapping) else {"tau": inputs}
        for name in given:
            if name not in self.places:
                if name in FLOW:
                    raise KeyError(f"input {name!r} was not compiled; list the input in Worlds(..., inputs=[{name!r}])")
                raise KeyError(f"unknown input {name!r}{nearest(name, self.places)}")
        return given


def model_stepper(dyn: Dynamics, method: Integrator, names: tuple[str, ...]) -> Stepper:
    """Return the compiled stepper of a model with named inputs, "tau" first; the model caches the stepper."""

    def make() -> Stepper:
        model, opened = dyn.model, tuple(dyn.parameters)

        def ydot(t: Scalar, q: Array, y: Array, **inputs: Array) -> Array:
            values = {name: inputs.pop(name) for name in opened}
            here = dynamics.retract(model, q, y[: model.nv])
            v = y[model.nv :]
            vdot = equations.forward_dynamics(with_parameters(model, values) if values else model, here, v, **inputs)
            return np.concatenate([dynamics.chart_rate(model, here, y[: model.nv], v), vdot])

        arguments = tuple(Argument(name, shape_of(name, model)) for name in names)

        def loops() -> Rolled:
            retract, chart = retract_loop(model), chart_rate_loop(model)
            dynamic = equations.RolledTree(model).forward_dynamics(arguments[1:])

            def ydot_rolled(t: Any, q: Any, y: Any, **inputs: Any) -> Any:
                (here,) = compiler.call(retract, q, y[: model.nv])
                (vdot,) = compiler.call(dynamic, here, y[model.nv :], *inputs.values())
                return np.concatenate([*compiler.call(chart, here, y[: model.nv], y[model.nv :]), vdot])

            given = (Argument("t", ()), Argument("q", (model.nq,)), Argument("y", (2 * model.nv,)), *arguments)
            return compiler.trace_whole(ydot_rolled, given, (Argument("ydot", (2 * model.nv,)),), name="derivative")

        rolled, identity = dyn.form == "rolled", open_identity(model, opened)
        opened_too = tuple(Argument(name, x.shape) for name, x in dyn.parameters.items())
        return Stepper(
            model,
            ydot,
            0,
            (*arguments, *opened_too),
            method,
            name="rollout",
            identity=f"{identity} rolled" if rolled and identity is not None else identity,
            lanes=dyn.lanes,
            threads=dyn.threads,
            loops=loops if rolled else None,
        )

    return dyn.kept(("rollout", method, names), make)
