"""Visuals and collisions of an SDF's link."""

from __future__ import annotations

from typing import Any

from hydromechs.geometry import SHAPES, Ellipsoid, Origin
from hydromechs.model import BodyShape
from hydromechs.values import plain

from ._imported import Findings
from ._pose import Pose
from ._robot_files import RobotFiles
from ._robot_parts import COLLISION, mesh_shape, mesh_visual
from ._sdf_frames import pose_of
from ._xml import Element

SIZES = {
    "box": (("size", 3),),
    "sphere": (("radius", 1),),
    "cylinder": (("radius", 1), ("length", 1)),
    "capsule": (("radius", 1), ("length", 1)),
    "ellipsoid": (("radii", 3),),
}
"""Shapes, and the numbers that they have."""


def visuals_of(
    link: Element, findings: Findings, files: RobotFiles, owner: str, shift: Pose, solids: tuple[BodyShape, ...]
) -> tuple[BodyShape, ...]:
    """Return the visuals of a link whose frame is `shift` in the body's.

    Its shapes set the size of a box that replaces a missing mesh.
    """
    out = []
    for element in link.all("visual"):
        findings.unknown(element, ("pose", "geometry", "material", "transparency", "cast_shadows"), owner)
        read = _geometry(element, findings, owner)
        if read is None:
            continue
        kind, shape, sizes = read
        place = _place(element, findings, owner, shift)
        look: dict[str, Any] = {"origin": place, "roles": ("appearance",), **_look(element, findings, owner)}
        if kind == "mesh":
            mesh = mesh_visual(findings, files, shape, owner, sizes["file"], sizes["scale"], look, solids)
            out += [mesh] if mesh is not None else []
        elif kind == "ellipsoid":
            out.append(BodyShape(shape=Ellipsoid(axes=sizes["radii"]), **look))
        else:
            out.append(BodyShape(shape=SHAPES[kind](**sizes), **look))
    return tuple(out)


def shapes_of(link: Element, findings: Findings, files: RobotFiles, owner: str, shift: Pose) -> tuple[BodyShape, ...]:
    """Contact shapes of a link; the arguments are those of `visuals_of`, without shapes."""
    out: list[BodyShape] = []
    for element in link.all("collision"):
        findings.unknown(element, ("pose", "geometry"), owner)
        read = _geometry(element, findings, owner)
        if read is None:
            continue
        kind, shape, sizes = read
        origin = _place(element, findings, owner, shift)
        if kind == "mesh":
            mesh = mesh_shape(findings, files, shape, owner, sizes["file"], sizes["scale"], origin)
            out += [mesh] if mesh is not None else []
        elif kind == "ellipsoid":
            findings.left_out(shape, owner, f"a collision ellipsoid of {plain(sizes['radii'])} m")
        else:
            out.append(BodyShape(shape=SHAPES[kind](**sizes), origin=origin, roles=COLLISION))
    return tuple(out)


def _place(element: Element, findings: Findings, owner: str, shift: Pose) -> Origin:
    pose = element.first("pose")
    if pose is not None and pose.attributes.get("relative_to", "").strip():
        findings.left_out(
            pose, owner, f"relative_to={pose.attributes['relative_to']!r} of a {element.tag}", "taken in the link"
        )
    at = shift @ pose_of(element, findings, f"{owner}: {element.tag}")
    return at.origin


def _geometry(element: Element, findings: Findings, owner: str) -> tuple[str, Element, dict[str, Any]] | None:
    """Kind, element and sizes of a shape; None with a note where there is none to use."""
    geometry = element.first("geometry")
    found = [] if geometry is None else geometry.children
    if not found or found[0].tag == "empty":
        findings.left_out(element, owner, f"a <{element.tag}> without a shape", "nothing to show or touch")
        return None
    shape = found[0]
    if shape.tag == "mesh":
        uri, scale = shape.first("uri"), shape.first("scale")
        findings.unknown(shape, ("uri", "scale"), owner)
        row = findings.numbers(None if scale is None else scale.text, 3, shape, f"{owner}: mesh scale", (1.0, 1.0, 1.0))
        return "mesh", shape, {"file": "" if uri is None else uri.text, "scale": row}
    if shape.tag not in SIZES:
        findings.left_out(shape, owner, f"<{shape.tag}> in a <{element.tag}>", "not a supported shape")
        return None
    sizes: dict[str, Any] = {}
    for key, n in SIZES[shape.tag]:
        child = shape.first(key)
        label = f"{owner}: {shape.tag} {key} [m]"
        row = findings.numbers("" if child is None else child.text, n, child or shape, label, (1.0,) * n)
        sizes[key] = row if n > 1 else row[0]
        if min(row) <= 0.0:
            findings.left_out(shape, owner, f"a {shape.tag} with {key} {plain(sizes[key])} m", "it has no volume")
            return None
    return shape.tag, shape, sizes


def _look(element: Element, findings: Findings, owner: str) -> dict[str, Any]:
    """Colour and opacity."""
    material, transparency = element.first("material"), element.first("transparency")
    out: dict[str, Any] = {}
    if transparency is not None:
        out["opacity"] = 1.0 - min(
            max(findings.number(transparency.text, transparency, f"{owner}: transparency", 0.0), 0.0), 1.0
        )
    if material is None:
        return out
    findings.unknown(material, ("ambient", "diffuse", "specular", "emissive"), owner)
    color = material.first("diffuse") or material.first("ambient")
    if color is not None:
        n = len(color.text.split())
        row = findings.numbers(color.text, 3 if n == 3 else 4, color, f"{owner}: colour", (0.5, 0.5, 0.5, 1.0))
        r, g, b = (min(max(x, 0.0), 1.0) for x in row[:3])
        out["color"] = (r, g, b)
    return out
