"""Results of `hydromechs papers lift`: Tables 3 to 6 and Fig. 14 of McMillan's thesis, next to our results for its mechanism.

The error is the distance of the final load position from the result of a run with very short steps. The time of a run is the
number of steps times the minimum time of one step, so that other load on the machine has little effect.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ._lift import ARMS, Lift, LiftRunner, Partition
from ._machine import machine, versions

BENCHMARK = 1e-6
"""Position error of the load at which methods are compared, as in the thesis [m]."""
SERIAL = {1: 0.117, 2: 0.152, 4: 0.241}
"""Table 5 of the thesis: time on one processor of a Cray Y-MP [s], keyed by points per block."""


class ThesisRow(NamedTuple):
    """Row of Tables 3, 4 and 6 of the thesis: distribution of tasks, and results."""

    tasks: Partition
    points: int
    """Number of points per block."""
    synchronisations: int
    """Number of synchronisations per block, Table 3."""
    load_solutions: int
    """Number of RMA computations of one processor per block, Table 3."""
    seconds: float
    """Time T to an error of 1e-6 m [s]."""
    speedup: float
    """Speedup S_p relative to the same method on one processor [-]."""
    total: float
    """Speedup S_T relative to the serial method B1PC5 [-]."""


ROWS = (
    ThesisRow(Partition(1, 4), 4, 3, 2, 0.0637, 3.78, 1.83),
    ThesisRow(Partition(2, 2), 4, 5, 4, 0.0668, 3.61, 1.75),
    ThesisRow(Partition(2, 2), 2, 5, 2, 0.0444, 3.42, 2.63),
    ThesisRow(Partition(4, 1), 4, 2, 8, 0.0731, 3.30, 1.60),
    ThesisRow(Partition(4, 1), 2, 2, 4, 0.0463, 3.28, 2.53),
    ThesisRow(Partition(4, 1), 1, 2, 2, 0.0377, 3.10, 3.10),
    ThesisRow(Partition(2, 4), 4, 5, 2, 0.0390, 6.18, 3.00),
    ThesisRow(Partition(4, 2), 4, 5, 4, 0.0417, 5.78, 2.80),
    ThesisRow(Partition(4, 2), 2, 5, 2, 0.0295, 5.15, 3.97),
)
"""Tables 3, 4 (methods with 4 points) and 6 of the thesis."""
COUNTS = (20, 25, 32, 40, 50, 64, 80, 100, 128, 160, 200, 256, 320, 400, 512, 640)
"""Numbers of steps of the measured lifts."""
FINE = 12_000
"""Number of steps of the reference run."""


def measure_lift(*, quick: bool = False, report: Callable[[str], object] = lambda line: None) -> dict[str, Any]:
    """Return measurements of the experiment as plain data; `quick` selects few repetitions.

    `report` is a callback for progress messages.
    """
    where, lift = machine(), Lift()
    exact = LiftRunner(lift, 1).run(FINE)
    serial, steps, errors = {p: LiftRunner(lift, p) for p in SERIAL}, {}, {}
    for p, runner in serial.items():
        errors[p] = [(n, float(np.linalg.norm(runner.run(n) - exact))) for n in COUNTS]
        steps[p] = steps_to(errors[p], BENCHMARK)
        report(f"B{p}PC5: {steps[p]:.0f} steps to {BENCHMARK:g} m")
    shared = [LiftRunner(lift, row.points, row.tasks) for row in ROWS]
    report("measuring times")
    times = step_times([*serial.values(), *shared], 3 if quick else 40)
    each = dict(zip(SERIAL, times, strict=False))
    where["load_after"] = machine()["load"]
    return {
        "machine": where,
        "versions": versions(),
        "benchmark_error_m": BENCHMARK,
        "from_the_path_m": float(np.linalg.norm(exact - lift.end)),
        "figure_14": {
            f"B{points}PC5": [{"steps": n, "ms": 1e3 * n * each[points], "error_m": e} for n, e in errors[points]]
            for points in SERIAL
        },
        "arms_us": {n: 1e6 * t for n, t in lift.arm_times(30 if quick else 300).items()},
        **lift_tables(steps, each, times[len(SERIAL) :], [load_solutions(lift, row) for row in ROWS], operations(lift)),
    }


def lift_tables(
    steps: Mapping[int, float],
    each: Mapping[int, float],
    shared: Sequence[float],
    solutions: Sequence[int],
    operations: Mapping[str, int],
) -> dict[str, Any]:
    """Return the tables as plain data.

    `steps`: numbers of steps to the error `BENCHMARK`, and `each`: times of a serial step [s], keyed by points per block;
    `shared`: times of a step with the tasks of each of `ROWS` on lanes [s]; `solutions`: numbers of load solutions per
    block for each of `ROWS`; `operations`: result of `operations`.
    """
    times = {p: steps[p] * each[p] for p in SERIAL}
    whole = sum(operations.values())
    rows = []
    for row, t, found in zip(ROWS, shared, solutions, strict=True):
        p, tasks = row.points, row.tasks
        left = operations["arms"] / tasks.lanes + operations["load"] / tasks.points + operations["rest"]
        rows.append(
            {
                "method": f"B{p}PC5",
                "arms": tasks.arms,
                "points": tasks.points,
                "tasks": tasks.lanes,
                "theirs_synchronisations": row.synchronisations,
                "theirs_load_solutions": row.load_solutions,
                "ours_load_solutions": found,
                "theirs_s": row.seconds,
                "theirs_speedup": row.speedup,
                "theirs_total": row.total,
                "ours_ms": 1e3 * steps[p] * t,
                "ours_speedup": each[p] / t,
                "ours_total": times[1] / (steps[p] * t),
                "expected": whole / left,
            }
        )
    return {
        "operations_of_an_evaluation": dict(operations),
        "table_5": [
            {
                "method": f"B{p}PC5",
                "theirs_s": seconds,
                "theirs_slowdown": SERIAL[1] / seconds,
                "ours_steps": steps[p],
                "ours_us_per_step": 1e6 * each[p],
                "ours_ms": 1e3 * times[p],
                "ours_slowdown": times[1] / times[p],
            }
            for p, seconds in SERIAL.items()
        ],
        "table_6": rows,
    }


def lift_columns(report: Mapping[str, Any]) -> list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
    """Return titles, columns and rows of Tables 3 to 6 from a report of `measure_lift`; numeric columns start with ">"."""
    five = [
        (
            r["method"],
            *(f"{r[key]:.3f}" for key in ("theirs_s", "theirs_slowdown")),
            *(f"{r['ours_steps']:.0f}", f"{r['ours_us_per_step']:.2f}", f"{r['ours_ms']:.3f}", f"{r['ours_slowdown']:.3f}"),
        )
        for r in report["table_5"]
    ]
    three, six = [], []
    for r in report["table_6"]:
        where = (f"{r['tasks']}", f"{r['arms']}", f"{r['points']}", r["method"])
        three.append(
            (*where, *(f"{r[k]}" for k in ("theirs_synchronisations", "theirs_load_solutions", "ours_load_solutions")))
        )
        keys = ("theirs_speedup", "ours_speedup", "expected", "theirs_total", "ours_total")
        six.append((*where, *(f"{r[key]:.2f}" for key in keys)))
    shared = (">tasks", ">arms", ">points", "method")
    return [
        (
            "Table 3: synchronisations and solutions of the load in a block",
            (*shared, ">theirs, synchronisations", ">theirs, solutions", ">ours, solutions"),
            three,
        ),
        (
            f"Table 5: one evaluation after another, to {report['benchmark_error_m']:g} m",
            ("method", ">theirs, s", ">slowdown", ">ours, steps", ">µs per step", ">ms", ">slowdown"),
            five,
        ),
        (
            "Tables 4 and 6: tasks on processors, ours on lanes of one core",
            (*shared, ">theirs, S_p", ">ours, S_p", ">by operations", ">theirs, S_T", ">ours, S_T"),
            six,
        ),
    ]


def steps_to(errors: Sequence[tuple[int, float]], error: float) -> float:
    """Return the number of steps at which the error falls below a limit, by logarithmic interpolation; NaN if it does not."""
    for (n0, e0), (n1, e1) in zip(errors[:-1][::-1], errors[1:][::-1], strict=True):
        if e1 <= error <= e0:
            return float(np.exp(np.interp(-np.log(error), [-np.log(e0), -np.log(e1)], [np.log(n0), np.log(n1)])))
    return np.nan


def step_times(runners: Sequence[LiftRunner], rounds: int) -> list[float]:
    """Return the minimum time of one step of each method [s], measured in rounds against changes of machine load."""
    few, many = np.full(len(runners), np.inf), np.full(len(runners), np.inf)
    for _ in range(rounds):
        for k, runner in enumerate(runners):
            few[k], many[k] = min(few[k], runner.seconds(200, 8)), min(many[k], runner.seconds(1200, 8))
    return ((many - few) / 1000).tolist()


def load_solutions(lift: Lift, row: ThesisRow) -> int:
    """Return the number of sequential load solutions per block (RMA computations of one processor in the thesis)."""
    calls = lift.program(row.points, row.tasks).calls
    return 2 * sum(f" {lift.carried_load.name} " in call.callee.label() for call in calls)  # predictor and corrector


def operations(lift: Lift) -> dict[str, int]:
    """Return multiplications plus additions of one evaluation: of the arms, of the load, and the serial remainder."""
    whole = sum(lift.program(1, Partition(ARMS, 1)).count().papers)
    arms = ARMS * sum(sum(part.count().papers) for part in (lift.open_chain, lift.closed_chain))
    load = sum(lift.carried_load.count().papers)
    return {"arms": arms, "load": load, "rest": whole - arms - load}


def plot_lift(report: dict[str, Any], path: Path) -> None:
    """Plot Fig. 14: error against computing time of the serial methods."""
    from hydromechs.viewer import figure

    with figure(path, height=4.0, width=6.0) as fig:
        axes = fig.subplots()
        for (name, rows), color in zip(report["figure_14"].items(), ("#0072b2", "#009e73", "#d55e00"), strict=True):
            kept = [(r["ms"], r["error_m"]) for r in rows if r["error_m"] < 0.1]
            axes.loglog(*zip(*kept, strict=True), label=name, color=color, marker="o", markersize=3.5)
        axes.axhline(BENCHMARK, color="#bbbbbb", linewidth=1.0)
        axes.set(xlabel="time [ms]", ylabel="error of the final load position [m]")
        axes.legend()
