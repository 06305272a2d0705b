"""Cross-validation: a model fitted to all other motions predicts each motion.

The prediction of a trial uses its joint angles and the measurements before the motion, which determine the initial state and
the constant offsets of the instruments. It uses no other data of the trial.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from queue import Empty
from typing import Any, NamedTuple, TypeVar

import numpy as np

from .. import ChannelSamples, Found, Identification, Problem, solve
from ._baseline import Decay, StaticBalance, decay_of, still_from
from ._campaign import Campaign, RecordedTrial, read_campaign
from ._logs import unit_of
from ._study import ValidationStudy

Job = TypeVar("Job")
Result = TypeVar("Result")

OFTEN = 0.25
"""Interval between checks of the progress of worker processes [s]."""


class Iteration(NamedTuple):
    """Progress of a fit."""

    fit: str
    number: int
    """Number of completed iterations."""
    cost: float
    """Half the sum of squares of residuals and priors."""


Progress = Callable[[Iteration], None]
"""Callback for the progress of a fit."""


def in_processes(
    work: Callable[[Job, Progress], Result], jobs: Sequence[Job], count: int, progress: Progress
) -> Iterator[tuple[Job, Result]]:
    """Yield jobs with results as they complete; after a failure, jobs that have not started are dropped.

    `work` must be a module-level function, so that worker processes can import it. With a `count` of one, all work runs in
    this process.
    """
    if count == 1:
        for job in jobs:
            yield job, work(job, progress)
        return
    context = get_context("spawn")
    with context.Manager() as manager, ProcessPoolExecutor(count, mp_context=context) as pool:
        updates = manager.Queue()
        waiting = {pool.submit(work, job, updates.put): job for job in jobs}
        try:
            while waiting:
                done, _ = wait(waiting, timeout=OFTEN, return_when=FIRST_COMPLETED)
                _drain(updates, progress)
                for future in done:
                    yield waiting.pop(future), future.result()
        finally:  # after a failure, drop the jobs that have not started
            pool.shutdown(wait=False, cancel_futures=True)


def _drain(updates: Any, progress: Progress) -> None:
    while True:
        try:
            progress(updates.get_nowait())
        except Empty:
            return


ITERATIONS, GAIN = 30, 1e-3
"""Maximum number of iterations of a fit, and minimum relative cost reduction predicted for another iteration."""
MAX_NOTES = 20
"""Maximum number of notes on logs printed before the fits."""


class Predicted(NamedTuple):
    """Prediction of one trial, with errors."""

    trial: str
    group: str
    """Motion of the trial, held out of the fit."""
    begins: float
    """Start time of the motion [s]."""
    errors: dict[str, float]
    """Root mean square error of each evaluated channel from the start of the motion, in the unit of the channel."""
    whole: dict[str, float]
    """Root mean square error of each evaluated channel over the whole trial, including the fitted time before the motion."""
    static: dict[str, float]
    """Errors of the quasi-static balance fitted to the same trials; offsets are estimated before the motion."""
    simulated: dict[str, ChannelSamples]
    """Predicted channels, including the offsets of the instruments."""
    measured: dict[str, ChannelSamples]
    still: float
    """Time at which the last joint stops [s]."""
    end: float
    """End time of the trial [s]."""

    def decays(self, channel: str) -> tuple[Decay, Decay] | None:
        """Return the measured and predicted oscillation of a channel after the joints have stopped; None if not detected."""
        measured = decay_of(self.measured[channel], self.still, self.end)
        predicted = decay_of(self.simulated[channel], self.still, self.end)
        return (measured, predicted) if measured and predicted and measured.detected else None


class Fitted(NamedTuple):
    """Result of one fit."""

    left_out: str
    """Held-out motion; empty for a fit to all trials."""
    found: tuple[Found, ...]
    iterations: int
    reason: str
    """Reason why the search stopped."""
    converged: bool
    """True if the search converged."""
    seconds: float
    """Computing time of the fit [s]."""
    details: dict[str, Any]
    """Undetermined directions, residual whiteness, correlations and values; only for a fit to all trials."""


@dataclass(frozen=True, kw_only=True)
class Validation:
    """Results of a validation study."""

    study: ValidationStudy
    data: str
    """Folder of the logs."""
    predicted: tuple[Predicted, ...]
    """Predictions of all trials, each by a fit without its motion."""
    fits: tuple[Fitted, ...]
    """Fits without one motion each; the last fit uses all trials."""
    static_all: dict[str, float]
    """Mean errors, over whole trials, of the quasi-static balance fitted to all trials without offsets."""
    notes: tuple[str, ...]
    seconds: float
    """Computing time of the study [s]."""

    def mean(self, channel: str, of: str = "errors") -> float:
        """Return the mean error of a channel over all trials; `of` is "errors", "whole" or "static"."""
        return float(np.nanmean([getattr(p, of).get(channel, np.nan) for p in self.predicted]))


def validate(
    study: ValidationStudy,
    data: str | Path,
    *,
    workers: int | None = None,
    on_message: Callable[[str], None] = lambda text: None,
    progress: Progress = lambda iteration: None,
) -> Validation:
    """Predict each motion with a fit to all other motions; then fit all motions.

    `data`: folder of the logs; `workers`: number of parallel processes, by default the number of processors;
    `on_message`: callback for progress messages; `progress`: callback after each iteration of a fit.
    """
    began = time.perf_counter()
    campaign = read_campaign(study, data)
    groups = campaign.groups
    if len(groups) < 2:
        raise ValueError(f"{data} contains only one motion, {groups[0]}; add trials of another motion")
    on_message(f"{len(campaign.trials)} trials of {len(groups)} motions in {data}")
    notes = campaign.notes
    more = [f"{len(notes) - MAX_NOTES} more notes on logs are in the report"] if len(notes) > MAX_NOTES else []
    for note in (*notes[:MAX_NOTES], *more):
        on_message(note)
    campaign.problem_of(campaign.trials[:1]).compile()  # once, for all workers
    on_message(f"compiled after {time.perf_counter() - began:.0f} s")
    jobs = ["", *groups]
    count = min(len(jobs), workers or os.cpu_count() or 1)
    done: dict[str, tuple[Fitted, list[Predicted]]] = {}
    work = partial(_fold, campaign) if count == 1 else partial(_fold_alone, study, str(data))
    for group, result in in_processes(work, jobs, count, progress):
        done[group] = result
        on_message(_line(*result))
    static_all: dict[str, float] = {}
    if study.baseline:
        balance = StaticBalance(campaign)
        fixed = balance.fit(campaign.trials, offsets=False)
        rows = [np.sqrt(np.mean(balance.errors(r, fixed, offsets=False) ** 2, axis=1)) for r in campaign.trials]
        static_all = dict(zip(study.baseline, np.mean(rows, axis=0).tolist(), strict=True))
    return Validation(
        study=study,
        data=str(data),
        predicted=tuple(sorted((p for _, rows in done.values() for p in rows), key=lambda p: p.trial)),
        fits=tuple(done[group][0] for group in [*groups, ""]),
        static_all=static_all,
        notes=notes,
        seconds=time.perf_counter() - began,
    )


def _line(fitted: Fitted, rows: Sequence[Predicted]) -> str:
    what = f"without {fitted.left_out}" if fitted.left_out else "all trials"
    how = "" if fitted.converged else f", NOT converged: {fitted.reason}"
    shown = {p.trial: [(x, *unit_of(c)) for c, x in list(p.errors.items())[:2]] for p in rows}
    said = "; ".join(f"{trial} {' '.join(f'{k * x:.3f}{unit}' for x, k, unit in errors)}" for trial, errors in shown.items())
    return f"{what}: {fitted.iterations} iterations, {fitted.seconds:.0f} s{how}" + (f"; {said}" if said else "")


def _fold_alone(study: ValidationStudy, data: str, group: str, progress: Progress) -> tuple[Fitted, list[Predicted]]:
    return _fold(read_campaign(study, data), group, progress)


def _fold(campaign: Campaign, group: str, progress: Progress) -> tuple[Fitted, list[Predicted]]:
    """Fit all trials except those of one motion; return the fit and predictions of these trials."""
    began = time.perf_counter()
    known = [r for r in campaign.trials if r.group != group]
    unseen = [r for r in campaign.trials if r.group == group]
    name = f"without {group}" if group else "all trials"
    found = fit(campaign, known, progress=lambda i, cost, damping: progress(Iteration(name, i, cost)))
    details: dict[str, Any] = {}
    if not group:
        details = {
            "directions": [(d.information, d.text) for d in found.directions],
            "whiteness": [tuple(w) for w in found.whiteness],
            "correlated": _correlated(found),
            "values": {name: np.asarray(x).tolist() for name, x in found.values().items()},
        }
    s = found.solution
    fitted = Fitted(group, found.found, s.iterations, s.reason, s.converged, time.perf_counter() - began, details)
    return fitted, predictions(campaign, known, unseen, s.at.shared) if unseen else []


def fit(
    campaign: Campaign,
    known: Sequence[RecordedTrial],
    *,
    shared: np.ndarray | None = None,
    own: np.ndarray | None = None,
    progress: Callable[[int, float, float], None] | None = None,
) -> Identification:
    """Fit trials and the records used by every fit: first their initial states before the motion, then all unknowns.

    The search starts at `shared`, the unknowns shared by all trials, and `own`, the unknowns of each trial. They default to
    prior values and to a fit to the data before the motion. `progress` receives iteration number, cost and damping.
    """
    fitted = [*known, *campaign.fit_only]
    problem = campaign.problem_of(fitted)
    if own is None:
        own = solve(problem, shared=shared, fixed=True, until=[r.begins for r in fitted], most=8, gain=1e-2).at.own
    solution = solve(problem, shared=shared, own=own, most=ITERATIONS, gain=GAIN, progress=progress)
    return Identification(problem=problem, solution=solution)


def _correlated(found: Identification) -> list[tuple[str, str, float]]:
    """Return pairs of free coordinates with an absolute correlation above 0.9, strongest first."""
    c, labels = found.correlations, found.problem.labels
    pairs = [(labels[i], labels[j], float(c[i, j])) for i in range(len(c)) for j in range(i) if abs(c[i, j]) > 0.9]
    return sorted(pairs, key=lambda p: -abs(p[2]))


def predictions(
    campaign: Campaign, known: Sequence[RecordedTrial], unseen: Sequence[RecordedTrial], shared: np.ndarray
) -> list[Predicted]:
    """Predict held-out trials from the `shared` unknowns of a fit and from a quasi-static balance fitted to the same trials."""
    study = campaign.study
    problem = campaign.problem_of([blinded(r) for r in unseen])
    own = solve(problem, shared=shared, fixed=True, until=[r.begins for r in unseen], most=20, gain=1e-4).at.own
    values, _ = problem.simulate(shared, own, derivatives=False)
    balance = StaticBalance(campaign) if study.baseline else None
    fixed = np.zeros(3) if balance is None else balance.fit(known, offsets=True)
    out = []
    for j, r in enumerate(unseen):
        simulated = channels_of(problem, j, values, own)
        errors = errors_of(study, r, simulated)
        whole = {name: _rms(_error(r, name, simulated[name]).values) for name in study.judged}
        static = {}
        if balance is not None:
            t = r.trial.samples[study.baseline[0]].times
            after = (t >= r.begins) & (t <= r.trial.end)
            static = dict(zip(study.baseline, map(_rms, balance.errors(r, fixed, offsets=True)[:, after]), strict=True))
        end = r.trial.end
        still = still_from(r.trial.motions, r.trial.start, end)
        about = (r.trial.name, r.group, r.begins)
        out.append(Predicted(*about, errors, whole, static, simulated, dict(r.trial.samples), still, end))
    return out


def channels_of(problem: Problem, j: int, values: np.ndarray, own: np.ndarray) -> dict[str, ChannelSamples]:
    """Return the simulated channels of a trial, including the offsets of the instruments."""
    out, ns = {}, len(problem.free_start)
    grid = problem.trials[j].start + problem.h * np.arange(problem.timeline.steps[j] + 1)
    for c, name in enumerate(problem.outputs.names):
        offset = own[j, ns + problem.offsets.index(c)] if c in problem.offsets else 0.0
        out[name] = ChannelSamples(grid, values[: len(grid), j, c] + offset)
    return out


def errors_of(study: ValidationStudy, r: RecordedTrial, simulated: dict[str, ChannelSamples]) -> dict[str, float]:
    """Return the root mean square error of each evaluated channel from the start of the motion to the end of the trial."""
    rows = {name: _error(r, name, simulated[name]) for name in study.judged}
    return {name: _rms(error[t >= r.begins]) for name, (t, error) in rows.items()}


def _error(r: RecordedTrial, name: str, simulated: ChannelSamples) -> ChannelSamples:
    """Return simulated minus measured values of a channel at the sample times within the trial."""
    t, x = r.trial.samples[name]
    within = (t >= r.trial.start) & (t <= r.trial.end)
    error = np.interp(t[within], *simulated) - x[within]
    if name.endswith((".roll", ".yaw")):
        error = (error + np.pi) % (2.0 * np.pi) - np.pi
    return ChannelSamples(t[within], error)


def blinded(r: RecordedTrial) -> RecordedTrial:
    """Return the trial without measurements after the start of the motion; joint angles remain."""
    samples = {}
    for name, (times, values) in r.trial.samples.items():
        before = (times >= r.trial.start) & (times <= r.begins)
        samples[name] = ChannelSamples(times[before], values[before])
    kept = {name: s for name, s in samples.items() if len(s.times)}
    return replace(r, trial=replace(r.trial, samples=kept))


def _rms(x: np.ndarray) -> float:
    return float(np.sqrt(np.mean(x * x))) if len(x) else float("nan")
