"""Locks on folders for writers."""

import os
from pathlib import Path

from hydromechs import files

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class FolderInUse(OSError):
    """A folder that another run writes into, or that holds an earlier run; the message states which."""


def lock_folder(folder: Path, name: str, what: str) -> int:
    """Lock a folder that exists and return the handle of the lock file, which names the process and its purpose, as "run".

    The operating system releases the lock of a process that ends in any way: a file that is left over is not locked.
    """
    path = folder / name
    if fcntl is None:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            text = f"{folder} is in use by another {what}; if that {what} was killed, delete {path}"
            raise FolderInUse(text) from None
    else:
        while True:
            try:
                handle = files.open_lock(path)
            except files.UnreadableFile as error:
                raise FolderInUse(str(error)) from None
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.lexists(path) and os.path.samestat(os.fstat(handle), os.lstat(path)):
                    break  # else its holder has just removed the file
            except OSError:
                owner = os.read(handle, 32).decode(errors="replace").strip()
                os.close(handle)
                process = f"process {owner}" if owner else "another process"
                raise FolderInUse(f"{folder} is in use: {process} is writing a {what} into it") from None
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)
    os.ftruncate(handle, 0)
    os.write(handle, f"{os.getpid()}\n".encode())
    return handle


def unlock_folder(folder: Path, name: str, handle: int) -> None:
    """Remove the lock file: while it is locked, so that nobody else has it; on systems without locks, after closing it."""
    if fcntl is None:  # Windows does not remove a file that is open
        os.close(handle)
        (folder / name).unlink(missing_ok=True)
    else:
        (folder / name).unlink(missing_ok=True)
        os.close(handle)
