"""Numbers of a plant that can be open: where they are, and which values its objects can have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from hydromechs import registry
from hydromechs.contact import Terrain
from hydromechs.hydro import Environment
from hydromechs.model import Model, body_faults, world_faults
from hydromechs.model.component import Component
from hydromechs.registry import Item, Keys

if TYPE_CHECKING:
    from ._plant import Plant


def plant_items(model: Model, components: Sequence[Component], environment: Environment) -> list[Item]:
    """List the items with which paths to numbers of a plant begin; terrain is in the components that touch it."""
    out = [Item(i.section, i.name, tuple(("model", *keys) for keys in i.places)) for i in model.path_items()]
    terrain: dict[str, list[Keys]] = {}
    for k, c in enumerate(components):
        out.append(Item("components", c.name, (("components", k),)))
        for name in getattr(c, "__dataclass_fields__", ()):
            held = getattr(c, name)
            for j, solid in enumerate(held if isinstance(held, tuple) else (held,)):
                if isinstance(solid, Terrain):
                    where = ("components", k, name, j) if isinstance(held, tuple) else ("components", k, name)
                    terrain.setdefault(solid.name, []).append(where)
    for name, places in terrain.items():
        out.append(Item("terrain", name, tuple(places)))
        both = [(*keys, "material") for keys in places]  # contacts have the material of the terrain, too
        both += [(*keys[:2], "material") for keys in places if hasattr(components[int(keys[1])], "material")]
        out.append(Item("terrain", f"{name}.material", tuple(both)))
    return out + [Item("environment", f.name, (("environment", f.name),)) for f in fields(environment)]


def check_edits(plant: Plant, edits: Mapping[Keys, Any]) -> None:
    """Raise `ValueError` if a body, component or environment could not have other numbers; each is built once."""
    objects: dict[Keys, dict[Keys, Any]] = {}
    for keys, x in edits.items():
        depth = {"model": 3 if keys[1] == "bodies" else 2, "components": 2}.get(str(keys[0]), 1)
        objects.setdefault(keys[:depth], {})[keys[depth:]] = x
    for keys, own in objects.items():
        before = registry.follow(plant, keys)
        thing = registry.edited(before, own)
        if keys[0] == "model":
            for fault in body_faults(int(keys[2]), thing) if keys[1] == "bodies" else world_faults(thing):
                raise ValueError(fault.text)
        if keys[0] == "components":
            slots = [[s.name for s in (*c.states(plant.model), *c.inputs(plant.model))] for c in (before, thing)]
            if slots[0] != slots[1] or not thing.acts:
                raise ValueError(
                    f"component {thing.name!r} would have other states or inputs; replace the number before the plant is built"
                )
