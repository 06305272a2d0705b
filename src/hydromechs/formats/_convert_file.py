"""A robot description of another program to a file of ours or of another format."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydromechs.model import Body, Model, shapes, visual

from ._imported import Imported, Note
from ._robots import WRITTEN, import_file, is_robot_file, robot_text
from ._write import check_suffix, dumps, replace_file

if TYPE_CHECKING:
    from hydromechs.model.component import Component

__all__ = ["convert_file", "refuse_same_file"]


def convert_file(source: str | os.PathLike, out: str | os.PathLike, **options: Any) -> Imported:
    """Read a robot description and write it as a model file, or in the format that the new file's ending names.

    Components go to a second file beside a model file: those of "rov.yaml" to "rov_plant.yaml", which `load_plant`
    and `plant:` in a scenario file take.

    Args:
        source: The file to read.
        out: The file to write, another one than the source; meshes are named relative to it, and not copied. In its first
            comment stand the notes.
        options: Those of `import_file`.

    Returns:
        What was imported; its notes list also what the format of the new file has no place for.
    """
    refuse_same_file(source, out)
    imported = import_file(source, **options)
    model = with_relative_meshes(imported.model, Path(out).parent)
    robot = is_robot_file(out)
    notes = (*imported.notes, *(map(_left_out, imported.components) if robot else ()))
    head = [f"from {Path(source).name} ({imported.format})", *(f"  {note}" for note in notes)]
    if robot:
        text, missing = robot_text(model, Path(out).suffix, head)
        replace_file(text, Path(out))
        notes += tuple(Note("left out", Path(out).name, line, "the format does not carry it") for line in missing)
        return replace(imported, notes=notes, written=(os.fspath(out),))
    check_suffix(Path(out), "model", WRITTEN)
    replace_file("".join(f"# {_one_line(line)}\n" for line in head) + dumps(model, Path(out).parent), Path(out))
    written = [os.fspath(out)]
    if imported.components:
        from ._robot_plant import save_plant  # needs the simulation

        written.append(str(save_plant(model, imported.components, Path(out))))
    return replace(imported, notes=notes, written=tuple(written))


def refuse_same_file(source: str | os.PathLike, out: str | os.PathLike) -> None:
    """Raise `ValueError` where a file would be written over the one that it is made of.

    Args:
        source: The file to read; one that is not there is no fault here.
        out: The file to write.
    """
    if os.path.exists(source) and os.path.exists(out) and os.path.samefile(source, out):
        raise ValueError(f"{os.fspath(out)!r} is the source itself, which would be overwritten; give another name")


def _left_out(component: Component) -> Note:
    """The note on something that acts, which the file of a model does not have."""
    text = repr(component).removeprefix(f"{type(component).__name__}(").removesuffix(")")
    value = f"{text[:200]}{' ...' if len(text) > 200 else ''}"
    done = "the new file has no place for it; load_plant of the source has it"
    return Note("left out", f"{type(component).__name__} {component.name!r}", value, done)


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
        return replace(thing, file=file, folder="") if isinstance(thing, visual.Mesh) else replace(thing, file=file)

    def of_body(body: Body) -> Body:
        return replace(body, shapes=tuple(map(relative, body.shapes)), visual=tuple(map(relative, body.visual)))

    return replace(model, bodies=tuple(map(of_body, model.bodies)))
