"""Commands on the equations and their code: `crosscheck`, `export`, `count`, `papers`."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console

from hydromechs.compiler import BACKENDS

from ._kinds import expect
from ._options import CODE, JSON, robot_command
from ._tables import print_report

SOURCE = Annotated[str, typer.Argument(help="A library model (see `hydromechs models`) or the path of a model file.")]

WRITTEN = "; ".join(f"{key}: {b.about}" for key, b in BACKENDS.items() if b.exports) + "."
"""Formats of `export`."""


def crosscheck(
    trees: Annotated[int, typer.Option(min=1, help="Number of random trees.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the trees.")] = 0,
) -> None:
    """Compare the equations with those of other engines.

    The engines are DART, Pinocchio and MuJoCo, which pip install 'hydromechs[dev]' installs. The models are random trees.
    """
    from rich.progress import track

    from hydromechs.bench import crosscheck as compare

    from ._print_papers import print_crosscheck

    console = Console()
    result = compare(trees, seed, track=lambda items: track(items, description="comparing", console=console))
    print_crosscheck(result, console)
    if not result.passed:
        raise typer.Exit(1)


@robot_command
def export(
    model: SOURCE,
    out: Annotated[str, typer.Option(help="Output folder. Defaults to the model's name.")] = "",
    format: Annotated[str, typer.Option(help=WRITTEN)] = "c",
    functions: Annotated[
        str, typer.Option(help="Names separated by commas; an unknown name lists all.")
    ] = "forward_dynamics,inverse_dynamics,mass_matrix,kinematics",
    code: CODE = False,
    **options: Any,
) -> None:
    """Write a model's equations as source code for an embedded target, with a test program."""
    from hydromechs.equations import FORMATS, export_source
    from hydromechs.library import load

    if format not in FORMATS:
        raise typer.BadParameter(f"{format!r} is not a format; choose one of {', '.join(FORMATS)}", param_hint="--format")
    expect(model, "export", "model")
    mechanism = load(model, code=code, **options)
    try:
        names = [name.strip() for name in functions.split(",") if name.strip()]
        paths = export_source(mechanism, out or mechanism.name, names, format)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--functions") from None
    print(f"wrote {', '.join(map(str, paths))}\nto check them:")
    print(f"  {BACKENDS[format].check_command(paths)}")


@robot_command
def count(
    model: Annotated[str | None, typer.Argument(help="A library model or the path of a model file.")] = None,
    papers: Annotated[bool, typer.Option("--papers", help="List our counts beside those of the papers.")] = False,
    as_json: JSON = False,
    code: CODE = False,
    **options: Any,
) -> None:
    """Count multiplications and additions of the algorithms for a model."""
    if (model is None) is not papers:
        raise typer.BadParameter("give either a model or --papers")
    from hydromechs import bench

    from ._print_papers import print_counts, print_papers

    if papers:
        print_report([{**c._asdict(), "ratio": c.ratio} for c in bench.compare_with_papers()], print_papers, as_json)
        return
    from hydromechs.library import load

    expect(str(model), "count", "model")
    mechanism = load(str(model), code=code, **options)
    report = {"model": mechanism.name, "operations": bench.model_counts(mechanism)}
    print_report(report, lambda _, console: print_counts(mechanism, console), as_json)


def papers(
    quick: Annotated[bool, typer.Option("--quick", help="Few repetitions, approximate times.")] = False,
    as_json: JSON = False,
) -> None:
    """Reproduce the papers' tables: operation counts, block methods, speedups on lanes."""
    from hydromechs.bench import measure_papers

    from ._print_papers import print_papers_tables

    notes = Console(stderr=True)
    print_report(measure_papers(quick=quick, report=notes.print), print_papers_tables, as_json)
