"""Visuals and collisions of a link in an SDF."""

from typing import Any

from hydromechs.geometry import Origin

from ._imported import Findings
from ._pose import Pose
from ._robot_files import RobotFiles
from ._robot_parts import SIZES, ShapeReader
from ._sdf_frames import pose_of
from ._xml import Element


class SdfShapes(ShapeReader):
    """Return the shapes of a link whose frame has the pose `shift` in the body frame."""

    known = SIZES | {"ellipsoid": {"radii": 3}}
    visual = ("pose", "geometry", "material", "transparency", "cast_shadows")
    collision = ("pose", "geometry")

    def __init__(self, findings: Findings, files: RobotFiles, owner: str, shift: Pose) -> None:
        super().__init__(findings, files, owner)
        self.shift = shift

    def place(self, element: Element) -> Origin:
        pose = element.first("pose")
        if pose is not None and pose.attributes.get("relative_to", "").strip():
            what = f"relative_to={pose.attributes['relative_to']!r} of a {element.tag}"
            self.findings.left_out(pose, self.owner, what, "assumed to be relative to the link")
        return (self.shift @ pose_of(element, self.findings, f"{self.owner}: {element.tag}")).origin

    def size(self, shape: Element, key: str) -> tuple[str, Element]:
        return shape.text_of(key), shape.first(key) or shape

    def mesh(self, shape: Element) -> tuple[str, str | None]:
        self.findings.unknown(shape, ("uri", "scale"), self.owner)
        scale = shape.first("scale")
        return shape.text_of("uri"), None if scale is None else scale.text

    def look(self, element: Element) -> dict[str, Any]:
        f, material = self.findings, element.first("material")
        transparency = f.child_number(element, "transparency", self.owner, 0.0)
        out: dict[str, Any] = {"opacity": 1.0 - min(max(transparency, 0.0), 1.0)}
        if material is None:
            return out
        f.unknown(material, ("ambient", "diffuse", "specular", "emissive"), self.owner)
        color = material.first("diffuse") or material.first("ambient")
        if color is not None:
            n = len(color.text.split())
            row = f.numbers(color.text, 3 if n == 3 else 4, color, f"{self.owner}: colour", (0.5, 0.5, 0.5, 1.0))
            out["color"] = tuple(min(max(x, 0.0), 1.0) for x in row[:3])
        return out
