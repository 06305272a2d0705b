"""Folder of a run: paths of its files, and locks against concurrent writers."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from hydromechs import files

from ._store import FOLDER_NAME, is_recording

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class FolderInUse(OSError):
    """Error for a folder that another run is writing to, or that contains an earlier run."""


def lock_folder(folder: Path, name: str, what: str) -> int:
    """Lock an existing folder and return the handle of the lock file `name`, which contains the process number.

    `what` is the purpose in messages, such as "run". The operating system releases the lock when the process ends for any
    reason, so a leftover file is not locked.
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
                    break  # otherwise its holder has just removed the file
            except OSError:
                owner = os.read(handle, 32).decode(errors="replace").strip()
                os.close(handle)
                process = f"process {owner}" if owner else "another process"
                raise FolderInUse(f"{folder} is in use: {process} is writing a {what} to it; choose another folder") from None
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)
    os.ftruncate(handle, 0)
    os.write(handle, f"{os.getpid()}\n".encode())
    return handle


def unlock_folder(folder: Path, name: str, handle: int) -> None:
    """Remove the lock file. It is removed before the lock is released, so that no other process can hold it."""
    if fcntl is None:  # Windows does not remove a file that is open
        os.close(handle)
        (folder / name).unlink(missing_ok=True)
    else:
        (folder / name).unlink(missing_ok=True)
        os.close(handle)


LOCK = "run.lock"
"""Lock file of a run that is writing to its folder; the file contains the process number."""


class RunFolder:
    """Paths of the files of a run in its folder; the files need not exist."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        """Path of the folder."""
        self.recording = self.path / FOLDER_NAME
        """Path of the recording."""
        self.state = self.path / "state.json"
        """Path of the final state, or of the last checkpoint if the run is unfinished or was killed."""
        self.last_finite_state = self.path / "last_finite_state.json"
        """Path of the last finite state of a run that diverged."""
        self.summary = self.path / "summary.json"
        """Path of the summary, in the format of `Summary.to_dict`."""
        self.report = self.path / "report.html"
        """Path of the report."""
        self.inputs = self.path / "inputs.jsonl"
        """Path of the operator inputs of a piloted run."""

    def __repr__(self) -> str:
        return f"RunFolder({str(self.path)!r})"

    def has_run(self) -> bool:
        """True if the folder contains the recording of a run."""
        return is_recording(self.recording)

    def clear(self) -> None:
        """Remove the files of an earlier run and no other files; links are removed, not followed."""
        if self.recording.is_symlink():
            self.recording.unlink()
        if self.has_run():
            shutil.rmtree(self.recording)
        own = (self.state, self.last_finite_state, self.summary, self.report, self.inputs)
        for file in (*own, *self.path.glob(files.PARTIAL)):
            file.unlink(missing_ok=True)

    @contextlib.contextmanager
    def claimed(self, *, replace: bool = False) -> Iterator[RunFolder]:
        """Lock the folder while a run writes to it. The folder is created if missing, and removed if it remains empty.

        Raises `FolderInUse` if another process has locked the folder, or if it contains an earlier run and `replace` is
        False. Existing contents remain until `clear` is called.
        """
        if self.path.exists() and not self.path.is_dir():
            raise ValueError(f"{self.path} is a file; choose a folder")
        others = sorted(p.name for p in self.path.iterdir() if p.name != LOCK) if self.path.exists() else []
        if others and not self.has_run():
            raise ValueError(f"{self.path} contains other files ({', '.join(others[:3])}); choose another folder")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            why = error.strerror or error
            raise type(error)(f"the folder {self.path} cannot be created: {why}; choose another folder with --out") from error
        handle = lock_folder(self.path, LOCK, "run")
        try:
            if self.has_run() and not replace:
                raise FolderInUse(f"{self.path} contains an earlier run; choose another folder, or use --force (replace=True)")
            yield self
        finally:
            unlock_folder(self.path, LOCK, handle)
            with contextlib.suppress(OSError):
                self.path.rmdir()

    @staticmethod
    @contextlib.contextmanager
    def numbered(base: str | os.PathLike[str]) -> Iterator[RunFolder]:
        """Claim the first folder of BASE, BASE-2, BASE-3, ... that contains no earlier run and is not in use."""
        with contextlib.ExitStack() as stack:
            for k in count(1):
                folder = RunFolder(base if k == 1 else f"{os.fspath(base)}-{k}")
                with contextlib.suppress(FolderInUse):
                    stack.enter_context(folder.claimed())
                    break
            yield folder
