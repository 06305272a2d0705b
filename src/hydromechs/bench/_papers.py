"""`hydromechs papers`: the papers' tables beside ours; block methods and branches on lanes (thesis Fig. 14, Tables 5 and 6).

For block methods, a free body with four arms of six joints each tumbles without gravity for 5 s. The error is that of the final
state. The wall time of a run is that of its start plus its steps times the time of one step, each the minimum of many short
runs, so that other work on the machine does not count.
"""

import dataclasses
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any

import numpy as np

import hydromechs as hm
from hydromechs import dynamics
from hydromechs.compiler import Argument
from hydromechs.equations import BranchesOnLanes
from hydromechs.integrators import BlockSteps, SlidingBlock, Stepper, Stretch
from hydromechs.library import star

from ._count import compare_with_papers
from ._machine import machine, timed, versions

TABLE_5 = {1: (0.117, 1.000), 2: (0.152, 0.770), 4: (0.241, 0.485)}
"""Thesis Table 5: block size to (time to 1e-6 m on one processor of a Cray Y-MP [s], slowdown)."""
TABLE_6 = {1: (3.10, "4 chains"), 2: (2.63, "2 chains × 2 points"), 4: (1.83, "4 points")}
"""Thesis Table 6: block size to (best speedup S_T over the serial B1PC5, what the four processors share)."""
SERIAL = {1: "B1PC5", 2: "B2PC5, one point after another", 4: "B4PC5, one point after another"}
LANES = {1: "B1PC5, arms on lanes", 2: "B2PC5, points on lanes", 4: "B4PC5, points on lanes"}


def measure_papers(*, quick: bool = False, report: Callable[[str], object] = lambda line: None) -> dict[str, Any]:
    """Measure all that the command prints, as plain data; `quick` repeats less. `report` receives a line for each method."""
    where = machine()
    counts = [{**c._asdict(), "ratio": c.ratio} for c in compare_with_papers()]
    results = measure_blocks(papers_runners(arms()), report, repeat=30 if quick else 300)
    times = {name: time_to(rows, BENCHMARK) for name, rows in results.items()}
    where["load_after"] = machine()["load"]
    return {"machine": where, "versions": versions(), "counts": counts, **block_tables(times)}


def block_tables(times: Mapping[str, float]) -> dict[str, Any]:
    """Thesis Tables 5 and 6 beside ours, from the time of each method to `BENCHMARK` [s]."""
    return {
        "benchmark_error": BENCHMARK,
        "times_ms": {name: 1e3 * t for name, t in times.items()},
        "table_5": [
            {
                "method": f"B{p}PC5",
                "theirs_s": seconds,
                "theirs_slowdown": slowdown,
                "ours_ms": 1e3 * times[SERIAL[p]],
                "ours_slowdown": times[SERIAL[1]] / times[SERIAL[p]],
            }
            for p, (seconds, slowdown) in TABLE_5.items()
        ],
        "table_6": [
            {
                "method": f"B{p}PC5",
                "theirs_what": what,
                "theirs": speedup,
                "ours_what": "4 chains" if p == 1 else f"{p} points",
                "ours": times[SERIAL[1]] / times[LANES[p]],
            }
            for p, (speedup, what) in TABLE_6.items()
        ],
    }


T = 5.0
"""Time that is simulated [s]."""
COUNTS = (50, 75, 100, 150, 200, 300, 400, 600, 800, 1200, 1600, 3200)
"""Numbers of steps."""
BENCHMARK = 1e-6
"""Error at which methods are compared, as in the thesis."""


def arms() -> hm.Model:
    """A free body with four arms of six joints, dry."""
    return dataclasses.replace(star(4, 6, wet=False), world=hm.World(gravity=0.0))


class Runner:
    """Blocks with constant steps on one model in compiled code, with v̇ of (q, v, tau) by branches on lanes or plain."""

    def __init__(self, model: hm.Model, method: Any, *, branches: bool = False) -> None:
        nv = model.nv
        acceleration = BranchesOnLanes(model).forward_dynamics if branches else partial(hm.forward_dynamics, model)

        def ydot(t: Any, q: Any, y: Any, tau: Any) -> np.ndarray:
            here = dynamics.retract(model, q, y[:nv])
            return np.concatenate([dynamics.chart_rate(model, here, y[:nv], y[nv:]), acceleration(here, y[nv:], tau)])

        options = dict(name="arms", identity=None, lanes=1, threads=1)
        self.model, self.stepper = model, Stepper(model, ydot, 0, (Argument("tau", (nv,)),), method, **options)
        rng = np.random.default_rng(3)
        self.q = hm.integrate(model, model.neutral()[0], rng.normal(size=model.nv), 0.5)[None]
        self.v, self.tau = 0.6 * rng.normal(size=(1, nv)), np.zeros((1, nv))

    @cached_property
    def blocks(self) -> BlockSteps:
        """The blocks."""
        return BlockSteps(self.stepper)

    def run(self, h: float, n: int) -> tuple[np.ndarray, np.ndarray]:
        """q and v after n steps."""
        path = self.blocks.march(Stretch(0.0, 0, self.q, self.v, [self.tau], h, n, n))
        return path.q[0, -1], path.x[0, -1]

    def seconds(self, n: int, h: float = 1e-3, repeat: int = 300) -> float:
        """The shortest wall time of n steps."""
        return min(timed(partial(self.run, h, n), repeat))


def papers_runners(model: hm.Model) -> dict[str, Runner]:
    """The methods of Tables 5 and 6, the serial one first."""
    return {
        "B1PC5": Runner(model, SlidingBlock(points=1)),
        "B2PC5, one point after another": Runner(model, SlidingBlock(points=2, tasks=1)),
        "B4PC5, one point after another": Runner(model, SlidingBlock(points=4, tasks=1)),
        "B2PC5, points on lanes": Runner(model, SlidingBlock(points=2)),
        "B4PC5, points on lanes": Runner(model, SlidingBlock(points=4)),
        "B1PC5, arms on lanes": Runner(model, SlidingBlock(points=1), branches=True),
    }


def measure_blocks(
    runners: Mapping[str, Runner], report: Callable[[str], object] = lambda line: None, repeat: int = 300
) -> dict[str, np.ndarray]:
    """For each method rows of (steps, error at the end, wall time [s]), the shortest of `repeat` runs.

    Errors are those from the first method with 40,000 steps. `report` is called with a line for each method.
    """
    first = next(iter(runners.values()))
    exact = first.run(T / 40_000, 40_000)
    out = {}
    for name, runner in runners.items():
        some, more = runner.seconds(100, repeat=repeat), runner.seconds(500, repeat=repeat)
        each = (more - some) / 400
        rows = []
        for n in COUNTS:
            q, v = runner.run(T / n, n)
            with np.errstate(all="ignore"):  # the longest steps may diverge
                away = dynamics.difference(first.model, exact[0], q)
                error = np.hypot(np.linalg.norm(away), np.linalg.norm(v - exact[1]))
            rows.append((n, error, some + (n - 100) * each))
        out[name] = np.array(rows)
        report(f"{name:32s} {1e6 * each:6.3f} µs per step")
    return out


def time_to(rows: np.ndarray, error: float) -> float:
    """Wall time at which a method reaches an error, between its runs on a line in logarithms [s]."""
    for (_, e0, w0), (_, e1, w1) in zip(rows[:-1][::-1], rows[1:][::-1], strict=True):
        if e1 <= error <= e0:
            return float(np.exp(np.interp(-np.log(error), [-np.log(e0), -np.log(e1)], [np.log(w0), np.log(w1)])))
    return np.nan
