"""The study of other engines as tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = ["print_hybrid"]


def print_hybrid(report: dict[str, Any], console: Console) -> None:
    """Print what the study has found.

    Args:
        report: What `measure_hybrid` returns.
        console: Where to print.
    """

    def show(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        table = Table(title=Text(title, "bold"), title_justify="left", box=None, pad_edge=False)
        for head in heads:
            table.add_column(head)
        for row in rows:
            table.add_row(*row)
        console.print(table)
        console.print()

    if report["missing"]:
        console.print(f"not installed: {', '.join(report['missing'])}", highlight=False)
    show(
        "Lemma 1: accelerations against ours, relative",
        ("model", "engine", "iterated", "exact"),
        ((r["model"], r["engine"], f"{r['iterated']:.1e}", f"{r['exact']:.1e}") for r in report["lemma_1"]),
    )
    show(
        "Lemma 2: the causal scheme's disturbance against M_A T jerk, relative",
        ("engine", "M_A/M_RB", "difference"),
        ((r["engine"], f"{r['ratio']:g}", f"{r['relative']:.1e}") for r in report["lemma_2"]),
    )
    show(
        "Eq. 51: disturbance over all forces in a forced oscillation",
        ("engine", "T [s]", "ω [rad/s]", "M_A/M_RB", "measured", "eq. 51"),
        (
            (r["engine"], *(f"{r[k]:.4g}" for k in ("T", "omega", "ratio")), f"{r['measured']:.4g}", f"{r['predicted']:.4g}")
            for r in report["eq_51"]
        ),
    )
    show(
        "Largest M_A/M_RB at which errors shrink",
        ("engine", "scheme", "measured", "predicted"),
        ((r["engine"], r["scheme"], f"{r['measured']:.4g}", f"{r['predicted']:.4g}") for r in report["limits"]),
    )
    show(
        "Causal scheme in mechanisms: factor on the vehicle's added mass at which errors grow",
        ("model", "engine", "eigenvalue at 1", "measured", "predicted"),
        ((r["model"], r["engine"], *(f"{r[k]:.4g}" for k in ("ratio", "measured", "predicted"))) for r in report["mechanisms"]),
    )
    show(
        "Error of velocities against ours, by step",
        ("model", "engine", "scheme", *(f"{h:g} s" for h in report["halvings"]), "order"),
        (
            (
                r["model"],
                r["engine"],
                r["scheme"],
                *("diverged" if e is None else f"{e:.2e}" for e in r["errors"]),
                "" if r["order"] is None else f"{r['order']:.2f}",
            )
            for r in report["convergence"]
        ),
    )
    show(
        "A ball with M_A = 3 M_RB",
        ("engine", "scheme", "", "largest error of its speed [m/s]"),
        (
            (
                r["engine"],
                r["scheme"],
                f"ran {r['until']:g} s"
                if r["finished"]
                else f"diverged at {r['until']:.3g} s, predicted {r['predicted']:.3g} s",
                "" if r["error"] is None else f"{r['error']:.1e}",
            )
            for r in report["long"]
        ),
    )
