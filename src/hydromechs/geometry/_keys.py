"""Keys of a placed shape in files that stand for others: end points, a plain position, a point and a normal."""

from __future__ import annotations

from typing import Any

from hydromechs.registry import Member
from hydromechs.values import Vector3

from ._cylinder import Cylinder
from ._ground import Plane
from ._origin import Origin

SHAPE_NAMES = ("box", "sphere", "cylinder", "capsule", "ellipsoid", "convex", "mesh", "plane", "height_field")


def _key(name: str, text: str) -> Member:
    return Member(name, Vector3, None, text, ())


_AT = {"at": _key("at", "Position, in place of an `origin` that does not turn the shape [m].")}
_ENDS = {
    "from": _key("from", "Lower end of the axis, in place of `origin` and `length`; with `to` [m]."),
    "to": _key("to", "Upper end of the axis; with `from` [m]."),
}
_PLANE = {
    "point": _key("point", "A point of the plane, in place of `origin`; with `normal` [m]."),
    "normal": _key("normal", "Direction out of the solid: [0, 0, -1] is a floor in NED, [0, 0, 1] in ENU; with `point` [-]."),
}
SHORT = {word: _AT | {"cylinder": _ENDS, "capsule": _ENDS, "plane": _PLANE}.get(word, {}) for word in SHAPE_NAMES}
"""Short keys by type of shape."""
INSTEAD = {word: {"length": ("from", "to")} for word in ("cylinder", "capsule")}
"""Short keys that replace one that is required."""


def expand(word: str, values: dict[str, Any]) -> dict[str, Any]:
    """Return `origin` and `length` in place of short keys; `ValueError` if these are incomplete or contradict each other."""
    for first, second in (("from", "to"), ("point", "normal")):
        if (first in values) != (second in values):
            here, missing = (first, second) if first in values else (second, first)
            raise ValueError(f"{here!r} is given without {missing!r}; give both")
    if len({"at", "from", "point"} & set(values)) > 1:
        raise ValueError(f"the place is given more than once, by {', '.join(values)}; keep one of them")
    if "at" in values:
        return {"origin": {"xyz": list(values["at"])}}
    placed = (
        Plane.through(values["point"], values["normal"])
        if "point" in values
        else Cylinder.between(values["from"], values["to"], radius=1.0)
    )
    origin = {"xyz": list(placed.origin.xyz), "rpy": list(placed.origin.rpy)}
    length = {"length": placed.shape.length} if isinstance(placed.shape, Cylinder) else {}
    return {"origin": origin if placed.origin != Origin(placed.origin.xyz) else {"xyz": origin["xyz"]}, **length}
