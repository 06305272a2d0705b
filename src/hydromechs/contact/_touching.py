"""Parts from which contact pairs are derived: terrain, frames that touch terrain, pairs of bodies."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any

import numpy as np

from hydromechs.errors import FieldError
from hydromechs.geometry import HeightField, Origin, Placed
from hydromechs.model import Model
from hydromechs.model.component import Action, Component, Now, Values
from hydromechs.registry import ByName
from hydromechs.spatial import maximum
from hydromechs.values import Array

from ._law import Material
from ._pair import Pair


class Touching(Component):
    """Base class of parts from which contact pairs are derived; the parts exert no forces."""

    __slots__ = ()

    @property
    def acts(self) -> bool:
        return False

    def act(self, now: Now, z: Values, u: Values) -> Action:
        return Action()


@dataclass(frozen=True, kw_only=True)
class Terrain(Placed, Touching):
    """Shape fixed to the world, in world axes, that bodies can touch."""

    kind = "terrain"

    name: str
    """Name, unique among terrains."""
    material: Annotated[Material, ByName()]
    """Material of the surface."""

    def __post_init__(self) -> None:
        if not (isinstance(self.name, str) and self.name):
            raise FieldError("terrain.name", self.name, "must be a non-empty text")
        if not isinstance(self.material, Material):
            raise FieldError(f"terrain {self.name!r}.material", self.material, "must be a Material")
        Placed.__post_init__(self)
        if isinstance(self.shape, HeightField) and self.origin != Origin():
            must = "must be omitted, because a height field is defined in world coordinates"
            raise FieldError(f"terrain {self.name!r}.origin", self.origin, must)

    def owns(self, model: Model, component: Component) -> bool:
        return component is self or getattr(component, "solid", None) is self


@dataclass(frozen=True, slots=True, kw_only=True)
class PointContact(Touching):
    """Frame, such as a foot or the tip of a tool, whose origin can touch all terrain."""

    refers = MappingProxyType({"frame": "frame"})

    frame: str
    """Name of the frame."""

    @property
    def name(self) -> str:  # type: ignore[override]  # the interface's attribute, computed
        """Name of the component, with the name of the frame."""
        return f"{self.frame}.contact"

    def check_beside(self, parts: Sequence[Component]) -> None:
        if not any(isinstance(part, Terrain) for part in parts):
            raise ValueError(f"contact of the point {self.frame!r}: there is no terrain; add terrain")


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyContact(Touching):
    """Pair of bodies whose shapes can touch each other."""

    refers = MappingProxyType({"bodies": "body"})

    bodies: tuple[str, str]
    """Names of both bodies."""
    material: Annotated[Material, ByName()]
    """Contact law and friction of the pair."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "bodies", _two("BodyContact.bodies", self.bodies))
        if not isinstance(self.material, Material):
            raise FieldError("BodyContact.material", self.material, "must be a contact.Material(...)")

    @property
    def name(self) -> str:  # type: ignore[override]  # the interface's attribute, computed
        """Names of the bodies, joined by "and"."""
        return f"{self.bodies[0]} and {self.bodies[1]}"

    def check(self, model: Model) -> None:
        a, b = map(model.body_index, self.bodies)
        if a == b or not (model.moves[a] or model.moves[b]):
            raise ValueError(f"bodies {self.bodies[0]!r} and {self.bodies[1]!r} have no relative motion; remove the pair")
        for at in (a, b):
            if not any(shape.contact for shape in model.bodies[at].shapes):
                raise ValueError(f"body {model.body_names[at]!r} has no shape for contact; add a shape, or remove the pair")

    def owns(self, model: Model, component: Component) -> bool:
        if not isinstance(component, Pair) or component.other is None:
            return component is self
        return {model.body_names[component.body], model.body_names[component.other]} == set(self.bodies)


@dataclass(frozen=True, slots=True, kw_only=True)
class CollisionGroup(Touching):
    """Bodies whose shapes can all touch each other, except bodies that a joint connects, and excluded pairs."""

    refers = MappingProxyType({"bodies": "body"})

    bodies: tuple[str, ...] = ()
    """Names of the bodies; defaults to all bodies with shapes for contact."""
    material: Annotated[Material, ByName()]
    """Contact law and friction of all pairs."""

    def __post_init__(self) -> None:
        if not isinstance(self.bodies, tuple | list) or not all(isinstance(x, str) for x in self.bodies):
            raise FieldError("CollisionGroup.bodies", self.bodies, "must be body names, such as ('hand', 'pipe', 'panel')")
        if len(set(self.bodies)) < len(self.bodies) or len(self.bodies) == 1:
            raise FieldError(
                "CollisionGroup.bodies", self.bodies, "must name at least two different bodies, or be empty for all bodies"
            )
        object.__setattr__(self, "bodies", tuple(self.bodies))
        if not isinstance(self.material, Material):
            raise FieldError("CollisionGroup.material", self.material, "must be a contact.Material(...)")

    @property
    def name(self) -> str:  # type: ignore[override]  # the interface's attribute, computed
        """Names of the bodies, joined by "and"."""
        return " and ".join(self.bodies) if self.bodies else "all bodies"

    def pairs(self, model: Model) -> list[tuple[int, int]]:
        """Return the pairs of bodies that can touch: with shapes, in relative motion, and not connected by one joint."""
        names = self.bodies or model.body_names
        able = [at for at in map(model.body_index, names) if any(shape.contact for shape in model.bodies[at].shapes)]
        if self.bodies and len(able) < len(names):
            bare = next(name for name in names if model.body_index(name) not in able)
            raise ValueError(f"body {bare!r} has no shape for contact; add a shape, or remove it from the collision group")
        rigid = _rigid_parts(model)
        beside = {
            frozenset((rigid[at], rigid[parent]))
            for at, parent in enumerate(model.parent)
            if parent >= 0 and model.bodies[at].joint.nv
        }
        return [
            (a, b)
            for a, b in itertools.combinations(able, 2)
            if rigid[a] != rigid[b] and frozenset((rigid[a], rigid[b])) not in beside
        ]

    def owns(self, model: Model, component: Component) -> bool:
        if not isinstance(component, Pair) or component.other is None:
            return component is self
        return self.material is component.material


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactExclusion(Touching):
    """Two bodies that do not touch each other, although both are in a collision group."""

    refers = MappingProxyType({"bodies": "body"})

    bodies: tuple[str, str]
    """Names of the two bodies."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "bodies", _two("ContactExclusion.bodies", self.bodies))

    @property
    def name(self) -> str:  # type: ignore[override]  # the interface's attribute, computed
        """Names of the bodies, joined by "without"."""
        return f"{self.bodies[0]} without {self.bodies[1]}"

    def check_beside(self, parts: Sequence[Component]) -> None:
        if not any(isinstance(part, CollisionGroup) for part in parts):
            raise ValueError(f"contact exclusion of {self.bodies[0]!r} and {self.bodies[1]!r}: there is no collision group")


def _two(field: str, bodies: Any) -> tuple[str, str]:
    if not isinstance(bodies, tuple | list) or len(bodies) != 2 or not all(isinstance(x, str) for x in bodies):
        raise FieldError(field, bodies, "must be two body names, such as ('hand', 'pipe')")
    return bodies[0], bodies[1]


def _rigid_parts(model: Model) -> list[int]:
    """Return for each body the index of the first body to which it is rigidly connected; −1 for the world."""
    out: list[int] = []
    for at, (body, parent) in enumerate(zip(model.bodies, model.parent, strict=True)):
        out.append(at if body.joint.nv else (out[parent] if parent >= 0 else -1))
    return out


def ground_height(solids: Iterable[Placed], x: Array, y: Array, down: Array) -> Array:
    """Return the height of the highest solid at x, y in the world [m], positive upwards, or −inf without a solid."""
    x, y = np.broadcast_arrays(np.asarray(x), np.asarray(y))
    out = np.full(x.shape, -np.inf)
    for solid in solids:
        found = np.asarray(solid.elevation(x, y, np.asarray(down)))
        if x.dtype == object:
            out = np.array([maximum(a, b) for a, b in zip(out.flat, found.flat, strict=True)]).reshape(x.shape)
        else:
            out = np.maximum(out, found)
    return out
