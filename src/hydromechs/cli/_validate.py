"""`hydromechs validate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from ._tables import print_report, table_of

__all__ = ["validate"]


def validate(
    study: Annotated[Path, typer.Argument(help="File of the study, as examples/hinsdale_2023.yaml.")],
    data: Annotated[str, typer.Option(help="Folder with the logs; that of the study by default.")] = "",
    out: Annotated[str, typer.Option(help="Folder for report.html, pictures and numbers; none by default.")] = "",
    workers: Annotated[int, typer.Option(min=0, help="Processes that share the fits; one for each processor by default.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Fit a model to recorded trials and predict others that it has not seen, each motion left out once."""
    from hydromechs.studies.validation import load_study, report_of, write_validation
    from hydromechs.studies.validation import validate as run

    console = Console(stderr=True)
    try:
        found = load_study(study)
        folder = Path(data) if data else study.parent / found.data
        if not data and not found.data:
            raise ValueError(f"{study} names no folder with logs; give one with --data")
        result = run(found, folder, workers=workers or None, told=lambda text: console.print(Text(text)))
    except (ValueError, KeyError) as error:
        console.print(Text(str(error.args[0] if error.args else error), "red"))
        raise typer.Exit(1) from None
    print_report(report_of(result), print_validation, as_json)
    if out:
        console.print(Text(f"written: {write_validation(result, out)}"))


def print_validation(report: dict[str, Any], console: Console) -> None:
    """Print what a validation has found.

    Args:
        report: What `report_of` returns.
        console: Where to print.
    """
    console.print(
        Text(f"{report['title'] or report['study']}: {len(report['trials'])} trials, {report['seconds']:.0f} s", "bold")
    )
    console.print(Text("Errors of predictions, root mean square from the begin of the motion to the end of the trial:"))
    table = table_of(
        "channel",
        ">mean",
        ">median",
        ">9 of 10",
        ">largest",
        ">with the\ntime before",
        ">statics,\nnot seen",
        ">statics,\nall seen",
    )
    for c in report["channels"]:
        numbers = [
            f"{c[k]:.3f}" if k in c else "–" for k in ("mean", "median", "ninth", "largest", "whole", "static", "static_all")
        ]
        table.add_row(*map(Text, (f"{c['channel']} [{c['unit']}]", *numbers)))
    console.print(table)
    console.print(Text("\nWhat was found, from all trials:"))
    table = table_of("number", ">value", ">deviation", ">between\ntrials", ">before", ">deviation\nbefore")
    for f in report["found"]:
        numbers = [f"{f[k]:.4g}" for k in ("value", "deviation", "clustered", "before", "deviation_before")]
        table.add_row(*map(Text, (f["name"], *numbers)))
    console.print(table)
    for information, text in report["directions"]:
        console.print(Text(f"not told by the data (information {information:.2f}): {text}"))
    for name in report["not_converged"]:
        console.print(Text(f"the fit without {name} did not converge; the best so far was taken", "red"))
