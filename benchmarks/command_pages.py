"""`python -m benchmarks pages`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

__all__ = ["bench_pages"]


def bench_pages(scenarios: Annotated[list[str] | None, typer.Argument(help="Scenarios; all by default.")] = None) -> None:
    """Write pages of scenarios: sizes, agreement with Simulation over 1000 steps, speed. Status 1 if a limit is missed."""
    from .page_study import study_pages

    print("scenario                        size [MB]  packed [MB]     q and v    speed  pilot  largest difference of all")
    if not study_pages(scenarios or (), said=_print)["passed"]:
        raise typer.Exit(1)


def _print(row: dict[str, Any]) -> None:
    if "rejected" in row:
        print(f"{row['scenario']:30}  {row['rejected']}", flush=True)
        return
    sizes = f"{row['size'] / 1e6:9.2f}  {row['packed'] / 1e6:11.2f}"
    all_variables = f"{row['difference']:.1e} in {row['variable']}"
    more = f"{row['state']:10.1e}  {row['factor']:7.0f}  {'yes' if row['pilot'] else 'no':5}  {all_variables}"
    print(f"{row['scenario']:30}  {sizes}  {more}{'' if row['good'] else '  MISSED'}", flush=True)
