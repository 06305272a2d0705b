"""The goals of the project for its speed, and whether a report of `hydromechs bench` meets them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

from rich.console import Console

from hydromechs.bench._worlds import HELD
from hydromechs.cli._tables import table_of

from .mjx_speed import MJX

__all__ = ["GOALS", "print_targets", "target", "with_targets"]

COMPARISONS = {"≥": operator.ge, ">": operator.gt, "≤": operator.le, "<": operator.lt, "=": operator.eq}
"""Goals: comparisons of measurements with limits."""


WANTED = {"semi_implicit_euler": 30.0, "rk4": 20.0}
"""Steps per second on the lanes of one core over those of MuJoCo's rollout."""
GPU_WANTED = 8e9
"""Whole semi-implicit steps per second in float32 on an H200."""
HELD_WANTED = 2e9
"""The same with thrusters, servos and a law that holds the pose."""
PEAK_WANTED = 0.45
"""Share of its peak arithmetic."""
MJX_WANTED = 200.0
"""Our steps per second in water over those of MJX, dry, on the same GPU."""


def target(what: str, needed: str, measured: float | None) -> dict[str, Any]:
    """One goal: what it is, what is needed, as "≥ 30", what was measured, and whether it was met (None: not measured)."""
    sign, limit = needed.split()
    held = None if measured is None else COMPARISONS[sign](measured, float(limit))
    return {"what": what, "needed": needed, "measured": measured, "held": held}


def with_targets(report: dict[str, Any], targets: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """A report with goals, which are not judged in a quick run."""
    return {**report, "targets": [goal | {"held": None} if report["quick"] else goal for goal in targets]}


def print_targets(report: dict[str, Any], console: Console) -> None:
    """Print the goals of a report and whether they were met."""
    rows = []
    for t in report["targets"]:
        measured = "–" if t["measured"] is None else f"{t['measured']:.3g}"
        held = {True: "yes", False: "NO", None: "not measured"}[t["held"]]
        rows.append((t["what"], t["needed"], measured, "not judged in a quick run" if report["quick"] else held))
    console.print()
    console.print(table_of("goal", ">needed", ">measured", "met in this run", rows=rows))


def dynamics_goals(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Those of `hydromechs bench dynamics`."""
    times, chains, compiling = (report[key] for key in ("times", "chains", "compile"))
    threads = times["ours_threads"]["threads"]

    def fastest(prefix: str) -> float | None:
        """Of another code's single-threaded rows, nanoseconds."""
        found = [r["minimum_ns"] for key, r in times.items() if key.startswith(prefix) and r["threads"] == 1]
        return min(found) if found else None

    def at_least(what: str, factor: float, of: float | None, ours: float | None) -> dict[str, Any]:
        return target(what, f"≥ {factor:g}", None if of is None or ours is None else of / ours)

    def ns(key: str) -> float | None:
        return times[key]["minimum_ns"] if key in times else None

    one, lanes = (ns("ours_one_lane"), min(times[key]["minimum_ns"] for key in ("ours_4_lanes", "ours_8_lanes")))
    peers = (("Pinocchio aba", "pinocchio"), ("MuJoCo mj_forward", "mujoco"))
    out = [at_least(f"one lane in water, faster than {name} dry", 9, fastest(key), one) for name, key in peers]
    out += [at_least(f"lanes in water, per core, faster than {name} dry", 30, fastest(key), lanes) for name, key in peers]
    out.append(
        at_least("two threads, faster than one", 1.7, ns("ours_one_thread") if threads == 2 else None, ns("ours_threads"))
    )
    out.append(at_least("one call from Python, faster than Pinocchio's", 1, ns("pinocchio_call"), ns("ours_call")))
    out.append(at_least("one call from Python, new arrays in each call", 1, ns("pinocchio_call_fresh"), ns("ours_call_fresh")))
    for name, key in (("one lane", "one_lane_ns_per_link"), ("lanes", "lanes_ns_per_link")):
        costs = [chain[key] for chain in chains if chain["links"] >= 12]
        spread = max(costs) / min(costs) - 1.0 if len(costs) > 1 else None
        out.append(target(f"cost per link from 12 to 48 links, {name}: spread", "≤ 0.15", spread))
    out.append(target("cold compile of forward dynamics [s]", "< 3", compiling["cold"]["single_s"]))
    out.append(target("the same from the cache [s]", "< 0.1", compiling["cached"]["single_s"]))
    return out


def simulation_goals(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Those of a scenario with its recording."""
    scenario = report["scenario"]
    return [target(f"{scenario['name']} with its recording, times real time", "≥ 200", scenario["real_time_factor"])]


def worlds_goals(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Those of `hydromechs bench worlds`."""
    rows, out = report["rows"], []
    if "peak_per_core" not in report["device"]:
        return _gpu_goals(rows)
    for method, wanted in WANTED.items():
        of = {row["what"]: row["per_second"] for row in rows if row["method"] == method}
        theirs = of.get("MuJoCo's rollout, one thread")
        lanes = next((what for what in of if what.endswith("lanes") and HELD not in what), "")
        ours = max(rate for what, rate in of.items() if what in ("ours, one lane", lanes))
        ratio = None if theirs is None else ours / theirs
        out.append(target(f"{method}: one core in water over MuJoCo's rollout, dry", f"≥ {wanted:g}", ratio))
    return out


def _gpu_goals(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    plain = [r for r in rows if r["what"] not in (HELD, MJX)]
    held = max(r["per_second"] for r in rows if r["what"] == HELD)
    best = max(
        (r for r in plain if r["precision"] == "float32" and r["method"] == "semi_implicit_euler"),
        key=lambda r: r["per_second"],
    )
    rate, share = best["per_second"], best["fraction_of_peak"]
    theirs = max((r["per_second"] for r in rows if r["what"] == MJX), default=None)
    over = None if theirs is None else rate / theirs
    return [
        target("float32: whole semi-implicit steps per second", f"≥ {GPU_WANTED:g}", rate),
        target(f"float32: the same with {HELD}", f"≥ {HELD_WANTED:g}", held),
        target("share of peak arithmetic", f"≥ {PEAK_WANTED:g}", share),
        target("in water over MJX, dry", f"≥ {MJX_WANTED:g}", over),
    ]


GOALS: dict[str, Callable[[dict[str, Any]], list[dict[str, Any]]]] = {
    "dynamics": dynamics_goals,
    "simulation": simulation_goals,
    "worlds": worlds_goals,
}
"""Goals that a report of `hydromechs bench` is compared with, by the name of the measurement."""
