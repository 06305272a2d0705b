"""Conversion of a third-party robot description to a model file or another format."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from hydromechs.geometry import Mesh
from hydromechs.model import Body, BodyShape, Model
from hydromechs.model.component import Component

from ._imported import Imported, Note
from ._robots import WRITTEN, import_file, is_robot_file, robot_text
from ._write import check_suffix, dumps, replace_file
from ._xml_write import one_line


def convert_file(source: str | os.PathLike, out: str | os.PathLike, *, overwrite: bool = False, **options: Any) -> Imported:
    """Convert a robot description to a model file, or to the format that the suffix of the new file selects.

    Components are written to a second file in the same folder, for example "rov_plant.yaml" for "rov.yaml". `load_plant` and
    `plant:` in a scenario file read the second file.

    `out`: path of the new file, which must differ from the source. Mesh paths are relative to the new file; meshes are not
    copied. The first comment contains the notes. `overwrite`: True to replace existing files; otherwise `FileExistsError`
    is raised. `options`: options of `import_file`.

    Returns the result of the import. The notes also list features that the format of the new file cannot store.
    """
    check_target(source, out, overwrite=overwrite)
    imported = import_file(source, **options)
    model = with_relative_meshes(imported.model, Path(out).parent)
    robot = is_robot_file(out)
    notes = (*imported.notes, *(map(_left_out, imported.components) if robot else ()))
    head = [f"from {Path(source).name} ({imported.format})", *(f"  {note}" for note in notes)]
    if robot:
        text, missing = robot_text(model, Path(out).suffix, head)
        replace_file(text, Path(out))
        notes += tuple(Note("ignored", Path(out).name, line, "the format cannot store this content") for line in missing)
        return replace(imported, notes=notes, written=(os.fspath(out),))
    check_suffix(Path(out), "model", WRITTEN)
    if imported.components:
        from ._scenario_write import plant_path, save_plant  # imports the simulation

        check_target(source, plant_path(Path(out)), overwrite=overwrite)
    replace_file("".join(f"# {one_line(line)}\n" for line in head) + dumps(model, Path(out).parent), Path(out))
    written = [os.fspath(out)]
    if imported.components:
        written.append(str(save_plant(model, imported.components, Path(out))))
    return replace(imported, notes=notes, written=tuple(written))


def check_target(source: str | os.PathLike, out: str | os.PathLike, *, overwrite: bool = False) -> None:
    """Raise an error if a conversion would replace its source or, unless `overwrite` is True, another file."""
    if os.path.exists(source) and os.path.exists(out) and os.path.samefile(source, out):
        raise ValueError(f"{os.fspath(out)!r} is the source, which would be overwritten; choose another name")
    if os.path.exists(out) and not overwrite:
        raise FileExistsError(f"{os.fspath(out)} exists; choose another name, or replace it with --force (overwrite=True)")


def _left_out(component: Component) -> Note:
    text = repr(component).removeprefix(f"{type(component).__name__}(").removesuffix(")")
    value = f"{text[:200]}{' ...' if len(text) > 200 else ''}"
    done = "the new file cannot store this content; load the source file with load_plant instead"
    return Note("ignored", f"{type(component).__name__} {component.name!r}", value, done)


def with_relative_meshes(model: Model, folder: Path) -> Model:
    """Return the model with mesh paths relative to a folder; mesh paths are absolute after an import."""

    def relative(thing: BodyShape) -> BodyShape:
        if not isinstance(thing.shape, Mesh) or not os.path.isabs(thing.shape.file):
            return thing
        file = Path(os.path.relpath(thing.shape.file, os.path.realpath(folder))).as_posix()
        return replace(thing, shape=replace(thing.shape, file=file, folder=""))

    def of_body(body: Body) -> Body:
        return replace(body, shapes=tuple(map(relative, body.shapes)))

    return replace(model, bodies=tuple(map(of_body, model.bodies)))
