"""Command `hydromechs page`: write one HTML file that simulates a scenario."""

from __future__ import annotations

import webbrowser
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from ._console import Console
from ._kinds import expect
from ._options import BROWSER, CODE, SET

if TYPE_CHECKING:
    from hydromechs.browser import Range


def page(
    scenario: Annotated[
        str, typer.Argument(help="Name of a library scenario (see `hydromechs scenarios`), or path of a scenario file.")
    ],
    out: Annotated[str, typer.Option(help="HTML file to write. Defaults to NAME.html.")] = "",
    parameters: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter",
            metavar="PATH[=LOW:HIGH]",
            help="Number to vary by a slider, such as vehicle.inertia.mass=10:16; repeatable. Defaults to current, mass, drag.",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of gusts, waves and sensors. Defaults to the seed of the scenario.")
    ] = None,
    browser: BROWSER = True,
    settings: SET = None,
    code: CODE = False,
) -> None:
    """Write one HTML file that simulates a scenario offline.

    In any browser, users can fly its vehicle and change numbers by sliders.
    """
    from hydromechs.browser import scenario_page
    from hydromechs.files import write_text
    from hydromechs.library import load_scenario

    from ._settings import parsed_settings, with_settings
    from ._show import has_display

    expect(scenario, "page", "scenario")
    found = with_settings(load_scenario(scenario, code=code), parsed_settings(settings))
    if seed is not None:
        found = found.with_fields(seed=seed)
    path = Path(out or f"{found.name}.html")
    if path.suffix not in (".html", ".htm"):
        raise ValueError(f"--out {out} has the suffix {path.suffix!r}, but pages are HTML files; use the suffix .html")
    if path.is_dir():
        raise ValueError(f"--out {out} is a folder; set the name of a file")
    chosen = None if parameters is None else dict(map(_parameter, parameters))
    console = Console()
    with console.status("compiling (cached afterwards)") as status:
        text = scenario_page(found, chosen, progress=lambda name: status.update(f"compiling {name} (cached afterwards)"))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)
    packed = len(zlib.compress(text.encode(), 6))
    console.print(
        Text(f"{path}: {len(text) / 1e6:.1f} MB, {packed / 1e6:.1f} MB compressed; open it in any browser"), soft_wrap=True
    )
    if browser and has_display():
        webbrowser.open(path.absolute().as_uri())


def _parameter(text: str) -> tuple[str, Range | None]:
    path, equals, limits = text.partition("=")
    low, colon, high = limits.partition(":")
    if not path or (equals and not colon):
        raise typer.BadParameter(
            f"{text!r} is not of the form PATH or PATH=LOW:HIGH; write, for example, vehicle.inertia.mass=10:16"
        )
    try:
        return path, (float(low), float(high)) if equals else None
    except ValueError:
        raise typer.BadParameter(f"{text!r}: range {limits!r} does not consist of two numbers; write LOW:HIGH") from None
