"""Curves synchronised with a replay: depth, speed, attitude, joints, thrust; on a page or in one HTML file."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hydromechs.values import Array

from ._assets import asset
from ._plots import depth, free_bodies, roll_pitch_yaw
from ._style import COLOURS

if TYPE_CHECKING:
    import xarray

POINTS = 400
"""Maximum number of points of a curve."""
MOST_BODIES = 3
MOST_CURVES = 8
WIDTH, HEIGHT, LEFT, BELOW = 300.0, 96.0, 40.0, 16.0
"""Size of the plot area, and margins for numbers on the left and below [pixels]."""
TICKS = 4
"""Number of time labels below a plot."""


class Panel(NamedTuple):
    """Curves over time that share a scale."""

    title: str
    """Title, with the unit."""
    times: Array
    """Times [s], shape (time,)."""
    curves: dict[str, Array]
    """Values by name, shape (time,) each."""
    down: bool = False
    """True if the axis is inverted."""

    @property
    def span(self) -> tuple[float, float]:
        """Minimum and maximum value."""
        values = np.concatenate([v[np.isfinite(v)] for v in self.curves.values()])
        return (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)


def panels(ds: xarray.Dataset) -> list[Panel]:
    """Return the available curves of a recording."""
    kept = np.unique(np.linspace(0, ds.sizes["time"] - 1, POINTS).astype(int))
    thin = ds.isel(time=kept)
    t, free = thin["time"].values, free_bodies(ds)[:MOST_BODIES]
    out = []
    if free and "position" in ds:
        out.append(Panel("Depth [m]", t, {b: depth(thin, b) for b in free}, down=True))
    if free and "velocity" in ds:
        speeds = {b: np.linalg.norm(thin["velocity"].sel(body=b).values[:, :3], axis=1) for b in free}
        out.append(Panel("Speed [m/s]", t, speeds))
    if free and "orientation" in ds:
        turned = roll_pitch_yaw(ds["orientation"].sel(body=free[0]).values)  # over all samples, so that angles do not jump
        angles = np.degrees(turned[kept]).T
        out.append(Panel(f"Attitude of {free[0]} [deg]", t, dict(zip(("roll", "pitch", "yaw"), angles, strict=True))))
    dofs = {str(x) for x in ds["dof"].values} if "dof" in ds.coords else set()
    joints = [c for x in ds["coordinate"].values if (c := str(x)) in dofs] if "q" in ds else []
    if joints:
        out.append(Panel("Joints [rad or m]", t, {c: thin["q"].sel(coordinate=c).values for c in joints[:MOST_CURVES]}))
    pushing = [a for x in ds["actuator"].values if (a := str(x)) not in dofs] if "actuator_force" in ds else []
    if pushing:
        forces = {a: thin["actuator_force"].sel(actuator=a).values for a in pushing[:MOST_CURVES]}
        out.append(Panel("Thrust [N]", t, forces))
    return [Panel(p.title, p.times, {n: np.asarray(v, dtype=float) for n, v in p.curves.items()}, p.down) for p in out]


def panels_html(ds: xarray.Dataset) -> str:
    """Return the curves as HTML for a replay page: a marker follows the timeline, and a click on a plot selects that time."""
    found = panels(ds)
    if not found:
        return ""
    drawn = "".join(f"<h4>{escape(p.title)}</h4>{_svg(p)}<p>{_legend(p)}</p>" for p in found)
    page = f"<details id='hm-plots' open><summary>Plots</summary>{drawn}</details>"
    return f"<style>{asset('plots.css')}</style>{page}<script>{asset('plots.js')}</script>"


def _svg(panel: Panel) -> str:
    (low, high), t = panel.span, panel.times
    pad = max(0.05 * (high - low), 1e-6 * max(abs(low), abs(high)), 1e-9)
    low, high = low - pad, high + pad
    x = LEFT + WIDTH * (t - t[0]) / max(float(t[-1] - t[0]), 1e-9)
    lines = []
    for k, values in enumerate(panel.curves.values()):
        up = (values - low) / (high - low)
        y = HEIGHT * (up if panel.down else 1.0 - up)
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True) if np.isfinite(b))
        lines.append(f"<polyline points='{points}' stroke='{COLOURS[k % len(COLOURS)]}'/>")
    top, bottom = (low + pad, high - pad) if panel.down else (high - pad, low + pad)
    numbers = zip((11.0, HEIGHT - 3.0), distinct(top, bottom), strict=True)
    ticks = np.linspace(float(t[0]), float(t[-1]), TICKS)
    places = LEFT + WIDTH * np.linspace(0.0, 1.0, TICKS)
    anchors, units = ("start", *["middle"] * (TICKS - 2), "end"), (*[""] * (TICKS - 1), " s")
    return (
        f"<svg width='{LEFT + WIDTH:.0f}' height='{HEIGHT + BELOW:.0f}'><rect x='{LEFT}' width='{WIDTH}' height='{HEIGHT}'/>"
        + "".join(f"<text x='{LEFT - 4}' y='{y}'>{text}</text>" for y, text in numbers)
        + "".join(
            f"<text x='{x:.1f}' y='{HEIGHT + BELOW - 4}' style='text-anchor:{anchor}'>{text}{unit}</text>"
            for x, text, anchor, unit in zip(places, distinct(*ticks), anchors, units, strict=True)
        )
        + f"{''.join(lines)}<line x1='{LEFT}' x2='{LEFT}' y2='{HEIGHT}'/></svg>"
    )


def distinct(*values: float) -> list[str]:
    """Return numbers as texts with as few digits as distinguish neighbours, at least three."""
    for digits in range(3, 16):
        texts = [f"{x:.{digits}g}" for x in values]
        if all(a != b or x == y for a, b, x, y in zip(texts, texts[1:], values, values[1:], strict=False)):
            break
    return texts


def _legend(panel: Panel) -> str:
    names = list(panel.curves)
    return " ".join(f"<b style='color:{COLOURS[k % len(COLOURS)]}'>{escape(name)}</b>" for k, name in enumerate(names))
