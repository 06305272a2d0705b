"""Layout of the states and inputs of components in the arrays of programs, addressed by name."""

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
    """Array of run data that programs receive as input: current, waves, open parameters."""

    name: str
    """Name of the array, such as "current"."""
    shape: tuple[int, ...]
    """Shape of the array."""


class Layout(NamedTuple):
    """Order of z (internal states, work integrals) and of u (commands, held inputs, run data)."""

    states: tuple[str, ...]
    """Names of the internal states, then "work.CAUSE" for each cause."""
    causes: tuple[str, ...]
    """Causes of work on the mechanism; their work integrals are at the end of z."""
    commands: tuple[str, ...]
    """Names of the commands, which are the first inputs."""
    held: tuple[str, ...]
    """Names of the held inputs, which events and callers set; they follow the commands."""
    state_slots: tuple[Slot, ...]
    """Descriptions of the component states, in order."""
    input_slots: tuple[Slot, ...]
    """Descriptions of the component inputs, commands first."""
    z: tuple[dict[str, int], ...]
    """Indices of states in z, one mapping per component."""
    u: tuple[dict[str, int], ...]
    """Indices of inputs in u, one mapping per component."""
    timed: tuple[dict[str, int], ...]
    """Indices in u of numbers that change at known times, one mapping per component."""
    data: dict[str, tuple[slice, tuple[int, ...]]]
    """Slice of u and shape of each array of run data, keyed by name."""
    size: int
    """Number of inputs, including run data."""

    @property
    def nz(self) -> int:
        """Number of internal states, including work integrals."""
        return len(self.states)

    def of_component(self, k: int, z: Array, u: Array) -> tuple[dict[str, Scalar], dict[str, Scalar]]:
        """Return the states and the inputs of component `k`, keyed by their names in the component."""
        inputs = {name: u[i] for name, i in self.u[k].items()}
        inputs |= {name: u[i] for name, i in self.timed[k].items()}
        return {name: z[i] for name, i in self.z[k].items()}, inputs

    def array(self, name: str, u: Array) -> Array:
        """Return the array `name` of the run data."""
        at, shape = self.data[name]
        return np.reshape(u[at], shape)

    def start(self, slots: Sequence[Slot], now: Now) -> Array:
        """Return initial values, shape (n,).

        `slots`: entries of `state_slots` or `input_slots`. `now`: initial instant; see `InitialInstant`.
        """
        return np.array([s.value_at(now) for s in slots], dtype=float)


def layout_of(model: Model, components: Sequence[Component], causes: Sequence[str], data: Sequence[Data]) -> Layout:
    """Return the layout of a plant with these components, causes of work and run data."""
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
            raise ValueError(f"two {what} of components are named {twice[0]!r}; rename one of them")
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
    """Conversion of rotation matrices R_WB to unit quaternions (w, x, y, z) with continuous signs.

    q and −q are the same rotation. The sign is taken from the product of the joint quaternions from the world to the body:
    quaternions in the configuration, and (cos θ/2, a sin θ/2) for an angle θ about an axis a. The sign is therefore a smooth
    function of the configuration. A body on the world with a free or ball joint has the sign in the configuration; other
    bodies have w ≥ 0 with all joints at zero. The rotation of a joint without `MovingStep.turn` is unknown; its quaternion has
    w ≥ 0 and jumps at 180°.
    """

    def __init__(self, model: Model) -> None:
        self._parent = model.parent
        q, v = model.neutral()
        self._parts = [_parts(steps, q) for steps in model.steps]
        needed = None in self._parts  # the kinematics of large trees are slow
        R = np.array(dynamics.kinematics(model, q, v).R_WB, dtype=float) if needed else np.zeros((model.nb, 3, 3))
        self._first = np.where(self._product(R[None], q[None])[0, :, 0] < -1e-9, -1.0, 1.0)

    def __call__(self, R: Array, q: Array) -> Array:
        """Return quaternions, shape (n, nb, 4), of rotations R_WB, shape (n, nb, 3, 3), at configurations, shape (n, nq)."""
        found = quaternion_from_matrix(R)
        side = np.sum(found * self.signed(R, q), axis=-1)
        return np.where(side < 0.0, -1.0, 1.0)[..., None] * found

    @property
    def smooth(self) -> bool:
        """True if the quaternions of all joints are known, so that configurations determine all orientations."""
        return None not in self._parts

    def signed(self, R: Array, q: Array) -> Array:
        """Return quaternions with these signs, shape (n, nb, 4); `R` is used only for joints without a known quaternion."""
        return self._first[:, None] * self._product(R, q)

    def _product(self, R: Array, q: Array) -> Array:
        """Return the product of joint quaternions from the world to each body, shape (n, nb, 4)."""
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
    """Return the rotations of a joint: moving steps, and constant quaternions, shape (4, 1); None if a rotation is unknown."""
    out: list = []
    for step in steps:
        if not isinstance(step, MovingStep):
            out.append(quaternion_from_matrix(Path((step,)).pose()[0])[:, None])
        elif step.turn(q[step.at_q][:, None]) is None:
            return None
        else:
            out.append(step)
    return out
