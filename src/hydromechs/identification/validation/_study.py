"""Validation study and its file: model, logs, unknowns and evaluated channels."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from hydromechs import files
from hydromechs.errors import ValidationStudyError
from hydromechs.formats import FILE_KINDS, read_document
from hydromechs.lines import LiftedLine
from hydromechs.registry import BROKEN, Degrees, Families, Family, Hidden, Reader, Ref, suggestion
from hydromechs.values import Bound, Checked, Finite, Limit, NotNegative, is_path, nearest

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

KIND = FILE_KINDS["validation"]
FAMILIES = Families(
    [
        Family(
            name="unknown",
            base=Unknown,
            table={
                "number": Number,
                "positive": Positive,
                "factor": Factor,
                "inertia": InertiaOf,
                "added_mass": AddedMass,
                "joint_offset": JointOffset,
                "current": CurrentOf,
                "surface_height": SurfaceHeight,
            },
        )
    ]
)
"""All families of a validation file, keyed by name."""
AboveZero = Annotated[float, Bound(above=0.0)]
Unit = Literal["rad", "rad/s", "m", "m/s", "s", "deg", "deg/s", "mm", "cm", "mm/s", "cm/s", "ms", "us", "ns"]
LogName = Annotated[str, Ref("log")]


@dataclass(frozen=True, kw_only=True)
class Alignment(Checked):
    """Signals that align the clock of a log with the clock of another log."""

    to: LogName
    """Log with the reference clock."""
    column: str
    """Signal of this log: a column, or roll, pitch or yaw of the instrument."""
    reference: str
    """Corresponding signal of the reference log."""
    most: AboveZero = 1.0
    """Maximum difference between the clocks [s]."""


@dataclass(frozen=True, kw_only=True)
class LogSource(Checked):
    """File of a log, its column names, and its processing."""

    file: str
    """File name in the data folder. {trial} is replaced by the trial name, {number} by the name without leading letters."""
    time: str = ""
    """Name of the time column [s]. For messages, a path such as header.stamp; if omitted, the logging time."""
    topic: str = ""
    """Topic of the messages of an MCAP file or a bag."""
    columns: dict[str, str] = field(default_factory=dict)
    """Column names in the file, keyed by the names used in the study; for messages, paths such as orientation.x."""
    units: dict[str, Unit] = field(default_factory=dict)
    """Units of "time" and of columns, if not s, m and rad. Listed columns are excluded from unit checks."""
    rate: NotNegative = 0.0
    """Rate to which the log is resampled [Hz]; 0 to keep all samples."""
    align: Alignment | None = None
    """Alignment of the clock with another log; optional."""


@dataclass(frozen=True, kw_only=True)
class MotionStart:
    """File with the time at which the motion of a trial starts."""

    file: str
    """Name of a YAML file, with placeholders {trial} and {number} as in a log."""
    key: str
    """Key of the start time [s] in the file."""


@dataclass(frozen=True, kw_only=True)
class FitOnly(Checked):
    """Records without motion, for example of the drifting vehicle, used by every fit and never predicted."""

    names: str
    """Pattern of the record names, for example "baseline*"."""
    last: AboveZero = 20.0
    """Length of the section used from the end of the record [s]."""


@dataclass(frozen=True, kw_only=True)
class TrialFiles:
    """Trials of a study: file names and starts of the motions."""

    names: str
    """Pattern of the trial names, for example "traj*"."""
    find: LogName
    """Log whose files define the list of trials."""
    group: str = "-"
    """Separator in trial names; trials of one motion share the part before the separator."""
    begins: MotionStart
    """Start of the motion. A prediction may use all measurements before this time."""
    fit_only: FitOnly | None = None
    """Records without motion used by every fit; optional."""


@dataclass(frozen=True, kw_only=True)
class RecordedJoint(Checked):
    """Recorded motion of a joint."""

    log: LogName
    """Log that contains the positions."""
    column: str
    """Column that contains the positions."""
    scale: Finite = 1.0
    """Factor applied to the positions [-]."""
    offset: Annotated[Finite, Degrees()] = 0.0
    """Offset added to the scaled positions [rad]."""
    outliers: NotNegative = 0.0
    """Maximum deviation of a position from the running median [rad]; other samples are ignored. 0 keeps all samples."""


@dataclass(frozen=True, kw_only=True)
class LoggedChannel(Checked):
    """Measured quantity: column and error model. Angles and their rates may be in degrees."""

    column: str = ""
    """Column; defaults to the quantity. Roll, pitch and yaw of a quaternion are available as columns."""
    deviation: Annotated[AboveZero, Degrees()]
    """Standard deviation of the errors [m, m/s, rad, rad/s]."""
    offset: Annotated[NotNegative, Degrees()] = 0.0
    """Standard deviation of a constant error in each trial [m, m/s, rad, rad/s]."""
    correlation: NotNegative = 0.0
    """Correlation time of the errors [s]."""
    outlier: Limit = math.inf
    """Number of deviations above which errors count linearly instead of squared; optional."""


@dataclass(frozen=True, kw_only=True)
class LoggedInstrument(Checked):
    """Instrument on a body, and its log."""

    log: LogName
    """Log of the instrument."""
    body: str
    """Body to which the instrument is fixed."""
    quaternion: tuple[str, str, str, str] | None = None
    """Columns x, y, z and w of the orientation quaternion, body to world; optional."""
    channels: dict[str, LoggedChannel]
    """Measured quantities, keyed by roll, pitch, yaw, x, y, z, u, v, w, p, q or r."""
    turn: Annotated[NotNegative, Degrees()] = 0.0
    """Standard deviation of the instrument's rotation about z of the body [rad]."""
    place: NotNegative = 0.0
    """Standard deviation of the instrument's position on the body [m]."""
    delay: NotNegative = 0.0
    """Standard deviation of the sample delay [s]."""
    outliers: dict[str, AboveZero] = field(default_factory=dict)
    """Maximum deviation from the running median, keyed by column; other samples are ignored."""
    every: Annotated[int, Bound(whole=True, least=1)] = 1
    """Thinning factor: every n-th sample is used."""


@dataclass(frozen=True, kw_only=True)
class StartDeviations(Checked):
    """Standard deviations of the free body's initial state, which is estimated from the instruments."""

    position: NotNegative
    """Standard deviation of the position [m]."""
    attitude: Annotated[NotNegative, Degrees()]
    """Standard deviation of the attitude [rad]."""
    velocity: NotNegative
    """Standard deviation of the velocity [m/s]."""
    rates: Annotated[NotNegative, Degrees()]
    """Standard deviation of the angular rates [rad/s]."""


@dataclass(frozen=True, kw_only=True)
class ValidationStudy(Checked):
    """Validation study: a model is fitted to some trials and predicts held-out trials."""

    name: str
    """Name of the study."""
    title: str = ""
    """One-line title."""
    model: str
    """Library model, or path of a model file relative to the study file. The model has exactly one free body."""
    data: str = ""
    """Folder with the logs, relative to the study file; the option --data overrides it."""
    trials: TrialFiles
    """Names of the trials and starts of their motions."""
    logs: dict[str, LogSource]
    """Logs of each trial, keyed by name."""
    joints: dict[str, RecordedJoint]
    """Recorded joint motions, keyed by joint name."""
    smoothing: NotNegative = 0.0
    """Period at which the smoothing of joint motions halves the amplitude of a sine [s]; see `motions.Recorded.of`."""
    instruments: dict[str, LoggedInstrument]
    """Instruments, keyed by name."""
    line: LiftedLine | None = None
    """End of a slack tether that hangs from the vehicle; optional."""
    unknowns: tuple[Unknown, ...]
    """Unknown parameters of the model and the instruments."""
    start: StartDeviations
    """Standard deviations of the initial state of the free body."""
    window: AboveZero = 4.0
    """Maximum duration of the measurements used before the motion [s]."""
    step: AboveZero = 0.05
    """Integration step [s]."""
    judged: tuple[Annotated[str, Ref("channel")], ...]
    """Evaluated channels, for example "imu.roll"."""
    baseline: tuple[Annotated[str, Ref("channel")], ...] = ()
    """Roll and pitch channels to compare with a quasi-static balance; optional."""
    variant: Variant | None = None
    """Changes to the model; optional."""
    variants: dict[str, Variant] = field(default_factory=dict)
    """Alternative models, keyed by description, whose predictions are compared with those of the study."""
    code: Annotated[bool, Hidden()] = False
    """True if Python code named by the model may run; set by the caller who loads the study, not by the file."""

    def varied(self, name: str) -> ValidationStudy:
        """Return the study with the named variant, without the quasi-static balance, which does not depend on variants."""
        if name not in self.variants:
            raise ValueError(f"{self.name} has no variant named {name!r}{nearest(name, self.variants)}")
        variant = self.variants[name]
        named = {_identity(u): u for u in variant.unknowns}
        kept = [
            named.pop(_identity(u), u) for u in self.unknowns if not (isinstance(u, JointOffset) and u.joint in variant.without)
        ]
        if named:
            absent = next(iter(named.values()))
            raise ValueError(
                f"variant {name!r} of {self.name}: unknown {absent.name!r} is not in the study; list it under `more`"
            )
        moving = {joint: how for joint, how in self.joints.items() if joint not in variant.without}
        return replace(self, variant=variant, unknowns=(*kept, *variant.more), joints=moving, baseline=())

    def measuring(self) -> list[Instrument]:
        """Return the instruments with their error models, for `Problem`."""
        out = []
        for name, x in self.instruments.items():
            errors = {quantity: asdict(c) for quantity, c in x.channels.items()}
            channels = tuple(MeasuredChannel(quantity=q, **{k: c[k] for k in c if k != "column"}) for q, c in errors.items())
            out.append(Instrument(name=name, body=x.body, channels=channels, turn=x.turn, place=x.place, delay=x.delay))
        return out


def _identity(unknown: Unknown) -> tuple[Any, ...]:
    """Return the identity of an unknown: type, name and index."""
    return type(unknown), unknown.name, getattr(unknown, "index", ())


def validation_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of validation files, for editors and other programs."""
    return KIND.json_schema(ValidationStudy, FAMILIES)


@files.one_load()
def load_validation_study(path: str | Path, *, code: bool = False) -> ValidationStudy:
    """Load a validation study. One `ValidationStudyError` lists all errors; `code` permits custom joints."""
    document = read_document(path, "validation", ValidationStudyError)
    reader = Reader(FAMILIES, document.line, document.problems, source=str(path), folder=Path(path).parent)
    study = reader.file(ValidationStudy, document.data, KIND.key, KIND.version)
    channels = []
    for name, quantity in _channels(document.data):
        channels.append(f"{name}.{quantity}")
        if quantity not in CHANNELS:
            at, must = ("instruments", name, "channels", quantity), f"must be one of {', '.join(CHANNELS)}"
            reader.add(
                at, f"{reader.label(at)}: unknown quantity {quantity!r}{suggestion(quantity, CHANNELS)}; {must}", quantity, must
            )
            channels += [f"{name}.{known}" for known in CHANNELS]  # one of them is intended
    logs = document.data.get("logs")
    reader.check_names({"log": logs if isinstance(logs, dict) else (), "channel": channels})
    for name in study.variants if study is not BROKEN else ():
        try:
            study.varied(name)
        except ValueError as error:
            reader.add(("variants", name), str(error), name)
    reader.checked(study, ValidationStudyError)
    model = str(Path(path).absolute().parent / study.model) if is_path(study.model) else study.model
    return replace(study, model=model, code=code)


def _channels(data: dict[str, Any]) -> list[tuple[str, str]]:
    """Return instrument and quantity of each readable channel of a file."""
    instruments = data.get("instruments")
    rows = instruments.items() if isinstance(instruments, dict) else ()
    channels = [(name, x.get("channels") if isinstance(x, dict) else None) for name, x in rows]
    return [(name, quantity) for name, inner in channels if isinstance(inner, dict) for quantity in inner]
