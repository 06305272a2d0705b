"""Differences from other codes as a table."""

from __future__ import annotations

import statistics

from rich.console import Console
from rich.table import Table

from hydromechs.bench import CROSSCHECK_TOLERANCE, Crosscheck


def print_crosscheck(result: Crosscheck, console: Console) -> None:
    """Print the largest differences from other codes."""
    table = Table(title=f"{result.trees} random trees of up to 12 bodies, all joint types", box=None)
    tolerance = f"within {CROSSCHECK_TOLERANCE:g}"
    for column in ("code", "quantity", "largest difference", "median", "condition at the largest", tolerance):
        table.add_column(column)
    for (code, quantity), differences in result.found.items():
        worst = max(differences, key=lambda d: d.relative)
        median = statistics.median(d.relative for d in differences)
        good = "yes" if worst.relative <= CROSSCHECK_TOLERANCE else "NO"
        table.add_row(code, quantity, f"{worst.relative:.2e}", f"{median:.1e}", f"{worst.condition:.1e}", good)
    console.print(table)
