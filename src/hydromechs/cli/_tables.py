"""Tables and headings that the commands share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text


def print_heading(report: dict[str, Any], console: Console) -> None:
    """Print machine and versions of a report."""
    where = report["machine"]
    load = "" if where["load"] is None else f", load {where['load']:.2f} before and {where['load_after']:.2f} after"
    console.print(Text(f"{where['cpu']}, {where['cores']} cores{load}; {where['system']}; {where['date']}"))
    console.print(Text(", ".join(f"{name} {number}" for name, number in report["versions"].items()) + "\n"))


def print_report(report: dict[str, Any], show: Callable[[dict[str, Any], Console], None], as_json: bool) -> None:
    """Print a report as JSON, or as tables by a function."""
    if as_json:
        print(json.dumps(report, indent=2, ensure_ascii=False))
    else:
        show(report, Console())


def listing(*columns: str) -> Table:
    """An empty table of names and what they are."""
    table = Table(box=None)
    for name in columns:
        table.add_column(name, overflow="fold")
    return table


def table_of(*columns: str, rows: Iterable[Iterable[object]] = ()) -> Table:
    """A table of rows of plain text; a column whose name starts with > is one of numbers."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns:
        table.add_column(name.removeprefix(">"), justify="right" if name.startswith(">") else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    return table
