"""Commands `hydromechs view`, `replay` and `picture`, which display models and runs."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.text import Text

from hydromechs import files
from hydromechs.errors import CodeNotAllowed, ModelError, ScenarioError, message_of

from ._console import Console
from ._kinds import expect
from ._options import BROWSER, CODE, PORT, robot_command

if TYPE_CHECKING:
    import xarray

    from hydromechs.model import Model
    from hydromechs.scenario import Scenario
    from hydromechs.station import Station
    from hydromechs.viewer import Page, ReplayPage, Scene

AZIMUTH = Annotated[float, typer.Option(help="Azimuth of the camera about the vertical, from the x axis [deg].")]
LAYERS = Annotated[str, typer.Option(help="Layers to draw, such as bodies,terrain,path; an unknown name lists all layers.")]
RECORDED = Annotated[str, typer.Option("--model", help="Model of the recording, if the recording does not contain it.")]
FRAME = 1.0 / 30.0
"""Tolerance of --at beyond the first and last sample [s]: one frame of a replay."""
PLAIN = 0.2
"""Edge length of the box drawn for a body if the model cannot be read [m]."""


def has_display() -> bool:
    """Return True if this machine has a display on which a browser can open."""
    return sys.platform in ("win32", "darwin") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def own_command() -> str:
    """Return the command that starts this program: "hydromechs", or the full path if the shell does not find that name."""
    called = Path(sys.argv[0])
    return str(called) if called.name == "hydromechs" and shutil.which("hydromechs") is None else "hydromechs"


@robot_command
def view(
    model: Annotated[str, typer.Argument(help="Name of a library model (see `hydromechs models`), or path of a model file.")],
    port: PORT = 8080,
    browser: BROWSER = True,
    code: CODE = False,
    **options: Any,
) -> None:
    """Show a model in a browser.

    The page shows the tree of bodies, sliders for joints, and layers for masses, buoyancy, drag and contact.
    """
    from hydromechs.library import load
    from hydromechs.viewer import view as view_model

    expect(model, "view", "model")
    serve(view_model(load(model, code=code, **options), port=port), lambda: time.sleep(0.2), Console(), port, browser)


def replay(
    run: Annotated[str, typer.Argument(help="Recording (.zarr, .nc) or run folder.")],
    html: Annotated[str, typer.Option(help="Write the replay to this HTML file, which needs no server.")] = "",
    video: Annotated[str, typer.Option(help="Write a video to this file: .gif, or .mp4 (requires hydromechs[video]).")] = "",
    speed: Annotated[float, typer.Option(help="Video: simulated time per second of video [s].")] = 1.0,
    fps: Annotated[float, typer.Option(help="Video: frame rate [1/s].")] = 25.0,
    size: Annotated[str, typer.Option(help="Video: width and height [pixel].")] = "640x360",
    camera: Annotated[
        str, typer.Option(help="Video: still (a fixed view of the whole path), or the name of a body to follow.")
    ] = "still",
    azimuth: AZIMUTH = -38.0,
    begin: Annotated[float | None, typer.Option("--from", help="Video: start time [s].")] = None,
    end: Annotated[float | None, typer.Option("--to", help="Video: end time [s].")] = None,
    layers: LAYERS = "",
    model: RECORDED = "",
    port: PORT = 8080,
    browser: BROWSER = True,
) -> None:
    """Replay a run in a browser, an HTML file or a video.

    The replay shows forces by cause, the path and the current; pages also contain plots.
    """
    console = Console()
    expect(run, "replay", "run")
    if html and video:
        raise typer.BadParameter("--html and --video are both given; remove one of these options")
    usual = {"--speed": (speed, 1.0), "--fps": (fps, 25.0), "--size": (size, "640x360"), "--camera": (camera, "still")}
    usual |= {"--azimuth": (azimuth, -38.0), "--from": (begin, None), "--to": (end, None), "--layers": (layers, "")}
    given = [option for option, (value, default) in usual.items() if value != default]
    if given and not video:
        raise typer.BadParameter(
            f"{', '.join(given)}: applies only to videos; add --video FILE, or use the controls of the page"
        )
    if html:
        _write_html(run, html, console, model)
    elif video:
        how = {"speed": speed, "rate": fps, "azimuth": azimuth, "begin": begin, "end": end}
        _write_video(run, video, console, model, size, camera, layers, how)
    else:
        _replay_page(run, console, model, port, browser)


def _replay_page(run: str, console: Console, model: str, port: int, browser: bool) -> None:
    from hydromechs.recording import structured
    from hydromechs.viewer import replay as replay_run

    scene, ds = run_scene(run, model)
    page = replay_run(scene, ds, structured(ds, "messages") or (), port=port)
    serve(page, lambda: time.sleep(0.2), console, port, browser)


def _write_html(run: str, html: str, console: Console, model: str) -> None:
    from hydromechs.recording import structured
    from hydromechs.viewer import SCENE_SAMPLES, replay_html

    path = _new_file(html, "--html")
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"--html {html} has the suffix {path.suffix!r}; use the suffix .html")
    scene, ds = run_scene(run, model, most=SCENE_SAMPLES)
    files.write_text(path, replay_html(scene, ds, structured(ds, "messages") or ()))
    shown = f"{len(scene.times)} of {ds.sizes['time']} samples, {path.stat().st_size / 1e6:.1f} MB"
    console.print(Text(f"{path}: {shown}; open it in any browser"), soft_wrap=True)


def _write_video(
    run: str, out: str, console: Console, model: str, size: str, camera: str, layers: str, how: dict[str, Any]
) -> None:
    """Write the replay of a recording as a video; `how` contains arguments of `write_video`, such as speed and rate."""
    from rich.progress import Progress

    from hydromechs.viewer import follow, write_video

    found = re.fullmatch(r"(\d+)x(\d+)", size)
    if found is None:
        raise ValueError(f"--size {size} is not of the form WIDTHxHEIGHT; write, for example, 640x360")
    width, height = int(found[1]), int(found[2])
    speed, rate = how["speed"], how["rate"]
    for option, value in (("--speed", speed), ("--fps", rate)):
        if not (np.isfinite(value) and value > 0.0):
            raise ValueError(f"{option} {value:g} is not finite and > 0; use a positive number")
    scene, _ = run_scene(run, model, rate=min(rate / max(speed, 1e-3), 1e3), most=20_000)
    shown = _layers(scene, layers)
    view = None if camera == "still" else follow(scene, camera, azimuth=how["azimuth"], aspect=width / height)
    started = time.perf_counter()
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("drawing")
        how |= {"progress": lambda done, frames: bar.update(task, completed=done, total=frames)}
        path = write_video(scene, out, size=(width, height), view=view, layers=shown, **how)
        frames = int(bar.tasks[0].total or 0)
    took = time.perf_counter() - started
    text = f"{frames} frames, {path.stat().st_size / 1e6:.1f} MB, drawn in {took:.0f} s ({took / frames:.2g} s each)"
    console.print(Text(f"{path}: {text}"), soft_wrap=True)


def _new_file(name: str, option: str) -> Path:
    """Return the path of a file to write; create its folder if missing."""
    path = Path(name)
    if path.is_dir():
        raise ValueError(f"{option} {name} is a folder; set the name of a file")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _layers(scene: Scene, text: str) -> list[str]:
    """Return the layers named in a comma-separated list, or the default layers if the list is empty."""
    from hydromechs.viewer import chosen_layers

    return chosen_layers(scene, [name.strip() for name in text.split(",") if name.strip()])


def serve(page: Page | ReplayPage | Station, tick: Callable[[], None], console: Console, port: int, browser: bool) -> None:
    """Print the URL of a page or station, open a browser if requested, and serve it until Ctrl-C."""
    from hydromechs.viewer import Gate

    console.print(Text(f"open {page.url} (Ctrl-C to stop)", "bold"), soft_wrap=True)
    gate = page if isinstance(page, Gate) else page.gate
    if port and gate.port != port:
        console.print(Text(f"port {port} is in use; serving on port {gate.port} instead", "yellow"))
    if browser and has_display():
        webbrowser.open(page.url)
    try:
        while True:
            tick()
    except KeyboardInterrupt:
        console.print("closed")
    finally:
        page.close()


@robot_command
def picture(
    source: Annotated[str, typer.Argument(help="Name of a library model, model file, run folder or recording.")],
    out: Annotated[str, typer.Option(help="PNG file to write.")] = "picture.png",
    at: Annotated[
        list[float] | None,
        typer.Option(
            help="Time in the run [s]; repeat the option for several instants in one picture. Defaults to the end of the run."
        ),
    ] = None,
    azimuth: AZIMUTH = -38.0,
    layers: LAYERS = "",
    model: RECORDED = "",
    chromium: Annotated[bool, typer.Option("--chromium", help="Render the page of the viewer with headless Chromium.")] = False,
    code: CODE = False,
    **options: Any,
) -> None:
    """Draw a model or a run as a PNG file, without a display."""
    from hydromechs.viewer import browser_picture, model_scene, write_picture

    expect(source, "picture", "model", "run")
    if _new_file(out, "--out").suffix.lower() != ".png":
        raise ValueError(f"--out {out} is not a PNG file; use the suffix .png")
    moments = [0]
    if Path(source).is_dir() or Path(source).suffix in (".zarr", ".nc"):
        scene, _ = run_scene(source, model)
        begin, end = float(scene.times[0]), float(scene.times[-1])
        for t in at or ():
            if not begin - FRAME <= t <= end + FRAME:  # tolerance, because users type times with few digits
                raise ValueError(f"--at {t:g} s is outside the run {source}; choose a time from {begin:g} to {end:g} s")
        moments = [int(np.abs(scene.times - t).argmin()) for t in at or ()] or [len(scene.times) - 1]
    else:
        from hydromechs.library import load

        if at:
            raise ValueError(f"--at {at[0]:g} applies only to runs, but {source} is a model; omit --at")
        scene = model_scene(load(source, code=code, **options))
    shown = _layers(scene, layers)
    if chromium and len(moments) > 1:
        raise ValueError(
            f"--chromium draws one time, but --at is given {len(moments)} times; omit --chromium, or write one picture per time"
        )
    if chromium:
        path = browser_picture(scene.at(moments[0]), out, layers=shown)
    else:
        path = write_picture(scene, out, moments, azimuth=azimuth, layers=shown)
    several = f": bodies at {len(moments)} times, everything else at the last time" if len(moments) > 1 else ""
    Console().print(Text(f"{path}{several}"), soft_wrap=True)


def run_scene(
    run: str | os.PathLike[str], model: str = "", *, rate: float = 25.0, most: int = 3000
) -> tuple[Scene, xarray.Dataset]:
    """Return the scene of a recording, and the recording.

    The scene is built from data in the recording; without these data, bodies are drawn as boxes. Code named in the recording
    is not executed, and meshes are read only if they are unchanged since the run.
    """
    from hydromechs.formats import drawn_files, drawn_scenario, load_file
    from hydromechs.library import load
    from hydromechs.recording import load_recording
    from hydromechs.values import is_path
    from hydromechs.viewer import recording_scene

    ds = load_recording(run)
    missing = [name for name in ("body", "position", "orientation") if name not in ds]
    if missing:
        raise ValueError(f"{run} has no variable {missing[0]!r}; use a recording of a simulation")
    if model:
        mechanism = load_file(model) if is_path(model) else load(model)
        return recording_scene(mechanism, ds, rate=rate, most=most), ds
    try:
        with files.only(drawn_files(ds.attrs)):
            scenario = drawn_scenario(ds.attrs, str(run))
            if list(scenario.model.body_names) != [str(name) for name in ds["body"].values]:
                raise ModelError(str(run), ["the bodies of the model differ from the bodies in the recording"])
            return scenario_scene(scenario, ds, rate=rate, most=most), ds
    except (CodeNotAllowed, ModelError, ScenarioError, OSError) as error:
        reason = " ".join(message_of(error).split())
        remedy = "name the model with --model"
        Console(stderr=True).print(
            Text(f"{run}: the model cannot be used, so bodies are drawn as boxes; {remedy} ({reason})", "yellow"),
            soft_wrap=True,
        )
        return recording_scene(_plain_model(ds), ds, rate=rate, most=most), ds


def _plain_model(ds: xarray.Dataset) -> Model:
    """Return a model with the bodies of a recording, each drawn as a box."""
    from hydromechs.geometry import Box
    from hydromechs.model import Body, BodyShape, Inertia, Model, World, joints

    inertia = Inertia(mass=1.0, tensor=(0.01, 0.01, 0.01, 0.0, 0.0, 0.0))
    shapes = (BodyShape(shape=Box(size=(PLAIN, PLAIN, PLAIN)), roles=("appearance",)),)
    names = [str(name) for name in ds["body"].values]
    bodies = [Body(name=name, joint=joints.Free(), inertia=inertia, shapes=shapes) for name in names]
    world = World(axes="ENU" if ds.attrs.get("axes") == "ENU" else "NED")
    return Model(name=str(ds.attrs.get("model") or "recorded"), world=world, bodies=tuple(bodies))


def scenario_scene(scenario: Scenario, ds: xarray.Dataset, *, rate: float = 25.0, most: int = 3000) -> Scene:
    """Return the scene of a recording of a scenario."""
    from hydromechs.actuation import Thruster
    from hydromechs.contact import Terrain
    from hydromechs.viewer import recording_scene

    return recording_scene(
        scenario.model,
        ds,
        terrain=scenario.parts(Terrain),
        environment=scenario.environment,
        thrusters={thruster.name: thruster.frame for thruster in scenario.parts(Thruster)},
        rate=rate,
        most=most,
    )
