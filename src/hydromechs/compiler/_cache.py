"""Object code on disk: renamed into place, checked when read, rebuilt when anything is wrong with it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
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


@cache
def source_hash() -> str:
    """SHA-256 of the package's own source: a changed equation is a new program."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for file in sorted(root.rglob("*.py")):
        digest.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def cached(key: str, build: Callable[[], bytes]) -> bytes:
    """What `build` makes, from the cache if it is there and intact.

    Several processes may ask for the same key at once: each writes a file of its own and renames it, so that a reader
    finds a complete entry or none. A folder that cannot be written, or no home folder, means no cache, not an error.
    """
    try:
        file = cache_folder() / f"{key}.o"
    except RuntimeError:
        return build()
    try:
        entry = file.read_bytes()
        head = len(MAGIC) + 32
        if entry.startswith(MAGIC) and hashlib.sha256(entry[head:]).digest() == entry[len(MAGIC) : head]:
            return entry[head:]
    except OSError:
        pass
    code = build()
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=f"{key[:16]}.", suffix=".part")
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(MAGIC + hashlib.sha256(code).digest() + code)
            os.replace(temporary, file)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    return code
