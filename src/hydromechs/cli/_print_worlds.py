"""The report of `hydromechs bench worlds` as tables."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from ._tables import print_heading, print_targets, table_of

SHORT = {"semi_implicit_euler": "Euler", "rk4": "RK4"}
"""Names of integrators in a table."""


def print_worlds(report: dict[str, Any], console: Console) -> None:
    """Print a report of `measure_worlds` as tables."""
    print_heading(report, console)
    m = report["model"]
    counts = ", ".join(f"{method} {count}" for method, count in m["operations"].items())
    console.print(
        Text(
            f"Whole steps of {m['name']}, {m['degrees_of_freedom']} degrees of freedom; operations of one: {counts}.\n"
            "Euler is semi-implicit. Steps of all worlds together, measured in turns."
        )
    )
    table = table_of("", "", ">steps per second\nbest", ">\nmedian", ">worlds", ">bytes\nper world", ">share\nof peak")
    for row in report["rows"]:
        table.add_row(
            f"{row['what']}{', ' + row['precision'] if 'precision' in row else ''}, {'in water' if row['water'] else 'dry'}",
            SHORT[row["method"]],
            f"{row['per_second']:.2e}",
            f"{row['median_per_second']:.2e}",
            str(row["worlds"]),
            "" if row["bytes_per_world"] is None else str(row["bytes_per_world"]),
            _percent(row.get("fraction_of_peak")),
        )
    console.print(table)
    if "peak_per_core" in report["device"]:
        console.print(
            Text(f"Peak of a core, measured with multiply-adds alone: {report['device']['peak_per_core']:.3g} per second.")
        )
    kernels = [row for row in report["rows"] if "registers" in row]
    if kernels:
        table = table_of("kernel", ">worlds", ">registers", ">local\nbytes", ">set up\ns", ">difference\nto CPU", ">frozen")
        for row in kernels:
            table.add_row(
                f"{row['what']}, {SHORT[row['method']]}, {row['precision']}",
                str(row["worlds"]),
                str(row["registers"]),
                str(row["local_bytes"]),
                f"{row['compile_s']:.2f}",
                "" if row["difference_to_cpu"] is None else f"{row['difference_to_cpu']:.1e}",
                str(row["frozen"]),
            )
        console.print(table)
    print_targets(report, console)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f} %"
