"""Commands of `hydromechs`; each job is in a module of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from hydromechs.errors import ModelError, words_of

from ._bench import bench_gpu, bench_worlds
from ._convert import convert
from ._demo import demo
from ._files import study_files
from ._imports import study_imports
from ._missions import bench_missions, study_missions
from ._modes import modes
from ._stiffness import study_stiffness
from ._sweep import sweep
from ._tables import print_report
from ._validate import validate

__all__ = ["main"]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # help texts are plain: [dev] is not markup
    help="HydroMechs: simulation of mechanisms that move in water.",
)

PORT = Annotated[int, typer.Option(help="Port on this machine; the next free one where it is in use.")]
BROWSER = Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser where there is a display.")]
AZIMUTH = Annotated[float, typer.Option(help="Direction that it is seen from, about the vertical from x [deg].")]
LAYERS = Annotated[str, typer.Option(help="What to draw, as looks,terrain,path; a wrong name lists them all.")]
RECORDED = Annotated[str, typer.Option("--model", help="The model, for a recording that does not say what was simulated.")]
SOURCE = Annotated[str, typer.Argument(help="A library model (see `hydromechs models`) or the path of a model file.")]


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    if version:
        from hydromechs import __version__

        print(f"hydromechs {__version__}")
        raise typer.Exit


app.command()(demo)
app.command()(modes)


@app.command()
def info(
    source: Annotated[str, typer.Argument(help="A library model or scenario, or the path of a model or scenario file.")],
    sources: Annotated[bool, typer.Option(help="List where the numbers come from.")] = False,
    water: Annotated[
        bool, typer.Option(help="Put water on the dry bodies of a model first, and list what was guessed.")
    ] = False,
) -> None:
    """Show a model: its tree, masses, what the water adds, totals, warnings; of a scenario, at its start, and its commands."""
    from ._info import info as print_info

    print_info(source, Console(), sources=sources, water=water)


@app.command()
def run(
    scenario: Annotated[
        str, typer.Argument(help="A library scenario (see `hydromechs scenarios`) or the path of a scenario file.")
    ],
    out: Annotated[
        str,
        typer.Option(help="Folder for recording, plots and report; by default runs/NAME, or runs/NAME-2, ..."),
    ] = "",
    duration: Annotated[
        float | None,
        typer.Option(help="How long to simulate, instead of the scenario's duration; with --resume, from there on [s]."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="Seed of gusts, waves and sensors, instead of the scenario's; a resumed run keeps its own."),
    ] = None,
    engine: Annotated[
        str, typer.Option(help="Engine instead of the scenario's: mujoco, dart, bullet, or hydromechs for our own.")
    ] = "",
    resume: Annotated[str, typer.Option(help="Continue from the state of an earlier run: its folder, or a state.json.")] = "",
    real_time: Annotated[
        bool, typer.Option("--real-time", help="No faster than the clock; missed deadlines are counted.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier run in the folder.")] = False,
    pictures: Annotated[bool, typer.Option(help="Draw plots and write the report.")] = True,
    show: Annotated[
        bool, typer.Option("--show", help="Write the replay as one file, too, and open it where there is a display.")
    ] = False,
    code: Annotated[bool, typer.Option(help="Allow Python code that the scenario names; --no-code refuses it.")] = True,
    traceback: Annotated[
        bool, typer.Option("--traceback", help="Show all lines of an error in Python code that the scenario names.")
    ] = False,
) -> None:
    """Simulate a scenario: recording, plots and a report in a folder. Status 1 if it diverges or a check fails."""
    from ._run import own_lines
    from ._run import run as run_scenario

    pace = 1.0 if real_time else None
    try:
        passed = run_scenario(
            scenario,
            Console(),
            out=out,
            duration=duration,
            seed=seed,
            engine=engine,
            resume=resume,
            real_time=pace,
            pictures=pictures,
            show=show,
            force=force,
            code=code,
        )
    except Exception as error:
        if traceback or not getattr(error, "__notes__", None):
            raise
        _print_error(own_lines(error))
        raise typer.Exit(1) from None
    if not passed:
        raise typer.Exit(1)


@app.command()
def scenarios() -> None:
    """List the scenarios of the library."""
    from ._run import print_scenarios

    print_scenarios(Console())


app.command()(sweep)


@app.command()
def view(model: SOURCE, port: PORT = 8080, browser: BROWSER = True) -> None:
    """Show a model in a browser: its tree, joints to move, masses, buoyancy, drag and contact as layers."""
    from ._show import view as show

    show(model, Console(), port=port, browser=browser)


@app.command()
def replay(
    run: Annotated[str, typer.Argument(help="The folder of a run or a recording (.zarr, .nc).")],
    html: Annotated[str, typer.Option(help="Write one file that replays it without a server, in place of showing it.")] = "",
    video: Annotated[
        str, typer.Option(help="Write a video in place of showing it: .gif, or .mp4 with hydromechs[video].")
    ] = "",
    speed: Annotated[float, typer.Option(help="Of a video: simulated over shown time.")] = 1.0,
    fps: Annotated[float, typer.Option(help="Of a video: frames per second.")] = 25.0,
    size: Annotated[str, typer.Option(help="Of a video: width and height in pixels.")] = "640x360",
    camera: Annotated[
        str, typer.Option(help="Of a video: still (sees the whole way), or the name of a body that it moves along with.")
    ] = "still",
    azimuth: AZIMUTH = -38.0,
    begin: Annotated[float | None, typer.Option("--from", help="Of a video: first time to show [s].")] = None,
    end: Annotated[float | None, typer.Option("--to", help="Of a video: last time to show [s].")] = None,
    layers: LAYERS = "",
    model: RECORDED = "",
    port: PORT = 8080,
    browser: BROWSER = True,
) -> None:
    """Replay a run in a browser: time line, speed, forces by cause, path, current, plots; or write one file, or a video."""
    from . import _show

    console = Console()
    if html and video:
        raise typer.BadParameter("give either --html or --video")
    usual = {"--speed": (speed, 1.0), "--fps": (fps, 25.0), "--size": (size, "640x360"), "--camera": (camera, "still")}
    usual |= {"--azimuth": (azimuth, -38.0), "--from": (begin, None), "--to": (end, None), "--layers": (layers, "")}
    given = [option for option, (value, default) in usual.items() if value != default]
    if given and not video:
        raise typer.BadParameter(f"{', '.join(given)}: of videos only; on a page there are buttons for it")
    if html:
        _show.replay_file(run, html, console, model=model)
    elif video:
        _show.video(
            run,
            video,
            console,
            model=model,
            speed=speed,
            rate=fps,
            size=size,
            camera=camera,
            azimuth=azimuth,
            begin=begin,
            end=end,
            layers=layers,
        )
    else:
        _show.replay(run, console, model=model, port=port, browser=browser)


@app.command()
def pilot(
    scenario: Annotated[
        str,
        typer.Argument(help="A library scenario with a vehicle, the path of a file, or a library vehicle for still water."),
    ] = "pick_and_release",
    again: Annotated[str, typer.Option(help="Simulate a piloted run once more from its inputs: its folder.")] = "",
    share: Annotated[bool, typer.Option(help="Let other machines of the network come, who know the address.")] = False,
    out: Annotated[str, typer.Option(help="Folder for the folders of the runs.")] = "runs",
    lost_after: Annotated[float, typer.Option(help="Seconds without the pilot after which the vehicle holds its place.")] = 2.0,
    delay: Annotated[
        float | None,
        typer.Option(help="Seconds that commands take to the vehicle, and telemetry back; shows a predicted ghost."),
    ] = None,
    distance: Annotated[float | None, typer.Option(help="In place of --delay: way of the sound, at 1500 m/s [m].")] = None,
    message_time: Annotated[float, typer.Option(help="Seconds that a message takes; none is sent in the meantime.")] = 0.0,
    loss: Annotated[float, typer.Option(help="Share of the messages that are lost, 0 to 1.")] = 0.0,
    port: PORT = 8080,
    browser: BROWSER = True,
) -> None:
    """Fly a scenario in a browser, with keys, buttons, a gamepad or a handle on the tool; every run is recorded."""
    from ._pilot import fly, fly_again, link_of

    if again:
        fly_again(again, out, Console())
    else:
        link = link_of(delay, distance, message_time, loss)
        fly(scenario, Console(), share=share, out=out, lost_after=lost_after, port=port, browser=browser, link=link)


@app.command()
def picture(
    source: Annotated[str, typer.Argument(help="A library model, a model file, the folder of a run or a recording.")],
    out: Annotated[str, typer.Option(help="The PNG file.")] = "picture.png",
    at: Annotated[
        list[float] | None,
        typer.Option(help="Time of a run [s], by default its end; several put the bodies at all these times into one picture."),
    ] = None,
    azimuth: AZIMUTH = -38.0,
    layers: LAYERS = "",
    model: RECORDED = "",
    chromium: Annotated[
        bool, typer.Option("--chromium", help="Draw it as the page shows it, with a Chromium that opens no window.")
    ] = False,
) -> None:
    """Draw a model or a run into a PNG file, without a display."""
    from ._show import picture as draw

    draw(source, out, Console(), model=model, at=at or [], azimuth=azimuth, layers=layers, browser=chromium)


@app.command()
def plot(
    recording: Annotated[str, typer.Argument(help="A recording (.zarr, .nc) or the folder of a run.")],
    variable: Annotated[str, typer.Argument(help="A variable, such as position; by default all plots of the report.")] = "",
    out: Annotated[str, typer.Option(help="File (one variable) or folder (all); by default VARIABLE.png or plots.")] = "",
    select: Annotated[
        list[str] | None, typer.Option(help="Entries to show, such as body=vehicle or xyz=x,z; may be repeated.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace pictures that are there already.")] = False,
) -> None:
    """Draw a recording."""
    from ._plot import plot as draw

    draw(recording, variable, out, select or [], Console(), force=force)


@app.command()
def compare(
    first: Annotated[str, typer.Argument(help="A recording (.zarr, .nc) or the folder of a run.")],
    second: Annotated[str, typer.Argument(help="Another one.")],
    out: Annotated[str, typer.Option(help="File for a picture of both; none by default.")] = "",
    quantity: Annotated[
        list[str] | None,
        typer.Option(help="What to draw, such as position.vehicle.x; may be repeated. By default what differs most."),
    ] = None,
    tolerance: Annotated[
        float | None, typer.Option(help="Status 1 if a variable differs by more than this part of its maximum.")
    ] = None,
) -> None:
    """Compare two recordings: the largest difference of each variable, and a picture of both."""
    from ._plot import compare as compare_two

    if not compare_two(first, second, Console(), out=out, quantities=quantity, tolerance=tolerance):
        raise typer.Exit(1)


@app.command()
def models() -> None:
    """List the models of the library."""
    from ._info import print_models

    print_models(Console())


@app.command()
def check(files: Annotated[list[str], typer.Argument(help="Model or scenario files, or library names.")]) -> None:
    """Check model and scenario files: what `run` refuses, and likely slips of units. Status 1 if one has a fault.

    Every fault is listed with its line. Code that a scenario names is read, not run.
    """
    from ._check import check_file

    good = [check_file(file, Console(soft_wrap=True)) for file in files]
    if not all(good):
        raise typer.Exit(1)


@app.command()
def crosscheck(
    trees: Annotated[int, typer.Option(min=1, help="How many random trees.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the trees.")] = 0,
) -> None:
    """Compare our equations with other codes.

    DART, Pinocchio and MuJoCo, on random trees; they come with pip install 'hydromechs[dev]'.
    """
    from hydromechs.studies import crosscheck as compare

    from ._print_studies import print_crosscheck

    console = Console()
    result = compare(trees, seed, track=_progress("comparing", console))
    print_crosscheck(result, console)
    if not result.passed:
        raise typer.Exit(1)


@app.command()
def export(
    model: SOURCE,
    out: Annotated[str, typer.Option(help="Folder to write into; by default one with the model's name.")] = "",
    format: Annotated[str, typer.Option(help="c: C99 header, source and a check.")] = "c",
    functions: Annotated[
        str, typer.Option(help="Names separated by commas; a wrong name lists them all.")
    ] = "forward_dynamics,inverse_dynamics,mass_matrix,kinematics",
) -> None:
    """Write a model's equations as C99 for an embedded target, with a check."""
    import shlex

    from hydromechs.equations import FORMATS, export_c
    from hydromechs.library import load

    if format not in FORMATS:
        raise typer.BadParameter(f"{format!r} is not a format; choose one of {', '.join(FORMATS)}", param_hint="--format")
    mechanism = load(model)
    try:
        header, source, test = export_c(
            mechanism, out or mechanism.name, [name.strip() for name in functions.split(",") if name.strip()]
        )
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--functions") from None
    program = test.with_suffix("").absolute()
    print(f"wrote {header}, {source}, {test}\nto check them:")
    print("  cc -std=c99 -O2", shlex.join(map(str, (source, test, "-lm", "-o", program))), "&&", shlex.quote(str(program)))


@app.command()
def count(
    model: Annotated[str | None, typer.Argument(help="A library model or the path of a model file.")] = None,
    papers: Annotated[bool, typer.Option("--papers", help="Our counts beside those of the papers.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Count multiplications and additions of the algorithms for a model."""
    if (model is None) is not papers:
        raise typer.BadParameter("give either a model or --papers")
    import json

    from hydromechs import studies

    from ._print_papers import print_counts, print_papers

    if papers:
        found = list(studies.compare_with_papers())
        if as_json:
            print(json.dumps([{**c._asdict(), "ratio": c.ratio} for c in found], indent=2, ensure_ascii=False))
        else:
            print_papers(found, Console())
        return
    from hydromechs.library import load

    mechanism = load(str(model))
    if as_json:
        print(json.dumps({"model": mechanism.name, "operations": studies.model_counts(mechanism)}, indent=2))
    else:
        print_counts(mechanism, Console())


@app.command()
def papers(
    quick: Annotated[bool, typer.Option("--quick", help="Few repeats, rough times.")] = False,
    picture: Annotated[str, typer.Option(help="File for the plot of error against time.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Our reproduction of the papers' tables: operation counts, block methods, speedups on lanes."""
    from hydromechs.studies import measure_papers

    from ._print_papers import print_papers_tables

    notes = Console(stderr=True)
    print_report(measure_papers(quick=quick, picture=picture, report=notes.print), print_papers_tables, as_json)


bench = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Measure speed, ours and others', on this machine.")
app.add_typer(bench, name="bench")


@bench.command("dynamics")
def bench_dynamics(
    model: Annotated[str, typer.Option(help="A library model or the path of a model file.")] = "tiburon_titan2",
    quick: Annotated[bool, typer.Option("--quick", help="Few repeats and short chains, to check that it runs.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Time forward dynamics: ours in water, Pinocchio and MuJoCo dry."""
    from hydromechs.library import load
    from hydromechs.studies import measure_dynamics

    from ._print_bench import print_dynamics

    print_report(measure_dynamics(load(model), model, quick=quick), print_dynamics, as_json)


@bench.command("simulation")
def bench_simulation(
    quick: Annotated[bool, typer.Option("--quick", help="Few repeats and short rollouts, to check that it runs.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Time rollouts and a whole scenario with its recording."""
    from hydromechs.studies import measure_simulation

    from ._print_bench import print_simulation

    print_report(measure_simulation(quick=quick), print_simulation, as_json)


@bench.command("trees")
def bench_trees(
    quick: Annotated[bool, typer.Option("--quick", help="Few repeats and small trees, to check that it runs.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Time forward dynamics of trees of up to 5,000 links: ours in water and dry, Pinocchio and MuJoCo dry."""
    from hydromechs.studies import measure_trees

    from ._print_bench import print_trees

    print_report(measure_trees(quick=quick), print_trees, as_json)


study = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Experiments: what approximations cost, broken files do.")
app.add_typer(study, name="study")
app.command()(convert)
app.command()(validate)
bench.command("missions")(bench_missions)
bench.command("gpu")(bench_gpu)
bench.command("worlds")(bench_worlds)
study.command("missions")(study_missions)
study.command("imports")(study_imports)
study.command("files")(study_files)
study.command("stiffness")(study_stiffness)


@study.command("decoupled")
def study_decoupled(
    out: Annotated[str, typer.Option(help="Picture to write (.png, .svg, .pdf); none by default.")] = "",
    quick: Annotated[bool, typer.Option("--quick", help="A few runs, to check that it works.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Errors of the decoupled model of vehicle and arm, over mass ratios and bandwidths."""
    from hydromechs.studies import FULL_DECOUPLED, QUICK_DECOUPLED, measure_decoupled, plot_decoupled

    from ._print_studies import print_decoupled

    report = measure_decoupled(QUICK_DECOUPLED if quick else FULL_DECOUPLED)
    print_report(report, print_decoupled, as_json)
    if out:
        plot_decoupled(report, out)


@study.command("hybrid")
def study_hybrid(
    out: Annotated[str, typer.Option(help="Picture to write (.png, .svg, .pdf); none by default.")] = "",
    quick: Annotated[bool, typer.Option("--quick", help="A few runs, to check that it works.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Added mass as an outside force in MuJoCo, DART and Bullet: errors, stability limits, convergence to our engine."""
    from hydromechs.studies import FULL_HYBRID, QUICK_HYBRID, measure_hybrid, plot_hybrid

    from ._print_hybrid import print_hybrid

    report = measure_hybrid(QUICK_HYBRID if quick else FULL_HYBRID)
    print_report(report, print_hybrid, as_json)
    if out:
        plot_hybrid(report, out)


@study.command("navigation")
def study_navigation(
    seeds: Annotated[int | None, typer.Option(min=2, help="How many seeds; 50 by default, 20 with --quick.")] = None,
    out: Annotated[str, typer.Option(help="Folder for the picture and the report as JSON; none by default.")] = "",
    quick: Annotated[bool, typer.Option("--quick", help="A short flight, to check that it works.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Normalised errors of the navigation filter over many seeds, with all sensors and through gaps of DVL and USBL."""
    import json
    from pathlib import Path

    from rich.progress import Progress

    from hydromechs.studies import FULL_NAVIGATION, QUICK_NAVIGATION, measure_navigation, plot_navigation

    from ._print_navigation import print_navigation

    cases = QUICK_NAVIGATION if quick else FULL_NAVIGATION
    cases = cases if seeds is None else cases._replace(seeds=seeds)
    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task("flying", total=cases.seeds * len(cases.gaps))
        report = measure_navigation(cases, lambda done: bar.update(task, completed=done))
    print_report(report, print_navigation, as_json)
    if out:
        folder = Path(out)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "navigation.json").write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        plot_navigation(report, folder / "navigation.png")


def _progress(what: str, console: Console) -> Callable[[list], Iterable]:
    """Goes through a list with a progress bar."""
    from rich.progress import track

    return lambda items: track(items, description=what, console=console)


def _print_error(message: str) -> None:
    """Print `message` on stderr, in red on a terminal."""
    Console(stderr=True, soft_wrap=True).print(Text(message, "red"))


@app.command()
def backends(
    trees: Annotated[int, typer.Option(min=0, help="How many random trees besides the library.")] = 200,
    seed: Annotated[int, typer.Option(help="Seed of the trees.")] = 0,
) -> None:
    """Compare machine code (lanes, threads, rolled, C) with the float reference on every equation."""
    from hydromechs.studies import compare_all_backends

    from ._print_studies import print_backends

    console = Console()
    result = compare_all_backends(trees, seed, track=_progress("comparing", console))
    print_backends(result, console)
    if not result.passed:
        raise typer.Exit(1)


def main() -> None:
    """Run the command line; expected errors end it with a message and status 1."""
    try:
        app(standalone_mode=True)
    except (ModelError, OSError, ModuleNotFoundError, ValueError, KeyError) as error:
        if getattr(error, "__notes__", None):  # in a user's own code: show where
            raise
        _print_error(f"error: {words_of(error)}")
        raise SystemExit(1) from None
