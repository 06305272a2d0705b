"""Commands of `hydromechs`; each job is in a module of its own."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from hydromechs.errors import ModelError

__all__ = ["main"]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # help texts are plain: [dev] is no markup
    help="HydroMechs: simulation of mechanisms that move in water.",
)

SOURCE = Annotated[str, typer.Argument(help="A library model (see `hydromechs models`) or the path of a model file.")]


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False) -> None:
    if version:
        from hydromechs import __version__

        print(f"hydromechs {__version__}")
        raise typer.Exit


@app.command()
def info(model: SOURCE, sources: Annotated[bool, typer.Option(help="List where the numbers come from.")] = False) -> None:
    """Show a model: its tree, masses, what the water adds, totals."""
    from hydromechs.library import load

    from ._info import print_info

    print_info(load(model), Console(), sources=sources)


@app.command()
def models() -> None:
    """List the models of the library."""
    from rich.table import Table

    from hydromechs.library import load, names

    table = Table(box=None)
    for column in ("model", "bodies", "dof", "what it is"):
        table.add_column(column, overflow="fold")
    for name in names():
        model = load(name)
        cells = (name, str(model.nb), str(model.nv), model.description.split(". ")[0].strip())
        table.add_row(*map(Text, cells))
    Console().print(table)


@app.command()
def check(files: Annotated[list[str], typer.Argument(help="Model files or library models.")]) -> None:
    """Check model files; every fault is listed with its line."""
    from hydromechs.library import load

    bad = 0
    for file in files:
        try:
            load(file)
            print(f"{file}: good")
        except (ModelError, OSError) as error:
            bad += 1
            _print_error(str(error))
    if bad:
        raise typer.Exit(1)


@app.command()
def crosscheck(
    trees: Annotated[int, typer.Option(min=1, help="How many random trees.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the trees.")] = 0,
) -> None:
    """Compare our equations with other codes.

    DART, Pinocchio and MuJoCo, on random trees; they come with pip install 'hydromechs[dev]'.
    """
    from ._crosscheck import print_crosscheck

    if not print_crosscheck(trees, seed, Console()):
        raise typer.Exit(1)


def _print_error(message: str) -> None:
    """Print `message` on stderr, in red on a terminal."""
    Console(stderr=True, soft_wrap=True).print(Text(message, "red"))


def main() -> None:
    """Run the command line; expected errors end it with a message and status 1."""
    try:
        app(standalone_mode=True)
    except (ModelError, OSError, ModuleNotFoundError) as error:
        _print_error(f"error: {error}")
        raise SystemExit(1) from None
