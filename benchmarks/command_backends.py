"""`python -m benchmarks backends`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track

__all__ = ["backends"]


def backends(
    trees: Annotated[int, typer.Option(min=0, help="How many random trees besides the library.")] = 200,
    seed: Annotated[int, typer.Option(help="Seed of the trees.")] = 0,
) -> None:
    """Compare machine code (lanes, threads, rolled, C) with the float reference on every equation."""
    from benchmarks.backends import compare_all_backends

    from .print_studies import print_backends

    console = Console()
    result = compare_all_backends(trees, seed, track=lambda items: track(items, description="comparing", console=console))
    print_backends(result, console)
    if not result.passed:
        raise typer.Exit(1)
