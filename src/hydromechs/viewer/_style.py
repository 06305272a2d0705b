"""Common style of figures: stacked panels, legends on the right, at most a few thousand points per curve."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hydromechs.files import replacing
from hydromechs.values import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#4d4d4d", "#8c6d1f", "#00a6a6")
"""Colours of curves, distinguishable by colour-blind readers; the first six are from the palette of Okabe and Ito."""
GREY, RED, INK = "#5b6770", "#c0392b", "#1d2b33"
DPI = 150
WIDTH = 7.6
"""Default width of figures [in]."""
POINTS = 4000
"""Number of points above which a curve is thinned, keeping its peaks."""


@contextlib.contextmanager
def figure(out: Path, *, height: float, width: float = WIDTH, math: bool = True) -> Iterator[Figure]:
    """Yield a figure in the common style, then save it; the global state of matplotlib is unchanged.

    Args:
        out: File to write; its suffix selects the format.
        height: Height of the figure [in].
        width: Width of the figure [in].
        math: True to render text between $ signs as a formula; False for names from files, which may contain any character.
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    own = cast(Any, {"text.parse_math": math})
    with as_file(files(__package__) / "page" / "figures.mplstyle") as style, matplotlib.rc_context(own, fname=style):
        fig = Figure(figsize=(width, height))
        FigureCanvasAgg(fig)
        cast(Any, fig.get_layout_engine()).set(h_pad=0.09, w_pad=0.08)
        yield fig
        with replacing(out) as partial:
            if out.suffix == ".png":
                _save_small(fig, partial)
            else:
                fig.savefig(partial)


def _save_small(fig: Figure, out: Path) -> None:
    """Save a figure as PNG with a palette of 256 colours: a third of the size, without visible difference."""
    from PIL import Image

    canvas = cast(Any, fig.canvas)
    canvas.draw()
    image = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    small = image.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    small.save(out, dpi=(DPI, DPI), optimize=True)


def time_panels(fig: Figure, titles_and_labels: Sequence[tuple[str, str]], time: np.ndarray) -> list[Axes]:
    """Create stacked panels with a common time axis [s]; each has a title and a value label with unit."""
    panels = list(np.atleast_1d(fig.subplots(len(titles_and_labels), 1, sharex=True)))
    for ax, (title, label) in zip(panels, titles_and_labels, strict=True):
        ax.set_title(title)
        ax.set_ylabel(label)
        _fit_time(ax, time)
    panels[-1].set_xlabel("time [s]")
    return panels


def grid_panels(fig: Figure, titles: Sequence[str], time: np.ndarray, *, columns: int = 3) -> list[Axes]:
    """Create a grid of small panels over the same time axis [s], each with its own scale and title."""
    rows = -(-len(titles) // columns)
    grid = fig.subplots(rows, columns, squeeze=False)
    flat = list(grid.flat)
    for k, ax in enumerate(flat):
        if k >= len(titles):
            ax.set_visible(False)
            continue
        ax.set_title(titles[k], fontsize=9.5)
        _fit_time(ax, time)
        if k + columns < len(titles):
            ax.tick_params(labelbottom=False)
        if k >= (rows - 1) * columns:
            ax.set_xlabel("time [s]")
    return flat[: len(titles)]


def curves(
    ax: Axes,
    time: np.ndarray,
    series: Mapping[str, np.ndarray],
    *,
    legend: bool = True,
    colours: Mapping[str, str] | None = None,
    references: Mapping[str, np.ndarray] | None = None,
) -> None:
    """Draw named curves, and their references as dotted lines; several curves have a legend on the right."""
    for k, (name, values) in enumerate(series.items()):
        colour = (colours or {}).get(name, COLOURS[k % len(COLOURS)])
        style = "-" if k < len(COLOURS) else "--"
        ax.plot(*thinned(time, np.asarray(values, dtype=float)), style, color=colour, label=name)
        if references and name in references:
            ax.plot(*thinned(time, references[name]), ":", color=colour, lw=1.0)
    if references:
        ax.plot([], [], ":", color=GREY, lw=1.0, label="reference")
    if legend and len(series) > 1:
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.03), borderaxespad=0.3)
    keep_scale(ax)


def keep_scale(ax: Axes) -> None:
    """Widen the axis to at least 1e-9 and one millionth of its values, so that rounding noise is not magnified."""
    low, high = ax.get_ylim()
    need = max(1e-9, 1e-6 * max(abs(low), abs(high)))
    if abs(high - low) < need:
        middle = 0.5 * (low + high)
        ax.set_ylim(middle - 0.5 * need, middle + 0.5 * need)


def shade(ax: Axes, time: np.ndarray, on: np.ndarray) -> None:
    """Shade the time spans in which a condition is true; `on` contains its value at each sample, shape (time,)."""
    steps = np.diff(np.concatenate([[0], np.asarray(on, dtype=int), [0]]))
    starts, ends = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1)
    half = 0.5 * float(np.median(np.diff(time))) if len(time) > 1 else 0.5
    spans = [(time[a] - half, time[b - 1] - time[a] + 2 * half) for a, b in zip(starts, ends, strict=True)]
    ax.broken_barh(spans, (0, 1), transform=ax.get_xaxis_transform(), facecolor=RED, alpha=0.18, linewidth=0, zorder=0)


def thinned(time: Array, values: Array) -> tuple[Array, Array]:
    """Return a curve with fewer points that keeps its peaks."""
    kept = kept_points([values], POINTS)
    return time[kept], values[kept]


def kept_points(curves: Iterable[Array], most: int) -> Array:
    """Return indices of samples that represent all curves: the extremes of each curve in each of `most` / 2 intervals.

    Args:
        curves: Values of the curves, shape (time,) each.
        most: Maximum number of points per curve; curves with fewer samples keep all.
    """
    rows = [np.asarray(values, dtype=float) for values in curves]
    n = max(map(len, rows), default=0)
    if n <= most:
        return np.arange(n)
    size = -(-2 * n // most)
    full = n // size * size
    start = np.arange(0, full, size)
    kept = [np.array([0, n - 1])]
    for values in rows:
        stretches = np.nan_to_num(values[:full], nan=0.0, posinf=0.0, neginf=0.0).reshape(-1, size)
        kept += [start + stretches.argmin(axis=1), start + stretches.argmax(axis=1), np.flatnonzero(~np.isfinite(values))]
    return np.unique(np.concatenate(kept))


def _fit_time(ax: Axes, time: np.ndarray) -> None:
    if len(time) > 1 and time[-1] > time[0]:
        ax.set_xlim(time[0], time[-1])
