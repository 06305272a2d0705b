"""A `Scenario` to a scenario file: what equals a default is left out, floats are written by their shortest text."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from hydromechs.actuation import Thruster
from hydromechs.contact import Material, terrain
from hydromechs.errors import UnsupportedFeature
from hydromechs.hybrid import Exact, Filtered, Hybrid
from hydromechs.scenario import ComponentSpec, ControllerSpec, ModelStart, Scenario
from hydromechs.values import is_path

from . import _scenario_entries  # noqa: F401 how a file writes the classes of a scenario
from ._convert import written
from ._emit import Block, Rows, emit
from ._write import check_suffix, replace_file

__all__ = ["dumps_scenario", "save_scenario"]


def save_scenario(scenario: Scenario, path: str | Path) -> None:
    """Write a scenario file; a file that is there is replaced at once or, if anything fails, not at all.

    Args:
        scenario: The scenario. Its models and controllers are named in the file, by paths relative to it, and not copied.
        path: The file.
    """
    check_suffix(path, "scenario")
    replace_file(dumps_scenario(scenario, Path(path).absolute().parent), path)


def dumps_scenario(scenario: Scenario, folder: str | Path | None = None) -> str:
    """The text of a scenario file, which `loads_scenario` turns back into an equal scenario.

    Angles are written in degrees; those that no number of degrees gives exactly change in their last digit.

    Args:
        scenario: The scenario; its models must have a `source`, its controller must be a `ControllerSpec`.
        folder: Where the file will be; paths are written relative to it. As they are unless given.
    """
    materials = _materials(scenario)
    out = Block(hydromechs_scenario=1, name=scenario.name, title=scenario.title, description=scenario.description)
    out["models"] = Rows(_start(i, start, folder) for i, start in enumerate(scenario.models))
    out["world"] = None if scenario.world is None else written(scenario.world)
    out["environment"] = written(scenario.environment)
    out["materials"] = Block((name, _material(m)) for name, m in materials.items())
    out["terrain"] = Rows(_solid(solid, materials) for solid in scenario.terrain)
    contact = {"points": list(scenario.touching), "bodies": [list(pair) for pair in scenario.collisions]}
    if scenario.material is not None:
        contact["material"] = _name_of(scenario.material, materials)
    out["contact"] = {key: value for key, value in contact.items() if value}
    out["thrusters"] = _thrusters(scenario.thrusters)
    out["joints"] = _joints(scenario)
    out["grasps"] = Rows(written(grasp) for grasp in scenario.grasps)
    out["tethers"] = Rows(written(tether, f"tether {tether.name!r}") for tether in scenario.tethers)
    out["external"] = list(scenario.external)
    out["components"] = Rows(_code(f"components.{i}", c, folder) for i, c in enumerate(scenario.components))
    out["commands"] = dict(scenario.commands)
    out["controller"] = None if scenario.controller is None else _code("controller", scenario.controller, folder)
    out["sensors"] = Rows(written(s, f"sensor {s.name!r}") for s in scenario.sensors)
    if scenario.navigation is not None:
        out["navigation"] = written(scenario.navigation) or {"read": scenario.navigation.read}
    out["events"] = Rows(written(event) for event in scenario.events)
    out["randomisation"] = None if scenario.randomisation is None else written(scenario.randomisation)
    out["integrator"] = _integrator(scenario.integrator)
    out["engine"] = None if scenario.engine is None else _engine(scenario.engine)
    for key in ("step", "record", "duration", "seed"):
        out[key] = getattr(scenario, key)
    out["checks"] = Rows(written(check) for check in scenario.checks)
    out["expected_warnings"] = list(scenario.expected_warnings)
    return emit(Block((key, value) for key, value in out.items() if value not in ("", None, {}, [])))


def _integrator(method: Any) -> Any:
    values = written(method) if method.name == "dormand_prince" else {}
    return {method.name: values} if values else method.name


def _engine(hybrid: Hybrid) -> Any:
    out: dict[str, Any] = {"name": hybrid.engine}
    if hybrid.scheme != Exact():
        values = written(hybrid.scheme) if isinstance(hybrid.scheme, Filtered) else {}
        out["scheme"] = {hybrid.scheme.name: values} if values else hybrid.scheme.name
    if hybrid.accept_unstable:
        out["accept_unstable"] = True
    return hybrid.engine if len(out) == 1 else out


def _relative(path: str, folder: str | Path | None) -> str:
    """A path from the folder of the scenario file, with a dot or a slash in it so that it is not taken for a library name."""
    if folder is not None:
        try:
            path = os.path.relpath(path, folder)
        except ValueError:  # another drive
            path = os.path.abspath(path)
    path = path.replace(os.sep, "/")
    return path if is_path(path) else f"./{path}"


def _start(i: int, start: ModelStart, folder: str | Path | None) -> dict[str, Any]:
    if start.source is None:
        raise UnsupportedFeature(
            f"models.{i}: model {start.model.name!r} has no source; write it with hydromechs.save and give its path as source"
        )
    named = not is_path(start.source)
    return Block(written(start), model=start.source if named else _relative(start.source, folder))


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


def _material(material: Material) -> dict[str, Any]:
    out = written(material.law, "a material")
    return out if material.friction is None else {**out, "friction": written(material.friction)}


def _solid(solid: terrain.Terrain, materials: dict[str, Material]) -> dict[str, Any]:
    out = {"name": solid.name, "material": _name_of(solid.material, materials)}
    shape = written(solid, f"terrain {solid.name!r}")
    return Block(out | shape) if any(isinstance(fields, Block) for fields in shape.values()) else out | shape


def _thrusters(thrusters: tuple[Thruster, ...]) -> Rows:
    """Thrusters in a row that are alike and have the names of their frames stand in a group."""
    out = Rows()
    for thruster in thrusters:
        fields = written(thruster)
        if "frames" in fields and out and out[-1] == fields | {"frames": out[-1].get("frames")}:
            out[-1]["frames"] += fields["frames"]
        else:
            out.append(fields)
    return out


def _joints(scenario: Scenario) -> Block:
    out = Block()
    for section, key in (("drives", "drive"), ("motions", "motion"), ("friction", "friction"), ("stops", "stops")):
        for name, value in getattr(scenario, section):
            what = f"the {key} of joint {name!r}"
            out.setdefault(name, {})[key] = "none" if value is None else written(value, what)
    return out


def _code(what: str, spec: Any, folder: str | Path | None) -> dict[str, Any]:
    """A controller or component, which must be given by the name of its class."""
    if not isinstance(spec, ControllerSpec | ComponentSpec):
        raise UnsupportedFeature(
            f"{what} is {spec!r}, a Python object, which a scenario file cannot hold; "
            "put it in a module and give a ControllerSpec or ComponentSpec with its name"
        )
    file, colon, name = spec.type.rpartition(":")
    out = Block(type=f"{_relative(file, folder)}:{name}" if colon and file.endswith(".py") else spec.type)
    if isinstance(spec, ControllerSpec):
        out["period"] = spec.period
    if spec.parameters:
        out["parameters"] = Block((key, _data(f"{what}.parameters.{key}", x)) for key, x in spec.parameters.items())
    return out


def _data(what: str, value: Any) -> Any:
    """Plain data of a parameter."""
    if isinstance(value, dict):
        return {str(key): _data(f"{what}.{key}", x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [_data(what, x) for x in value]
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise UnsupportedFeature(f"{what} is {value!r}; a scenario file holds numbers, texts, lists and mappings")
