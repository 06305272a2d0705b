"""Object code on disk: written atomically, verified when read, and rebuilt if invalid.

An entry is machine code that this process will run. The folder and every entry must therefore be owned by this user and must
not be writable by other users. A checksum of key and code protects against damaged or renamed entries.
"""

import contextlib
import getpass
import hashlib
import os
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from hydromechs import files

MAGIC = b"hydromechs object code 2\n"
OTHERS = stat.S_IWGRP | stat.S_IWOTH
"""Write permissions of the group and of other users."""


def cache_folder() -> Path:
    """Return the cache folder: $HYDROMECHS_CACHE, or a folder in the user's cache; raise RuntimeError if there is no home."""
    if os.environ.get("HYDROMECHS_CACHE"):
        return Path(os.environ["HYDROMECHS_CACHE"])
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "hydromechs"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "hydromechs" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "hydromechs"


def fingerprint(*parts: object) -> str:
    """Return the SHA-256 hash of the text of all parts."""
    digest = hashlib.sha256()
    for part in parts:
        text = str(part).encode()
        digest.update(str(len(text)).encode() + b":" + text)
    return digest.hexdigest()


def source_hash() -> str:
    """Return the SHA-256 hash of the source of this package, because a changed equation is a new program."""
    return _source_hash()


@cache
def _source_hash() -> str:
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for file in sorted(root.rglob("*.py")):
        digest.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def cached(key: str, build: Callable[[], bytes]) -> bytes:
    """Return the result of `build`, from the cache if the entry exists and is valid.

    If several processes request one key simultaneously, one process builds and the others wait, provided that the system can
    lock files. An entry is written to a temporary file and renamed, so that a reader never finds an incomplete entry. If the
    folder is not writable or the home folder does not exist, nothing is cached; this is not an error.
    """
    folder = _private_folder()
    if folder is None:
        return build()
    file = folder / f"{key}.o"
    entry = _read(file, key)
    if entry is not None:
        return entry
    with _one_at_a_time(file.with_suffix(".lock")):
        entry = _read(file, key)
        if entry is None:
            entry = build()
            _write(file, key, entry)
    return entry


def _private_folder() -> Path | None:
    """Return the cache folder or, if other users can write to it, a temporary folder; None if neither is safe."""
    try:
        chosen = cache_folder()
    except RuntimeError:  # no home folder
        return None
    reason = _prepare(chosen)
    if reason is None:
        return chosen
    user = os.geteuid() if hasattr(os, "geteuid") else getpass.getuser()
    other = Path(tempfile.gettempdir()) / f"hydromechs-{user}"
    usable = _prepare(other) is None
    _warn(
        f"the cache of machine code {chosen} {reason}; another user could place code there, so it is ignored and "
        f"{f'{other} is used instead' if usable else 'nothing is cached'}. Set HYDROMECHS_CACHE to a folder that you own "
        "and that only you can write (chmod go-w)"
    )
    return other if usable else None


def _prepare(folder: Path) -> str | None:
    """Create the folder if it is missing.

    Return the reason to distrust the folder, or None. A folder that cannot be created or written is not distrusted; entries are
    then neither found nor stored.
    """
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        status = folder.stat()
    except OSError:
        return None
    return _distrusted(status)


def _distrusted(status: os.stat_result) -> str | None:
    """Return the reason not to run code from a file or folder; None if it is safe or the system has no file owners."""
    if not hasattr(os, "geteuid"):
        return None
    if status.st_uid != os.geteuid():
        return f"belongs to user {status.st_uid}, not to {os.geteuid()}"
    return f"is writable by others (mode {stat.S_IMODE(status.st_mode):o})" if status.st_mode & OTHERS else None


@cache
def _warn(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=2)


def _digest(key: str, code: bytes) -> bytes:
    return hashlib.sha256(f"{len(key)}:{key}".encode() + code).digest()


def _read(file: Path, key: str) -> bytes | None:
    """Return the code in a file; None if the file is missing, damaged, of another key, or writable by other users."""
    try:
        with files.open_file(file, 2**40) as handle:
            if _distrusted(os.fstat(handle.fileno())) is not None:
                return None
            entry = handle.read()
    except OSError:
        return None
    head = len(MAGIC) + 32
    good = entry.startswith(MAGIC) and _digest(key, entry[head:]) == entry[len(MAGIC) : head]
    return entry[head:] if good else None


@contextlib.contextmanager
def _one_at_a_time(lock: Path) -> Iterator[None]:
    """Hold a lock file, which the system releases when the process ends; continue unlocked if locking is impossible."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(ImportError, OSError):
            import fcntl  # not on Windows

            handle = files.open_lock(lock)
            stack.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX)
            stack.callback(lock.unlink, missing_ok=True)
        yield


def _write(file: Path, key: str, code: bytes) -> None:
    with contextlib.suppress(OSError):
        handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=f"{file.stem[:16]}.", suffix=".part")
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(MAGIC + _digest(key, code) + code)
            os.replace(temporary, file)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
