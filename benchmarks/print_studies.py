"""Studies as tables."""

from __future__ import annotations

import statistics
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from .backends import BackendComparison
from .decoupled import decoupled_parts, error_text
from .file_study import FileStudy

__all__ = ["print_backends", "print_decoupled", "print_files"]


def print_decoupled(report: dict[str, Any], console: Console) -> None:
    """Print the errors of the decoupled model as tables.

    Args:
        report: What `measure_decoupled` returns.
        console: Where to print.
    """
    console.print(
        Text(
            "Largest difference between the decoupled and the full model while the arm swings to another posture:\n"
            "of the tool's position [mm] and of the vehicle's attitude [deg].\n"
            "Columns: mass of the vehicle over that of the arm."
        )
    )
    for title, label, rows, errors in decoupled_parts(report):
        for name, unit, scale in (("tool", "mm", 1000.0), ("attitude", "deg", 1.0)):
            table = Table(title=Text(f"{title}: {name} [{unit}]", "bold"), title_justify="left", box=None, pad_edge=False)
            table.add_column(label, justify="right")
            for ratio in report["ratios"]:
                table.add_column(f"{ratio:g}", justify="right", min_width=7)
            for row, values in zip(rows, errors[name], strict=True):
                table.add_row("free" if row == 0.0 else f"{row:g}", *(error_text(scale * x) for x in values))
            console.print()
            console.print(table)


def print_backends(result: BackendComparison, console: Console) -> None:
    """Print the largest differences of machine code from floats.

    Args:
        result: What `compare_all_backends` returns.
        console: Where to print.
    """
    title = f"{result.models} library models and {result.trees} random trees, {result.equations} equations"
    table = Table(title=title, box=None)
    for column in ("back end", "comparisons", "largest difference", "in", "median", "all within"):
        table.add_column(column)
    for backend, agreements in result.found.items():
        worst = max(agreements, key=lambda a: a.relative / a.allowed)
        median = statistics.median(a.relative for a in agreements)
        good = "1e-12 (times the condition for accelerations)" if all(a.relative <= a.allowed for a in agreements) else "NO"
        table.add_row(backend, str(len(agreements)), f"{worst.relative:.1e}", worst.equation, f"{median:.0e}", good)
    console.print(table)
    if "C" not in result.found:
        console.print("C was skipped: there is no C compiler (gcc or cc) here", highlight=False)


def print_files(result: FileStudy, console: Console) -> None:
    """Print what became of changed files.

    Args:
        result: What `study_files` returns.
        console: Where to print.
    """
    table = Table(title=f"{sum(result.kinds.values())} changed files", box=None)
    for column in ("files", "what happened"):
        table.add_column(column)
    for kind, number in result.kinds.items():
        table.add_row(str(number), Text(kind))
    console.print(table)
    for file, words in result.failures.items():
        console.print(Text(f"{file}: {words}", "red"), soft_wrap=True)
