"""Comparison of two recordings as a picture of overlaid plots, or as a page."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hydromechs.files import write_text
from hydromechs.recording import RecordingComparison, VariableDifference, samples_of

from ._client import PageContent
from ._report import bench, report_page
from ._scene import Scene
from ._style import COLOURS, figure, keep_scale, thinned, time_panels

if TYPE_CHECKING:
    import xarray

MOST_PANELS = 6
"""Maximum number of quantities that are drawn by default."""
PREFERRED = ("position", "depth", "velocity", "q", "v", "actuator_force", "kinetic_energy_body")
"""Variables that are drawn if nothing differs, in order of preference."""


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
        first: First recording, drawn as solid lines.
        second: Second recording, drawn as dashed lines.
        comparison: Result of `compare_recordings`.
        out: File to write; its suffix selects the format (.png, .svg, .pdf).
        labels: Labels of the recordings.
        quantities: Quantities to draw, such as "position.vehicle.x". Defaults to the largest relative differences.
    """
    out = Path(out)
    series: dict[str, list[np.ndarray]] = {}
    for name in quantities or _by_difference(comparison):
        pair = [samples_of(ds, name) for ds in (first, second)]
        shown = any(all(map(np.array_equal, pair, other)) for other in series.values())  # such as v and velocity of a vehicle
        if quantities or (not shown and len(series) < MOST_PANELS):
            series[name] = pair
    if not series:
        raise ValueError("the recordings have no variable in common; compare runs of the same model")
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


def write_comparison(
    first: xarray.Dataset,
    second: xarray.Dataset,
    comparison: RecordingComparison,
    out: str | os.PathLike[str],
    *,
    labels: tuple[str, str] = ("first", "second"),
    scene: Scene | None = None,
) -> Path:
    """Write a page with the curves of two recordings and a table of their differences.

    Args:
        first: First recording, drawn as solid lines.
        second: Second recording, drawn as dashed lines.
        comparison: Result of `compare_recordings`.
        out: File to write.
        labels: Labels of the recordings.
        scene: Scene of the first recording. Optional.
    """
    differences = [d for d in comparison.differences if d.maximum > 0.0]
    rows = [
        f"<tr><td>{escape(d.quantity)}</td>"
        + "".join(
            f'<td class="n">{text}</td>' for text in (_amount(d), f"{d.relative:.1e}" if d.scale else "–", f"{d.time:g} s")
        )
        for d in sorted(differences, key=lambda d: -d.relative)
    ]
    table = f"<p>All {len(comparison.differences)} variables are bit-identical.</p>"
    if rows:
        head = "".join(f'<th class="n">{text}</th>' for text in ("Maximum difference", "Fraction of maximum", "Time"))
        table = f"<table><thead><tr><th>Variable</th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    title = f"{labels[0]} and {labels[1]}"
    content = PageContent(scene=scene, recordings=[(labels[0], first), (labels[1], second)])
    lead = f'<p class="lead">Solid: {escape(labels[0])}. Dashed: {escape(labels[1])}.</p>'
    header = f'<header><p class="brand">HydroMechs comparison</p><h1>{escape(title)}</h1>{lead}</header>'
    sections = [header, bench(content), f"<section><h2>Differences</h2>{table}</section>"]
    path = Path(out)
    write_text(path, report_page(title, sections, content=content))
    return path


def _amount(d: VariableDifference) -> str:
    return f"{d.maximum:.3g}" + ("" if d.units == "1" else f" {escape(d.units)}")


def _by_difference(comparison: RecordingComparison) -> list[str]:
    """Return the entry with the largest difference of each variable, in order of decreasing relative difference."""
    known = [d for d in comparison.differences if d.maximum > 0.0 and d.name != "energy_residual"]
    changed = sorted(known, key=lambda d: -d.relative)
    same = sorted((d for d in comparison.differences if d.name in PREFERRED), key=lambda d: PREFERRED.index(d.name))
    return [d.quantity for d in changed or same]
