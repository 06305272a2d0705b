"""Plant of an imported robot description: its model with the actuators, springs and rotors of the file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hydromechs.model import Model
from hydromechs.model.component import Component
from hydromechs.scenario import ModelStart, Scenario

from ._scenario_write import dumps_scenario
from ._write import replace_file


def robot_plant(model: Model, components: Iterable[Component], source: str | None = None) -> Scenario:
    """Return a scenario without a mission that contains a model, given its path for scenario files, and its components."""
    return Scenario(name=model.name, models=(ModelStart(model=model, source=source),), components=tuple(components))


def plant_path(out: Path) -> Path:
    """Return the path of the file with the actuators of a model file: "rov_plant.yaml" for "rov.yaml"."""
    return out.with_name(f"{out.stem}_plant{out.suffix}")


def save_plant(model: Model, components: Iterable[Component], out: Path) -> Path:
    """Write thrusters and drives beside a model file, for `plant:` in scenarios and `load_plant`; return the new path."""
    path = plant_path(out)
    head = f"# {out.name} with its actuators: a scenario without a mission, for load_plant and `plant:` in scenario files.\n"
    scenario = robot_plant(model, components, str(out.absolute()))
    replace_file(head + dumps_scenario(scenario, out.absolute().parent), path)
    return path


def convertible(text: str) -> str:
    """Extend a problem of a robot description, because a scenario cannot set the import options that the message suggests."""
    advised = "(--" in text
    return f"{text}; in a scenario, first convert the file with these options, then name the new file" if advised else text
