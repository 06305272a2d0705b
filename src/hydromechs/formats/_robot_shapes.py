"""Visuals and collision shapes of URDF and SDF: sizes checked, meshes found, missing ones replaced."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from hydromechs.geometry import SHAPES, Box, Mesh, Origin
from hydromechs.model import BodyShape, Role
from hydromechs.values import plain

from ._imported import Findings
from ._robot_files import Missing, RobotFiles
from ._xml import Element

COLLISION: tuple[Role, ...] = ("contact", "wetting")
"""Roles of a collision shape of a third-party file; visuals are separate shapes."""
PLACEHOLDER = 0.1
"""Edge length of the box that replaces a missing mesh on a link without shapes [m]."""
PLACEHOLDERS = "or ignore it with placeholders=True (--placeholders)"
"""Last suggested fix for a missing mesh."""
SIZES: dict[str, dict[str, int]] = {
    "box": {"size": 3},
    "sphere": {"radius": 1},
    "cylinder": {"radius": 1, "length": 1},
    "capsule": {"radius": 1, "length": 1},
}
"""Shapes common to URDF and SDF, with the number of values of each size."""


class ShapeReader(ABC):
    """The visuals and collisions of one link; each format implements access to sizes, poses and colours."""

    known: ClassVar[Mapping[str, Mapping[str, int]]] = SIZES
    """Shapes with their sizes, in the form of `SIZES`."""
    visual: ClassVar[tuple[str, ...]]
    """Elements that a visual may contain."""
    collision: ClassVar[tuple[str, ...]]
    """Elements that a collision may contain."""

    def __init__(self, findings: Findings, files: RobotFiles, owner: str) -> None:
        self.findings, self.files, self.owner = findings, files, owner

    @abstractmethod
    def place(self, element: Element) -> Origin:
        """Return the pose of a visual or collision on its body."""

    @abstractmethod
    def look(self, element: Element) -> dict[str, Any]:
        """Return colour and opacity of a visual, as fields of `BodyShape`."""

    @abstractmethod
    def size(self, shape: Element, key: str) -> tuple[str, Element]:
        """Return the text of a size and the element that contains it."""

    @abstractmethod
    def mesh(self, shape: Element) -> tuple[str, str | None]:
        """Return the file of a mesh and the text of its scale."""

    def read(self, link: Element) -> tuple[tuple[BodyShape, ...], tuple[BodyShape, ...]]:
        """Return the shapes for contact and the visuals; the first set the size of a box that replaces a missing mesh."""
        solids = [self._collision(element) for element in link.all("collision")]
        solid = tuple(shape for shape in solids if shape is not None)
        looks = [self._visual(element, solid) for element in link.all("visual")]
        return solid, tuple(shape for shape in looks if shape is not None)

    def _visual(self, element: Element, solids: Sequence[BodyShape]) -> BodyShape | None:
        """If the file is missing, use a grey box as large as the largest of `solids`, with a note; None without a volume."""
        self.findings.unknown(element, self.visual, self.owner)
        read = self._geometry(element)
        if read is None:
            return None
        shape, sizes = read
        look = {"origin": self.place(element), "roles": ("appearance",), **self.look(element)}
        try:
            return BodyShape(shape=self._built(shape, sizes), **look)
        except Missing as missing:
            what = f"mesh {sizes['file']!r}"
            self.findings.left_out(shape, self.owner, what, f"{missing}; a grey box is shown instead")
            box = max((_box_of(solid, look["origin"]) for solid in solids), key=lambda box: math.prod(box[0]), default=None)
            size, origin = box or ((PLACEHOLDER,) * 3, look["origin"])
            grey = {"color": (0.5, 0.5, 0.5), "style": "placeholder"}
            return BodyShape(**(look | grey | {"shape": Box(size=size), "origin": origin}))

    def _collision(self, element: Element) -> BodyShape | None:
        """Return a shape for contact; None with an error or a note."""
        f = self.findings
        f.unknown(element, self.collision, self.owner)
        read = self._geometry(element)
        if read is None:
            return None
        shape, sizes = read
        origin = self.place(element)
        if shape.tag == "ellipsoid":
            f.left_out(shape, self.owner, f"a collision ellipsoid of {plain(sizes['axes'])} m")
            return None
        try:
            return BodyShape(shape=self._built(shape, sizes), origin=origin, roles=COLLISION)
        except Missing as missing:
            if f.options.placeholders:
                done = f"{missing}; the link has no replacement shape"
                f.left_out(shape, self.owner, f"mesh {sizes['file']!r}", done)
            else:
                f.fault(shape, f"{self.owner}: {missing}", sizes["file"], PLACEHOLDERS)
            return None

    def _geometry(self, parent: Element) -> tuple[Element, dict[str, Any]] | None:
        """Return the shape in an element and the fields of its class [m]; None with a note or an error if there is none."""
        f, owner = self.findings, self.owner
        geometry = parent.first("geometry")
        found = [] if geometry is None else geometry.children
        if not found or found[0].tag == "empty":
            f.left_out(parent, owner, f"a <{parent.tag}> without a shape", "nothing to show or touch")
            return None
        shape = found[0]
        for other in found[1:]:
            f.left_out(other, owner, f"a second shape <{other.tag}> in one <{parent.tag}>", "the first one is used")
        if shape.tag == "mesh":
            file, scale = self.mesh(shape)
            row = f.numbers(scale, 3, shape, f"{owner}: mesh scale", (1.0, 1.0, 1.0))
            if not all(row):
                f.left_out(shape, owner, f"mesh {file!r} with scale {plain(row)}", "it has no volume")
                return None
            return shape, {"file": file, "scale": row}
        if shape.tag not in self.known:
            f.left_out(shape, owner, f"<{shape.tag}> in a <{parent.tag}>", "not a supported shape")
            return None
        sizes: dict[str, Any] = {}
        for key, n in self.known[shape.tag].items():
            text, at = self.size(shape, key)
            row = f.numbers(text, n, at, f"{owner}: {shape.tag} {key} [m]", (1.0,) * n)
            sizes[key] = row if n > 1 else row[0]
        if min(min(size) if isinstance(size, tuple) else size for size in sizes.values()) <= 0.0:
            shown = ", ".join(f"{key} {plain(size)} m" for key, size in sizes.items())
            f.left_out(shape, owner, f"a {shape.tag} with {shown}", "it has no volume")
            return None
        return shape, {"axes": sizes["radii"]} if shape.tag == "ellipsoid" else sizes

    def _built(self, shape: Element, sizes: Mapping[str, Any]) -> Any:
        """Return the shape with its sizes; raise `Missing` for a missing mesh file."""
        if shape.tag == "mesh":
            return Mesh(file=str(self.files.find(sizes["file"], shape.file)), scale=sizes["scale"])
        return SHAPES[shape.tag](**sizes)


def _box_of(solid: BodyShape, origin: Origin) -> tuple[tuple[float, float, float], Origin]:
    """Return edge lengths and pose of the bounding box of a shape; a small box at `origin` for a mesh."""
    if isinstance(solid.shape, Mesh):
        return (PLACEHOLDER,) * 3, origin
    x, y, z = (2.0 * solid.shape.half_size).tolist()
    return (x, y, z), solid.origin
