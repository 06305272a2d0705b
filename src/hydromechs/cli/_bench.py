"""The commands `hydromechs bench dynamics`, `simulation`, `trees`, `gpu` and `worlds`."""

from __future__ import annotations

from typing import Annotated

import typer

from hydromechs.compiler import NATIVE, TARGETS

from ._options import CODE
from ._tables import print_report

WHERE = "; ".join(f"{name}: {backend.about}" for name, backend in TARGETS.items()) + "."
"""Machines that worlds run on."""


def bench_dynamics(
    model: Annotated[str, typer.Option(help="A library model or the path of a model file.")] = "tiburon_titan2",
    quick: Annotated[bool, typer.Option("--quick", help="Few repeats and short chains, to check that it runs.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    code: CODE = False,
) -> None:
    """Time forward dynamics: ours in water, Pinocchio and MuJoCo dry."""
    from hydromechs.bench import measure_dynamics
    from hydromechs.library import load

    from ._print_bench import print_dynamics

    print_report(measure_dynamics(load(model, code=code), model, quick=quick, code=code), print_dynamics, as_json)


def bench_simulation(
    quick: Annotated[bool, typer.Option("--quick", help="Few repeats and short rollouts, to check that it runs.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Time rollouts and a whole scenario with its recording."""
    from hydromechs.bench import measure_simulation

    from ._print_bench import print_simulation

    print_report(measure_simulation(quick=quick), print_simulation, as_json)


def bench_trees(
    quick: Annotated[bool, typer.Option("--quick", help="Few repeats and small trees, to check that it runs.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Time forward dynamics of trees of up to 5,000 links: ours in water and dry, Pinocchio and MuJoCo dry."""
    from hydromechs.bench import measure_trees

    from ._print_bench import print_trees

    print_report(measure_trees(quick=quick), print_trees, as_json)


def bench_gpu(
    model: Annotated[str, typer.Option(help="A library model or the path of a model file.")] = "tiburon_titan2",
    quick: Annotated[bool, typer.Option("--quick", help="Small batches and few repeats, to check that it runs.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    code: CODE = False,
) -> None:
    """Time forward dynamics in water on a GPU (needs CuPy)."""
    from hydromechs.bench import measure_gpu
    from hydromechs.library import load

    from ._print_bench import print_gpu

    print_report(measure_gpu(load(model, code=code), quick=quick), print_gpu, as_json)


def bench_worlds(
    model: Annotated[str, typer.Option(help="A library model or the path of a model file.")] = "tiburon_titan2",
    target: Annotated[str, typer.Option(help=WHERE)] = NATIVE.target,
    quick: Annotated[bool, typer.Option("--quick", help="Few worlds and repeats, to check that it runs.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    code: CODE = False,
) -> None:
    """Measure whole steps per second of many worlds: ours in water, MuJoCo's rollout dry."""
    from hydromechs.bench import measure_worlds
    from hydromechs.library import load

    from ._print_worlds import print_worlds

    print_report(measure_worlds(load(model, code=code), where=target, quick=quick), print_worlds, as_json)
