"""Bodies of one kind: their joints and forces have equal structure and differ only in parameters.

All bodies of a kind share one program. Differing parameters are inputs of the program; shared parameters are constants.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hydromechs import hydro
from hydromechs.errors import UnsupportedFeature
from hydromechs.model import Hydro, Model, MovingStep, RigidBody, total_added_mass
from hydromechs.spatial import Path, Turn
from hydromechs.values import Array

PAIRS = tuple((i, j) for i in range(6) for j in range(i, 6))
"""Row and column of each entry of a symmetric 6×6 matrix."""
MAX_SEPARATE_KINDS = 10
"""Number of joint kinds above which constant parts are converted to a common form, with more operations but less code."""


def unpaired(entries: Array) -> Array:
    """Return a symmetric 6×6 matrix from its entries in the order of `PAIRS`."""
    out = np.empty((6, 6), dtype=object)
    for (i, j), x in zip(PAIRS, entries, strict=True):
        out[i, j] = out[j, i] = x
    return np.array(out.tolist())  # dtype float or object


def same(things: Sequence[Any], number: Callable[[tuple[float, ...]], Any]) -> Any:
    """Return nested tuples of equal structure as one; `number` returns the substitute for floats that differ."""
    first = things[0]
    if isinstance(first, float | np.floating) and all(isinstance(x, float | int | np.floating) for x in things):
        return first if all(x == first for x in things) else number(tuple(float(x) for x in things))
    if any(type(x) is not type(first) for x in things):
        raise UnsupportedFeature("branches differ in more than parameters (kinds of joints); use form='specialised'")
    if isinstance(first, np.ndarray):
        if any(x.shape != first.shape for x in things):
            shapes = [x.shape for x in things]
            raise UnsupportedFeature(f"branches differ in more than parameters (shapes {shapes}); use form='specialised'")
        rows = np.stack([x.ravel() for x in things])
        shared = (rows == rows[0]).all(axis=0)
        flat = [float(rows[0, k]) if shared[k] else number(tuple(rows[:, k].tolist())) for k in range(rows.shape[1])]
        return np.array(flat).reshape(first.shape)
    if isinstance(first, tuple):
        if any(len(x) != len(first) for x in things):
            parts_of = ", ".join(str(len(x)) for x in things)
            raise UnsupportedFeature(f"branches differ in more than parameters ({parts_of} parts); use form='specialised'")
        parts = [same(row, number) for row in zip(*things, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else tuple(parts)
    if any(x != first for x in things):
        values = ", ".join(map(repr, things))
        raise UnsupportedFeature(f"branches differ in more than parameters ({values}); use form='specialised'")
    return first


@dataclass(frozen=True)
class _Hole:
    """Placeholder of a parameter in a template."""

    number: int


def _filled(template: Any, numbers: Array) -> Any:
    if isinstance(template, _Hole):
        return numbers[template.number]
    if isinstance(template, np.ndarray):
        if template.dtype != object:
            return template
        return np.array([_filled(x, numbers) for x in template.ravel()]).reshape(template.shape)
    if isinstance(template, tuple):
        parts = [_filled(part, numbers) for part in template]
        return type(template)(*parts) if hasattr(template, "_fields") else tuple(parts)
    return template


class Alike:
    """Several objects with one structure of nested tuples, arrays and numbers."""

    def __init__(self, things: Sequence[Any]) -> None:
        found: dict[tuple[float, ...], _Hole] = {}
        self.template = same(things, lambda values: found.setdefault(values, _Hole(len(found))))
        """Common structure, with placeholders."""
        self.numbers = np.array(list(found), dtype=float).reshape(len(found), len(things)).T
        """Values of the placeholders, shape (objects, n)."""

    def opened(self, numbers: Array) -> Any:
        """Return the object with numbers or symbols (n,) in place of the placeholders."""
        return _filled(self.template, numbers)


class JointOf(NamedTuple):
    """Joint of a body in the common form of its kind."""

    steps: tuple
    """Steps from the parent's frame; indices of q and v are relative to the first index of the joint."""
    rows: tuple[int, ...] | None
    """Components of motion as in `Model.free_rows`."""
    armature: Array | None
    """Inertia of geared rotors, shape (n,), or None."""
    nq: int
    """Number of coordinates of the joint."""
    nv: int
    """Number of velocities of the joint."""


class Water(NamedTuple):
    """Coefficients of the built-in hydrodynamics of a body."""

    volume: float
    """Displaced volume [m³]."""
    center: Array
    """Centre of buoyancy in body axes [m], shape (3,)."""
    added_mass: Array
    """Added inertia of the fully submerged body, shape (6, 6)."""
    drag: tuple
    """Coefficients of the drag elements; see `DragElement.numbers`."""


class ActingOn(NamedTuple):
    """Inertia and hydrodynamics of a body in the common form of its kind."""

    rigid: RigidBody | None
    """Inertia of the body, including bodies fixed to it."""
    water: Any
    """Hydrodynamics: `Water`, a custom object, or None."""
    mass: float
    """Mass of the body alone [kg]."""
    com: Array
    """Centre of mass of the body alone, in body axes [m], shape (3,)."""
    moves: bool
    """True if the body can move in the world."""
    sampling: hydro.WetSampling | None = None
    """Points at which non-uniform water acts on the body; None if the water is uniform over the body."""


class Kinds(NamedTuple):
    """Bodies grouped by kind."""

    of: np.ndarray
    """Kind of each body, shape (nb,)."""
    place: np.ndarray
    """Index of each body within its kind, shape (nb,)."""
    alike: tuple[Alike, ...]
    """Data of the bodies of each kind."""


def joint_of(model: Model, i: int, armature: Array | None) -> JointOf:
    """Return the joint of body i in the common form."""
    iq, iv, at = model.q_slices[i].start, model.v_slices[i].start, model.v_slices[i]
    steps = tuple(
        s._replace(iq=s.iq - iq, iv=s.iv - iv).opened() if isinstance(s, MovingStep) else _floats(s)  # type: ignore[attr-defined]
        for s in model.steps[i]
    )
    rotors = None if armature is None or not any(armature[at]) else np.asarray(armature[at], dtype=float)
    return JointOf(steps, model.free_rows[i], rotors, model.q_slices[i].stop - iq, at.stop - iv)


def _floats(step: Any) -> Any:
    return type(step)(*(np.asarray(x, dtype=float) if isinstance(x, tuple | list) else x for x in step))


def acting_on(model: Model, i: int, sampling: hydro.WetSampling | None = None) -> ActingOn:
    """Return inertia and hydrodynamics of body i in the common form."""
    body, density = model.bodies[i], model.world.water_density
    water: Any = body.hydro
    if isinstance(water, Hydro):
        drag = tuple(element.numbers(density) for element in water.drag)
        M_A = total_added_mass(water.added_mass, density)
        water = Water(water.volume, np.array(water.buoyancy_center), M_A, drag)
    return ActingOn(model.rigid[i], water, body.inertia.mass, np.array(body.inertia.com), model.moves[i], sampling)


def kinds_of(things: Sequence[Any]) -> Kinds:
    """Group data of bodies by structure; joints of too many kinds are converted to fewer kinds."""
    shapes = [_structure(thing) for thing in things]
    if len(set(shapes)) > MAX_SEPARATE_KINDS and isinstance(things[0], JointOf):
        things = [_plain(joint) for joint in things]
        shapes = [_structure(thing) for thing in things]
    number: dict[Any, int] = {}
    members: list[list[Any]] = []
    of, place = np.zeros(len(things), dtype=int), np.zeros(len(things), dtype=int)
    for i, (thing, shape) in enumerate(zip(things, shapes, strict=True)):
        k = of[i] = number.setdefault(shape, len(number))
        if k == len(members):
            members.append([])
        place[i] = len(members[k])
        members[k].append(thing)
    return Kinds(of, place, tuple(Alike(group) for group in members))


def _structure(thing: Any) -> Any:
    if isinstance(thing, float | np.floating):
        return float
    if isinstance(thing, np.ndarray):
        return thing.shape
    if isinstance(thing, tuple):
        return (type(thing), *(_structure(part) for part in thing))
    return thing if thing is None or isinstance(thing, int | str) else (type(thing), id(thing))


def _plain(joint: JointOf) -> JointOf:
    """Return a joint with one `Turn` for all constant steps before each moving step, and one at the end if needed.

    In this form, hinges rotate about z and sliding joints move along vectors, independent of their axes.
    """
    composed = sum(isinstance(s, MovingStep) for s in joint.steps) > 1
    steps: list[Any] = []
    stretch: list[Any] = []
    for step in joint.steps:
        if not isinstance(step, MovingStep):
            stretch.append(step)
            continue
        before, step, after = step.without_axis() if composed else ((), step, ())
        steps += [_one_turn([*stretch, *before]), step]
        stretch = list(after)
    if stretch:
        steps.append(_one_turn(stretch))
    return joint._replace(steps=tuple(steps))


def _one_turn(stretch: Sequence[Any]) -> Turn:
    R, p = Path(tuple(stretch)).pose()
    return Turn(np.array(R, dtype=float), np.array(p, dtype=float))
