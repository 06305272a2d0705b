"""Shapes of a body, each with its roles: contact, wetting, appearance; elements that refer to them."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, get_args

from hydromechs.errors import FieldError
from hydromechs.geometry import Placed, Shape
from hydromechs.values import Bound, check_fields

from ._text import SEEN

Color = Annotated[tuple[float, float, float], Bound(least=0.0, most=1.0, size=3)]
"""Red, green and blue."""
Part = Annotated[float, Bound(least=0.0, most=1.0)]
"""A number from 0 to 1."""
Role = Literal["contact", "wetting", "appearance"]
"""Use of a shape: contact, wetting (the free surface cuts it), or appearance."""
Style = Literal[
    "hull",
    "float",
    "frame",
    "thruster",
    "housing",
    "glass",
    "link",
    "joint",
    "gripper",
    "tool",
    "load",
    "propeller",
    "placeholder",
]
"""Kind of part; the viewer has a colour for each.

A propeller is drawn in a duct of the size of its cylinder, and rotates. A placeholder replaces a missing mesh; its size
is not used in estimates.
"""
ROLES: tuple[Role, ...] = get_args(Role)


@dataclass(frozen=True, kw_only=True)
class BodyShape(Placed):
    """A named shape of a body; hydrodynamic elements may refer to it by name."""

    name: str = ""
    """Name, unique on the body; defaults to its type."""
    roles: tuple[Role, ...] = ROLES
    """Uses: `contact`, `wetting` (the free surface cuts it) and `appearance`; all of them by default."""
    color: Color | None = field(default=None, metadata=SEEN)
    """Red, green, blue, each 0 to 1 [-], shape (3,); that of the style or of the mesh if omitted."""
    opacity: Part = field(default=1.0, metadata=SEEN)
    """0 is invisible, 1 is solid [-]."""
    style: Style = field(default="hull", metadata=SEEN)
    """Kind of part; gives its colour."""

    def __post_init__(self) -> None:
        Placed.__post_init__(self)
        check_fields(self, "shape")
        if not self.shape.bounded:
            raise FieldError("shape.shape", self.shape.word, "must be bounded; planes and height fields are terrain")
        roles = (self.roles,) if isinstance(self.roles, str) else tuple(self.roles)
        for role in roles:
            if role not in ROLES:
                raise FieldError("shape.roles", list(roles), f"must be some of {', '.join(ROLES)}")
        if not roles or len(set(roles)) < len(roles):
            raise FieldError("shape.roles", list(roles), f"must be some of {', '.join(ROLES)}, each once")
        object.__setattr__(self, "roles", tuple(role for role in ROLES if role in roles))

    @property
    def contact(self) -> bool:
        """True if the shape takes part in contact."""
        return "contact" in self.roles

    @property
    def wetting(self) -> bool:
        """True if the free surface cuts the shape."""
        return "wetting" in self.roles

    @property
    def appearance(self) -> bool:
        """True if the shape is drawn."""
        return "appearance" in self.roles


def named_shapes(given: Iterable[Any]) -> tuple[BodyShape, ...]:
    """Return shapes as those of a body: plain ones at its origin, unnamed ones named after their type."""
    out = []
    for thing in given:
        if isinstance(thing, Shape):
            thing = BodyShape(shape=thing)
        elif isinstance(thing, Placed) and not isinstance(thing, BodyShape):
            thing = BodyShape(shape=thing.shape, origin=thing.origin)
        elif not isinstance(thing, BodyShape):
            raise FieldError("shapes", thing, "must be a BodyShape, or a shape of hydromechs.geometry")
        out.append(thing)
    taken = {shape.name for shape in out}
    for k, shape in enumerate(out):
        if not shape.name:
            base = shape.shape.word.replace(" ", "_")
            free = next(name for n in range(1, len(out) + 2) if (name := base if n == 1 else f"{base}_{n}") not in taken)
            taken.add(free)
            out[k] = replace(shape, name=free)
    return tuple(out)


def own_shape(given: Any, owner: str) -> str | Placed:
    """Return a shape name unchanged, or the element's own shape with its pose; without a pose it is at the body's origin."""
    if isinstance(given, Shape):
        return Placed(shape=given)
    if isinstance(given, Placed):
        return Placed(shape=given.shape, origin=given.origin) if type(given) is not Placed else given
    if not isinstance(given, str) or not given.strip():
        raise FieldError(f"{owner}.shape", given, "must be the name of a shape of the body, or a shape of hydromechs.geometry")
    return given


def solid_of(element: Any) -> Placed:
    """Return the shape of an element, placed on its body."""
    found = element.shape if isinstance(element.shape, Placed) else element.placed
    if found is None:
        raise ValueError(f"shape {element.shape!r} is a name; use the element in the hydro of a body with this shape")
    return found


def element_word(element: Any) -> str:
    """Return the name of an element in messages: that of its shape, or of its class."""
    found = getattr(element, "solid", None)
    return type(element).__name__.lower() if found is None else found.shape.word
