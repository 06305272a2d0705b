"""`hydromechs convert`, and the list of what an import left out, guessed or mended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from ._kinds import expect
from ._options import CODE
from ._robot_options import ARGUMENT, BASE, FOLDER, PACKAGE, PLACEHOLDERS, robot_options
from ._tables import table_of

if TYPE_CHECKING:
    from hydromechs.formats import Imported

__all__ = ["convert", "print_notes"]


def convert(
    source: Annotated[str, typer.Argument(help="A robot description (URDF, SDF, MJCF, .dm), a model file or a library model.")],
    out: Annotated[str, typer.Argument(help="The file to write; its ending tells the format: .yaml, .urdf, ...")],
    package: PACKAGE = None,
    folder: FOLDER = None,
    base: BASE = "auto",
    placeholders: PLACEHOLDERS = False,
    arg: ARGUMENT = None,
    code: CODE = False,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
) -> None:
    """Write a model in another format.

    Thrusters and drives of a robot description go to a second file, NAME_plant.yaml, which scenarios take by `plant:`. What was
    left out, guessed or mended, and what the new file does not carry (springs, hydrodynamics in most formats), is listed, also
    in the first comment of the new file.
    """
    from hydromechs.formats import check_target, convert_file, is_robot_file, save

    expect(source, "convert", "model")
    options = robot_options(package, folder, base, placeholders, arg)
    if is_robot_file(source):
        imported = convert_file(source, out, overwrite=force, **options)
        console = Console()
        for text in imported.headlines:
            console.print(Text.assemble(("warning: ", "yellow"), text))
        print_notes(imported, console)
        for file in imported.written:
            print(f"wrote {file}")
    else:
        from hydromechs.library import load

        check_target(source, out, overwrite=force)
        for line in save(load(source, code=code, **options), out):
            print(f"left out: {line}")
        print(f"wrote {out}")


def print_notes(imported: Imported, console: Console) -> None:
    """Print what an import left out, guessed or mended.

    Args:
        imported: What was imported.
        console: Where to print.
    """
    if not imported.notes:
        console.print(Text("nothing was left out, guessed or mended"))
        return
    table = table_of(">line", "what", "value", "", "done")
    for note in imported.notes:
        cells = ("" if note.line is None else str(note.line), note.element, note.value, note.kind, note.done)
        table.add_row(*map(Text, cells))
    console.print(table)
