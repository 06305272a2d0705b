"""Shorthand keys of placed shapes in files: end points, position, or point and normal."""

from typing import Any

from hydromechs.registry import Member, Shorthand
from hydromechs.values import Vector3

from ._cylinder import Cylinder
from ._ground import Plane
from ._origin import Origin
from ._shape import Placed

SHAPE_NAMES = ("box", "sphere", "cylinder", "capsule", "ellipsoid", "convex", "mesh", "plane", "height_field")


def _key(name: str, text: str) -> Member:
    return Member(name, Vector3, None, text, ())


_AT = {"at": _key("at", "Position; replaces an `origin` without rotation [m].")}
_ENDS = {
    "from": _key("from", "Lower end of the axis; replaces `origin` and `length` together with `to` [m]."),
    "to": _key("to", "Upper end of the axis; replaces `origin` and `length` together with `from` [m]."),
}
_PLANE = {
    "point": _key("point", "Point of the plane; replaces `origin` together with `normal` [m]. Defaults to the origin."),
    "normal": _key("normal", "Direction out of the solid: [0, 0, -1] is a floor in NED, [0, 0, 1] in ENU [-]."),
}
KEYS = {
    word: _AT | {"cylinder": _ENDS, "capsule": _ENDS, "plane": _PLANE}.get(word, {})
    for word in SHAPE_NAMES
    if word != "height_field"
}
INSTEAD = {word: {"length": ("from", "to")} for word in ("cylinder", "capsule")}


def _expand(word: str, values: dict[str, Any]) -> dict[str, Any]:
    """Return `origin` and `length` from shorthand keys; raise `ValueError` if the keys are incomplete or contradictory."""
    for first, second in (("from", "to"), ("to", "from"), ("point", "normal")):
        if first in values and second not in values:
            raise ValueError(f"{first!r} is set without {second!r}; set both")
    if len({"at", "from", "normal"} & set(values)) > 1:
        raise ValueError(f"the position is defined more than once, by {', '.join(values)}; keep one of these keys")
    if "at" in values:
        return {"origin": {"xyz": list(values["at"])}}
    placed = (
        Plane.through(values.get("point", (0.0, 0.0, 0.0)), values["normal"])
        if "normal" in values
        else Cylinder.between(values["from"], values["to"], radius=1.0)
    )
    origin = {"xyz": list(placed.origin.xyz), "rpy": list(placed.origin.rpy)}
    length = {"length": placed.shape.length} if isinstance(placed.shape, Cylinder) else {}
    return {"origin": origin if placed.origin != Origin(placed.origin.xyz) else {"xyz": origin["xyz"]}, **length}


def _shorten(thing: Any) -> tuple[str, dict[str, Any], tuple[str, ...]] | None:
    """Return the shorthand keys of the pose of a plane, or of a pose without rotation."""
    if not isinstance(thing, Placed) or thing.origin == Origin():
        return None
    word, xyz = thing.shape.word.replace(" ", "_"), list(thing.origin.xyz)
    if repr(thing.origin) == repr(Origin(thing.origin.xyz)):
        return word, {"at": xyz}, ("origin",)
    normal = [x + 0.0 for x in thing.origin.R[:, 2].tolist()]
    if isinstance(thing.shape, Plane) and repr(Plane.through(xyz, normal).origin) == repr(thing.origin):
        return word, {**({"point": xyz} if any(xyz) else {}), "normal": normal}, ("origin",)
    return None


SHORTHAND = Shorthand(keys=KEYS, expand=_expand, instead=INSTEAD, shorten=_shorten)
"""Shorthand keys of placed shapes."""
