"""`hydromechs demo`: a first example."""

from typing import Annotated

import typer
from rich.text import Text

from ._console import Console

DEMO = "station_keeping"
"""The scenario of the demo."""


def demo(
    out: Annotated[str, typer.Option(help=f"Folder for the run. Defaults to runs/{DEMO}, or runs/{DEMO}-2, ...")] = "",
) -> None:
    """Simulate a 3.8-tonne vehicle that holds station in a current while its arm moves; open its report."""
    from ._run import run
    from ._show import own_command

    console = Console()
    if not run(DEMO, console, out=out, show=True):
        raise typer.Exit(1)
    command = own_command()
    console.print(Text(f"next: {command} scenarios, or fly it yourself: {command} pilot pick_and_release"), soft_wrap=True)
