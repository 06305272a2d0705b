"""Checks of mesh files before trimesh reads them: limit the expanded size, keep only triangles and colours.

A small GLB or Collada file can define billions of vertices, because nodes may place one mesh repeatedly. Textures are
removed because the decoder Pillow starts Ghostscript for some formats, and drawings use only material colours.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element, TreeBuilder, tostring
from xml.parsers import expat

from hydromechs import files

if TYPE_CHECKING:
    from trimesh import Trimesh


MAX_VERTICES = 10_000_000
"""Maximum number of vertices in a file, including repeated placements."""
MAX_PARTS = 10_000
"""Maximum number of placed parts in a file."""
MAX_HEADER = 64 * 2**20
"""Maximum size of the JSON header in a GLB file [bytes]."""
MAX_COPIED = 64 * 2**20
"""Maximum size of interleaved data in a GLB file beyond the file size [bytes]; trimesh copies these data."""
MAX_DEPTH = 100
"""Maximum nesting depth of elements in a Collada file."""
COMPONENT_BYTES = {5120: 1, 5121: 1, 5122: 2, 5123: 2, 5125: 4, 5126: 4}
"""Size of a number for each GLB `componentType` [bytes]."""
COMPONENTS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}
"""Count of numbers in an item for each GLB `type`."""
MATERIAL_WORDS = ("newmtl", "kd", "ka", "ks", "ns")
"""MTL keywords that are read."""


class RejectedMesh(ValueError):
    """Rejection of a mesh file; the message does not quote the file."""


def mtl_colors(raw: bytes) -> bytes:
    """Return the lines of an MTL file with names and colours, without textures; the result is never an image."""
    lines = [line.split() for line in raw.decode("utf-8", "replace").splitlines()]
    return "\n".join(" ".join(words) for words in lines if words and words[0].lower() in MATERIAL_WORDS).encode()


def checked_glb(raw: bytes) -> bytes:
    """Return a GLB file without textures and mesh extensions, after checks of its sizes."""
    if len(raw) < 20 or raw[:4] != b"glTF" or raw[16:20] != b"JSON":
        raise RejectedMesh("the file is not a GLB file")
    length = int.from_bytes(raw[12:16], "little")
    if length > MAX_HEADER:
        raise RejectedMesh(f"the header is larger than {MAX_HEADER // 2**20} MiB")
    header = json.loads(raw[20 : 20 + length])
    accessors, views = header.get("accessors", []), header.get("bufferViews", [])
    if any("bufferView" not in accessor for accessor in accessors):
        raise RejectedMesh("the vertices are compressed or sparse; export the mesh without compression")
    strided = [a for a in accessors if "byteStride" in views[a["bufferView"]]]  # only these are kept
    if sum(_count(a) * COMPONENTS[a["type"]] * COMPONENT_BYTES[a["componentType"]] for a in strided) > MAX_COPIED + len(raw):
        raise RejectedMesh("the accessors repeat the data")
    meshes = header.get("meshes", [])
    for mesh in meshes:
        for primitive in mesh["primitives"]:
            primitive.pop("extensions", None)
    sizes = [_glb_size(mesh["primitives"], accessors) for mesh in meshes]
    nodes = header.get("nodes", [])
    placed = [child for node in nodes for child in node.get("children", [])]
    placed += [root for scene in header.get("scenes", []) for root in scene.get("nodes", [])]
    sizes += [sizes[nodes[k]["mesh"]] for k in placed if "mesh" in nodes[k]]
    _limit(sum(parts for parts, _ in sizes), sum(vertices for _, vertices in sizes))
    for name in ("images", "textures", "samplers"):
        header.pop(name, None)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 4)
    rest = raw[20 + length :]
    return b"glTF" + struct.pack("<III", 2, 20 + len(text) + len(rest), len(text)) + b"JSON" + text + rest


def _glb_size(primitives: list[dict[str, Any]], accessors: list[dict[str, Any]]) -> tuple[int, int]:
    """Return the numbers of parts and vertices of a GLB mesh, including the corners of its triangles."""
    used = [k for p in primitives for k in (p["attributes"]["POSITION"], p.get("indices")) if k is not None]
    return len(primitives), sum(_count(accessors[k]) for k in used)


def _count(accessor: dict[str, Any]) -> int:
    count = accessor["count"]
    if type(count) is not int or count < 0:
        raise RejectedMesh("an accessor has no valid count")
    return count


def checked_collada(raw: bytes) -> bytes:
    """Return a Collada file of any encoding as UTF-8, with textures replaced by white, after checks of its sizes."""
    root = _xml(raw)
    geometries = {element.get("id"): _collada_size(element) for element in root.iter("geometry")}
    placed = _Placed(geometries, {element.get("id"): element for element in root.iter("node")})
    sizes = [placed.size(scene) for scene in root.iter("visual_scene")]
    _limit(sum(parts for parts, _ in sizes), sum(vertices for _, vertices in sizes))
    for texture in root.iter("texture"):
        texture.clear()
        texture.tag, texture.text = "color", "1 1 1 1"
    root.set("xmlns", "http://www.collada.org/2005/11/COLLADASchema")
    return tostring(root, encoding="utf-8", xml_declaration=True)


def _xml(raw: bytes) -> Element:
    """Return the root element of an XML file, with namespaces removed from names."""
    builder, parser, depth = TreeBuilder(), expat.ParserCreate(namespace_separator="}"), 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            raise RejectedMesh(f"the elements are nested more than {MAX_DEPTH} levels deep")
        builder.start(tag.rpartition("}")[2], {name.rpartition("}")[2]: value for name, value in attributes.items()})

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag.rpartition("}")[2])

    def doctype(*_: object) -> None:
        raise RejectedMesh("the file declares a document type")

    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = builder.data, doctype
    parser.Parse(raw, True)
    return builder.close()


def _collada_size(geometry: Element) -> tuple[int, int]:
    """Return the number of parts and an upper bound on the vertices of a <geometry>; each triangle corner is a vertex."""
    parts, vertices = 0, 0
    for primitive in geometry.iter():
        lists = [p.text or "" for p in primitive if p.tag in ("p", "ph")]
        if lists:
            stride = 1 + max([int(given.get("offset", 0)) for given in primitive if given.tag == "input"], default=0)
            corners = sum(1 + sum(text.count(space) for space in " \t\n") for text in lists) // max(stride, 1)
            parts, vertices = parts + 1, vertices + corners * (1 if primitive.tag == "triangles" else 3)
    return parts, vertices


class _Placed:
    """Counter of parts and vertices below Collada nodes, including repeated placements."""

    def __init__(self, geometries: dict[str | None, tuple[int, int]], nodes: dict[str | None, Element]) -> None:
        self._geometries, self._nodes = geometries, nodes
        self._sizes: dict[Element, tuple[int, int]] = {}

    def size(self, node: Element) -> tuple[int, int]:
        """Return the numbers of parts and vertices of a <node> or <visual_scene>."""
        if node not in self._sizes:
            self._sizes[node] = (0, 0)  # stops nodes that refer to themselves
            sizes = [self._child(child) for child in node]
            self._sizes[node] = sum(parts for parts, _ in sizes), sum(vertices for _, vertices in sizes)
        return self._sizes[node]

    def _child(self, child: Element) -> tuple[int, int]:
        url = child.get("url", "").removeprefix("#")
        if child.tag == "node":
            return self.size(child)
        if child.tag == "instance_node" and url in self._nodes:
            return self.size(self._nodes[url])
        return self._geometries.get(url, (0, 0)) if child.tag == "instance_geometry" else (0, 0)


def _limit(parts: int, vertices: int) -> None:
    if parts > MAX_PARTS or vertices > MAX_VERTICES:
        raise RejectedMesh(
            f"{parts} parts with {vertices} vertices, the maxima are {MAX_PARTS} and {MAX_VERTICES}; simplify the mesh"
        )
    files.count("vertices", vertices)


CHECKS: dict[str, Callable[[bytes], bytes]] = {".glb": checked_glb, ".dae": checked_collada}
"""Checks of file contents before trimesh reads them, keyed by suffix."""


FORMATS = (".obj", ".stl", ".glb", ".dae", ".ply")
"""Suffixes of accepted mesh files; trimesh would also read archives, and formats that refer to other files."""
MAX_BYTES = 512 * 2**20
"""Maximum size of a mesh file [bytes]."""


def read_mesh(path: str | Path) -> list[Trimesh]:
    """Read the parts of a mesh file in metres, with the placements of the file.

    The length unit of a Collada file is applied. The up axis of a Collada file is ignored, as in ROS and Gazebo.

    Args:
        path: OBJ, STL, GLB, PLY or DAE file. Colours of an OBJ file are read from MTL files in its folder. Textures are
            ignored.

    Raises:
        FileNotFoundError: The file does not exist.
        ValueError: The file cannot be read, or its format needs a package that is not installed.
    """
    import trimesh  # importing it takes 0.25 s, and it is rarely needed

    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"mesh {str(path)!r} does not exist; correct the path, relative to the file that contains it")
    if path.suffix.lower() not in FORMATS:
        raise ValueError(
            f"mesh {str(path)!r} ends in {path.suffix!r}, must be one of {', '.join(FORMATS)}; export the mesh again"
        )
    collada = path.suffix.lower() == ".dae"
    if collada and find_spec("collada") is None:
        raise ValueError(
            f"mesh {str(path)!r} is a Collada file, which needs pycollada; run `pip install 'hydromechs[collada]'`, or "
            "export it as OBJ, STL or GLB"
        )
    try:
        raw = files.read_bytes(path, MAX_BYTES)
        raw = CHECKS[path.suffix.lower()](raw) if path.suffix.lower() in CHECKS else raw
        kind = path.suffix[1:].lower()
        options = {"skip_materials": True} if kind == "ply" else {}
        scene = trimesh.load_scene(BytesIO(raw), file_type=kind, resolver=_materials(path), **options)
        if collada and scene.units:
            scene = scene.scaled(trimesh.units.unit_conversion(scene.units, "meters"))
        parts = [part for part in scene.dump() if isinstance(part, trimesh.Trimesh)]
    except Exception as error:  # for a damaged file the reader may raise any error
        ours = isinstance(error, ModuleNotFoundError | files.UnreadableFile | RejectedMesh)  # other messages may quote the file
        reason = str(error) if ours else type(error).__name__
        raise ValueError(f"mesh {str(path)!r} cannot be read ({reason}); export the mesh as OBJ, STL or GLB") from error
    if not any(len(part.faces) for part in parts):
        raise ValueError(f"mesh {str(path)!r} has no triangles; export the mesh again")
    return parts


def _materials(path: Path) -> Any:
    """Return the resolver for trimesh that reads the colours of an OBJ file from MTL files in its folder, without textures."""
    from trimesh.resolvers import FilePathResolver

    class Materials(FilePathResolver):
        """Resolver that reads only regular files; trimesh would wait for a pipe."""

        def get(self, name: str) -> bytes:
            """Return the colours from an MTL file in the folder."""
            found = Path(os.path.realpath(path.parent / name.strip()))
            if path.suffix.lower() != ".obj" or not found.is_relative_to(os.path.realpath(path.parent)):
                raise files.UnreadableFile(
                    "the mesh refers to a file other than an MTL file in the folder of the mesh; move the MTL file there"
                )
            return mtl_colors(files.read_bytes(found))

    return Materials(str(path))
