"""Mesh files: OBJ, STL, GLB, and Collada (DAE) if pycollada is installed."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydromechs import files

if TYPE_CHECKING:
    from trimesh import Trimesh

FORMATS = (".obj", ".stl", ".glb", ".dae", ".ply")
"""Endings of mesh files; trimesh would also read archives and formats that name further files."""
MAX_BYTES = 512 * 2**20
"""Size of a mesh file [bytes]."""


def read_mesh(path: str | Path) -> list[Trimesh]:
    """Read the parts of a mesh file, placed as in the file, in metres.

    The unit of a Collada file is applied. Its up axis is ignored, as in ROS and Gazebo.

    Args:
        path: OBJ, STL, GLB, PLY or DAE file. Materials and textures that it names are read from its folder.

    Raises:
        FileNotFoundError: The file does not exist.
        ValueError: The file cannot be read, or its format needs a package that is not installed.
    """
    import trimesh  # takes a quarter of a second to import, and few models need it

    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"mesh {str(path)!r} does not exist; correct its path, which starts at the folder of its file")
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"mesh {str(path)!r} ends in {path.suffix!r}, must be one of {', '.join(FORMATS)}; export it again")
    collada = path.suffix.lower() == ".dae"
    if collada and find_spec("collada") is None:
        raise ValueError(
            f"mesh {str(path)!r} is a Collada file, which needs pycollada; run `pip install 'hydromechs[collada]'`, or "
            "export it as OBJ, STL or GLB"
        )
    if collada:
        raw = files.read_bytes(path, MAX_BYTES)
        if b"\0" in raw or b"<!DOCTYPE" in raw or b"<!ENTITY" in raw:
            raise ValueError(f"mesh {str(path)!r} declares a document type or an entity, or is not UTF-8; export it again")
    try:
        with files.open_file(path, MAX_BYTES) as file:
            scene = trimesh.load_scene(file, file_type=path.suffix[1:].lower(), resolver=_beside(path))
        if collada and scene.units:
            scene = scene.scaled(trimesh.units.unit_conversion(scene.units, "meters"))
        parts = [part for part in scene.dump() if isinstance(part, trimesh.Trimesh)]
    except Exception as error:  # a broken file makes its reader raise anything
        ours = isinstance(error, ModuleNotFoundError | files.UnreadableFile)  # texts of others may quote the file
        reason = str(error) if ours else type(error).__name__
        raise ValueError(f"mesh {str(path)!r} cannot be read ({reason}); export it as OBJ, STL or GLB") from error
    if not any(len(part.faces) for part in parts):
        raise ValueError(f"mesh {str(path)!r} has no triangles; export it again")
    return parts


def _beside(path: Path) -> Any:
    """Return what gives trimesh the materials and textures of a mesh: regular files in the folder of the mesh."""
    from trimesh.resolvers import FilePathResolver

    class Beside(FilePathResolver):
        """Reads regular files; trimesh would wait for a pipe."""

        def get(self, name: str) -> bytes:
            """Return the content of a file of the folder.

            Args:
                name: Its path in the folder.
            """
            found = Path(os.path.realpath(path.parent / name.strip()))
            if not found.is_relative_to(os.path.realpath(path.parent)):
                raise files.UnreadableFile(f"{name!r} is outside the folder of the mesh; move it there")
            return files.read_bytes(found)

    return Beside(str(path))
