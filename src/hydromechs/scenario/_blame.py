"""Which part of a scenario is to blame where the whole cannot be built or started."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hydromechs.errors import ModelError, message_of
from hydromechs.model import Fault
from hydromechs.model.component import Component

from ._assemble import start_names

if TYPE_CHECKING:
    from ._scenario import Scenario

__all__ = ["REFUSED", "building_faults", "owner_of", "place_of"]

REFUSED = (ValueError, KeyError, TypeError, ArithmeticError)
"""Errors with which a part refuses what it is given."""


def owner_of(scenario: Scenario, name: str) -> tuple[int, str]:
    """Number of the model that a body or joint belongs to, and its name there.

    Args:
        scenario: The scenario.
        name: Name of the body or joint in the scenario.
    """
    if len(scenario.models) > 1:
        for i, model in enumerate(start_names(scenario.models)):
            if name.startswith(f"{model}."):
                return i, name.removeprefix(f"{model}.")
    return 0, name


def place_of(scenario: Scenario, component: Component) -> tuple[Any, ...]:
    """Path of what a component of the plant comes from: a part of the scenario, or a model.

    Args:
        scenario: The scenario.
        component: One of the components of its plant.
    """
    for i, part in enumerate(scenario.components):
        if part.owns(scenario.model, component):
            return "components", i
    joint = getattr(component, "joint", None)
    return () if joint is None else ("models", owner_of(scenario, joint)[0])


def building_faults(scenario: Scenario) -> list[Fault]:
    """Faults of the parts of a plant that cannot be built: each that cannot be added to those before it.

    Args:
        scenario: The scenario; its names are good.
    """
    alone = _refusal(scenario, [])
    if isinstance(alone, ModelError):
        return [Fault(("models", _model_of(scenario, fault)), fault.text) for fault in alone.faults]
    if alone is not None:
        return [Fault(("models", 0), message_of(alone))]
    parts = list(enumerate(scenario.components))
    parts.sort(key=lambda part: part[1].acts)  # what others refer to comes first
    out = []
    while (error := _refusal(scenario, parts)) is not None:
        good, bad = 0, len(parts)  # the first `good` can be built, the first `bad` cannot
        while bad - good > 1:
            middle = (good + bad) // 2
            found = _refusal(scenario, parts[:middle])
            good, bad, error = (middle, bad, error) if found is None else (good, middle, found)
        out.append(Fault(("components", parts.pop(bad - 1)[0]), message_of(error)))
    return out


def _model_of(scenario: Scenario, fault: Fault) -> int:
    """Number of the model in which a fault of all models as one lies."""
    numbered = len(fault.path) > 1 and isinstance(fault.path[1], int)
    return owner_of(scenario, scenario.model.bodies[fault.path[1]].name)[0] if numbered else 0


def _refusal(scenario: Scenario, parts: Sequence[tuple[int, Component]]) -> Exception | None:
    """The error with which a plant of some parts is not built; None if it is."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scenario.built(scenario.model, [part for _, part in parts])
    except REFUSED as e:
        return e
    return None
