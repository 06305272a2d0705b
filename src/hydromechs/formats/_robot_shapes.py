"""Visuals and collision shapes of URDF and SDF: sizes checked, meshes found, missing ones replaced."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hydromechs.geometry import SHAPES, Box, Mesh, Origin
from hydromechs.model import BodyShape, Role
from hydromechs.values import plain

from ._imported import Findings
from ._robot_files import Missing, RobotFiles
from ._xml import Element

COLLISION: tuple[Role, ...] = ("contact", "wetting")
"""Roles of a collision shape of a foreign file; its visuals are shapes of their own."""
PLACEHOLDER = 0.1
"""Edge length of the box that replaces a missing mesh on a link without shapes [m]."""
PLACEHOLDERS = "or ignore it with placeholders=True (--placeholders)"
"""Last remedy for a missing mesh."""
SIZES: Mapping[str, Mapping[str, int]] = {
    "box": {"size": 3},
    "sphere": {"radius": 1},
    "cylinder": {"radius": 1, "length": 1},
    "capsule": {"radius": 1, "length": 1},
}
"""Shapes that URDF and SDF have in common, and how many numbers each of their sizes has."""


def sizes_of(
    findings: Findings,
    parent: Element,
    shape: Element,
    owner: str,
    known: Mapping[str, Mapping[str, int]],
    given: Callable[[Element, str], tuple[str, Element]],
) -> dict[str, Any] | None:
    """Return the sizes of a shape in a visual or collision [m]; None, with a note, if it is unknown or has no volume.

    `known` is a table as `SIZES`; `given` returns the text of a size and the element that it is in.
    """
    if shape.tag not in known:
        findings.left_out(shape, owner, f"<{shape.tag}> in a <{parent.tag}>", "not a supported shape")
        return None
    sizes: dict[str, Any] = {}
    for key, n in known[shape.tag].items():
        text, at = given(shape, key)
        row = findings.numbers(text, n, at, f"{owner}: {shape.tag} {key} [m]", (1.0,) * n)
        sizes[key] = row if n > 1 else row[0]
    if min(min(size) if isinstance(size, tuple) else size for size in sizes.values()) <= 0.0:
        shown = ", ".join(f"{key} {plain(size)} m" for key, size in sizes.items())
        findings.left_out(shape, owner, f"a {shape.tag} with {shown}", "it has no volume")
        return None
    return sizes


def visual_of(
    findings: Findings,
    files: RobotFiles,
    shape: Element,
    owner: str,
    sizes: Mapping[str, Any],
    look: dict[str, Any],
    solids: Sequence[BodyShape],
) -> BodyShape | None:
    """Return a visual by its sizes, or by file and scale of a mesh, with the other fields of its `BodyShape` in `look`.

    With a note: a grey box, as large as the largest of `solids`, if the file is missing; None if the mesh has no volume.
    """
    if shape.tag != "mesh":
        return BodyShape(shape=SHAPES[shape.tag](**sizes), **look)
    if _is_flat(findings, shape, owner, sizes):
        return None
    try:
        return BodyShape(shape=Mesh(file=str(files.find(sizes["file"], shape.file)), scale=sizes["scale"]), **look)
    except Missing as missing:
        findings.left_out(shape, owner, f"mesh {sizes['file']!r}", f"{missing}; a grey box is shown instead")
        box = max((_box_of(solid, look["origin"]) for solid in solids), key=lambda box: math.prod(box[0]), default=None)
        size, origin = box or ((PLACEHOLDER,) * 3, look["origin"])
        grey = {"color": (0.5, 0.5, 0.5), "style": "placeholder"}
        return BodyShape(**(look | grey | {"shape": Box(size=size), "origin": origin}))


def _box_of(solid: BodyShape, origin: Origin) -> tuple[tuple[float, float, float], Origin]:
    """Return the edges and the place of the box around a shape; a small box at `origin` for a mesh."""
    if isinstance(solid.shape, Mesh):
        return (PLACEHOLDER,) * 3, origin
    x, y, z = (2.0 * solid.shape.half_size).tolist()
    return (x, y, z), solid.origin


def collision_of(
    findings: Findings, files: RobotFiles, shape: Element, owner: str, sizes: Mapping[str, Any], origin: Origin
) -> BodyShape | None:
    """Return a shape for contact, or None with a fault or a note; the sizes are those of `visual_of`."""
    if shape.tag == "ellipsoid":
        findings.left_out(shape, owner, f"a collision ellipsoid of {plain(sizes['axes'])} m")
        return None
    if shape.tag != "mesh":
        return BodyShape(shape=SHAPES[shape.tag](**sizes), origin=origin, roles=COLLISION)
    if _is_flat(findings, shape, owner, sizes):
        return None
    try:
        mesh = Mesh(file=str(files.find(sizes["file"], shape.file)), scale=sizes["scale"])
        return BodyShape(shape=mesh, origin=origin, roles=COLLISION)
    except Missing as missing:
        if findings.options.placeholders:
            done = f"{missing}; the link has no shape in its place"
            findings.left_out(shape, owner, f"mesh {sizes['file']!r}", done)
        else:
            findings.fault(shape, f"{owner}: {missing}", sizes["file"], PLACEHOLDERS)
        return None


def _is_flat(findings: Findings, shape: Element, owner: str, sizes: Mapping[str, Any]) -> bool:
    """True, with a note, if the scale of a mesh flattens it."""
    flat = not all(sizes["scale"])
    if flat:
        findings.left_out(shape, owner, f"mesh {sizes['file']!r} with scale {plain(sizes['scale'])}", "it has no volume")
    return flat
