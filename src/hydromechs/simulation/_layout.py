"""Places of the states and inputs of components in the arrays of programs: by name, never by position in a list."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hydromechs.model import Model
from hydromechs.model.component import Component, Now, Slot
from hydromechs.values import Array, Scalar


class Data(NamedTuple):
    """Array of a run's numbers that programs take as input: the current, waves, open parameters."""

    name: str
    """Meaning."""
    shape: tuple[int, ...]
    """Its shape."""


class Layout(NamedTuple):
    """The order of z, the internal states and work integrals, and of u: commands, held inputs, data of the run."""

    states: tuple[str, ...]
    """Names of the internal states, then "work.CAUSE" of each cause."""
    causes: tuple[str, ...]
    """Sources of work on the mechanism; their work is accounted for at the end of z."""
    commands: tuple[str, ...]
    """Names of the commands, the first inputs."""
    held: tuple[str, ...]
    """Names of the inputs that events and the caller set, after the commands."""
    state_slots: tuple[Slot, ...]
    """Descriptions of the components' states, in order."""
    input_slots: tuple[Slot, ...]
    """Descriptions of the components' inputs, commands first."""
    z: tuple[dict[str, int], ...]
    """For each component, the place in z of each of its states."""
    u: tuple[dict[str, int], ...]
    """For each component, the place in u of each of its inputs."""
    timed: tuple[dict[str, int], ...]
    """For each component, the place in u of each number that changes at known times."""
    data: dict[str, tuple[slice, tuple[int, ...]]]
    """Place in u and shape of each array of the run's data."""
    size: int
    """Number of inputs, data included."""

    @property
    def nz(self) -> int:
        """Number of internal states, work integrals included."""
        return len(self.states)

    def of_component(self, k: int, z: Array, u: Array) -> tuple[dict[str, Scalar], dict[str, Scalar]]:
        """Return states and inputs of component k, by its names for them."""
        told = {name: u[i] for name, i in self.u[k].items()}
        told |= {name: u[i] for name, i in self.timed[k].items()}
        return {name: z[i] for name, i in self.z[k].items()}, told

    def array(self, name: str, u: Array) -> Array:
        """Return an array of the run's data."""
        at, shape = self.data[name]
        return np.reshape(u[at], shape)

    def start(self, slots: Sequence[Slot], now: Now) -> Array:
        """Return initial values, shape (n,).

        `slots`: some of `state_slots` or `input_slots`; `now`: the instant of the start, see `InitialInstant`.
        """
        return np.array([s.value_at(now) for s in slots], dtype=float)


def layout_of(model: Model, components: Sequence[Component], causes: Sequence[str], data: Sequence[Data]) -> Layout:
    """Return the layout of a plant."""
    states: list[str] = []
    state_slots: list[Slot] = []
    z: list[dict[str, int]] = []
    for c in components:
        slots = list(c.states(model))
        z.append({s.name: len(states) + k for k, s in enumerate(slots)})
        states += [s.full_name(c.name) for s in slots]
        state_slots += slots
    given = [(k, s) for k, c in enumerate(components) for s in c.inputs(model)]
    ordered = [x for x in given if not x[1].setting] + [x for x in given if x[1].setting]
    names = [s.full_name(components[k].name) for k, s in ordered]
    u: list[dict[str, int]] = [{} for _ in components]
    for i, (k, slot) in enumerate(ordered):
        u[k][slot.name] = i
    for what, listed in (("states", states), ("inputs", names)):
        twice = [name for name, n in Counter(listed).items() if n > 1]
        if twice:
            raise ValueError(f"two {what} of components are named {twice[0]!r}; names must differ")
    places, at = {}, len(names)
    for d in data:
        n = int(np.prod(d.shape))
        places[d.name] = (slice(at, at + n), d.shape)
        at += n
    starts = [places[f"timed.{c.name}"][0].start if c.timed else 0 for c in components]
    return Layout(
        states=(*states, *(f"work.{cause}" for cause in causes)),
        causes=tuple(causes),
        commands=tuple(name for name, (_, s) in zip(names, ordered, strict=True) if not s.setting),
        held=tuple(name for name, (_, s) in zip(names, ordered, strict=True) if s.setting),
        state_slots=tuple(state_slots),
        input_slots=tuple(s for _, s in ordered),
        z=tuple(z),
        u=tuple(u),
        timed=tuple({x: at + i for i, x in enumerate(c.timed)} for c, at in zip(components, starts, strict=True)),
        data=places,
        size=at,
    )
