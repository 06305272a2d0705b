"""Readers for untrusted files: regular files of limited size only; pipes and devices are rejected.

Every reader of a file format uses these functions. Their errors name the file and the reason, never its contents,
since a path in a file may point anywhere on the machine.
"""

import json
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO

__all__ = ["MAX_BYTES", "UnreadableFile", "open_file", "read_bytes", "read_json", "read_text", "require_file"]

MAX_BYTES = 64 * 2**20
"""Maximum size of a text file [bytes]; the largest library model has 60 kB."""

FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""Flags for opening a file to read, as far as the system has them."""


class UnreadableFile(OSError):
    """A file cannot be read; the message names the file, the reason and the fix."""


def require_file(path: str | os.PathLike[str], limit: int = MAX_BYTES) -> Path:
    """Return the path of a regular file of at most `limit` bytes, for libraries that open files themselves."""
    try:
        _check(path, os.stat(path), limit)
    except ValueError as error:  # a null character
        raise UnreadableFile(f"{os.fspath(path)!r} is not a path: {error}; give the path of a file") from None
    return Path(path)


def open_file(path: str | os.PathLike[str], limit: int = MAX_BYTES) -> BinaryIO:
    """Open a regular file of at most `limit` bytes to read its bytes."""
    require_file(path, limit)  # first: opening a device can have side effects
    handle = os.open(path, FLAGS)
    try:
        _check(path, os.fstat(handle), limit)  # again: the path may name a different file by now
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_bytes(path: str | os.PathLike[str], limit: int = MAX_BYTES) -> bytes:
    """Return the bytes of a regular file of at most `limit` bytes."""
    with open_file(path, limit) as file:
        raw = file.read(limit + 1)  # kernel files report size 0, and other files may grow
    if len(raw) > limit:
        raise _too_large(path, limit)
    return raw


def read_text(path: str | os.PathLike[str], limit: int = MAX_BYTES) -> str:
    """Return the text of a regular UTF-8 file of at most `limit` bytes, with or without a byte order mark."""
    try:
        return read_bytes(path, limit).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableFile(f"{os.fspath(path)} is not UTF-8 text; save it as UTF-8") from None


def read_json(path: str | os.PathLike[str], limit: int = MAX_BYTES) -> Any:
    """Return the content of a JSON file of at most `limit` bytes."""
    try:
        return json.loads(read_text(path, limit))
    except json.JSONDecodeError as error:
        raise UnreadableFile(f"{os.fspath(path)} is not JSON: line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise UnreadableFile(f"{os.fspath(path)} is nested too deeply to be read as JSON") from None
    except ValueError as error:  # a number with thousands of digits
        raise UnreadableFile(f"{os.fspath(path)} cannot be read as JSON: {error}") from None


def check_version(path: str | os.PathLike[str], what: str, found: object, version: int, remedy: str) -> None:
    """Raise `UnreadableFile`, with a remedy, for a file or store (`what`, as "a recording") of another version."""
    if type(found) is int and found == version:
        return
    if type(found) is int and 0 < found < version:
        made, advice = f"of version {found}, written by HydroMechs 0.5 or older", remedy
    else:
        made, advice = f"of version {found!r}", "install the HydroMechs that wrote it"
    raise UnreadableFile(f"{os.fspath(path)} is {what} {made}; this HydroMechs reads version {version}; {advice}")


def _check(path: str | os.PathLike[str], status: os.stat_result, limit: int) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise UnreadableFile(f"{os.fspath(path)} is a folder; give the path of a file")
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableFile(f"{os.fspath(path)} is a device, pipe or socket; give the path of a regular file")
    if status.st_size > limit:
        raise _too_large(path, limit)


def _too_large(path: str | os.PathLike[str], limit: int) -> UnreadableFile:
    return UnreadableFile(f"{os.fspath(path)} is larger than {limit // 2**20} MiB, the limit for this kind of file; split it")
