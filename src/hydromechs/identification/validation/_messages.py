"""Logs of messages, MCAP and rosbag, as tables: numbers of the messages of one topic by their paths."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hydromechs import files
from hydromechs.values import nearest

NANO = 1e-9


def is_messages(path: Path) -> bool:
    """True if a file or folder is one of messages: MCAP, a bag of ROS 1, or the folder of a bag of ROS 2."""
    return path.suffix in (".mcap", ".bag") or (path / "metadata.yaml").is_file()


def read_messages(path: Path, topic: str, time: str, columns: Mapping[str, str]) -> tuple[list[str], np.ndarray]:
    """Return names and rows of a table of the messages of a topic, times first; missing values are NaN.

    The path of their time is as "header.stamp", "" for the time at which they were logged. Those of columns are as
    "orientation.x", "position.2" or, in messages with a list `name` beside it, "position.elbow".
    """
    if not topic or not columns:
        raise ValueError(f"{path.name}: a log of messages needs its topic and its columns, as columns: {{x: orientation.x}}")
    rows = []
    for logged, message in _messages(path, topic):
        stamp = logged * NANO if not time else _number(_at(message, time))
        rows.append([stamp, *(_number(_at(message, where)) for where in columns.values())])
    found = np.array(rows, dtype=float).reshape(len(rows), 1 + len(columns))
    for k, (name, where) in enumerate({"time": time, **columns}.items()):
        if len(found) and np.isnan(found[:, k]).all():
            raise KeyError(f"{path.name}: no message of {topic} has a number at {where!r}, needed for {name!r}")
    return ["time", *columns], found


def _messages(path: Path, topic: str) -> Iterator[tuple[int, Any]]:
    """Time of logging [ns] and content of each message of a topic."""
    if not path.exists():
        raise ValueError(f"{path} is not there")
    for part in [p for p in path.iterdir() if not p.is_dir()] if path.is_dir() else [path]:
        files.require_file(part, 2**50)  # libraries would wait for a pipe
    return _mcap_messages(path, topic) if path.suffix == ".mcap" else _bag_messages(path, topic)


def _mcap_messages(path: Path, topic: str) -> Iterator[tuple[int, Any]]:
    try:
        from mcap.exceptions import McapError
        from mcap.reader import make_reader
    except ImportError:
        raise ValueError(f"{path.name}: to read MCAP, pip install hydromechs[mcap]") from None
    try:
        with path.open("rb") as file:
            reader = make_reader(file)
            summary = reader.get_summary()
            topics = sorted({c.topic for c in summary.channels.values()}) if summary is not None else []
            if topics and topic not in topics:
                raise KeyError(f"{path.name}: no topic {topic!r}{nearest(topic, topics)}; it has {', '.join(topics)}")
            decode: dict[int, Any] = {}
            for schema, channel, message in reader.iter_messages(topics=[topic]):
                if channel.id not in decode:
                    decode[channel.id] = _decoder(path, channel.message_encoding, schema)
                yield message.log_time, decode[channel.id](message.data)
    except (ValueError, KeyError):
        raise
    except (McapError, EOFError) as error:
        raise ValueError(f"{path.name} is not a log that can be read: {error or type(error).__name__}") from None
    except Exception as error:  # damaged chunks and definitions make the libraries raise anything; they may quote the file
        raise ValueError(f"{path.name} is not a log that can be read: {type(error).__name__}") from None


def _decoder(path: Path, encoding: str, schema: Any) -> Any:
    if encoding == "json":
        return json.loads
    if encoding != "cdr" or schema is None or schema.encoding != "ros2msg":
        raise ValueError(f"{path.name}: messages are in {encoding!r}; json, and cdr with ros2msg schemas, can be read")
    try:
        from rosbags.typesys import Stores, get_types_from_msg, get_typestore
    except ImportError:
        raise ValueError(f"{path.name}: to read messages of ROS, pip install hydromechs[rosbags]") from None
    store = get_typestore(Stores.EMPTY)
    head, *others = schema.data.decode("utf-8").split("=" * 80 + "\n")
    types = dict(get_types_from_msg(head, schema.name))
    for text in others:
        first, rest = text.split("\n", 1)
        types |= get_types_from_msg(rest, first.removeprefix("MSG: ").strip())
    basic = get_typestore(Stores.LATEST).fielddefs  # time and duration are not among a message's definitions
    types |= {name: basic[name] for name in ("builtin_interfaces/msg/Time", "builtin_interfaces/msg/Duration")}
    store.register(types)
    name = schema.name if "/msg/" in schema.name else schema.name.replace("/", "/msg/")
    return lambda data: store.deserialize_cdr(data, name)


def _bag_messages(path: Path, topic: str) -> Iterator[tuple[int, Any]]:
    try:
        from rosbags.highlevel import AnyReader, AnyReaderError
        from rosbags.typesys import Stores, get_typestore
    except ImportError:
        raise ValueError(f"{path.name}: to read bags of ROS, pip install hydromechs[rosbags]") from None
    try:
        with AnyReader([path], default_typestore=get_typestore(Stores.LATEST)) as reader:
            if topic not in reader.topics:
                raise KeyError(
                    f"{path.name}: no topic {topic!r}{nearest(topic, list(reader.topics))}; it has "
                    f"{', '.join(sorted(reader.topics))}"
                )
            chosen = [c for c in reader.connections if c.topic == topic]
            for connection, logged, data in reader.messages(connections=chosen):
                yield logged, reader.deserialize(data, connection.msgtype)
    except (ValueError, KeyError):
        raise
    except AnyReaderError as error:
        raise ValueError(f"{path.name} is not a log that can be read: {error}") from None
    except Exception as error:  # see `_mcap_messages`
        raise ValueError(f"{path.name} is not a log that can be read: {type(error).__name__}") from None


def _at(message: Any, path: str) -> Any:
    """Return the value of a message at a path, None for nothing."""
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
    """Return an entry of a list by its number, or by the list `name` beside it, as in messages of joints."""
    if part.isdigit():
        return row[int(part)] if int(part) < len(row) else None
    names = list((parent.get("name") if isinstance(parent, Mapping) else getattr(parent, "name", None)) or [])
    return row[names.index(part)] if part in names and names.index(part) < len(row) else None


def _number(x: Any) -> float:
    """Return a number, or a time of seconds and nanoseconds; NaN for anything else."""
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
