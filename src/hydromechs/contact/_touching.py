"""Parts that state what can touch: a frame that touches terrain, two bodies that touch each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated

from hydromechs.errors import FieldError
from hydromechs.model import Model
from hydromechs.model.component import Action, Component, Now, Values
from hydromechs.registry import ByName

from ._law import Material
from ._pair import Pair
from .terrain import Terrain

__all__ = ["BodyContact", "PointContact"]


class Touching(Component):
    """A part from which contacts are derived; it does nothing on its own."""

    __slots__ = ()

    @property
    def acts(self) -> bool:
        """Contacts act in its place."""
        return False

    def act(self, now: Now, z: Values, u: Values) -> Action:
        """Nothing."""
        return Action()


@dataclass(frozen=True, slots=True, kw_only=True)
class PointContact(Touching):
    """A frame that touches all terrain at its origin, as a foot or the tip of a tool."""

    refers = MappingProxyType({"frame": "frame"})

    frame: str
    """Name of the frame."""

    @property
    def name(self) -> str:  # type: ignore[override]  # the interface's attribute, computed
        """That of the frame, and what it is."""
        return f"{self.frame}.contact"

    def check_beside(self, parts: Sequence[Component]) -> None:
        """There must be terrain."""
        if not any(isinstance(part, Terrain) for part in parts):
            raise ValueError(f"contact of the point {self.frame!r}: there is no terrain to touch; add terrain")


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyContact(Touching):
    """Two bodies that can touch each other with their shapes."""

    refers = MappingProxyType({"bodies": "body"})

    bodies: tuple[str, str]
    """Names of the two bodies."""
    material: Annotated[Material, ByName()]
    """Contact law and friction of the pair."""

    def __post_init__(self) -> None:
        if (
            not isinstance(self.bodies, tuple | list)
            or len(self.bodies) != 2
            or not all(isinstance(x, str) for x in self.bodies)
        ):
            raise FieldError("BodyContact.bodies", self.bodies, "must be two names of bodies, as ('hand', 'pipe')")
        object.__setattr__(self, "bodies", tuple(self.bodies))
        if not isinstance(self.material, Material):
            raise FieldError("BodyContact.material", self.material, "must be a contact.Material(...)")

    @property
    def name(self) -> str:  # type: ignore[override]  # the interface's attribute, computed
        """Those of the bodies."""
        return f"{self.bodies[0]} and {self.bodies[1]}"

    def owns(self, model: Model, component: Component) -> bool:
        """True of contacts between the two."""
        if not isinstance(component, Pair) or component.other is None:
            return component is self
        return {model.body_names[component.body], model.body_names[component.other]} == set(self.bodies)
