"""Print operation counts and the papers' tables beside ours, and differences from other codes."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from hydromechs.bench import ALGORITHMS, CROSSCHECK_TOLERANCE, KINDS, Crosscheck
from hydromechs.equations import operation_count
from hydromechs.model import Model

from ._tables import table_of


def print_counts(model: Model, console: Console) -> None:
    """Print the operation counts of a model: a column for each algorithm, a row for each kind of operation."""
    counts = [operation_count(model, name) for name in ALGORITHMS]
    table = table_of("", *(f">{name}\n{what.replace('poses and ', '')}" for name, what in ALGORITHMS.items()))
    for kind in KINDS:
        table.add_row(kind.replace("s_c", "s, c").replace("_", " "), *(str(getattr(count, kind)) for count in counts))
    table.add_row("[M, A]", *(Text(str([*count.papers])) for count in counts), style="bold")
    where = "in moving and accelerating water" if model.wet else "without water"
    console.print(Text(f"{model.name}: {model.nb} bodies, {model.nv} degrees of freedom, {where}"))
    console.print(table)
    console.print(
        Text("[M, A] as in the papers: multiplications include divisions and square roots; sines and cosines are not counted")
    )


def print_papers(comparisons: Sequence[dict[str, Any]], console: Console) -> None:
    """Print comparisons, given as plain data, with one table per section."""
    console.print(
        Text(
            "[M, A]: multiplications with divisions and square roots, additions with subtractions. Chains have general\n"
            "angles, offsets, centres of mass and inertias; in water also full added mass, buoyancy and strip drag on all\n"
            "bodies, and the water moves and accelerates. Ours are counted in the traced programs."
        )
    )
    for section in dict.fromkeys(c["section"] for c in comparisons):
        rows = []
        for c in comparisons:
            if c["section"] == section:
                ours = "not yet" if c["ours"] is None else [*c["ours"]]
                rows.append((c["what"], c["source"], [*c["papers"]], ours, ", ".join(f"{x:.3f}" for x in c["ratio"] or ())))
        console.print(Text(f"\n{section}", "bold"))
        console.print(table_of("what", "where", ">papers", ">ours", ">ours / papers", rows=rows))


def print_papers_tables(report: dict[str, Any], console: Console) -> None:
    """Print a report of `measure_papers`."""
    print_papers(report["counts"], console)
    print_block_tables(report, console)


def print_block_tables(report: dict[str, Any], console: Console) -> None:
    """Print Tables 5 and 6 of a report, the papers' values beside ours."""
    console.print(
        Text(
            f"\nTime to an error of {report['benchmark_error']:g}, four arms of six joints on a free body, on one core", "bold"
        )
    )
    keys = ("theirs_s", "theirs_slowdown", "ours_ms", "ours_slowdown")
    rows = [(row["method"], *(f"{row[key]:.3f}" for key in keys)) for row in report["table_5"]]
    columns = (">theirs, s", ">theirs, slowdown", ">ours, ms", ">ours, slowdown")
    console.print(table_of("Table 5: block size, points one after another", *columns, rows=rows))
    rows = [
        (row["method"], row["theirs_what"], f"{row['theirs']:.2f}", row["ours_what"], f"{row['ours']:.2f}")
        for row in report["table_6"]
    ]
    columns = ("theirs", ">4 processors", "ours", ">lanes of one core")
    console.print(table_of("Table 6: over the serial B1PC5", *columns, rows=rows))


def print_crosscheck(result: Crosscheck, console: Console) -> None:
    """Print the largest differences from other codes."""
    rows = []
    for (code, quantity), differences in result.found.items():
        worst = max(differences, key=lambda d: d.relative)
        median = statistics.median(d.relative for d in differences)
        good = "yes" if worst.relative <= CROSSCHECK_TOLERANCE else "NO"
        rows.append((code, quantity, f"{worst.relative:.2e}", f"{median:.1e}", f"{worst.condition:.1e}", good))
    console.print(Text(f"{result.trees} random trees of up to 12 bodies, all joint types"))
    columns = ("code", "quantity", ">largest difference", ">median", ">condition at the largest")
    console.print(table_of(*columns, f"within {CROSSCHECK_TOLERANCE:g}", rows=rows))
