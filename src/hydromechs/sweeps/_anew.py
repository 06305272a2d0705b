"""Numbers of a model that cannot stay open when it is compiled: the model is built anew for each of their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hydromechs.scenario import Scenario, owner_of

from ._paths import first_part, numbered
from ._together import OF_MODEL

__all__ = ["anew", "places_in_models"]


def anew(scenario: Scenario, paths: Sequence[str]) -> frozenset[str]:
    """Those of some paths into the model whose numbers the plant's programs cannot have open.

    Args:
        scenario: The scenario.
        paths: Paths that begin with "model." and lead to numbers.
    """
    if not paths or _stay_open(scenario, paths):
        return frozenset()
    return frozenset(path for path in paths if not _stay_open(scenario, [path]))


def _stay_open(scenario: Scenario, paths: Sequence[str]) -> bool:
    """Whether the scenario's plant can be built with numbers left open."""
    model = scenario.model
    try:
        replace(scenario.plant, parameters=tuple(numbered(model, path.removeprefix(OF_MODEL)) for path in paths))
    except (ValueError, KeyError):
        return False
    return True


def places_in_models(scenario: Scenario, path: str) -> list[str]:
    """Where a number of the whole model is among a scenario's models, as "0.model.ball.shapes.0.radius"; of the world, in all.

    Args:
        scenario: The scenario.
        path: A path that begins with "model.".
    """
    body, rest = first_part(scenario.model, path.removeprefix(OF_MODEL))
    if body == "world":
        if scenario.world is not None and getattr(scenario.world, rest) is not None:
            raise ValueError(f"{path}: the scenario sets world.{rest} for all models; vary 'world.{rest}' instead")
        return [f"{i}.model.world.{rest}" for i in range(len(scenario.models))]
    i, name = owner_of(scenario, body)
    return [f"{i}.model.{name}.{rest}"]
