"""`python -m benchmarks loops`."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console

from hydromechs.cli._tables import print_report, table_of

__all__ = ["study_loops"]

AGREE = 1e-8
"""Largest difference: differences of J have an error of the step squared."""


def study_loops(
    files: Annotated[list[str], typer.Argument(help="MJCF files with equalities, such as agility_cassie of MuJoCo Menagerie.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare accelerations of mechanisms with loops with MuJoCo's equations. Status 1 unless all agree to 1e-8."""
    from benchmarks.loop_study import compare_loops

    found = [compare_loops(file) for file in files]
    print_report([x._asdict() for x in found], print_loops, as_json)
    if not all(x.difference < AGREE for x in found):
        raise typer.Exit(1)


def print_loops(report: list[dict[str, Any]], console: Console) -> None:
    """Print a row for each file."""
    table = table_of("file", ">velocities", ">loops", ">equalities", ">misfit", ">difference")
    for row in report:
        numbers = (str(row[k]) for k in ("velocities", "loops", "equalities"))
        table.add_row(row["file"], *numbers, f"{row['misfit']:.1e}", f"{row['difference']:.1e}")
    console.print(table)
