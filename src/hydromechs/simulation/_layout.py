"""Layout of the components' states and inputs in the arrays of programs, addressed by name."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hydromechs import dynamics
from hydromechs.model import Model, MovingStep
from hydromechs.model.component import Component, Now, Slot
from hydromechs.spatial import Path, quaternion_from_matrix, quaternion_product
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
    """Sources of work on the mechanism; their work integrals are at the end of z."""
    commands: tuple[str, ...]
    """Names of the commands, the first inputs."""
    held: tuple[str, ...]
    """Names of the inputs that events and the caller set, after the commands."""
    state_slots: tuple[Slot, ...]
    """Descriptions of the components' states, in order."""
    input_slots: tuple[Slot, ...]
    """Descriptions of the components' inputs, commands first."""
    z: tuple[dict[str, int], ...]
    """For each component, the index in z of each of its states."""
    u: tuple[dict[str, int], ...]
    """For each component, the index in u of each of its inputs."""
    timed: tuple[dict[str, int], ...]
    """For each component, the index in u of each number that changes at known times."""
    data: dict[str, tuple[slice, tuple[int, ...]]]
    """Slice of u and shape of each array of the run's data."""
    size: int
    """Number of inputs, data included."""

    @property
    def nz(self) -> int:
        """Number of internal states, work integrals included."""
        return len(self.states)

    def of_component(self, k: int, z: Array, u: Array) -> tuple[dict[str, Scalar], dict[str, Scalar]]:
        """Return states and inputs of component k, by their names in the component."""
        inputs = {name: u[i] for name, i in self.u[k].items()}
        inputs |= {name: u[i] for name, i in self.timed[k].items()}
        return {name: z[i] for name, i in self.z[k].items()}, inputs

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


ONE = np.array([1.0, 0.0, 0.0, 0.0])


class Orientations:
    """Unit quaternions (w, x, y, z) of rotation matrices R_WB.

    q and −q are the same rotation. The sign is that of the product of the joints' quaternions from the world to the body: those
    in the configuration, and (cos θ/2, a sin θ/2) of an angle θ. So it is a smooth function of the configuration. For a body on
    the world with a free or ball joint it is the sign in the configuration; for others, w ≥ 0 with all joints at zero. The
    rotation of a joint without `MovingStep.turn` is unknown: its quaternion has w ≥ 0 and jumps at 180°.
    """

    def __init__(self, model: Model) -> None:
        self._parent = model.parent
        q, v = model.neutral()
        self._parts = [_parts(steps, q) for steps in model.steps]
        needed = None in self._parts  # the kinematics of large trees are slow
        R = np.array(dynamics.kinematics(model, q, v).R_WB, dtype=float) if needed else np.zeros((model.nb, 3, 3))
        self._first = np.where(self._product(R[None], q[None])[0, :, 0] < -1e-9, -1.0, 1.0)

    def __call__(self, R: Array, q: Array) -> Array:
        """Quaternions (n, nb, 4) of the rotations R_WB of each body (n, nb, 3, 3) at configurations (n, nq)."""
        found = quaternion_from_matrix(R)
        side = np.sum(found * self.signed(R, q), axis=-1)
        return np.where(side < 0.0, -1.0, 1.0)[..., None] * found

    @property
    def smooth(self) -> bool:
        """True if all joints give their quaternions, so that configurations suffice."""
        return None not in self._parts

    def signed(self, R: Array, q: Array) -> Array:
        """Return the quaternions that have the sign, as calls do; only joints without a quaternion use R."""
        return self._first[:, None] * self._product(R, q)

    def _product(self, R: Array, q: Array) -> Array:
        """The joints' quaternions multiplied from the world to each body, shape (n, nb, 4)."""
        out: list[Array] = []
        for k, (i, parts) in enumerate(zip(self._parent, self._parts, strict=True)):
            here = np.broadcast_to(ONE[:, None], (4, len(q))) if i < 0 else out[i]
            if parts is None:
                turned = R[:, k] if i < 0 else np.swapaxes(R[:, i], 1, 2) @ R[:, k]
                parts = [quaternion_from_matrix(turned).T]
            for part in parts:
                turn = part.turn(q[:, part.at_q].T) if isinstance(part, MovingStep) else part
                assert turn is not None  # as `_parts` found
                here = quaternion_product(here, turn)
            out.append(here)
        return np.moveaxis(np.array(out).reshape(-1, 4, len(q)), 2, 0)


def _parts(steps: tuple, q: Array) -> list | None:
    """The rotations among the steps of a joint: those that move, and constant quaternions, shape (4, 1); None if unknown."""
    out: list = []
    for step in steps:
        if not isinstance(step, MovingStep):
            out.append(quaternion_from_matrix(Path((step,)).pose()[0])[:, None])
        elif step.turn(q[step.at_q][:, None]) is None:
            return None
        else:
            out.append(step)
    return out
