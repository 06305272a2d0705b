"""A `Scenario` to a scenario file: what equals a default is left out, floats are written by their shortest text."""

from __future__ import annotations

import math
import os
from pathlib import Path

from hydromechs.actuation import ForceCurve, Thruster
from hydromechs.contact import Material, terrain
from hydromechs.errors import UnsupportedFeature
from hydromechs.hydro import Environment, Uniform
from hydromechs.model import Origin
from hydromechs.scenario import ControllerSpec, ModelStart, Scenario

from ._emit import Block, Rows, emit
from ._scenario_read import DRIVES, LAWS, PROFILES, SOLIDS, WAVES, curve_of
from ._write import _plain, replace_file

__all__ = ["dumps_scenario", "save_scenario"]


def save_scenario(scenario: Scenario, path: str | Path) -> None:
    """Write a scenario file; a file that is there is replaced at once or, if anything fails, not at all.

    Args:
        scenario: The scenario. Its models and controllers are named in the file, by paths relative to it, and not copied.
        path: The file.
    """
    replace_file(dumps_scenario(scenario, Path(path).absolute().parent), path)


def dumps_scenario(scenario: Scenario, folder: str | Path | None = None) -> str:
    """The text of a scenario file, which `loads_scenario` turns back into an equal scenario.

    Angles are written in degrees; those that no number of degrees gives exactly change in their last digit.

    Args:
        scenario: The scenario; its models must have a `source`, its controller must be a `ControllerSpec`.
        folder: Where the file will be; paths are written relative to it. As they are unless given.
    """
    materials = _materials(scenario)
    out = Block(hydromechs_scenario=1, name=scenario.name)
    for key in ("title", "description"):
        if getattr(scenario, key):
            out[key] = getattr(scenario, key)
    out["models"] = Rows(_start(i, start, folder) for i, start in enumerate(scenario.models))
    environment = _environment(scenario.environment)
    if environment:
        out["environment"] = environment
    if materials:
        out["materials"] = Block((name, _material(m)) for name, m in materials.items())
    if scenario.terrain:
        out["terrain"] = Rows(_solid(solid, materials) for solid in scenario.terrain)
    contact = {"points": list(scenario.touching), "bodies": [list(pair) for pair in scenario.collisions]}
    contact = {key: value for key, value in contact.items() if value}
    if scenario.material is not None:
        contact["material"] = _name_of(scenario.material, materials)
    if contact:
        out["contact"] = contact
    if scenario.thrusters:
        out["thrusters"] = _thrusters(scenario.thrusters)
    joints = _joints(scenario)
    if joints:
        out["joints"] = joints
    if scenario.grasps:
        out["grasps"] = Rows(_plain(grasp) for grasp in scenario.grasps)
    if scenario.external:
        out["external"] = list(scenario.external)
    if scenario.commands:
        out["commands"] = dict(scenario.commands)
    if scenario.controller is not None:
        out["controller"] = _controller(scenario.controller, folder)
    if scenario.events:
        out["events"] = Rows(_event(event) for event in scenario.events)
    method = _plain(scenario.integrator)
    name = scenario.integrator.name
    out["integrator"] = {name: method} if name == "dormand_prince" and method else name
    for key in ("step", "record", "duration", "seed"):
        out[key] = getattr(scenario, key)
    if scenario.checks:
        out["checks"] = Rows(_plain(check) for check in scenario.checks)
    return emit(out)


def _kind(value, kinds: dict, what: str) -> str:
    """Key of the class of a value."""
    for key, kind in kinds.items():
        if type(value) is kind:
            return key
    raise UnsupportedFeature(f"{what} is a {type(value).__name__}, which a scenario file cannot hold")


def _relative(path: str, folder: str | Path | None) -> str:
    """A path from the folder of the scenario file, with a dot or a slash in it so that it is no name of the library."""
    if folder is not None:
        try:
            path = os.path.relpath(path, folder)
        except ValueError:  # another drive
            path = os.path.abspath(path)
    path = path.replace(os.sep, "/")
    return path if any(c in path for c in "./") else f"./{path}"


def _start(i: int, start: ModelStart, folder) -> Block:
    if start.source is None:
        raise UnsupportedFeature(
            f"models.{i}: model {start.model.name!r} has no source; write it with hydromechs.save and give its path as source"
        )
    named = not any(c in start.source for c in "./\\")
    out = Block(model=start.source if named else _relative(start.source, folder))
    out |= _plain(start, "model", "source", "orientation", "joints", "joint_velocities")
    if start.orientation is not None:
        out["quaternion"] = list(start.orientation)
    for key in ("joints", "joint_velocities"):
        if getattr(start, key):
            out[key] = dict(getattr(start, key))
    return Block(out)


def _environment(environment: Environment) -> Block:
    out = Block()
    if environment.current is not None:
        out["current"] = _plain(environment.current, "profile")
        profile = environment.current.profile
        if not isinstance(profile, Uniform):
            out["current"]["profile"] = {_kind(profile, PROFILES, "environment.current.profile"): _plain(profile)}
        out["current"] = out["current"] or {"velocity": [0.0, 0.0, 0.0]}
    if environment.gusts is not None:
        out["gusts"] = _plain(environment.gusts)
    if environment.waves:
        out["waves"] = Rows({_kind(w, WAVES, "a wave"): _in_degrees(_plain(w))} for w in environment.waves)
    if environment.water_depth is not None:
        out["water_depth"] = environment.water_depth
    if environment.surface is not None:
        out["surface"] = "free"
    return out


def _materials(scenario: Scenario) -> dict[str, Material]:
    """A name for each material: that of the first terrain that is made of it."""
    used = [(solid.name, solid.material) for solid in scenario.terrain]
    used += [] if scenario.material is None else [("bodies", scenario.material)]
    out: dict[str, Material] = {}
    for name, material in used:
        if material not in out.values():
            while name in out:
                name += "_2"
            out[name] = material
    return out


def _name_of(material: Material, materials: dict) -> str:
    return next(name for name, m in materials.items() if m == material)


def _material(material: Material) -> dict:
    out = {_kind(material.law, LAWS, "a material's law"): _plain(material.law)}
    return out if material.friction is None else {**out, "friction": _plain(material.friction)}


def _solid(solid: terrain.Terrain, materials: dict) -> dict:
    kind = _kind(solid, SOLIDS, f"terrain {solid.name!r}")
    fields = _plain(solid, "name", "material", "origin")
    if "center" in fields:
        fields["position"] = fields.pop("center")
    if kind in ("box", "cylinder") and solid.origin != Origin():
        fields["position"] = list(solid.origin.xyz)
        fields["rpy_deg"] = [_degrees(a) for a in solid.origin.rpy]
    if kind == "height_field":
        fields = Block(fields)
        fields["heights"] = Rows(fields["heights"])
    out = {"name": solid.name, "material": _name_of(solid.material, materials), kind: fields}
    return Block(out) if kind == "height_field" else out


def _thrusters(thrusters: tuple[Thruster, ...]) -> Rows:
    """Thrusters in a row that are alike and have the names of their frames stand in a group."""
    out = Rows()
    for thruster in thrusters:
        fields = {"curve": _curve(thruster.curve), **_plain(thruster, "name", "frame", "curve")}
        if thruster.name != thruster.frame:
            out.append({"frame": thruster.frame, "name": thruster.name, **fields})
        elif out and "frames" in out[-1] and {k: v for k, v in out[-1].items() if k != "frames"} == fields:
            out[-1]["frames"].append(thruster.frame)
        else:
            out.append({"frames": [thruster.frame], **fields})
    return out


def _curve(curve: ForceCurve) -> dict:
    """The short way to write a curve where there is one."""
    commands, forces = curve.commands, curve.forces
    limits = {"forward": forces[-1], "reverse": -forces[0]}
    dead = {"dead_band": commands[-2]} if len(commands) == 4 else {}
    candidates = {"N": [("newtons", limits)], "throttle": [("throttle", limits | dead)]}
    candidates["us"] = [("t200", {"voltage": float(v)}) for v in range(10, 21)]
    for kind, values in candidates.get(curve.unit, ()):
        try:
            if curve_of(kind, **values) == curve:
                return {kind: values}
        except ValueError:
            continue
    return {"table": {"commands": list(commands), "forces": list(forces), "unit": curve.unit}}


def _joints(scenario: Scenario) -> Block:
    out = Block()
    for name, drive in scenario.drives:
        fields = _plain(drive)
        if fields.get("back_emf", 0.0) == fields.get("torque_constant"):
            del fields["back_emf"]
        out.setdefault(name, {})["drive"] = {_kind(drive, DRIVES, f"the drive of joint {name!r}"): fields}
    for key in ("friction", "stops"):
        for name, value in getattr(scenario, key):
            out.setdefault(name, {})[key] = "none" if value is None else _plain(value)
    return out


def _controller(controller, folder) -> Block:
    if not isinstance(controller, ControllerSpec):
        raise UnsupportedFeature(
            f"controller is {controller!r}, a Python object, which a scenario file cannot hold; "
            "put it in a module and give a ControllerSpec with its name"
        )
    file, colon, name = controller.type.rpartition(":")
    in_file = colon and file.endswith(".py")
    out = Block(type=f"{_relative(file, folder)}:{name}" if in_file else controller.type, period=controller.period)
    if controller.parameters:
        out["parameters"] = Block((key, _data(f"controller.parameters.{key}", x)) for key, x in controller.parameters.items())
    return out


def _data(what: str, value):
    """Plain data of a parameter."""
    if isinstance(value, dict):
        return {str(key): _data(f"{what}.{key}", x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [_data(what, x) for x in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise UnsupportedFeature(f"{what} is {value!r}; a scenario file holds numbers, texts, lists and mappings")


def _event(event) -> dict:
    out = _plain(event, "command", "wrench")
    if event.command:
        out["command"] = dict(event.command)
    if event.wrench:
        out["wrench"] = {body: list(wrench) for body, wrench in event.wrench}
    return out


def _in_degrees(fields: dict) -> dict:
    angles = ("direction", "phase")
    return {f"{k}_deg" if k in angles else k: _degrees(x) if k in angles else x for k, x in fields.items()}


def _degrees(angle: float) -> float:
    """Degrees that `math.radians` turns back into the same angle, where there are such, and as few digits as possible."""
    exact = math.degrees(angle)
    near = [round(exact, digits) for digits in (0, 3, 6, 9, 12)]
    near += [exact, math.nextafter(exact, math.inf), math.nextafter(exact, -math.inf)]
    return next((d for d in near if math.radians(d) == angle), exact)
