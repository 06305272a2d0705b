"""Recorded quantities of a run: variables with units, and the compiled function that computes them from states."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache

import numpy as np

from hydromechs import compiler, dynamics
from hydromechs.compiler import Argument, Compiled, Recipe, Rolled
from hydromechs.equations import identity_of
from hydromechs.model import Model
from hydromechs.model.component import Output
from hydromechs.recording import ATTITUDE, STORED_ENERGIES, Variable
from hydromechs.values import Array, Scalar

from ._actions import Each, each_on
from ._evaluate import evaluate
from ._plant import DIMENSIONS, Plant
from ._rolled_plant import WATER_FORCES
from ._water import MotionAt, fluid_at

AXES: dict[str, tuple[str, ...]] = {
    "xyz": ("x", "y", "z"),
    "wxyz": ("w", "x", "y", "z"),
    "six": ("X", "Y", "Z", "K", "M", "N"),
    "nu": tuple("uvwpqr"),
}
"""Labels of dimensions that are the same in every recording; components may record along these dimensions."""
WORDS = {
    "drag": "drag, damping and lift of the water",
    "added_mass": "added-mass force",
    "buoyancy": "buoyancy",
    "fluid_acceleration": "Froude-Krylov force in waves and gusts",
    "weight": "weight",
    "contact": "contact force",
    "thrust": "thruster force",
    "external": "external force",
}
"""Descriptions of forces, keyed by label."""


def _labels(plant: Plant) -> list[str]:
    absent = set() if plant.wet else {"drag", "added_mass", "buoyancy"}
    absent |= set() if plant.wet and plant.flows else {"fluid_acceleration"}
    return [label for label in WATER_FORCES if label not in absent] + list(plant.labels)


def _outputs(plant: Plant) -> dict[str, tuple[str, Output]]:
    out: dict[str, tuple[str, Output]] = {}
    for c in plant.components:
        for o in c.outputs:
            if out.setdefault(o.name, (c.kind, o)) != (c.kind, o):
                raise ValueError(
                    f"component {c.name!r} ({type(c).__name__}): another kind also records {o.name!r}; rename the output"
                )
    return out


def _entries(plant: Plant) -> dict[str, list[str]]:
    """Return the names along the dimension of each kind with outputs; actuators are all components with commands."""
    out: dict[str, dict[str, None]] = {"actuator": dict.fromkeys(plant.layout.commands)}
    for c in plant.components:
        if c.outputs:
            out.setdefault(c.kind, {}).update(dict.fromkeys(c.entries(plant.model)))
    return {kind: list(names) for kind, names in out.items()}


def coordinates(plant: Plant, signals: Mapping[str, str] | None = None) -> dict[str, list[str]]:
    """Return the names along each dimension of a recording. `signals`: units of the signals of blocks, keyed by signal."""
    names_q, names_v = plant.model.coordinate_names
    return {
        "body": list(plant.model.body_names),
        "coordinate": list(names_q),
        "dof": list(names_v),
        **{dimension: list(names) for dimension, names in AXES.items()},
        **{o.dimension: list(o.labels) for _, o in _outputs(plant).values() if o.labels},
        **_entries(plant),
        "constraint_group": list(plant.group_names),
        "cause": list(plant.layout.causes),
        "internal": list(plant.layout.states),
        "held": list(plant.layout.held),
        **({"channel": list(signals)} if signals else {}),
    }


def schema(plant: Plant, signals: Mapping[str, str] | None = None) -> list[Variable]:
    """Return the variables of a recording of a plant. `signals`: units of the signals of blocks, keyed by signal."""

    def variable(name: str, dims: Sequence[str], units: str, long_name: str, dtype: str = "float64") -> Variable:
        return Variable(name=name, dims=("time", *dims), units=units, long_name=long_name, dtype=dtype)

    out = [
        variable("q", ("coordinate",), "m, 1, m or rad", "configuration"),
        variable("v", ("dof",), "m/s, rad/s", "velocity in body axes, joint rates"),
        variable("tau", ("dof",), "N, N m", "joint force of drives, friction, stops and prescribed motions"),
        variable("position", ("body", "xyz"), "m", "position of the body origin in world axes"),
        variable("orientation", ("body", "wxyz"), "1", "orientation, quaternion body to world"),
        variable("velocity", ("body", "nu"), "m/s, rad/s", "velocity of the body in body axes"),
        variable("acceleration", ("body", "nu"), "m/s^2, rad/s^2", "time derivative of the velocity components"),
        variable("depth", ("body",), "m", "depth of the body origin below the mean surface"),
    ]
    if plant.wet:
        words = "mean velocity of the undisturbed water over the body, in world axes"
        out.append(variable("fluid_velocity", ("body", "xyz"), "m/s", words))
    for label in _labels(plant):
        what = WORDS.get(label, f"force of components of the kind {label}")
        words = f"{what} on the body, in body axes about its origin"
        out.append(variable(f"force_{label}", ("body", "six"), "N, N m", words))
    if plant.layout.commands:
        units = ", ".join(dict.fromkeys(s.unit for s in plant.layout.input_slots if not s.setting))
        out.append(variable("command", ("actuator",), units, "command, in the unit of the actuator"))
    of_components = len(out)
    if plant.constrained:
        out += [
            variable(
                "constraint_free", ("constraint_group",), "1", "number of undetermined constraint forces, which are set to 0"
            ),
            variable(
                "constraint_pivot",
                ("constraint_group",),
                "1",
                "ratio of the smallest to the largest pivot of the group; small if ill-conditioned",
            ),
        ]
    out += [
        variable("kinetic_energy_body", (), "J", "kinetic energy of the bodies"),
        variable("kinetic_energy_fluid", (), "J", "kinetic energy of the water moved by the bodies"),
        variable("potential_energy", (), "J", "potential energy of weight and buoyancy"),
        variable("elastic_energy", (), "J", "energy stored in contacts, stops and sticking friction"),
        variable("energy_residual", (), "J", "change of all energies minus all work, which is the integration error"),
    ]
    if plant.layout.causes:
        out.append(variable("work", ("cause",), "J", "work done on the mechanism since the start"))
    if plant.layout.states:
        out.append(variable("internal_state", ("internal",), "N, A, Pa, m, J", "internal states of components, and work"))
    if plant.layout.held:
        units = ", ".join(dict.fromkeys(s.unit for s in plant.layout.input_slots if s.setting))
        out.append(variable("held_input", ("held",), units, "held inputs, which keep their values until changed"))
    if signals:
        out.append(variable("signal", ("channel",), ", ".join(dict.fromkeys(signals.values())), "signal of the controller"))
    _check_outputs(plant, {v.name for v in out})
    out[of_components:of_components] = [
        variable(o.name, (kind, *([o.dimension] if o.labels else [])), o.units, o.long_name, o.dtype)
        for kind, o in _outputs(plant).values()
    ]
    return out


def quantities(plant: Plant, signals: Mapping[str, str] | None = None) -> dict[str, tuple[str, ...]]:
    """Return the dimensions, except time, of all quantities: variables of `schema`, attitude angles and time."""
    return {"time": (), **{v.name: v.dims[1:] for v in schema(plant, signals)}, **ATTITUDE}


def _check_outputs(plant: Plant, recorded: set[str]) -> None:
    """Reject component outputs with a reserved name, or with labels along a reserved dimension."""
    own = {*recorded, *FROM_STATE, *ATTITUDE, *DIMENSIONS, "R_WB", "actuator", *(c.kind for c in plant.components)}
    outputs = {o.name for c in plant.components for o in c.outputs}
    along = dict(AXES)
    for c in plant.components:
        for o in c.outputs:
            who = f"component {c.name!r} ({type(c).__name__}): the output {o.name!r}"
            if o.name in own:
                raise ValueError(f"{who} is reserved for recordings; rename the output, for example to {o.name + '_2'!r}")
            taken = o.dimension in {"", *own, *outputs} - {*AXES}
            if o.labels and (taken or along.setdefault(o.dimension, o.labels) != o.labels):
                raise ValueError(
                    f"{who} has labels along the dimension {o.dimension!r}, which is empty or already in use; "
                    f"choose another dimension, such as {o.name + '_entry'!r}"
                )


FROM_STATE = {"q", "v", "orientation", "command", "internal_state", "work", "energy_residual", "held_input"}
"""Variables that `observed` does not compute: parts of the state, and values relative to the start of a run."""


def observed(
    plant: Plant, t: Scalar, q: Array, v: Array, z: Array, inputs: Array, motion: MotionAt = fluid_at, each: Each | None = None
) -> dict[str, Array]:
    """Return poses (R_WB instead of orientation), velocities, forces, energies and outputs at one instant, keyed by name."""
    model = plant.model
    e = evaluate(plant, t, q, v, z, inputs, motion, each)
    kin = e.now.kin
    out = {
        "tau": e.tau,
        "position": np.stack(kin.p_WB),
        "R_WB": np.stack(kin.R_WB),
        "velocity": np.stack(kin.V),
        "acceleration": e.acceleration,
        "depth": np.array([model.world.down @ p for p in kin.p_WB]),
        "fluid_velocity": e.fluid_velocity,
        **{f"force_{label}": F for label, F in e.forces.items()},
        "constraint_free": e.constraint_free,
        "constraint_pivot": e.constraint_pivot,
        **{name: np.asarray(getattr(e, name)) for name in STORED_ENERGIES},
    }
    return out | component_outputs(plant, range(len(plant.components)), e.outputs)


def component_outputs(plant: Plant, which: Sequence[int], outputs: Sequence[Mapping[str, Scalar | Array]]) -> dict[str, Array]:
    """Return the outputs of components as arrays of the recording, keyed by name."""
    out: dict[str, Array] = {}
    entries = _entries(plant)
    for name, (kind, o) in _outputs(plant).items():
        none = np.nan if o.dtype.startswith("float") else 0.0
        empty = np.full(len(o.labels), none) if o.labels else none
        rows: dict[str, Scalar | Array] = dict.fromkeys(entries[kind], empty)
        for k, recorded in zip(which, outputs, strict=True):
            if name in recorded:
                names = plant.components[k].entries(plant.model)
                values = np.reshape(np.asarray(recorded[name]), (len(names), *([len(o.labels)] if o.labels else [])))
                rows |= zip(names, values, strict=True)
        out[name] = np.stack([np.asarray(x) for x in rows.values()])
    return out


def observer(
    plant: Plant,
    motion: MotionAt,
    loops: Callable[..., Rolled] | None = None,
    only: Collection[str] | None = None,
    lanes: int = 1,
    threads: int = 1,
) -> Compiled:
    """Return `observed` as a compiled function from (t, q, x, inputs) to arrays, for a batch of instants.

    `loops`: function of inputs and outputs that builds loops for a large tree; None to trace `observed`. `only`: names of the
    required arrays; None for all. `lanes`: instants per vector operation.
    """
    model, layout = plant.model, plant.layout
    nv, names = model.nv, coordinates(plant)
    shapes: dict[str, tuple[int, ...]] = {"R_WB": (model.nb, 3, 3)}
    shapes |= {v.name: tuple(len(names[d]) for d in v.dims[1:]) for v in schema(plant) if v.name not in FROM_STATE}
    shapes = {name: shape for name, shape in shapes.items() if only is None or name in only}
    sizes = {"t": (), "q": (model.nq,), "x": (nv + layout.nz,), "inputs": (layout.size,)}
    arguments = tuple(Argument(name, shape) for name, shape in sizes.items())

    def function(t: Scalar, q: Array, x: Array, inputs: Array) -> tuple[Array, ...]:
        found = observed(plant, t, q, x[:nv], x[nv:], inputs, motion, each_on(lanes))
        return tuple(found[name] for name in shapes)

    outputs = tuple(Argument(name, shape) for name, shape in shapes.items())
    identity = None if plant.identity is None else f"{plant.identity} observe"
    rolled = None if loops is None else lambda: loops(arguments, outputs)
    return compiler.Compiled(
        Recipe("observe", function, arguments, outputs, identity, rolled, rarely_called=True), lanes, threads
    )


@lru_cache(maxsize=16)
def body_poses(model: Model) -> Compiled:
    """Return the origins p_WB and rotation matrices R_WB of all bodies as a compiled function of configurations."""

    def poses(q: Array) -> tuple[Array, Array]:
        found = dynamics.kinematics(model, q, np.zeros(model.nv))
        return np.array(found.p_WB), np.array(found.R_WB)

    outputs = Argument("p_WB", (model.nb, 3)), Argument("R_WB", (model.nb, 3, 3))
    return Compiled(Recipe("poses", poses, (Argument("q", (model.nq,)),), outputs, identity_of(model)), 1, 1)
