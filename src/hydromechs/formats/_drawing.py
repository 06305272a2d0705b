"""Models and surroundings of a recording, stored as text in its attributes for replays.

A recording is data: drawing it must not need the files and code that produced it, which may be missing, changed or hostile.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hydromechs.actuation import Thruster
from hydromechs.contact import Terrain
from hydromechs.errors import ScenarioError, UnsupportedFeature
from hydromechs.geometry import Mesh
from hydromechs.model import BodyShape, Model, joints
from hydromechs.scenario import ModelStart, Scenario

from ._read import loads
from ._scenario_read import loads_scenario
from ._scenario_write import dumps_scenario
from ._write import dumps

MODEL, SURROUNDINGS = "drawn_model", "drawn_surroundings"
"""Attributes of a recording: a model file with all bodies, and a scenario file with thrusters, terrain and water."""
NAME = "recorded"
"""Name of the model in the scenario of the surroundings."""


def drawing_attrs(scenario: Scenario) -> dict[str, str]:
    """Return the attributes from which `drawn_scenario` rebuilds the scene; empty if a file cannot express the scenario.

    Meshes are stored as absolute paths, not copied.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about a scenario without its mission
            return _drawing(scenario)
    except (UnsupportedFeature, ScenarioError):  # objects built in Python; drawing must not stop a run
        return {}


def _drawing(scenario: Scenario) -> dict[str, str]:
    model = _absolute_meshes(scenario.model)
    drawn = Scenario(
        name=scenario.name,
        models=(ModelStart(model=model, source=NAME),),
        environment=scenario.environment,
        components=(*scenario.parts(Terrain), *scenario.parts(Thruster)),
        integrator=scenario.integrator,
        step=scenario.step,
        record=scenario.record,
        duration=scenario.duration,
        seed=scenario.seed,
    )
    return {MODEL: dumps(model), SURROUNDINGS: dumps_scenario(drawn)}


def drawn_scenario(attrs: Mapping[Any, Any], source: str) -> Scenario | None:
    """Return the scenario that a recording stores for drawing; None if it stores none. Runs no code and reads no model file."""
    if MODEL not in attrs or SURROUNDINGS not in attrs:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a scenario without its mission
        model = loads(str(attrs[MODEL]), f"{source}: {MODEL}")
        return loads_scenario(str(attrs[SURROUNDINGS]), f"{source}: {SURROUNDINGS}", library=lambda name: model)


def _absolute_meshes(model: Model) -> Model:
    """Return the model with absolute paths of its meshes."""

    def absolute(thing: BodyShape) -> BodyShape:
        mesh = thing.shape
        return replace(thing, shape=replace(mesh, file=str(mesh.path.absolute()))) if isinstance(mesh, Mesh) else thing

    return replace(
        model,
        bodies=tuple(replace(b, shapes=tuple(map(absolute, b.shapes)), joint=_plain_joint(b.joint)) for b in model.bodies),
    )


def _plain_joint(joint: joints.Joint | joints.Composite) -> joints.Joint | joints.Composite:
    """The joint, or a fixed one in place of custom code: poses are recorded, so drawing does not need it."""
    return joint if all(type(part) in joints.TYPES.values() for part in joint.parts) else joints.Fixed()
