"""`python -m benchmarks stiffness`."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from hydromechs.cli._tables import print_report, table_of

__all__ = ["study_stiffness"]


def study_stiffness(
    out: Annotated[str, typer.Option(help="Picture to write (.png, .svg, .pdf); none by default.")] = "",
    quick: Annotated[bool, typer.Option("--quick", help="A few short runs, to check that it works.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Real-time factor of Aquarobot on rubble over the stiffness of its contacts, with the longest step that will do."""
    from rich.progress import Progress

    from benchmarks.stiffness_study import FULL_STIFFNESS, QUICK_STIFFNESS, measure_stiffness, plot_stiffness

    cases = QUICK_STIFFNESS if quick else FULL_STIFFNESS
    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task("walking", total=len(cases.stiffnesses) * len(cases.methods))
        report = measure_stiffness(cases, lambda done: bar.update(task, completed=done))
    print_report(report, print_stiffness, as_json)
    if out:
        plot_stiffness(report, out)


def print_stiffness(report: dict[str, Any], console: Console) -> None:
    """Print what the study has found.

    Args:
        report: What `measure_stiffness` returns.
        console: Where to print.
    """
    load = "unknown" if report["load"] is None else f"{report['load']:.1f}"
    console.print(Text(f"{report['scenario']}, {report['duration']:g} s, load {load}", "bold"))
    table = table_of(
        ">stiffness\nN/m", "method", ">step\nms", ">simulated over\nprocessor time", ">energy residual\nover exchanged"
    )
    for row in report["rows"]:
        if row["factor"] is None:
            found = ("–", "no step will do", "–")
        else:
            step = "its own" if row["step"] is None else f"{1e3 * row['step']:g}"
            found = (step, f"{row['factor']:.1f}", f"{row['residual']:.1e}")
        table.add_row(*map(Text, (f"{row['stiffness']:.0e}", row["method"], *found)))
    console.print(table)
