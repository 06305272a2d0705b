"""`hydromechs pilot`: a scenario behind a page in a browser, to fly; and once more from its inputs."""

from __future__ import annotations

import logging
import socket
import time
import webbrowser
from pathlib import Path

from rich.console import Console
from rich.text import Text

from hydromechs.recording import RunFolder, load_recording
from hydromechs.simulation import load_state
from hydromechs.station import Catalog, Station
from hydromechs.station import fly_again as simulate_again

from ._run import print_summary
from ._show import has_display

__all__ = ["catalog", "fly", "fly_again"]


def catalog(*more: str) -> Catalog:
    """The scenarios of the library, and those of files.

    Args:
        more: Paths of scenario files.
    """
    from hydromechs.formats import loads_scenario
    from hydromechs.library import load, load_vehicle, scenario_names, scenario_path

    files = {name: scenario_path(name) for name in scenario_names()} | {Path(path).stem: path for path in more}
    return Catalog(
        files=files, read=lambda text, file: loads_scenario(text, file, Path(file).parent, library=load, plants=load_vehicle)
    )


def fly(source: str, console: Console, *, share: bool, out: str, lost_after: float, port: int, browser: bool) -> None:
    """Serve the station until Ctrl-C.

    Args:
        source: Name of a library scenario or path of a file.
        console: Where to print.
        share: Whether other machines may come.
        out: Folder for the folders of the runs.
        lost_after: Time without the pilot after which the vehicle holds its place [s].
        port: Port to listen on.
        browser: Whether to open a browser where there is a display.
    """
    from hydromechs.library import scenario_file
    from hydromechs.values import is_path

    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    known = catalog(scenario_file(source)) if is_path(source) else catalog()
    name = Path(source).stem if is_path(source) else source
    with console.status("compiling (cached afterwards)"):
        station = Station(known, name, out, share=share, port=port, lost_after=lost_after)
    console.print(Text(f"open {station.url} (Ctrl-C ends it)", "bold"), soft_wrap=True)
    if share:
        there = station.url.replace("127.0.0.1", socket.gethostname())
        console.print(Text(f"from other machines: {there}; whoever has this address can steer", "yellow"), soft_wrap=True)
    if port and station.gate.port != port:
        console.print(Text(f"port {port} is in use, so this is another one", "yellow"))
    if browser and has_display():
        webbrowser.open(station.url)
    try:
        while True:
            time.sleep(0.5)
    except KeyboardInterrupt:
        folder = station.session.run_folder
        console.print("ending the run")
    finally:
        station.close()
    if folder.has_run():
        console.print(Text(f"recording: {folder.recording}"), soft_wrap=True)
        console.print(Text(f"see it: hydromechs replay {folder.path}"), soft_wrap=True)
        console.print(Text(f"simulate it again: hydromechs pilot --again {folder.path}"), soft_wrap=True)


def fly_again(run: str, out: str, console: Console) -> None:
    """Simulate a piloted run once more and say whether it came out the same.

    Args:
        run: Folder of the piloted run.
        out: Folder for the folder of the new run.
        console: Where to print.
    """
    old = RunFolder(run)
    with RunFolder.numbered(Path(out) / f"{Path(run).name}-again") as folder, console.status("simulating"):
        result = simulate_again(catalog(), run, folder)
    print_summary(result.summary, console)
    console.print(Text(f"recording: {result.folder.recording}"), soft_wrap=True)
    if old.state.exists() and load_recording(old.recording).attrs.get("finished"):
        same = load_state(old.state) == result.state
        console.print("the same run, to the last bit" if same else Text("another run came out", "red"))
