"""Logs of a vehicle: tables and messages over time, with checks of clocks, gaps and outliers."""

from __future__ import annotations

import gzip
import io
import json
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hydromechs import files
from hydromechs.recording import attitude
from hydromechs.values import nearest

MAX_LOG = 2**31
"""Maximum size of a log [bytes]."""
MAX_CHUNK = 2**28
"""Maximum unpacked size of a chunk of an MCAP file [bytes]; writers start a new chunk after 1 to 4 MB."""

DEGREE = math.radians(1.0)
UNITS = {
    "rad": 1.0,
    "rad/s": 1.0,
    "m": 1.0,
    "m/s": 1.0,
    "s": 1.0,
    "deg": DEGREE,
    "deg/s": DEGREE,
    "mm": 1e-3,
    "cm": 1e-2,
    "mm/s": 1e-3,
    "cm/s": 1e-2,
    "ms": 1e-3,
    "us": 1e-6,
    "ns": 1e-9,
}
"""Supported units of columns, with their factors to SI units."""

GAP = 10.0
"""Minimum length of a reported pause, in median sampling intervals."""
JUMPED, LONG = 0.05, 100.0
"""Maximum fraction of samples with decreasing times, and maximum pause in median sampling intervals."""
SELDOM, HOUR = 0.5, 3600.0
"""Sampling interval and duration above which the time unit of a log is suspect [s]."""
FEW = 10
"""Minimum number of samples of a log."""


def unit_of(channel: str) -> tuple[float, str]:
    """Return the display factor and the displayed unit of a channel."""
    quantity = channel.split(".")[1]
    if quantity in ("roll", "pitch", "yaw"):
        return math.degrees(1.0), "°"
    return (math.degrees(1.0), "°/s") if quantity in ("p", "q", "r") else (1.0, "m" if quantity in "xyz" else "m/s")


@dataclass(frozen=True, eq=False)
class LogFile:
    """Columns of a log as functions of time."""

    name: str
    time: np.ndarray
    """Strictly increasing times [s], shape (n,)."""
    columns: dict[str, np.ndarray]
    """Values, shape (n,) each, keyed by column name."""
    notes: tuple[str, ...] = ()
    """Problems found and their treatment."""

    def column(self, name: str) -> np.ndarray:
        """Return the named column, shape (n,)."""
        if name not in self.columns:
            raise KeyError(f"{self.name}: no column is named {name!r}{nearest(name, self.columns)}")
        return self.columns[name]

    def dataset(self) -> Any:
        """Return the log as an `xarray.Dataset` over time."""
        import xarray

        columns = {name: ("time", x) for name, x in self.columns.items() if name != "time"}
        return xarray.Dataset(columns, coords={"time": self.time})

    def off_median(self, name: str, span: float) -> np.ndarray:
        """Return the distance of a column from its running median over `span` [s], in the unit of the column, shape (n,)."""
        from scipy.ndimage import median_filter

        n = 2 * max(1, round(0.5 * span / float(np.median(np.diff(self.time))))) + 1
        x = self.column(name)
        return np.abs(x - median_filter(x, n, mode="nearest"))

    def keeping(self, good: np.ndarray, note: str) -> LogFile:
        """Return the log with only the selected samples, with the reason as a note."""
        kept = {name: x[good] for name, x in self.columns.items()}
        return LogFile(self.name, self.time[good], kept, (*self.notes, note) if note else self.notes)


def read_log(
    path: str | Path,
    time: str = "",
    *,
    topic: str = "",
    columns: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
) -> LogFile:
    """Read a log from a CSV file, an MCAP file, or a bag of ROS 1 (.bag) or ROS 2 (a folder).

    The first line of a table, plain or compressed, contains the column names.

    Incomplete rows are ignored, and so are samples that are not later than all earlier ones, for example after a clock jumps
    back. Pauses of more than ten median sampling intervals are reported.

    Args:
        path: File, or folder of a bag.
        time: Name of the time column [s]; for messages, the path of the time field, or "" for the logging time.
        topic: Topic of the messages of an MCAP file or a bag.
        columns: Column names in the file, keyed by the names in the log; for messages, paths such as "orientation.x".
        units: Units of "time" and of columns, from `UNITS`, if they are not m, rad and s or must not be checked.
    """
    path = Path(path)
    if is_messages(path):
        names, rows = read_messages(path, topic, time, columns or {})
        time = "time"
    else:
        names, rows = _read_table(path, time)
        for name, there in (columns or {}).items():
            if there not in names:
                raise KeyError(f"{path.name}: no column is named {there!r}{nearest(there, names)}")
            names[names.index(there)] = name
    for name, unit in (units or {}).items():
        column = time if name == "time" else name
        if column not in names:
            raise KeyError(f"{path.name}: units: no column is named {name!r}{nearest(name, names)}")
        rows[:, names.index(column)] *= UNITS[unit]
    return _checked(path.name, names, rows, time)


def _read_table(path: Path, time: str) -> tuple[list[str], np.ndarray]:
    opener: Any = gzip.open if path.suffix == ".gz" else open
    try:
        files.require_file(path, MAX_LOG)
        with opener(path, "rt", encoding="utf-8") as text:
            head = text.readline(MAX_LOG)
            files.require_columns(head)
            names = [name.strip() for name in head.split(",")]
            lines, length = [], 0
            while line := text.readline(MAX_LOG):
                length += len(line)
                files.require_columns(line)
                if length > MAX_LOG:  # a small compressed file can unpack to terabytes
                    raise ValueError(f"more than {MAX_LOG // 2**20} MiB of text; split the file")
                lines += [line] if line.strip() else []
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise ValueError(f"{path} cannot be read as a log: {error}") from None
    if time not in names:
        shown = names if any(map(_is_numbers, lines)) else []  # this may be any file: do not quote its column names
        raise KeyError(f"{path.name}: no time column is named {time!r}{nearest(time, shown)}")
    if not lines:
        raise ValueError(f"{path.name}: the file contains {len(names)} column names but no samples; record it again")
    rows = np.genfromtxt(lines, delimiter=",", invalid_raise=False, ndmin=2)
    if rows.shape[1] != len(names):
        raise ValueError(
            f"{path.name}: rows have {rows.shape[1]} values, but the first line names {len(names)} columns; correct it"
        )
    return names, rows


def _is_numbers(line: str) -> bool:
    try:
        return bool([float(cell) for cell in line.split(",")])
    except ValueError:
        return False


def _checked(file: str, names: Sequence[str], rows: np.ndarray, time: str) -> LogFile:
    t, notes = rows[:, names.index(time)], []
    whole = np.isfinite(rows).all(axis=1)
    if not whole.all():
        notes.append(f"{file}: {int((~whole).sum())} of {len(rows)} rows have missing values and are ignored")
        rows, t = rows[whole], t[whole]
    ahead = np.zeros(len(t), dtype=bool)
    ahead[1:-1] = (t[1:-1] > t[2:]) & (t[2:] > t[:-2])
    if ahead.any():
        notes.append(
            f"{file}: {int(ahead.sum())} samples are later than the next one and are ignored; check the clock for jumps"
        )
        rows, t = rows[~ahead], t[~ahead]
    latest = np.maximum.accumulate(t) if len(t) else t
    late = np.concatenate([[True], t[1:] > latest[:-1]]) if len(t) else np.zeros(0, dtype=bool)
    _reject_jumps(file, t, latest)
    if not late.all():
        notes.append(
            f"{file}: {int((~late).sum())} samples are not later than earlier ones and are ignored; check the clock for jumps"
        )
        rows, t = rows[late], t[late]
    if len(t) < FEW:
        raise ValueError(f"{file}: {len(t)} valid samples remain; provide at least {FEW}")
    steps = np.diff(t)
    usual = float(np.median(steps))
    if usual > SELDOM and t[-1] - t[0] > HOUR:
        notes.append(f"{file}: {usual:g} s between samples; {time_unit_hint(usual)}")
    pauses = np.flatnonzero(steps > GAP * usual)
    if len(pauses):
        notes.append(f"{file}: no samples from {', '.join(f'{t[k]:.2f} to {t[k + 1]:.2f}' for k in pauses)} s")
    return LogFile(file, t, {name: rows[:, k] for k, name in enumerate(names)}, tuple(notes))


def time_unit_hint(gap: float) -> str:
    """Return a hint that times may be in another unit, given the sampling interval [s]."""
    unit = "ms" if gap < 1e3 else "us" if gap < 1e6 else "ns"
    return f"if the times are in {unit}, set units: {{time: {unit}}} for this log"


def _reject_jumps(file: str, t: np.ndarray, latest: np.ndarray) -> None:
    """Reject a clock that jumps permanently; `latest` is the running maximum of the times, shape (n,)."""
    remedy, behind = "cut the log at the jump, or use another clock", t < latest
    if len(t) >= FEW and np.mean(behind) > JUMPED:
        k = int(np.argmax(behind))
        raise ValueError(
            f"{file}: the clock jumps back from {t[k - 1]:.2f} to {t[k]:.2f} s at sample {k} and stays behind: "
            f"{int(behind.sum())} of {len(t)} samples are earlier than preceding ones; {remedy}"
        )
    steps = np.diff(latest[latest > np.concatenate([[-np.inf], latest[:-1]])])
    if len(steps) < FEW:
        return
    k = int(np.argmax(steps))
    if steps[k] > max(LONG * float(np.median(steps)), 2.0 * float(steps.sum() - steps[k])):
        first = latest[0] + float(steps[:k].sum())
        raise ValueError(
            f"{file}: the clock jumps ahead from {first:.2f} to {first + steps[k]:.2f} s, longer than the rest of the log; "
            f"{remedy}"
        )


def without_outliers(log: LogFile, limits: dict[str, float], span: float) -> LogFile:
    """Return the log without samples that differ from the running median over `span` [s] by more than a limit."""
    good = np.ones(len(log.time), dtype=bool)
    for name, limit in limits.items():
        good &= log.off_median(name, span) <= limit
    bad = int((~good).sum())
    return log.keeping(good, f"{log.name}: {bad} of {len(good)} samples are outliers and are ignored" if bad else "")


def changed(log: LogFile, name: str, longest: float) -> np.ndarray:
    """Return the indices of samples with a new value, and of samples after a time without a new value.

    A bus that repeats the last value between updates turns a slope into a staircase. Only the steps of the staircase are valid.
    """
    x, keep, last = log.column(name), [0], log.time[0]
    for k in range(1, len(x)):
        if x[k] != x[k - 1] or log.time[k] - last > longest:
            keep.append(k)
            last = log.time[k]
    return np.array(keep)


def euler_angles(columns: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """Return roll, pitch and unwrapped yaw [rad], shape (n,) each, of quaternions with columns x, y, z and w."""
    q = np.stack(columns)
    size = np.sqrt(np.sum(q * q, axis=0))
    if not (np.abs(size - 1.0) < 0.05).all():
        raise ValueError(
            f"quaternion norms are {size.min():.3g} to {size.max():.3g}, not 1; list the columns in the order x, y, z, w"
        )
    wxyz = (q / size)[[3, 0, 1, 2]].T
    return {"roll": attitude("roll", wxyz), "pitch": attitude("pitch", wxyz), "yaw": np.unwrap(attitude("heading", wxyz))}


NANO = 1e-9


def is_messages(path: Path) -> bool:
    """True if a path is a recording of messages: MCAP, a bag of ROS 1, or the folder of a bag of ROS 2."""
    return path.suffix in (".mcap", ".bag") or (path / "metadata.yaml").is_file()


def read_messages(path: Path, topic: str, time: str, columns: Mapping[str, str]) -> tuple[list[str], np.ndarray]:
    """Return the column names and rows of a table of the messages of a topic, times first; missing values are NaN.

    The time path is, for example, "header.stamp", or "" for the logging time. Examples of column paths are "orientation.x",
    "position.2" and, in messages with a list `name`, "position.elbow".
    """
    if not topic or not columns:
        raise ValueError(f"{path.name}: topic or columns are missing; set both, for example columns: {{x: orientation.x}}")
    rows = []
    for logged, message in _messages(path, topic):
        stamp = logged * NANO if not time else _number(_at(message, time))
        rows.append([stamp, *(_number(_at(message, where)) for where in columns.values())])
    found = np.array(rows, dtype=float).reshape(len(rows), 1 + len(columns))
    for k, (name, where) in enumerate({"time": time, **columns}.items()):
        if len(found) and np.isnan(found[:, k]).all():
            raise KeyError(f"{path.name}: no message of {topic} has a number at {where!r}; correct the path of column {name!r}")
    return ["time", *columns], found


def _messages(path: Path, topic: str) -> Iterator[tuple[int, Any]]:
    """Yield the logging time [ns] and the content of each message of a topic."""
    if not path.exists():
        raise ValueError(f"{path} does not exist; correct the path")
    for part in [p for p in path.iterdir() if not p.is_dir()] if path.is_dir() else [path]:
        files.require_file(part, 2**50)  # libraries would wait for a pipe
    return _mcap_messages(path, topic) if path.suffix == ".mcap" else _bag_messages(path, topic)


def _mcap_messages(path: Path, topic: str) -> Iterator[tuple[int, Any]]:
    try:
        from mcap import stream_reader
        from mcap.exceptions import McapError
        from mcap.reader import make_reader
    except ImportError:
        raise ValueError(f"{path.name}: the MCAP reader is not installed; pip install hydromechs[mcap]") from None
    from unittest.mock import patch  # slow to import

    try:
        # the library unpacks each chunk whole, whatever its size
        with path.open("rb") as file, patch.object(stream_reader, "get_chunk_data_stream", _unpacked):
            reader = make_reader(file)
            summary = reader.get_summary()
            topics = sorted({c.topic for c in summary.channels.values()}) if summary is not None else []
            if topics and topic not in topics:
                raise KeyError(f"{path.name}: no topic is named {topic!r}{nearest(topic, topics)}")
            decode: dict[int, Any] = {}
            for schema, channel, message in reader.iter_messages(topics=[topic]):
                if channel.id not in decode:
                    decode[channel.id] = _decoder(path, channel.message_encoding, schema)
                yield message.log_time, decode[channel.id](message.data)
    except _TooLargeChunkError as error:
        raise ValueError(f"{path.name}: {error}") from None
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
        raise ValueError(
            f"{path.name}: a message of {topic} is not valid JSON as its channel states; record it again"
        ) from None
    except (ValueError, KeyError):
        raise
    except (McapError, EOFError) as error:
        raise ValueError(f"{path.name} cannot be read as a log: {error or type(error).__name__}") from None
    except Exception as error:  # damaged chunks and definitions make the libraries raise anything; they may quote the file
        raise ValueError(f"{path.name} cannot be read as a log: {type(error).__name__}") from None


class _TooLargeChunkError(Exception):
    """Error for a chunk of an MCAP file that unpacks to more than `MAX_CHUNK` bytes."""


def _unpacked(chunk: Any, validate_crc: bool = False) -> tuple[Any, int]:
    """Return the stream and the size of an unpacked chunk; replaces `mcap.stream_reader.get_chunk_data_stream`."""
    from mcap.data_stream import ReadDataStream

    limit = min(chunk.uncompressed_size, MAX_CHUNK)
    raw, size = chunk.data, chunk.uncompressed_size
    if chunk.compression == "zstd":
        import zstandard

        size = max(size, zstandard.frame_content_size(raw))
        if size <= limit:
            with zstandard.ZstdDecompressor(max_window_size=MAX_CHUNK).stream_reader(raw) as plain:
                raw = plain.read(limit + 1)
    elif chunk.compression == "lz4":
        import lz4.frame

        raw = lz4.frame.LZ4FrameDecompressor().decompress(raw, max_length=limit + 1)
    if size > limit or len(raw) > limit:
        words = f"a chunk unpacks to more than {limit:,} bytes"
        raise _TooLargeChunkError(f"{words}, the limit or its declared size; record smaller chunks (mcap recover)")
    return ReadDataStream(io.BytesIO(raw)), len(raw)


def _decoder(path: Path, encoding: str, schema: Any) -> Any:
    if encoding == "json":
        return json.loads
    if encoding != "cdr" or schema is None or schema.encoding != "ros2msg":
        raise ValueError(f"{path.name}: message encoding {encoding!r} is unsupported; use json, or cdr with ros2msg schemas")
    try:
        from rosbags.typesys import Stores, get_types_from_msg, get_typestore
    except ImportError:
        raise ValueError(f"{path.name}: the reader of ROS messages is not installed; pip install hydromechs[rosbags]") from None
    store = get_typestore(Stores.EMPTY)
    head, *others = schema.data.decode("utf-8").split("=" * 80 + "\n")
    types = dict(get_types_from_msg(head, schema.name))
    for text in others:
        first, rest = text.split("\n", 1)
        types |= get_types_from_msg(rest, first.removeprefix("MSG: ").strip())
    basic = get_typestore(Stores.LATEST).fielddefs  # the definitions of a message omit time and duration
    types |= {name: basic[name] for name in ("builtin_interfaces/msg/Time", "builtin_interfaces/msg/Duration")}
    store.register(types)
    name = schema.name if "/msg/" in schema.name else schema.name.replace("/", "/msg/")
    return lambda data: store.deserialize_cdr(data, name)


def _bag_messages(path: Path, topic: str) -> Iterator[tuple[int, Any]]:
    try:
        from rosbags.highlevel import AnyReader, AnyReaderError
        from rosbags.typesys import Stores, get_typestore
    except ImportError:
        raise ValueError(f"{path.name}: the reader of ROS bags is not installed; pip install hydromechs[rosbags]") from None
    try:
        with AnyReader([path], default_typestore=get_typestore(Stores.LATEST)) as reader:
            if topic not in reader.topics:
                raise KeyError(f"{path.name}: no topic is named {topic!r}{nearest(topic, sorted(reader.topics))}")
            chosen = [c for c in reader.connections if c.topic == topic]
            for connection, logged, data in reader.messages(connections=chosen):
                yield logged, reader.deserialize(data, connection.msgtype)
    except (ValueError, KeyError):
        raise
    except AnyReaderError as error:
        raise ValueError(f"{path.name} cannot be read as a log: {error}") from None
    except Exception as error:  # see `_mcap_messages`
        raise ValueError(f"{path.name} cannot be read as a log: {type(error).__name__}") from None


def _at(message: Any, path: str) -> Any:
    """Return the value of a message field at a path; None if missing."""
    here, parent = message, None
    for part in path.split("."):
        before = parent
        parent = here
        if isinstance(here, Mapping):
            here = here.get(part)
        elif isinstance(here, Sequence | np.ndarray) and not isinstance(here, str):
            here = _entry(here, part, before)
        else:
            here = getattr(here, part, None)
        if here is None:
            return None
    return here


def _entry(row: Any, part: str, parent: Any) -> Any:
    """Return a list entry by index, or by its name in the list `name` of the same message, as in JointState."""
    if part.isdigit():
        return row[int(part)] if int(part) < len(row) else None
    names = list((parent.get("name") if isinstance(parent, Mapping) else getattr(parent, "name", None)) or [])
    return row[names.index(part)] if part in names and names.index(part) < len(row) else None


def _number(x: Any) -> float:
    """Return a number, or a time [s] from seconds and nanoseconds; NaN for other values."""
    if x is None or isinstance(x, str):
        return float("nan")
    fields = x if isinstance(x, Mapping) else {k: getattr(x, k, None) for k in ("sec", "secs", "nanosec", "nsec", "nsecs")}
    if isinstance(x, Mapping) or fields["sec"] is not None or fields["secs"] is not None:
        whole = next((fields[k] for k in ("sec", "secs") if fields.get(k) is not None), None)
        rest = next((fields[k] for k in ("nanosec", "nsec", "nsecs") if fields.get(k) is not None), None)
        return float("nan") if whole is None else float(whole) + NANO * float(rest or 0)
    try:
        return float(x)
    except (TypeError, ValueError):
        return float("nan")
