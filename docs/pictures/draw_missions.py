"""Draw the missions in our engine and in others: `python docs/pictures/draw_missions.py [ENGINE ...]`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import matplotlib
import numpy as np
import xarray

import hydromechs as hm
from hydromechs.hybrid import Hybrid

matplotlib.use("Agg")
from matplotlib import pyplot as plt

ROV = "rov.vehicle"
PANELS: dict[str, tuple[tuple[str, ...], ...]] = {
    "pick_and_release": (
        ("depth, m", "depth", ROV),
        ("vertical force, N", "force_thrust", ROV, "Z"),
        ("pitch, °", "pitch"),
        ("pitch rate, rad/s", "velocity", ROV, "q"),
    ),
    "fast_manipulation": (
        ("pitch rate, rad/s", "velocity", ROV, "q"),
        ("pitch moment, N·m", "force_thrust", ROV, "M"),
        ("gripper depth, m", "position", "rov.gripper", "z"),
        ("shoulder torque, N·m", "tau", "rov.upper_arm"),
    ),
    "crash": (
        ("surge, m/s", "velocity", ROV, "u"),
        ("yaw rate, rad/s", "velocity", ROV, "r"),
        ("pitch, °", "pitch"),
        ("heading, °", "heading"),
    ),
    "turn_valve": (
        ("valve, rad", "q", "well.valve"),
        ("wrist, N·m across", "signal", "wrist.K"),
        ("wrist, N·m sideways", "signal", "wrist.M"),
        ("east, m", "position", ROV, "y"),
    ),
}
"""What to draw of each mission: label, variable and coordinates; pitch and heading come from the quaternion."""


def values(recording: xarray.Dataset, variable: str, names: Sequence[str]) -> np.ndarray:
    """Samples of a quantity."""
    if variable in ("pitch", "heading"):
        w, x, y, z = recording.orientation.sel(body=ROV).values.T
        angle = (
            np.arcsin(2 * (w * y - z * x)) if variable == "pitch" else np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
        )
        return np.degrees(angle)
    found = recording[variable]
    return found.sel(dict(zip(found.dims[1:], names, strict=True))).values


def draw(name: str, engines: Sequence[str]) -> None:
    """Fly a mission in all engines and draw it.

    Args:
        name: Name of the mission.
        engines: Names of engines besides our own.
    """
    scenario = hm.load_scenario(name)
    figure, axes = plt.subplots(len(PANELS[name]), 1, figsize=(7.5, 6.5), sharex=True, layout="constrained")
    for engine in ("ours", *engines):
        flown = scenario if engine == "ours" else replace(scenario, engine=Hybrid(engine=engine))
        recording = flown.simulation().run(scenario.duration).recording
        failed = [c.name for c in scenario.checks if not c.judge(recording).passed]
        print(f"{name} in {engine}: {failed or 'all checks passed'}")
        for axis, (label, variable, *names) in zip(axes, PANELS[name], strict=True):
            axis.plot(recording.time, values(recording, variable, names), lw=1, label=engine)
            axis.set_ylabel(label)
            axis.grid(alpha=0.3)
    axes[0].legend(fontsize=8)
    axes[-1].set_xlabel("time, s")
    figure.savefig(Path(__file__).parent / f"mission_{name}.png", dpi=80)


if __name__ == "__main__":
    for name in PANELS:
        draw(name, sys.argv[1:])
