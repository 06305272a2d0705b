"""`python -m benchmarks files`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

__all__ = ["study_files"]


def study_files(
    count: Annotated[int, typer.Option(min=1, help="How many files.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Seed of the changes.")] = 0,
    robots: Annotated[bool, typer.Option("--robots", help="Robot descriptions: URDF, SDF, MJCF, .dm.")] = False,
    processes: Annotated[int, typer.Option(min=1, help="How many files are tried at the same time.")] = 2,
    out: Annotated[str, typer.Option(help="Folder for files that fail, with their traceback.")] = "failed_files",
) -> None:
    """Change model and scenario files at random; load, build and run each for 0.2 s. Status 1 unless all end as they should.

    A file should run, or be rejected with an error that explains the problem. With --robots they are robot descriptions
    of other programs, which are read, moved for an instant, written in every format and read again.
    """
    from benchmarks.file_study import OWN_FILES
    from benchmarks.file_study import study_files as try_files
    from benchmarks.robot_study import CHANGED_ROBOTS

    from .print_studies import print_files

    console = Console()
    with Progress(console=console) as bar:
        task = bar.add_task("trying", total=count)
        result = try_files(
            count,
            seed,
            Path(out),
            changed=CHANGED_ROBOTS if robots else OWN_FILES,
            processes=processes,
            progress=lambda done: bar.update(task, completed=done),
        )
    print_files(result, console)
    if not result.passed:
        raise typer.Exit(1)
