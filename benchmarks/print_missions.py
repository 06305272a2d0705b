"""The missions in all engines as tables, and how far their flights are."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from hydromechs.cli._console import Console
from hydromechs.cli._tables import print_heading, table_of

from .goals import print_targets

__all__ = ["flying", "print_mission_speed", "print_missions"]


@contextlib.contextmanager
def flying() -> Iterator[Callable[[str, float, float], None]]:
    """A bar on stderr that shows which mission is flown in which engine, and how far it is."""
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[reached]}"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0, reached="")
        last = ""

        def said(what: str, t: float, duration: float) -> None:
            nonlocal last
            if what != last:
                last = what
                bar.reset(task, total=duration, description=what, reached="compiling")
            elif t > 0.0:
                bar.update(task, completed=t, reached=f"{t:.1f} of {duration:g} s")

        yield said


def print_mission_speed(report: dict[str, Any], console: Console) -> None:
    """Print a report of `measure_mission_speed` as tables."""
    print_heading(report, console)
    table = table_of("mission", "engine", ">by the clock\nx real time", ">by the processor\nx real time", ">ready after\ns")
    last = ""
    for row in report["flights"]:
        factors = (f"{row['real_time_factor']:.3g}", f"{row['processor_factor']:.3g}", f"{row['compile_s']:.1f}")
        table.add_row("" if row["mission"] == last else row["mission"], row["engine"], *factors)
        last = row["mission"]
    console.print(table)
    print_targets(report, console)


def print_missions(report: dict[str, Any], console: Console) -> None:
    """Print a report of `measure_missions` as tables."""
    print_heading(report, console)
    table = table_of(
        "mission",
        "engine",
        ">checks\npassed",
        ">force\nN rms",
        ">pitch\n° rms",
        ">final\nheading, °",
        ">differs\n°",
        ">navigation\nm rms",
        ">tool\nm rms",
    )
    last = ""
    for row in report["flights"]:
        off = (f"{row['force_rms']:.3g}", f"{row['pitch_rms']:.2g}", f"{row['heading']:.2f}", f"{row['heading_off']:.2g}")
        passed = f"{row['passed']} of {len(row['checks'])}"
        name = "" if row["mission"] == last else row["mission"]
        tool = "" if row["tool_rms"] is None else f"{row['tool_rms']:.3f}"
        table.add_row(name, row["engine"], passed, *off, f"{row['navigation_rms']:.3f}", tool)
        last = row["mission"]
    console.print(table)
    for row in report["flights"]:
        for check in row["checks"]:
            if not check["passed"]:
                value = "ended before" if check["value"] is None else f"{check['value']:.4g}, must be {check['limit']}"
                console.print(Text(f"{row['mission']} in {row['engine']}: {check['name']}: {value}", "red"), soft_wrap=True)
    if report["seeds"]:
        table = table_of("mission", ">seeds", ">all checks\npassed", ">navigation\nm rms, mean", ">and worst", "failed checks")
        for row in report["seeds"]:
            failed = ", ".join(f"{name} ({count})" for name, count in row["failed"].items())
            numbers = (f"{row['navigation_mean']:.3f}", f"{row['navigation_worst']:.3f}")
            table.add_row(row["mission"], str(row["seeds"]), str(row["passed"]), *numbers, Text(failed))
        console.print()
        console.print(table)
