"""Object code on disk: renamed into place, checked when read, rebuilt when anything is wrong with it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

__all__ = ["cache_folder", "cached", "fingerprint", "source_hash"]

MAGIC = b"hydromechs object code 1\n"


def cache_folder() -> Path:
    """Folder of the cache: $HYDROMECHS_CACHE, or one in the user's cache folder; raises RuntimeError if there is no home."""
    if os.environ.get("HYDROMECHS_CACHE"):
        return Path(os.environ["HYDROMECHS_CACHE"])
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "hydromechs"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "hydromechs" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "hydromechs"


def fingerprint(*parts: object) -> str:
    """SHA-256 of the texts of all parts."""
    digest = hashlib.sha256()
    for part in parts:
        text = str(part).encode()
        digest.update(str(len(text)).encode() + b":" + text)
    return digest.hexdigest()


def source_hash() -> str:
    """SHA-256 of the package's own source: a changed equation is a new program."""
    return _source_hash()


@cache
def _source_hash() -> str:
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for file in sorted(root.rglob("*.py")):
        digest.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def cached(key: str, build: Callable[[], bytes]) -> bytes:
    """What `build` makes, from the cache if it is there and intact.

    Several processes may ask for the same key at once: one builds, the others wait for it where the system can lock files.
    An entry is written to a file of its own and renamed, so that a reader finds a complete one or none. A folder that cannot
    be written, or no home folder, means no cache, not an error.
    """
    try:
        file = cache_folder() / f"{key}.o"
    except RuntimeError:
        return build()
    entry = _read(file)
    if entry is not None:
        return entry
    with _one_at_a_time(file.with_suffix(".lock")):
        entry = _read(file)
        if entry is None:
            entry = build()
            _write(file, entry)
    return entry


def _read(file: Path) -> bytes | None:
    """The code in a file, or None if it is not there or not intact."""
    try:
        entry = file.read_bytes()
    except OSError:
        return None
    head = len(MAGIC) + 32
    good = entry.startswith(MAGIC) and hashlib.sha256(entry[head:]).digest() == entry[len(MAGIC) : head]
    return entry[head:] if good else None


@contextlib.contextmanager
def _one_at_a_time(lock: Path) -> Iterator[None]:
    """Hold a lock file, which a process that dies lets go; without locks, or a folder that can be written, go on."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(ImportError, OSError):
            import fcntl  # not on Windows

            lock.parent.mkdir(parents=True, exist_ok=True)
            handle = stack.enter_context(lock.open("wb"))
            fcntl.flock(handle, fcntl.LOCK_EX)
            stack.callback(lock.unlink, missing_ok=True)
        yield


def _write(file: Path, code: bytes) -> None:
    """Write code to a file, all of it or nothing."""
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=f"{file.stem[:16]}.", suffix=".part")
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(MAGIC + hashlib.sha256(code).digest() + code)
            os.replace(temporary, file)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
