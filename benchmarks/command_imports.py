"""`python -m benchmarks imports`."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.text import Text

__all__ = ["study_imports"]


def study_imports(
    paths: Annotated[list[str], typer.Argument(help="Robot descriptions, or folders that are searched for them.")],
    notes: Annotated[bool, typer.Option("--notes", help="List what was ignored, assumed or repaired in each file.")] = False,
    placeholders: Annotated[bool, typer.Option("--placeholders", help="Small boxes for meshes that are missing.")] = False,
) -> None:
    """Read robot descriptions and compare dry accelerations with another code's own reading. Status 1 if any differ."""
    from benchmarks.import_study import IMPORT_TOLERANCE, measure_imports, robot_files

    console = Console(soft_wrap=True)
    rows = []
    for row in measure_imports(robot_files(paths), placeholders=placeholders):
        rows.append(row)
        result = row.problem if row.relative is None else f"difference {row.relative:.1e}"
        size = (
            f"{row.format}, {row.bodies} bodies, {row.dof} degrees of freedom; {row.summary or 'all there'}"
            if row.format
            else ""
        )
        bad = not row.format or (row.relative is not None and not row.relative <= IMPORT_TOLERANCE)
        console.print(Text(f"{row.file}: {size}{'; ' if size else ''}{result}", "red" if bad else ""), highlight=False)
        for note in row.notes if notes else ():
            console.print(Text(f"    {note}"), highlight=False)
    compared = [row.relative for row in rows if row.relative is not None]
    agree = sum(x <= IMPORT_TOLERANCE for x in compared)
    read = sum(bool(row.format) for row in rows)
    worst = f", the largest difference is {np.max(compared):.1e}" if compared else ""
    console.print(f"{read} of {len(rows)} files read, {agree} of {len(compared)} agree to {IMPORT_TOLERANCE:g}{worst}")
    if agree < len(compared):
        raise typer.Exit(1)
