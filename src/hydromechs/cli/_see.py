"""Commands that show models and runs: `view`, `replay`, `pilot`, `picture`, `plot`, `compare`."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console

from ._kinds import expect
from ._options import CODE, SET, robot_command

PORT = Annotated[int, typer.Option(help="Port on this machine; the next free one where it is in use.")]
BROWSER = Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser where there is a display.")]
AZIMUTH = Annotated[float, typer.Option(help="Direction that it is seen from, about the vertical from x [deg].")]
LAYERS = Annotated[str, typer.Option(help="What to draw, as looks,terrain,path; a wrong name lists them all.")]
RECORDED = Annotated[str, typer.Option("--model", help="The model, for a recording that does not say what was simulated.")]
SOURCE = Annotated[str, typer.Argument(help="A library model (see `hydromechs models`) or the path of a model file.")]


@robot_command
def view(model: SOURCE, port: PORT = 8080, browser: BROWSER = True, code: CODE = False, **options: Any) -> None:
    """Show a model in a browser: its tree, joints to move, masses, buoyancy, drag and contact as layers."""
    from ._show import view as show

    expect(model, "view", "model")
    show(model, Console(), port=port, browser=browser, code=code, **options)


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
        str, typer.Argument(help="A library scenario with a vehicle, the path of a file, or a library vehicle for still water.")
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
        typer.Option(help="Time of a run [s], by default its end; several put the bodies at all these times into one picture."),
    ] = None,
    azimuth: AZIMUTH = -38.0,
    layers: LAYERS = "",
    model: RECORDED = "",
    chromium: Annotated[
        bool, typer.Option("--chromium", help="Draw it as the page shows it, with a Chromium that opens no window.")
    ] = False,
    code: CODE = False,
    **options: Any,
) -> None:
    """Draw a model or a run into a PNG file, without a display."""
    from ._show import picture as draw

    expect(source, "picture", "model", "run")
    options |= {"code": code}
    draw(source, out, Console(), model=model, at=at or [], azimuth=azimuth, layers=layers, browser=chromium, **options)


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

    expect(recording, "plot", "run")
    draw(recording, variable, out, select or [], Console(), force=force)


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

    expect(first, "compare", "run")
    expect(second, "compare", "run")
    if not compare_two(first, second, Console(), out=out, quantities=quantity, tolerance=tolerance):
        raise typer.Exit(1)
