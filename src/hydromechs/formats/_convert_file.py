"""A robot description of another program to a file of ours or of another format."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from hydromechs.model import Body, Model, shapes, visual

from ._imported import Imported
from ._robots import dumps_robot, import_file, is_robot_file
from ._write import check_suffix, dumps, replace_file

__all__ = ["convert_file"]


def convert_file(source: str | os.PathLike, out: str | os.PathLike, **options: Any) -> Imported:
    """Read a robot description and write it as a model file, or in the format that the new file's ending names.

    Args:
        source: The file to read.
        out: The file to write; meshes are named relative to it, and not copied. The notes of the import stand at its top.
        options: Those of `import_file`.
    """
    imported = import_file(source, **options)
    model = with_relative_meshes(imported.model, Path(out).parent)
    if is_robot_file(out):
        replace_file(dumps_robot(model, Path(out).suffix), Path(out))
        return imported
    check_suffix(Path(out), "model")
    lines = [f"# from {Path(source).name} ({imported.format})", *(f"#   {_one_line(str(note))}" for note in imported.notes)]
    replace_file("\n".join(lines) + "\n" + dumps(model, Path(out).parent), Path(out))
    return imported


def _one_line(text: str) -> str:
    """A text that can stand in a comment."""
    return "".join(c if c.isprintable() else " " for c in text)


def with_relative_meshes(model: Model, folder: Path) -> Model:
    """The model with paths of meshes that start at a folder.

    Args:
        model: A model with absolute paths of meshes, as an import gives them.
        folder: The folder of the file that will name them.
    """

    def relative(thing: Any) -> Any:
        if not isinstance(thing, shapes.Mesh | visual.Mesh) or not os.path.isabs(thing.file):
            return thing
        file = Path(os.path.relpath(thing.file, os.path.realpath(folder))).as_posix()
        return replace(thing, file=file, folder=str(folder)) if isinstance(thing, visual.Mesh) else replace(thing, file=file)

    def of_body(body: Body) -> Body:
        return replace(body, shapes=tuple(map(relative, body.shapes)), visual=tuple(map(relative, body.visual)))

    return replace(model, bodies=tuple(map(of_body, model.bodies)))
