"""`check` and `run` report the same problems of a file: model, scenario and sweep files with mistakes, compared one by one.

A file gets one to three mistakes that people make. Both commands read it in this process, `run` up to the start of the run:
nothing is compiled. Their problems must have the same places, values and lines.
"""

from __future__ import annotations

import tempfile
import traceback
import warnings
from functools import cache
from importlib.resources import files
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from unittest import mock

from hydromechs import library, sweeps
from hydromechs.cli import _check, _run
from hydromechs.cli._console import Console
from hydromechs.cli._kinds import kinds_of
from hydromechs.errors import ModelError, ScenarioError, SweepError, message_of
from hydromechs.formats import parse_yaml
from hydromechs.simulation import Simulation

from .file_study import EVERY, Changed, raised_on_purpose
from .mutations import block_yaml, mistaken_data, repeated_key

__all__ = ["CHECKED_FILES", "Problem", "checked", "compare", "mistaken_file", "started"]


class Problem(NamedTuple):
    """One problem of a file, as a command reports it."""

    where: str
    """Keys and indices; empty for an error without a place."""
    value: str
    """Value in the file."""
    line: int | None
    """Line of the file."""


class Report(NamedTuple):
    """The problems that a command reports."""

    problems: frozenset[Problem] = frozenset()
    """All of them; empty if the file is good."""
    text: str = ""
    """Text of the error."""
    crash: str = ""
    """Traceback of an error that is no report of a problem."""


class _Started(BaseException):
    """The run would start now."""


def checked(path: Path) -> Report:
    """Return what `hydromechs check --code` reports.

    Args:
        path: The file.
    """
    return _report(lambda: _check.checked_file(str(path), {}, True, {}))


def started(path: Path) -> Report:
    """Return what `hydromechs run --code` or `sweep --code` reports up to the start; for a model, building its simulation.

    Args:
        path: The file.
    """
    return _report(lambda: _start(path))


def _start(path: Path) -> None:
    kinds = kinds_of(str(path))
    if kinds == {"sweep"}:
        sweeps.load_sweep(path, code=True)
    elif kinds == {"scenario"}:
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(Simulation, "compile", side_effect=_Started):
            _run.run(str(path), Console(file=StringIO()), out=folder, pictures=False, code=True)
    else:
        Simulation(library.load(path, code=True))


def _report(command: Any) -> Report:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            command()
        except _Started:
            return Report()
        except (ModelError, ScenarioError, SweepError) as error:
            return Report(frozenset(Problem(f.where, repr(f.value), f.line) for f in error.faults), str(error))
        except Exception as error:
            if not raised_on_purpose(error):
                return Report(crash=traceback.format_exc())
            return Report(frozenset([Problem("", "", None)]), f"{type(error).__name__}: {message_of(error)}")
    return Report()


def compare(path: Path) -> tuple[str, str]:
    """Compare the reports of both commands: a kind of result, and the differences if there are some.

    Args:
        path: The file.
    """
    check, run = checked(path), started(path)
    crash = check.crash or run.crash
    if crash:
        return f"{crash.strip().splitlines()[-1].partition(':')[0]} in {'check' if check.crash else 'run'}", crash
    if check.problems == run.problems:
        return ("the same problems" if check.problems else "no problem"), ""
    parts = [f"only check: {p}" for p in check.problems - run.problems] + [
        f"only run: {p}" for p in run.problems - check.problems
    ]
    return "different problems", "\n".join(["check:", check.text or "good", "run:", run.text or "starts", *sorted(parts)])


# -- files with mistakes ----------------------------------------------------------------------------------------------------


@cache
def _bases() -> tuple[list[Path], list[Path]]:
    """Small files, and files of the library."""
    small = sorted(Path(str(files(__package__) / "files")).glob("*.yaml"))
    folders = ("models", "vehicles", "scenarios", "sweeps")
    return small, [p for folder in folders for p in sorted(Path(str(files(library) / folder)).glob("*.yaml"))]


@cache
def _data(path: Path) -> dict[str, Any]:
    return parse_yaml(path.read_text(encoding="utf-8")).data


def mistaken_file(seed: int, number: int) -> tuple[str, bytes]:
    """Return suffix and content of a file with mistakes; the same for the same numbers.

    Args:
        seed: Seed of the study.
        number: Number of the file.
    """
    rng = Random(f"{seed}/{number}/check")
    small, large = _bases()
    text = block_yaml(mistaken_data(_data(rng.choice(large if number % EVERY == EVERY - 1 else small)), rng))
    return ".yaml", (repeated_key(text, rng) if rng.random() < 0.05 else text).encode()


def _beside() -> list[Path]:
    return [path for bases in _bases() for path in bases]


CHECKED_FILES = Changed(mistaken_file, compare, _beside)
"""Files of the study `python -m benchmarks mutations`."""
