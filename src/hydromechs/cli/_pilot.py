"""Command `hydromechs pilot`: fly a scenario in a browser, or simulate a piloted run again from its inputs."""

import logging
import re
import signal
import socket
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from rich.text import Text

from hydromechs import files
from hydromechs.recording import RunFolder, load_recording
from hydromechs.scenario import Scenario
from hydromechs.simulation import load_state
from hydromechs.station import AcousticLink, Catalog, Station
from hydromechs.station import fly_again as simulate_again

from ._console import Console
from ._run import print_summary
from ._settings import recorded, settings_of_run, with_settings
from ._show import serve


def catalog(*more: str, code: bool = False, settings: Mapping[str, Any] = MappingProxyType({}), of: str = "") -> Catalog:
    """Return the catalog of scenarios that the station can load.

    Args:
        more: Paths of scenario files to offer in addition to the library.
        code: Allow execution of Python code named in the files.
        settings: Numbers to replace, keyed by path.
        of: File in which numbers are replaced. Defaults to all files.
    """
    from hydromechs.formats import drawing_attrs, dumps_scenario, loads_scenario, scenario_text
    from hydromechs.library import load, load_vehicle, scenario_names, scenario_path

    ready = {name: scenario_path(name) for name in scenario_names()}
    given = {Path(path).stem: path for path in more}
    flown = [name for name, path in ready.items() if _has_thrusters(Path(path))]
    changed: set[str] = set()

    def read(text: str, file: str) -> Scenario:
        scenario = loads_scenario(text, file, Path(file).parent, library=load, plants=load_vehicle, code=code)
        if of not in ("", file):
            return scenario
        changed.add(scenario.name)
        return with_settings(scenario, settings)

    return Catalog(
        files=ready | given,
        offered=list(dict.fromkeys([*given, *flown])),
        write=lambda scenario, file: dumps_scenario(scenario, Path(file).absolute().parent),
        read=read,
        text=scenario_text,
        drawing=lambda scenario: drawing_attrs(scenario) | (recorded(scenario, settings) if scenario.name in changed else {}),
    )


def _has_thrusters(file: Path) -> bool:
    """Return True if a library scenario or its vehicle has thrusters.

    The text is searched, because loading all scenarios takes seconds.
    """
    text = file.read_text(encoding="utf-8")
    vehicles = (file.parents[1] / "vehicles" / f"{name}.yaml" for name in re.findall(r"\bplant: (\w+)", text))
    texts = [text, *(path.read_text(encoding="utf-8") for path in vehicles)]
    return any(re.search("^thrusters:", each, re.MULTILINE) for each in texts)


def vehicle_file(name: str, folder: str) -> str:
    """Write a scenario file with a library vehicle at 10 m depth in still water; return its path.

    An existing file with the same content is reused.
    """
    from hydromechs.library import load

    depth = 10.0 * np.array(load(name).world.down)
    title = f"{name} in still water"
    model = f"{{plant: {name}, position: {depth.tolist()}}}"
    run = "{step: 0.005, record: 0.05, duration: 60}"
    text = f"hydromechs_scenario: 2\nname: {name}\ntitle: {title}\nmodels:\n  rov: {model}\nrun: {run}\n"
    path = Path(folder) / f"{name}_still_water.yaml"
    if path.exists() and files.read_text(path) != text:
        raise ValueError(
            f"{path} exists with other contents; pilot this file by path, move the file, or choose another folder with --out"
        )
    files.write_text(path, text)
    return str(path)


def link_of(delay: float | None, distance: float | None, message_time: float, loss: float) -> AcousticLink | None:
    """Return the acoustic link for a one-way delay [s] or a distance [m], or None if both are omitted."""
    if delay is not None and distance is not None:
        raise ValueError(f"--delay {delay:g} and --distance {distance:g} are both given; remove one of these options")
    if delay is None and distance is None:
        if message_time or loss:
            raise ValueError("--message-time and --loss require --delay or --distance; add --delay 0 for a link without delay")
        return None
    link = AcousticLink(delay=delay or 0.0) if distance is None else AcousticLink.across(distance)
    return replace(link, message_time=message_time, loss=loss)


def fly(
    source: str,
    console: Console,
    *,
    share: bool,
    out: str,
    lost_after: float,
    port: int,
    browser: bool,
    link: AcousticLink | None = None,
    settings: Mapping[str, Any] = MappingProxyType({}),
    code: bool = False,
) -> None:
    """Serve the operator station until Ctrl-C."""
    from hydromechs.library import plant_names, scenario_file, scenario_names
    from hydromechs.values import is_path

    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    if source in plant_names() and source not in scenario_names():
        source = vehicle_file(source, out)
    more = [str(scenario_file(source))] if is_path(source) else []
    known = catalog(*more, code=code and bool(more), settings=settings, of=str(scenario_file(source)))
    name = Path(source).stem if is_path(source) else source
    with console.status("compiling (cached afterwards)"):
        station = Station(known, name, out, share=share, port=port, lost_after=lost_after, link=link)
    if share:
        there = station.url.replace("127.0.0.1", socket.gethostname())
        console.print(
            Text(f"open {there} on other machines; anyone with this URL can steer the vehicle", "yellow"), soft_wrap=True
        )
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # SIGTERM ends it like Ctrl-C
    serve(station, lambda: time.sleep(0.5), console, port, browser)
    folder = station.session.run_folder
    if folder.has_run():
        console.print(Text(f"recording: {folder.recording}"), soft_wrap=True)
        console.print(Text(f"to view the run: hydromechs replay {folder.path}"), soft_wrap=True)
        console.print(Text(f"to simulate the run again: hydromechs pilot --again {folder.path}"), soft_wrap=True)


def fly_again(run: str, out: str, console: Console, *, code: bool = False) -> None:
    """Simulate a piloted run again from its recorded inputs; report whether the final states are identical."""
    old = RunFolder(run)
    with RunFolder.numbered(Path(out) / f"{Path(run).name}-again") as folder, console.status("simulating"):
        result = simulate_again(catalog(code=code, settings=settings_of_run(run)), run, folder)
    print_summary(result.summary, console)
    console.print(Text(f"recording: {result.folder.recording}"), soft_wrap=True)
    if old.state.exists() and load_recording(old.recording).attrs.get("finished"):
        same = load_state(old.state) == result.state
        console.print("the final states are bit-identical" if same else Text("the final states differ", "red"))
