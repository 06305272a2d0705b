"""Results of a validation as files: values, plots, and an HTML report."""

from __future__ import annotations

import base64
import html
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hydromechs import files
from hydromechs.viewer import COLOURS, figure, report_page

from ._logs import unit_of
from ._validate import Predicted, Validation


def report_of(v: Validation) -> dict[str, Any]:
    """Return all results of a validation for JSON: errors in degrees and metres."""
    channels = []
    for name in v.study.judged:
        scale, unit = unit_of(name)
        errors = scale * np.array([p.errors.get(name, math.nan) for p in v.predicted])
        row = {
            "channel": name,
            "unit": unit,
            "mean": float(np.nanmean(errors)),
            "median": float(np.nanmedian(errors)),
            "ninth": float(np.nanpercentile(errors, 90)),
            "largest": float(np.nanmax(errors)),
            "whole": scale * v.mean(name, "whole"),
        }
        if name in v.study.baseline:
            row |= {"static": scale * v.mean(name, "static"), "static_all": scale * v.static_all[name]}
        channels.append(row)
    trials = []
    for p in v.predicted:
        of_trial = {name: unit_of(name)[0] * x for name, x in p.errors.items()}
        static = {name: unit_of(name)[0] * x for name, x in p.static.items()}
        trials.append({"trial": p.trial, "motion": p.group, "errors": of_trial, "static": static})
    last = v.fits[-1]
    return {
        "decays": decays_of(v.predicted, v.study.baseline),
        "study": v.study.name,
        "title": v.study.title,
        "data": v.data,
        "seconds": v.seconds,
        "channels": channels,
        "trials": trials,
        "found": [f._asdict() for f in last.found],
        "not_converged": [f.left_out or "all" for f in v.fits if not f.converged],
        "directions": last.details["directions"],
        "whiteness": last.details["whiteness"],
        "correlated": last.details["correlated"],
        "values": last.details["values"],
        "notes": list(v.notes),
    }


def found_cells(found: dict[str, Any]) -> list[str]:
    """Return name, value, both deviations, prior value and prior deviation of a row of `found`; mark an active bound."""
    cells = [f"{found[k]:.4g}" for k in ("value", "deviation", "clustered", "before", "deviation_before")]
    if found["bound"]:
        cells[1:3] = [f"at {found['bound']} bound", "–"]
    return [found["name"], *cells]


def channel_cells(channel: dict[str, Any]) -> list[str]:
    """Return the cells of a row of `channels`: name, unit, mean, median, 90th percentile, maximum and baseline errors."""
    keys = ("mean", "median", "ninth", "largest", "whole", "static", "static_all")
    return [f"{channel['channel']} [{channel['unit']}]", *(f"{channel[k]:.3f}" if k in channel else "–" for k in keys)]


def decays_of(predicted: Sequence[Predicted], channels: Sequence[str]) -> list[dict[str, Any]]:
    """Return measured and predicted oscillations of channels after the joints have stopped, for JSON."""
    rows = []
    for p in predicted:
        for name in channels:
            both = p.decays(name)
            if both is not None:
                rows.append({"trial": p.trial, "channel": name, "measured": both[0]._asdict(), "predicted": both[1]._asdict()})
    return rows


def write_validation(v: Validation, folder: str | Path) -> Path:
    """Write results.json, predictions.csv, plots and report.html to a folder; return the path of the report."""
    folder = Path(folder)
    report = report_of(v)
    files.write_json(folder / "results.json", report, indent=1)
    lines = ["trial,channel,unit,error,static"]
    for t in report["trials"]:
        for name, x in t["errors"].items():
            lines.append(f"{t['trial']},{name},{unit_of(name)[1]},{x:.6g},{t['static'].get(name, math.nan):.6g}")
    files.write_text(folder / "predictions.csv", "\n".join(lines) + "\n")
    pictures = [_overlay(v, folder / "attitude.png", v.study.judged[:2]), _spread(v, folder / "errors.png")]
    drift = [c for c in v.study.judged[2:] if c.split(".")[1] in "xyz"]
    if drift:
        pictures.append(_overlay(v, folder / "position.png", drift, from_start=True))
    page = folder / "report.html"
    files.write_text(page, _page(v, report, pictures))
    return page


def _overlay(v: Validation, path: Path, channels: Sequence[str], *, from_start: bool = False) -> Path:
    columns = min(4, len(v.predicted))
    rows = -(-len(v.predicted) // columns)
    with figure(path, width=4.2 * columns, height=2.6 * rows, math=False) as fig:
        grid = fig.subplots(rows, columns, squeeze=False).ravel()
        for ax in grid[len(v.predicted) :]:
            ax.set_visible(False)
        for ax, p in zip(grid, v.predicted, strict=False):
            for name, colour in zip(channels, COLOURS, strict=False):
                scale, measured, simulated = unit_of(name)[0], p.measured[name], p.simulated[name]
                zero = simulated.values[0] if from_start else 0.0
                within = measured.times >= simulated.times[0]
                label = name.split(".")[1]
                ax.plot(measured.times[within], scale * (measured.values[within] - zero), color=colour, lw=1.0, label=label)
                ax.plot(simulated.times, scale * (simulated.values - zero), color=colour, lw=1.2, ls="--", dashes=(3, 2))
            ax.axvline(p.begins, color="#9aa5ad", lw=0.8)
            ax.set_title(p.trial)
        grid[0].legend()
        fig.supxlabel("time [s]; left of the grey line: fitted initial state; right: predicted from joint angles only")
        fig.supylabel(f"[{unit_of(channels[0])[1]}], measured (line) and predicted (dashed)")
    return path


def _spread(v: Validation, path: Path) -> Path:
    """Plot the errors of all trials, of the prediction and of the quasi-static balance."""
    channels, at = v.study.judged[:2], np.arange(len(v.predicted))
    with figure(path, width=10.0, height=3.2 * len(channels), math=False) as fig:
        for ax, name in zip(fig.subplots(len(channels), 1, squeeze=False).ravel(), channels, strict=True):
            scale, unit = unit_of(name)
            errors = [scale * p.errors[name] for p in v.predicted]
            ax.bar(at - 0.2, errors, 0.4, color=COLOURS[0], label="predicted, motion held out")
            if name in v.study.baseline:
                static = [scale * p.static[name] for p in v.predicted]
                ax.bar(at + 0.2, static, 0.4, color="#c9d2d8", label="quasi-static balance, motion held out")
            ax.set_xticks(at, [p.trial for p in v.predicted], rotation=60, fontsize=7)
            ax.set_ylabel(f"{name} [{unit}]")
            ax.legend()
    return path


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an HTML table with names in the first column and values in the others."""

    def line(kind: str, cells: Sequence[str]) -> str:
        others = "".join(f'<{kind} class="n">{html.escape(x)}</{kind}>' for x in cells[1:])
        return f"<tr><{kind}>{html.escape(cells[0])}</{kind}>{others}</tr>"

    body = "".join(line("td", row) for row in rows)
    return f'<div class="scroll"><table><thead>{line("th", head)}</thead><tbody>{body}</tbody></table></div>'


def _section(heading: str, content: str) -> str:
    return f"<section><h2>{heading}</h2>{content}</section>" if content else ""


def _listed(texts: Iterable[str]) -> str:
    items = "".join(f"<li>{html.escape(text)}</li>" for text in texts)
    return f"<ul>{items}</ul>" if items else ""


def _page(v: Validation, report: dict[str, Any], pictures: Sequence[Path]) -> str:
    opening = (
        f"<header><h1>{html.escape(v.study.title or v.study.name)}</h1>"
        f"<p>{len(v.predicted)} trials in {html.escape(v.data)}. Each trial is predicted by a model fitted only to trials of "
        "other motions, from its joint angles and the measurements before the motion. Errors are root mean squares from the "
        "start of the motion to the end of the trial.</p></header>"
    )
    head = ["channel", "mean", "median", "90th percentile", "maximum", "including the time before"]
    errors = _table(
        [*head, "statics, held out", "statics, fitted to all trials"], [channel_cells(c) for c in report["channels"]]
    )
    drawn = "".join(
        f'<figure><img alt="{path.stem}" src="data:image/png;base64,{base64.b64encode(path.read_bytes()).decode()}"></figure>'
        for path in pictures
    )
    swings = [
        [
            f"{d['trial']}, {d['channel']}",
            *(f"{d[x][k]:.3f}" for k in ("frequency", "ratio") for x in ("measured", "predicted")),
            f"{unit_of(d['channel'])[0] * d['measured']['amplitude']:.2f}",
        ]
        for d in report["decays"]
    ]
    head = ["frequency [rad/s], measured", "predicted", "damping ratio, measured", "predicted", "amplitude [°]"]
    decays = _table(["trial, channel", *head], swings) if swings else ""
    head = ["number", "value", "deviation", "from scatter between trials", "before", "deviation before"]
    found = _table(head, [found_cells(f) for f in report["found"]])
    weak = _listed(f"{text} (information relative to the prior: {x:.2f})" for x, text in report["directions"])
    pairs = _listed(f"{a} and {b}: {c:+.3f}" for a, b, c in report["correlated"])
    weak = weak or "<p>None: the data add more information than the prior in all directions.</p>"
    pairs = f"<p>Correlations above 0.9:</p>{pairs}" if pairs else "<p>No correlation is above 0.9.</p>"
    white = [
        [w[0], f"{unit_of(w[0])[0] * w[1]:.3g} {unit_of(w[0])[1]}", f"{w[2]:.2f}", f"{w[3]:.2f}"] for w in report["whiteness"]
    ]
    residuals = _table(["channel", "rms", "correlation of consecutive residuals", "correlation time [s]"], white)
    if report["not_converged"]:
        names = html.escape(", ".join(report["not_converged"]))
        residuals += f"<p><b>Not converged:</b> {names}; the best result so far was used.</p>"
    sections = (
        opening,
        _section("Errors of the predictions", errors + drawn),
        _section("Free decay after the joints have stopped", decays),
        _section("Estimates from all trials", found),
        _section("Not determined by the data", weak + pairs),
        _section("Residuals", residuals),
        _section("Processing of the logs", _listed(v.notes)),
    )
    return report_page(v.study.name, sections)
