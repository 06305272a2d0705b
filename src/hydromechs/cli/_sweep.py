"""Command `hydromechs sweep`: run a sweep into a folder with a progress bar, and print the results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Table
from rich.text import Text

from hydromechs.values import nearest

from ._console import Console
from ._kinds import expect
from ._options import CODE, SET
from ._tables import print_rates, rate_text

if TYPE_CHECKING:
    import xarray

    from hydromechs.sweeps import Executor, ParameterSweep, Progress, SweepResult

EXECUTORS = ("local", "dask", "serial")
"""Names of the executors that run in their own processes or in this one."""
VALUES = 12
"""Maximum number of values of a parameter for which success rates are printed."""
REASONS = 5
"""Maximum number of failed runs whose reasons are printed."""


def sweep(
    source: Annotated[str, typer.Argument(metavar="SWEEP", help="Name of a library sweep, or path of a sweep file.")],
    out: Annotated[
        str, typer.Option(help="Folder for the results. Defaults to sweeps/NAME. An unfinished sweep in the folder is resumed.")
    ] = "",
    executor: Annotated[
        str, typer.Option(help="Executor: local (processes), dask (a cluster) or serial (this process).")
    ] = "local",
    workers: Annotated[int | None, typer.Option(help="Number of worker processes. Defaults to one per core.")] = None,
    address: Annotated[str, typer.Option(help="Address of a Dask scheduler. Defaults to a new cluster on this machine.")] = "",
    force: Annotated[bool, typer.Option("--force", help="Replace earlier results in the folder.")] = False,
    settings: SET = None,
    code: CODE = False,
) -> None:
    """Run a scenario many times with varied numbers.

    Finished runs are not repeated. The exit status is 1 if a run failed.
    """
    from hydromechs.sweeps import load_sweep, run_sweep

    from ._settings import parsed_settings, with_settings

    expect(source, "sweep", "sweep")
    console, chosen = Console(), named_executor(executor, workers, address)
    plan, given = load_sweep(source, code=code), parsed_settings(settings)
    plan = replace(plan, scenario=with_settings(plan.scenario, given)) if given else plan
    folder = Path(out or Path("sweeps") / plan.name)
    console.print(Text(plan.title or plan.name, "bold"))
    if plan.compiling:
        names = ", ".join(plan.compiling)
        console.print(
            f"{names}: each new value requires compilation, because the compiled program contains it",
            style="yellow",
            highlight=False,
        )
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Bars(*columns, console=console) as bars:
        task = bars.add_task("starting", total=plan.runs, left="")

        def show(progress: Progress) -> None:
            failed = f", {progress.failed} failed" if progress.failed else ""
            left = "" if progress.remaining is None else f"{clock(progress.remaining)} left"
            bars.update(task, completed=progress.done, description=progress.phase, left=left + failed)

        try:
            result = run_sweep(plan, folder, executor=chosen, replace=force, progress=show)
        except KeyboardInterrupt:
            bars.stop()
            console.print(f"interrupted; finished runs are in {folder}; run the same command again to resume", highlight=False)
            raise
    _print(result, plan, console)
    if result.failed:
        raise typer.Exit(1)


def named_executor(name: str, workers: int | None, address: str, names: Sequence[str] = EXECUTORS) -> Executor:
    """Return the named executor with the given options; an error about an unknown name lists `names`."""
    from hydromechs.sweeps import Dask, Local, Serial

    if address and name != "dask":
        raise ValueError(f"--address requires --executor dask, but the executor is {name}")
    if name == "local":
        return Local(workers)
    if name == "dask":
        return Dask(address, workers)
    if name == "serial":
        return Serial()
    raise ValueError(f"unknown executor {name!r}{nearest(name, names)}")


def clock(seconds: float) -> str:
    """Return a time in seconds as text, such as 0:01:30."""
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def _print(result: SweepResult, plan: ParameterSweep, console: Console) -> None:
    from hydromechs.recording import WARNING_KINDS

    dataset = result.dataset
    there = result.runs - result.new
    again = f", {there} of them from an earlier run of the sweep" if there else ""
    console.print(f"{result.runs} runs in {result.wall_time:.1f} s{again}; {result.failed} failed", highlight=False)
    if "on_gpu" in dataset:
        on_gpu = int(dataset.on_gpu.sum())
        beside = "" if on_gpu == result.runs else "; the others ran on the CPU, because their workers have no GPU or no CuPy"
        console.print(f"{on_gpu} of them ran on a GPU{beside}", highlight=False)
    table = Table("result", "min", "mean", "max", box=None)
    done = dataset.where(dataset.status == 1, drop=True)
    for name, values in done.data_vars.items():
        if values.dims == ("run",) and name not in ("status", "reason", "end_time", "on_gpu", "warnings") and values.size:
            table.add_row(str(name), *(f"{x:.4g}" for x in (float(values.min()), float(values.mean()), float(values.max()))))
    if table.row_count:
        console.print(table)
    if plan.scenario.checks:
        _print_success(dataset, plan, console)
    warned: dict[str, list[int]] = {}
    for run, kinds in zip(dataset.run.values, dataset.warnings.values, strict=True):
        for kind in str(kinds).split():
            warned.setdefault(kind, []).append(int(run))
    for kind, runs in warned.items():
        text = f"warning {kind} in {len(runs)} of {result.runs} runs (first: run {runs[0]}): {WARNING_KINDS[kind]}"
        console.print(Text(text, "yellow"), soft_wrap=True)
    failed = dataset.where(dataset.status == 2, drop=True)
    for run, reason in list(zip(failed.run.values, failed.reason.values, strict=True))[:REASONS]:
        console.print(f"  run {int(run)}: {reason}", style="red", highlight=False, markup=False)
    console.print(
        f"results: {result.folder}; load them with hydromechs.sweeps.load_results({str(result.folder)!r})", highlight=False
    )


def _print_success(dataset: xarray.Dataset, plan: ParameterSweep, console: Console) -> None:
    """Print success rates of all runs, of each check, and of each value of parameters with few values."""
    from hydromechs.sweeps import CheckOutcome, Rate

    passed, values, runs = dataset.passed.values, dataset.check_value.values, dataset.run.values
    outcomes = [
        CheckOutcome(c.name, c.quantity, c.text, c.limit, c.below, c.above, Rate(int(x.sum()), len(x)), runs, y)
        for c, x, y in zip(plan.scenario.checks, passed.T, values.T, strict=True)
    ]
    success = passed.all(axis=1) & (dataset.status.values == 1)
    print_rates(Rate(int(success.sum()), len(success)), outcomes, "runs", console)
    table = Table("parameter", "value", "runs that passed", box=None)
    for p in (p for p in plan.parameters if p.paths != ("seed",)):
        found = dataset[p.name].values
        different = dict.fromkeys(found.tolist())
        for k, value in enumerate(different if 1 < len(different) <= VALUES else ()):
            some = success[found == value]
            shown = f"{value:.4g}" if isinstance(value, float) else str(value)
            table.add_row("" if k else Text(p.name), Text(shown), rate_text(Rate(int(some.sum()), len(some))))
    if table.row_count:
        console.print(table)
