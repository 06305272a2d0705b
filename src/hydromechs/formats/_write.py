"""A `Model` to a model file, without loss: what equals a default is left out, floats are written by their shortest text."""

from __future__ import annotations

import os
import shutil
import uuid
from dataclasses import MISSING, fields
from pathlib import Path

from hydromechs.errors import UnsupportedFeature
from hydromechs.model import Body, Hydro, Inertia, Mdh, Model, Origin, World, added_mass, drag, joints, shapes

from ._emit import Block, Rows, emit

__all__ = ["dumps", "save"]

JOINTS = (joints.Free, joints.Fixed, joints.Revolute, joints.Prismatic, joints.Ball)
ADDED_MASS = {
    added_mass.Sphere: "sphere",
    added_mass.Ellipsoid: "ellipsoid",
    added_mass.Cylinder: "cylinder",
    added_mass.Box: "box",
}
DRAG = {
    drag.Cylinder: "cylinder",
    drag.Box: "box",
    drag.Sphere: "sphere",
    drag.Ellipsoid: "ellipsoid",
    drag.Foil: "foil",
}
SHAPES = (shapes.Box, shapes.Cylinder, shapes.Sphere, shapes.Capsule, shapes.Mesh)


def save(model: Model, path: str | Path) -> None:
    """Write a model file; a file that is there is replaced at once or, if anything fails, not at all.

    Args:
        model: The model.
        path: The file. Meshes are named in it as the model names them, and not copied.
    """
    replace_file(dumps(model), path)


def replace_file(text: str, path: str | Path) -> None:
    """Write a text file; one that is there is replaced at once or, if anything fails, not at all.

    Args:
        text: What to write.
        path: The file.
    """
    path = Path(os.path.realpath(path))
    temporary = path.with_name(f".{path.name[:100]}.{uuid.uuid4().hex}")
    try:
        with open(temporary, "x", encoding="utf-8", newline="\n") as f:
            f.write(text)
        if path.exists():
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def dumps(model: Model) -> str:
    """The text of a model file, which `loads` turns back into an equal model.

    Args:
        model: The model; a body with hydrodynamics of your own class cannot be written.
    """
    top = Block(hydromechs=1, name=model.name)
    if model.description:
        top["description"] = model.description
    if _differs(model.world, World()):
        top["world"] = _plain(model.world)
    if model.sources:
        top["sources"] = Block(model.sources)
    top["bodies"] = Rows(_body(body) for body in model.bodies)
    return emit(top)


def _body(body: Body) -> Block:
    out = Block(name=body.name)
    if body.parent is not None:
        out["parent"] = body.parent
    out["joint"] = _joint(body, body.joint)
    if _differs(body.inertia, Inertia(mass=0.0)):
        out["inertia"] = _plain(body.inertia)
    if body.hydro is not None:
        out["hydro"] = _hydro(body)
    if body.frames:
        out["frames"] = Block((f.name, _plain(f.origin)) for f in body.frames)
    if body.shapes:
        out["shapes"] = Rows(_shape(body, s) for s in body.shapes)
    return out


def _joint(body: Body, joint) -> dict:
    if type(joint) is joints.Composite:
        return Block(type="composite", parts=Rows(_joint(body, part) for part in joint.parts))
    if type(joint) not in JOINTS:
        raise _unsupported(body, "joint", joint)
    placement = joint.placement
    out = {"type": joint.kind}
    if isinstance(placement, Mdh):
        mdh = _plain(placement)
        branch = {name: mdh.pop(f"branch_{name}") for name in ("d", "theta") if f"branch_{name}" in mdh}
        out["mdh"] = {**mdh, **({"branch": branch} if branch else {})}
    elif _differs(placement, Origin()):
        out["origin"] = _plain(placement)
    return {**out, **_plain(joint, "placement")}


def _hydro(body: Body) -> Block:
    hydro = body.hydro
    if type(hydro) is not Hydro:
        raise _unsupported(body, "hydro", hydro)
    out = Block(_plain(hydro, "added_mass", "drag"))
    for name, convert in (("added_mass", _added_mass), ("drag", _drag)):
        elements = Rows(convert(body, e) for e in getattr(hydro, name))
        if elements:
            out[name] = elements[0] if len(elements) == 1 else elements
    return out


def _added_mass(body: Body, element) -> dict:
    if type(element) is added_mass.Matrix:
        return {"matrix": _matrix(element.matrix)}
    if type(element) is added_mass.Diagonal:
        return {"diagonal": list(element.diagonal)}
    return _element(body, "added_mass", element, ADDED_MASS)


def _drag(body: Body, element) -> dict:
    if type(element) is not drag.Damping:
        return _element(body, "drag", element, DRAG)
    out = _plain(element)
    for name in ("linear", "quadratic"):
        if name in out and isinstance(out[name][0], list):
            out[name] = _matrix(out[name])
    if "coupled" in out:
        out["coupled"] = dict(element.coupled)
    return out or {"linear": list(element.linear)}


def _element(body: Body, what: str, element, names: dict) -> dict:
    """An element with a shape; a cylinder on a body axis is written that way."""
    if type(element) not in names:
        raise _unsupported(body, what, element)
    out = {"shape": names[type(element)], **_plain(element)}
    if "start" in out:
        for k, axis in enumerate("xyz"):
            others = [x for end in (element.start, element.end) for i, x in enumerate(end) if i != k]
            if all(repr(x) == "0.0" for x in others):
                start, end = out.pop("start"), out.pop("end")
                return {"shape": out.pop("shape"), "axis": axis, "from": start[k], "to": end[k], **out}
    return out


def _shape(body: Body, shape) -> dict:
    if type(shape) not in SHAPES:
        raise _unsupported(body, "shapes", shape)
    own = _plain(shape)
    last = {name: own.pop(name) for name in ("origin", "color", "contact") if name in own}
    return {"shape": shape.kind, **own, **last}


def _unsupported(body: Body, what: str, value) -> UnsupportedFeature:
    name = type(value).__name__
    return UnsupportedFeature(f"body {body.name!r}: its {what} has a {name}, which a model file cannot hold")


def _plain(item, *without: str) -> dict:
    """Fields of a dataclass that differ from their defaults, in order."""
    given = ((f, getattr(item, f.name)) for f in fields(item) if f.name not in without)
    return {f.name: _value(value) for f, value in given if _differs(value, _default(f))}


def _default(f):
    return f.default if f.default_factory is MISSING else f.default_factory()


def _differs(value, default) -> bool:
    """Whether two values differ, −0 and 0 too."""
    return repr(value) != repr(default)


def _value(value):
    if isinstance(value, Origin):
        return _plain(value)
    return [_value(v) for v in value] if isinstance(value, tuple) else value


def _matrix(rows) -> Rows:
    return Rows(list(row) for row in rows)
