"""Projects: folders with the model of a robot in water, a first mission and a list of assumptions."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hydromechs import files
from hydromechs.actuation import JointMotion, Thruster, drives, ideal_curve
from hydromechs.control import HoldPose
from hydromechs.dynamics import kinematics
from hydromechs.equations import mass_matrix, restoring_force
from hydromechs.errors import SimulationDiverged, grouped
from hydromechs.formats import UNLIMITED, Imported, Note, save, save_scenario, with_relative_meshes
from hydromechs.hydro import Current, Environment
from hydromechs.model import Frame, Model, Origin, joints
from hydromechs.model.component import Component
from hydromechs.naval import add_water, ballast, box_of, hydrostatics
from hydromechs.recording import Check, summarise
from hydromechs.scenario import ModelStart, Scenario
from hydromechs.simulation import PythonBlock

__all__ = ["Project", "create_project", "file_name"]

DEPTH = 5.0
"""Initial depth of the mission [m]."""
THRUST = 2.5
"""Maximum thrust of each of eight thrusters per mass of the robot [N/kg]; a BlueROV2 Heavy has 3.5."""
SERVO = 6.0
"""Minimum natural frequency of a joint servo if all other joints are free [rad/s]."""
SAG, SAG_SLIDE = 0.02, 0.002
"""Maximum displacement of a servo due to weight and buoyancy of the carried bodies: of a hinge [rad], of a slide [m]."""
POSTURES = 50
"""Number of random postures in which the load of servos is evaluated."""
STEPS = (0.002, 0.001, 0.0005)
"""Candidate time steps of the mission [s]; the longest step that closes the energy balance is used."""
CLOSES = 0.01
"""Maximum ratio of energy residual to exchanged energy for a closed balance."""
LEVEL = 0.02
"""Height of the centre of buoyancy above the centre of mass provided by ballast, relative to the size of the robot."""
ENOUGH = 4
"""Minimum number of thrusters in the robot description for a mission that holds a pose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """Description of a project folder that was written."""

    name: str
    """Name of the model file, without suffix."""
    scenario: Scenario
    """Mission, which holds a pose if the robot floats freely and has thrusters."""
    floats: bool
    """True if the robot can be flown."""
    notes: tuple[str, ...]
    """Assumptions, as listed in the README of the project."""
    headlines: tuple[str, ...]
    """Summary of the thrusters."""
    warnings: tuple[str, ...]
    """Warnings about the import, the hydrodynamics and heavy ballast."""


def create_project(robot: Model | Imported, folder: Path) -> Project:
    """Write a project folder: model in water with thrusters and drives, mission that holds the pose, and instructions.

    A dry robot receives hydrodynamics estimated from its shapes, and ballast that makes it neutral and level. A freely floating
    robot without thrusters receives eight thrusters. Joints without a drive, or with only a torque source, receive servos.

    Args:
        robot: Robot, as a model or as imported from a description with actuators.
        folder: Folder to create; it must not exist.
    """
    model, given = (robot, ()) if isinstance(robot, Model) else (robot.model, robot.components)
    name = file_name(robot)
    notes, headlines = list[str](), list[str]()
    mass = _mass(model)
    model = _wet(model, notes)
    warnings = [] if isinstance(robot, Model) else list(robot.headlines)
    if (added := _mass(model) - mass) > 0.1 * mass:
        litres = 1e3 * (mass + added) / model.world.water_density
        warnings.append(
            f"ballast: the shapes displace {litres:.3g} L, so {added:.3g} kg was added to {mass:.3g} kg; if the real robot is "
            f"smaller or flooded, correct 'volume' and 'mass' in {name}.yaml together"
        )
    thrusters = [part for part in given if isinstance(part, Thruster)]
    noted = list(robot.notes) if isinstance(robot, Imported) else []
    if thrusters:
        thrusters, noted = _limited(thrusters, noted, _mass(model), notes, headlines)
        headlines.append(f"thrusters of the robot file: {', '.join(part.name for part in thrusters)}")
    elif _free(model):
        model, thrusters = _with_thrusters(model, notes, headlines)
    model = _with_tool(model, notes)
    kept = [part for part in given if not isinstance(part, Thruster | drives.Torque)]
    limits = {part.joint: part.limit for part in given if isinstance(part, drives.Torque)}
    servos = _servos(model, {part.joint for part in kept if isinstance(part, drives.Drive | JointMotion)}, limits, notes)
    file = folder.absolute() / f"{name}.yaml"
    scenario = _with_stable_step(_mission(name, model, str(file), [*thrusters, *kept, *servos]))
    folder.mkdir(parents=True)
    lost = save(with_relative_meshes(model, folder), file)
    save_scenario(scenario, folder / "mission.yaml")
    notes += [f"not stored in the model file: {line}" for line in lost]
    if isinstance(robot, Imported):
        notes += grouped(f"{n.element}: {n.value}; {n.kind}: {n.done}" for n in noted)
        moving = {body.name for body in model.bodies if body.joint.nv}
        renamed = [f"{joint} → {body}" for joint, body in robot.joint_bodies.items() if joint != body and body in moving]
        notes += [f"names: joints are named after their child bodies: {', '.join(renamed)}"] if renamed else []
    files.write_text(folder / "README.md", _instructions(name, folder, notes))
    floats = bool(_free(model))
    warnings += _water_warnings(model)
    lists = {"notes": tuple(notes), "headlines": tuple(headlines), "warnings": tuple(warnings)}
    return Project(name=name, scenario=scenario, floats=floats, **lists)


def file_name(robot: Model | Imported) -> str:
    """Return a file name for a robot, in lower case."""
    model = robot if isinstance(robot, Model) else robot.model
    return re.sub(r"\W+", "_", model.name).strip("_").lower() or "robot"


def _mass(model: Model) -> float:
    return sum(body.inertia.mass for body in model.bodies)


def _free(model: Model) -> list[str]:
    """Return the freely floating bodies."""
    return [body.name for body in model.bodies if body.parent is None and body.joint.nv == 6]


def _rounded(x: float, digits: int = 3) -> float:
    return float(f"{x:.{digits}g}")


def _wet(model: Model, notes: list[str]) -> Model:
    """Return the model with estimated hydrodynamics and ballast; a wet model is unchanged."""
    if model.wet and any(getattr(body.hydro, "volume", 0.0) for body in model.bodies):
        return model
    if model.world.water_density == 0.0:
        model = replace(model, world=replace(model.world, water_density=1025.0))
        notes.append("world: the water density is 1025 kg/m³")
    model, report = add_water(model)
    notes += grouped(f"hydrodynamics of {g.body}: {g.quantity} {g.numbers}; {g.how}" for g in report.estimates)
    notes += [f"hydrodynamics: {text}" for text in report.notes]
    if model.bodies[0].joint.nv != 6:
        return model
    try:
        level = ballast(model, stability=LEVEL * float(np.subtract(*_extent(model)[::-1]).max()))
    except ValueError as error:
        notes.append(f"ballast: none found ({error}); the robot may float, sink or capsize")
        return model
    notes += [f"ballast: {line}" for line in str(level).splitlines()]
    return level.model


def _water_warnings(model: Model) -> list[str]:
    found = list(hydrostatics(model).warnings)
    moving = [body for body, moves in zip(model.bodies, model.moves, strict=True) if moves and body.inertia.mass]
    dry = [body.name for body in moving if body.hydro is None]
    if dry and not _free(model):  # otherwise hydrostatics reports it
        found.append(f"dry: no hydrodynamics on {', '.join(dry)}, because these bodies have no shapes")
    return found


def _with_stable_step(mission: Scenario) -> Scenario:
    """Return the mission with the longest step that closes the energy balance of the first second, or the shortest step."""
    for step in STEPS:
        mission = replace(mission, step=step)
        with suppress(SimulationDiverged):
            residual = summarise(mission.run(1.0).recording).residual_relative
            if residual is None or residual < CLOSES:
                break
    return mission


def _with_thrusters(model: Model, notes: list[str], headlines: list[str]) -> tuple[Model, list[Thruster]]:
    """Return the model with thrusters at frames of the first body that are named after thrusters, or at eight new frames."""
    body = model.bodies[0]
    frames = [frame.name for frame in body.frames if "thruster" in frame.name or "propeller" in frame.name]
    if frames:
        notes.append(f"thrusters: at the frames {', '.join(frames)}, along their x axes")
    else:
        headlines.append("thrusters: eight were added because the robot has none, four horizontal at 45° and four vertical")
        notes.append(headlines[-1])
        new = _eight_frames(model)
        frames = [frame.name for frame in new]
        model = _replaced(model, 0, frames=(*body.frames, *new))
    thrust = _rounded(THRUST * _mass(model), 2)
    notes.append(f"thrusters: the command is the thrust, up to {thrust:g} N, with a lag of 0.1 s")
    return model, [Thruster(name=f, frame=f, curve=ideal_curve(thrust, thrust), time_constant=0.1) for f in frames]


def _limited(
    thrusters: Sequence[Thruster], noted: list[Note], mass: float, notes: list[str], headlines: list[str]
) -> tuple[list[Thruster], list[Note]]:
    """Return the thrusters in a robot file, with limits from the mass if the file has none, and the remaining notes."""
    thrust = _rounded(THRUST * mass, 2)
    labels = {f"thruster of joint {part.name!r}": part.name for part in thrusters if part.curve.limits[1] > thrust}
    default = [note for note in noted if note.value == UNLIMITED and note.element in labels]
    if not default:
        return list(thrusters), noted
    headlines.append(
        f"thrust: at most {thrust:g} N per thruster, {THRUST:g} N per kg of robot mass, because the file has no thrust limits"
    )
    notes.append(headlines[-1])
    names, curve = {labels[note.element] for note in default}, ideal_curve(thrust, thrust)
    changed = [replace(part, curve=curve) if part.name in names else part for part in thrusters]
    return changed, [note for note in noted if note not in default]


def _eight_frames(model: Model) -> list[Frame]:
    """Return thruster frames around the hull: 1 to 4 horizontal, for translation and rotation, and 5 to 8 vertical."""
    low, high = _extent(model)
    center, edges = 0.5 * (low + high), high - low
    whole = model.rigid[0]
    if whole is not None and whole.mass:
        center[2] = whole.first_moment[2] / whole.mass  # thrust through the centre of mass tilts least
    half = 0.5 * np.maximum(edges, 0.1 * edges.max())
    level, upright = [], []
    for x, y in ((1, 1), (1, -1), (-1, -1), (-1, 1)):
        yaw = float(np.arctan2(-y, x))
        level.append(Origin(tuple((center + half * (x, y, 0.0)).tolist()), (0.0, 0.0, yaw)))
        upright.append(Origin(tuple((center + half * (0.6 * x, 0.6 * y, 0.0)).tolist()), (0.0, -np.pi / 2, 0.0)))
    return [Frame(name=f"thruster_{k}", origin=origin) for k, origin in enumerate([*level, *upright], start=1)]


def _extent(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Return the minimum and maximum x, y, z [m], shape (3,) each, of the first body with all bodies fixed to it."""
    at = kinematics(model, model.initial().q, np.zeros(model.nv))
    hull, corners = {0}, []
    for k, (body, parent) in enumerate(zip(model.bodies, model.parent, strict=True)):
        if k and (parent not in hull or body.joint.nv):
            continue
        hull.add(k)
        box = np.array(box_of(body))
        if np.array_equal(*box):  # a link without shape and mass
            continue
        ends = np.array([[box[i, 0], box[j, 1], box[l, 2]] for i in (0, 1) for j in (0, 1) for l in (0, 1)])
        corners.append(
            (np.asarray(at.p_WB[k]) + ends @ np.asarray(at.R_WB[k]).T - np.asarray(at.p_WB[0])) @ np.asarray(at.R_WB[0])
        )
    points = np.concatenate(corners)
    return points.min(axis=0), points.max(axis=0)


def _with_tool(model: Model, notes: list[str]) -> Model:
    """Return the model with a frame `tool` on the last link of an arm, so that the operator station can move the tool."""
    joints = [k for k, body in enumerate(model.bodies) if body.parent is not None and body.joint.nv == 1]
    moved = [k for k in joints if not re.search("thruster|propeller", model.bodies[k].name, re.IGNORECASE)]
    if not moved or any(frame.rpartition(".")[2].endswith("tool") for frame in model.frames):
        return model
    body = model.bodies[moved[-1]]
    x, y, z = body.inertia.com
    name = "end_tool" if "tool" in model.body_names else "tool"
    notes.append(f"{name}: a frame on {body.name!r}, at twice the distance of the centre of mass")
    return _replaced(model, moved[-1], frames=(*body.frames, Frame(name=name, origin=Origin((2.0 * x, 2.0 * y, 2.0 * z)))))


def _replaced(model: Model, index: int, **fields: Any) -> Model:
    bodies = list(model.bodies)
    bodies[index] = replace(bodies[index], **fields)
    return replace(model, bodies=tuple(bodies))


def _servos(model: Model, driven: set[str], limits: dict[str, float], notes: list[str]) -> list[drives.Servo]:
    """Return servos for all joints with one degree of freedom that have no drive.

    The inertia of a joint if all other joints are free is I = 1/(M⁻¹)_jj. The stiffness is k = max(I ω², load / sag), with the
    largest load due to weight and buoyancy in random postures. The damping is 2 √(k I).
    """
    parts = {n: p.v.start for n, p in model.joint_parts.items() if p.v.stop - p.v.start == 1 and n not in driven}
    if not parts:
        return []
    inertias = 1.0 / np.diag(np.linalg.inv(np.asarray(mass_matrix(model, model.initial().q), dtype=float)))
    loads = np.max([np.abs(np.asarray(restoring_force(model, q), dtype=float)) for q in _postures(model)], axis=0)
    servos = []
    for name, dof in parts.items():
        inertia = float(inertias[dof])
        stiffness = max(inertia * SERVO**2, float(loads[dof]) / _sag(model, name))
        numbers = {"stiffness": _rounded(stiffness), "damping": _rounded(2.0 * np.sqrt(stiffness * inertia))}
        servos.append(drives.Servo(joint=name, limit=limits.get(name, np.inf), **numbers))
    limited = "; limits of torque from the robot file" if any(np.isfinite(servo.limit) for servo in servos) else ""
    stiff = f"servos of at least {SERVO:g} rad/s that sag at most {SAG:g} rad or {SAG_SLIDE:g} m under weight and buoyancy"
    notes.append(f"drives: {stiff}, with critical damping{limited}")
    return servos


def _sag(model: Model, joint: str) -> float:
    """Return the maximum displacement of a servo due to weight and buoyancy [rad or m]."""
    return SAG_SLIDE if isinstance(model.joint_parts[joint].joint, joints.Prismatic) else SAG


def _postures(model: Model) -> Iterator[np.ndarray]:
    """Yield the initial configuration, then random joint positions within the limits and within half a turn."""
    q, random = model.initial().q, np.random.default_rng(0)
    yield q
    for _ in range(POSTURES):
        q = q.copy()
        for part in model.joint_parts.values():
            if part.v.stop - part.v.start == 1:
                low, high = getattr(part.joint, "limits", None) or (-np.pi, np.pi)
                q[part.q.start] = random.uniform(max(low, -np.pi), min(high, np.pi))
        yield q


def _mission(name: str, model: Model, source: str, components: Sequence[Component]) -> Scenario:
    """Return a mission that holds the joints, and also the pose if the thrusters suffice."""
    free, q = _free(model), model.initial().q
    thrusters = sum(isinstance(part, Thruster) for part in components)
    holds = bool(free) and thrusters >= ENOUGH
    down = np.array(model.world.down, dtype=float)
    top = 0.0 if free else min(float(down @ p) for p in kinematics(model, q, np.zeros(model.nv)).p_WB)
    placed = len(free) < 2  # a fixed robot is lowered until all of it is at the depth
    place = tuple((_rounded(DEPTH - min(top, 0.0)) * down).tolist()) if placed else tuple(q[:3].tolist())
    root = model.bodies[0].name
    hold = HoldPose(period=0.02, frequency=0.8, body=root, position=place)
    depth = float(down @ place)
    settled: dict[str, Any] = {"after": 15.0, "statistic": "max_abs"}
    checks = (
        Check(name="stays at its depth", quantity=f"depth.{root}", target=depth, below=0.1, **settled),
        Check(name="stays level", quantity=f"tilt_deg.{root}", below=10.0, **settled),
    )
    angles = {
        part.joint: float(q[model.joint_parts[part.joint].q.start]) for part in components if isinstance(part, drives.Servo)
    }
    still = (
        Check(name=f"{n} holds", quantity=f"q.{n}", target=x, below=5 * _sag(model, n), **settled) for n, x in angles.items()
    )
    return Scenario(
        name=f"{name}_mission",
        title=f"{name} {'holds its pose in a current' if holds else 'drifts' if free else 'holds still'}",
        models=(ModelStart(name="robot", model=model, source=source, position=place if placed else None),),
        environment=Environment(current=Current(velocity=(0.1, 0.05, 0.0))),
        components=tuple(components),
        commands=tuple((joint, angle) for joint, angle in angles.items() if angle),
        blocks=(PythonBlock(name="controller", controller=hold),) if holds else (),
        step=0.002,
        record=0.05,
        duration=30.0,
        checks=(*(checks if holds else ()), *still),
    )


def _instructions(name: str, place: Path, notes: Sequence[str]) -> str:
    """Return the README of the project."""
    listed = "\n".join(f"- {_plain(note)}" for note in notes) or "- nothing"
    return f"""# {name}

| file | content |
|---|---|
| `{name}.yaml` | the model: bodies, joints, hydrodynamics, frames |
| `mission.yaml` | the mission: water, thrusters, drives, controller, checks |

```sh
cd {shlex.quote(str(place))}
hydromechs check mission.yaml        # every error with line, value and fix
hydromechs view {name}.yaml          # the robot in a browser
hydromechs run mission.yaml --show   # recording and interactive report
hydromechs pilot mission.yaml        # fly it, if it has thrusters
```

## Assumed

Replace these by measured or published values:

{listed}
"""


def _plain(note: str) -> str:
    """Return a note as one line of plain Markdown, so that names from files cannot add headings, links or code."""
    return re.sub(r"([\\`<\[])", r"\\\1", files.printable(" ".join(note.split())))
