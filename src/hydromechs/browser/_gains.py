"""Numbers of controllers that a page can change, such as gains and setpoints.

A page cannot repeat the computation of gains in Python, for example from a Riccati equation. The page contains the design
numbers of the controller (`TracedBlock.design`) at several values of the number, and switches between them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hydromechs import registry
from hydromechs.errors import UnsupportedFeature
from hydromechs.simulation import Simulation, TracedBlock

if TYPE_CHECKING:
    from hydromechs.scenario import Scenario

POINTS = 11
"""Number of values over the range of a slider."""


def is_gain(scenario: Scenario, path: str) -> bool:
    """Return True if a path denotes a number of a controller block."""
    try:
        return not registry.is_factor(path) and all(keys[0] == "blocks" for keys in registry.located(scenario, path))
    except KeyError:
        return False  # the simulation reports it


def redesigned(scenario: Scenario, path: str, value: float) -> tuple[int, TracedBlock]:
    """Return the index of the controller that a path denotes, and a prepared controller with another value at this path."""
    block = scenario.blocks[int(registry.located(scenario, path)[0][1])]
    mission = Simulation(registry.replaced(scenario, path, value)).mission
    controllers = list(scenario.controllers)
    traced = mission.parts[controllers.index(block)].traced if mission is not None and block in controllers else None
    if traced is None:
        raise UnsupportedFeature(f"parameter {path!r} is not a number of a compiled controller; remove it from the parameters")
    return controllers.index(block), traced


def gain_row(scenario: Scenario, sim: Simulation, path: str, low: float, high: float) -> dict[str, Any]:
    """Return values of a gain, the design numbers of the controller for each, and the index of its first design number.

    The values lie between two limits; the value in the scenario is always one of them, because missions start with it.
    """
    own = float(registry.value(scenario, path))
    values = sorted({own, *np.linspace(low, high, POINTS).tolist()})
    found = [redesigned(scenario, path, value) for value in values]
    number, first = found[0]
    parts = () if sim.mission is None else sim.mission.parts
    before = [part.traced for part in parts[:number]]
    texts = {str(block.program().traced) for _, block in (found[0], found[-1])}
    if len(texts) > 1 or len({len(block.design_values) for _, block in found}) > 1:
        raise UnsupportedFeature(
            f"parameter {path!r} is part of the program of {type(first).__name__}, so that it cannot change in a page; "
            "remove it from the parameters"
        )
    at = sum(len(block.design_values) for block in before if block is not None)
    return {"values": values, "designs": [block.design_values.tolist() for _, block in found], "at": at}


def set_gain(sim: Simulation, scenario: Scenario, path: str, value: float) -> None:
    """Replace the controller design in a running simulation by the design for another value at a path."""
    number, changed = redesigned(scenario, path, value)
    assert sim.mission is not None
    own = sim.mission.parts[number].traced
    assert own is not None
    own.design_values = changed.design_values
    sim.march.given["design"][:] = sim.mission.given["design"]
