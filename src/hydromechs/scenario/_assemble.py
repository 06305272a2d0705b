"""Assembly of several models into one, with unique names and the initial poses of the scenario."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from hydromechs.errors import FieldError, ScenarioError
from hydromechs.model import (
    UNIT_TOLERANCE,
    Body,
    Fault,
    Model,
    Origin,
    State,
    joints,
    mount_point,
    mount_problem,
    mounted_bodies,
)
from hydromechs.registry import View
from hydromechs.spatial import Path, matrix_from_rpy, quaternion_from_matrix, quaternion_matrix, rpy_from_matrix
from hydromechs.values import NotNegative, check_fields, floats, nearest, number

__all__ = ["ModelStart", "WorldSettings", "assemble", "axes_faults", "pairs", "start_faults"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldSettings:
    """Gravity and water density of a scenario, which override the values in its models; omitted fields change nothing."""

    axes: Literal["NED", "ENU"] | None = None
    """World axes. Models are not rotated, so all of them must use these axes. Defaults to the axes of the models."""
    gravity: NotNegative | None = None
    """Acceleration of gravity [m/s²]. Defaults to the value in the models."""
    water_density: NotNegative | None = None
    """Density of the water [kg/m³]. Defaults to the value in the models."""

    def __post_init__(self) -> None:
        check_fields(self, "world")
        if self.axes not in (None, "NED", "ENU"):
            raise FieldError("world.axes", self.axes, "must be NED or ENU")

    def applied_to(self, start: ModelStart) -> ModelStart:
        """Return a model start with this gravity and water density; the world axes do not change."""
        given = {key: getattr(self, key) for key in ("gravity", "water_density") if getattr(self, key) is not None}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the model issued its warnings when it was read
            return replace(start, model=replace(start.model, world=replace(start.model.world, **given)))


@dataclass(frozen=True, kw_only=True)
class ModelStart:
    """Model in a scenario, with its initial state. Omitted values default to the initial state of the model."""

    model: Model
    source: str | None = None
    """Source of the model: a library name or the path of a model file; required to save the scenario."""
    name: str = None  # type: ignore[assignment]  # set when it is built
    """Name of the model in the scenario. Defaults to `model.name`. It prefixes all names if there are several models, as in
    "rov.gripper"."""
    position: tuple[float, float, float] | None = None
    """Position in world axes [m], shape (3,), of the free root; without a free root, of the base that carries all roots."""
    orientation: tuple[float, float, float, float] | None = None
    """Orientation of the free root or base, unit quaternion (w, x, y, z), body to world, shape (4,)."""
    velocity: tuple[float, ...] | None = None
    """Velocity of the free root, in body axes [m/s, rad/s], shape (6,)."""
    mount: str | None = None
    """Frame or body of another model on which this model is mounted, such as "rov.arm_mount".

    The free root is fixed to the frame and aligned with it. Roots fixed to the world are fixed to the frame instead.
    Position, orientation and velocity must be omitted.
    """
    joints: tuple[tuple[str, float | tuple[float, ...]], ...] = ()
    """Initial joint positions, keyed by the body that the joint carries ("body.2" for the second part of a composite
    joint). A position is a number [rad or m] or, for a ball joint, a unit quaternion (w, x, y, z) from body to joint
    frame."""
    joint_velocities: tuple[tuple[str, float | tuple[float, ...]], ...] = ()
    """Initial joint velocities, keyed like `joints`: a number [rad/s or m/s] or, for a ball joint, the angular velocity in
    body axes [rad/s], shape (3,)."""

    path_views: ClassVar[Mapping[str, View]]
    """Path steps in addition to the fields: "rpy_deg", the orientation as roll, pitch and yaw [°]."""

    def __post_init__(self) -> None:
        if not isinstance(self.model, Model):
            raise ValueError(f"ModelStart.model is {self.model!r}, must be a Model; load one with hydromechs.load")
        if self.name is None:
            object.__setattr__(self, "name", self.model.name)
        if not (isinstance(self.name, str) and self.name.strip() and self.name == self.name.strip()):
            raise ValueError(f"ModelStart.name is {self.name!r}, must be text without leading or trailing blanks")
        if self.mount is not None and not isinstance(self.mount, str):
            raise FieldError("ModelStart.mount", self.mount, "must be text such as 'rov.arm_mount'")
        for name, n in (("position", 3), ("orientation", 4), ("velocity", 6)):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, floats(getattr(self, name), n, f"ModelStart.{name}"))
        for name in ("joints", "joint_velocities"):
            values = pairs(getattr(self, name), f"ModelStart.{name}")
            object.__setattr__(self, name, tuple((k, _numbers(x, f"ModelStart.{name}.{k}")) for k, x in values))


def _rpy_deg(start: ModelStart) -> tuple[float, ...] | None:
    """Return roll, pitch and yaw of the initial orientation [°], shape (3,); None if it is not set."""
    if start.orientation is None:
        return None
    return tuple(math.degrees(a) for a in rpy_from_matrix(quaternion_matrix(start.orientation)))


def _with_rpy_deg(start: ModelStart, angles: Sequence[float]) -> ModelStart:
    """Return a model start with a new orientation, given as roll, pitch and yaw [°]."""
    turned = quaternion_from_matrix(matrix_from_rpy([math.radians(a) for a in angles]))
    return replace(start, orientation=tuple(turned.tolist()))


ModelStart.path_views = {"rpy_deg": View(_rpy_deg, _with_rpy_deg)}


def _numbers(value: Any, name: str) -> float | tuple[float, ...]:
    rows = isinstance(value, list | tuple | np.ndarray) and np.ndim(value) == 1
    return tuple(number(x, name) for x in value) if rows else number(value, name)


def pairs(value: Any, name: str) -> tuple[tuple[str, Any], ...]:
    """Return a mapping or an iterable of pairs as a tuple of pairs with unique text keys; error messages contain `name`."""
    items = value.items() if isinstance(value, Mapping) else value
    try:
        out = tuple((key, item) for key, item in items)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {value!r}, must map names to values") from None
    keys = [key for key, _ in out]
    if not all(isinstance(key, str) for key in keys) or len(set(keys)) < len(keys):
        raise ValueError(f"{name} has the names {keys}; names must be unique strings")
    return out


def start_faults(starts: Sequence[ModelStart]) -> list[Fault]:
    """Return the problems in the models of a scenario and in their initial states."""
    names, out = [start.name for start in starts], []
    for i, (start, name) in enumerate(zip(starts, names, strict=True)):
        if name in names[:i]:
            text = f"models.{i}: the name {name!r} is used twice; rename this model"
            out.append(Fault(("models", i, "name"), text))
        out += [Fault(("models", i, *fault.path), f"models.{i}: {fault.text}") for fault in _faults(start)]
        out += _world_faults(i, name, start, names[0], starts[0].model)
        if start.mount is not None:
            problems = _mount_problems(i, starts, names)
            out += [
                Fault(("models", i, key), f"models.{i}: {key} is {getattr(start, key)!r}, {text}") for key, text in problems
            ]
    return out


def _mount(start: ModelStart, names: Sequence[str]) -> tuple[int, str]:
    """Return the index of the carrier model and the name of its frame; raise `KeyError` if the carrier is unknown."""
    assert start.mount is not None
    for k in sorted(range(len(names)), key=lambda k: -len(names[k])):  # names may contain dots: the longest match counts
        if start.mount.startswith(f"{names[k]}."):
            return k, start.mount[len(names[k]) + 1 :]
    raise KeyError(start.mount)


def _mount_problems(i: int, starts: Sequence[ModelStart], names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the invalid keys of a mounted model, each with the reason."""
    start = starts[i]
    posed = [key for key in ("position", "orientation", "velocity") if getattr(start, key) is not None]
    out = [(key, f"but mount {start.mount!r} also determines this value; remove one of them") for key in posed]
    try:
        carrier, frame = _mount(start, names)
    except KeyError:
        others = [name for name in names if name != names[i]]
        given = str(start.mount).partition(".")[0]
        return [
            *out,
            ("mount", f"must consist of the name of another model, a dot, and one of its frames{nearest(given, others)}"),
        ]
    host = starts[carrier].model
    known = (*host.frames, *host.body_names)
    if frame not in known:
        out.append(("mount", f"but {names[carrier]!r} has no frame or body {frame!r}{nearest(frame, known)}"))
    if mount_problem(start.model):
        out.append(("mount", f"but {mount_problem(start.model)}; mount each root as a separate model"))
    seen = [i]
    while carrier not in seen:
        seen.append(carrier)
        if starts[carrier].mount is None:
            return out
        try:
            carrier, _ = _mount(starts[carrier], names)
        except KeyError:  # reported for that model
            return out
    loop = " on ".join(repr(names[k]) for k in (*seen, carrier))
    return [*out, ("mount", f"but the mounts form a loop ({loop}); remove one of these mounts")]


def axes_faults(world: WorldSettings, starts: Sequence[ModelStart]) -> list[Fault]:
    """Return the errors of models whose axes differ from the world axes of the scenario."""
    return [
        Fault(
            ("world", "axes"),
            f"world.axes is {world.axes}, but model {start.name!r} uses {start.model.world.axes} axes; "
            f"{_same_world(start, 'axes', str(world.axes))}",
        )
        for start in starts
        if world.axes not in (None, start.model.world.axes)
    ]


def _world_faults(i: int, name: str, start: ModelStart, first_name: str, first: Model) -> list[Fault]:
    out = []
    for what in ("axes", "gravity", "water_density"):
        mine, others = getattr(start.model.world, what), getattr(first.world, what)
        if mine != others:
            both = f"world.{what} is {mine} in {name!r} but {others} in {first_name!r}"
            out.append(Fault(("models", i, "model"), f"models.{i}: {both}; {_same_world(start, what, others)}"))
    return out


def _same_world(start: ModelStart, what: str, value: str | float) -> str:
    if what == "axes":
        return f"rewrite the model, with all positions and orientations, in {value} axes"
    if start.source is None:
        return f"set this value for all models with Scenario(world=WorldSettings({what}={value}))"
    return f"set this value for all models with 'world: {{{what}: {value}}}' in the scenario"


def _roots(model: Model) -> tuple[list[Body], list[Body]]:
    """Return the root bodies with a free joint, and the other root bodies."""
    roots = [b for b in model.bodies if b.parent is None]
    free = [b for b in roots if isinstance(b.joint, joints.Free)]
    return free, [b for b in roots if b not in free]


def _faults(start: ModelStart) -> list[Fault]:
    model, out = start.model, []
    free, _ = _roots(model)
    posed = [k for k in ("position", "orientation", "velocity") if getattr(start, k) is not None]
    for key in posed:
        if not np.isfinite(getattr(start, key)).all():
            out.append(Fault((key,), f"{key} is {list(getattr(start, key))}, must be finite"))
    if posed and len(free) > 1:
        several = ", ".join(repr(b.name) for b in free)
        text = f"{posed[0]} is given, but {model.name} has several free roots ({several}); set their poses in the model file"
        out.append(Fault((posed[0],), text))
    if start.velocity is not None and not free:
        out.append(Fault(("velocity",), f"velocity is given, but {model.name} has no free root; remove velocity"))
    length = 1.0 if start.orientation is None else float(np.linalg.norm(start.orientation))
    if not abs(length - 1.0) < UNIT_TOLERANCE:
        out.append(Fault(("orientation",), f"orientation has norm {length:.9g}, must be a unit quaternion (w, x, y, z)"))
    return [*out, *_joint_faults(start)]


def _joint_faults(start: ModelStart) -> list[Fault]:
    """Return the problems of initial joint values: unknown joints and wrong shapes."""
    out: list[Fault] = []
    parts = {name: part.joint for name, part in start.model.joint_parts.items() if not isinstance(part.joint, joints.Free)}
    for key, size, must in (
        ("joints", 4, "a unit quaternion (w, x, y, z)"),
        ("joint_velocities", 3, "3 numbers [rad/s]"),
    ):
        for name, value in getattr(start, key):
            joint = parts.get(name)
            row, ball = value if isinstance(value, tuple) else (value,), isinstance(joint, joints.Ball)
            own = joint is not None and not isinstance(joint, joints.OneAxis | joints.Ball)
            shown = list(value) if isinstance(value, tuple) else value
            if joint is None:
                text = f"{key}: {start.model.name} has no joint {name!r}{nearest(name, parts)}"
            elif not np.isfinite(row).all():
                text = f"{key}.{name} is {shown}, must be finite"
            elif own and len(row) != (joint.nq if key == "joints" else joint.nv):
                n = joint.nq if key == "joints" else joint.nv
                text = f"{key}.{name} is {shown}, but {name!r} is a {joint.kind} joint; give {n} numbers"
            elif own:
                continue
            elif isinstance(value, tuple) is not ball or (ball and len(row) != size):
                text = f"{key}.{name} is {shown}, but {name!r} is a {joint.kind} joint; give {must if ball else 'a number'}"
            elif ball and key == "joints" and not abs(np.linalg.norm(row) - 1.0) < UNIT_TOLERANCE:
                text = f"{key}.{name} has norm {np.linalg.norm(row):.9g}, must be a unit quaternion (w, x, y, z)"
            else:
                continue
            out.append(Fault((key, name), text))
    return out


def assemble(starts: Sequence[ModelStart]) -> tuple[Model, State]:
    """Return the models combined into one, with its state at time 0; raise `ScenarioError` if they are incompatible.

    A single model keeps its names; with several models, the name of the model and a dot prefix every name. If a model
    without a free root has a pose, a massless body "base", fixed at that pose, carries its roots. A model with a `mount`
    becomes part of the model that carries it.

    `starts`: models with their initial states.
    """
    starts = tuple(starts)
    if not starts:
        raise ScenarioError("models", ["models is empty; add at least one model"])
    names = [start.name for start in starts]
    faults = start_faults(starts)
    if faults:
        raise ScenarioError(" and ".join(names), [f.text for f in faults], [f.path for f in faults])
    parts = [_placed(start) for start in starts]
    if len(parts) == 1:
        return parts[0]
    bodies, values = [], {}
    for start, name, (model, state) in zip(starts, names, parts, strict=True):
        for body, at_q, at_v in zip(model.bodies, model.q_slices, model.v_slices, strict=True):
            values[f"{name}.{body.name}"] = state.q[at_q], state.v[at_v]
            if start.mount is None:
                frames = tuple(replace(f, name=f"{name}.{f.name}") for f in body.frames)
                parent = None if body.parent is None else f"{name}.{body.parent}"
                bodies.append(replace(body, name=f"{name}.{body.name}", parent=parent, frames=frames))
        if start.mount is not None:
            host, frame = _mount(start, names)
            carrier, pose = mount_point(parts[host][0], frame)
            bodies += mounted_bodies(model, f"{name}.", f"{names[host]}.{carrier}", pose)
    loops = tuple(loop.renamed(f"{name}.") for name, (part, _) in zip(names, parts, strict=True) for loop in part.loops)
    model = _model(name=" and ".join(names), bodies=tuple(bodies), loops=loops, world=starts[0].model.world)
    moving = [body.name for body, at in zip(model.bodies, model.v_slices, strict=True) if at.start < at.stop]
    q, v = (np.concatenate([np.zeros(0), *(values[name][k] for name in moving)]) for k in (0, 1))
    return model, State(q=q, v=v)


def _model(**fields: Any) -> Model:
    """Return a model without repeating the warnings that its parts issued when they were read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Model(**fields)


def _placed(start: ModelStart) -> tuple[Model, State]:
    """Return a model, with a base body if required, and its initial state."""
    model = start.model
    free, fixed = _roots(model)
    if not free and (start.position is not None or start.orientation is not None):
        model = _on_base(model, fixed, start)
    state = model.initial()
    q, v = state.q.copy(), state.v.copy()
    if free:
        _place_free(model, free[0], start, q, v)
    for name, value in start.joints:
        unit = np.linalg.norm(value) if isinstance(value, tuple) else 1.0
        q[model.joint_parts[name].q] = np.array(value) / unit
    for name, value in start.joint_velocities:
        v[model.joint_parts[name].v] = value
    given = {name for name, _ in (*start.joints, *start.joint_velocities)}
    held = {k for name in given for k in range(model.nv)[model.joint_parts[name].v]}
    return model, model.on_loops(State(q=q, v=v), held)


def _on_base(model: Model, roots: list[Body], start: ModelStart) -> Model:
    taken = {*model.body_names, *model.frames}
    name = next(n for n in ("base", *(f"base_{k}" for k in range(2, len(taken) + 3))) if n not in taken)
    roll, pitch, yaw = (0.0, 0.0, 0.0) if start.orientation is None else rpy_from_matrix(quaternion_matrix(start.orientation))
    origin = Origin(start.position or (0.0, 0.0, 0.0), (float(roll), float(pitch), float(yaw)))
    bodies = [replace(b, parent=name) if b in roots else b for b in model.bodies]
    base = Body(name=name, joint=joints.Fixed(placement=origin))
    return _model(
        name=model.name, bodies=(base, *bodies), world=model.world, description=model.description, sources=model.sources
    )


def _place_free(model: Model, root: Body, start: ModelStart, q: np.ndarray, v: np.ndarray) -> None:
    """Write the pose and velocity of the free root into the state, in coordinates of its joint frame."""
    i = model.body_index(root.name)
    at = q[model.q_slices[i]]
    assert isinstance(root.joint, joints.Free)  # selected by `_roots`
    if start.position is not None or start.orientation is not None:
        R_WJ, p_WJ = Path(root.joint.placement.steps(2)).pose()
        if start.position is not None:
            at[:3] = R_WJ.T @ (np.array(start.position) - p_WJ)
        if start.orientation is not None:
            unit = np.array(start.orientation) / np.linalg.norm(start.orientation)
            straight = np.array_equal(R_WJ, np.eye(3))
            at[3:] = unit if straight else quaternion_from_matrix(R_WJ.T @ quaternion_matrix(unit))
    if start.velocity is not None:
        v[model.v_slices[i]] = start.velocity
