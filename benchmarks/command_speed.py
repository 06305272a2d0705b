"""`python -m benchmarks goals`, `blocks`, `trees` and `gpu`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from hydromechs.cli._console import Console
from hydromechs.cli._tables import print_report

__all__ = ["bench_blocks", "bench_goals", "bench_gpu", "bench_trees"]

MODEL = "tiburon_titan2"
JSON = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def bench_goals(
    what: Annotated[
        Literal["dynamics", "simulation", "worlds"],
        typer.Argument(help="What `hydromechs bench` measures, dynamics with chains and worlds with MJX; or a whole scenario."),
    ],
    target: Annotated[str, typer.Option(help="Machine of worlds: cpu or cuda.")] = "cpu",
    quick: Annotated[bool, typer.Option("--quick", help="Few repetitions, as a quick test; goals are not judged.")] = False,
    as_json: JSON = False,
) -> None:
    """Measure the speed, and compare with the goals of the project."""
    from hydromechs.bench import measure_dynamics, measure_worlds
    from hydromechs.cli._bench import print_dynamics, print_worlds
    from hydromechs.library import load

    from .chain_speed import measure_chains, print_chains
    from .goals import GOALS, print_targets, with_targets
    from .mjx_speed import mjx_rows
    from .simulation_speed import measure_simulation, print_simulation

    if what == "simulation":
        report = measure_simulation(quick=quick)
    elif what == "dynamics":
        report = measure_dynamics(load(MODEL), MODEL, quick=quick) | {"chains": measure_chains(quick=quick)}
    else:
        report = measure_worlds(load(MODEL), where=target, quick=quick)
        report["rows"] += mjx_rows(load(MODEL), quick) if target == "cuda" else []

    def show(report: dict[str, Any], console: Console) -> None:
        {"dynamics": print_dynamics, "simulation": print_simulation, "worlds": print_worlds}[what](report, console)
        if what == "dynamics":
            print_chains(report["chains"], console)
        print_targets(report, console)

    print_report(with_targets(report, GOALS[what](report)), show, as_json)


def bench_blocks(
    quick: Annotated[bool, typer.Option("--quick", help="Few repetitions, approximate times.")] = False,
    picture: Annotated[str, typer.Option(help="File for the plot of error over time.")] = "",
    as_json: JSON = False,
) -> None:
    """Time block methods beside others, and what lanes gain over the best of all."""
    from .block_study import measure_study, print_blocks

    notes = Console(stderr=True)
    print_report(measure_study(quick=quick, picture=picture, report=notes.print), print_blocks, as_json)


def bench_trees(
    quick: Annotated[bool, typer.Option("--quick", help="Few repeats and small trees, to check that it runs.")] = False,
    as_json: JSON = False,
) -> None:
    """Time forward dynamics of trees of up to 5,000 links: ours in water and dry, Pinocchio and MuJoCo dry."""
    from .print_speed import print_trees
    from .tree_speed import measure_trees

    print_report(measure_trees(quick=quick), print_trees, as_json)


def bench_gpu(
    model: Annotated[str, typer.Option(help="A library model or the path of a model file.")] = MODEL,
    quick: Annotated[bool, typer.Option("--quick", help="Small batches and few repeats, to check that it runs.")] = False,
    as_json: JSON = False,
) -> None:
    """Time forward dynamics in water on a GPU (needs CuPy)."""
    from hydromechs.library import load

    from .gpu_speed import measure_gpu
    from .print_speed import print_gpu

    print_report(measure_gpu(load(model), quick=quick), print_gpu, as_json)
