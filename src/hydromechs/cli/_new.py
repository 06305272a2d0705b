"""`hydromechs new`: a project folder with model, mission and instructions from a robot."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.text import Text

from hydromechs import files

from ._console import Console
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
    from hydromechs.actuation import Thruster, drives
    from hydromechs.errors import ModelError, ScenarioError
    from hydromechs.formats import convert_file, import_file, is_robot_file, save
    from hydromechs.library import load, load_scenario

    expect(robot, "new", "model")
    imported = import_file(robot, **options) if is_robot_file(robot) else None
    model = imported.model if imported else load(robot, code=code, **options)
    name = re.sub(r"\W+", "_", model.name).strip("_").lower() or "robot"
    place = Path(project or name)
    if place.exists():
        raise FileExistsError(f"{place} exists; give another folder, as in: hydromechs new {robot} PROJECT")
    console, notes = Console(), list[str]()
    thrusters = [c.name for c in imported.components if isinstance(c, Thruster)] if imported else []
    limits = {c.joint: c.limit for c in imported.components if isinstance(c, drives.Torque)} if imported else {}
    mass = sum(body.inertia.mass for body in model.bodies)
    model = _wet(model, notes)
    added = sum(body.inertia.mass for body in model.bodies) - mass
    mission = _Mission(name, model, thrusters, limits, notes)
    place.mkdir(parents=True)
    if thrusters and imported:
        convert_file(robot, place / f"{name}.yaml", **options)  # writes the plant with the thrusters, too
    lost = save(mission.model, place / f"{name}.yaml")
    files.write_text(place / "mission.yaml", mission.text())
    notes += [f"not stored in the model file: {line}" for line in lost]
    notes += [f"{n.element}: {n.value}; {n.kind}: {n.done}" for n in imported.notes] if imported else []
    files.write_text(place / "README.md", _instructions(name, place, notes))
    console.print(Text(f"{place}: {name}.yaml, mission.yaml, README.md with {len(notes)} assumptions", "bold"), soft_wrap=True)
    for text in mission.headlines:
        console.print(Text(f"  {text}"), soft_wrap=True)
    if added > 0.1 * mass:
        text = f"ballast: {added:.3g} kg added to {mass:.3g} kg; compare the volumes with the real robot"
        console.print(Text(f"  {text}", "yellow"), soft_wrap=True)
    try:
        load_scenario(str(place / "mission.yaml"), code=code).simulation()
    except (ModelError, ScenarioError) as error:
        console.print(Text(f"  the mission needs your changes: {error}", "yellow"), soft_wrap=True)
    for command in (f"check {place}/mission.yaml", f"run {place}/mission.yaml --show", f"pilot {place}/mission.yaml"):
        if mission.floats or not command.startswith("pilot"):
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


class _Mission:
    """The mission of a new project: it holds a pose if the robot floats, else it holds the joints still."""

    def __init__(self, name: str, model: Model, thrusters: list[str], limits: Mapping[str, float], notes: list[str]) -> None:
        self.name, self.limits, self.notes, self.own = name, limits, notes, thrusters
        self.free = [body for body in model.bodies if body.parent is None and body.joint.nv == 6]
        self.floats = bool(self.free)
        self.headlines: list[str] = []
        self.model, self.frames = model, list[str]()
        if thrusters:
            self.headlines.append(f"thrusters of the robot file: {', '.join(thrusters)}")
        elif self.floats:
            self._place_thrusters()
        self._add_tool()

    def _place_thrusters(self) -> None:
        """Take the frames of the first body named after thrusters, or add eight."""
        from hydromechs.model import Frame, Origin

        body = self.model.bodies[0]
        self.frames = [frame.name for frame in body.frames if "thruster" in frame.name or "propeller" in frame.name]
        if self.frames:
            self.notes.append(f"thrusters: at the frames {', '.join(self.frames)}, along their x axes")
            return
        center, edges = _extent(self.model)
        center = np.array([*center[:2], body.inertia.com[2]])  # thrust through the centre of mass tilts least
        half = 0.5 * np.maximum(edges, 0.1 * edges.max())
        frames = []
        for k, (x, y) in enumerate(((1, 1), (1, -1), (-1, -1), (-1, 1)), start=1):
            level, upright = center + half * (x, y, 0.0), center + half * (0.6 * x, 0.6 * y, 0.0)
            yaw = float(np.arctan2(-y, x))  # at 45°, so that four translate and turn
            frames.append(Frame(name=f"thruster_{k}", origin=Origin(tuple(level.tolist()), (0.0, 0.0, yaw))))
            frames.append(Frame(name=f"thruster_{k + 4}", origin=Origin(tuple(upright.tolist()), (0.0, -np.pi / 2, 0.0))))
        frames.sort(key=lambda frame: frame.name)
        self.frames = [frame.name for frame in frames]
        self.headlines.append("thrusters: eight added, four horizontal at 45° and four vertical, because the robot has none")
        self.notes.append(self.headlines[-1])
        self._replace(0, frames=(*body.frames, *frames))

    def _add_tool(self) -> None:
        """Add a frame `tool` to the last link of an arm, by which the station moves it."""
        from hydromechs.model import Frame, Origin

        moved = [k for k, body in enumerate(self.model.bodies) if body.parent is not None and body.joint.nv == 1]
        if not moved or any(frame.rpartition(".")[2].endswith("tool") for frame in self.model.frames):
            return
        tip = moved[-1]
        body = self.model.bodies[tip]
        x, y, z = body.inertia.com
        name = "end_tool" if "tool" in self.model.body_names else "tool"
        self._replace(tip, frames=(*body.frames, Frame(name=name, origin=Origin((2.0 * x, 2.0 * y, 2.0 * z)))))
        self.notes.append(f"{name}: a frame on {body.name!r}, at twice its centre of mass")

    def _replace(self, index: int, **fields: Any) -> None:
        bodies = list(self.model.bodies)
        bodies[index] = replace(bodies[index], **fields)
        self.model = replace(self.model, bodies=tuple(bodies))

    def _servos(self) -> Iterator[str]:
        """Yield the lines of servos of all joints with one degree of freedom.

        The inertia that a joint moves while all others are free is I = 1/(M⁻¹)_jj: stiffness I ω², damping 2 I ω.
        """
        from hydromechs.equations import mass_matrix

        start = self.model.initial()
        inertias = 1.0 / np.diag(np.linalg.inv(np.asarray(mass_matrix(self.model, start.q), dtype=float)))
        for name, part in self.model.joint_parts.items():
            if part.v.stop - part.v.start == 1:
                stiffness, damping = np.array([SERVO**2, 2.0 * SERVO]) * float(inertias[part.v.start])
                limit = f", limit: {self.limits[name]:g}" if np.isfinite(self.limits.get(name, np.inf)) else ""
                yield f"  {name}: {{drive: {{type: servo, stiffness: {stiffness:.3g}, damping: {damping:.3g}{limit}}}}}"
        self.notes.append(f"drives: servos at {SERVO:g} rad/s with critical damping; limits of torque from the robot file")

    def text(self) -> str:
        """Return the scenario file."""
        name, model = self.name, self.model
        root, mass = model.bodies[0], sum(body.inertia.mass for body in model.bodies)
        z = DEPTH if model.world.axes == "NED" else -DEPTH
        single = len(self.free) == 1
        q = model.initial().q
        hold = [0.0, 0.0, z] if single or not self.floats else [float(x) for x in q[:3]]
        depth = DEPTH if single else float(np.array(model.world.down, dtype=float) @ hold)
        holds = bool(self.frames) or len(self.own) >= 4  # fewer thrusters cannot hold a pose
        source = f"plant: {name}_plant.yaml" if self.own else f"model: {name}.yaml"
        lines = [
            "hydromechs_scenario: 2",
            f"name: {name}_mission",
            f"title: {name} {'holds its pose in a current' if holds else 'drifts' if self.floats else 'holds still'}",
            "models:",
            f"  robot: {{{source}{f', position: [0, 0, {z:g}]' if single else ''}}}",
            "environment: {current: {velocity: [0.1, 0.05, 0]}}",
        ]
        if self.frames:
            thrust = float(f"{THRUST * mass:.2g}")
            self.notes.append(f"thrusters: the command is the thrust, up to {thrust:g} N, with a lag of 0.1 s")
            curve = f"curve: {{type: newtons, forward: {thrust:g}, reverse: {thrust:g}}}, time_constant: 0.1"
            lines += ["thrusters:", f"  all: {{frames: [{', '.join(self.frames)}], {curve}}}"]
        joints = [] if self.own else list(self._servos()) if model.nv > 6 * len(self.free) else []
        if joints:
            lines += ["joints:", *joints]
            parts = [(n, part) for n, part in model.joint_parts.items() if part.v.stop - part.v.start == 1]
            if any(q[part.q.start] for _, part in parts):
                lines.append(f"commands: {{{', '.join(f'{n}: {float(q[part.q.start]):g}' for n, part in parts)}}}")
        if holds:
            place = ", ".join(f"{x:g}" for x in hold)
            text = f"type: hold_pose, period: 0.02, frequency: 0.8, body: {root.name}, position: [{place}]"
            lines += ["blocks:", f"  controller: {{{text}}}"]
        lines.append("run: {step: 0.002, record: 0.05, duration: 30}")
        if holds:
            text = f"quantity: depth.{root.name}, target: {depth:g}, statistic: max_abs"
            lines += [
                "checks:",
                f"  stays at its depth: {{{text}, after: 15, below: 0.1}}",
                f"  stays level: {{quantity: tilt_deg.{root.name}, statistic: max, after: 15, below: 10}}",
            ]
        return "\n".join(lines) + "\n"


def _instructions(name: str, place: Path, notes: list[str]) -> str:
    """Return the README of the project."""
    listed = "\n".join(f"- {note}" for note in notes) or "- nothing"
    return f"""# {name}

| file | content |
|---|---|
| `{name}.yaml` | the model: bodies, joints, hydrodynamics, frames |
| `mission.yaml` | the mission: water, thrusters, drives, controller, checks |

```sh
cd {place}
hydromechs check mission.yaml        # every error with line, value and fix
hydromechs view {name}.yaml          # the robot in a browser
hydromechs run mission.yaml --show   # recording and interactive report
hydromechs pilot mission.yaml        # fly it, if it has thrusters
```

## Assumed

Replace these by measured or published values:

{listed}
"""
