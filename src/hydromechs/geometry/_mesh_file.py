"""Mesh files: OBJ, STL, GLB, and Collada (DAE) if pycollada is installed."""

from __future__ import annotations

import os
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydromechs import files

from ._mesh_checks import CHECKS, RejectedMesh, mtl_colors

if TYPE_CHECKING:
    from trimesh import Trimesh

FORMATS = (".obj", ".stl", ".glb", ".dae", ".ply")
"""Suffixes of mesh files; trimesh would also read archives and formats that refer to other files."""
MAX_BYTES = 512 * 2**20
"""Maximum size of a mesh file [bytes]."""


def read_mesh(path: str | Path) -> list[Trimesh]:
    """Read the parts of a mesh file, placed as in the file, in metres.

    The unit of a Collada file is applied. Its up axis is ignored, as in ROS and Gazebo.

    Args:
        path: OBJ, STL, GLB, PLY or DAE file. Colours of an OBJ file are read from MTL files in its folder. Textures are
            ignored.

    Raises:
        FileNotFoundError: The file does not exist.
        ValueError: The file cannot be read, or its format needs a package that is not installed.
    """
    import trimesh  # importing it takes 0.25 s, and few models need it

    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"mesh {str(path)!r} does not exist; correct its path, relative to the file that names it")
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"mesh {str(path)!r} ends in {path.suffix!r}, must be one of {', '.join(FORMATS)}; export it again")
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
    except Exception as error:  # on a broken file the reader may raise any error
        ours = isinstance(error, ModuleNotFoundError | files.UnreadableFile | RejectedMesh)  # other messages may quote the file
        reason = str(error) if ours else type(error).__name__
        raise ValueError(f"mesh {str(path)!r} cannot be read ({reason}); export it as OBJ, STL or GLB") from error
    if not any(len(part.faces) for part in parts):
        raise ValueError(f"mesh {str(path)!r} has no triangles; export it again")
    return parts


def _materials(path: Path) -> Any:
    """Return the resolver that gives trimesh the colours of an OBJ file from MTL files in its folder, without textures."""
    from trimesh.resolvers import FilePathResolver

    class Materials(FilePathResolver):
        """Resolver that reads only regular files; trimesh would wait for a pipe."""

        def get(self, name: str) -> bytes:
            """Return the colours from a file in the folder."""
            found = Path(os.path.realpath(path.parent / name.strip()))
            if path.suffix.lower() != ".obj" or not found.is_relative_to(os.path.realpath(path.parent)):
                raise files.UnreadableFile("it names a file that is not an MTL file in the folder of the mesh; move it there")
            return mtl_colors(files.read_bytes(found))

    return Materials(str(path))
