"""Command `hydromechs demo`: run a first example."""

from typing import Annotated

import typer
from rich.text import Text

from ._console import Console

DEMO = "station_keeping"
"""Name of the library scenario that the demo runs."""


def demo(
    out: Annotated[
        str, typer.Option(help=f"Run folder. Defaults to the first unused one of runs/{DEMO}, runs/{DEMO}-2, ...")
    ] = "",
) -> None:
    """Simulate a vehicle that holds station while its arm moves.

    The 3.8-tonne vehicle is exposed to a current. The report opens in a browser if there is a display.
    """
    from ._run import run
    from ._show import own_command

    console = Console()
    if not run(DEMO, console, out=out, show=True):
        raise typer.Exit(1)
    command = own_command()
    console.print(
        Text(f"next: list scenarios with `{command} scenarios`, or fly a vehicle with `{command} pilot pick_and_release`"),
        soft_wrap=True,
    )
