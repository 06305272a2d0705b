"""Places of the inputs that events and the caller set, by names for users: a body, or a component that opens and closes."""

from collections.abc import Collection

import numpy as np

from ._layout import Layout
from ._plant import Plant

SWITCH = "closed"
"""Held input of components that open and close."""


def wrench_places(plant: Plant) -> dict[str, list[int]]:
    """For each body with an external wrench, the places of its six numbers among the held inputs."""
    na = len(plant.layout.commands)
    pairs = zip(plant.components, plant.layout.u, strict=True)
    return {body: [i - na for i in u.values()] for c, u in pairs if (body := c.external_body) is not None}


def switch_places(plant: Plant) -> dict[str, int]:
    """For each component that opens and closes, the place of its switch among the held inputs."""
    na = len(plant.layout.commands)
    pairs = zip(plant.components, plant.layout.u, strict=True)
    return {c.name: u[SWITCH] - na for c, u in pairs if u.get(SWITCH, -1) >= na}


def settled_targets(
    layout: Layout, command: np.ndarray, held: np.ndarray, t: float, joints: Collection[str] | None = None
) -> dict[str, float]:
    """Return commands that stop moving servo targets at their current values.

    A controller sets a servo's target and the rate at which it moves until the next call. Without a next call the target would
    keep moving, past the stops.

    `layout`: layout of the plant's inputs; `command`: current commands, shape (na,); `held`: current held inputs, shape (nh,);
    `joints`: names of the joints; all if None.
    """
    out: dict[str, float] = {}
    places = {name: k for k, name in enumerate(layout.held)}
    for k, name in enumerate(layout.commands):
        rate = places.get(f"{name}.rate")
        if rate is not None and held[rate] != 0.0 and (joints is None or name in joints):
            since = t - held[places[f"{name}.at"]]
            out |= {name: float(command[k] + held[rate] * since), f"{name}.rate": 0.0, f"{name}.at": t}
    return out
