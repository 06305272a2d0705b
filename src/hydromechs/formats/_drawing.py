"""Models and surroundings of a recording, stored as text in the attributes of the recording for replays.

A recording must be drawn without the files and code that produced it, because these may be missing, changed or malicious.
"""

import contextlib
import copy
import json
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hydromechs import files
from hydromechs.actuation import Thruster
from hydromechs.contact import Terrain
from hydromechs.errors import ModelError, ScenarioError, UnsupportedFeature
from hydromechs.geometry import Mesh
from hydromechs.model import FAMILIES, joints
from hydromechs.model.flexible import ModalLink
from hydromechs.registry import Family
from hydromechs.scenario import ModelStart, Scenario

from ._read import loads
from ._scenario_read import loads_scenario
from ._scenario_write import dumps_scenario
from ._write import ModelWriter, model_text

MODEL, SURROUNDINGS, FILES = "drawn_model", "drawn_surroundings", "drawn_files"
"""Attributes of a recording: a model file with all bodies, a scenario file with thrusters, terrain and water, and digests
of the files that the model refers to."""
NAME = "recorded"
"""Name of the model in the scenario of the surroundings."""


def drawing_attrs(scenario: Scenario) -> dict[str, str]:
    """Return the attributes from which `drawn_scenario` restores the scene; empty if files cannot represent the scenario."""
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
    writer = _DrawnModelWriter(FAMILIES)
    text = model_text(scenario.model, writer)
    return {MODEL: text, SURROUNDINGS: dumps_scenario(drawn), FILES: json.dumps(_digests(writer.meshes, writer.modes))}


def _digests(meshes: set[Path], others: set[Path]) -> list[str]:
    """Return the digests of mesh files, of their colour files, and of other files."""
    found = set()
    for file in meshes.union(others, *(mesh.parent.glob("*.mtl") for mesh in meshes if mesh.suffix.lower() == ".obj")):
        with contextlib.suppress(OSError):  # drawn as a box
            found.add(files.digest(file))
    return sorted(found)


def drawn_files(attrs: Mapping[Any, Any]) -> list[str]:
    """Return the digests of the files that the scene of a recording may read."""
    try:
        return [str(digest) for digest in json.loads(str(attrs.get(FILES, "[]")))]
    except (TypeError, ValueError, RecursionError):
        return []


def drawn_scenario(attrs: Mapping[Any, Any], source: str) -> Scenario:
    """Return the scenario of a recording for drawing, without its mission. No code is executed; call within `files.only`."""
    if MODEL not in attrs or SURROUNDINGS not in attrs:
        raise ModelError(source, ["the recording does not contain its model"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about a scenario without its mission
        model = loads(str(attrs[MODEL]), f"{source}: {MODEL}")
        text, name = str(attrs[SURROUNDINGS]), f"{source}: {SURROUNDINGS}"
        return loads_scenario(text, name, library=lambda name: model)


class _DrawnModelWriter(ModelWriter):
    """Writer of a model for drawing on any machine: absolute mesh paths, and no custom joints, because poses are recorded."""

    def __init__(self, families: Any) -> None:
        super().__init__(families)
        self.meshes: set[Path] = set()
        """Paths of all meshes."""
        self.modes: set[Path] = set()
        """Paths of the mode files of flexible links."""

    def fields(self, thing: Any, path: tuple = (), skip: tuple[str, ...] = ()) -> dict[str, Any]:
        if isinstance(thing, Mesh | ModalLink):
            file = thing.path.absolute()
            (self.meshes if isinstance(thing, Mesh) else self.modes).add(file)
            thing = replace(thing, file=str(file))
        return super().fields(thing, path, skip)

    def part(self, thing: Any, family: Family, path: tuple, skip: tuple[str, ...] = ()) -> Any:
        joint = isinstance(thing, joints.Joint | joints.Composite)
        custom = joint and not all(type(part) in joints.TYPES.values() for part in thing.parts)
        return super().part(joints.Fixed() if custom else thing, family, path, skip)
