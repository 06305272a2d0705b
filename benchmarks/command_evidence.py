"""`python -m benchmarks evidence`: every long study in turn, on one page."""

from __future__ import annotations

import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from hydromechs import __version__

__all__ = ["evidence"]

BENCHMARKS, PACKAGE = ("-m", "benchmarks"), ("-m", "hydromechs.cli")
POOL, DATA = "examples/hinsdale_2023.yaml", "FOLDER"
"""Study of the pool trials, and placeholder for the folder of its logs."""
STUDIES = {
    "Cross-check with DART, Pinocchio and MuJoCo": (*PACKAGE, "crosscheck", "--trees", "1000"),
    "Machine code against floats": (*BENCHMARKS, "backends", "--trees", "200"),
    "Operation counts of the papers": (*PACKAGE, "papers", "counts"),
    "Experiment of the thesis": (*PACKAGE, "papers", "lift"),
    "Block methods on lanes": (*BENCHMARKS, "blocks"),
    "Speed of the dynamics": (*BENCHMARKS, "goals", "dynamics"),
    "Speed of simulations": (*BENCHMARKS, "goals", "simulation"),
    "Speed of many worlds": (*BENCHMARKS, "goals", "worlds"),
    "Speed of large trees": (*BENCHMARKS, "trees"),
    "Missions in all engines": (*BENCHMARKS, "missions", "--seeds", "10"),
    "Speed of missions in all engines": (*BENCHMARKS, "speed"),
    "Pages of the library's scenarios": (*BENCHMARKS, "pages"),
    "Added mass in other engines": (*BENCHMARKS, "hybrid"),
    "Decoupled models of vehicle and arm": (*BENCHMARKS, "decoupled"),
    "Stiffness of contacts": (*BENCHMARKS, "stiffness"),
    "Energy of random drops": (*BENCHMARKS, "drops"),
    "Consistency of the navigation filter": (*BENCHMARKS, "navigation"),
    "Model and scenario files changed at random": (*BENCHMARKS, "files"),
    "Problems that check and run report": (*BENCHMARKS, "mutations"),
    "Robot files changed at random": (*BENCHMARKS, "files", "--robots"),
    "Pool trials of a real vehicle": (*PACKAGE, "validate", POOL, "--data", DATA),
    "Pool trial whose arm leaves the water": (*BENCHMARKS, "surface", POOL, DATA, "traj019-2", "1.41"),
}
"""Title of each study and the arguments of Python that run it."""
SHORT: dict[str, tuple[str, ...]] = {
    "counts": (),
    "drops": ("--drops", "20"),
    "crosscheck": ("--trees", "5"),
    "backends": ("--trees", "1"),
    "files": ("--count", "50"),
    "mutations": ("--files", "50"),
}
"""Options of a short run; other studies have --quick, or none and are skipped."""
QUICK = {"lift", "blocks", "trees", "hybrid", "decoupled", "stiffness", "navigation"}


def evidence(
    out: Annotated[Path, typer.Option(help="Folder for the page and the output of each study.")] = Path("evidence"),
    quick: Annotated[
        bool, typer.Option("--quick", help="Short runs of the studies that have one, to check that it works.")
    ] = False,
    data: Annotated[str, typer.Option(help="Folder with the logs of the pool trials, which are skipped without it.")] = "",
    only: Annotated[str, typer.Option(help="Run only studies whose title contains this text.")] = "",
) -> None:
    """Run all long studies, some hours, and write one page, evidence.md. Status 1 if a study fails.

    The page is rewritten after each study, so a run that is stopped leaves what was done.
    """
    console, rows, failed = Console(stderr=True), [], 0
    out.mkdir(parents=True, exist_ok=True)
    page = out / "evidence.md"
    head = f"# Evidence for HydroMechs {__version__}\n\n{datetime.now(UTC):%Y-%m-%d %H:%M} UTC\n\n"
    for k, (title, arguments) in enumerate(STUDIES.items(), 1):
        if only.lower() not in title.lower():
            continue
        if DATA in arguments and not data:
            console.print(f"{title}: not run; give the folder of its logs with --data")
            continue
        arguments = tuple(data if x == DATA else x for x in arguments)
        if quick:
            short = _short(arguments)
            if short is None:
                continue
            arguments = short
        command = f"python {' '.join(arguments)}"
        console.print(f"{k} of {len(STUDIES)}: {title} ({command})")
        start = time.monotonic()
        done = subprocess.run([sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        seconds = time.monotonic() - start
        failed += done.returncode != 0
        verdict = "passed" if done.returncode == 0 else f"**status {done.returncode}**"
        rows.append(f"## {title}\n\n`{command}`: {verdict} after {seconds:.0f} s\n\n```text\n{done.stdout.rstrip()}\n```\n")
        page.write_text(head + "\n".join(rows), encoding="utf-8")
    console.print(f"wrote {page}: {len(rows)} studies, {failed} failed")
    if failed:
        raise typer.Exit(1)


def _short(arguments: tuple[str, ...]) -> tuple[str, ...] | None:
    """The arguments of a short run of a study, or None if it has none; of an option given twice the last counts."""
    name = arguments[3] if arguments[2] == "papers" else arguments[2]
    if name in QUICK:
        return (*arguments, "--quick")
    return (*arguments, *SHORT[name]) if name in SHORT else None
