"""Report of a run as a self-contained HTML file: summary, checks, scene, plots, energy audit, setup."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from hydromechs.errors import grouped
from hydromechs.files import write_text
from hydromechs.recording import STORED_ENERGIES, CheckResult, RunWarning, Summary

from ._client import PageContent, page_html, plots_section, stage, time_marks
from ._scene import Scene

if TYPE_CHECKING:
    import xarray

PASSED = '<span class="badge good">✓ passed</span>'
FAILED = '<span class="badge bad">✗ failed</span>'
WARNING = '<span class="badge warn">! warning</span>'
EXPECTED = '<span class="badge none">expected</span>'
AUDIT_CLOSES = 0.01
"""Maximum ratio of residual to exchanged energy for which the audit counts as closed."""


def write_report(ds: xarray.Dataset, summary: Summary, path: str | os.PathLike[str], *, scene: Scene | None = None) -> Path:
    """Write the report of a run as an HTML file that needs no network: scene, plots, checks, energy audit, setup.

    Args:
        ds: Recording of the run; the report also shows its attributes.
        summary: Summary of the run; the report omits missing parts.
        path: File to write.
        scene: Scene of the run, from `recording_scene`. Defaults to no scene.
    """
    path = Path(path)
    title = summary.title or str(ds.attrs.get("title") or "Simulation")
    marks, messages = time_marks(summary.messages)
    content = PageContent(scene=scene, recordings=[("", ds)], marks=marks)
    sections = [
        _head(ds, summary, title),
        _cards(summary),
        _warnings(summary.warnings),
        _messages(ds, messages),
        bench(content),
        _checks(summary.checks),
        _audit(summary),
        _setup(ds, summary),
    ]
    write_text(path, report_page(title, sections, _foot(ds), content=content))
    return path


def report_page(title: str, sections: Iterable[str], foot: str = "", *, content: PageContent | None = None) -> str:
    """Return an HTML page in the style of reports.

    Args:
        title: Title, as plain text.
        sections: HTML of the sections; empty ones are omitted.
        foot: HTML of the footer.
        content: Scene and plots. Defaults to a page without scripts.
    """
    body = "\n".join(section for section in sections if section)
    return page_html(title, f"<main>\n{body}\n</main>\n<footer>{foot}</footer>", content=content)


def bench(content: PageContent) -> str:
    """Return the HTML of the scene, with events and pictures, beside the plots."""
    plots = plots_section(content)
    left = stage(content)
    if content.marks:
        lines = (line.split("\t", 1) for line in grouped(f"{_seconds(mark.t)}\t{mark.text}" for mark in content.marks))
        items = "".join(f"<li><time>{t}</time> {escape(text)}</li>" for t, text in lines)
        left += f'<section><h2>Events</h2><ul class="events">{items}</ul></section>'
    if content.scene is not None:
        left += '<section><h2>Snapshots</h2><div id="moments"></div></section>'
    if not plots or not left:
        return f'<section id="plots"><h2>Plots</h2>{plots}</section>' if plots else left
    return f'<div class="bench"><div class="left">{left}</div><section id="plots"><h2>Plots</h2>{plots}</section></div>'


def _head(ds: xarray.Dataset, summary: Summary, title: str) -> str:
    checks = summary.checks
    passed = sum(c.passed for c in checks)
    if summary.diverged is not None:
        verdict = ("bad", "Run diverged")
    elif ds.attrs.get("finished") == 0:
        verdict = ("bad", "Run is incomplete")
    elif not checks:
        verdict = ("none", "Run finished; no checks are defined")
    elif passed == len(checks):
        verdict = ("good", "Check passed" if passed == 1 else f"All {passed} checks passed")
    else:
        verdict = ("bad", f"{len(checks) - passed} of {len(checks)} checks failed")
    if summary.unexpected and verdict[0] != "bad":
        count = len(summary.unexpected)
        verdict = ("warn", f"{verdict[1]}, but {count} warning{'' if count == 1 else 's'}")
    description = escape(summary.description).replace("\n\n", "</p><p>")
    return (
        f'<header><p class="brand">HydroMechs simulation report</p><h1>{escape(title)}</h1>'
        f'<p class="verdict {verdict[0]}">{verdict[1]}</p>'
        + (f'<p class="lead">{description}</p>' if description else "")
        + f"<p>{_sentences(ds, summary)}</p></header>"
    )


def _sentences(ds: xarray.Dataset, summary: Summary) -> str:
    out = []
    model = summary.model or ds.attrs.get("model")
    of = f" of <b>{escape(str(model))}</b>" if model else ""
    if summary.duration is not None:
        took = f" in {_seconds(summary.wall_time)} of wall-clock time" if summary.wall_time is not None else ""
        factor, speed = summary.real_time_factor, ""
        if factor is not None and math.isfinite(factor) and factor > 0:
            speed = f" ({_number(factor, 3)} times real time)"
        out.append(f"This run simulated {_seconds(summary.duration)}{of}{took}{speed}.")
    if summary.diverged is not None:
        out.append("The run then diverged, so its last samples, checks and energies are not meaningful.")
        return " ".join(out)
    failed = [escape(c.name) for c in summary.checks if not c.passed]
    if summary.checks and not failed:
        out.append("All checks are within their limits.")
    elif failed:
        limits = "Check outside its limit" if len(failed) == 1 else "Checks outside their limits"
        out.append(f"{limits}: {', '.join(failed)}.")
    relative = summary.residual_relative
    if relative is not None and math.isfinite(relative):
        if relative <= AUDIT_CLOSES:
            out.append(f"The energy audit closes to within {_percent(relative)} of the exchanged energy.")
        else:
            out.append(
                f"The energy audit does not close: {_percent(relative)} of the exchanged energy is unaccounted for. "
                "Use a shorter step."
            )
    return " ".join(out)


def _cards(summary: Summary) -> str:
    cards = []
    if summary.duration is not None:
        cards.append(("Simulated time", _seconds(summary.duration), ""))
    if summary.real_time_factor is not None:
        note = f"{_seconds(summary.wall_time)} of wall-clock time" if summary.wall_time is not None else ""
        cards.append(("Speed", f"{_number(summary.real_time_factor, 3)} ×", f"real time; {note}" if note else "real time"))
    if summary.late_steps is not None:
        note = "in real time" if summary.late_steps else "kept pace with real time"
        cards.append(("Missed deadlines", _number(summary.late_steps), note))
    if summary.checks:
        passed = f"{sum(c.passed for c in summary.checks)} of {len(summary.checks)}"
        cards.append(("Checks passed", passed, '<a href="#checks">values and limits</a>'))
    place = next((c for c in summary.checks if c.quantity.startswith("position.")), None)
    if place is not None:
        unit = _unit(place.unit)
        cards.append((escape(_words(place.name)), f"{_number(place.value, 3)}{unit}", f"must be {escape(place.limit)}{unit}"))
    if summary.residual is not None and summary.diverged is None:
        relative = summary.residual_relative
        note = f"{_percent(relative)} of the exchanged energy" if relative is not None else ""
        cards.append(("Energy residual", f"{_number(summary.residual, 2)}&nbsp;J", note))
    items = "".join(
        f'<div class="card"><div class="label">{label}</div><div class="value">{value}</div>'
        f'<div class="note">{note}</div></div>'
        for label, value, note in cards
    )
    return f'<section class="cards">{items}</section>' if cards else ""


def _messages(ds: xarray.Dataset, messages: list[str]) -> str:
    if ds.attrs.get("finished") == 0:
        messages = ["The run is incomplete; the report shows the part that was recorded.", *messages]
    if not messages:
        return ""
    items = "".join(f"<li>{escape(m).replace(' %', '&nbsp;%')}</li>" for m in grouped(messages))
    return f'<section class="messages"><h2>Notes</h2><ul>{items}</ul></section>'


def _warnings(warnings: Sequence[RunWarning]) -> str:
    rows = [
        f"<tr><td>{EXPECTED if w.expected else WARNING}</td>"
        f"<td><b>{escape(_words(w.kind))}: {escape(w.item)}</b>{_note(w.text)}</td>"
        f'<td class="n">{_number(w.time, 4)}&nbsp;s</td><td class="n">{_measured(w.value, w.unit)}</td>'
        f'<td class="n">{_measured(w.limit, w.unit)}</td></tr>'
        for w in sorted(warnings, key=lambda w: w.expected)
    ]
    return _table("Warnings", ("", "Condition", ">First at", ">Worst value", ">Limit"), rows, kind="messages")


def _measured(x: float, unit: str) -> str:
    return _number(x, 3) + _unit(unit)


def _checks(checks: Sequence[CheckResult]) -> str:
    rows = [
        f"<tr><td>{PASSED if c.passed else FAILED}</td><td><b>{escape(c.name)}</b>{_note(c.text)}</td>"
        f'<td class="n">{_value(c.value)}{_unit(c.unit)}</td><td class="n">{_value(c.limit)}{_unit(c.unit)}</td></tr>'
        for c in checks
    ]
    return _table("Checks", ("Result", "Check", ">Value", ">Limit"), rows, name="checks")


def _unit(unit: str) -> str:
    return "" if unit in ("", "1") else f"&nbsp;{escape('°' if unit == 'deg' else unit)}"


def _table(title: str, columns: Sequence[str], rows: Sequence[str], kind: str = "", name: str = "") -> str:
    """Return a section with a table, or an empty text without rows; a column whose name starts with > contains numbers.

    Args:
        title: Title of the section.
        columns: Names of the columns.
        rows: HTML of the rows.
        kind: CSS class of the section.
        name: Element ID of the section, the target of links.
    """
    if not rows:
        return ""
    head = "".join(f'<th class="n">{c[1:]}</th>' if c.startswith(">") else f"<th>{c}</th>" for c in columns)
    table = f'<table class="checks"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    opening = "<section" + (f' class="{kind}"' if kind else "") + (f' id="{name}">' if name else ">")
    return f"{opening}<h2>{title}</h2>{table}</section>"


def _note(text: str) -> str:
    return f'<div class="note">{escape(str(text))}</div>' if text else ""


def _audit(summary: Summary) -> str:
    """Return the section with the energy audit: work by cause with bars, change of stored energy, residual."""
    if not summary.work:
        return ""
    largest = max((abs(v) for v in summary.work.values() if math.isfinite(v)), default=0.0) or 1.0
    rows = []
    for cause, work in summary.work.items():
        width = 50.0 * min(1.0, abs(work) / largest) if math.isfinite(work) else 0.0
        side = "left:50%" if work >= 0 else f"left:{50.0 - width:.2f}%"
        bar = f'<div class="bar"><i class="{"in" if work >= 0 else "out"}" style="{side};width:{width:.2f}%"></i></div>'
        rows.append(f'<tr><td>{escape(_words(cause))}</td><td class="bars">{bar}</td><td class="n">{_number(work)}</td></tr>')
    rows.append(_audit_row("Sum of all work", summary.total_work, "sum"))
    for name, change in summary.stored.items():
        if change:
            rows.append(_audit_row(f"Change of {STORED_ENERGIES.get(name, _words(name))}", change))
    if summary.stored:
        rows.append(_audit_row("Change of stored energy", summary.stored_change, "sum"))
    if summary.residual is not None:
        note = ""
        if summary.residual_relative is not None:
            note = f'<span class="note">, {_percent(summary.residual_relative)} of the exchanged energy</span>'
        if summary.residual_before is not None:
            before = _number(summary.residual_before, 2)
            note += f'<span class="note">, since the resume; {before}&nbsp;J before it</span>'
        rows.append(
            f'<tr class="sum"><td colspan="2">Maximum residual{note}</td><td class="n">{_number(summary.residual, 2)}</td></tr>'
        )
    return (
        '<section><h2>Energy audit</h2><p class="caption">Work done by each cause on the mechanism and the water around it. '
        "Bars to the right show energy that is added; bars to the left show energy that is removed. The sum should equal the "
        "change of kinetic, potential and elastic energy. The residual is the difference, a numerical error. Its maximum over "
        "the run is shown.</p>"
        '<table class="audit"><thead><tr><th>Cause</th><th class="bars"></th><th class="n">Work [J]</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></section>"
    )


def _audit_row(label: str, energy: float, kind: str = "") -> str:
    row = f'<tr class="{kind}">' if kind else "<tr>"
    return f'{row}<td colspan="2">{escape(label)}</td><td class="n">{_number(energy)}</td></tr>'


def _setup(ds: xarray.Dataset, summary: Summary) -> str:
    rows = "".join(f"<tr><th>{escape(str(label))}</th><td>{escape(str(text))}</td></tr>" for label, text in summary.setup)
    scenario = str(ds.attrs.get("scenario") or "").strip()
    file = f"<details><summary>Scenario file</summary><pre>{escape(scenario)}</pre></details>" if scenario else ""
    if not rows and not file:
        return ""
    return f'<section><h2>Setup</h2><table class="setup"><tbody>{rows}</tbody></table>{file}</section>'


def _foot(ds: xarray.Dataset) -> str:
    parts = ["Created by HydroMechs" + (f" {ds.attrs['hydromechs']}" if ds.attrs.get("hydromechs") else "")]
    for label, key in (("recorded", "created"), ("seed", "seed")):
        if ds.attrs.get(key) not in (None, ""):
            parts.append(f"{label} {ds.attrs[key]}")
    return escape(" · ".join(parts))


def _words(name: str) -> str:
    words = name.replace("_", " ")
    return words[:1].upper() + words[1:]


def _value(x: object) -> str:
    if x is None or x == "":
        return "–"
    return _number(x) if isinstance(x, int | float) and not isinstance(x, bool) else escape(str(x))


def _number(x: float, digits: int = 4) -> str:
    """Return a number as HTML with a few significant digits; very large and small numbers have a power of ten."""
    x = float(x)
    if not math.isfinite(x):
        return "not finite" if math.isnan(x) else ("∞" if x > 0 else "−∞")
    if x == 0.0:
        return "0"
    mantissa, _, power = f"{x:.{digits - 1}e}".partition("e")
    exponent = int(power)
    if -4 < exponent < 6:
        text = f"{x:,.{max(0, digits - 1 - exponent)}f}"
        if "." in text:
            text = text.rstrip("0").rstrip(".")
        return text.replace(",", "\u202f").replace("-", "−")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa.replace('-', '−')}\u202f×\u202f10<sup>{str(exponent).replace('-', '−')}</sup>"


def _percent(ratio: float) -> str:
    """Return a ratio as text in percent, or with a power of ten if it is below 1e-6."""
    return f"{_number(100.0 * ratio, 2)} %" if abs(ratio) >= 1e-6 or ratio == 0 else f"{_number(ratio, 2)}"


def _seconds(x: float) -> str:
    x = float(x)
    if not math.isfinite(x) or abs(x) < 600:
        return f"{_number(x, 3)} s"
    return f"{_number(x / 60, 3)} min" if abs(x) < 7200 else f"{_number(x / 3600, 3)} h"
