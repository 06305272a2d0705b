"""Where the inputs that events and the caller set are, by what a user calls them: a body, or what opens and closes."""

from __future__ import annotations

from hydromechs.actuation import ExternalWrench

from ._plant import Plant

__all__ = ["switch_places", "wrench_places"]

SWITCH = "closed"
"""Held input of components that open and close."""


def wrench_places(plant: Plant) -> dict[str, list[int]]:
    """Of each body with an external wrench, the places of its six numbers among the held inputs."""
    na = len(plant.layout.commands)
    pairs = zip(plant.components, plant.layout.u, strict=True)
    return {c.body: [i - na for i in u.values()] for c, u in pairs if isinstance(c, ExternalWrench)}


def switch_places(plant: Plant) -> dict[str, int]:
    """Of each component that opens and closes, the place of its switch among the held inputs."""
    na = len(plant.layout.commands)
    pairs = zip(plant.components, plant.layout.u, strict=True)
    return {c.name: u[SWITCH] - na for c, u in pairs if u.get(SWITCH, -1) >= na}
