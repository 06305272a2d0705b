"""Sensitivity to assumptions: cross-validation of model variants, and the increase of their errors."""

import hashlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hydromechs import files
from hydromechs.bench import machine

from ._campaign import Campaign, read_campaign
from ._logs import unit_of
from ._study import ValidationStudy
from ._validate import Iteration, Progress, fit, in_processes, predictions

BASE = "the model of the study"


class Fold(NamedTuple):
    """Result of one fit of one model."""

    model: str
    errors: dict[str, dict[str, float]]
    """Root mean square errors by trial and channel, in the unit of the channel."""
    converged: bool
    """True if the fit converged."""
    iterations: int
    fault: str = ""
    """Reason for a failed fit."""
    start: dict[str, Any] = {}
    """Initial values for fits of other models: shared unknowns and unknowns of each trial."""


def compare_variants(
    study: ValidationStudy,
    data: str | Path,
    *,
    folds: int = 0,
    kept: str | Path | None = None,
    workers: int | None = None,
    on_message: Callable[[str], None] = lambda text: None,
    progress: Progress = lambda iteration: None,
) -> dict[str, Any]:
    """Predict all trials with the model of a study and with each of its variants; return a report for JSON.

    A variant is fitted to the same trials as the model of the study, and its search starts at the estimates of that model.

    Args:
        data: Folder of the logs.
        folds: Number of groups of motions, each held out once; 0 for one group per motion.
        kept: Folder for completed fits. Fits of the same study, model and logs are reused, so that an interrupted run can
            resume. If omitted, fits are not stored.
        workers: Number of parallel processes; defaults to the number of processors.
        on_message: Callback for progress messages.
        progress: Callback after each iteration of a fit.
    """
    if not study.variants:
        raise ValueError(f"{study.name} has no variants; add them under the key 'variants'")
    began = time.perf_counter()
    campaign = read_campaign(study, data)
    groups = campaign.groups
    count = folds or len(groups)
    if not 2 <= count <= len(groups):
        raise ValueError(
            f"folds is {folds}, outside [2, {len(groups)}]; use at most {len(groups)}, the number of motions in {data}"
        )
    jobs = [tuple(groups[k::count]) for k in range(count)]
    models = 1 + len(study.variants)
    on_message(f"{len(campaign.trials)} trials of {len(groups)} motions, {count} fits of each of {models} models")
    found: list[Fold] = []
    work, processes = partial(_fold, study, str(data), None if kept is None else Path(kept)), workers or os.cpu_count() or 1
    for job, results in in_processes(work, jobs, min(count, processes), progress):
        found += results
        on_message(f"without {', '.join(job)}: {time.perf_counter() - began:.0f} s elapsed")
    rows = _rows(study, found)
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


def _rows(study: ValidationStudy, found: Sequence[Fold]) -> list[dict[str, Any]]:
    """Return the results of each model, with errors relative to the model of the study."""
    rows = [_row(study, name, found) for name in (BASE, *study.variants)]
    for row in rows:
        differences = {c: _differences(row, rows[0], c) for c in row["mean"]}
        row["more"] = {c: float(np.nanmean(x)) for c, x in differences.items()}
        row["uncertain"] = {c: float(np.nanstd(x, ddof=1) / np.sqrt(np.isfinite(x).sum())) for c, x in differences.items()}
    return rows


def _row(study: ValidationStudy, name: str, found: Sequence[Fold]) -> dict[str, Any]:
    """Return mean and median errors of a model over all predicted trials, in degrees and metres."""
    of_model = [f for f in found if f.model == name]
    trials = {
        trial: {c: unit_of(c)[0] * x for c, x in errors.items()} for f in of_model for trial, errors in sorted(f.errors.items())
    }
    columns = {c: np.array([e.get(c, np.nan) for e in trials.values()]) for c in study.judged} if trials else {}
    return {
        "name": name,
        "mean": {c: float(np.nanmean(x)) for c, x in columns.items()},
        "median": {c: float(np.nanmedian(x)) for c, x in columns.items()},
        "not_converged": sum(not f.converged for f in of_model),
        "trials": trials,
        "fault": "; ".join(sorted({f.fault for f in of_model if f.fault})),
    }


def _differences(row: dict[str, Any], base: dict[str, Any], channel: str) -> np.ndarray:
    """Return the difference of errors to the model of the study for each trial, NaN for unpredicted trials, shape (n,)."""
    return np.array([row["trials"].get(t, {}).get(channel, np.nan) - e.get(channel, np.nan) for t, e in base["trials"].items()])


def _fold(study: ValidationStudy, data: str, kept: Path | None, left_out: tuple[str, ...], progress: Progress) -> list[Fold]:
    """Fit each model to all trials except those of `left_out` motions, and predict these."""
    out: list[Fold] = []
    start: dict[str, Any] = {}
    for name in (BASE, *study.variants):
        campaign = read_campaign(study if name == BASE else study.varied(name), data)
        file = None if kept is None else kept / f"{_key(campaign, data, left_out, start)}.json"
        if file is not None and file.exists():
            fold = _kept(file)
        else:
            fold = _fitted(campaign, name, left_out, start, progress)
        if name == BASE:
            start = fold.start
        out.append(fold)
        if file is not None and not file.exists():
            files.write_json(file, fold._asdict())
    return out


def _kept(file: Path) -> Fold:
    try:
        fold = Fold(**files.read_json(file))
        np.array([*(x for e in fold.errors.values() for x in e.values()), *fold.start.get("shared", {}).values()], dtype=float)
        np.array(fold.start.get("own", []), dtype=float)
        if {type(x) for x in fold} == {str, dict, bool, int} and isinstance(fold.fault, str):
            return fold
    except (TypeError, ValueError, AttributeError):
        pass
    raise ValueError(f"{file} does not contain a fit of an earlier run; delete the file")


def _key(campaign: Campaign, data: str, left_out: tuple[str, ...], start: dict[str, Any]) -> str:
    """Return a file name for a fit, as a hash of all inputs of the fit."""
    logs = [(f.name, f.stat().st_size, f.stat().st_mtime_ns) for f in sorted(Path(data).iterdir())]
    trials = [r.trial.name for r in (*campaign.trials, *campaign.fit_only)]
    what = (repr(replace(campaign.study, variants={})), repr(campaign.plant), logs, trials, left_out, start)
    return hashlib.sha256(repr(what).encode()).hexdigest()[:24]


def _fitted(campaign: Campaign, name: str, left_out: tuple[str, ...], start: dict[str, Any], progress: Progress) -> Fold:
    """Fit and evaluate one model; the search starts at the `start` estimates of another model for common unknowns."""
    known = [r for r in campaign.trials if r.group not in left_out]
    unseen = [r for r in campaign.trials if r.group in left_out]
    empty = campaign.problem_of(known[:1])
    guess, deviations = empty.guess.tolist(), empty.deviation.tolist()
    names = [f"{n}, {x!r} ± {d!r}" for n, x, d in zip(empty.labels, guess, deviations, strict=True)]
    shared = np.array([start.get("shared", {}).get(n, x) for n, x in zip(names, guess, strict=True)])
    own = np.array(start["own"]) if start else None
    what = f"{name}, without {', '.join(left_out)}"
    try:
        s = fit(campaign, known, shared=shared, own=own, progress=lambda i, c, _: progress(Iteration(what, i, c))).solution
        errors = {p.trial: p.errors for p in predictions(campaign, known, unseen, s.at.shared)}
    except ValueError as error:
        if name == BASE:
            raise
        return Fold(name, {}, False, 0, f"without {', '.join(left_out)}: {error}")
    found = dict(zip(names, s.at.shared.tolist(), strict=True))
    return Fold(name, errors, s.converged, s.iterations, "", {"shared": found, "own": s.at.own.tolist()})
