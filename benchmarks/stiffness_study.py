"""Dependence of the real-time factor of a walking machine on the stiffness of its contacts.

A contact of stiffness k moves at √(k/m) and needs steps below some part of √(m/k); McMillan (1994, sec. 8.4.4) leaves open
whether real time can be kept up. A scenario is run with all of its terrain stiffer or softer: springs of friction by the same
factor, their dampers by its root, so that their damping ratio stays. A method with fixed steps gets the longest step of a list
with which the energy audit closes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hydromechs.bench._machine import machine
from hydromechs.contact import Material, NonlinearContact, Terrain
from hydromechs.errors import SimulationDiverged, UnreachableFoothold
from hydromechs.library import load_scenario
from hydromechs.scenario import Scenario
from hydromechs.values import positive

__all__ = ["FULL_STIFFNESS", "QUICK_STIFFNESS", "StiffnessCases", "measure_stiffness", "plot_stiffness", "with_stiffness"]

CLOSES = 1e-4
"""Energy residual with which the audit counts as closed, in parts of the energy exchanged."""
STEPS = (5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4, 5e-5)
"""Steps that are tried, the longest first [s]."""


class StiffnessCases(NamedTuple):
    """Parameters of the study."""

    scenario: str
    """Name of the scenario."""
    stiffnesses: tuple[float, ...]
    """Of a contact [N/m]."""
    methods: tuple[str, ...]
    """Integrators; "dormand_prince" chooses its steps automatically."""
    duration: float
    """Of a run [s]."""


FULL_STIFFNESS = StiffnessCases("aquarobot_rubble", (1e4, 1e5, 1e6, 1e7), ("rk4", "dormand_prince"), 8.0)
"""Aquarobot, from mud to ground that gives way by a hundredth of a millimetre below a foot."""
QUICK_STIFFNESS = StiffnessCases("waav_step", (1e5, 1e7), ("rk4",), 0.2)
"""A short run, to check that it works."""


def with_stiffness(scenario: Scenario, stiffness: float) -> Scenario:
    """The scenario on harder or softer ground of the same damping ratio.

    Args:
        scenario: The scenario; its terrain must have nonlinear contact laws.
        stiffness: Of all contacts with terrain [N/m].
    """

    def harder(material: Material) -> Material:
        law, friction = material.law, material.friction
        if not isinstance(law, NonlinearContact):
            raise TypeError(f"contact law is {type(law).__name__}, must be NonlinearContact for this study")
        ratio = positive(stiffness, "stiffness") / law.stiffness
        if friction is not None:
            friction = replace(friction, stiffness=ratio * friction.stiffness, damping=math.sqrt(ratio) * friction.damping)
        return replace(material, law=replace(law, stiffness=stiffness), friction=friction)

    parts = (replace(c, material=harder(c.material)) if isinstance(c, Terrain) else c for c in scenario.components)
    return replace(scenario, components=tuple(parts))


def measure_stiffness(cases: StiffnessCases, progress: Callable[[int], None] = lambda done: None) -> dict[str, Any]:
    """Run all cases.

    Args:
        cases: What is run.
        progress: Told how many of stiffnesses times methods are done.

    Returns:
        The report: for each stiffness and method the step, the simulated over the processor time, and the energy residual in
        parts of the energy exchanged; None where no step of the list will do.
    """
    first = load_scenario(cases.scenario)
    rows: list[dict[str, Any]] = []
    for stiffness in cases.stiffnesses:
        for method in cases.methods:
            scenario = replace(with_stiffness(first, stiffness), integrator=method)
            rows.append({"stiffness": stiffness, "method": method, **_longest(scenario, cases.duration)})
            progress(len(rows))
    head = {"scenario": cases.scenario, "duration": cases.duration, "closes": CLOSES, "load": machine()["load"]}
    return {**head, "rows": rows}


def _longest(scenario: Scenario, duration: float) -> dict[str, Any]:
    """The longest step that will do, and how fast it is."""
    adaptive = scenario.simulation().method.controlled
    for step in STEPS:
        sim = replace(scenario, step=step).simulation()
        try:
            sim.run(0.1 * duration)  # compiles what is not yet
            began = time.process_time()
            done = sim.run(duration)
        except (ValueError, SimulationDiverged, UnreachableFoothold):  # the step is too long for the contacts
            continue
        factor, recording = duration / (time.process_time() - began), done.recording
        exchanged = float(np.abs(recording["work"].values[-1]).sum())
        share = float(np.abs(recording["energy_residual"].values).max()) / exchanged
        if share < CLOSES:
            return {"step": None if adaptive else step, "factor": factor, "residual": share}
    return {"step": None, "factor": None, "residual": None}


def plot_stiffness(report: Mapping[str, Any], out: str | Path) -> Path:
    """Draw real-time factor and step over stiffness.

    Args:
        report: What `measure_stiffness` returns.
        out: File to write.

    Returns:
        The file.
    """
    from hydromechs.viewer import figure

    out = Path(out)
    with figure(out, height=3.2, width=7.6) as fig:
        left, right = fig.subplots(1, 2)
        for method in dict.fromkeys(row["method"] for row in report["rows"]):
            rows = [row for row in report["rows"] if row["method"] == method and row["factor"] is not None]
            left.loglog([r["stiffness"] for r in rows], [r["factor"] for r in rows], "o-", label=method)
            fixed = [r for r in rows if r["step"] is not None]
            if fixed:
                right.loglog([r["stiffness"] for r in fixed], [1e3 * r["step"] for r in fixed], "o-", label=method)
        left.axhline(1.0, color="#888888", linewidth=0.8, linestyle=":")
        left.set(xlabel="stiffness of a contact [N/m]", ylabel="simulated over processor time", title=report["scenario"])
        left.legend(fontsize=8)
        for axis, ticks in ((left, (1, 2, 5, 10, 20, 50)), (right, [1e3 * step for step in STEPS])):
            axis.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
            axis.minorticks_off()
        right.set(xlabel="stiffness of a contact [N/m]", ylabel="longest step [ms]", title="step that will do")
    return out
