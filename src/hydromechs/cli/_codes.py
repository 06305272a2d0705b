"""Commands `crosscheck`, `export`, `count` and `papers`, and the tables that they print."""

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from hydromechs.bench import ALGORITHMS, CROSSCHECK_TOLERANCE, KINDS, Crosscheck
from hydromechs.compiler import BACKENDS
from hydromechs.equations import operation_count
from hydromechs.model import Model

from ._console import Console
from ._kinds import expect
from ._options import CODE, JSON, robot_command
from ._tables import print_heading, print_report, table_of

SOURCE = Annotated[str, typer.Argument(help="Name of a library model (see `hydromechs models`), or path of a model file.")]

WRITTEN = "; ".join(f"{key}: {b.about}" for key, b in BACKENDS.items() if b.exports) + "."
"""Help text that lists the formats of `export`."""


def crosscheck(
    trees: Annotated[int, typer.Option(min=1, help="Number of random trees.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the random trees.")] = 0,
) -> None:
    """Compare the dynamics of random trees with other codes.

    The codes are DART, Pinocchio and MuJoCo; install them with: pip install 'hydromechs[dev]'
    """
    from rich.progress import track

    from hydromechs.bench import crosscheck as compare

    console = Console()
    result = compare(trees, seed, track=lambda items: track(items, description="comparing", console=console))
    print_crosscheck(result, console)
    if not result.passed:
        raise typer.Exit(1)


@robot_command
def export(
    model: SOURCE,
    out: Annotated[str, typer.Option(help="Output folder. Defaults to the name of the model.")] = "",
    format: Annotated[str, typer.Option(help=WRITTEN)] = "c",
    functions: Annotated[
        str, typer.Option(help="Functions to export, separated by commas; an unknown name lists all functions.")
    ] = "forward_dynamics,inverse_dynamics,mass_matrix,kinematics",
    code: CODE = False,
    **options: Any,
) -> None:
    """Write the equations of a model as source code.

    The code is suitable for embedded targets; a test program checks it.
    """
    from hydromechs.equations import FORMATS, export_source
    from hydromechs.library import load

    if format not in FORMATS:
        raise typer.BadParameter(f"unknown format {format!r}; choose one of {', '.join(FORMATS)}", param_hint="--format")
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
    model: Annotated[str, typer.Argument(help="Name of a library model, or path of a model file.")],
    as_json: JSON = False,
    code: CODE = False,
    **options: Any,
) -> None:
    """Count the operations of dynamics algorithms for a model."""
    from hydromechs import bench
    from hydromechs.library import load

    expect(model, "count", "model")
    mechanism = load(model, code=code, **options)
    report = {"model": mechanism.name, "operations": bench.model_counts(mechanism)}
    print_report(report, lambda _, console: print_counts(mechanism, console), as_json)


def papers(
    what: Annotated[
        str,
        typer.Argument(
            help="counts (operation counts), lines (each line of the tables) or lift (lifting experiment of the thesis). "
            "If omitted, lists all tables and figures."
        ),
    ] = "",
    quick: Annotated[
        bool, typer.Option("--quick", help="Run only a few repetitions of the lift; times are approximate.")
    ] = False,
    picture: Annotated[
        Path | None,
        typer.Option(
            help="File for a plot of error against computing time of the lifting experiment (Fig. 14), such as lift.png."
        ),
    ] = None,
    as_json: JSON = False,
) -> None:
    """List or reproduce tables of the reference papers.

    The list contains each table and figure with the command that reproduces it. The lift takes about four
    minutes: four arms lift a load with block methods, one evaluation at a time and on SIMD lanes.
    """
    from hydromechs import bench

    if what not in ("", "counts", "lines", "lift"):
        raise typer.BadParameter(f"unknown argument {what!r}; use counts, lines or lift, or omit the argument for the list")
    if what != "lift" and (quick or picture):
        raise typer.BadParameter("--quick and --picture apply only to `hydromechs papers lift`")
    if what == "lift":
        report = bench.measure_lift(quick=quick, report=Console(stderr=True).print)
        print_report(report, print_lift, as_json)
        if picture:
            bench.plot_lift(report, picture)
    elif what == "counts":
        found, lengths = list(bench.compare_with_papers()), list(bench.long_arms())
        counted = {
            "comparisons": [{**c._asdict(), "ratio": c.ratio} for c in found],
            "long_arms": lengths,
            "claims": [c._asdict() for c in bench.claims(found, lengths)],
            "misprints": bench.MISPRINTS,
        }
        print_report(counted, print_papers, as_json)
    elif what == "lines":
        print_report([line._asdict() for line in bench.paper_lines()], print_lines, as_json)
    else:
        print_report([row._asdict() for row in bench.tables_and_figures()], print_index, as_json)


def print_counts(model: Model, console: Console) -> None:
    """Print the operation counts of a model, with a column per algorithm and a row per kind of operation."""
    counts = [operation_count(model, name) for name in ALGORITHMS]
    table = table_of("", *(f">{name}\n{what.replace('poses and ', '')}" for name, what in ALGORITHMS.items()))
    for kind in KINDS:
        table.add_row(kind.replace("s_c", "s, c").replace("_", " "), *(str(getattr(count, kind)) for count in counts))
    table.add_row("[M, A]", *(Text(str([*count.papers])) for count in counts), style="bold")
    where = "in moving and accelerating water" if model.wet else "without water"
    console.print(Text(f"{model.name}: {model.nb} bodies, {model.nv} degrees of freedom, {where}"))
    console.print(table)
    console.print(
        Text("[M, A] as in the papers: multiplications include divisions and roots; sines and cosines are not counted")
    )


def print_papers(counted: dict[str, Any], console: Console) -> None:
    """Print the comparison with the papers: a table per section, arms with many joints, claims and misprints."""
    console.print(
        Text(
            "[M, A]: M counts multiplications, divisions and square roots; A counts additions and subtractions. Chains have\n"
            "general angles, offsets, centres of mass and inertias. In moving, accelerating water, all bodies also have full\n"
            "added mass, buoyancy and strip drag. The counts of HydroMechs are counts of the traced programs."
        )
    )
    comparisons = counted["comparisons"]
    for section in dict.fromkeys(c["section"] for c in comparisons):
        found = [c for c in comparisons if c["section"] == section]
        before = [f"{[*c['before']]} {c['before_source']}" if c["before"] else "" for c in found]
        rows = [(c["what"], c["source"], [*c["papers"]], [*c["ours"]], b) for c, b in zip(found, before, strict=True)]
        columns = ("what", "where", ">papers", ">HydroMechs", "before the papers")
        used = len(columns) if any(before) else len(columns) - 1
        console.print(Text(f"\n{section}", "bold"))
        console.print(table_of(*columns[:used], rows=[row[:used] for row in rows]))
    console.print(Text("\nTwo arms of N joints on a load", "bold"))
    rows = [(N, *([*pair] for pair in pairs)) for N, *pairs in counted["long_arms"]]
    console.print(table_of(">N", ">Lilly and Orin", ">thesis", ">HydroMechs, mass matrix", ">HydroMechs, recursion", rows=rows))
    console.print(Text("\nClaims: savings and increases in M + A", "bold"))
    rows = [(c["what"], c["source"], c["stated"], *(f"{c[key]:.1f}" for key in ("papers", "ours"))) for c in counted["claims"]]
    console.print(table_of("claim", "where", ">stated", ">from the counts in the papers", ">from our counts", rows=rows))
    console.print(Text("\nMisprints", "bold"))
    for where, what in counted["misprints"].items():
        console.print(Text(f"{where}: {what}"))


def print_lines(lines: Sequence[dict[str, Any]], console: Console) -> None:
    """Print the lines of the tables in the papers, with one table per column of counts."""
    for source, column in dict.fromkeys((line["table"], line["column"]) for line in lines):
        rows = [(x["name"], [*x["papers"]], [*x["ours"]]) for x in lines if (x["table"], x["column"]) == (source, column)]
        console.print(Text(f"\n{source}: {column}", "bold"))
        console.print(table_of("line", ">papers", ">HydroMechs", rows=rows))


def print_index(rows: Sequence[dict[str, Any]], console: Console) -> None:
    """Print the list of tables and figures, with one table per paper."""
    from hydromechs.bench import STATUSES

    for paper in dict.fromkeys(row["paper"] for row in rows):
        mine = [[row[key] for key in ("item", "what", "status", "command")] for row in rows if row["paper"] == paper]
        console.print(Text(f"\n{paper}", "bold"))
        console.print(table_of("", "content", "status", "command", rows=mine))
    console.print(Text("\n" + "\n".join(f"{status}: {meaning}" for status, meaning in STATUSES.items())))


def print_lift(report: dict[str, Any], console: Console) -> None:
    """Print Tables 3 to 6 of the thesis from the report of `measure_lift`."""
    from hydromechs.bench import lift_columns

    print_heading(report, console)
    for title, columns, rows in lift_columns(report):
        console.print(Text(f"\n{title}", "bold"))
        console.print(table_of(*columns, rows=rows))


def print_crosscheck(result: Crosscheck, console: Console) -> None:
    """Print the largest difference from each third-party code."""
    rows = []
    for (code, quantity), differences in result.found.items():
        worst = max(differences, key=lambda d: d.relative)
        median = statistics.median(d.relative for d in differences)
        good = "yes" if worst.relative <= CROSSCHECK_TOLERANCE else "NO"
        rows.append((code, quantity, f"{worst.relative:.2e}", f"{median:.1e}", f"{worst.condition:.1e}", good))
    console.print(Text(f"{result.trees} random trees of up to 12 bodies with all joint types"))
    columns = ("code", "quantity", ">largest difference", ">median", ">condition number there")
    console.print(table_of(*columns, f"within {CROSSCHECK_TOLERANCE:g}", rows=rows))
