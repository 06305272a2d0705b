"""`python -m benchmarks trees` and `python -m benchmarks gpu`."""

from __future__ import annotations

from typing import Annotated

import typer

from hydromechs.cli._tables import print_report

__all__ = ["bench_gpu", "bench_trees"]

JSON = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def bench_trees(
    quick: Annotated[bool, typer.Option("--quick", help="Few repeats and small trees, to check that it runs.")] = False,
    as_json: JSON = False,
) -> None:
    """Time forward dynamics of trees of up to 5,000 links: ours in water and dry, Pinocchio and MuJoCo dry."""
    from .print_speed import print_trees
    from .tree_speed import measure_trees

    print_report(measure_trees(quick=quick), print_trees, as_json)


def bench_gpu(
    model: Annotated[str, typer.Option(help="A library model or the path of a model file.")] = "tiburon_titan2",
    quick: Annotated[bool, typer.Option("--quick", help="Small batches and few repeats, to check that it runs.")] = False,
    as_json: JSON = False,
) -> None:
    """Time forward dynamics in water on a GPU (needs CuPy)."""
    from hydromechs.library import load

    from .gpu_speed import measure_gpu
    from .print_speed import print_gpu

    print_report(measure_gpu(load(model), quick=quick), print_gpu, as_json)
