"""The commands `python -m benchmarks decoupled`, `hybrid` and `navigation`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from hydromechs.cli._tables import print_report

__all__ = ["study_decoupled", "study_hybrid", "study_navigation"]


def study_decoupled(
    out: Annotated[str, typer.Option(help="Picture to write (.png, .svg, .pdf); none by default.")] = "",
    quick: Annotated[bool, typer.Option("--quick", help="A few runs, to check that it works.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Errors of the decoupled model of vehicle and arm, over mass ratios and bandwidths."""
    from benchmarks.decoupled import FULL_DECOUPLED, QUICK_DECOUPLED, measure_decoupled, plot_decoupled

    from .print_studies import print_decoupled

    report = measure_decoupled(QUICK_DECOUPLED if quick else FULL_DECOUPLED)
    print_report(report, print_decoupled, as_json)
    if out:
        plot_decoupled(report, out)


def study_hybrid(
    out: Annotated[str, typer.Option(help="Picture to write (.png, .svg, .pdf); none by default.")] = "",
    quick: Annotated[bool, typer.Option("--quick", help="A few runs, to check that it works.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Added mass as an outside force in MuJoCo, DART and Bullet: errors, stability limits, convergence to our engine."""
    from benchmarks.hybrid_study import FULL_HYBRID, QUICK_HYBRID, measure_hybrid, plot_hybrid

    from .print_hybrid import print_hybrid

    report = measure_hybrid(QUICK_HYBRID if quick else FULL_HYBRID)
    print_report(report, print_hybrid, as_json)
    if out:
        plot_hybrid(report, out)


def study_navigation(
    seeds: Annotated[int | None, typer.Option(min=2, help="How many seeds; 500 by default, 100 with --quick.")] = None,
    out: Annotated[str, typer.Option(help="Folder for the picture and the report as JSON; none by default.")] = "",
    quick: Annotated[bool, typer.Option("--quick", help="A short flight, to check that it works.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Normalised errors of the navigation filter over many seeds, with all sensors and through gaps of DVL and USBL.

    Status 1 unless the mean of each is within its 95 % bounds.
    """
    import json
    from pathlib import Path

    from rich.progress import Progress

    from benchmarks.navigation_study import FULL_NAVIGATION, QUICK_NAVIGATION, measure_navigation, plot_navigation

    from .print_navigation import print_navigation

    cases = QUICK_NAVIGATION if quick else FULL_NAVIGATION
    cases = cases if seeds is None else cases._replace(seeds=seeds)
    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task("flying", total=cases.duration * len(cases.gaps))
        report = measure_navigation(cases, lambda t: bar.update(task, completed=t))
    print_report(report, print_navigation, as_json)
    if out:
        folder = Path(out)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "navigation.json").write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        plot_navigation(report, folder / "navigation.png")
    if not report["passed"]:
        raise typer.Exit(1)
