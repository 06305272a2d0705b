"""Models and surroundings of a recording, stored as text in its attributes for replays.

A recording is data: drawing it must not need the files and code that produced it, which may be missing, changed or hostile.
"""

import copy
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hydromechs.actuation import Thruster
from hydromechs.contact import Terrain
from hydromechs.errors import ScenarioError, UnsupportedFeature
from hydromechs.geometry import Mesh
from hydromechs.model import FAMILIES, Model, joints
from hydromechs.registry import Family
from hydromechs.scenario import ModelStart, Scenario

from ._read import loads
from ._scenario_read import loads_drawn_scenario
from ._scenario_write import dumps_scenario
from ._write import ModelWriter, model_text

MODEL, SURROUNDINGS = "drawn_model", "drawn_surroundings"
"""Attributes of a recording: a model file with all bodies, and a scenario file with thrusters, terrain and water."""
NAME = "recorded"
"""Name of the model in the scenario of the surroundings."""


def drawing_attrs(scenario: Scenario) -> dict[str, str]:
    """Return the attributes from which `drawn_scenario` rebuilds the scene; empty if a file cannot express the scenario."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about a scenario without its mission
            return _drawing(scenario)
    except (UnsupportedFeature, ScenarioError):  # objects built in Python; drawing must not stop a run
        return {}


def _drawing(scenario: Scenario) -> dict[str, str]:
    drawn = copy.copy(scenario)  # a part of a valid scenario need not be checked again
    left: dict[str, Any] = {"title": "", "description": "", "world": None, "randomisation": None, "engine": None}
    left |= dict.fromkeys(("blocks", "commands", "events", "checks", "expected_warnings"), ())
    left["models"] = (ModelStart(model=scenario.model, source=NAME),)
    left["components"] = (*scenario.parts(Terrain), *scenario.parts(Thruster))
    for name, value in left.items():
        object.__setattr__(drawn, name, value)
    return {MODEL: model_text(scenario.model, _DrawnModelWriter(FAMILIES)), SURROUNDINGS: dumps_scenario(drawn)}


def drawn_scenario(
    attrs: Mapping[Any, Any], source: str, library: Callable[[str], Model], plants: Callable[[str], Scenario]
) -> Scenario:
    """Return the scenario of a recording for drawing, without its mission. Runs no code and reads no file of a policy.

    Older recordings store no models: files of models are read only for these, as their scenario names them.
    """
    if MODEL not in attrs or SURROUNDINGS not in attrs:
        text, file = str(attrs.get("scenario") or ""), Path(str(attrs.get("scenario_file") or "scenario.yaml"))
        if not text.strip():
            raise ValueError(f"{source} does not name its model; pass it with --model")
        return loads_drawn_scenario(text, str(file), file.parent, library, plants)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about a scenario without its mission
        model = loads(str(attrs[MODEL]), f"{source}: {MODEL}")
        text, name = str(attrs[SURROUNDINGS]), f"{source}: {SURROUNDINGS}"
        return loads_drawn_scenario(text, name, library=lambda name: model, model_files=False)


class _DrawnModelWriter(ModelWriter):
    """Writes a model for drawing anywhere: absolute mesh paths, and no custom joints, because poses are recorded."""

    def fields(self, thing: Any, path: tuple = (), skip: tuple[str, ...] = ()) -> dict[str, Any]:
        thing = replace(thing, file=str(thing.path.absolute())) if isinstance(thing, Mesh) else thing
        return super().fields(thing, path, skip)

    def part(self, thing: Any, family: Family, path: tuple, skip: tuple[str, ...] = ()) -> Any:
        joint = isinstance(thing, joints.Joint | joints.Composite)
        custom = joint and not all(type(part) in joints.TYPES.values() for part in thing.parts)
        return super().part(joints.Fixed() if custom else thing, family, path, skip)
