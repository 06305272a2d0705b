"""Exceptions of HydroMechs."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from signal import SIGINT, Signals
from typing import Any

__all__ = [
    "CodeNotAllowed",
    "Fault",
    "FieldError",
    "FieldErrors",
    "ModelError",
    "PlantError",
    "ScenarioError",
    "SimulationDiverged",
    "SimulationInterrupted",
    "SweepError",
    "UnreachableFoothold",
    "UnsupportedFeature",
    "ValidationStudyError",
    "check_each",
    "faults_of",
    "grouped",
    "message_of",
    "noted",
    "placed",
    "rejections",
]

REJECTED = (ValueError, KeyError, TypeError, ArithmeticError)
"""Errors raised when an object rejects its arguments."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Error in a description: its location and message. Programs can access the parts of the message."""

    path: tuple = ()
    """Location as keys and indices in the file, such as ("bodies", 2, "inertia", "mass")."""
    text: str = ""
    """Message in one sentence: key, value, requirement, fix."""
    value: object = None
    """Invalid value. Optional."""
    must: str = ""
    """Requirement, such as "must be finite and > 0"; empty if only the text contains it."""
    remedy: str = ""
    """Fix, if the requirement does not imply it."""
    line: int | None = None
    """Line of the file, from 1. Optional."""

    @property
    def where(self) -> str:
        """Path in the form that users write: "bodies.2.inertia.mass"."""
        return ".".join(map(str, self.path))

    def __str__(self) -> str:
        return self.text if self.line is None else f"line {self.line}: {self.text}"


class _Faulty(ValueError):
    """Error about an invalid description of `source`: `faults` lists its errors, `problems` has one line for each."""

    def __init__(self, source: str, faults: Iterable[Fault | str]) -> None:
        self.source = source
        self.faults = tuple(f if isinstance(f, Fault) else Fault((), f) for f in faults)
        self.problems = tuple(map(str, self.faults))
        lines = "\n".join(f"  - {p}" for p in self.problems)
        super().__init__(f"{source}: {len(self.problems)} problem(s)\n{lines}")

    def __reduce__(self) -> tuple:
        return type(self), (self.source, self.faults)


class ModelError(_Faulty):
    """Error about an invalid model description: `faults` lists its errors, `problems` has one line for each."""


class PlantError(_Faulty):
    """Error about several invalid parts of a plant; `faults` locates each part, for example ("components", 3)."""


class ScenarioError(_Faulty):
    """Error about an invalid scenario: `faults` lists its errors, `problems` has one line for each.

    Args:
        source: Name of the file or scenario.
        faults: `Fault` or text of each error, which names the key, the value and the fix.
        places: Keys and indices of each error given as text, if known.
    """

    def __init__(self, source: str, faults: Iterable[Fault | str], places: Sequence[tuple] = ()) -> None:
        faults = list(faults)
        if places:
            faults = [f if isinstance(f, Fault) else Fault(p, f) for f, p in zip(faults, places, strict=True)]
        super().__init__(source, faults)

    @property
    def places(self) -> tuple[tuple, ...]:
        """Location of each error, as keys and indices."""
        return tuple(fault.path for fault in self.faults)


class SweepError(_Faulty):
    """Error about an invalid sweep: `faults` lists its errors, `problems` has one line for each."""


class ValidationStudyError(_Faulty):
    """Error about an invalid validation study: `faults` lists its errors, `problems` has one line for each."""


class CodeNotAllowed(ValueError):
    """Error about Python code in a file that is not allowed to run.

    `items` lists the code, such as "controller.type 'ctl.py:Hold' in mission.yaml, line 6".
    """

    def __init__(self, items: Iterable[str]) -> None:
        self.items = tuple(items)
        code = "\n".join(f"  - {item}" for item in self.items)
        remedy = "read the code, then allow it with --code (in Python: code=True)"
        super().__init__(f"Python code from a file does not run by default; {remedy}:\n{code}")

    def __reduce__(self) -> tuple:
        return CodeNotAllowed, (self.items,)


class SimulationDiverged(RuntimeError):
    """Error about a diverged simulation; `state` is the last finite state, `recording` the recording in memory, if any."""

    state: Any = None
    recording: Any = None


class SimulationInterrupted(KeyboardInterrupt):
    """Interruption of a run by a `signal`, Ctrl-C or SIGTERM, at a `state`; `recording` is the recording in memory, if any."""

    signal: Signals = SIGINT
    state: Any = None
    recording: Any = None


class FieldError(ValueError):
    """Error about an invalid value of a field.

    Args:
        name: Name of the field, such as "Thruster.radius".
        value: Invalid value.
        must: Requirement, such as "must be finite and > 0; omit it for none".
    """

    def __init__(self, name: str, value: object, must: str) -> None:
        self.name, self.value, self.must = name, value, must
        shown = f"{value:.6g}" if isinstance(value, float) else str(value) if isinstance(value, list) else repr(value)
        shown = shown if len(shown) <= 200 else shown[:196] + " ..."
        self.said = f"is {shown}, {must}"
        super().__init__(f"{name} {self.said}")

    @property
    def field(self) -> str:
        """Name of the field without its owner and row: "radius"."""
        return self.name.replace(": ", ".").rpartition(".")[2].partition(" ")[0]

    def __reduce__(self) -> tuple:
        return FieldError, (self.name, self.value, self.must)


class FieldErrors(FieldError):
    """Error about several invalid fields of an object; `name`, `value` and `must` describe the first error."""

    def __init__(self, errors: Iterable[FieldError]) -> None:
        self.errors = tuple(errors)
        first = self.errors[0]
        super().__init__(first.name, first.value, first.must)
        self.args = ("; ".join(map(str, self.errors)),)

    def __reduce__(self) -> tuple:
        return FieldErrors, (self.errors,)


class UnreachableFoothold(RuntimeError):
    """Error about a walking machine that cannot place a foot at or near the foothold that its gait requires."""


class UnsupportedFeature(ValueError):
    """Error about a valid description that HydroMechs does not support."""


@contextmanager
def noted(words: str) -> Iterator[None]:
    """Add a note to errors in custom code that names their origin, such as "in act of the component 'tank' (Ballast)"."""
    try:
        yield
    except Exception as error:
        error.add_note(words)
        raise


@contextmanager
def placed(*path: str | int) -> Iterator[None]:
    """Add a path, such as "components", 3, to errors raised within the block; see `faults_of`."""
    try:
        yield
    except Exception as error:
        error.__dict__["path"] = (*path, *error.__dict__.get("path", ()))
        raise


def check_each(parts: Iterable[Any], check: Callable[[Any], object]) -> None:
    """Check all components; raise a single error with the path of its component, or one `PlantError` for several."""
    errors: list[Exception] = []
    for k, part in enumerate(parts):
        try:
            with placed("components", k):
                check(part)
        except REJECTED as error:
            errors.append(error)
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise PlantError("components", [fault for error in errors for fault in faults_of(error)])


def rejections(path: tuple, check: Callable[..., object], *values: Any, prefix: str = "") -> list[Fault]:
    """Return the errors with which a check rejects values, with a path and a text prefix; empty if the values are valid."""
    try:
        check(*values)
    except REJECTED as error:
        return [Fault(path, f"{prefix}{message_of(error)}")]
    return []


def faults_of(error: Exception) -> list[Fault]:
    """Return the problems that an error lists, or the error itself as one problem at the path where it was raised."""
    return list(error.faults) if isinstance(error, _Faulty) else [Fault(error.__dict__.get("path", ()), message_of(error))]


VARIABLE = re.compile(r"'[^']*'|[-+]?\d[\d.]*(?:e[-+]?\d+)?")
"""Pattern of quoted names and numbers, in which similar messages differ."""


def grouped(texts: Iterable[str]) -> list[str]:
    """Return messages in order; similar messages, which differ only in numbers and names, become the first and a count."""
    groups: dict[str, list[str]] = {}
    for text in texts:
        groups.setdefault(VARIABLE.sub("#", text), []).append(text)
    return [f"{first} (and {len(more)} similar)" if more else first for first, *more in groups.values()]


def message_of(error: BaseException) -> str:
    """Return the message of an error, without quotes for a KeyError, and with path and fix for a system error."""
    if isinstance(error, OSError) and error.strerror and isinstance(error.filename, str | os.PathLike):
        return f"{os.fspath(error.filename)}: {error.strerror}; check the path and its permissions, or choose another"
    return str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
