"""Equations of a model as source files for embedded targets, and as CasADi functions for optimisation."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Container, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hydromechs import files
from hydromechs.compiler import BACKENDS, Case, SourceFile, SourceFunction, c_identifier, casadi_function, trace
from hydromechs.errors import FieldError
from hydromechs.model import Model
from hydromechs.values import Array

from . import _equations as equations
from ._arguments import model_of
from ._dynamics import Dynamics
from ._formulations import HeldLoad
from ._table import EQUATIONS, FLOW, FLUID, Equation, EquationName, check_options, equation_of, shape_of

if TYPE_CHECKING:
    import casadi


FORMATS = tuple(key for key, backend in BACKENDS.items() if backend.exports)
"""Names of the export formats."""
DEFAULT = ("forward_dynamics", "inverse_dynamics", "mass_matrix", "kinematics")
CASES = 3
"""Number of calls per function in the generated check."""

MARK = "written by HydroMechs"
"""Marker in the first lines of every exported file; only files with this marker are overwritten."""

NOTES = {
    "q": "configuration",
    "v": "velocity [m/s, rad/s]",
    "tau": "generalised force [N, N·m]",
    "vdot": "time derivative of the components of v [m/s², rad/s²]",
    "dt": "time [s]",
    "fluid_velocity": "velocity of the water in world axes [m/s]",
    "fluid_acceleration": "acceleration of the water in world axes [m/s²]",
    "wrench": "external wrench on each body in body axes about the body origin [N, N·m]",
    "M": "inertia matrix with added mass [kg, kg·m, kg·m²]",
    "C": "Coriolis matrix in M vdot + C v + D + g + F = tau",
    "D": "damping in M vdot + C v + D + g + F = tau [N, N·m]",
    "D_matrix": "damping matrix; in still water D = D_matrix v",
    "F": "force of moving water in M vdot + C v + D + g + F = tau [N, N·m]",
    "g": "weight and buoyancy in M vdot + C v + D + g + F = tau [N, N·m]",
    "X_WB": "pose of each body in the world, 4 x 4 with position in the last column [m]",
    "V_WB_B": "velocity of each body in body axes at the body origin [m/s, rad/s]",
    "kinetic_body": "kinetic energy of the bodies [J]",
    "kinetic_fluid": "kinetic energy of the surrounding water [J]",
    "potential": "energy of gravity and buoyancy [J]",
    "h": "momentum of bodies and water in world axes about the world's origin [N·s, N·m·s]",
    "q_next": "configuration after dt",
    "forces": "force of each grasp's holder on the load, in the axes of the grasp [N, N·m]",
    "J": "Jacobian, V = J v in the axes of the body or frame, linear first",
}
"""Meaning and unit of arguments and results, keyed by name."""

FUNCTIONS = {name: e for name, e in EQUATIONS.items() if "q0" not in e.inputs}  # functions of one configuration
FUNCTIONS["flow_force"] = EQUATIONS["flow_force"]._replace(inputs=("q", "v", *FLUID))
for _name in ("forward_dynamics", "inverse_dynamics"):
    _still = EQUATIONS[_name]
    _purpose = _still.purpose[:-1] + ", in moving water, with external wrenches."
    FUNCTIONS[f"{_name}_in_flow"] = _still._replace(inputs=(*_still.inputs, *FLOW), purpose=_purpose)
    FUNCTIONS[_name] = _still._replace(purpose=_still.purpose[:-1] + ", in still water.")
"""Functions that can be exported; `jacobian:NAME` is also available for each body or frame."""


def _recipe(model: Model, name: EquationName) -> Equation:
    """Return the equation named `name`; the `ValueError` for an unknown name lists all names."""
    if isinstance(name, HeldLoad):
        return equation_of(name)[1]
    kind, _, place = name.partition(":")
    if kind == "jacobian" and place in (*model.body_names, *model.frames):
        purpose = f"Jacobian of the origin of {place}."
        return Equation(lambda model, q: equations.jacobian(model, q, place), ("q",), ("J",), purpose)
    if name not in FUNCTIONS:
        places = ", ".join(dict.fromkeys((*model.body_names, *model.frames)))
        raise ValueError(
            f"no exportable function is named {name!r}; available: {', '.join(FUNCTIONS)}, "
            f"and jacobian:NAME for a body or frame ({places})"
        )
    return FUNCTIONS[name]


def export_source(
    model: Model, folder: str | Path, functions: Sequence[EquationName] = DEFAULT, format: str = FORMATS[0]
) -> list[Path]:
    """Write a model's equations as source files with a check; return their paths.

    `folder` is the output folder, which is created if missing. `functions` contains names in `FUNCTIONS`, `jacobian:NAME`, or a
    `HeldLoad` for `closed_chain_dynamics`. `format` is one of `FORMATS`; "c" writes a header, a source file and a check.
    """
    if format not in FORMATS:
        raise FieldError("format", format, f"must be one of {', '.join(FORMATS)}")
    recipes = {name: _recipe(model, name) for name in dict.fromkeys(functions)}
    if not recipes:
        raise ValueError("functions is empty; list at least one function")
    made: list[SourceFunction] = []
    cases: dict[str, list[Case]] = {}
    for name, recipe in recipes.items():
        shapes = {x: shape_of(x, model) for x in recipe.inputs}
        program = trace(
            lambda recipe=recipe, **arrays: recipe.function(model, **arrays),
            shapes,
            name=_function_name(equation_of(name)[0] if isinstance(name, HeldLoad) else name, cases),
            outputs=recipe.outputs,
        )
        made.append(SourceFunction(program, recipe.purpose, NOTES))
        cases[program.name] = [_case(model, recipe, shapes, seed) for seed in range(CASES)]
    name = c_identifier(model.name)
    file = SourceFile(
        name=f"{name}_model" if name in ("math", "math_", "stdio") else name,  # headers of the C library
        functions=tuple(made),
        about=tuple(_about(model)),
        constants={"NQ": model.nq, "NV": model.nv, "NB": model.nb},
    )
    return _write(Path(folder), BACKENDS[format].files(file, cases))


def _function_name(name: str, taken: Container[str]) -> str:
    """Return a name as an unused identifier that CasADi also accepts (without adjacent underscores)."""
    out = identifier = re.sub(r"_+", "_", c_identifier(name)).strip("_")
    n = 1
    while out in taken:
        n += 1
        out = f"{identifier}_{n}"
    return out


def _write(folder: Path, texts: dict[str, str]) -> list[Path]:
    paths = [folder / name for name in texts]
    try:
        for path in paths:
            if path.exists() and MARK.encode() not in files.read_bytes(path)[:300]:
                raise FileExistsError(f"{path} exists and was not written by HydroMechs; choose another folder")
        for path, text in zip(paths, texts.values(), strict=True):
            files.write_text(path, text)
    except OSError as error:
        if error.strerror is None:
            raise
        raise OSError(f"cannot write {error.filename or folder}: {error.strerror}") from None
    return paths


def _configuration(model: Model, rng: np.random.Generator) -> Array:
    """Return a random configuration with unit quaternions, shape (nq,)."""
    q: list[float] = []
    for body in model.bodies:
        for part in body.joint.parts:
            q += list(part.random_q(rng, 1)[0])
    return np.array(q)


def _case(model: Model, recipe: Equation, shapes: dict[str, tuple[int, ...]], seed: int) -> Case:
    """Return a call with random arguments and its results in Python.

    The tolerance accounts for inertia matrices, which amplify rounding errors about 100 times.
    """
    rng = np.random.default_rng(seed)
    inputs = {x: _configuration(model, rng) if x == "q" else rng.normal(size=shape) for x, shape in shapes.items()}
    results = recipe.function(model, **inputs)
    results = results if isinstance(results, tuple) else (results,)
    tolerance = 1e-12
    if "vdot" in recipe.outputs and model.nv:
        condition = np.linalg.cond(equations.mass_matrix(model, inputs["q"]))
        tolerance = max(tolerance, 200 * np.finfo(float).eps * float(condition))
    return Case(tuple(inputs.values()), tuple(np.asarray(y, dtype=float) for y in results), tolerance)


def _about(model: Model) -> list[str]:
    """Return a description of the model and the layout of q, v and arrays with one row per body."""
    world = model.world
    q_rows: list[str] = []
    v_rows: list[str] = []
    for body, q, v in zip(model.bodies, model.q_slices, model.v_slices, strict=True):
        iq, iv = q.start, v.start
        for part in body.joint.parts:
            for rows, letter, start, meanings in ((q_rows, "q", iq, part.coordinates), (v_rows, "v", iv, part.rates)):
                for group in meanings:
                    rows.append(f"  {_range(letter, start, len(group.names)):<10} {body.name}: {group.text}")
                    start += len(group.names)
            iq, iv = iq + part.nq, iv + part.nv
    bodies = [f"  {i:<10} {b.name} ({b.joint.kind} on {b.parent or 'the world'})" for i, b in enumerate(model.bodies)]
    return [
        *textwrap.wrap(f"Model: {model.name}. {model.description.split('. ')[0].strip()}", 115),
        f"World axes {world.axes}, gravity {world.gravity:.9g} m/s², water density {world.water_density:.9g} kg/m³.",
        "",
        "q, the configuration (quaternions must have unit length):",
        *q_rows,
        "v, the velocity; tau is the dual force (N for m/s, N·m for rad/s), vdot the time derivative of v:",
        *v_rows,
        "Bodies, in the order of rows of arrays:",
        *bodies,
    ]


def _range(letter: str, start: int, n: int) -> str:
    return f"{letter}[{start}]" if n == 1 else f"{letter}[{start}..{start + n - 1}]"


def to_casadi(
    model: Model, functions: Sequence[EquationName] = DEFAULT, *, inputs: Sequence[str] = (), parameters: Sequence[str] = ()
) -> dict[str, casadi.Function]:
    """Return equations in water as CasADi functions with named arguments, from the same trace as machine code.

    Vectors are columns, M is nv × nv, poses `X_WB` are stacked as 4 nb × 4, and velocities `V_WB_B` are nb × 6. Derivatives are
    finite also at zero velocity, where the square root in the drag is not differentiable. In calls by name omitted arguments
    are 0; always pass `q`, as in `f(q=q, v=v)["vdot"]`.

    Args:
        model: The mechanism.
        functions: Names of equations, such as "forward_dynamics" or "restoring_force", "jacobian:NAME" for a body or frame, or
            a `HeldLoad` for "closed_chain_dynamics".
        inputs: Optional inputs for the equations that support them: "fluid_velocity" and "fluid_acceleration" (columns of 3, in
            world axes) and "wrench" (nb × 6, on each body in body axes about the body origin).
        parameters: Paths of model parameters that remain inputs, as in `hm.compile`. They are the last inputs of each function,
            with `_` instead of dots in their names.

    Raises:
        UnsupportedFeature: An equation uses a lookup table, for example in custom hydrodynamics.
    """
    functions = (functions,) if isinstance(functions, str | HeldLoad) else tuple(functions)
    inputs = (inputs,) if isinstance(inputs, str) else tuple(inputs)
    dyn = Dynamics(model_of(model), parameters=parameters)
    check_options(inputs)
    out = {}
    for name in functions:
        if isinstance(name, HeldLoad):
            out["closed_chain_dynamics"] = dyn.casadi(name, inputs)
            continue
        kind, _, place = name.partition(":")
        if kind == "jacobian" and place:
            program = dyn.jacobian_program(place)
        elif name in EQUATIONS:
            program = dyn.program(name, [x for x in inputs if x in EQUATIONS[name].options])
        else:
            raise KeyError(
                f"there is no equation {name!r}; available: {', '.join(EQUATIONS)}, and jacobian:NAME for a body or frame"
            )
        out[name] = casadi_function(program)
    return out
