"""Operator input as plain data, and sources of input: a page, or the file of an earlier run."""

from __future__ import annotations

import abc
import json
import os
import threading
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import IO, Annotated, Any, Literal, get_args

from hydromechs import files
from hydromechs.errors import FieldError
from hydromechs.values import Bound, check_fields, finite, nearest, positive

Mode = Literal["manual", "speed", "hold"]
ArmMode = Literal["joints", "tool"]
Gripper = Literal["keep", "close", "open"]
Deflections = Annotated[tuple[float, ...], Bound(least=-1.0, most=1.0, size=6)]
MODES: tuple[Mode, ...] = get_args(Mode)
"""Meanings of deflections of vehicle axes: forces and moments, speeds, or motion of the held pose."""
ARM_MODES: tuple[ArmMode, ...] = get_args(ArmMode)
"""Meanings of deflections of arm axes: joint rates, or velocity of the tool along the axes of the vehicle."""
GRIPPER: tuple[Gripper, ...] = get_args(Gripper)
"""Commands to the gripper of the selected arm."""
AXES = ("surge", "sway", "heave", "roll", "pitch", "yaw")
"""Axes of the vehicle: translation forward, to starboard and down, and rotation about these directions."""
FORMAT = 1
"""Version of the file format of operator inputs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """Operator input at one instant."""

    mode: Mode = "hold"
    """Mode of the vehicle, one of `MODES`."""
    axes: Deflections = (0.0,) * 6
    """Deflections of the vehicle axes in the order of `AXES`, from -1 to 1, shape (6,)."""
    arm: Annotated[int, Bound(least=0, most=99, whole=True)] = 0
    """Number of the selected arm, from 0; no arm moves if the number is unused."""
    arm_mode: ArmMode = "joints"
    """Mode of the arm, one of `ARM_MODES`."""
    arm_axes: Deflections = (0.0,) * 6
    """Deflections of the arm axes, from -1 to 1, shape (6,): joints from the base, or forward, starboard and down of
    the tool, depending on `arm_mode`."""
    gripper: Gripper = "keep"
    """Gripper command, one of `GRIPPER`; takes effect when it changes."""
    target: Annotated[tuple[float, ...], Bound(least=-1e6, most=1e6, size=3)] | None = None
    """Target position of the tool in the arm mode "tool", in world axes [m], shape (3,). Optional."""
    swing: bool = False
    """True to swing the tool up and down about its position, as in the fast manipulation mission."""

    def __post_init__(self) -> None:
        check_fields(self)
        if not isinstance(self.swing, bool):
            raise FieldError("Operator.swing", self.swing, "must be true or false")

    @classmethod
    def of(cls, values: Mapping[str, Any], last: Operator | None = None) -> Operator:
        """Return an operator input with changed fields; `last` defaults to the default input. Unknown fields are rejected."""
        given = asdict(last or cls())
        for name in values:
            if name not in given:
                raise FieldError("Operator", name, f"must be a field of operator input{nearest(str(name), given)}")
        return cls(**{**given, **values})


class InputLog:
    """Log file of operator inputs, with a line for each change and the first control tick that uses the change."""

    def __init__(self, path: str | os.PathLike[str], period: float) -> None:
        self._file: IO[str] = Path(path).open("x", encoding="utf-8")  # noqa: SIM115  it stays open during the run
        self._last = Operator()
        self._write({"hydromechs_inputs": FORMAT, "period": period})

    def _write(self, line: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()

    def take(self, tick: int, now: Operator) -> None:
        """Write the fields that differ from the previous tick."""
        if now is self._last or now == self._last:
            return
        changed = {f.name: getattr(now, f.name) for f in fields(now) if getattr(now, f.name) != getattr(self._last, f.name)}
        self._write({"tick": tick, **changed})
        self._last = now

    def close(self, t: float) -> None:
        """Write the end time of the run [s], and close the file."""
        self._write({"end": t})
        self._file.close()


class Inputs(abc.ABC):
    """Source of operator inputs. Copies of a pilot share the same source, like a device."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Inputs:
        return self

    @abc.abstractmethod
    def at(self, tick: int) -> Operator:
        """Return the operator input at a control tick."""


class LiveInputs(Inputs):
    """Live inputs of an operator. Any thread may set them; the controller reads and logs them at control ticks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._now = Operator()
        self.log: InputLog | None = None
        """Log of changes. Optional."""
        self.link: Callable[[int, Operator], Operator] | None = None
        """Function that takes a tick and an operator input, and returns the input that has reached the vehicle. Optional."""

    @property
    def now(self) -> Operator:
        """Present operator input."""
        return self._now

    def set(self, **changes: Any) -> Operator:
        """Change some fields and return the new input. An invalid value raises an error and changes nothing."""
        with self._lock:
            self._now = Operator.of(changes, self._now)
            return self._now

    def at(self, tick: int) -> Operator:
        """Return the input that has reached the vehicle by a tick: the present input, or an earlier input over a link."""
        now = self._now if self.link is None else self.link(tick, self._now)
        if self.log is not None:
            self.log.take(tick, now)
        return now


class RecordedInputs(Inputs):
    """Inputs of an earlier run, read from its log file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._ticks: list[int] = []
        self._values: list[Operator] = []
        self.end: float | None = None
        """End time of the run [s]; None if the process was killed."""
        lines = files.read_text(path).splitlines()
        head = self._line(path, 1, lines[0] if lines else "")
        if head.get("hydromechs_inputs") != FORMAT:
            raise ValueError(f"{path} is not a log of operator inputs; use inputs.jsonl in the folder of a piloted run")
        self.period = positive(head.get("period"), f"{path}: period")
        """Interval between two control ticks [s]."""
        last = Operator()
        for k, text in enumerate(lines[1:], start=2):
            line = self._line(path, k, text)
            if "end" in line:
                self.end = finite(line["end"], f"{path}:{k}: end")
                continue
            tick = line.pop("tick", None)
            if type(tick) is not int or (self._ticks and tick <= self._ticks[-1]):
                raise ValueError(f"{path}:{k}: tick is {tick!r}, must be an integer above the previous tick")
            last = Operator.of(line, last)
            self._ticks.append(tick)
            self._values.append(last)

    @staticmethod
    def _line(path: str | os.PathLike[str], k: int, text: str) -> dict[str, Any]:
        try:
            line = json.loads(text)
        except (ValueError, RecursionError) as error:  # also nested deeply, or a number with thousands of digits
            raise ValueError(f"{path}:{k}: {error}") from None
        if not isinstance(line, dict):
            raise ValueError(f"{path}:{k}: the line is not a JSON object")
        return line

    def at(self, tick: int) -> Operator:
        k = bisect_right(self._ticks, tick)
        return self._values[k - 1] if k else Operator()
