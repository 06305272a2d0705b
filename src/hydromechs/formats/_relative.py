"""Paths in files, relative to the file that names them."""

from __future__ import annotations

import os
from pathlib import Path

from hydromechs.values import is_path


def relative(path: str, folder: str | Path | None) -> str:
    """Return a path from the folder of a file, with a dot or a slash in it so that it is not taken for a library name.

    None leaves the path as it is.
    """
    if folder is not None:
        try:
            path = os.path.relpath(path, folder)
        except ValueError:  # another drive
            path = os.path.abspath(path)
    path = path.replace(os.sep, "/")
    return path if is_path(path) else f"./{path}"
