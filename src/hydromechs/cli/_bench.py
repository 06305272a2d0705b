"""The commands `hydromechs bench dynamics`, `simulation` and `worlds`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from hydromechs.compiler import NATIVE, TARGETS

from ._options import CODE, JSON
from ._tables import print_report

MODEL = Annotated[str, typer.Option(help="A library model or the path of a model file.")]
WHERE = "; ".join(f"{name}: {backend.about}" for name, backend in TARGETS.items()) + "."
"""Machines that worlds run on."""


def bench_dynamics(
    model: MODEL = "tiburon_titan2",
    quick: Annotated[bool, typer.Option("--quick", help="Few repeats and short chains, to check that it runs.")] = False,
    as_json: JSON = False,
    code: CODE = False,
) -> None:
    """Time forward dynamics: ours in water, Pinocchio and MuJoCo dry."""
    from hydromechs.library import load

    _measure("dynamics", as_json, load(model, code=code), model, quick=quick, code=code)


def bench_simulation(
    quick: Annotated[bool, typer.Option("--quick", help="Few and short runs, to check that it works.")] = False,
    as_json: JSON = False,
) -> None:
    """Time a whole scenario with its recording, as a multiple of real time."""
    _measure("simulation", as_json, quick=quick)


def bench_worlds(
    model: MODEL = "tiburon_titan2",
    target: Annotated[str, typer.Option(help=WHERE)] = NATIVE.target,
    quick: Annotated[bool, typer.Option("--quick", help="Few worlds and repeats, to check that it runs.")] = False,
    as_json: JSON = False,
    code: CODE = False,
) -> None:
    """Measure whole steps per second of many worlds: ours in water, MuJoCo's rollout dry."""
    from hydromechs.library import load

    _measure("worlds", as_json, load(model, code=code), where=target, quick=quick)


def _measure(what: str, as_json: bool, *arguments: Any, **options: Any) -> None:
    """Print the report of `bench.measure_WHAT` as JSON or as tables, by `_print_bench.print_WHAT`."""
    from hydromechs import bench

    from . import _print_bench

    report = getattr(bench, f"measure_{what}")(*arguments, **options)
    print_report(report, getattr(_print_bench, f"print_{what}"), as_json)
