"""What matters: the same cross-validation with other models, and what each of them costs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._machine import machine
from ._campaign import read_campaign
from ._report import unit_of
from ._shared_work import Iteration, Telling, in_processes
from ._study import Study
from ._validate import fit, predictions, problem_of

__all__ = ["compare_variants"]

BASE = "the model of the study"


class Fold(NamedTuple):
    """What one fit of one model gave."""

    model: str
    """Name of the variant."""
    errors: dict[str, dict[str, float]]
    """By trial, by channel, in the channel's unit."""
    converged: bool
    """Whether the fit ended by itself."""
    iterations: int
    """Of the fit."""
    fault: str = ""
    """Why there is no fit."""


def compare_variants(
    study: Study,
    data: str | Path,
    *,
    folds: int = 0,
    workers: int | None = None,
    told: Callable[[str], None] = lambda text: None,
    telling: Telling = lambda iteration: None,
) -> dict[str, Any]:
    """Predict all trials with the model of a study and with each of its variants, in the same way; a report for JSON.

    A variant is fitted to the same trials as the model of the study, and its search begins where that of the model ended.

    Args:
        study: What to do.
        data: Folder of the logs.
        folds: Into how many parts motions are dealt, of which one at a time is not seen; as many as there are motions for 0.
        workers: Processes that share the work; as many as there are processors unless given.
        told: Called with lines that say what is done.
        telling: Called after each iteration of a fit.
    """
    if not study.variants:
        raise ValueError(f"{study.name} has no variants; its key variants names them")
    began = time.perf_counter()
    campaign = read_campaign(study, data)
    groups = campaign.groups
    count = folds or len(groups)
    if not 2 <= count <= len(groups):
        raise ValueError(f"folds is {folds}, must be 2 to {len(groups)}, the number of motions in {data}")
    jobs = [tuple(groups[k::count]) for k in range(count)]
    told(f"{len(campaign.trials)} trials of {len(groups)} motions, {count} fits of each of {1 + len(study.variants)} models")
    found: list[Fold] = []
    for job, results in in_processes(
        partial(_fold, study, str(data)), jobs, min(count, workers or os.cpu_count() or 1), telling
    ):
        found += results
        told(f"without {', '.join(job)}: {time.perf_counter() - began:.0f} s since the start")
    rows = [_row(study, name, found) for name in (BASE, *study.variants)]
    for row in rows:
        differences = {c: _differences(row, rows[0], c) for c in row["mean"]}
        row["more"] = {c: float(np.nanmean(x)) for c, x in differences.items()}
        row["uncertain"] = {c: float(np.nanstd(x, ddof=1) / np.sqrt(np.isfinite(x).sum())) for c, x in differences.items()}
    return {
        "study": study.name,
        "title": study.title,
        "trials": len(campaign.trials),
        "motions": len(groups),
        "folds": count,
        "step": study.step,
        "units": {name: unit_of(name)[1] for name in study.judged},
        "variants": rows,
        "seconds": time.perf_counter() - began,
        "machine": machine(),
    }


def _row(study: Study, name: str, found: Sequence[Fold]) -> dict[str, Any]:
    """Means and medians of a model over all trials, in degrees and metres."""
    of_model = [f for f in found if f.model == name]
    faults = sorted({f.fault for f in of_model if f.fault})
    if faults:
        return {
            "name": name,
            "mean": {},
            "median": {},
            "trials": {},
            "not_converged": len(of_model),
            "fault": "; ".join(faults),
        }
    trials = {
        trial: {c: unit_of(c)[0] * x for c, x in errors.items()} for f in of_model for trial, errors in sorted(f.errors.items())
    }
    columns = {c: np.array([e.get(c, np.nan) for e in trials.values()]) for c in study.judged}
    return {
        "name": name,
        "mean": {c: float(np.nanmean(x)) for c, x in columns.items()},
        "median": {c: float(np.nanmedian(x)) for c, x in columns.items()},
        "not_converged": sum(not f.converged for f in of_model),
        "trials": trials,
        "fault": "",
    }


def _differences(row: dict[str, Any], base: dict[str, Any], channel: str) -> np.ndarray:
    """How much larger the errors of each trial are, shape (n,)."""
    return np.array([row["trials"][t].get(channel, np.nan) - e.get(channel, np.nan) for t, e in base["trials"].items()])


def _fold(study: Study, data: str, left_out: tuple[str, ...], telling: Telling) -> list[Fold]:
    """All models, each fitted to all trials but those of some motions, and what they say of these."""
    out: list[Fold] = []
    start: dict[tuple[str, float, float], float] = {}  # by name, value and deviation before any data
    for name in (BASE, *study.variants):
        campaign = read_campaign(study if name == BASE else study.varied(name), data)
        known = [r for r in campaign.trials if r.group not in left_out]
        unseen = [r for r in campaign.trials if r.group in left_out]
        what, empty = f"{name}, without {', '.join(left_out)}", problem_of(campaign, known[:1])
        known_before = list(zip(empty.labels, empty.guess.tolist(), empty.deviation.tolist(), strict=True))
        shared = np.array([start.get(key, key[1]) for key in known_before])
        try:
            s = fit(campaign, known, shared=shared, telling=_telling(telling, what)).solution
        except ValueError as error:
            if name == BASE:
                raise
            out.append(Fold(name, {}, False, 0, str(error)))
            continue
        if name == BASE:
            start = dict(zip(known_before, s.shared.tolist(), strict=True))
        rows = predictions(campaign, known, unseen, s.shared)
        out.append(Fold(name, {p.trial: p.errors for p in rows}, s.converged, s.iterations))
    return out


def _telling(telling: Telling, what: str) -> Callable[[int, float, float], None]:
    return lambda i, cost, damping: telling(Iteration(what, i, cost))
