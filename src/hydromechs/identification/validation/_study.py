"""A validation study as a file: model, logs, what is unknown, how to judge."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError

from hydromechs import files
from hydromechs.errors import StudyError, message_of
from hydromechs.formats import read_document
from hydromechs.values import is_path, nearest

from .. import (
    AddedMass,
    CurrentOf,
    Factor,
    InertiaOf,
    Instrument,
    JointOffset,
    MeasuredChannel,
    Number,
    Positive,
    SurfaceHeight,
    Unknown,
)
from .._instruments import CHANNELS
from ._variants import Variant

ANGLES = ("roll", "pitch", "yaw", "p", "q", "r")


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class AlignEntry(_Entry):
    """The signal by which a log is put on the clock of another."""

    to: str
    """Name of the log with the right clock."""
    column: str
    """Signal of this log: a column, or roll, pitch or yaw of its instrument."""
    reference: str
    """The same of the other."""
    most: float = Field(1.0, gt=0.0)
    """Largest difference of the clocks [s]."""


class LogEntry(_Entry):
    """Where a log is, what it calls its columns, and what is done to it."""

    file: str
    """Name of its file in the data folder; {trial} is the trial's name, {number} that without its letters in front."""
    time: str = ""
    """Name of the column with the times [s]; of messages its path, as header.stamp, or nothing for when they were logged."""
    topic: str = ""
    """Topic of the messages of an MCAP file or a bag."""
    columns: dict[str, str] = {}
    """Names used here of columns, and what the file calls them; of messages their paths, as orientation.x."""
    units: dict[
        str, Literal["rad", "rad/s", "m", "m/s", "s", "deg", "deg/s", "mm", "cm", "mm/s", "cm/s", "ms", "us", "ns"]
    ] = {}
    """Units of columns, and of "time", that are not in m, rad and s; one that is named is believed."""
    rate: float = Field(0.0, ge=0.0)
    """Rate to which it is resampled [Hz]; 0 for all samples."""
    align: AlignEntry | None = None
    """How its clock is put on that of another log."""


class BeginsEntry(_Entry):
    """Where it is written when the motion of a trial begins."""

    file: str
    """Name of a YAML file, as of a log."""
    key: str
    """Its key with the time [s]."""


class FitOnlyEntry(_Entry):
    """Records without motion that every fit uses and that are never predicted, for example of the drifting vehicle."""

    names: str
    """Pattern of their names, for example "baseline*"."""
    last: float = Field(20.0, gt=0.0)
    """Length of the part that is used, at the end of the record [s]."""


class TrialsEntry(_Entry):
    """Which trials there are."""

    names: str
    """Pattern of their names, as "traj*"."""
    find: str
    """Name of the log whose files show which there are."""
    group: str = "-"
    """What ends the part of a name that trials of one motion share."""
    begins: BeginsEntry
    """When the motion begins; all before is given to a prediction."""
    fit_only: FitOnlyEntry | None = None
    """Records without motion that every fit uses. Defaults to none."""


class JointEntry(_Entry):
    """The recorded motion of a joint."""

    log: str
    """Name of the log."""
    column: str
    """Name of the column with its positions."""
    scale: float = 1.0
    """What they are multiplied by [-]."""
    offset: float = 0.0
    """What is added to them [rad]."""
    outliers: float = Field(0.0, ge=0.0)
    """Largest distance of a position from the median around it; samples beyond are left out. 0 to keep all."""


class ChannelEntry(_Entry):
    """How far a channel is trusted; angles and their rates in degrees."""

    column: str | None = None
    """Name of its column; of roll, pitch and yaw the quaternion's unless given."""
    deviation: float = Field(gt=0.0)
    """Standard deviation of its errors [m, m/s, degrees, degrees/s]."""
    offset: float = Field(0.0, ge=0.0)
    """Standard deviation of a constant error in each trial, in the same unit."""
    correlation: float = Field(0.0, ge=0.0)
    """Time over which errors hang together [s]."""
    outlier: float = Field(math.inf, gt=0.0)
    """Errors of more deviations than this count linearly."""


class InstrumentEntry(_Entry):
    """What measured."""

    log: str
    """Name of its log."""
    body: str
    """Name of the body that it is on."""
    quaternion: list[str] | None = None
    """Names of the columns x, y, z, w of its orientation, body to world."""
    channels: dict[str, ChannelEntry]
    """What it measures, by the name of the quantity."""
    turn: float = 0.0
    """Standard deviation of the angle about z by which it is turned on the body [rad]."""
    place: float = 0.0
    """Standard deviation of its place on the body [m]."""
    delay: float = 0.0
    """Standard deviation of the time by which its samples come late [s]."""
    outliers: dict[str, float] = {}
    """Largest distance of a column from the median around it; samples beyond are left out."""
    every: int = Field(1, ge=1)
    """Which samples count: each, every second, ..."""


class LineEntry(_Entry):
    """A tether of which the vehicle lifts the more the higher it is; see `lines.LiftedLine`."""

    name: str
    """Name, as "tether"."""
    body: str
    """Name of the body that it is fastened to."""
    weight: float
    """Weight in water per length [N/m]."""
    place: list[float]
    """Where it is fastened, in the body's axes [m]."""
    height: float = 0.0
    """Height of the attachment point at which the line exerts no force [m]."""


class StartEntry(_Entry):
    """How well the start of a trial is known from its instruments: standard deviations of the free body's start."""

    position: float
    """[m]"""
    attitude: float
    """[rad]"""
    velocity: float
    """[m/s]"""
    rates: float
    """[rad/s]"""


class ValidationStudy(_Entry):
    """All of a study."""

    hydromechs_study: int = Field(1, ge=1, le=1)
    """Version of the file."""
    name: str
    """Name of the study."""
    title: str = ""
    """What it is, in a line."""
    model: str
    """Name of a library model, or path of a file, relative to this one."""
    data: str = ""
    """Folder with the logs, relative to this file; the command line can name another."""
    trials: TrialsEntry
    """Which trials there are."""
    logs: dict[str, LogEntry]
    """Logs of a trial, by name."""
    joints: dict[str, JointEntry]
    """Joints whose motion was recorded."""
    smoothing: float = 0.0
    """Period of a sine that is halved when joints are smoothed [s], see `motions.Recorded.of`."""
    instruments: dict[str, InstrumentEntry]
    """What measured."""
    line: LineEntry | None = None
    """A tether."""
    unknowns: list[dict[str, Any]]
    """What is unknown."""
    start: StartEntry
    """How well starts are known."""
    window: float = Field(4.0, gt=0.0)
    """Longest time before the motion begins that is used [s]."""
    step: float = Field(0.05, gt=0.0)
    """Step of the integration [s]."""
    judged: list[str]
    """Channels that are judged, as "imu.roll"."""
    baseline: list[str] = []
    """Names of the channels roll and pitch with which a quasi-static balance is compared; none for no baseline."""
    variant: Variant | None = None
    """How the model differs from its file."""
    variants: dict[str, Variant] = {}
    """Other models whose predictions are compared with this one's, by what they are."""

    _code: bool = PrivateAttr(False)

    def model_post_init(self, context: Any, /) -> None:
        """Read the permission to run code from the validation context."""
        self._code = bool(context and context["code"])

    @property
    def code(self) -> bool:
        """True if the Python code that its model names may run; set by the caller who loads the study, not by the file."""
        return self._code

    def varied(self, name: str) -> ValidationStudy:
        """The study with one of its variants, without the quasi-static balance, which is the same for all of them.

        Args:
            name: That of the variant.
        """
        if name not in self.variants:
            raise ValueError(f"{self.name} has no variant {name!r}{nearest(name, self.variants)}")
        variant = self.variants[name]
        named = {_identity(u): u for u in variant.unknowns}
        kept = [named.pop(_identity(u), u) for u in self.unknowns if u.get("joint_offset") not in variant.without]
        if named:
            absent = next(iter(named.values()))
            raise ValueError(f"variant {name!r} of {self.name}: the study has no unknown {absent!r}; new ones go under more")
        kept += variant.more
        moving = {joint: how for joint, how in self.joints.items() if joint not in variant.without}
        return self.model_copy(update={"variant": variant, "unknowns": kept, "joints": moving, "baseline": []})

    def found(self) -> list[Unknown]:
        """What is unknown, as objects."""
        out: list[Unknown] = []
        for entry in self.unknowns:
            kinds = [key for key in entry if key in KINDS]
            if len(kinds) != 1:
                raise ValueError(f"unknown {entry!r} must have one of the keys {', '.join(KINDS)}")
            values = {k: tuple(x) if isinstance(x, list) else x for k, x in entry.items() if k != kinds[0]}
            cls, key = KINDS[kinds[0]]
            if key:
                values[key] = entry[kinds[0]]
            try:
                out.append(cls(**values))
            except TypeError as error:
                raise ValueError(f"unknown {entry!r}: {error}") from None
        return out

    def measuring(self) -> list[Instrument]:
        """The instruments, as objects."""
        out = []
        for name, entry in self.instruments.items():
            channels = []
            for quantity, c in entry.channels.items():
                unit = math.radians(1.0) if quantity in ANGLES else 1.0
                channels.append(
                    MeasuredChannel(
                        quantity=quantity,
                        deviation=unit * c.deviation,
                        offset=unit * c.offset,
                        correlation=c.correlation,
                        outlier=c.outlier,
                    )
                )
            own = {"turn": entry.turn, "place": entry.place, "delay": entry.delay}
            out.append(Instrument(name=name, body=entry.body, channels=tuple(channels), **own))
        return out


KINDS: dict[str, tuple[Any, str]] = {
    "number": (Number, "name"),
    "positive": (Positive, "name"),
    "factor": (Factor, "name"),
    "inertia": (InertiaOf, "body"),
    "added_mass": (AddedMass, "name"),
    "joint_offset": (JointOffset, "joint"),
    "current": (CurrentOf, "deviation"),
    "surface_height": (SurfaceHeight, "value"),
}
"""What can be unknown: the key in a file, the class, and the field that the key's value is."""


def _identity(unknown: dict[str, Any]) -> tuple[Any, ...]:
    """What an entry of the unknowns names."""
    return tuple((kind, str(unknown[kind])) for kind in KINDS if kind in unknown), tuple(unknown.get("index", ()))


def _fault(error: Any) -> str:
    """A fault that pydantic has found, in our words where it is a key that does not exist."""
    place = [str(part) for part in error["loc"]]
    if error["type"] != "extra_forbidden":
        return f"{'.'.join(place)}: {error['msg']}"
    entry: Any = ValidationStudy
    for part in place[:-1]:
        field = getattr(entry, "model_fields", {}).get(part)
        inner = [a for a in (field.annotation, *get_args(field.annotation)) if isinstance(a, type)] if field else []
        entry = next((a for a in inner if issubclass(a, BaseModel)), entry)
    return f"{'.'.join(place)}: no such key{nearest(place[-1], entry.model_fields)}"


def load_study(path: str | Path, *, code: bool = False) -> ValidationStudy:
    """Load a study from its file; all errors are listed in one `ValueError`.

    Args:
        path: The file.
        code: True to allow the Python code that its model names (custom joints) when the model is loaded.
    """
    document = read_document(path, "study", "hydromechs_study: 1", StudyError)
    if document.problems:
        raise StudyError(str(path), document.problems)
    data = yaml.safe_load(files.read_text(path))  # within the limits of `read_document`; supports merge keys, <<
    if "hydromechs_study" not in data:
        raise ValueError(f"{path} is not a study: it needs the key hydromechs_study: 1")
    try:
        study = ValidationStudy.model_validate(data, context={"code": code})
    except ValidationError as error:
        raise _refused(path, [_fault(e) for e in error.errors()]) from None
    if is_path(study.model):
        study = study.model_copy(update={"model": str(Path(path).absolute().parent / study.model)})
    problems = [
        f"instruments.{name}.channels: no quantity {quantity!r}{nearest(quantity, CHANNELS)}"
        for name, instrument in study.instruments.items()
        for quantity in instrument.channels
        if quantity not in CHANNELS
    ]
    named = [(f"instruments.{k}", x.log) for k, x in study.instruments.items()]
    named += [(f"joints.{k}", x.log) for k, x in study.joints.items()] + [("trials.find", study.trials.find)]
    named += [(f"logs.{k}.align", x.align.to) for k, x in study.logs.items() if x.align is not None]
    problems += [f"{where}: no log {log!r}{nearest(log, study.logs)}" for where, log in named if log not in study.logs]
    channels = [f"{i}.{c}" for i, x in study.instruments.items() for c in x.channels]
    for key, chosen in (("judged", study.judged), ("baseline", study.baseline)):
        problems += [f"{key}: no channel {name!r}{nearest(name, channels)}" for name in chosen if name not in channels]
    builds: list[Callable[[], Any]] = [study.model_copy(update={"unknowns": [entry]}).found for entry in study.unknowns]
    builds += [study.measuring, *(partial(_varied, study, name) for name in study.variants)]
    for build in builds:
        try:
            build()
        except (ValueError, KeyError) as error:
            problems.append(message_of(error))
    if problems:
        raise _refused(path, list(dict.fromkeys(problems)))
    return study


def _varied(study: ValidationStudy, name: str) -> None:
    """Build a variant of a study."""
    study.varied(name).found()


def _refused(path: str | Path, problems: list[str]) -> ValueError:
    """Return the error of a study file, with all problems."""
    lines = [f"{path}: {len(problems)} problem(s)", *problems]
    return ValueError("\n  - ".join(lines) if len(problems) > 1 else f"{path}: {problems[0]}")
