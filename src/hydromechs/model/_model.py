"""The model: a forest of bodies in a world, with tables for the equations."""

import hashlib
import itertools
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Annotated, Literal, NamedTuple

import numpy as np

from hydromechs.errors import Fault, ModelError, grouped
from hydromechs.registry import Item, Required
from hydromechs.spatial import Path
from hydromechs.values import NotNegative, Positive, convert_fields, nearest

from ._body import Body, Frame
from ._checks import body_faults, header_faults, tree_faults, world_faults
from ._flexible_bodies import is_section, sorted_groups, with_sections
from ._loop import Coupling, Loop, closed_state, loop_faults
from ._mechanism import mechanism_faults, warnings_of
from ._text import definition
from .joints import Composite, Joint
from .joints._moving import free_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """World of a model: axes, gravity and water."""

    axes: Literal["NED", "ENU"] = "NED"
    """World axes: NED (z down) or ENU (z up)."""
    gravity: NotNegative = 9.81
    """Gravitational acceleration, along the down direction of the axes [m/s²]."""
    water_density: NotNegative = 1025.0
    """Water density [kg/m³]."""
    kinematic_viscosity: Positive = 1.0e-6
    """Kinematic viscosity of the water, for Reynolds numbers [m²/s]; 1.8e-6 in sea water at 0 °C."""

    def __post_init__(self) -> None:
        convert_fields(self, "world")

    @property
    def down(self) -> np.ndarray:
        """Unit vector down, in world axes, shape (3,)."""
        return np.array([0.0, 0.0, 1.0 if self.axes == "NED" else -1.0])

    @property
    def gravity_vector(self) -> np.ndarray:
        """Acceleration of gravity in world axes [m/s²], shape (3,)."""
        return self.gravity * self.down


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class State:
    """Complete data to restart a run. Two states are equal if all numbers are equal."""

    t: float = 0.0
    """Time [s]."""
    q: np.ndarray
    """Configuration, shape (nq,)."""
    v: np.ndarray
    """Velocity, shape (nv,)."""
    internal: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """Internal states of the components, and the accumulated work, shape (nz,)."""
    command: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """Actuator commands, shape (na,)."""
    held: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """Inputs set by events and by the caller, such as external wrenches and switches, shape (nh,)."""
    memory: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """Controller memory, shape (nm,)."""
    signal: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """Controller signals at its last call; NaN before the first call; shape (ns,)."""
    parameters: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """Concatenated values of the open parameters of the model, shape (np,)."""
    control: float = 1.0
    """1 while the controller is on, 0 after an event has turned the controller off [-]."""
    energy_ledger: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """Initial values of the energy balance of the recording: each stored energy, then the accumulated work of each cause [J].

    Empty before the first run; if omitted, the balance restarts.
    """

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, State):
            return NotImplemented
        return all(np.array_equal(getattr(self, f.name), getattr(other, f.name), equal_nan=True) for f in fields(self))

    __hash__ = None  # type: ignore[assignment]  # its arrays can be changed


class Place(NamedTuple):
    """Frame resolved to a body."""

    body: int
    """Index of the body."""
    p: np.ndarray
    """Origin of the frame from the body origin, in body axes [m], shape (3,)."""
    R: np.ndarray
    """Axes of the frame, expressed in body axes, shape (3, 3)."""


class JointPart(NamedTuple):
    """Moving joint, or one part of a composite joint."""

    name: str
    """Name of the body carried by the joint; with the suffix ".1", ".2", ... for the parts of a composite joint."""
    body: int
    """Index of the body carried by the joint."""
    joint: Joint
    """Joint data."""
    q: slice
    """Slice of the joint in q."""
    v: slice
    """Slice of the joint in v."""


SINGLE_WARNINGS = 4
"""Maximum number of warnings of one model that are issued individually; above it, similar warnings are grouped."""


class RigidBody(NamedTuple):
    """Inertia of a body with all bodies that are fixed to it, about the body origin in body axes."""

    mass: float
    """Mass m [kg]."""
    first_moment: np.ndarray
    """First moment of mass h = m s [kg·m], shape (3,)."""
    matrix: np.ndarray
    """6×6 inertia [kg, kg·m, kg·m²], shape (6, 6)."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Model:
    """Immutable description of a mechanism: bodies in a forest, each connected to its parent by a joint.

    Construction collects all errors in one `ModelError`. Bodies are sorted with parents first, and otherwise keep their
    order.
    """

    name: Annotated[str, Required()] = "model"
    """Name of the model."""
    bodies: tuple[Body, ...]
    """Bodies, in any order; at least one. In files, a mapping keyed by name."""
    loops: tuple[Loop | Coupling, ...] = ()
    """Loop closures of body chains, and couplings of joints."""
    world: World = field(default_factory=World)
    """Axes, gravity and water."""
    description: str = ""
    """Free-text description."""
    sources: tuple[tuple[str, str], ...] = ()
    """Sources of the numbers, keyed by item."""

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        if isinstance(self.bodies, Body | str) or not isinstance(self.bodies, Iterable):
            raise ModelError(str(self.name), [f"bodies is {self.bodies!r}, must be a list of Body"])
        set_field(self, "bodies", tuple(self.bodies))
        set_field(self, "loops", tuple(self.loops))
        pairs = self.sources.items() if isinstance(self.sources, Mapping) else self.sources
        try:
            set_field(self, "sources", tuple((str(k), str(v)) for k, v in pairs))
        except (TypeError, ValueError):
            raise ModelError(str(self.name), [f"sources is {self.sources!r}, must map texts to their sources"]) from None
        faults = [*header_faults(self), *world_faults(self.world)]
        for i, body in enumerate(self.bodies):
            faults += [] if is_section(body, self.bodies) else body_faults(i, body)
        groups, wrong = with_sections(self.bodies, 0.0 if world_faults(self.world) else self.world.water_density)
        faults += wrong
        origins, every = zip(*((i, b) for i, group in groups.items() for b in group), strict=True) if groups else ((), ())
        links = [(b.name, b.parent) if isinstance(b, Body) else (None, None) for b in every]
        frames = [[f.name for f in b.frames if isinstance(f, Frame)] if isinstance(b, Body) else [] for b in every]
        faults += [_moved(f, origins) for f in tree_faults(links, frames)]
        if not faults:
            order = sorted_groups(groups)
            set_field(self, "bodies", tuple(b for i in order for b in groups[i]))
            faults = loop_faults(self)
        if not faults:
            origins = tuple(i for i in order for _ in groups[i])
            faults = [_moved(f, origins) for f in mechanism_faults(self)]
        if faults:
            raise ModelError(str(self.name), faults)
        found = warnings_of(self.bodies, self.world.water_density)
        for text in found if len(found) <= SINGLE_WARNINGS else grouped(found):
            warnings.warn(f"{self.name}: {text}", stacklevel=3)

    def __repr__(self) -> str:
        n, total = self.nb, sum(b.inertia.mass for b in self.bodies)
        mass = f"{total:.6g}" if isinstance(total, float) else str(total)
        size = f"{n} {'body' if n == 1 else 'bodies'}, {self.nv} degrees of freedom, {mass} kg, {self.world.axes}"
        return f"<Model {self.name}: {size}, {self.fingerprint}>"

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of all numbers and texts of the model, 16 characters; "own classes" for a model with custom classes."""
        text = definition(self)
        return "own classes" if text is None else hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def nb(self) -> int:
        """Number of bodies, including fixed bodies."""
        return len(self.bodies)

    @cached_property
    def nq(self) -> int:
        """Number of configuration coordinates."""
        return sum(b.joint.nq for i, b in enumerate(self.bodies) if self.owner[i] == i)

    @cached_property
    def nv(self) -> int:
        """Number of velocity coordinates (degrees of freedom)."""
        return sum(b.joint.nv for i, b in enumerate(self.bodies) if self.owner[i] == i)

    @cached_property
    def body_names(self) -> tuple[str, ...]:
        """Names of the bodies, in model order."""
        return tuple(b.name for b in self.bodies)

    @cached_property
    def parent(self) -> tuple[int, ...]:
        """Index of the parent of each body, -1 for the world."""
        index = {name: i for i, name in enumerate(self.body_names)}
        return tuple(-1 if b.parent is None else index[b.parent] for b in self.bodies)

    @cached_property
    def owner(self) -> tuple[int, ...]:
        """Index of the body that owns the coordinates of each body's joint; the body itself, except in flexible links."""
        first: dict[tuple[int, str], int] = {}
        out = []
        for i, (body, parent) in enumerate(zip(self.bodies, self.parent, strict=True)):
            out.append(first.setdefault((parent, body.joint.shared), i) if body.joint.shared else i)
        return tuple(out)

    @cached_property
    def sections(self) -> dict[int, tuple[int, ...]]:
        """Bodies with shared coordinates, keyed by the index of the owner, which is the first of these bodies."""
        out: dict[int, tuple[int, ...]] = {}
        for i, first in enumerate(self.owner):
            if self.bodies[i].joint.shared:
                out[first] = (*out.get(first, ()), i)
        return out

    @property
    def own_bodies(self) -> tuple[Body, ...]:
        """Bodies of the description, without the derived sections of flexible links."""
        return tuple(b for b in self.bodies if not is_section(b, self.bodies))

    def _shared_slices(self, sizes: list[int]) -> tuple[slice, ...]:
        own = _slices([n if self.owner[i] == i else 0 for i, n in enumerate(sizes)])
        return tuple(own[first] for first in self.owner)

    @cached_property
    def q_slices(self) -> tuple[slice, ...]:
        """Slice of `q` of each body's joint."""
        return self._shared_slices([b.joint.nq for b in self.bodies])

    @cached_property
    def v_slices(self) -> tuple[slice, ...]:
        """Slice of `v` and `tau` of each body's joint."""
        return self._shared_slices([b.joint.nv for b in self.bodies])

    @cached_property
    def steps(self) -> tuple[tuple, ...]:
        """Steps from the parent frame to the frame of each body."""
        starts = zip(self.bodies, self.q_slices, self.v_slices, strict=True)
        return tuple(b.joint.steps(q.start, v.start) for b, q, v in starts)

    @cached_property
    def free_rows(self) -> tuple[tuple[int, ...] | None, ...]:
        """Components of each body's motion that equal joint velocities; None if the motion subspace is general."""
        return tuple(free_rows(steps) for steps in self.steps)

    @cached_property
    def rigid(self) -> tuple[RigidBody | None, ...]:
        """Inertia of each moving body with all bodies fixed to it; None for a fixed body."""
        total = [b.inertia.matrix for b in self.bodies]
        for i in reversed(range(self.nb)):
            if self.bodies[i].joint.nv == 0 and self.parent[i] >= 0:
                total[self.parent[i]] = total[self.parent[i]] + Path(self.steps[i]).inertia_back(total[i])
        out: list[RigidBody | None] = []
        for body, I in zip(self.bodies, total, strict=True):
            h = np.array([I[5, 1], I[3, 2], I[4, 0]])
            out.append(RigidBody(I[0, 0], h, I) if body.joint.nv else None)
        return tuple(out)

    @cached_property
    def moves(self) -> tuple[bool, ...]:
        """True for each body that can move in the world."""
        out: list[bool] = []
        for body, parent in zip(self.bodies, self.parent, strict=True):
            out.append(body.joint.nv > 0 or (parent >= 0 and out[parent]))
        return tuple(out)

    @cached_property
    def scenery(self) -> tuple[bool, ...]:
        """True for each body of a tree without moving bodies, if other trees have moving bodies."""
        roots: list[int] = []
        for i, parent in enumerate(self.parent):
            roots.append(i if parent < 0 else roots[parent])
        moving = {root for root, moves in zip(roots, self.moves, strict=True) if moves}
        return tuple(bool(moving) and root not in moving for root in roots)

    @cached_property
    def wet(self) -> bool:
        """True if any body has hydrodynamics."""
        return any(b.hydro is not None for b in self.bodies)

    @cached_property
    def frames(self) -> dict[str, tuple[int, Frame]]:
        """Named frames, as pairs of body index and frame, keyed by name."""
        return {f.name: (i, f) for i, b in enumerate(self.bodies) for f in b.frames}

    def locate(self, name: str) -> Place:
        """Return the body of a frame or body name, and the pose of the frame on that body."""
        if name not in self._places:
            raise KeyError(f"{self.name} has no frame or body {name!r}{nearest(name, [*self.frames, *self.body_names])}")
        return self._places[name]

    @cached_property
    def _places(self) -> dict[str, Place]:
        bodies = {name: Place(i, np.zeros(3), np.eye(3)) for i, name in enumerate(self.body_names)}
        frames = {name: Place(i, np.array(f.origin.xyz), f.origin.R) for name, (i, f) in self.frames.items()}
        for place in (*bodies.values(), *frames.values()):
            place.p.flags.writeable = place.R.flags.writeable = False
        return bodies | frames

    @cached_property
    def joint_parts(self) -> dict[str, JointPart]:
        """Moving joints keyed by the name of the carried body; "body.1", "body.2", ... for the parts of a composite joint."""
        out = {}
        for i, body in enumerate(self.bodies):
            if self.owner[i] != i:
                continue
            parts = body.joint.parts
            iq, iv = self.q_slices[i].start, self.v_slices[i].start
            for k, part in enumerate(parts):
                name = body.name if len(parts) == 1 else f"{body.name}.{k + 1}"
                if part.nv:
                    out[name] = JointPart(name, i, part, slice(iq, iq + part.nq), slice(iv, iv + part.nv))
                iq, iv = iq + part.nq, iv + part.nv
        return out

    def joint_part(self, name: str) -> JointPart:
        """Return the joint, or the part of a composite joint, named `name`; see `joint_parts`."""
        if name not in self.joint_parts:
            raise KeyError(f"{self.name} has no joint {name!r}{nearest(name, self.joint_parts)}")
        return self.joint_parts[name]

    @cached_property
    def coordinate_names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of the entries of q and of v: "vehicle.x", "vehicle.qw", "shoulder", "own.q1", ..."""
        parts = [(part.name, part.joint.coordinates, part.joint.rates) for part in self.joint_parts.values()]
        q, v = ([(name, x) for name, *groups in parts for group in groups[k] for x in group.names] for k in (0, 1))
        names_q, names_v = (tuple(f"{name}.{x}" if x else name for name, x in rows) for rows in (q, v))
        return names_q, names_v

    def body_index(self, name: str) -> int:
        """Return the index of the body named `name`."""
        try:
            return self.body_names.index(name)
        except ValueError:
            raise KeyError(f"{self.name} has no body {name!r}; available: {', '.join(self.body_names)}") from None

    def path_items(self) -> list[Item]:
        """Return the items at which paths to numbers start: the world and the bodies."""
        bodies = [Item("models", name, (("bodies", i),)) for i, name in enumerate(self.body_names)]
        return [Item("models", "world", (("world",),)), *bodies]

    def neutral(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the configuration with all joints at zero (quaternions at identity) and zero velocity: q (nq,), v (nv,)."""
        return np.array([x for joint in self._own_joints for x in joint.neutral_q]), np.zeros(self.nv)

    def initial(self) -> State:
        """Return the state at time 0 with the model's initial positions and velocities, adjusted to close its loops."""
        q, v = self._initial
        return State(q=q.copy(), v=v.copy())

    def on_loops(self, state: State, held: Collection[int] = ()) -> State:
        """Return the nearest state in which all loops are closed; coordinates at the indices `held` of v stay fixed."""
        if not self.loops:
            return state
        q, v = closed_state(self, state.q, state.v, held)
        return replace(state, q=q, v=v)

    def joint_start(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the initial positions and velocities of all joints, without closing loops: q (nq,), v (nv,)."""
        q = np.array([x for joint in self._own_joints for x in joint.initial_q])
        return q, np.array([x for joint in self._own_joints for x in joint.initial_v])

    @property
    def _own_joints(self) -> list[Joint | Composite]:
        return [b.joint for i, b in enumerate(self.bodies) if self.owner[i] == i]

    @cached_property
    def _initial(self) -> tuple[np.ndarray, np.ndarray]:
        q, v = self.joint_start()
        return closed_state(self, q, v) if self.loops else (q, v)


def _moved(fault: Fault, origins: Sequence[int]) -> Fault:
    """Move an error about a section of a flexible link to the body of the description that has the link."""
    return replace(fault, path=("bodies", origins[fault.path[1]], *fault.path[2:])) if len(fault.path) > 1 else fault


def _slices(sizes: list[int]) -> tuple[slice, ...]:
    ends = np.cumsum([0, *sizes]).tolist()
    return tuple(slice(a, b) for a, b in itertools.pairwise(ends))
