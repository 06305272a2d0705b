"""The commands `hydromechs bench gpu` and `hydromechs bench worlds`."""

from __future__ import annotations

from typing import Annotated

import typer

from ._tables import print_report

__all__ = ["bench_gpu", "bench_worlds"]


def bench_gpu(
    model: Annotated[str, typer.Option(help="A library model or the path of a model file.")] = "tiburon_titan2",
    quick: Annotated[bool, typer.Option("--quick", help="Small batches and few repeats, to check that it runs.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Time forward dynamics in water on a GPU (needs CuPy)."""
    from hydromechs.library import load
    from hydromechs.studies import measure_gpu

    from ._print_bench import print_gpu

    print_report(measure_gpu(load(model), quick=quick), print_gpu, as_json)


def bench_worlds(
    model: Annotated[str, typer.Option(help="A library model or the path of a model file.")] = "tiburon_titan2",
    target: Annotated[str, typer.Option(help="Where: cpu, or cuda for a GPU (needs CuPy).")] = "cpu",
    quick: Annotated[bool, typer.Option("--quick", help="Few worlds and repeats, to check that it runs.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Count whole steps per second of many worlds, ours in water and MuJoCo's rollout dry."""
    from hydromechs.library import load
    from hydromechs.studies import measure_worlds

    from ._print_worlds import print_worlds

    print_report(measure_worlds(load(model), where=target, quick=quick), print_worlds, as_json)
