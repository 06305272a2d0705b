"""HTML page with the results of many runs: success rate, distributions of check values, reasons for early ends."""

import math
import os
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hydromechs.files import write_text
from hydromechs.values import Array

from ._report import _number as number_text
from ._report import _table as section_table
from ._report import report_page

BINS = 60
"""Number of bins of a histogram."""
WIDTH, HEIGHT, BASE = 860, 220, 190
"""Width and height of a histogram, and height of its axis [pixel]."""
LEFT, RIGHT = 46, 844
"""Left and right ends of the axis [pixel]."""
INSIDE, OUTSIDE, LIMIT = "#0072b2", "#d55e00", "#b3261e"
"""Colours of bars within the limits, of bars outside them, and of the limits."""
FAR = 3.0
"""Maximum distance of a limit from the values at which it is drawn to scale, relative to the range of the values."""


class Distribution(NamedTuple):
    """Values of a check in many runs."""

    name: str
    """Name of the check."""
    text: str
    """Description of the statistic and quantity."""
    limit: str
    """Description of the required value."""
    below: float | None
    """Upper limit, if any."""
    above: float | None
    """Lower limit, if any."""
    values: Array
    """Values of the runs, shape (n,); NaN if missing."""
    passed: int
    """Number of runs that passed the check."""
    interval: tuple[float, float]
    """95 % confidence interval of the pass rate, each from 0 to 1."""
    worst: Sequence[tuple[int, float]]
    """Numbers and values of the worst runs: nearest to the limits, or farthest outside."""


def write_distributions(
    path: str | os.PathLike[str],
    checks: Sequence[Distribution],
    *,
    title: str,
    description: str = "",
    passed: int,
    runs: int,
    planned: int,
    interval: tuple[float, float],
    ended: Mapping[str, Sequence[int]],
    capsized: Sequence[int] = (),
    setup: Sequence[tuple[str, str]],
    replay: str,
    foot: str = "",
) -> Path:
    """Write the page of many runs: no scripts, nothing from a network.

    Args:
        path: The file to write.
        checks: Values of each check.
        title: Title.
        description: Description.
        passed: Runs that passed all checks.
        runs: Finished runs.
        planned: Planned runs.
        interval: Confidence interval of the success rate.
        ended: Runs that ended early by reason.
        capsized: Runs in which a vehicle capsized.
        setup: Labels and texts of the set-up.
        replay: Command that replays a run, to which the run number is appended.
        foot: Text at the end.
    """
    path = Path(path)
    unfinished = f", {runs} of {planned} finished" if runs < planned else ""
    share = f"{100.0 * passed / runs:.1f} %" if runs else "–"
    lead = "".join(f'<p class="lead">{escape(part)}</p>' for part in description.split("\n\n") if part.strip())
    head = (
        f'<header><p class="brand">HydroMechs campaign</p><h1>{escape(title)}</h1>'
        f'<p class="verdict none">{share} of {runs} worlds passed{unfinished}</p>{lead}</header>'
    )
    early = sum(map(len, ended.values()))
    cards = [
        ("Success rate", share, f"95 % interval {interval_text(interval)}"),
        ("Worlds", f"{runs}", f"{passed} passed all checks" if checks else "no checks set"),
        ("Ended early", f"{early}", "stopped by events, errors or divergence" if early else ""),
    ]
    if capsized:
        cards.append(("Capsized", f"{len(capsized)}", f"first: world {capsized[0]}"))
    shown = "".join(
        f'<div class="card"><div class="label">{a}</div><div class="value">{b}</div><div class="note">{c}</div></div>'
        for a, b, c in cards
    )
    rows = [
        f"<tr><td>{100.0 * c.passed / max(1, len(c.values)):.1f}&nbsp;%</td><td><b>{escape(c.name)}</b>"
        f'<div class="note">{escape(c.text)}; 95 % interval {interval_text(c.interval)}</div></td>'
        f'<td class="n">{number_text(_median(c.values))}</td><td class="n">{escape(c.limit)}</td></tr>'
        for c in checks
    ]
    figures = "".join(_figure(c, replay) for c in checks)
    reasons = [
        f'<tr><td>{len(worlds)}</td><td>{escape(reason)}<div class="note">{_worlds(worlds)}</div></td></tr>'
        for reason, worlds in ended.items()
    ]
    settings = "".join(f"<tr><th>{escape(label)}</th><td>{escape(text)}</td></tr>" for label, text in setup)
    sections = [
        head,
        f'<section class="cards">{shown}</section>',
        section_table("Checks", ("Passed", "Check", ">Median", ">Limit"), rows),
        f'<section class="plots"><h2>Distributions</h2>{figures}</section>' if figures else "",
        section_table("Worlds that ended early", ("Worlds", "Reason"), reasons),
        f'<section><h2>Set-up</h2><table class="setup"><tbody>{settings}</tbody></table></section>',
    ]
    write_text(path, report_page(title, sections, escape(foot)))
    return path


def interval_text(interval: tuple[float, float]) -> str:
    """Return a confidence interval as text, such as "91.2 to 94.8 %"."""
    return f"{100.0 * interval[0]:.1f} to {100.0 * interval[1]:.1f} %"


def _median(values: Array) -> float:
    good = values[np.isfinite(values)]
    return float(np.median(good)) if good.size else math.nan


def _worlds(worlds: Sequence[int], most: int = 12) -> str:
    more = f" and {len(worlds) - most} more" if len(worlds) > most else ""
    return f"world{'' if len(worlds) == 1 else 's'} {', '.join(map(str, worlds[:most]))}{more}"


def _figure(c: Distribution, replay: str) -> str:
    worst = ", ".join(f"world {world} ({number_text(value, 3)})" for world, value in c.worst)
    missing = int(np.count_nonzero(~np.isfinite(c.values)))
    none = f" {missing} world{'' if missing == 1 else 's'} ended without a value." if missing else ""
    see = f"<br>Worst: {worst}. Replay one: <code>{escape(replay)} {c.worst[0][0]}</code>" if c.worst else ""
    caption = f"{escape(c.text)}; required: {escape(c.limit)}.{none}{see}"
    return f'<figure><h3>{escape(c.name)}</h3><p class="caption">{caption}</p><div class="scroll">{histogram(c)}</div></figure>'


def histogram(c: Distribution) -> str:
    """Return a histogram of the values of a check, with its limits, as SVG."""
    good = c.values[np.isfinite(c.values)]
    if not good.size:
        return ""
    low, high = float(good.min()), float(good.max())
    width = high - low
    near = [x for x in (c.below, c.above) if x is not None and low - FAR * width <= x <= high + FAR * width]
    low, high = min([low, *near]), max([high, *near])
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        pad = 0.5 * (abs(low) or 1.0)
        low, high = low - pad, high + pad
    # place an edge at a limit, so that no bar mixes values inside and outside
    edges = np.unique(np.concatenate([np.linspace(low, high, BINS + 1), near]))
    edges = edges[np.concatenate([[True], np.diff(edges) > 1e-9 * (high - low)])]
    counts, edges = np.histogram(good, np.concatenate([edges[:-1], [max(edges[-1], high)]]))
    tall = int(counts.max())

    def x(value: float) -> float:
        return LEFT + (RIGHT - LEFT) * (value - low) / (high - low)

    out = []
    for count, a, b in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        middle, h = 0.5 * (a + b), (BASE - 24) * count / tall
        outside = (c.below is not None and middle >= c.below) or (c.above is not None and middle <= c.above)
        colour = OUTSIDE if outside else INSIDE
        if count:
            wide = max(1.0, x(b) - x(a) - 1.0)
            out.append(
                f'<rect x="{x(a):.1f}" y="{BASE - h:.1f}" width="{wide:.1f}" height="{h:.1f}" fill="{colour}">'
                f"<title>{count} worlds from {a:.4g} to {b:.4g}</title></rect>"
            )
    for k in range(6):
        value = low + (high - low) * k / 5.0
        anchor = "start" if k == 0 else "end" if k == 5 else "middle"
        out.append(f'<text x="{x(value):.1f}" y="{BASE + 20}" text-anchor="{anchor}">{value:.4g}</text>')
    for limit in near:
        anchor = "end" if x(limit) > 0.8 * WIDTH else "start"
        side = -5 if anchor == "end" else 5
        out.append(
            f'<line x1="{x(limit):.1f}" x2="{x(limit):.1f}" y1="6" y2="{BASE}" stroke="{LIMIT}" stroke-width="2" '
            f'stroke-dasharray="5 4"/><text x="{x(limit) + side:.1f}" y="16" text-anchor="{anchor}" fill="{LIMIT}">'
            f"limit {limit:g}</text>"
        )
    for limit in (x for x in (c.below, c.above) if x is not None and x not in near):
        at, anchor, text = (RIGHT, "end", f"limit {limit:g} →") if limit > high else (LEFT, "start", f"← limit {limit:g}")
        out.append(f'<text x="{at}" y="16" text-anchor="{anchor}" fill="{LIMIT}">{text}</text>')
    axis = f'<line x1="{LEFT}" x2="{RIGHT}" y1="{BASE}" y2="{BASE}" stroke="#5b6770"/>'
    top = f'<text x="{LEFT - 6}" y="30" text-anchor="end">{tall}</text>'
    label = escape(f"Histogram of {c.name}: {good.size} worlds from {low:.4g} to {high:.4g}")
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="100%" style="max-width:{WIDTH}px" role="img" aria-label="{label}" '
        f'font-size="12" fill="#5b6770">{"".join(out)}{axis}{top}</svg>'
    )
