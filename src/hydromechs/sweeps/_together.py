"""Which sweeps are one program: their runs differ in numbers that the programs take, so that many go on lanes together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hydromechs.integrators import FixedStep, method_named, whole_steps
from hydromechs.model.component import Order
from hydromechs.model.joints import Free

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hydromechs.scenario import ModelStart, Scenario

    from ._definition import ParameterSweep

OF_MODEL = "model."
"""What paths to numbers of the whole model begin with; these stay open when it is compiled."""
CURRENT = "environment.current.velocity."
"""What paths to the current begin with."""
STARTS = ("position", "velocity", "joints", "joint_velocities", "rpy_deg")
"""Fields of a model's start that change its first state alone."""


def fits_lanes(sweep: ParameterSweep) -> bool:
    """True if the runs of a sweep are worlds of one plant: nothing of it is Python, and they differ in numbers alone."""
    scenario = sweep.scenario
    if sweep.built_anew:
        return False
    python = scenario.blocks or scenario.events
    if python or scenario.engine is not None or not isinstance(method_named(scenario.integrator), FixedStep):
        return False
    water = scenario.environment
    flows = water.current is not None or water.gusts is not None or bool(water.waves)
    if flows and _starts_with_water(scenario):
        return False
    try:
        whole_steps(scenario.duration, scenario.record, "duration")
    except ValueError:
        return False
    free = all(map(stands_free, scenario.models))
    return all(map(_is_number, sweep.paths)) and (free or not _starts(sweep.paths))


def _starts_with_water(scenario: Scenario) -> bool:
    """True if states of a component may start as the water is, which differs from run to run."""
    plant = scenario.plant
    others = [c for c in plant.components if c.order(plant.model)[0] == Order.OTHER]
    return any(callable(slot.start) for c in others for slot in c.states(plant.model))


def stands_free(start: ModelStart) -> bool:
    """True if a model has a free root, so that its place is part of its state; else it is part of the programs."""
    return any(isinstance(body.joint, Free) for body in start.model.bodies if body.parent is None)


def is_model_or_start(path: str) -> bool:
    """True if a path leads to an open parameter of the model, or to the start of a model."""
    return path.startswith(OF_MODEL) or bool(_starts([path]))


def _starts(paths: Sequence[str]) -> list[str]:
    """Paths to starts of models."""
    pieces = [(path, path.split(".")) for path in paths]
    return [path for path, p in pieces if p[0] == "models" and len(p) > 3 and p[2] in STARTS]


def _is_number(path: str) -> bool:
    """True if a path leads to a number that programs take."""
    return is_model_or_start(path) or path == "seed" or path.startswith(("commands.", CURRENT))
