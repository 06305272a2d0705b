"""`hydromechs sweep`: its arguments."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from ._kinds import expect
from ._options import CODE


def sweep(
    study: Annotated[str, typer.Argument(help="A library study, or the path of a study file.")],
    out: Annotated[
        str, typer.Option(help="Folder for the results; by default sweeps/NAME. That of the same study goes on.")
    ] = "",
    engine: Annotated[str, typer.Option(help="local (processes), dask (a cluster) or serial (this process).")] = "local",
    workers: Annotated[int | None, typer.Option(help="Number of workers; by default one for each core.")] = None,
    address: Annotated[str, typer.Option(help="Of a Dask scheduler; by default a cluster on this machine.")] = "",
    force: Annotated[bool, typer.Option("--force", help="Replace what is in the folder.")] = False,
    code: CODE = False,
) -> None:
    """Run a study of many runs into one store. Runs that are there are not run again. Status 1 if a run failed."""
    from ._run_sweep import sweep as run_study

    expect(study, "sweep", "sweep")
    passed = run_study(study, Console(), out=out, engine=engine, workers=workers, address=address, force=force, code=code)
    if not passed:
        raise typer.Exit(1)
