"""Tables, headings and success rates, shared by commands."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from rich.table import Table
from rich.text import Text

from hydromechs.files import printable

from ._console import Console

if TYPE_CHECKING:
    from hydromechs.sweeps import CheckOutcome, Rate


Report = TypeVar("Report")


def print_heading(report: dict[str, Any], console: Console) -> None:
    """Print the machine and the versions of software in a report."""
    where = report["machine"]
    load = "" if where["load"] is None else f", load {where['load']:.2f} before and {where['load_after']:.2f} after"
    console.print(Text(f"{where['cpu']}, {where['cores']} cores{load}; {where['system']}; {where['date']}"))
    console.print(Text(", ".join(f"{name} {number}" for name, number in report["versions"].items()) + "\n"))


def print_report(report: Report, show: Callable[[Report, Console], None], as_json: bool) -> None:
    """Print a report of plain data as JSON, or as tables with the function `show`."""
    if as_json:
        print(printable(json.dumps(report, indent=2, ensure_ascii=False)))
    else:
        show(report, Console())


def table_of(*columns: str, rows: Iterable[Iterable[object]] = ()) -> Table:
    """Return a table of plain text; a column whose name starts with > contains numbers and is right-aligned."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns:
        table.add_column(name.removeprefix(">"), justify="right" if name.startswith(">") else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    return table


WORST = 3
"""Number of worst worlds listed for each check."""


def rate_text(rate: Rate) -> str:
    """Return a success rate with its 95 % confidence interval as text [%]."""
    return f"{100.0 * rate.share:.1f} % ({100.0 * rate.interval[0]:.1f} to {100.0 * rate.interval[1]:.1f})"


def print_rates(success: Rate, checks: Sequence[CheckOutcome], what: str, console: Console) -> None:
    """Print the success rate, then the rate, values and worst worlds of each check; `what` is "worlds" or "runs"."""
    console.print(Text(f"{success.count} of {success.worlds} {what} passed: {rate_text(success)}"))
    for c in checks:
        good = sorted(x for x in c.values if math.isfinite(x))
        parts = [good[round(part * (len(good) - 1))] if good else math.nan for part in (0.0, 0.5, 1.0)]
        worst = ", ".join(f"{world} ({value:.3g})" for world, value in c.worst(WORST))
        text = Text(f"  {c.name}: {rate_text(c.rate)}\n", "" if c.rate.count == c.rate.worlds else "yellow")
        text.append(f"    values {parts[0]:.3g} to {parts[2]:.3g}, median {parts[1]:.3g}, must be ", "dim")
        console.print(text.append(f"{c.limit}; worst {what} {worst}", "dim"), soft_wrap=True)
