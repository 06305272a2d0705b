"""Named items of a scenario, at which paths to its numbers start."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from hydromechs.contact import Terrain
from hydromechs.registry import Described, Item
from hydromechs.simulation import PythonBlock

if TYPE_CHECKING:
    from ._scenario import Scenario


def scenario_items(scenario: Scenario) -> list[Item]:
    """List bodies, models and their initial states, the world, components, terrain, blocks, environment and run.

    Bodies have the names of the assembled model: with several models, they are prefixed with the model's name and a dot.
    """
    out = []
    for i, start in enumerate(scenario.models):
        before = f"{start.name}." if len(scenario.models) > 1 else ""
        out += [
            Item("models", before + b, (("models", i, "model", "bodies", j),)) for j, b in enumerate(start.model.body_names)
        ]
    for key in ("gravity", "water_density"):
        given = scenario.world is not None and getattr(scenario.world, key) is not None
        each = tuple(("models", i, "model", "world", key) for i in range(len(scenario.models)))
        out.append(Item("models", f"world.{key}", (("world", key),) if given else each))
    out += [Item("models", start.name, (("models", i),)) for i, start in enumerate(scenario.models)]
    for k, part in enumerate(scenario.components):
        own = getattr(part, "name", None)
        if isinstance(own, str):
            out.append(Item("terrain" if isinstance(part, Terrain) else "components", own, (("components", k),)))
    for k, block in enumerate(scenario.blocks):
        described = isinstance(block, PythonBlock) and isinstance(block.controller, Described)
        out.append(Item("blocks", block.name, (("blocks", k, "controller") if described else ("blocks", k),)))
        out += [Item("blocks", f"{block.name}.phase", (("blocks", k, "phase"),))] if described else []
    out += [Item("environment", f.name, (("environment", f.name),)) for f in fields(scenario.environment)]
    return out + [Item("run", f.name, ((f.name,),)) for f in fields(scenario)]
