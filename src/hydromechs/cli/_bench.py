"""The commands `hydromechs bench dynamics` and `worlds`."""

from __future__ import annotations

from typing import Annotated

import typer

from hydromechs.compiler import NATIVE, TARGETS

from ._options import CODE, JSON
from ._tables import print_report

MODEL = Annotated[str, typer.Option(help="A library model or the path of a model file.")]
WHERE = "; ".join(f"{name}: {backend.about}" for name, backend in TARGETS.items()) + "."
"""Targets of worlds."""


def bench_dynamics(
    model: MODEL = "tiburon_titan2",
    quick: Annotated[bool, typer.Option("--quick", help="Few repetitions, as a quick test.")] = False,
    as_json: JSON = False,
    code: CODE = False,
) -> None:
    """Time forward dynamics: ours in water, Pinocchio and MuJoCo dry."""
    from hydromechs.bench import measure_dynamics
    from hydromechs.library import load

    from ._print_bench import print_dynamics

    print_report(measure_dynamics(load(model, code=code), model, quick=quick, code=code), print_dynamics, as_json)


def bench_worlds(
    model: MODEL = "tiburon_titan2",
    target: Annotated[str, typer.Option(help=WHERE)] = NATIVE.target,
    quick: Annotated[bool, typer.Option("--quick", help="Few worlds and repetitions, as a quick test.")] = False,
    as_json: JSON = False,
    code: CODE = False,
) -> None:
    """Measure whole steps per second of many worlds: ours in water, MuJoCo's rollout dry."""
    from hydromechs.bench import measure_worlds
    from hydromechs.library import load

    from ._print_bench import print_worlds

    print_report(measure_worlds(load(model, code=code), where=target, quick=quick), print_worlds, as_json)
