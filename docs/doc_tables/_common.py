"""What all tables of the documentation are made with: Markdown, and the reports that are kept."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["DATA", "DOCS", "goals", "pair", "report", "row", "table", "where"]

DOCS = Path(__file__).parents[1]
DATA = DOCS / "data"


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines)


def pair(count: Sequence[int] | None) -> str:
    """[M, A]."""
    return "" if count is None else f"[{count[0]}, {count[1]}]"


@cache
def report(name: str) -> dict[str, Any]:
    """A report that is kept in docs/data."""
    return json.loads((DATA / f"{name}.json").read_text())


def where(data: dict[str, Any]) -> str:
    """Machine, date and versions of a report."""
    machine, names = (
        data["machine"],
        {"pin": "Pinocchio", "mujoco": "MuJoCo", "dartpy": "DART", "python": "Python", "numpy": "NumPy"},
    )
    load = (
        f", load {machine['load']:.2f} before and {machine['load_after']:.2f} after" if machine.get("load") is not None else ""
    )
    versions = ", ".join(f"{names.get(name, name)} {number}" for name, number in data["versions"].items())
    return f"{machine['date'][:10]}, {machine['cpu']}, {machine['cores']} cores{load}; {versions}.\n"


def goals(data: dict[str, Any]) -> str:
    """Goals of a report, and whether they were met."""
    held = {True: "yes", False: "**no**", None: "not measured"}
    rows = [
        (t["what"], t["needed"], "–" if t["measured"] is None else f"{t['measured']:.3g}", held[t["held"]])
        for t in data["targets"]
    ]
    return table(("goal", "needed", "measured", "met in this run"), rows)


def row(rows: Iterable[dict[str, Any]], **wanted: Any) -> dict[str, Any]:
    """The row of a report with some values."""
    return next(r for r in rows if all(r[k] == x for k, x in wanted.items()))
