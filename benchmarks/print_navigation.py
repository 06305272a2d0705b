"""The study of the navigation filter as tables."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from hydromechs.cli._tables import table_of

__all__ = ["print_navigation"]


def print_navigation(report: dict[str, Any], console: Console) -> None:
    """Print what the study has found.

    Args:
        report: What `measure_navigation` returns.
        console: Where to print.
    """
    console.print(Text(f"{report['seeds']} seeds, flights of {report['duration']:g} s", "bold"))
    table = table_of("case", "part of the error", ">normalised", ">95 % bounds", ">times inside")
    for case in report["cases"]:
        for k, b in enumerate(case["blocks"]):
            bounds = f"{b['low']:.2f} to {b['high']:.2f}"
            row = (case["case"] if k == 0 else "", b["block"], f"{b['mean']:.2f}", bounds, f"{100 * b['inside']:.0f} %")
            table.add_row(*map(Text, row))
    console.print(table)
    console.print()
    heads = (">position rms\nm", ">in the gap\nm", ">largest\nm", ">largest\nsigma", ">velocity rms\nm/s", ">attitude rms\n°")
    table = table_of("case", *heads)
    for case in report["cases"]:
        gap = "–" if case["gap"] is None else f"{case['gap_position_rms']:.3f}"
        numbers = (f"{case['position_rms']:.3f}", gap, f"{case['largest_distance']:.2f}", f"{case['largest_in_sigmas']:.1f}")
        rates = (f"{case['velocity_rms']:.4f}", f"{case['attitude_rms_deg']:.2f}")
        table.add_row(*map(Text, (case["case"], *numbers, *rates)))
    console.print(table)
