"""Trials of a study: logs that were read, cleaned and converted to the plant."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from hydromechs import files, library
from hydromechs.actuation import JointMotion, motions
from hydromechs.formats import parse_yaml
from hydromechs.hydro import Current, Environment, FreeSurface
from hydromechs.model import Model, joints
from hydromechs.simulation import Plant
from hydromechs.spatial import matrix_from_rpy, quaternion_from_matrix

from .. import ChannelSamples, CurrentOf, Problem, SurfaceHeight, Trial
from ._logs import FEW, LogFile, changed, euler_angles, read_log, time_unit_hint, without_outliers
from ._signals import aligned, check_units, far_off, hanging, resampled
from ._study import ValidationStudy
from ._variants import varied

REPEATED = 0.2
"""Maximum time for which an unchanged joint position is ignored as a repetition by the bus [s]."""
MEDIAN = 2.0
"""Window length of the median filter that detects outliers [s]."""


@dataclass(frozen=True, eq=False)
class RecordedTrial:
    """Trial with the data available to its prediction."""

    trial: Trial
    group: str
    """Name of the motion, shared by repetitions of the same motion."""
    begins: float
    """Start time of the motion [s]."""
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Campaign:
    """All trials of a validation study."""

    study: ValidationStudy
    plant: Plant
    base: str
    """Name of the free body."""
    trials: tuple[RecordedTrial, ...]
    fit_only: tuple[RecordedTrial, ...] = ()
    """Records used by every fit and never predicted."""
    remarks: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the data folder and on the processing of the logs."""
        return (*self.remarks, *(note for r in (*self.trials, *self.fit_only) for note in r.notes))

    @property
    def groups(self) -> list[str]:
        """Names of the motions, in order."""
        return sorted({r.group for r in self.trials})

    def problem_of(self, recorded: Sequence[RecordedTrial]) -> Problem:
        """Return the identification problem of some of the trials."""
        return self._problem.of([r.trial.windowed() for r in recorded])

    @cached_property
    def _problem(self) -> Problem:
        """Return the problem of the first trial, which shares its compiled programs with the others."""
        study, nv = self.study, self.plant.model.nv
        s, at = study.start, self.plant.model.joint_part(self.base).v
        start = np.zeros(2 * nv)
        start[at] = [s.position] * 3 + [s.attitude] * 3
        start[nv + at.start : nv + at.stop] = [s.velocity] * 3 + [s.rates] * 3
        first = [self.trials[0].trial.windowed()]
        return Problem(self.plant, first, study.measuring(), study.unknowns, start=start.tolist(), step=study.step)


def read_campaign(study: ValidationStudy, folder: str | Path) -> Campaign:
    """Read all trials in a folder of logs."""
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(f"folder {folder} does not exist; set --data to the folder of the logs")
    model = library.load(study.model, code=study.code)
    if study.variant is not None:
        model = varied(model, study.variant)
    roots = [b.name for b in model.bodies if isinstance(b.joint, joints.Free)]
    if len(roots) != 1:
        raise ValueError(f"{model.name} has {len(roots)} free bodies; use a model with exactly one free body")
    rest = motions.Recorded(pieces=((0.0, 0.0, 0.0, 0.0, 0.0),), end=1.0)
    unknowns = study.unknowns
    current = Current(velocity=(0.0, 0.0, 0.0)) if any(isinstance(u, CurrentOf) for u in unknowns) else None
    surface = FreeSurface() if any(isinstance(u, SurfaceHeight) for u in unknowns) else None
    lines = () if study.line is None else (study.line,)
    plant = Plant(
        model=model,
        environment=Environment(current=current, surface=surface),
        components=(*(JointMotion(joint=name, motion=rest) for name in study.joints), *lines),
    )
    names = _names(study, folder, study.trials.names)
    if not names:
        raise ValueError(f"{folder} has no trials: no file matches {_pattern(study, study.trials.names)}; correct trials.names")
    return Campaign(
        study,
        plant,
        roots[0],
        tuple(_recorded(study, model, roots[0], folder, name) for name in names),
        *_fit_only(study, model, roots[0], folder, names),
    )


def _pattern(study: ValidationStudy, names: str) -> str:
    return study.logs[study.trials.find].file.replace("{trial}", names)


def _names(study: ValidationStudy, folder: Path, names: str) -> list[str]:
    shape = re.compile(re.escape(study.logs[study.trials.find].file).replace(r"\{trial\}", "(.+)"))
    found = sorted(folder.glob(_pattern(study, names)))
    return [match.group(1) for f in found if (match := shape.fullmatch(f.name))]


def _fit_only(
    study: ValidationStudy, model: Model, base: str, folder: Path, trials: Sequence[str]
) -> tuple[tuple[RecordedTrial, ...], tuple[str, ...]]:
    """Return the records used by every fit, and a note if the folder contains none."""
    entry = study.trials.fit_only
    if entry is None:
        return (), ()
    names = _names(study, folder, entry.names)
    for name in names:
        if name in trials:
            raise ValueError(
                f"{name} matches both trials.names, {study.trials.names!r}, and trials.fit_only.names, {entry.names!r}, so "
                "that every fit would use a trial that it must predict; change one of the patterns"
            )
    if not names:
        return (), (f"trials.fit_only: no file in {folder} matches {_pattern(study, entry.names)}; fits use only the trials",)
    return tuple(_recorded(study, model, base, folder, name, last=entry.last) for name in names), ()


def _file(folder: Path, pattern: str, trial: str) -> Path:
    number = re.sub(r"^[A-Za-z_]+", "", trial)
    return folder / pattern.replace("{trial}", trial).replace("{number}", number)


def _recorded(
    study: ValidationStudy, model: Model, base: str, folder: Path, name: str, *, last: float | None = None
) -> RecordedTrial:
    """Return one trial or, if `last` [s] is given, the final section of a record without motion."""
    logs = _logs(study, model, folder, name)
    begins, logs = _from_zero(_begins(study, folder, name) if last is None else _end(study, logs), logs)
    if last is not None:  # without motion, fit the initial state to the first seconds of the section
        end = _end(study, logs)
        first = max(end - last, *(float(log.time[0]) for log in logs.values()))
        begins = first + min(study.window, 0.5 * (end - first))
    notes = [note for log in logs.values() for note in log.notes]
    start, end = _span(study, name, logs, begins)
    _reject_sparse(logs, start, end)
    notes += _cut_short(logs, start, end)
    given: dict[str, motions.Motion] = {}
    for joint, how in study.joints.items():
        log = logs[how.log]
        if how.outliers:
            log = without_outliers(log, {how.column: how.outliers}, MEDIAN)
            notes += log.notes[len(logs[how.log].notes) :]
        notes += far_off(log, {how.column: f"for joint {joint}, set outliers to the largest plausible deviation"}, MEDIAN)
        at = changed(log, how.column, REPEATED)
        given[joint] = motions.Recorded.of(
            log.time[at], how.scale * log.column(how.column)[at] + how.offset, smoothing=study.smoothing
        )
    samples: dict[str, ChannelSamples] = {}
    for instrument, entry in study.instruments.items():
        log = logs[entry.log]
        cleaned = without_outliers(log, entry.outliers, MEDIAN)
        notes += cleaned.notes[len(log.notes) :]
        named = sorted({channel.column or quantity for quantity, channel in entry.channels.items()})
        notes += far_off(cleaned, {c: f"set outliers: {{{c}: largest plausible deviation}}" for c in named}, MEDIAN)
        notes += hanging(cleaned, named)
        for quantity, channel in entry.channels.items():
            values = cleaned.column(channel.column or quantity)
            samples[f"{instrument}.{quantity}"] = ChannelSamples(cleaned.time[:: entry.every], values[:: entry.every])
    q, v = _guess(study, model, base, samples, given, start, begins)
    trial = Trial(name=name, start=start, end=end, q=q, v=v, samples=samples, motions=given)
    return RecordedTrial(trial, name.split(study.trials.group)[0], begins, tuple(notes))


def _begins(study: ValidationStudy, folder: Path, name: str) -> float:
    said = _file(folder, study.trials.begins.file, name)
    if not said.is_file():
        raise ValueError(f"{name}: file {said} with the start time of the motion does not exist; correct trials.begins.file")
    try:
        return float(parse_yaml(files.read_text(said)).data[study.trials.begins.key])
    except (OSError, KeyError, TypeError, ValueError):
        raise ValueError(f"{name}: {said} has no key {study.trials.begins.key!r}; correct trials.begins.key") from None


def _logs(study: ValidationStudy, model: Model, folder: Path, name: str) -> dict[str, LogFile]:
    """Return the logs of a trial with Euler angles, checked units, one common clock and the requested rates."""
    logs = {}
    for key, entry in study.logs.items():
        log = read_log(_file(folder, entry.file, name), entry.time, topic=entry.topic, columns=entry.columns, units=entry.units)
        moving = {j: how for j, how in study.joints.items() if how.log == key and how.scale == 1.0}
        check_units(
            log,
            {f"joint {j}": how.column for j, how in moving.items() if how.column not in entry.units},
            limits={f"joint {j}": ends for j, how in moving.items() if (ends := _limits(model, j, how.offset)) is not None},
        )
        for i in (i for i in study.instruments.values() if i.log == key):
            angles = None if i.quaternion is None else euler_angles([log.column(c) for c in i.quaternion])
            log = replace(log, columns=log.columns | (angles or {}))
            named = {q: c.column or q for q, c in i.channels.items()}
            check_units(log, {q: c for q, c in named.items() if c not in entry.units}, angles)
        logs[key] = log
    for key, entry in study.logs.items():
        if entry.align is not None:
            a, other = entry.align, logs[entry.align.to]
            logs[key], _ = aligned(logs[key], logs[key].column(a.column), other, other.column(a.reference), a.most)
        if entry.rate:
            logs[key] = resampled(logs[key], entry.rate)
    return logs


def _limits(model: Model, joint: str, offset: float) -> tuple[float, float] | None:
    """Return the lower and upper limit of a joint in the convention of its log [rad]; None without limits."""
    body = next((b for b in model.bodies if b.name == joint), None)
    ends = getattr(body.joint, "limits", None) if body is not None and isinstance(body.joint, joints.Revolute) else None
    return None if ends is None else (ends[0] - offset, ends[1] - offset)


LONG_AGO, NEAR = 1e6, 100.0
"""Time above which a clock counts as absolute, and start time of the motion after the clock is shifted [s]."""
SLOW = 5.0
"""Maximum sampling interval of a record of motion [s]."""
CUT = 0.1
"""Fraction of a trial lost to a log that stops early, above which a note is added."""
LONGER = 100.0
"""Maximum ratio of the duration of a log to that of another log of the same trial."""
FASTEST = 0.1
"""Maximum plausible speed from a line fitted to positions before the motion [m/s]."""


def _from_zero(begins: float, logs: dict[str, LogFile]) -> tuple[float, dict[str, LogFile]]:
    """Return times relative to a whole second before the motion if clocks are absolute, for floating-point resolution."""
    if abs(begins) < LONG_AGO:
        return begins, logs
    zero = np.floor(begins) - NEAR
    note = f"times are relative to {zero:.0f} s of the clock"
    moved = {k: replace(x, time=x.time - zero, notes=(*x.notes, f"{x.name}: {note}")) for k, x in logs.items()}
    return float(begins - zero), moved


def _span(study: ValidationStudy, name: str, logs: dict[str, LogFile], begins: float) -> tuple[float, float]:
    """Return start and end time of a trial [s]; reject inconsistent clocks."""
    for log in logs.values():
        usual = float(np.median(np.diff(log.time)))
        if usual > SLOW:
            hint = time_unit_hint(usual)
            raise ValueError(f"{log.name}: {usual:g} s between samples exceeds {SLOW:g} s; {hint}")
    start = max(begins - study.window, *(float(log.time[0]) for log in logs.values()))
    end = _end(study, logs)
    if not start <= begins < end:
        spans = ", ".join(f"{log.name} from {log.time[0]:.2f} to {log.time[-1]:.2f} s" for log in logs.values())
        raise ValueError(
            f"{name}: the motion starts at {begins:.2f} s, which is outside the common time of the logs: {spans}; correct the "
            "clock of a log, or set align"
        )
    return start, end


def _end(study: ValidationStudy, logs: dict[str, LogFile]) -> float:
    """Return the end time of a trial [s]: the earliest end of the required logs."""
    needed = {study.trials.find, *(how.log for how in study.joints.values())}
    return min(float(log.time[-1]) for key, log in logs.items() if key in needed)


def _reject_sparse(logs: dict[str, LogFile], start: float, end: float) -> None:
    """Reject logs with few samples in a trial or an implausible duration; their time unit is probably wrong."""
    lengths = {key: float(np.ptp(log.time)) for key, log in logs.items()}
    shortest = min(lengths, key=lambda key: lengths[key])
    for key, log in logs.items():
        there = int(np.sum((log.time >= start) & (log.time <= end)))
        why = ""
        if there < FEW:
            why = f"only {there} samples between start and end of the trial, {start:.2f} to {end:.2f} s"
        elif lengths[key] > LONGER * lengths[shortest]:
            why = f"duration {lengths[key]:.4g} s, but {logs[shortest].name} lasts {lengths[shortest]:.4g} s"
        if why:
            raise ValueError(f"{log.name}: {why}; if the times are not in s, set units: {{time: ms}} (or us, ns) for this log")


def _cut_short(logs: dict[str, LogFile], start: float, end: float) -> list[str]:
    longest = max(float(log.time[-1]) for log in logs.values())
    if longest - end < CUT * (longest - start):
        return []
    first = min(logs.values(), key=lambda log: float(log.time[-1]))
    return [f"{first.name}: ends at {end:.2f} s and limits the trial; other logs continue to {longest:.2f} s"]


def _guess(
    study: ValidationStudy,
    model: Model,
    base: str,
    samples: dict[str, ChannelSamples],
    given: dict[str, motions.Motion],
    start: float,
    begins: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return initial configuration and velocity, estimated from measurements before the motion."""

    def before(quantity: str) -> tuple[float, float]:
        """Return initial value and rate of a quantity from a line fitted to the samples before the motion."""
        for i in study.instruments:
            found = samples.get(f"{i}.{quantity}")
            if found is None:
                continue
            within = (found.times >= start) & (found.times <= begins)
            if not within.any():
                continue
            t, x = found.times[within] - start, found.values[within]
            if t[-1] - t[0] < 0.5:
                return float(np.mean(x)), 0.0
            slope, value = np.polyfit(t, x, 1)
            return float(value), float(np.clip(slope, -FASTEST, FASTEST))
        return 0.0, 0.0

    q, v = (np.array(x, dtype=float) for x in model.neutral())
    part = model.joint_part(base)
    place, speed = zip(*(before(axis) for axis in "xyz"), strict=True)
    angles = [before(angle)[0] for angle in ("roll", "pitch", "yaw")]
    R = np.array(matrix_from_rpy(angles), dtype=float)
    q[part.q] = [*place, *np.array(quaternion_from_matrix(R), dtype=float)]
    v[part.v] = [*(R.T @ np.array(speed)), before("p")[0], before("q")[0], before("r")[0]]
    for joint, motion in given.items():
        at, now = model.joint_part(joint), motion.now(start)
        q[at.q], v[at.v] = now.position, now.velocity
    return q, v
