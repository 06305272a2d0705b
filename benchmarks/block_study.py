"""Block methods beside others, on lanes and one point after another, as in thesis Fig. 14, and the gain over the best of all.

A free body with four arms of six joints each tumbles without gravity for 5 s. The error is that of the final state. The wall
time of a run is that of its start plus its steps times the time of one step, each the minimum of many short runs, so that other
work on the machine does not count.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.text import Text

import hydromechs as hm
from hydromechs import compiler, dynamics
from hydromechs.bench._machine import machine, timed, versions
from hydromechs.cli._console import Console
from hydromechs.compiler import Argument
from hydromechs.equations import BranchesOnLanes
from hydromechs.integrators import BlockSteps, DormandPrince, SlidingBlock, Stepper, Stretch, method_named
from hydromechs.library import star

__all__ = ["MethodRunner", "measure_study", "plot_blocks", "print_blocks"]


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


class MethodRunner(Runner):
    """The same of Runge and Kutta's method, and of Dormand and Prince's with constant steps."""

    def __init__(self, model: hm.Model, method: Any, *, branches: bool = False) -> None:
        super().__init__(model, SlidingBlock(points=1) if isinstance(method, DormandPrince) else method, branches=branches)
        self.method = method

    def run(self, h: float, n: int) -> tuple[np.ndarray, np.ndarray]:
        """q and v after n steps."""
        if isinstance(self.method, SlidingBlock):
            return super().run(h, n)
        if isinstance(self.method, DormandPrince):  # blocks start with its steps
            Q, X, _, _ = self.blocks._started(0.0, 0.0, self.q, self.v, [self.tau], h, n)  # noqa: SLF001
            return Q[0, -1], X[0, -1]
        march = self.stepper.march
        end = march([np.zeros(1), self.q, self.v], [np.array([h]), np.zeros(1), self.tau], n, stride=n).ends
        return end[1][0], end[2][0]


def runners(model: hm.Model) -> dict[str, Runner]:
    """All methods, the most exact with many steps first."""
    of = partial(MethodRunner, model)
    return {
        "Dormand-Prince 5": of(DormandPrince()),
        "B1PC5": of(SlidingBlock(points=1)),
        "B2PC5, one point after another": of(SlidingBlock(points=2, tasks=1)),
        "B4PC5, one point after another": of(SlidingBlock(points=4, tasks=1)),
        "B2PC5, points on lanes": of(SlidingBlock(points=2)),
        "B4PC5, points on lanes": of(SlidingBlock(points=4)),
        "B1PC5, arms on lanes": of(SlidingBlock(points=1), branches=True),
        "Runge-Kutta 4": of(method_named("rk4")),
        "B4PC7, points on lanes": of(SlidingBlock(points=4, order=7)),
        "B6PC7, points on lanes": of(SlidingBlock(points=6, order=7)),
        "Runge-Kutta 4, arms on lanes": of(method_named("rk4"), branches=True),
        "Dormand-Prince 5, arms on lanes": of(DormandPrince(), branches=True),
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


def measure_study(
    *, quick: bool = False, picture: str = "", report: Callable[[str], object] = lambda line: None
) -> dict[str, Any]:
    """All that is printed, as plain data; if quick, with few repeats and rough times.

    The picture is the file for the plot of error against time, if any; `report` is called with a line for each method.
    """
    where, model = machine(), arms()
    results = measure_blocks(runners(model), report, repeat=30 if quick else 300)
    if picture:
        plot_blocks(results, Path(picture))
    times = {name: time_to(rows, BENCHMARK) for name, rows in results.items()}
    serial = {name: t for name, t in times.items() if "lanes" not in name}
    best = min(serial, key=lambda name: serial[name])
    where["load_after"] = machine()["load"]
    return {
        "machine": where,
        "versions": versions(),
        "benchmark_error": BENCHMARK,
        "times_ms": {name: 1e3 * t for name, t in times.items()},
        "best_serial": best,
        "speedup_over_best_serial": {name: serial[best] / t for name, t in times.items() if "lanes" in name},
        "four_points_over_one": lane_ratio(model, 4, 300 if quick else 3000),
        "orders": {name: _order(rows) for name, rows in results.items()},
    }


def _order(rows: np.ndarray) -> float:
    """Order of convergence between the finest runs above rounding."""
    good = rows[(rows[:, 1] < 1e-3) & (rows[:, 1] > 1e-11)]
    return float(np.polyfit(np.log(good[:, 0]), -np.log(good[:, 1]), 1)[0]) if len(good) > 1 else float("nan")


def print_blocks(report: dict[str, Any], console: Console) -> None:
    """Print a report of `measure_study`."""
    console.print(Text(f"Four points on lanes take {report['four_points_over_one']:.2f} times as long as one."))
    best = report["best_serial"]
    console.print(Text(f"\nThe best serial method is {best}, {report['times_ms'][best]:.3f} ms. On lanes, over that:"))
    for name, gain in sorted(report["speedup_over_best_serial"].items(), key=lambda pair: -pair[1]):
        console.print(Text(f"  {name:34s} {gain:5.2f}   (order {report['orders'][name]:.1f})"))


def plot_blocks(results: dict[str, np.ndarray], path: Path) -> None:
    """Two panels: one point after another as in the thesis, and with lanes."""
    from hydromechs.viewer import figure

    colors = {"B1PC5": "#0072b2", "B2PC5": "#009e73", "B4PC5": "#d55e00", "B4PC7": "#cc79a7", "B6PC7": "#e69f00"}
    colors |= {"Runge": "#8c8c8c", "Dormand": "#000000"}
    styles = {"one": "-", "points": "-", "arms": "--"}
    with figure(path, height=4.6, width=12.4) as fig:
        left, right = fig.subplots(1, 2, sharex=True, sharey=True)
        for name, rows in results.items():
            first, how = name.split(",")[0], (name.split(", ")[1:] or ["one"])[0].split()[0]
            serial, known = how == "one", first.startswith(("Runge", "Dormand"))
            good = rows[(rows[:, 1] < 0.1) & (rows[:, 1] > 3e-13)]
            style = dict(color=colors[first.split("-")[0]], linestyle=styles[how], marker="o", markersize=3.5, linewidth=1.6)
            if serial and not known:
                left.loglog(1e3 * good[:, 2], good[:, 1], label=first, **style)
            if not serial or known or first == "B1PC5":
                right.loglog(1e3 * good[:, 2], good[:, 1], label=name, **style)
        for axes, title in ((left, "One point after another (thesis Fig. 14)"), (right, "On the lanes of one core")):
            axes.axhline(BENCHMARK, color="#bbbbbb", linewidth=1.0)
            axes.set(xlabel="wall time for 5 s [ms]", title=title)
        left.set(ylabel="error of (q, v) at the end")
        left.legend(fontsize=8)
        right.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def lane_ratio(model: hm.Model, points: int = 4, repeat: int = 2000) -> float:
    """Time of forward dynamics at 4 or 8 points on the lanes of one core, over that at one point; the shortest of several."""
    shapes = {"q": (model.nq,), "v": (model.nv,), "tau": (model.nv,)}
    program = compiler.trace(lambda q, v, tau: hm.forward_dynamics(model, q, v, tau), shapes, name="fd", outputs=("vdot",))
    rng = np.random.default_rng(0)
    q = np.array([hm.integrate(model, model.neutral()[0], rng.normal(size=model.nv), 0.3) for _ in range(points)])
    arrays = [q, rng.normal(size=(points, model.nv)), rng.normal(size=(points, model.nv))]
    best = []
    for count in (1, points):
        inputs = tuple(Argument(a.name, (count, *a.shape)) for a in program.inputs)
        outputs = (Argument("vdot", (count, model.nv)),)
        recipe = compiler.Recipe("points", lambda **x: compiler.call_on_lanes(program, *x.values())[0], inputs, outputs, None)
        single = compiler.Compiled(recipe, 1, 1).single()
        given, out = [np.ascontiguousarray(a[:count]) for a in arrays], np.empty((count, model.nv))
        best.append(min(timed(partial(single, *given, out), repeat)))
    return best[1] / best[0]
