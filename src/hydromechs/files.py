"""Access to untrusted files and folders: only regular files of limited size are read, and writing never follows links.

All readers of file formats use these functions. Errors name the file and the reason but never quote the contents, because a
path in a file may point anywhere on the machine. All writers into result folders use `replacing`.
"""

import contextlib
import errno
import hashlib
import json
import math
import os
import re
import secrets
import shutil
import stat
import zipfile
from collections import Counter
from collections.abc import Collection, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any, BinaryIO

__all__ = [
    "CONTROL",
    "LIMITS",
    "MAX_BYTES",
    "MAX_COLUMNS",
    "PARTIAL",
    "UnreadableFile",
    "count",
    "digest",
    "one_load",
    "only",
    "open_file",
    "open_lock",
    "printable",
    "read_bytes",
    "read_entry",
    "read_json",
    "read_text",
    "remove",
    "replacing",
    "require_columns",
    "require_file",
    "write_bytes",
    "write_json",
    "write_text",
]

MAX_BYTES = 64 * 2**20
"""Maximum size of a text file [byte]; the largest library model has 60 kB."""

MAX_COLUMNS = 1000
"""Maximum number of columns of a table; NumPy allocates 2 kB per column before it reads a number."""

PARTIAL = ".*.partial*"
"""Pattern of names of files that are being written, or that remain from a killed process."""
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters through which a text could control a terminal, or reverse the displayed order of text."""
FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""Flags for opening a file for reading, if the operating system supports them."""


LIMITS = {"files": 5000, "bytes": 512 * 2**20, "values": 1_000_000, "vertices": 20_000_000}
"""Limits of all files in one load: number, size [byte], values (0.7 kB of memory each; a chain of 5,000 bodies has 300,000),
vertices of meshes."""
_load: ContextVar[Counter[str] | None] = ContextVar("load", default=None)
_known: ContextVar[Collection[str] | None] = ContextVar("known", default=None)


class UnreadableFile(OSError):
    """Error about a file that cannot be read; the message contains the file, the reason and the fix."""


@contextlib.contextmanager
def one_load() -> Iterator[None]:
    """Apply `LIMITS` to all files that are read within the block, including files named in files; blocks may nest."""
    token = _load.set(Counter()) if _load.get() is None else None
    try:
        yield
    finally:
        if token is not None:
            _load.reset(token)


def count(what: str, number: int) -> None:
    """Count items that the current load reads; raise `UnreadableFile` above the limit in `LIMITS`."""
    load = _load.get()
    if load is not None:
        load[what] += number
        if load[what] > LIMITS[what]:
            raise UnreadableFile(f"more than {LIMITS[what]} {what} are read in one load, with all included files; split it")


@contextlib.contextmanager
def only(digests: Collection[str]) -> Iterator[None]:
    """Reject every file that is read within the block, except files with one of the given digests.

    The author of the digests already had these files, and therefore cannot obtain other files of this machine.
    """
    token = _known.set(digests)
    try:
        yield
    finally:
        _known.reset(token)


def digest(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 digest of a regular file, in hexadecimal digits."""
    _check(path, os.stat(path), 2**50)
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def require_file(path: str | os.PathLike[str], limit: int = MAX_BYTES) -> Path:
    """Return the path of a regular file of at most `limit` bytes, for libraries that open files themselves."""
    try:
        _check(path, os.stat(path), limit)
    except ValueError as error:  # a null character
        raise UnreadableFile(f"{os.fspath(path)!r} is not a path: {error}; give the path of a file") from None
    known = _known.get()
    if known is not None and digest(path) not in known:
        raise UnreadableFile(f"{os.fspath(path)} is not a file of the run, or has changed since the run; restore it")
    return Path(path)


def require_columns(line: str) -> None:
    """Reject a line of a table with more than `MAX_COLUMNS` columns, before it is split."""
    columns = line.count(",") + 1
    if columns > MAX_COLUMNS:
        raise UnreadableFile(f"a line has {columns} columns, more than {MAX_COLUMNS}; delete columns")


def open_file(path: str | os.PathLike[str], limit: int = MAX_BYTES) -> BinaryIO:
    """Open a regular file of at most `limit` bytes in binary mode."""
    require_file(path, limit)  # first: opening a device can have side effects
    handle = os.open(path, FLAGS)
    try:
        _check(path, os.fstat(handle), limit)  # checked again: the path may name a different file by now
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_bytes(path: str | os.PathLike[str], limit: int = MAX_BYTES) -> bytes:
    """Return the bytes of a regular file of at most `limit` bytes."""
    count("files", 1)
    raw = bytearray()
    with open_file(path, limit) as file:  # kernel files report size 0, and other files may grow
        while part := file.read(2**20):
            raw += part
            count("bytes", len(part))
            if len(raw) > limit:
                raise _too_large(path, limit)
    return bytes(raw)


def read_entry(archive: zipfile.ZipFile, name: str, limit: int = MAX_BYTES) -> bytes:
    """Return an entry of an archive, at most `limit` bytes; at most the declared size is unpacked."""
    entry = archive.getinfo(name)
    if entry.file_size > limit:
        raise ValueError(f"{name!r} is larger than {limit:,} bytes")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # `zipfile` unpacks others without a limit
        raise ValueError(f"{name!r} is compressed by a method other than deflate")
    with archive.open(entry) as file:
        return file.read(entry.file_size)


def read_text(path: str | os.PathLike[str], limit: int = MAX_BYTES) -> str:
    """Return the text of a regular UTF-8 file of at most `limit` bytes, with or without a byte order mark."""
    try:
        return read_bytes(path, limit).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableFile(f"{os.fspath(path)} is not UTF-8 text; save it as UTF-8") from None


def read_json(path: str | os.PathLike[str], limit: int = MAX_BYTES, *, finite: bool = False) -> Any:
    """Return the content of a JSON file of at most `limit` bytes; `finite` rejects NaN and numbers that overflow."""
    try:
        only, whole = (_finite, _whole) if finite else (None, None)
        return json.loads(read_text(path, limit), parse_constant=only, parse_float=only, parse_int=whole)
    except json.JSONDecodeError as error:
        raise UnreadableFile(f"{os.fspath(path)} is not JSON: line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise UnreadableFile(f"{os.fspath(path)} is nested too deeply to be read as JSON") from None
    except ValueError as error:  # a number with thousands of digits
        raise UnreadableFile(f"{os.fspath(path)} cannot be read as JSON: {error}") from None


def printable(text: str) -> str:
    """Return a text with "�" in place of control characters."""
    return CONTROL.sub("�", text)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the path of a temporary file beside `path`, with the same suffix, which replaces `path` at the end of the block.

    Readers find either the old or the new file, and an error preserves the old file. A link at `path` is replaced, not
    followed, so that an untrusted folder cannot redirect output to another file. Missing parent folders are created.
    """
    path = Path(path)
    partial = path.with_name(f".{secrets.token_hex(8)}.partial{path.suffix}")
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise UnreadableFile(f"{path} is a device, pipe or socket; give the path of a regular file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        if path.is_file() and not path.is_symlink():  # a private file stays private
            partial.chmod(path.stat().st_mode & 0o666)
        os.replace(partial, path)
    except OSError as error:
        if error.filename == os.fspath(partial):
            error.filename, error.filename2 = os.fspath(path), None
        raise
    finally:
        with contextlib.suppress(OSError):
            remove(partial)


def remove(path: Path) -> None:
    """Remove a file, link or folder if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write bytes to a file with `replacing`."""
    with replacing(path) as partial, open(partial, "xb") as file:
        file.write(content)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a UTF-8 text file with `replacing`."""
    write_bytes(path, text.encode("utf-8"))


def write_json(path: str | os.PathLike[str], content: Any, indent: int | None = None) -> None:
    """Write a JSON file with `replacing`."""
    text = json.dumps(content, indent=indent, ensure_ascii=False, default=str)
    write_bytes(path, text.encode("utf-8", "backslashreplace"))  # surrogates as JSON escapes


def open_lock(path: str | os.PathLike[str]) -> int:
    """Open or create a lock file and return its handle; raise `UnreadableFile` for links and irregular files."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.EMLINK, errno.ENXIO, errno.EISDIR):
            raise
    else:
        status = os.fstat(handle)
        if stat.S_ISREG(status.st_mode) and status.st_nlink <= 1:
            return handle
        os.close(handle)
    raise UnreadableFile(f"{os.fspath(path)} is a link or not a regular file, and cannot be locked; remove it")


def check_version(path: str | os.PathLike[str], what: str, found: object, version: int, remedy: str) -> None:
    """Raise `UnreadableFile` with a remedy if a file or store (`what`, such as "a recording") has an unsupported version."""
    if type(found) is int and found == version:
        return
    if type(found) is int and 0 < found < version:
        made, advice = f"of version {found}, written by HydroMechs 0.5 or older", remedy
    else:
        made, advice = f"of version {found!r}", "install the HydroMechs that wrote it"
    raise UnreadableFile(f"{os.fspath(path)} is {what} {made}; this HydroMechs reads version {version}; {advice}")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"it contains the number {text}, but numbers must be finite")
    return number


def _whole(text: str) -> int:
    _finite(text)
    return int(text)


def _check(path: str | os.PathLike[str], status: os.stat_result, limit: int) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise UnreadableFile(f"{os.fspath(path)} is a folder; give the path of a file")
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableFile(f"{os.fspath(path)} is a device, pipe or socket; give the path of a regular file")
    if status.st_size > limit:
        raise _too_large(path, limit)


def _too_large(path: str | os.PathLike[str], limit: int) -> UnreadableFile:
    return UnreadableFile(f"{os.fspath(path)} is larger than {limit // 2**20} MiB, the limit for this kind of file; split it")
