"""`hydromechs new`: a project folder with model, mission and instructions from a robot."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.text import Text

from hydromechs import files

from ._kinds import expect
from ._options import CODE, robot_command

if TYPE_CHECKING:
    from hydromechs.model import Model

DEPTH = 5.0
"""Depth at which the mission starts [m]."""
THRUST = 2.5
"""Maximum thrust of each of eight thrusters over the mass of the robot [N/kg]; a BlueROV2 Heavy has 3.5."""
SERVO = 6.0
"""Natural frequency of each joint servo alone, all other joints free [rad/s]."""
LEVEL = 0.02
"""Height of the centre of buoyancy above the centre of mass that ballast provides, over the robot's size."""


@robot_command
def new(
    robot: Annotated[str, typer.Argument(help="A robot description (URDF, SDF, MJCF, .dm), a model file or a library model.")],
    project: Annotated[str, typer.Argument(help="The new folder. Defaults to the name of the robot.")] = "",
    code: CODE = False,
    **options: Any,
) -> None:
    """Start a project: model in water with thrusters and drives, a mission that holds its pose, and instructions.

    A dry robot gets hydrodynamics from its shapes and ballast that makes it neutral and level. A robot that floats without
    thrusters gets eight. Everything assumed is listed in README.md of the folder; replace it by measured values.
    """
    from hydromechs.actuation import drives
    from hydromechs.formats import import_file, is_robot_file, save
    from hydromechs.library import load

    expect(robot, "new", "model")
    imported = import_file(robot, **options) if is_robot_file(robot) else None
    model = imported.model if imported else load(robot, code=code, **options)
    name = re.sub(r"\W+", "_", model.name).strip("_").lower() or "robot"
    place = Path(project or name)
    if place.exists():
        raise FileExistsError(f"{place} exists; give another folder, as in: hydromechs new {robot} PROJECT")
    notes = [f"{n.element}: {n.value}; {n.kind}: {n.done}" for n in imported.notes] if imported else []
    limits = {c.joint: c.limit for c in imported.components if isinstance(c, drives.Torque)} if imported else {}
    model = _wet(model, notes)
    root = model.bodies[0]
    floats = root.joint.nv == 6
    frames: list[str] = []
    if floats:
        model, frames = _with_thrusters(model, notes)
    place.mkdir(parents=True)
    notes += [f"not stored in the model file: {line}" for line in save(model, place / f"{name}.yaml")]
    files.write_text(place / "mission.yaml", _mission(name, model, frames, limits, notes))
    files.write_text(place / "README.md", _instructions(name, notes))
    console = Console()
    console.print(Text(f"{place}: {name}.yaml, mission.yaml, README.md with {len(notes)} assumptions", "bold"), soft_wrap=True)
    for command in (f"check {place}/mission.yaml", f"run {place}/mission.yaml --show", f"pilot {place}/mission.yaml"):
        if floats or not command.startswith("pilot"):
            console.print(Text(f"  hydromechs {command}"), soft_wrap=True)


def _wet(model: Model, notes: list[str]) -> Model:
    """Return the model with hydrodynamics and ballast; a wet model is unchanged."""
    from hydromechs.naval import add_water, ballast

    if model.wet and any(getattr(body.hydro, "volume", 0.0) for body in model.bodies):
        return model
    if model.world.water_density == 0.0:
        model = replace(model, world=replace(model.world, water_density=1025.0))
        notes.append("world: the water density is 1025 kg/m³")
    model, report = add_water(model)
    notes += [f"hydrodynamics: {' '.join(line.split())}" for line in str(report).splitlines()[1:]]
    if model.bodies[0].joint.nv != 6:
        return model
    try:
        level = ballast(model, stability=LEVEL * float(_extent(model)[1].max()))
    except ValueError as error:
        notes.append(f"ballast: none found ({error}); the robot may float, sink or capsize")
        return model
    notes += [f"ballast: {line}" for line in str(level).splitlines()]
    return level.model


def _extent(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Return centre and edges of the box around the first body's shapes, or of a box of its mass [m], shape (3,) each."""
    from hydromechs.viewer import model_scene

    body = model.bodies[0]
    scene = model_scene(replace(model, bodies=(body,)))
    points = [s.triangles.vertices for s in scene.solids if s.layer == "looks" and len(s.triangles.vertices)]
    if not points:
        return np.array(body.inertia.com), np.full(3, max(body.inertia.mass, 1e-3) ** (1 / 3) / 10.0)
    both = np.concatenate(points)
    return 0.5 * (both.min(axis=0) + both.max(axis=0)), np.ptp(both, axis=0)


def _with_thrusters(model: Model, notes: list[str]) -> tuple[Model, list[str]]:
    """Return the model with frames of eight thrusters about its first body, or with those that it has, and their names."""
    from hydromechs.model import Frame, Origin

    body = model.bodies[0]
    present = [frame.name for frame in body.frames if "thruster" in frame.name or "propeller" in frame.name]
    if present:
        notes.append(f"thrusters: at the frames {', '.join(present)}, along their x axes")
        return model, present
    center, edges = _extent(model)
    center = np.array([*center[:2], body.inertia.com[2]])  # thrust through the centre of mass tilts least
    half = 0.5 * np.maximum(edges, 0.1 * edges.max())
    frames = []
    for k, (x, y) in enumerate(((1, 1), (1, -1), (-1, -1), (-1, 1)), start=1):
        level, upright = center + half * (x, y, 0.0), center + half * (0.6 * x, 0.6 * y, 0.0)
        yaw = float(np.arctan2(-y, x))  # 45° vectored: each pushes past the centre, so that all eight turn and translate
        frames.append(Frame(name=f"thruster_{k}", origin=Origin(tuple(level.tolist()), (0.0, 0.0, yaw))))
        frames.append(Frame(name=f"thruster_{k + 4}", origin=Origin(tuple(upright.tolist()), (0.0, -np.pi / 2, 0.0))))
    frames.sort(key=lambda frame: frame.name)
    notes.append("thrusters: eight around the first body, four horizontal at 45° and four vertical")
    bodies = (replace(body, frames=(*body.frames, *frames)), *model.bodies[1:])
    return replace(model, bodies=bodies), [frame.name for frame in frames]


def _single(part: Any) -> bool:
    """True for a joint with one degree of freedom, which a drive can move."""
    return part.v.stop - part.v.start == 1


def _servos(model: Model, limits: Mapping[str, float], notes: list[str]) -> Iterator[str]:
    """Yield the lines of servos of all joints with one degree of freedom.

    The inertia that a joint moves while all others are free is I = 1/(M⁻¹)_jj: stiffness I ω², damping 2 I ω.
    """
    from hydromechs.equations import mass_matrix

    start = model.initial()
    inertias = 1.0 / np.diag(np.linalg.inv(np.asarray(mass_matrix(model, start.q), dtype=float)))
    for name, part in model.joint_parts.items():
        if _single(part):
            stiffness, damping = np.array([SERVO**2, 2.0 * SERVO]) * float(inertias[part.v.start])
            limit = f", limit: {limits[name]:g}" if np.isfinite(limits.get(name, np.inf)) else ""
            yield f"  {name}: {{drive: {{type: servo, stiffness: {stiffness:.3g}, damping: {damping:.3g}{limit}}}}}"
    notes.append(f"drives: servos, natural frequency {SERVO:g} rad/s, critical damping; torque limits from the robot file")


def _mission(name: str, model: Model, frames: list[str], limits: Mapping[str, float], notes: list[str]) -> str:
    root, mass = model.bodies[0], sum(body.inertia.mass for body in model.bodies)
    z = DEPTH if model.world.axes == "NED" else -DEPTH
    floats = bool(frames)
    lines = [
        "hydromechs_scenario: 2",
        f"name: {name}_mission",
        f"title: {name} holds its {'pose in a current' if floats else 'joints still'}",
        "models:",
        f"  robot: {{model: {name}.yaml{f', position: [0, 0, {z:g}]' if floats else ''}}}",
        "environment: {current: {velocity: [0.1, 0.05, 0]}}",
    ]
    if floats:
        thrust = float(f"{THRUST * mass:.2g}")
        notes.append(f"thrusters: the command is the thrust, up to {thrust:g} N, with a lag of 0.1 s")
        lines += [
            "thrusters:",
            f"  all: {{frames: [{', '.join(frames)}], curve: {{type: newtons, forward: {thrust:g}, reverse: {thrust:g}}}, "
            "time_constant: 0.1}",
        ]
    joints = list(_servos(model, limits, notes)) if model.nv > (6 if floats else 0) else []
    lines += ["joints:", *joints] if joints else []
    start = {name: float(model.initial().q[part.q.start]) for name, part in model.joint_parts.items() if _single(part)}
    if any(start.values()):
        lines.append(f"commands: {{{', '.join(f'{joint}: {angle:g}' for joint, angle in start.items())}}}")
    if floats:
        lines += [
            "blocks:",
            f"  controller: {{type: hold_pose, period: 0.02, frequency: 0.8, body: {root.name}, position: [0, 0, {z:g}]}}",
        ]
    lines.append("run: {step: 0.002, record: 0.05, duration: 30}")
    if floats:
        depth = f"quantity: depth.{root.name}, target: {DEPTH:g}, statistic: max_abs"
        lines += [
            "checks:",
            f"  stays at its depth: {{{depth}, after: 15, below: 0.1}}",
            f"  stays level: {{quantity: tilt_deg.{root.name}, statistic: max, after: 15, below: 10}}",
        ]
    return "\n".join(lines) + "\n"


def _instructions(name: str, notes: list[str]) -> str:
    listed = "\n".join(f"- {note}" for note in notes) or "- nothing"
    return f"""# {name}

| file | content |
|---|---|
| `{name}.yaml` | the model: bodies, joints, hydrodynamics, frames |
| `mission.yaml` | the mission: water, thrusters, drives, controller, checks |

```sh
hydromechs check mission.yaml        # every error with line, value and fix
hydromechs view {name}.yaml          # the robot in a browser
hydromechs run mission.yaml --show   # recording and interactive report
hydromechs pilot mission.yaml        # fly it, if it has thrusters
```

## Assumed

Replace these by measured or published values:

{listed}
"""
