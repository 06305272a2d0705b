"""`python -m benchmarks surface`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from hydromechs.cli._tables import print_report, table_of

__all__ = ["study_surface"]


def study_surface(
    study: Annotated[str, typer.Argument(help="Validation file whose unknowns include surface_height.")],
    data: Annotated[str, typer.Argument(help="Folder with the logs.")],
    trial: Annotated[str, typer.Argument(help="Trial to predict; its motion is held out of the fit.")],
    heights: Annotated[list[float], typer.Argument(help="Heights of the surface besides the fitted one [m].")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Predict a trial at other heights of the free surface, with the predicted and with the measured heave."""
    from benchmarks.surface_scan import scan_surface
    from hydromechs.identification.validation import load_validation_study

    rows = scan_surface(load_validation_study(Path(study)), data, trial, heights)
    print_report({"trial": trial, "rows": [row._asdict() for row in rows]}, print_surface, as_json)


def print_surface(report: dict[str, Any], console: Console) -> None:
    """Print the errors at each height, in degrees and metres; the fitted height is marked."""
    from hydromechs.identification.validation._logs import unit_of

    channels = list(report["rows"][0]["predicted"])
    kinds = {"predicted": "", "measured_heave": "\nmeasured heave"}
    columns = [f">{c} [{unit_of(c)[1]}]{kind}" for kind in kinds.values() for c in channels]
    rows = [
        (
            f"{row['height']:.4f}{' fitted' if row['fitted'] else ''}",
            *(f"{unit_of(c)[0] * row[kind][c]:.3f}" for kind in kinds for c in channels),
        )
        for row in report["rows"]
    ]
    console.print(table_of(">height [m]", *columns, rows=rows))
