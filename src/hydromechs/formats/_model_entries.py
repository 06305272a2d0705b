"""What a model file can say: which class stands where, and what a file writes differently from the objects.

Keys, types, units and defaults are those of the dataclasses of `hydromechs.model`, which judge the values.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import ConfigDict, Field

from hydromechs.errors import UnsupportedFeature
from hydromechs.model import Body, Frame, Hydro, Inertia, Mdh, Model, Origin, World, added_mass, drag, joints, shapes, visual
from hydromechs.model.code import JointSpec
from hydromechs.values import Bound, field_texts

from . import _entries as entries
from ._convert import written
from ._emit import Block, Rows
from ._entries import Key, Swap, list_of, mapping_of, one_or_many, picked, tagged
from ._numbers import Finite, numbers

__all__ = ["BodyEntry", "Header", "ModelFile", "WorldEntry", "json_schema"]

AXES = ("x", "y", "z")
COUPLED_PATTERN = r"^[XYZKMN]\|[uvwpqr]\|[uvwpqr]$"
"""A cross-coupled damping term."""

entry = partial(entries.entry, judged=False)  # the model collects the faults of its values, with their bodies

WorldEntry = entry(World)
OriginEntry = entry(Origin)
InertiaEntry = entry(Inertia)

# -- joints -------------------------------------------------------------------------------------------------------------

_BRANCH = {"d": "branch_d", "theta": "branch_theta"}
BranchEntry = entries.table(
    "BranchEntry",
    "Screw along the parent's z before the other parameters, where a parent carries several bodies.",
    {key: Key(Finite, field_texts(Mdh)[name], 0.0) for key, name in _BRANCH.items()},
)
MdhEntry = entry(
    Mdh,
    swaps=[
        Swap(
            fields=tuple(_BRANCH.values()),
            keys={
                "branch": Key(BranchEntry, "Screw along the parent's z before the other parameters; none if left out.", None)
            },
            read=lambda given: {_BRANCH[key]: value for key, value in given["branch"].items()},
            write=lambda mdh: _if({"branch": _if({k: v for k in _BRANCH if repr(v := getattr(mdh, _BRANCH[k])) != "0.0"})}),
        )
    ],
)


def _if(keys: dict[str, Any]) -> dict[str, Any]:
    """Without keys that hold nothing."""
    return {key: value for key, value in keys.items() if value not in ({}, [], None)}


def _data(name: str, value: Any) -> Any:
    """Plain data of a parameter of a user's own class."""
    if isinstance(value, tuple | list):
        return [_data(name, x) for x in value]
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise UnsupportedFeature(f"joint has the parameter {name} = {value!r}; a file holds numbers, texts and lists")


def _write_placement(joint: joints.Joint) -> dict[str, Any]:
    placement = joint.placement
    if isinstance(placement, Mdh):
        return {"mdh": written(placement)}
    return _if({"origin": written(placement)})


PLACEMENT = Swap(
    fields=("placement",),
    keys={
        "origin": Key(OriginEntry, "Joint frame on the parent; the parent's frame if left out. Not with mdh.", None),
        "mdh": Key(MdhEntry, "Joint frame by modified Denavit-Hartenberg parameters. Not with origin.", None),
    },
    read=lambda given: {"placement": given.get("mdh", given.get("origin"))},
    write=_write_placement,
)
_NOT_BOTH = ConfigDict(json_schema_extra={"not": {"required": ["origin", "mdh"]}})
_JOINTS = {
    c.kind: entry(c, tag=("type", c.kind, "Kind of joint."), swaps=[PLACEMENT], config=_NOT_BOTH) for c in joints.TYPES.values()
}
_COORDINATES = picked(
    "coordinates",
    lambda value: "row" if isinstance(value, list) else "number",
    "must be a number or a list of numbers",
    {"number": Finite, "row": list_of(Finite)},
)
_OWN = Swap(
    fields=("parameters",),
    keys={"parameters": Key(dict[str, Any], "Values of the fields of your own class, by name.", {})},
    read=lambda given: given,
    write=lambda spec: _if({"parameters": {name: _data(name, x) for name, x in spec.parameters.items()}}),
)
OwnJointEntry = entry(
    JointSpec,
    "OwnJointEntry",
    swaps=[PLACEMENT, _OWN],
    without=("locked",),
    types={
        "type": Annotated[str, Field(pattern=r".:[A-Za-z_]")],
        "position": _COORDINATES,
        "velocity": _COORDINATES,
    },
    texts={
        "type": "Class of the joint, as 'package.module:Name', or 'file.py:Name' beside this file.",
        "position": "Initial coordinates, a number where there is one [rad or m]; zero if left out.",
        "velocity": "Initial velocities, a number where there is one [rad/s or m/s]; zero if left out.",
    },
    config=_NOT_BOTH,
)
_OWN_TYPE = ", or 'file.py:Name' for a type of your own"
Part = tagged(
    "part",
    "type",
    [e for kind, e in _JOINTS.items() if kind != "fixed"],
    _OWN_TYPE + " (not fixed: give the next part an origin; not composite: list its parts)",
    OwnJointEntry,
)
CompositeEntry = entry(
    joints.Composite,
    tag=("type", "composite", "Kind of joint."),
    types={"parts": list_of(Part, 1)},
    texts={"parts": "Joints from the parent outwards, at least one; the body's frame is that of the last part."},
    block=True,
)
Joint = tagged("joint", "type", [*_JOINTS.values(), CompositeEntry], _OWN_TYPE, OwnJointEntry)

# -- water --------------------------------------------------------------------------------------------------------------


def _on_axis(cylinder: added_mass.Cylinder | drag.Cylinder) -> int | None:
    """The body axis on which a cylinder lies, if it does."""
    for k in range(3):
        if all(repr(x) == "0.0" for end in (cylinder.start, cylinder.end) for i, x in enumerate(end) if i != k):
            return k
    return None


def _write_along(cylinder: Any) -> dict[str, Any]:
    k = _on_axis(cylinder) or 0
    return {"axis": AXES[k], "from": cylinder.start[k], "to": cylinder.end[k]}


ALONG = Swap(
    fields=("start", "end"),
    keys={
        "axis": Key(Literal["x", "y", "z"], "Body axis on which the cylinder lies, in place of `start` and `end`."),
        "from": Key(Finite, "Coordinate of one end face on that axis [m]."),
        "to": Key(Finite, "Coordinate of the other end face on that axis [m]."),
    },
    read=lambda given: {
        name: tuple(given[key] if axis == given["axis"] else 0.0 for axis in AXES)
        for name, key in (("start", "from"), ("end", "to"))
    },
    write=_write_along,
)


def _elements(prefix: str, module: Any, **others: Any) -> list[Any]:
    """Entries of the elements of a module that have a shape; a cylinder has two."""
    out = []
    for name in module.__all__:
        cls = getattr(module, name)
        make = partial(entry, cls, tag=("shape", name.lower(), "Shape of the element."))
        if name == "Cylinder":
            out.append(make(f"{prefix}AlongEntry", swaps=[ALONG], fits=lambda thing: _on_axis(thing) is not None))
            out.append(make(f"{prefix}EndsEntry"))
        elif name not in others:
            out.append(make(f"{prefix}{name}Entry"))
        else:
            out.append(others[name])
    return out


def _write_damping(damping: drag.Damping) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name in ("linear", "quadratic"):
        value = getattr(damping, name)
        if repr(value) != repr((0.0,) * 6):
            out[name] = Rows(list(row) for row in value) if isinstance(value[0], tuple) else list(value)
    out |= _if({"coupled": dict(damping.coupled)})
    return out or {"linear": list(damping.linear)}


def _damping_entry() -> Any:
    """Damping: diagonals or matrices, and terms by name."""
    diagonal, matrix = numbers(Bound(size=6)), numbers(Bound(size=6, rows=6))

    def pick(value: Any) -> str:
        return "matrix" if isinstance(value, list) and any(isinstance(v, list) for v in value) else "diagonal"

    either = picked("damping", pick, "must be 6 numbers or 6 rows of 6 numbers", {"diagonal": diagonal, "matrix": matrix})
    terms = dict[Annotated[str, Field(pattern=COUPLED_PATTERN)], Finite]
    coupled = Annotated[terms, Field(json_schema_extra={"additionalProperties": False})]
    hints = {"linear": (either, [0.0] * 6), "quadratic": (either, [0.0] * 6), "coupled": (coupled, {})}
    swap = Swap(
        fields=tuple(hints),
        keys={name: Key(hint, field_texts(drag.Damping)[name], default) for name, (hint, default) in hints.items()},
        read=lambda given: given,
        write=_write_damping,
    )
    return entry(drag.Damping, swaps=[swap], config=ConfigDict(json_schema_extra={"minProperties": 1}))


AddedMass = one_or_many(
    "added mass",
    tagged(
        "added mass",
        "shape",
        _elements(
            "Added",
            added_mass,
            Matrix=entry(added_mass.Matrix, "AddedMatrixEntry"),
            Diagonal=entry(added_mass.Diagonal, "AddedDiagonalEntry"),
        ),
        "; or give 'matrix' or 'diagonal' and no shape",
    ),
)
Drag = one_or_many(
    "drag",
    tagged(
        "drag",
        "shape",
        _elements("Drag", drag, Damping=_damping_entry()),
        "; or give 'linear', 'quadratic' or 'coupled' and no shape",
    ),
)


def _elements_swap(name: str, hint: Any) -> Swap:
    """A tuple of elements, of which one alone is written without a list."""

    def write(hydro: Hydro) -> dict[str, Any]:
        elements = Rows(written(e, name) for e in getattr(hydro, name))
        return {name: elements[0] if len(elements) == 1 else elements} if elements else {}

    keys = {name: Key(hint, field_texts(Hydro)[name].replace("elements of", "one element or a list of"), [])}
    return Swap(fields=(name,), keys=keys, read=lambda given: given, write=write)


HydroEntry = entry(Hydro, swaps=[_elements_swap("added_mass", AddedMass), _elements_swap("drag", Drag)], block=True)

# -- shapes, bodies, the file -------------------------------------------------------------------------------------------

_SHAPES = (shapes.Box, shapes.Cylinder, shapes.Sphere, shapes.Capsule, shapes.Mesh)
Shape = tagged("shape", "shape", [entry(c, tag=("shape", c.kind, "Kind of shape.")) for c in _SHAPES])
_LOOKS = (visual.Box, visual.Cylinder, visual.Sphere, visual.Capsule, visual.Ellipsoid, visual.Thruster, visual.Mesh)
Visual = tagged(
    "visual",
    "shape",
    [
        entry(
            c,
            f"Visual{c.__name__}Entry",
            tag=("shape", c.kind, "Kind of shape."),
            without=("folder",),
        )
        for c in _LOOKS
    ],
)
FRAMES = Swap(
    fields=("frames",),
    keys={"frames": Key(mapping_of(OriginEntry), "Named frames on the body, names unique in the model [m, rad].", {})},
    read=lambda given: {"frames": [Frame(name, origin) for name, origin in given["frames"].items()]},
    write=lambda body: _if({"frames": Block((f.name, written(f.origin)) for f in body.frames)}),
)
BodyEntry = entry(
    Body,
    types={"parent": str | None, "joint": Joint, "hydro": HydroEntry, "shapes": list_of(Shape), "visual": list_of(Visual)},
    texts={
        "name": "Name, unique in the model; not 'world'.",
        "parent": "Name of the parent body; the world if left out, null or 'world'.",
        "joint": "How the body moves on its parent.",
        "hydro": "What the water does to it; a dry body if left out.",
    },
    required=("joint",),
    swaps=[FRAMES],
    block=True,
)
Header = entry(
    Model,
    "Header",
    extra={"hydromechs": entries.version_key},
    texts={"world": "The surroundings: axes, gravity and water."},
    required=("name",),
    without=("bodies",),
)
ModelFile = entries.table(
    "ModelFile",
    "A mechanism in water: a tree (or several) of rigid bodies with joints, inertia and hydrodynamic data.",
    {"bodies": Key(list_of(BodyEntry, 1), "Bodies, in any order; at least one.")},
    ConfigDict(title="HydroMechs model file, version 1"),
    Header,
)


def json_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of the model file, for editors and other programs."""
    return entries.json_schema_of(ModelFile)
