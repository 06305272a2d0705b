"""Mesh files: OBJ, STL, GLB, and Collada (DAE) if pycollada is installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trimesh import Trimesh

__all__ = ["read_mesh"]


def read_mesh(path: str | Path) -> list[Trimesh]:
    """Read the parts of a mesh file, placed as in the file, in metres.

    The unit of a Collada file is applied. Its up axis is ignored, as in ROS and Gazebo.

    Args:
        path: OBJ, STL, GLB or DAE file.

    Raises:
        FileNotFoundError: The file does not exist.
        ValueError: The file cannot be read, or its format needs a package that is not installed.
    """
    import trimesh  # takes a quarter of a second to import, and few models need it

    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"mesh {str(path)!r} does not exist; correct its path, relative to the file that names it")
    collada = path.suffix.lower() == ".dae"
    if collada and find_spec("collada") is None:
        raise ValueError(
            f"mesh {str(path)!r} is a Collada file, which needs pycollada; run `pip install 'hydromechs[collada]'`, or "
            "export it as OBJ, STL or GLB"
        )
    if collada:
        raw = path.read_bytes()
        if b"\0" in raw or b"<!DOCTYPE" in raw or b"<!ENTITY" in raw:
            raise ValueError(f"mesh {str(path)!r} declares a document type or an entity, or is not UTF-8; export it again")
    try:
        scene = trimesh.load_scene(path)
        if collada and scene.units:
            scene = scene.scaled(trimesh.units.unit_conversion(scene.units, "meters"))
        parts = [part for part in scene.dump() if isinstance(part, trimesh.Trimesh)]
    except Exception as error:  # readers can raise anything on a broken file
        raise ValueError(f"mesh {str(path)!r} cannot be read ({error}); export it as OBJ, STL or GLB") from error
    if not any(len(part.faces) for part in parts):
        raise ValueError(f"mesh {str(path)!r} has no triangles; export it again")
    return parts
