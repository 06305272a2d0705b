"""Visuals and collisions of an SDF's link."""

from __future__ import annotations

from typing import Any

from hydromechs.geometry import Origin
from hydromechs.model import BodyShape

from ._imported import Findings
from ._pose import Pose
from ._robot_files import RobotFiles
from ._robot_shapes import SIZES, collision_of, sizes_of, visual_of
from ._sdf_frames import pose_of
from ._xml import Element


def visuals_of(
    link: Element, findings: Findings, files: RobotFiles, owner: str, shift: Pose, solids: tuple[BodyShape, ...]
) -> tuple[BodyShape, ...]:
    """Return the visuals of a link whose frame is `shift` in the body's.

    Its shapes set the size of a box that replaces a missing mesh.
    """
    out = []
    for element in link.all("visual"):
        findings.unknown(element, ("pose", "geometry", "material", "transparency", "cast_shadows"), owner)
        if read := _geometry(element, findings, owner):
            place = _place(element, findings, owner, shift)
            look = {"origin": place, "roles": ("appearance",), **_look(element, findings, owner)}
            out.append(visual_of(findings, files, read[0], owner, read[1], look, solids))
    return tuple(shape for shape in out if shape is not None)


def shapes_of(link: Element, findings: Findings, files: RobotFiles, owner: str, shift: Pose) -> tuple[BodyShape, ...]:
    """Contact shapes of a link; the arguments are those of `visuals_of`, without shapes."""
    out = []
    for element in link.all("collision"):
        findings.unknown(element, ("pose", "geometry"), owner)
        if read := _geometry(element, findings, owner):
            out.append(collision_of(findings, files, read[0], owner, read[1], _place(element, findings, owner, shift)))
    return tuple(shape for shape in out if shape is not None)


def _place(element: Element, findings: Findings, owner: str, shift: Pose) -> Origin:
    pose = element.first("pose")
    if pose is not None and pose.attributes.get("relative_to", "").strip():
        what = f"relative_to={pose.attributes['relative_to']!r} of a {element.tag}"
        findings.left_out(pose, owner, what, "taken in the link")
    return (shift @ pose_of(element, findings, f"{owner}: {element.tag}")).origin


def _geometry(element: Element, findings: Findings, owner: str) -> tuple[Element, dict[str, Any]] | None:
    """Element and sizes of a shape; None with a note where there is none to use."""
    geometry = element.first("geometry")
    found = [] if geometry is None else geometry.children
    if not found or found[0].tag == "empty":
        findings.left_out(element, owner, f"a <{element.tag}> without a shape", "nothing to show or touch")
        return None
    shape = found[0]
    if shape.tag == "mesh":
        findings.unknown(shape, ("uri", "scale"), owner)
        scale = shape.first("scale")
        row = findings.numbers(None if scale is None else scale.text, 3, shape, f"{owner}: mesh scale", (1.0, 1.0, 1.0))
        return shape, {"file": shape.text_of("uri"), "scale": row}
    sizes = sizes_of(findings, element, shape, owner, {**SIZES, "ellipsoid": {"radii": 3}}, _given)
    return None if sizes is None else (shape, {"axes": sizes["radii"]} if shape.tag == "ellipsoid" else sizes)


def _given(shape: Element, key: str) -> tuple[str, Element]:
    return shape.text_of(key), shape.first(key) or shape


def _look(element: Element, findings: Findings, owner: str) -> dict[str, Any]:
    """Colour and opacity."""
    material = element.first("material")
    transparency = findings.child_number(element, "transparency", owner, 0.0)
    out: dict[str, Any] = {"opacity": 1.0 - min(max(transparency, 0.0), 1.0)}
    if material is None:
        return out
    findings.unknown(material, ("ambient", "diffuse", "specular", "emissive"), owner)
    color = material.first("diffuse") or material.first("ambient")
    if color is not None:
        n = len(color.text.split())
        row = findings.numbers(color.text, 3 if n == 3 else 4, color, f"{owner}: colour", (0.5, 0.5, 0.5, 1.0))
        out["color"] = tuple(min(max(x, 0.0), 1.0) for x in row[:3])
    return out
