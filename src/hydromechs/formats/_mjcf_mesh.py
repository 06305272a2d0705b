"""Meshes of MJCF: volume, centre and inertia by the rules of MuJoCo."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from hydromechs import files
from hydromechs.spatial import quaternion_matrix

from ._mjcf_document import Document, Item
from ._mjcf_pose import Settings
from ._robot_files import Missing
from ._robot_parts import PLACEHOLDER, PLACEHOLDERS

LARGEST = 256 * 2**20
"""Maximum size of a mesh file [bytes]."""
KINDS = (".stl", ".obj", ".msh")
"""Supported suffixes of mesh files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mesh:
    """Mesh from <asset>."""

    file: str
    scale: tuple[float, float, float]
    volume: float
    """Volume [m³]."""
    com: np.ndarray
    """Centre of the volume [m], shape (3,)."""
    tensor: np.ndarray
    """Inertia about the centre at density 1 [m⁵], shape (3, 3)."""


def stand_in() -> Mesh:
    """Return the box that replaces a missing mesh; the box has no file."""
    volume = PLACEHOLDER**3
    tensor = volume * PLACEHOLDER**2 / 6.0 * np.eye(3)
    return Mesh(file="", scale=(1.0, 1.0, 1.0), volume=volume, com=np.zeros(3), tensor=tensor)


def read_meshes(document: Document, settings: Settings) -> dict[str, Mesh]:
    """Return the meshes of a document, keyed by name; unreadable meshes are reported as errors."""
    out = {}
    for section in document.section("asset"):
        for element in section.all("mesh"):
            item = document.item(element)
            file = item.text("file")
            name = item.text("name") or PurePosixPath(file.replace("\\", "/")).stem
            mesh = _read(item, file, settings)
            if mesh is not None:
                out[name] = mesh
    return out


def _read(item: Item, file: str, settings: Settings) -> Mesh | None:
    document, findings = item.document, item.document.findings
    label = f"mesh {item.text('name') or file!r}"
    if not file:
        words = f"{label} has no file, because its vertices are inline or generated"
        findings.fault(item.element, words, None, "save the mesh in a file")
        return None
    inner = PurePosixPath(file.replace("\\", "/"))
    path = str(PurePosixPath(settings.meshdir.replace("\\", "/")) / (inner.name if settings.strippath else inner))
    try:
        found = document.files.find(path)
    except Missing as missing:
        if findings.options.placeholders:
            done = f"{missing}; a box with edges of {PLACEHOLDER} m replaces the mesh, also in the computed mass"
            findings.left_out(item.element, label, f"file {file!r}", done)
            item.pass_over()
            return stand_in()
        findings.fault(item.element, f"{label}: {missing}", path, PLACEHOLDERS)
        return None
    if found.suffix.lower() not in KINDS or found.stat().st_size > LARGEST:
        must = f"must end in {' or '.join(KINDS)}, with at most {LARGEST // 2**20} MiB"
        findings.fault(item.element, f"{label}: the file is {path!r}, {must}", path, "save the mesh in one of these formats")
        return None
    scale = item.numbers("scale", 3, (1.0, 1.0, 1.0))
    p, quat = np.array(item.numbers("refpos", 3, (0.0, 0.0, 0.0))), np.array(item.numbers("refquat", 4, (1.0, 0.0, 0.0, 0.0)))
    for name in ("smoothnormal", "maxhullvert", "content_type", "texcoord", "octree_maxdepth", "needsdf"):
        item.text(name)  # not part of the physics
    if p.any() or quat[1:].any():
        findings.left_out(item.element, label, "refpos or refquat", "applied to the mass, but not to appearance and contact")
    if 0.0 in scale or not quat.any():
        findings.fault(item.element, f"{label}: scale is {scale}, must not be 0", scale)
        return None
    rule = item.word("inertia", ("legacy", "exact", "convex", "shell"), "legacy")
    try:
        vertices, faces = _loaded(found)
    except Exception as error:  # a reader of untrusted files may raise any error, and its message may quote the file
        reason = str(error) if isinstance(error, files.UnreadableFile) else type(error).__name__
        findings.fault(item.element, f"{label}: {path!r} cannot be read: {reason}", path, "save it again")
        return None
    if not len(faces) and len(vertices) > 3:
        rule, faces = "convex", np.zeros((0, 3), dtype=int)
    inside = not len(faces) or 0 <= faces.min() <= faces.max() < len(vertices)
    if not len(vertices) or not np.isfinite(vertices).all() or not inside:
        words = f"{label}: {path!r} has no triangles, or numbers that are not finite"
        findings.fault(item.element, words, path, "save it again")
        return None
    vertices = (vertices * np.array(scale) - p) @ quaternion_matrix(quat / np.linalg.norm(quat))
    if np.prod(scale) < 0.0:
        faces = faces[:, ::-1]
    if rule == "shell":
        findings.note("assumed", item.element, label, "inertia='shell'", "assumed to be solid")
    if rule == "convex":
        vertices, faces = _hull(vertices)
    volume, com, tensor = _moments(vertices, faces, positive=rule == "legacy")
    if not volume > 1e-15 * max(float(np.ptp(vertices, axis=0).max()) ** 3, 1e-300):
        remedy = "close the mesh and orient its faces outwards, or add <inertial> to its bodies"
        findings.fault(item.element, f"{label}: the volume of the mesh is {volume:g} m³, must be above 0", volume, remedy)
        return None
    return Mesh(file=str(found), scale=(scale[0], scale[1], scale[2]), volume=volume, com=com, tensor=tensor)


def _loaded(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices, shape (n, 3), and triangles, shape (m, 3), of a mesh file; no other file is opened."""
    if path.suffix.lower() == ".msh":
        return _msh(files.read_bytes(path, LARGEST))
    import trimesh  # slow to import

    kind = path.suffix.lower()[1:]
    more: dict[str, Any] = {"skip_materials": True, "maintain_order": True} if kind == "obj" else {}
    mesh: Any = trimesh.load(BytesIO(files.read_bytes(path, LARGEST)), file_type=kind, process=False, force="mesh", **more)
    return np.asarray(mesh.vertices, dtype=float), np.asarray(mesh.faces, dtype=int)


def _msh(raw: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Read MuJoCo's MSH format: counts of vertices, normals, texture coordinates and triangles, then 4-byte values."""
    counts = np.frombuffer(raw, "<i4", 4).astype(int)
    n, normals, texture, m = counts
    if (counts < 0).any() or len(raw) != 16 + 4 * (3 * n + 3 * normals + 2 * texture + 3 * m):
        raise files.UnreadableFile("the file size does not match the four counts in the header")
    vertices = np.frombuffer(raw, "<f4", 3 * n, 16).reshape(-1, 3).astype(float)
    faces = np.frombuffer(raw, "<i4", 3 * m, len(raw) - 12 * m).reshape(-1, 3).astype(int)
    return vertices, faces


def _hull(vertices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    import trimesh

    hull = trimesh.Trimesh(vertices, process=False).convex_hull
    return np.asarray(hull.vertices), np.asarray(hull.faces)


def _moments(vertices: np.ndarray, faces: np.ndarray, *, positive: bool) -> tuple[float, np.ndarray, np.ndarray]:
    """Return volume [m³], centre [m] and inertia about the centre at density 1 [m⁵] of the solid within triangles.

    The solid is divided into pyramids from an apex to the triangles. With `positive`, the default in MuJoCo, negative
    volumes count as positive; this has no effect if the apex is behind all triangles. The first apex, the centre of the
    triangles, gives the centre of the volume. The second apex, the centre of the volume, gives volume and inertia.
    """
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    areas = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
    apex = ((a + b + c) / 3.0 * areas[:, None]).sum(axis=0) / areas.sum()

    def cut(at: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        x, y, z = a - at, b - at, c - at
        volumes = np.einsum("ij,ij->i", x, np.cross(y, z)) / 6.0
        return np.abs(volumes) if positive else volumes, (x, y, z)

    volumes, (x, y, z) = cut(apex)
    volume = float(volumes.sum())
    if not abs(volume) > 0.0:
        return 0.0, apex, np.zeros((3, 3))
    com = apex + (volumes[:, None] * (x + y + z) / 4.0).sum(axis=0) / volume
    volumes, (x, y, z) = cut(com)
    s = x + y + z
    P = np.einsum("n,ni,nj->ij", volumes, s, s)
    for corner in (x, y, z):
        P += np.einsum("n,ni,nj->ij", volumes, corner, corner)
    P /= 20.0  # ∫ r rᵀ dV
    return float(volumes.sum()), com, np.trace(P) * np.eye(3) - P
