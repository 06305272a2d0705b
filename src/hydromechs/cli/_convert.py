"""Command `hydromechs convert`, and printing of import notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from hydromechs.errors import grouped
from hydromechs.files import printable

from ._console import Console
from ._kinds import expect
from ._options import CODE, robot_command

if TYPE_CHECKING:
    from hydromechs.formats import Imported


@robot_command
def convert(
    source: Annotated[
        str, typer.Argument(help="Robot description (URDF, SDF, MJCF, .dm), model file or name of a library model.")
    ],
    out: Annotated[str, typer.Argument(help="File to write; its suffix selects the format, such as .yaml or .urdf.")],
    code: CODE = False,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
    **options: Any,
) -> None:
    """Write a model in another format.

    Thrusters and drives of a robot description are written to a second file, NAME_plant.yaml, for the key `plant` of a
    scenario. The command lists all elements that it ignored, assumed or repaired, and elements that the new format cannot
    store, such as springs. A comment at the top of the new file repeats this list.
    """
    from hydromechs.formats import check_target, convert_file, is_robot_file, save

    expect(source, "convert", "model")
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
            print(printable(f"ignored: {line}"))
        print(f"wrote {out}")


def print_notes(imported: Imported, console: Console) -> None:
    """Print the notes of an import: elements that were ignored, assumed or repaired."""
    if not imported.notes:
        console.print(Text("nothing was ignored, assumed or repaired"))
        return
    for note in grouped(map(str, imported.notes)):
        console.print(Text(note), soft_wrap=True)
