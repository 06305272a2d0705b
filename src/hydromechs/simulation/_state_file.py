"""States on disk: a small JSON file whose numbers read back to the last bit."""

import os
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

import numpy as np

from hydromechs import files
from hydromechs.model import State
from hydromechs.values import finite

VERSION = 2
"""Version of state files that is written and read."""
MAY_BE_NAN = ("memory", "signal", "books")
"""Arrays of a state with entries that have no value yet."""


def save_state(
    state: State, path: str | os.PathLike, layout: str = "", run: Mapping[str, str | int | float] | None = None
) -> Path:
    """Write a state, so that a run can be resumed from it.

    Args:
        state: The state.
        path: A file, by custom with suffix .json.
        layout: A text that names what the numbers are, for `hydromechs run --resume` to compare.
        run: Settings that a resumed run must share with the original one, as its seed.
    """
    path = Path(path)
    content = {f.name: np.asarray(getattr(state, f.name)).tolist() for f in fields(state)}
    files.write_json(path, {"hydromechs_state": VERSION, "layout": layout, "run": dict(run or {}), **content})
    return path


def load_state(path: str | os.PathLike) -> State:
    """Read a state that `save_state` wrote.

    Args:
        path: The file.
    """
    try:
        content = files.read_json(path)
        version = content.pop("hydromechs_state", None)
        if version == VERSION:
            for about in ("layout", "run"):
                content.pop(about, None)
            t, control = finite(content.pop("t", 0.0), "t"), finite(content.pop("control", 1.0), "control")
            return State(t=t, control=control, **{name: _numbers(name, values) for name, values in content.items()})
        fault = "it has no 'hydromechs_state'"
    except (ValueError, TypeError, AttributeError, OverflowError, files.UnreadableFile) as error:
        version, fault = None, str(error)
    if version is not None:
        try:
            files.check_version(path, "a saved state", version, VERSION, "start the run again from its beginning")
        except files.UnreadableFile as error:
            raise ValueError(str(error)) from None
    raise ValueError(f"{path} is not a state of a simulation: {fault}; write one with save_state")


def _numbers(name: str, values: object) -> np.ndarray:
    if not (isinstance(values, list) and all(type(x) in (int, float) for x in values)):
        raise ValueError(f"{name} must be a list of numbers")
    numbers = np.array(values, dtype=float)
    if name not in MAY_BE_NAN and not np.isfinite(numbers).all():
        raise ValueError(f"{name} contains a number that is not finite")
    return numbers
