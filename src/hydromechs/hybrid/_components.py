"""What an engine leaves in a plant: the forces of its contacts, and the acceleration that a scheme remembers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hydromechs.contact import Pair, Terrain
from hydromechs.model import Model
from hydromechs.model.component import Action, Component, Now, Slot, Values, Wrench
from hydromechs.spatial import cross
from hydromechs.values import Array

from ._engine import Touch

SIX = ("X", "Y", "Z", "K", "M", "N")


@dataclass(frozen=True, kw_only=True)
class EngineMemory(Component):
    """The acceleration that a scheme of added mass remembers from the last step, and what to say of the engine."""

    name: str = "engine"
    """Its name."""
    said: tuple[str, ...] = field(default=(), compare=False)
    """What a run should mention."""

    def states(self, model: Model) -> list[Slot]:
        return [Slot(f"acceleration.{name}", unit="m/s², rad/s²") for name in model.coordinate_names[1]]

    def act(self, now: Now, z: Values, u: Values) -> Action:
        """Nothing: the engine's step sets the states."""
        return Action(rates=dict.fromkeys(z, 0.0))

    @property
    def notes(self) -> Sequence[str]:
        return self.said


@dataclass(frozen=True, kw_only=True)
class EngineContact(Component):
    """Contacts that an engine solves, recorded under the names of our own pairs: the nearest one stands for each.

    Its states are the forces of the last step; the engine's step sets them.
    """

    kind = "contact"
    outputs = Pair.outputs
    name: str = "engine_contact"
    """Its name."""
    pairs: tuple[Pair, ...]
    """What may touch, as our own engine has it."""
    bodies: tuple[int, ...] = field(init=False)
    """Indices of the bodies that may be touched."""
    probes: dict[tuple[frozenset[int | None], str], tuple[list[int], Array]] = field(init=False, compare=False, repr=False)
    """By the bodies that meet, and the terrain if one of them is None: numbers of their pairs, and where the probes are on the
    bodies that carry them [m], shape (n, 3)."""

    def __post_init__(self) -> None:
        touched = {i for pair in self.pairs for i in (pair.body, pair.other) if i is not None}
        object.__setattr__(self, "bodies", tuple(sorted(touched)))
        found: dict[tuple[frozenset[int | None], str], list[int]] = {}
        for k, pair in enumerate(self.pairs):
            name = pair.solid.name if isinstance(pair.solid, Terrain) else ""
            found.setdefault((frozenset((pair.body, pair.other)), name), []).append(k)
        places = {key: (at, np.array([self.pairs[k].probe.center for k in at])) for key, at in found.items()}
        object.__setattr__(self, "probes", places)

    def entries(self, model: Model) -> list[str]:
        return [pair.name for pair in self.pairs]

    def states(self, model: Model) -> list[Slot]:
        """Normal force of each pair, and the wrench on each body."""
        wrenches = [Slot(f"{model.body_names[i]}.{x}", unit="N, N m") for i in self.bodies for x in SIX]
        return [*(Slot(pair.name, unit="N") for pair in self.pairs), *wrenches]

    def act(self, now: Now, z: Values, u: Values) -> Action:
        """The forces of the last step, with the gaps of our own geometry."""
        names = now.model.body_names
        gaps = []
        for pair in self.pairs:
            still = {s.name: 0.0 for s in pair.states(now.model)}
            gaps.append(pair.act(now, still, {}).record["contact_gap"])
        return Action(
            forces=[Wrench(i, np.array([z[f"{names[i]}.{x}"] for x in SIX])) for i in self.bodies],
            rates=dict.fromkeys(z, 0.0),
            record={"contact_force": np.array([z[pair.name] for pair in self.pairs]), "contact_gap": np.array(gaps)},
        )

    def values(self, touches: Sequence[Touch], X_WB: Array) -> tuple[Array, Array]:
        """Values of its states for contacts of an engine, shape (n,), and the wrench on each of its bodies, shape (n, 6).

        X_WB are the poses of all bodies in the world, shape (nb, 4, 4).
        """
        R_WB, p_WB = X_WB[:, :3, :3], X_WB[:, :3, 3]
        normal, wrench = np.zeros(len(self.pairs)), np.zeros((len(self.bodies), 6))
        for touch in touches:
            opposite = touch.point if touch.opposite is None else touch.opposite
            for body, point, force in ((touch.body, touch.point, touch.force), (touch.other, opposite, -touch.force)):
                if body is not None:
                    f = R_WB[body].T @ force
                    arm = R_WB[body].T @ (point - p_WB[body])
                    wrench[self.bodies.index(body)] += np.concatenate([f, cross(arm, f)])
            key = frozenset((touch.body, touch.other)), touch.solid if touch.other is None else ""
            if key in self.probes:
                numbers, places = self.probes[key]
                carriers = [self.pairs[k].body for k in numbers]
                off = p_WB[carriers] + np.einsum("kij,kj->ki", R_WB[carriers], places) - touch.point
                normal[numbers[int(np.argmin(np.einsum("ki,ki->k", off, off)))]] += touch.normal
        return np.concatenate([normal, wrench.ravel()]), wrench
