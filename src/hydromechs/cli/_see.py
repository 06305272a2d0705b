"""Commands that show models and runs: `view`, `replay`, `pilot`, `picture`, `plot`, `compare`."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console

from ._kinds import expect
from ._options import CODE, SET, robot_command

PORT = Annotated[int, typer.Option(help="Port on this machine; if it is in use, the next free one.")]
BROWSER = Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser if there is a display.")]
AZIMUTH = Annotated[float, typer.Option(help="Viewing direction about the vertical, from the x axis [deg].")]
LAYERS = Annotated[str, typer.Option(help="Layers to draw, such as looks,terrain,path; an unknown name lists all.")]
RECORDED = Annotated[str, typer.Option("--model", help="Model of a recording that does not name it.")]
SOURCE = Annotated[str, typer.Argument(help="A library model (see `hydromechs models`) or the path of a model file.")]


@robot_command
def view(model: SOURCE, port: PORT = 8080, browser: BROWSER = True, code: CODE = False, **options: Any) -> None:
    """Show a model in a browser: its tree, joints to move, masses, buoyancy, drag and contact as layers."""
    from ._show import view as show

    expect(model, "view", "model")
    show(model, Console(), port=port, browser=browser, code=code, **options)


def replay(
    run: Annotated[str, typer.Argument(help="The folder of a run or a recording (.zarr, .nc).")],
    html: Annotated[str, typer.Option(help="Write the replay to one file that needs no server.")] = "",
    video: Annotated[str, typer.Option(help="Write a video: .gif, or .mp4 with hydromechs[video].")] = "",
    speed: Annotated[float, typer.Option(help="Video: simulated seconds per second.")] = 1.0,
    fps: Annotated[float, typer.Option(help="Video: frames per second.")] = 25.0,
    size: Annotated[str, typer.Option(help="Video: width and height in pixels.")] = "640x360",
    camera: Annotated[
        str, typer.Option(help="Video: still (shows the whole path), or the name of a body to follow.")
    ] = "still",
    azimuth: AZIMUTH = -38.0,
    begin: Annotated[float | None, typer.Option("--from", help="Video: start time [s].")] = None,
    end: Annotated[float | None, typer.Option("--to", help="Video: end time [s].")] = None,
    layers: LAYERS = "",
    model: RECORDED = "",
    port: PORT = 8080,
    browser: BROWSER = True,
) -> None:
    """Replay a run in a browser with forces by cause, path, current and plots, or write it to one file or a video."""
    from . import _show

    console = Console()
    expect(run, "replay", "run")
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
        how: dict[str, Any] = dict(speed=speed, rate=fps, size=size, camera=camera, azimuth=azimuth, begin=begin, end=end)
        _show.video(run, video, console, model=model, layers=layers, **how)
    else:
        _show.replay(run, console, model=model, port=port, browser=browser)


def pilot(
    scenario: Annotated[
        str,
        typer.Argument(
            help="A library scenario with a vehicle, the path of a scenario file, or a library vehicle, in still water."
        ),
    ] = "pick_and_release",
    again: Annotated[str, typer.Option(help="Folder of a piloted run, to simulate again from its recorded inputs.")] = "",
    share: Annotated[bool, typer.Option(help="Accept connections from other machines that have the URL.")] = False,
    out: Annotated[str, typer.Option(help="Parent folder of the run folders.")] = "runs",
    lost_after: Annotated[float, typer.Option(help="Time without the pilot after which the vehicle holds station [s].")] = 2.0,
    delay: Annotated[
        float | None,
        typer.Option(help="One-way delay of commands and of telemetry [s]; shows a predicted ghost."),
    ] = None,
    distance: Annotated[float | None, typer.Option(help="Acoustic path length at 1500 m/s [m], instead of --delay.")] = None,
    message_time: Annotated[
        float, typer.Option(help="Transmission time of a message [s]; the channel is busy meanwhile.")
    ] = 0.0,
    loss: Annotated[float, typer.Option(help="Fraction of messages lost, 0 to 1.")] = 0.0,
    port: PORT = 8080,
    browser: BROWSER = True,
    settings: SET = None,
    code: CODE = False,
) -> None:
    """Fly a scenario in a browser, with keys, buttons, a gamepad or a handle on the tool; every run is recorded."""
    from ._pilot import fly, fly_again, link_of
    from ._settings import parsed_settings

    if again:
        fly_again(again, out, Console(), code=code)
    else:
        link = link_of(delay, distance, message_time, loss)
        fly(
            scenario,
            Console(),
            out=out,
            lost_after=lost_after,
            link=link,
            settings=parsed_settings(settings),
            code=code,
            share=share,
            port=port,
            browser=browser,
        )


@robot_command
def picture(
    source: Annotated[str, typer.Argument(help="A library model, a model file, the folder of a run or a recording.")],
    out: Annotated[str, typer.Option(help="The PNG file.")] = "picture.png",
    at: Annotated[
        list[float] | None,
        typer.Option(help="Time of a run [s]; may be repeated to show several times in one picture. Defaults to its end."),
    ] = None,
    azimuth: AZIMUTH = -38.0,
    layers: LAYERS = "",
    model: RECORDED = "",
    chromium: Annotated[bool, typer.Option("--chromium", help="Render the browser's page with headless Chromium.")] = False,
    code: CODE = False,
    **options: Any,
) -> None:
    """Draw a model or a run to a PNG file; no display is needed."""
    from ._show import picture as draw

    expect(source, "picture", "model", "run")
    options |= {"code": code}
    draw(source, out, Console(), model=model, at=at or [], azimuth=azimuth, layers=layers, browser=chromium, **options)


def plot(
    recording: Annotated[str, typer.Argument(help="A recording (.zarr, .nc) or the folder of a run.")],
    variable: Annotated[str, typer.Argument(help="A variable, such as position. Defaults to all plots of the report.")] = "",
    out: Annotated[str, typer.Option(help="File (one variable) or folder (all). Defaults to VARIABLE.png or plots.")] = "",
    select: Annotated[
        list[str] | None, typer.Option(help="Entries to show, such as body=vehicle or xyz=x,z; may be repeated.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace existing pictures.")] = False,
) -> None:
    """Plot a recording."""
    from ._plot import plot as draw

    expect(recording, "plot", "run")
    draw(recording, variable, out, select or [], Console(), force=force)


def compare(
    first: Annotated[str, typer.Argument(help="A recording (.zarr, .nc) or the folder of a run.")],
    second: Annotated[str, typer.Argument(help="A recording (.zarr, .nc) or the folder of a run, to compare with.")],
    out: Annotated[str, typer.Option(help="File for a plot of both; optional.")] = "",
    quantity: Annotated[
        list[str] | None,
        typer.Option(
            help="Quantity to plot, such as position.vehicle.x; may be repeated. Defaults to the largest differences."
        ),
    ] = None,
    tolerance: Annotated[
        float | None, typer.Option(help="Exit with status 1 if a variable differs by more than this fraction of its maximum.")
    ] = None,
) -> None:
    """Compare two recordings: the maximum difference of each variable, and a plot of both."""
    from ._plot import compare as compare_two

    expect(first, "compare", "run")
    expect(second, "compare", "run")
    if not compare_two(first, second, Console(), out=out, quantities=quantity, tolerance=tolerance):
        raise typer.Exit(1)
