"""`python -m benchmarks mutations`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

__all__ = ["study_mutations"]


def study_mutations(
    files: Annotated[int, typer.Option(min=1, help="Number of files.")] = 5_000,
    seed: Annotated[int, typer.Option(help="Seed of the mistakes.")] = 0,
    processes: Annotated[int, typer.Option(min=1, help="Number of files that are compared at the same time.")] = 2,
    out: Annotated[str, typer.Option(help="Folder for files whose problems differ, with the differences.")] = "different_files",
) -> None:
    """Compare the problems that `check` and `run` report of files with mistakes. Status 1 if place, value or line differ.

    Mistakes are those that people make in model, scenario and sweep files: keys, names, types, numbers and units.
    """
    from .check_study import CHECKED_FILES
    from .file_study import study_files
    from .print_studies import print_files

    console = Console()
    with Progress(console=console) as bar:
        task = bar.add_task("comparing", total=files)
        result = study_files(
            files,
            seed,
            Path(out),
            changed=CHECKED_FILES,
            processes=processes,
            progress=lambda done: bar.update(task, completed=done),
        )
    print_files(result, console)
    if not result.passed:
        raise typer.Exit(1)
