"""Command `hydromechs campaign`: run a mission with many seeds, print the results, and replay a world."""

from __future__ import annotations

import math
from pathlib import Path
from signal import SIGINT
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.text import Text

from ._console import Console
from ._kinds import expect
from ._options import CODE, SET
from ._sweep import EXECUTORS, clock, named_executor
from ._tables import WORST, print_rates

if TYPE_CHECKING:
    from hydromechs.scenario import RunResult
    from hydromechs.sweeps import CampaignProgress, CampaignResults, Executor

SAME = 1e-9
"""Largest accepted difference between a world and its replay on another processor or target, relative to 1 + |value|."""


def campaign(
    scenario: Annotated[
        str, typer.Argument(help="Name of a library scenario (see `hydromechs scenarios`), or path of a scenario file.")
    ],
    worlds: Annotated[int, typer.Option(help="Number of worlds; each flies the mission once.")] = 1000,
    out: Annotated[
        str,
        typer.Option(
            help="Folder for the results. Defaults to campaigns/NAME. An unfinished campaign in the folder is resumed."
        ),
    ] = "",
    seed: Annotated[
        int | None,
        typer.Option(
            help="Seed of the campaign, from which each world derives its own seed. Defaults to the seed of the scenario."
        ),
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Number of threads. Defaults to one per core.")] = None,
    chunk: Annotated[
        int | None,
        typer.Option(help="Number of worlds that run together and share a file. Defaults to the number that fits in memory."),
    ] = None,
    duration: Annotated[
        float | None, typer.Option(help="Duration of each mission [s]. Defaults to the duration of the scenario.")
    ] = None,
    watch: Annotated[
        list[str] | None, typer.Option(help="Quantity to store statistics of, in addition to the checks; repeatable.")
    ] = None,
    target: Annotated[str, typer.Option(help="Processor that runs the worlds: cpu, or cuda for a GPU.")] = "cpu",
    device: Annotated[int, typer.Option(help="Index of the GPU, from 0.")] = 0,
    executor: Annotated[
        str,
        typer.Option(help="Executor: threads (of this process), local (processes), dask (a cluster) or serial (one thread)."),
    ] = "threads",
    workers: Annotated[int | None, typer.Option(help="Number of worker processes. Defaults to one per core.")] = None,
    address: Annotated[str, typer.Option(help="Address of a Dask scheduler. Defaults to a new cluster on this machine.")] = "",
    settings: SET = None,
    code: CODE = False,
) -> None:
    """Fly a mission many times with different seeds.

    The results are success rates, the worst worlds and a page with distributions.

    After Ctrl-C or SIGTERM, run the same command again to resume; finished chunks are kept.
    `hydromechs run FOLDER --world K` replays a world.
    """
    from hydromechs import files
    from hydromechs.library import load_scenario, scenario_file
    from hydromechs.simulation import sigterm_interrupts
    from hydromechs.sweeps import MissionCampaign, run_campaign
    from hydromechs.values import is_path

    from ._settings import parsed_settings, with_settings

    expect(scenario, "campaign", "scenario")
    chosen = chosen_executor(executor, workers, address)
    console, given = Console(), parsed_settings(settings)
    loaded = with_settings(load_scenario(scenario, code=code), given)
    file = Path(scenario_file(scenario))
    plan = MissionCampaign(
        scenario=loaded,
        worlds=worlds,
        seed=seed,
        duration=duration,
        source=str(file.absolute()) if is_path(scenario) else scenario,
        text=files.read_text(file),
        settings=given,
        watch=watch or (),
        target=target,
    )
    folder = Path(out or Path("campaigns") / loaded.name)
    console.print(Text(loaded.title or loaded.name, "bold"))
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[count]}"), TimeElapsedColumn())
    with Bars(*columns, TextColumn("{task.fields[left]}"), console=console) as bars:
        task = bars.add_task("starting", total=worlds, count="", left="")

        def show(p: CampaignProgress) -> None:
            left = "" if p.remaining is None else f"{clock(p.remaining)} left"
            left += f", {p.passed} of {p.stored} passed" if p.stored else ""
            if p.note:
                console.print(Text(p.note, "yellow"))
            bars.update(task, completed=p.done, description=p.phase, count=f"{int(p.done)}/{p.worlds}", left=left)

        try:
            with sigterm_interrupts():
                how = dict(threads=threads, chunk=chunk, device=device, executor=chosen)
                results = run_campaign(plan, folder, progress=show, **how)
        except KeyboardInterrupt as stop:
            bars.stop()
            console.print(
                Text(f"interrupted; finished worlds are in {folder}; run the same command again to resume", "yellow"),
                soft_wrap=True,
            )
            raise typer.Exit(128 + getattr(stop, "signal", SIGINT)) from None
    print_campaign(results, console)
    console.print(Text(f"report: {write_page(results)}", "bold"), soft_wrap=True)
    console.print(Text(f"to replay a world: hydromechs run {folder} --world {_first_worst(results)}"), soft_wrap=True)


def chosen_executor(name: str, workers: int | None, address: str) -> Executor | None:
    """Return the named executor with the given options, or None for threads of this process."""
    if name != "threads":
        return named_executor(name, workers, address, ("threads", *EXECUTORS))
    if address or workers is not None:
        raise ValueError(
            "--address and --workers do not apply to threads; use --executor dask for --address, dask or local for --workers"
        )
    return None


def print_campaign(results: CampaignResults, console: Console) -> None:
    """Print success rates, values of checks, the worst worlds, and the reasons why worlds ended early."""
    print_rates(results.success, results.checks, "worlds", console)
    if results.identical:
        text = (
            "all worlds are identical, because nothing in the mission depends on the seed; add gusts, irregular waves or "
            "sensor noise, or vary numbers with `hydromechs sweep`"
        )
        console.print(Text(text, "yellow"), soft_wrap=True)
    if capsized := results.capsized:
        text = f"{len(capsized)} of {results.success.worlds} worlds capsized (first: world {capsized[0]})"
        console.print(Text(text, "yellow"))
    for reason, worlds in results.ended.items():
        more = ", ..." if len(worlds) > WORST else ""
        console.print(
            Text(f"{len(worlds)} worlds ended early: {reason} (worlds {', '.join(map(str, worlds[:WORST]))}{more})", "yellow")
        )


def _first_worst(results: CampaignResults) -> int:
    """Return the number of the world with the smallest margin in the check that the fewest worlds pass."""
    hardest = min(results.checks, key=lambda c: c.rate.count, default=None)
    return hardest.worst(1)[0][0] if hardest is not None and hardest.rate.worlds else 0


def write_page(results: CampaignResults) -> Path:
    """Write the page with distributions to the folder of a campaign; return its path."""
    from hydromechs.viewer import Distribution, write_distributions

    about, success = results.about, results.success
    checks = [
        Distribution(c.name, c.text, c.limit, c.below, c.above, c.values, c.rate.count, c.rate.interval, c.worst(WORST))
        for c in results.checks
    ]
    setup = [("Scenario", about["source"] or about["scenario"]), ("Seed", str(about["seed"]))]
    setup += [("Duration", f"{about['duration']:g} s"), *((path, str(value)) for path, value in about["settings"].items())]
    return write_distributions(
        results.folder / "report.html",
        checks,
        title=about["title"] or about["scenario"],
        description=about["description"],
        passed=success.count,
        runs=success.worlds,
        planned=results.planned,
        interval=success.interval,
        ended=results.ended,
        capsized=results.capsized,
        setup=setup,
        replay=f"hydromechs run {results.folder} --world",
        foot=f"Made by HydroMechs {about['hydromechs']}",
    )


# -- replay of a world --------------------------------------------------------------------------------------------------------


class WorldRun(NamedTuple):
    """Settings that repeat one world of a campaign, and results to compare the replay with."""

    source: str
    """Library name or file path of the scenario."""
    duration: float
    """Simulated duration [s]."""
    seed: int
    """Seed of the world."""
    settings: dict[str, Any]
    """Numbers replaced in the scenario, keyed by path."""
    name: str
    """Default name of the run folder."""
    lanes: int
    """Number of worlds per SIMD vector in the campaign."""
    target: str
    """Target on which the replay runs: the target of the campaign if available, otherwise the CPU."""
    digest: int
    """Digest of the world's final state in the campaign."""
    values: dict[str, float]
    """Values of the world's checks in the campaign, keyed by name."""


def world_run(folder: str, world: int, *, code: bool) -> WorldRun:
    """Return the settings that repeat a world of a campaign; raise `ValueError` if the scenario has changed since.

    Args:
        folder: Folder of the campaign.
        world: Number of the world, from 0.
        code: Allow execution of Python code named in the scenario.
    """
    from hydromechs.compiler import NATIVE, TARGETS
    from hydromechs.library import load_scenario
    from hydromechs.sweeps import load_campaign, same_scenario, world_of

    from ._settings import tuples, with_settings

    results = load_campaign(folder)
    about = results.about
    if not about["source"]:
        raise ValueError(f"{folder} was created by a program and has no scenario file; run the scenario in that program")
    settings = {path: tuples(value) for path, value in about["settings"].items()}
    seed, digest, values = world_of(results, world)
    loaded = with_settings(load_scenario(about["source"], code=code), settings)
    if not same_scenario(results, loaded):
        raise ValueError(
            f"scenario {about['source']}, or a model or code file of it, has changed since the campaign in {folder}; "
            "restore the original (stored in campaign.json), or run the campaign again"
        )
    missing = (
        TARGETS[about["target"]].unavailable() if about["target"] in TARGETS else "this version does not support the target"
    )
    if missing:
        Console().print(Text(f"the campaign ran on {about['target']}; the replay runs on the CPU: {missing}", "yellow"))
    name, target = f"{loaded.name}-world-{world}", NATIVE.target if missing else about["target"]
    return WorldRun(
        about["source"], float(about["duration"]), seed, settings, name, int(about["lanes"]), target, digest, values
    )


def print_agreement(replay: WorldRun, result: RunResult, console: Console) -> None:
    """Print whether a replay reproduces the final state of the world bit for bit, or else the values of its checks."""
    from hydromechs.sweeps import digest

    state = result.state
    if digest(state.q, state.v, state.internal) == replay.digest:
        console.print(Text("the final state is bit-identical to the one in the campaign"))
        return
    off = {}
    for check in result.summary.checks:
        before = replay.values.get(check.name, math.nan)
        both = math.isnan(before) and math.isnan(check.value)
        off[check.name] = 0.0 if both else abs(check.value - before) / (1.0 + abs(before))
    worst = max(off, key=lambda name: math.inf if math.isnan(off[name]) else off[name], default="no check")
    most = off.get(worst, 0.0)
    text = f"the final state differs from the campaign; checks differ by at most {most:.3g} of 1 + |value| ({worst})"
    if most <= SAME:
        console.print(Text(f"{text}, within the tolerance of {SAME:g}"))
    else:
        reason = "a likely cause is another version, processor or target, with a motion that amplifies rounding errors"
        console.print(Text(f"warning: {text}, above the tolerance of {SAME:g}; {reason}", "yellow"))
