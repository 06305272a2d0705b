"""Sweeps with one program, whose runs differ only in the inputs of the program, so that many runs share lanes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hydromechs.integrators import FixedStep, method_named, whole_steps
from hydromechs.model.component import Order
from hydromechs.model.joints import Free

if TYPE_CHECKING:
    from hydromechs.scenario import ModelStart, Scenario

    from ._definition import ParameterSweep

STARTS = ("position", "velocity", "joints", "joint_velocities", "rpy_deg")
"""Fields of `ModelStart` that affect only the initial state."""


def fits_lanes(sweep: ParameterSweep) -> bool:
    """True if the runs of a sweep are worlds of one plant, without Python code and with differences only in numbers."""
    scenario = sweep.scenario
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
    starts = [path for path in sweep.paths if _is_start(sweep, path)]
    return all(_is_number(sweep, path) for path in sweep.paths) and (free or not starts)


def _starts_with_water(scenario: Scenario) -> bool:
    """True if initial states of a component may depend on the water, which varies between runs."""
    plant = scenario.plant
    others = [c for c in plant.components if c.order(plant.model)[0] == Order.OTHER]
    return any(callable(slot.start) for c in others for slot in c.states(plant.model))


def stands_free(start: ModelStart) -> bool:
    """True if a model has a free root, so that its pose is part of the state and not of the compiled programs."""
    return any(isinstance(body.joint, Free) for body in start.model.bodies if body.parent is None)


def is_open_or_start(sweep: ParameterSweep, path: str) -> bool:
    """True if a path refers to an open number of the compiled programs, or to the initial state of a model."""
    return path in sweep.opened or _is_start(sweep, path)


def _is_start(sweep: ParameterSweep, path: str) -> bool:
    places = sweep.places(path)
    return bool(places) and all(keys[0] == "models" and keys[2:3] and keys[2] in STARTS for keys in places)


def _is_number(sweep: ParameterSweep, path: str) -> bool:
    places = sweep.places(path)
    given = bool(places) and all(keys == ("seed",) or keys[0] == "commands" for keys in places)
    return given or is_open_or_start(sweep, path)
