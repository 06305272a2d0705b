"""Writer of a `Scenario`, or of the plant of a robot, as a scenario file without defaults and with shortest exact floats."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hydromechs.contact import MATERIALS, Material, Terrain
from hydromechs.errors import UnsupportedFeature
from hydromechs.model import Model
from hydromechs.model.component import Component
from hydromechs.registry import Writer
from hydromechs.scenario import FAMILIES, ModelStart, Scenario
from hydromechs.values import is_path

from ._scenario_sections import SCENARIO_KEY, SCENARIO_VERSION, RunKeys, ScenarioFile, grouped, named_materials
from ._write import Block, check_suffix, emit, replace_file


def save_scenario(scenario: Scenario, path: str | Path, *, plain: bool = False) -> None:
    """Write a scenario file; an existing file is replaced atomically, and kept if writing fails.

    Args:
        scenario: The scenario. The file refers to models and custom classes by relative paths; they are not copied.
        path: Path of the file.
        plain: True for `components` and `blocks` only, without shorthand sections.
    """
    check_suffix(path, "scenario")
    replace_file(dumps_scenario(scenario, Path(path).absolute().parent, plain=plain), path)


def dumps_scenario(scenario: Scenario, folder: str | Path | None = None, *, plain: bool = False) -> str:
    """Return the text of a scenario file, which `loads_scenario` reads as an equal scenario.

    `scenario`: scenario whose models have a `source`. `folder`: folder of the file, to which paths are relative; if
    omitted, paths are unchanged. `plain`: True for `components` and `blocks` only, without shorthand sections.
    """
    writer = _ScenarioWriter(scenario, None if folder is None else Path(folder))
    run = RunKeys(**{key: getattr(scenario, key) for key in RunKeys.__dataclass_fields__})
    out = Block({SCENARIO_KEY: SCENARIO_VERSION})
    out |= {key: getattr(scenario, key) for key in ("name", "title", "description")}
    out["models"] = Block((start.name, _start(start, folder)) for start in scenario.models)
    out["world"] = None if scenario.world is None else writer.fields(scenario.world, ("world",))
    out["environment"] = writer.fields(scenario.environment, ("environment",))
    out["materials"] = Block((name, writer.fields(m, ("materials", name))) for name, m in writer.materials.items())
    sections = grouped(scenario, writer, plain)
    for key in ScenarioFile.__dataclass_fields__:
        out |= {key: sections[key]} if key in sections else {}
    out["commands"] = dict(scenario.commands)
    for key in ("events", "checks"):
        items = getattr(scenario, key)
        out[key] = Block((item.name, writer.fields(item, (key, item.name), ("name",))) for item in items)
    out["randomisation"] = None if scenario.randomisation is None else writer.fields(scenario.randomisation, ("randomisation",))
    out["run"] = writer.fields(run, ("run",))
    out["checks"] = out.pop("checks")
    out["expected_warnings"] = list(scenario.expected_warnings)
    return emit(Block((key, value) for key, value in out.items() if value not in ("", None, {}, [])))


class _ScenarioWriter(Writer):
    """Writer of the objects of a scenario; materials and the ground of tethers are written as names."""

    def __init__(self, scenario: Scenario, folder: Path | None) -> None:
        super().__init__(FAMILIES, folder)
        self.materials = named_materials(scenario)

    def value(self, value: Any, hint: Any, path: tuple = ()) -> Any:
        if isinstance(value, Material):
            return next(name for name, m in {**MATERIALS, **self.materials}.items() if m == value)
        if path[-1:] == ("ground",) and all(isinstance(solid, Terrain) for solid in value):
            return [solid.name for solid in value]
        return super().value(value, hint, path)


def _start(start: ModelStart, folder: str | Path | None) -> dict[str, Any]:
    if start.source is None:
        raise UnsupportedFeature(
            f"models.{start.name}: model {start.model.name!r} has no source; save it with hydromechs.save and use its path "
            "as source"
        )
    out: dict[str, Any] = {"model": relative(start.source, folder) if is_path(start.source) else start.source}
    out |= {} if start.mount is None else {"mount": start.mount}
    rows = {"position": start.position, "quaternion": start.orientation, "velocity": start.velocity}
    out |= {key: list(row) for key, row in rows.items() if row is not None}
    joints = {name: {"quaternion": list(x)} if isinstance(x, tuple) and len(x) == 4 else x for name, x in start.joints}
    rates = {name: list(x) if isinstance(x, tuple) else x for name, x in start.joint_velocities}
    return out | ({"joints": joints} if joints else {}) | ({"joint_velocities": rates} if rates else {})


def relative(path: str, folder: str | Path | None) -> str:
    """Return a path relative to a folder (None: unchanged), with a dot or slash to distinguish it from a library name."""
    if folder is not None:
        try:
            path = os.path.relpath(path, folder)
        except ValueError:  # another drive
            path = os.path.abspath(path)
    path = path.replace(os.sep, "/")
    return path if is_path(path) else f"./{path}"


def robot_plant(model: Model, components: Iterable[Component], source: str | None = None) -> Scenario:
    """Return a scenario without a mission that contains a model, with its path in scenario files, and its components."""
    return Scenario(name=model.name, models=(ModelStart(model=model, source=source),), components=tuple(components))


def plant_path(out: Path) -> Path:
    """Return the path of the file with the actuators of a model file: "rov_plant.yaml" for "rov.yaml"."""
    return out.with_name(f"{out.stem}_plant{out.suffix}")


def save_plant(model: Model, components: Iterable[Component], out: Path) -> Path:
    """Write thrusters and drives to a file next to a model file, for `plant:` and `load_plant`; return the path."""
    path = plant_path(out)
    head = f"# {out.name} with its actuators: a scenario without a mission, for load_plant and `plant:` in scenario files.\n"
    scenario = robot_plant(model, components, str(out.absolute()))
    replace_file(head + dumps_scenario(scenario, out.absolute().parent), path)
    return path


def convertible(text: str) -> str:
    """Extend an error of a robot description whose message suggests import options, which a scenario cannot set."""
    advised = "(--" in text
    return f"{text}; for a scenario, convert the file with these options first, and use the new file" if advised else text
