"""Shapes of a body, each with roles (contact, wetting, appearance), and elements that refer to shapes."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, get_args

from hydromechs.errors import FieldError
from hydromechs.geometry import Placed, Shape
from hydromechs.values import Bound, check_fields

from ._text import SEEN

Color = Annotated[tuple[float, float, float], Bound(least=0.0, most=1.0, size=3)]
"""Colour as red, green and blue, each from 0 to 1 [-]."""
Part = Annotated[float, Bound(least=0.0, most=1.0)]
"""Number from 0 to 1."""
Role = Literal["contact", "wetting", "appearance"]
"""Role of a shape: contact, wetting (intersected by the free surface) or appearance."""
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
"""Kind of part, which selects the colour in the viewer.

A propeller is drawn in a duct of the size of its cylinder, and rotates. A placeholder replaces a missing mesh; its size is
not used in estimates.
"""
ROLES: tuple[Role, ...] = get_args(Role)


@dataclass(frozen=True, kw_only=True)
class BodyShape(Placed):
    """A named shape of a body; hydrodynamic elements may refer to it by name."""

    name: str = ""
    """Name, unique on the body; defaults to its type."""
    roles: tuple[Role, ...] = ROLES
    """Roles: `contact`, `wetting` (intersected by the free surface) and `appearance`; all three by default."""
    color: Color | None = field(default=None, metadata=SEEN)
    """Red, green and blue, each 0 to 1 [-], shape (3,); defaults to the colour of the style or of the mesh."""
    opacity: Part = field(default=1.0, metadata=SEEN)
    """Opacity, from 0 (invisible) to 1 (solid) [-]."""
    style: Style = field(default="hull", metadata=SEEN)
    """Kind of part, which selects the colour."""

    def __post_init__(self) -> None:
        Placed.__post_init__(self)
        check_fields(self, "shape")
        if not self.shape.bounded:
            raise FieldError("shape.shape", self.shape.word, "must be bounded; planes and height fields are terrain")
        roles = (self.roles,) if isinstance(self.roles, str) else tuple(self.roles)
        for role in roles:
            if role not in ROLES:
                raise FieldError("shape.roles", list(roles), f"must be a list of {', '.join(ROLES)}")
        if not roles or len(set(roles)) < len(roles):
            raise FieldError("shape.roles", list(roles), f"must contain each of {', '.join(ROLES)} at most once")
        object.__setattr__(self, "roles", tuple(role for role in ROLES if role in roles))

    @property
    def contact(self) -> bool:
        """True if the shape has the role contact."""
        return "contact" in self.roles

    @property
    def wetting(self) -> bool:
        """True if the shape has the role wetting, so that the free surface intersects it."""
        return "wetting" in self.roles

    @property
    def appearance(self) -> bool:
        """True if the shape is drawn."""
        return "appearance" in self.roles


def named_shapes(given: Iterable[Any]) -> tuple[BodyShape, ...]:
    """Return the shapes of a body: plain shapes at the body origin, unnamed shapes named after their type."""
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
    """Return a shape name unchanged, and an inline shape with its pose, by default at the body origin."""
    if isinstance(given, Shape):
        return Placed(shape=given)
    if isinstance(given, Placed):
        return Placed(shape=given.shape, origin=given.origin) if type(given) is not Placed else given
    if not isinstance(given, str) or not given.strip():
        raise FieldError(f"{owner}.shape", given, "must be the name of a shape of the body, or a shape of hydromechs.geometry")
    return given


def solid_of(element: Any) -> Placed:
    """Return the shape of an element, placed on the body."""
    found = element.shape if isinstance(element.shape, Placed) else element.placed
    if found is None:
        raise ValueError(f"shape {element.shape!r} is unresolved; use the element in the hydro of a body with this shape")
    return found


def element_word(element: Any) -> str:
    """Return the name of an element in messages: the name of the shape, or of the class of the element."""
    found = getattr(element, "solid", None)
    return type(element).__name__.lower() if found is None else found.shape.word
