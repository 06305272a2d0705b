"""Plots of a recording as picture files: groups of panels, or one variable."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hydromechs.recording import ATTITUDE, attitude_of, period_of
from hydromechs.values import nearest

from ._series import MAX_CURVES, PlanView, PlotGroup, PlotPanel, plot_groups
from ._style import COLOURS, GREY, RED, curves, figure, grid_panels, shade, time_panels

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_recording(ds: xarray.Dataset, folder: str | os.PathLike[str]) -> list[Path]:
    """Draw all plots of a recording that have data.

    Args:
        ds: Recording to plot.
        folder: Folder for the PNG files; it is created if missing.

    Returns:
        Files in the order of a report: path, attitude, velocity, forces, actuators, energy, contact, water, joints, commands.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if ds.sizes.get("time", 0) < 2:
        return []
    time = ds["time"].values
    return [_draw(group, time, folder / f"{name}.png") for name, group in plot_groups(ds).items()]


def plot_variable(
    ds: xarray.Dataset, name: str, out: str | os.PathLike[str], select: Mapping[str, str | Sequence[str]] | None = None
) -> Path:
    """Draw one variable over time, with a panel per entry of the first dimension and a curve per entry of the last.

    Args:
        ds: Recording to plot.
        name: Name of a variable, or of an angle of the bodies such as "roll_deg" or "tilt".
        out: File to write; its suffix selects the format (.png, .svg, .pdf).
        select: Entries to show, keyed by dimension: `{"body": "vehicle", "xyz": ["x", "z"]}`. Defaults to all entries.
    """
    out = Path(out)
    angle = name in ATTITUDE and "orientation" in ds
    if not angle and (name not in ds.data_vars or ds[name].dims[:1] != ("time",)):
        known = [str(n) for n, v in ds.data_vars.items() if v.dims[:1] == ("time",)]
        known += [*ATTITUDE] if "orientation" in ds else []
        raise ValueError(f"variable {name!r} is not in the recording{nearest(name, known)}")
    data = attitude_of(ds, name) if angle else ds[name]
    period = period_of(name)
    if period is not None and np.isfinite(data.values).all():
        data = data.copy(data=np.unwrap(data.values, axis=0, period=period))  # remove jumps by a full turn
    for dim, wanted in (select or {}).items():
        if dim not in data.dims[1:]:
            raise ValueError(f"{name!r} has no dimension {dim!r}{nearest(dim, map(str, data.dims[1:]))}")
        labels = [wanted] if isinstance(wanted, str) else list(wanted)
        entries = [str(x) for x in data[dim].values]
        for label in labels:
            if label not in entries:
                raise ValueError(f"{dim} {label!r} is not in the recording{nearest(label, entries)}")
        data = data.sel({dim: labels})
    if data.size == 0:
        raise ValueError(f"variable {name!r} has no entries in this recording; choose another variable")
    unit = data.attrs.get("units", "1")
    label = "" if unit == "1" else f"[{unit}]"
    groups = {title: _entries(part) for title, part in _by_first(data)}
    most = max(len(g) for g in groups.values())
    if len(groups) > 16 or most > 2 * MAX_CURVES:
        dims = ", ".join(map(str, data.dims[1:]))
        entries_of = "; ".join(f"{dim} has {', '.join(map(str, data[dim].values))}" for dim in data.dims[1:])
        raise ValueError(
            f"{name!r} requires {len(groups)} panels of {most} curves; select fewer entries along {dims} ({entries_of})"
        )
    time = ds["time"].values
    heading = data.attrs.get("long_name", name)
    with figure(out, height=0.8 + max(1.9 * len(groups), 0.2 * most + 1.2, 2.6), math=False) as fig:
        fig.suptitle(heading[:1].upper() + heading[1:], x=0.01, ha="left", fontweight="bold", fontsize=12)
        panels = time_panels(fig, [(title, label) for title in groups], time)
        for ax, series in zip(panels, groups.values(), strict=True):
            curves(ax, time, series)
            if name == "depth":
                ax.invert_yaxis()
    return out


def _by_first(data: xarray.DataArray) -> list[tuple[str, xarray.DataArray]]:
    """Return the parts of a variable that are drawn in separate panels, with their titles."""
    if data.ndim < 3:
        return [("", data)]
    dim = data.dims[1]
    return [(str(label), data.sel({dim: label})) for label in data[dim].values]


def _entries(data: xarray.DataArray) -> dict[str, np.ndarray]:
    if data.ndim == 1:
        return {str(data.name): data.values}
    stacked = data.values.reshape(data.sizes["time"], -1)
    names = [""]
    for dim in data.dims[1:]:
        names = [f"{before} {label}".strip() for before in names for label in data[dim].values]
    return {label: stacked[:, k] for k, label in enumerate(names)}


def _draw(group: PlotGroup, time: np.ndarray, out: Path) -> Path:
    rows = -(-len(group.panels) // group.columns)
    height = 4.0 if group.plan else 0.6 + 2.1 * rows if group.columns == 1 else 0.9 + {2: 1.85, 3: 1.45}[group.columns] * rows
    with figure(out, height=height, math=False) as fig:
        if group.heading:
            fig.suptitle(group.heading, x=0.01, ha="left", fontsize=10.5, fontweight="bold")
        if group.plan:
            left, right = fig.subplots(1, 2, width_ratios=[1.0, 1.15])
            _plan(left, group.plan)
            right.set(title=group.panels[0].title, xlabel="time [s]", ylabel=group.panels[0].label, xlim=(time[0], time[-1]))
            _panel(right, time, group.panels[0], legend=False)
        elif group.columns == 1:
            _stacked(fig, time, group.panels)
        else:
            _grid(fig, time, group)
    return out


def _stacked(fig: Figure, time: np.ndarray, panels: Sequence[PlotPanel]) -> None:
    named: set[tuple[str, ...]] = set()
    for ax, panel in zip(time_panels(fig, [(p.title, p.label) for p in panels], time), panels, strict=True):
        _panel(ax, time, panel, legend=tuple(panel.series) not in named)  # once for panels with the same curves
        named.add(tuple(panel.series))


def _grid(fig: Figure, time: np.ndarray, group: PlotGroup) -> None:
    axes = grid_panels(fig, [p.title for p in group.panels], time, columns=group.columns)
    for ax, panel in zip(axes, group.panels, strict=True):
        _panel(ax, time, panel, legend=False)
        if panel.note:
            ax.set_title(panel.note, loc="right", fontsize=8.5, fontweight="normal", color=RED)
    handles, labels = axes[0].get_legend_handles_labels()
    if len(labels) > 1:
        fig.legend(handles, labels, loc="outside lower center", ncol=min(6, len(labels)))


def _panel(ax: Axes, time: np.ndarray, panel: PlotPanel, *, legend: bool) -> None:
    curves(ax, time, panel.series, legend=legend, colours=panel.colours, references=panel.references)
    low, high = ax.get_ylim()
    if high - low < panel.min_range:
        ax.set_ylim(0.5 * (low + high - panel.min_range), 0.5 * (low + high + panel.min_range))
    if panel.shaded is not None:
        shade(ax, time, panel.shaded)
    if panel.down:
        ax.invert_yaxis()
        low, high = sorted(ax.get_ylim())
        if low <= 0.0 <= high:  # the water surface
            ax.axhline(0.0, color="#56b4e9", lw=2, alpha=0.6, zorder=1)


def _plan(ax: Axes, plan: PlanView) -> None:
    """Draw paths from above in a square plot with equal scales, at least 0.2 m wide."""
    for k, (body, path) in enumerate(plan.paths.items()):
        colour = COLOURS[k % len(COLOURS)]
        ax.plot(*path.T, color=colour, label=body)
        if body in plan.references:
            ax.plot(*plan.references[body].T, ":", color=colour, lw=1.0, label="reference")
        ax.plot(*path[0], "o", ms=7, mfc="white", mec=colour, mew=1.6, zorder=3)
        ax.plot(*path[-1], "s", ms=7, color=colour, mec="white", zorder=3)
    ax.plot([], [], "o", ms=6, mfc="white", mec=GREY, mew=1.4, label="start")
    ax.plot([], [], "s", ms=6, color=GREY, label="end")
    ax.set_aspect("equal", adjustable="box")
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    half = 0.5 * max(x1 - x0, y1 - y0, 0.2)
    ax.set_xlim(0.5 * (x0 + x1) - half, 0.5 * (x0 + x1) + half)
    ax.set_ylim(0.5 * (y0 + y1) - half, 0.5 * (y0 + y1) + half)
    ax.set(title="Seen from above", xlabel=plan.x, ylabel=plan.y)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncol=3)
