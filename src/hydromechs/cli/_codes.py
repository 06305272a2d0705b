"""Commands on the equations and their code: `crosscheck`, `backends`, `export`, `count`, `papers`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated

import typer
from rich.console import Console

from hydromechs.compiler import BACKENDS

from ._options import CODE
from ._robot_options import ARGUMENT, BASE, FOLDER, PACKAGE, PLACEHOLDERS, robot_options
from ._tables import print_report

__all__ = ["backends", "count", "crosscheck", "export", "papers"]

SOURCE = Annotated[str, typer.Argument(help="A library model (see `hydromechs models`) or the path of a model file.")]

WRITTEN = "; ".join(f"{key}: {b.about}" for key, b in BACKENDS.items() if b.exports) + "."
"""Formats of `export`."""


def crosscheck(
    trees: Annotated[int, typer.Option(min=1, help="How many random trees.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the trees.")] = 0,
) -> None:
    """Compare our equations with other codes.

    DART, Pinocchio and MuJoCo, on random trees; they come with pip install 'hydromechs[dev]'.
    """
    from hydromechs.studies import crosscheck as compare

    from ._print_studies import print_crosscheck

    console = Console()
    result = compare(trees, seed, track=_progress("comparing", console))
    print_crosscheck(result, console)
    if not result.passed:
        raise typer.Exit(1)


def backends(
    trees: Annotated[int, typer.Option(min=0, help="How many random trees besides the library.")] = 200,
    seed: Annotated[int, typer.Option(help="Seed of the trees.")] = 0,
) -> None:
    """Compare machine code (lanes, threads, rolled, C) with the float reference on every equation."""
    from hydromechs.studies import compare_all_backends

    from ._print_studies import print_backends

    console = Console()
    result = compare_all_backends(trees, seed, track=_progress("comparing", console))
    print_backends(result, console)
    if not result.passed:
        raise typer.Exit(1)


def export(
    model: SOURCE,
    out: Annotated[str, typer.Option(help="Folder to write into; by default one with the model's name.")] = "",
    format: Annotated[str, typer.Option(help=WRITTEN)] = "c",
    functions: Annotated[
        str, typer.Option(help="Names separated by commas; a wrong name lists them all.")
    ] = "forward_dynamics,inverse_dynamics,mass_matrix,kinematics",
    code: CODE = False,
    package: PACKAGE = None,
    folder: FOLDER = None,
    base: BASE = "auto",
    placeholders: PLACEHOLDERS = False,
    arg: ARGUMENT = None,
) -> None:
    """Write a model's equations as source code for an embedded target, with a check."""
    from hydromechs.equations import FORMATS, export_source
    from hydromechs.library import load

    if format not in FORMATS:
        raise typer.BadParameter(f"{format!r} is not a format; choose one of {', '.join(FORMATS)}", param_hint="--format")
    mechanism = load(model, code=code, **robot_options(package, folder, base, placeholders, arg))
    try:
        names = [name.strip() for name in functions.split(",") if name.strip()]
        paths = export_source(mechanism, out or mechanism.name, names, format)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--functions") from None
    print(f"wrote {', '.join(map(str, paths))}\nto check them:")
    print(f"  {BACKENDS[format].check_command(paths)}")


def count(
    model: Annotated[str | None, typer.Argument(help="A library model or the path of a model file.")] = None,
    papers: Annotated[bool, typer.Option("--papers", help="Our counts beside those of the papers.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    code: CODE = False,
    package: PACKAGE = None,
    folder: FOLDER = None,
    base: BASE = "auto",
    placeholders: PLACEHOLDERS = False,
    arg: ARGUMENT = None,
) -> None:
    """Count multiplications and additions of the algorithms for a model."""
    if (model is None) is not papers:
        raise typer.BadParameter("give either a model or --papers")
    import json

    from hydromechs import studies

    from ._print_papers import print_counts, print_papers

    if papers:
        found = list(studies.compare_with_papers())
        if as_json:
            print(json.dumps([{**c._asdict(), "ratio": c.ratio} for c in found], indent=2, ensure_ascii=False))
        else:
            print_papers(found, Console())
        return
    from hydromechs.library import load

    mechanism = load(str(model), code=code, **robot_options(package, folder, base, placeholders, arg))
    if as_json:
        print(json.dumps({"model": mechanism.name, "operations": studies.model_counts(mechanism)}, indent=2))
    else:
        print_counts(mechanism, Console())


def papers(
    quick: Annotated[bool, typer.Option("--quick", help="Few repeats, rough times.")] = False,
    picture: Annotated[str, typer.Option(help="File for the plot of error against time.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Our reproduction of the papers' tables: operation counts, block methods, speedups on lanes."""
    from hydromechs.studies import measure_papers

    from ._print_papers import print_papers_tables

    notes = Console(stderr=True)
    print_report(measure_papers(quick=quick, picture=picture, report=notes.print), print_papers_tables, as_json)


def _progress(what: str, console: Console) -> Callable[[list], Iterable]:
    """Goes through a list with a progress bar."""
    from rich.progress import track

    return lambda items: track(items, description=what, console=console)
