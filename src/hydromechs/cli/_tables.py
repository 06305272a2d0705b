"""Tables and headings that the commands share."""

import json
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from rich.console import Console
from rich.table import Table
from rich.text import Text

Report = TypeVar("Report")


def print_heading(report: dict[str, Any], console: Console) -> None:
    """Print machine and versions of a report."""
    where = report["machine"]
    load = "" if where["load"] is None else f", load {where['load']:.2f} before and {where['load_after']:.2f} after"
    console.print(Text(f"{where['cpu']}, {where['cores']} cores{load}; {where['system']}; {where['date']}"))
    console.print(Text(", ".join(f"{name} {number}" for name, number in report["versions"].items()) + "\n"))


def print_report(report: Report, show: Callable[[Report, Console], None], as_json: bool) -> None:
    """Print a report, plain data, as JSON or as tables by a function."""
    if as_json:
        print(json.dumps(report, indent=2, ensure_ascii=False))
    else:
        show(report, Console())


def table_of(*columns: str, rows: Iterable[Iterable[object]] = ()) -> Table:
    """Return a table of rows of plain text; a column whose name starts with > holds numbers."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns:
        table.add_column(name.removeprefix(">"), justify="right" if name.startswith(">") else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    return table
