"""`python -m benchmarks drops`."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console

from hydromechs.cli._tables import print_report, table_of

__all__ = ["study_drops"]

LIMIT = 0.05
"""Largest change of energy over the median kinetic energy, at the smallest step [-]."""


def study_drops(
    drops: Annotated[int, typer.Option(help="Drops of each shape.")] = 1000,
    ground: Annotated[list[str] | None, typer.Option(help="Grounds: block, drum, hull. Defaults to block.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Drop every shape without friction and damping: the energy changes by the integration error only."""
    from benchmarks.drop_study import SHAPES
    from benchmarks.drop_study import study_drops as study

    found = [study(shape, solid, drops) for solid in ground or ["block"] for shape in SHAPES]
    print_report([x._asdict() for x in found], print_drops, as_json)
    if any(x.largest[-1] > LIMIT * x.kinetic or x.quantile[-1] > 0.6 * x.quantile[0] for x in found):
        raise typer.Exit(1)


def print_drops(report: list[dict[str, Any]], console: Console) -> None:
    """Print a row for each shape and step."""
    table = table_of("shape", "ground", ">touched", ">kinetic J", ">step s", ">99 % below J", ">largest J")
    for row in report:
        for step, quantile, largest in zip(row["steps"], row["quantile"], row["largest"], strict=True):
            first = (row["shape"], row["ground"], str(row["touched"]), f"{row['kinetic']:.1f}")
            table.add_row(*first, f"{step:g}", f"{quantile:.1e}", f"{largest:.1e}")
    console.print(table)
