"""Overlaid plots of two recordings."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hydromechs.recording import RecordingComparison, samples_of

from ._style import COLOURS, figure, keep_scale, thinned, time_panels

if TYPE_CHECKING:
    import xarray

MOST_PANELS = 6
"""Quantities that are drawn by default."""
PREFERRED = ("position", "depth", "velocity", "q", "v", "actuator_force", "kinetic_energy_body")
"""Variables that are drawn first if nothing differs."""


def plot_comparison(
    first: xarray.Dataset,
    second: xarray.Dataset,
    comparison: RecordingComparison,
    out: str | os.PathLike[str],
    *,
    labels: tuple[str, str] = ("first", "second"),
    quantities: tuple[str, ...] = (),
) -> Path:
    """Overlay two recordings, one panel for each quantity.

    Args:
        first: A recording; it is drawn as a solid line.
        second: Another one; dashed.
        comparison: Result of `compare_recordings`.
        out: File to write; its suffix selects the format (.png, .svg, .pdf).
        labels: Labels of the two.
        quantities: Quantities to draw, such as "position.vehicle.x". Defaults to those with the largest relative differences.
    """
    out = Path(out)
    series: dict[str, list[np.ndarray]] = {}
    for name in quantities or _by_difference(comparison):
        pair = [samples_of(ds, name) for ds in (first, second)]
        shown = any(all(map(np.array_equal, pair, other)) for other in series.values())  # as v and velocity of a vehicle
        if quantities or (not shown and len(series) < MOST_PANELS):
            series[name] = pair
    if not series:
        raise ValueError("the two recordings have no variable in common")
    times = [ds["time"].values for ds in (first, second)]
    span = np.array([min(t[0] for t in times), max(t[-1] for t in times)])
    units = {d.name: "" if d.units == "1" else f"[{d.units}]" for d in comparison.differences}
    titles = [(name, units.get(name.partition(".")[0], "")) for name in series]
    with figure(out, height=0.8 + 1.9 * len(series), math=False) as fig:
        panels = time_panels(fig, titles, span)
        for ax, pair in zip(panels, series.values(), strict=True):
            for values, time, label, colour, style in zip(pair, times, labels, COLOURS, ("-", "--"), strict=False):
                ax.plot(*thinned(time, values), style, color=colour, label=label)
            keep_scale(ax)
        panels[0].legend(loc="upper left", bbox_to_anchor=(1.0, 1.03), borderaxespad=0.3)
    return out


def _by_difference(comparison: RecordingComparison) -> list[str]:
    """Return the entry of each variable that differs most, in order of decreasing difference."""
    known = [d for d in comparison.differences if d.maximum > 0.0 and d.name != "energy_residual"]
    changed = sorted(known, key=lambda d: -d.relative)
    same = sorted((d for d in comparison.differences if d.name in PREFERRED), key=lambda d: PREFERRED.index(d.name))
    return [d.quantity for d in changed or same]
