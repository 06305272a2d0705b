"""A validation study and its file: model, logs, unknowns, and the evaluated channels."""

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
"""All families of a validation file."""
AboveZero = Annotated[float, Bound(above=0.0)]
Unit = Literal["rad", "rad/s", "m", "m/s", "s", "deg", "deg/s", "mm", "cm", "mm/s", "cm/s", "ms", "us", "ns"]
LogName = Annotated[str, Ref("log")]


@dataclass(frozen=True, kw_only=True)
class Alignment(Checked):
    """Signals by which the clock of a log is shifted to that of another."""

    to: LogName
    """Log with the correct clock."""
    column: str
    """Signal of this log: a column, or roll, pitch or yaw of its instrument."""
    reference: str
    """The same signal of the other log."""
    most: AboveZero = 1.0
    """Maximum difference of the clocks [s]."""


@dataclass(frozen=True, kw_only=True)
class LogSource(Checked):
    """File of a log, the names of its columns, and its processing."""

    file: str
    """Name of its file in the data folder; {trial} is the name of the trial, {number} the name without its leading letters."""
    time: str = ""
    """Column with the times [s]; for messages a path such as header.stamp, or the logging time if omitted."""
    topic: str = ""
    """Topic of the messages of an MCAP file or a bag."""
    columns: dict[str, str] = field(default_factory=dict)
    """Names of columns used here, with their names in the file; for messages, paths such as orientation.x."""
    units: dict[str, Unit] = field(default_factory=dict)
    """Units of columns, and of "time", that are not m, rad and s. Columns listed here are not checked for likely units."""
    rate: NotNegative = 0.0
    """Rate to which it is resampled [Hz]; 0 for all samples."""
    align: Alignment | None = None
    """Alignment of its clock with that of another log; optional."""


@dataclass(frozen=True, kw_only=True)
class MotionStart:
    """File that contains the time at which the motion of a trial starts."""

    file: str
    """Name of a YAML file, with {trial} and {number} as in a log."""
    key: str
    """Key under which the file has the time [s]."""


@dataclass(frozen=True, kw_only=True)
class FitOnly(Checked):
    """Records without motion that every fit uses and no prediction covers, for example those of the drifting vehicle."""

    names: str
    """Pattern of the record names, for example "baseline*"."""
    last: AboveZero = 20.0
    """Length of the section used at the end of the record [s]."""


@dataclass(frozen=True, kw_only=True)
class TrialFiles:
    """Names of the trials."""

    names: str
    """Pattern of the trial names, for example "traj*"."""
    find: LogName
    """Log whose files list the trials."""
    group: str = "-"
    """Separator after the part of a name that trials of one motion share."""
    begins: MotionStart
    """Start of the motion; a prediction may use everything before it."""
    fit_only: FitOnly | None = None
    """Records without motion that every fit uses; optional."""


@dataclass(frozen=True, kw_only=True)
class RecordedJoint(Checked):
    """The recorded motion of a joint."""

    log: LogName
    """Log with its positions."""
    column: str
    """Column with its positions."""
    scale: Finite = 1.0
    """Factor applied to the positions [-]."""
    offset: Annotated[Finite, Degrees()] = 0.0
    """Offset added to the positions [rad]."""
    outliers: NotNegative = 0.0
    """Maximum distance of a position from the median around it; samples beyond it are ignored. 0 keeps all."""


@dataclass(frozen=True, kw_only=True)
class LoggedChannel(Checked):
    """A measured quantity: its column and its errors. Angles and their rates can be in degrees."""

    column: str = ""
    """Column; defaults to the quantity. Roll, pitch and yaw of a quaternion are also columns."""
    deviation: Annotated[AboveZero, Degrees()]
    """Standard deviation of its errors [m, m/s, rad, rad/s]."""
    offset: Annotated[NotNegative, Degrees()] = 0.0
    """Standard deviation of a constant error in each trial, in the same unit."""
    correlation: NotNegative = 0.0
    """Correlation time of the errors [s]."""
    outlier: Limit = math.inf
    """Number of deviations beyond which errors count linearly; optional."""


@dataclass(frozen=True, kw_only=True)
class LoggedInstrument(Checked):
    """An instrument on a body, and its log."""

    log: LogName
    """Log of the instrument."""
    body: str
    """Body to which it is fixed."""
    quaternion: tuple[str, str, str, str] | None = None
    """Columns x, y, z, w of its orientation, body to world; optional."""
    channels: dict[str, LoggedChannel]
    """Measured quantities: roll, pitch, yaw, x, y, z, u, v, w, p, q, r."""
    turn: Annotated[NotNegative, Degrees()] = 0.0
    """Standard deviation of its rotation about z on the body [rad]."""
    place: NotNegative = 0.0
    """Standard deviation of its position on the body [m]."""
    delay: NotNegative = 0.0
    """Standard deviation of the delay of its samples [s]."""
    outliers: dict[str, AboveZero] = field(default_factory=dict)
    """Maximum distance of a column from the median around it; samples beyond it are ignored."""
    every: Annotated[int, Bound(whole=True, least=1)] = 1
    """Use every n-th sample."""


@dataclass(frozen=True, kw_only=True)
class StartDeviations(Checked):
    """Standard deviations of the free body's initial state, estimated from the instruments."""

    position: NotNegative
    """Position [m]."""
    attitude: Annotated[NotNegative, Degrees()]
    """Attitude [rad]."""
    velocity: NotNegative
    """Velocity [m/s]."""
    rates: Annotated[NotNegative, Degrees()]
    """Angular rates [rad/s]."""


@dataclass(frozen=True, kw_only=True)
class ValidationStudy(Checked):
    """Study in which a model is fitted to some trials and predicts others that were held out."""

    name: str
    """Name of the study."""
    title: str = ""
    """Title in one line."""
    model: str
    """Library model, or path of a model file relative to this file, with one free body."""
    data: str = ""
    """Folder with the logs, relative to this file; the option --data overrides it."""
    trials: TrialFiles
    """Names of the trials."""
    logs: dict[str, LogSource]
    """Logs of a trial, by name."""
    joints: dict[str, RecordedJoint]
    """Joints whose motion was recorded, by name."""
    smoothing: NotNegative = 0.0
    """Period of a sine whose amplitude the smoothing of joint motions halves [s], see `motions.Recorded.of`."""
    instruments: dict[str, LoggedInstrument]
    """Instruments, by name."""
    line: LiftedLine | None = None
    """A lifted tether; optional."""
    unknowns: tuple[Unknown, ...]
    """Unknown numbers."""
    start: StartDeviations
    """Standard deviations of the initial states."""
    window: AboveZero = 4.0
    """Maximum time before the motion that is used [s]."""
    step: AboveZero = 0.05
    """Step of the integration [s]."""
    judged: tuple[Annotated[str, Ref("channel")], ...]
    """Evaluated channels, for example "imu.roll"."""
    baseline: tuple[Annotated[str, Ref("channel")], ...] = ()
    """Roll and pitch channels to compare with a quasi-static balance; optional."""
    variant: Variant | None = None
    """Changes of the model; optional."""
    variants: dict[str, Variant] = field(default_factory=dict)
    """Other models whose predictions are compared with those of the study, by description."""
    code: Annotated[bool, Hidden()] = False
    """True if the Python code that its model names may run; set by the caller who loads the study, not by the file."""

    def varied(self, name: str) -> ValidationStudy:
        """Return the study with a variant by name, without the quasi-static balance, which is the same for all of them."""
        if name not in self.variants:
            raise ValueError(f"{self.name} has no variant {name!r}{nearest(name, self.variants)}")
        variant = self.variants[name]
        named = {_identity(u): u for u in variant.unknowns}
        kept = [
            named.pop(_identity(u), u) for u in self.unknowns if not (isinstance(u, JointOffset) and u.joint in variant.without)
        ]
        if named:
            absent = next(iter(named.values()))
            raise ValueError(f"variant {name!r} of {self.name}: the study has no unknown {absent.name!r}; list it under `more`")
        moving = {joint: how for joint, how in self.joints.items() if joint not in variant.without}
        return replace(self, variant=variant, unknowns=(*kept, *variant.more), joints=moving, baseline=())

    def measuring(self) -> list[Instrument]:
        """Return the instruments, for `Problem`."""
        out = []
        for name, x in self.instruments.items():
            errors = {quantity: asdict(c) for quantity, c in x.channels.items()}
            channels = tuple(MeasuredChannel(quantity=q, **{k: c[k] for k in c if k != "column"}) for q, c in errors.items())
            out.append(Instrument(name=name, body=x.body, channels=channels, turn=x.turn, place=x.place, delay=x.delay))
        return out


def _identity(unknown: Unknown) -> tuple[Any, ...]:
    """Return the identity of an unknown: its type, name and index."""
    return type(unknown), unknown.name, getattr(unknown, "index", ())


def validation_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of the validation file, for editors and other programs."""
    return KIND.json_schema(ValidationStudy, FAMILIES)


@files.one_load()
def load_validation_study(path: str | Path, *, code: bool = False) -> ValidationStudy:
    """Load a validation study; all errors are listed in one `ValidationStudyError`; `code` permits custom joints."""
    document = read_document(path, "validation", ValidationStudyError)
    reader = Reader(FAMILIES, document.line, document.problems, source=str(path), folder=Path(path).parent)
    study = reader.file(ValidationStudy, document.data, KIND.key, KIND.version)
    channels = []
    for name, quantity in _channels(document.data):
        channels.append(f"{name}.{quantity}")
        if quantity not in CHANNELS:
            at, must = ("instruments", name, "channels", quantity), f"must be one of {', '.join(CHANNELS)}"
            reader.add(
                at, f"{reader.label(at)}: no quantity {quantity!r}{suggestion(quantity, CHANNELS)}, {must}", quantity, must
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
    """Return instrument and quantity of each channel of a file, as far as they can be read."""
    instruments = data.get("instruments")
    rows = instruments.items() if isinstance(instruments, dict) else ()
    channels = [(name, x.get("channels") if isinstance(x, dict) else None) for name, x in rows]
    return [(name, quantity) for name, inner in channels if isinstance(inner, dict) for quantity in inner]
