"""Registration of all commands of `hydromechs`; larger commands have modules of their own."""

import warnings
from collections.abc import Callable
from signal import SIGINT
from typing import Annotated, Any, Literal

import typer
from rich.text import Text

from hydromechs.errors import ModelError, message_of
from hydromechs.files import printable

from ._bench import bench_contact, bench_dynamics, bench_worlds
from ._campaign import campaign, print_agreement, world_run
from ._codes import count, crosscheck, export, papers
from ._console import Console
from ._convert import convert
from ._demo import demo
from ._kinds import SuggestingCommand, expect
from ._modes import modes
from ._new import new
from ._options import BROWSER, CODE, PORT, SET, robot_command
from ._page import page
from ._plot import compare, plot
from ._save import save
from ._show import picture, replay, view
from ._sweep import sweep
from ._validate import validate

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # help texts are plain: [dev] is not markup
    help="HydroMechs simulates mechanisms that move in water.",
)


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    if version:
        from hydromechs import __version__

        print(f"hydromechs {__version__}")
        raise typer.Exit


app.command()(demo)
app.command()(modes)


@app.command()
@robot_command
def info(
    source: Annotated[str, typer.Argument(help="Name of a library model or scenario, or path of a model or scenario file.")],
    sources: Annotated[bool, typer.Option(help="List the sources of the numbers in the model.")] = False,
    water: Annotated[
        bool, typer.Option(help="First estimate the hydrodynamics of dry bodies, and list the estimates.")
    ] = False,
    parameters: Annotated[
        bool, typer.Option("--parameters", help="List the path, value and unit of every number instead.")
    ] = False,
    code: CODE = False,
    **options: Any,
) -> None:
    """Print a description of a model or scenario.

    It contains warnings, the tree of bodies, masses, hydrodynamics and totals. For a scenario, these are values at its start,
    followed by the commands of its actuators.
    """
    from ._info import info as print_info

    expect(source, "info", "model", "scenario")
    print_info(source, Console(), sources=sources, water=water, parameters=parameters, code=code, **options)


@app.command()
def run(
    scenario: Annotated[
        str,
        typer.Argument(
            help="Name of a library scenario (see `hydromechs scenarios`), path of a scenario file or, with --world, folder "
            "of a campaign."
        ),
    ],
    out: Annotated[str, typer.Option(help="Run folder. Defaults to the first unused one of runs/NAME, runs/NAME-2, ...")] = "",
    duration: Annotated[
        float | None,
        typer.Option(
            help="Duration to simulate [s], from the resumed state with --resume. Defaults to the value in the scenario."
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Seed of gusts, waves and sensors. Defaults to the seed of the resumed run, otherwise of the scenario."
        ),
    ] = None,
    engine: Annotated[
        str, typer.Option(help="Physics engine: hydromechs, mujoco, dart or bullet. Defaults to the value in the scenario.")
    ] = "",
    resume: Annotated[
        str, typer.Option(help="Continue from the final state of an earlier run, given its folder or a state.json.")
    ] = "",
    world: Annotated[int | None, typer.Option(help="Number of the world to replay if SCENARIO is a campaign folder.")] = None,
    real_time: Annotated[bool, typer.Option("--real-time", help="Run in real time and count missed deadlines.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier run in the same folder.")] = False,
    pictures: Annotated[bool, typer.Option(help="Write a report with a replay and plots.")] = True,
    show: Annotated[bool, typer.Option("--show", help="Open the report in a browser if there is a display.")] = False,
    settings: SET = None,
    code: CODE = False,
    traceback: Annotated[bool, typer.Option("--traceback", help="Show full tracebacks of errors in custom code.")] = False,
) -> None:
    """Simulate a scenario; write a recording and a report.

    The exit status is 1 if the simulation diverges or a check fails.
    """
    from ._run import own_lines
    from ._run import run as run_scenario
    from ._settings import parsed_settings

    replaced, replay, how = parsed_settings(settings), None, dict[str, Any]()
    if world is None:
        expect(scenario, "run", "scenario")
    else:
        expect(scenario, "run --world", "campaign")
        fixed = {"--seed": seed, "--duration": duration, "--engine": engine, "--resume": resume, "--set": settings}
        for option in (name for name, value in fixed.items() if value not in (None, "", [])):
            raise ValueError(
                f"{option} cannot be combined with --world, because a replay uses the settings of the campaign; remove {option}"
            )
        replay = world_run(scenario, world, code=code)
        scenario, duration, seed, replaced = replay.source, replay.duration, replay.seed, replay.settings
        how = dict(name=replay.name, lanes=replay.lanes, target=replay.target)
    given: dict[str, Any] = dict(out=out, duration=duration, seed=seed, engine=engine, resume=resume)
    given |= dict(pictures=pictures, show=show, force=force, code=code, real_time=1.0 if real_time else None)
    try:
        result = run_scenario(scenario, Console(), settings=replaced, **given, **how)
        if replay is not None:
            print_agreement(replay, result, Console())
    except KeyboardInterrupt as stop:
        raise typer.Exit(128 + getattr(stop, "signal", SIGINT)) from None  # as shells do: 130 for SIGINT, 143 for SIGTERM
    except Exception as error:
        if traceback or not getattr(error, "__notes__", None):
            raise
        _print_error(own_lines(error))
        raise typer.Exit(1) from None
    if not result.passed:
        raise typer.Exit(1)


@app.command()
def scenarios() -> None:
    """List the scenarios in the library."""
    from ._run import print_scenarios

    print_scenarios(Console())


app.command()(sweep)
app.command()(campaign)
app.command()(view)
app.command()(replay)


@app.command()
def pilot(
    scenario: Annotated[
        str,
        typer.Argument(
            help="Name of a library scenario with a vehicle, path of a scenario file, or name of a library vehicle "
            "(placed in still water)."
        ),
    ] = "pick_and_release",
    again: Annotated[str, typer.Option(help="Simulate a piloted run again from its recorded inputs, given its folder.")] = "",
    share: Annotated[bool, typer.Option(help="Accept connections from other machines that have the URL.")] = False,
    out: Annotated[str, typer.Option(help="Parent folder for run folders.")] = "runs",
    lost_after: Annotated[
        float, typer.Option(help="Time without input from the pilot after which the vehicle holds station [s].")
    ] = 2.0,
    delay: Annotated[
        float | None, typer.Option(help="One-way delay of the link [s]. The page then shows a ghost at the predicted pose.")
    ] = None,
    distance: Annotated[
        float | None,
        typer.Option(
            help="Acoustic path length [m]; sets the delay for a sound speed of 1500 m/s. Cannot be combined with --delay."
        ),
    ] = None,
    message_time: Annotated[float, typer.Option(help="Time to transmit one message [s].")] = 0.0,
    loss: Annotated[float, typer.Option(help="Probability that a message is lost, 0 to 1.")] = 0.0,
    port: PORT = 8080,
    browser: BROWSER = True,
    settings: SET = None,
    code: CODE = False,
) -> None:
    """Fly a vehicle in a browser; every run is recorded.

    Steer with keys, buttons, a gamepad or a handle on the tool.
    """
    from ._pilot import fly, fly_again, link_of
    from ._settings import parsed_settings

    if again:
        fly_again(again, out, Console(), code=code)
        return
    given: dict[str, Any] = dict(out=out, lost_after=lost_after, share=share, port=port, browser=browser, code=code)
    given["link"] = link_of(delay, distance, message_time, loss)
    fly(scenario, Console(), settings=parsed_settings(settings), **given)


app.command()(page)
app.command()(picture)
app.command()(plot)
app.command()(compare)
app.command()(save)


@app.command()
def models() -> None:
    """List the models in the library."""
    from ._info import print_models

    print_models(Console())


@app.command()
@robot_command
def check(
    files: Annotated[list[str], typer.Argument(help="Model, scenario, sweep or validation files, or names of library items.")],
    code: CODE = False,
    settings: SET = None,
    **options: Any,
) -> None:
    """Report all errors and likely unit mistakes in files.

    Every error is listed with its line. The exit status is 1 if there are errors. Parts that need Python code named in a file
    are checked only with --code. Nothing is simulated, so divergence is not detected.
    """
    from ._check import check_file
    from ._settings import parsed_settings

    given = parsed_settings(settings)
    good = [check_file(file, Console(soft_wrap=True), given, code=code, **options) for file in files]
    if not all(good):
        raise typer.Exit(1)


@app.command()
def schema(kind: Annotated[Literal["model", "scenario", "sweep", "validation"], typer.Argument(help="Kind of file.")]) -> None:
    """Print the JSON Schema of one kind of file. Text editors use it to complete and check files."""
    import json

    from hydromechs.formats import model_json_schema, scenario_json_schema
    from hydromechs.identification.validation import validation_json_schema
    from hydromechs.sweeps import sweep_json_schema

    schemas = {"model": model_json_schema, "scenario": scenario_json_schema}
    found = (schemas | {"sweep": sweep_json_schema, "validation": validation_json_schema})[kind]()
    typer.echo(json.dumps(found, indent=2, ensure_ascii=False))


app.command()(crosscheck)
app.command()(export)
app.command()(count)
app.command()(papers)

bench = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Measure the speed of HydroMechs and other engines.")
app.add_typer(bench, name="bench")
bench.command("dynamics")(bench_dynamics)
bench.command("worlds")(bench_worlds)
bench.command("contact")(bench_contact)

app.command()(convert)
app.command()(new)
app.command()(validate)

for _group in (app, bench):
    for _command in _group.registered_commands:
        _command.cls = SuggestingCommand


def _print_error(message: str) -> None:
    """Print a message on stderr, in red on a terminal."""
    Console(stderr=True, soft_wrap=True).print(Text(message, "red"))


def main() -> None:
    """Run the command line. Expected errors print a message and exit with status 1."""
    usual = warnings.formatwarning
    warnings.formatwarning = _warning_texts()
    try:
        app(standalone_mode=True)
    except (ModelError, OSError, ModuleNotFoundError, ValueError, KeyError) as error:
        if getattr(error, "__notes__", None):  # in custom code: show where
            raise
        _print_error(f"error: {message_of(error)}")
        raise SystemExit(1) from None
    finally:
        warnings.formatwarning = usual


def _warning_texts() -> Callable[..., str]:
    """Return a formatter that shows each warning once, without its source line, which does not help command-line users."""
    seen = set[str]()

    def text(message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None) -> str:
        if str(message) in seen:
            return ""
        seen.add(str(message))
        return printable(f"warning: {message}\n")

    return text
