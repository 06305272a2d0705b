"""What do points in time and chains in space gain on the lanes of one core? Thesis Fig. 14 and Tables 5 and 6.

A free body with four arms of six joints each tumbles without gravity for 5 s. The error is that of the state at the end. The
wall time of a run is that of its start plus its steps times the time of one, each the shortest of many short runs: so other
work on the machine does not count.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

import hydromechs as hm
from hydromechs import compiler, dynamics
from hydromechs.compiler import Argument
from hydromechs.equations import BranchesOnLanes
from hydromechs.integrators import BlockSteps, DormandPrince, SlidingBlock, Stepper, Stretch, method_named
from hydromechs.library import star

from ._machine import timed

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
    """One method, Dormand-Prince with constant steps, on one model in compiled code; `acceleration` is v̇ of (q, v, tau)."""

    def __init__(self, model: hm.Model, method: Any, acceleration: Callable[..., np.ndarray]) -> None:
        nv = model.nv

        def ydot(t: Any, q: Any, y: Any, tau: Any) -> np.ndarray:
            here = dynamics.retract(model, q, y[:nv])
            return np.concatenate([dynamics.chart_rate(model, here, y[:nv], y[nv:]), acceleration(here, y[nv:], tau)])

        arguments = (Argument("tau", (nv,)),)
        options = dict(name="arms", identity=None, lanes=1, threads=1)
        inner = SlidingBlock(points=1) if isinstance(method, DormandPrince) else method
        self.method, self.stepper = method, Stepper(model, ydot, 0, arguments, inner, **options)
        rng = np.random.default_rng(3)
        self.q = hm.integrate(model, model.neutral()[0], rng.normal(size=model.nv), 0.5)[None]
        self.v, self.tau = 0.6 * rng.normal(size=(1, nv)), np.zeros((1, nv))

    @cached_property
    def blocks(self) -> BlockSteps:
        """Blocks, or the Dormand-Prince steps with which they start."""
        return BlockSteps(self.stepper)

    def run(self, h: float, n: int) -> tuple[np.ndarray, np.ndarray]:
        """q and v after n steps."""
        if isinstance(self.method, SlidingBlock):
            path = self.blocks.march(Stretch(0.0, 0, self.q, self.v, [self.tau], h, n, n))
            return path.q[0, -1], path.x[0, -1]
        if isinstance(self.method, DormandPrince):
            Q, X, _, _ = self.blocks._started(0.0, 0.0, self.q, self.v, [self.tau], h, n)  # noqa: SLF001 (its Dormand-Prince)
            return Q[0, -1], X[0, -1]
        march = self.stepper.march
        end = march([np.zeros(1), self.q, self.v], [np.array([h]), np.zeros(1), self.tau], n, stride=n).ends
        return end[1][0], end[2][0]

    def seconds(self, n: int, h: float = 1e-3, repeat: int = 300) -> float:
        """The shortest wall time of n steps."""
        return min(timed(partial(self.run, h, n), repeat))


def measure_blocks(
    model: hm.Model, report: Callable[[str], object] = lambda line: None, repeat: int = 300
) -> dict[str, np.ndarray]:
    """For each method rows of (steps, error at the end, wall time [s]), the shortest of `repeat` runs.

    `report` is called with a line for each method.
    """

    def plain(q: Any, v: Any, tau: Any) -> np.ndarray:
        return hm.forward_dynamics(model, q, v, tau)

    beside = BranchesOnLanes(model).forward_dynamics
    cases = {
        "B1PC5": (method_named("b1pc5"), plain),
        "B2PC5, one point after another": (SlidingBlock(points=2, tasks=1), plain),
        "B4PC5, one point after another": (SlidingBlock(points=4, tasks=1), plain),
        "Runge-Kutta 4": (method_named("rk4"), plain),
        "Dormand-Prince 5": (DormandPrince(), plain),
        "B2PC5, points on lanes": (SlidingBlock(points=2), plain),
        "B4PC5, points on lanes": (SlidingBlock(points=4), plain),
        "B4PC7, points on lanes": (SlidingBlock(points=4, order=7), plain),
        "B6PC7, points on lanes": (SlidingBlock(points=6, order=7), plain),
        "B1PC5, arms on lanes": (SlidingBlock(points=1), beside),
        "Runge-Kutta 4, arms on lanes": (method_named("rk4"), beside),
        "Dormand-Prince 5, arms on lanes": (DormandPrince(), beside),
    }
    exact = Runner(model, DormandPrince(), plain).run(T / 40_000, 40_000)
    out = {}
    for name, (method, acceleration) in cases.items():
        runner = Runner(model, method, acceleration)
        some, more = runner.seconds(100, repeat=repeat), runner.seconds(500, repeat=repeat)
        each = (more - some) / 400
        rows = []
        for n in COUNTS:
            q, v = runner.run(T / n, n)
            with np.errstate(all="ignore"):  # the longest steps may diverge
                error = np.hypot(np.linalg.norm(dynamics.difference(model, exact[0], q)), np.linalg.norm(v - exact[1]))
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
