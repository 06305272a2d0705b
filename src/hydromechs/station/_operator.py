"""Operator input as plain data, and its sources: a page, or the file of an earlier run."""

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
"""Meaning of the six axes of the vehicle: forces and moments, speeds, motion of its setpoint."""
ARM_MODES: tuple[ArmMode, ...] = get_args(ArmMode)
"""Meaning of the axes of an arm: rates of its joints, velocity of its tool along the vehicle's axes."""
GRIPPER: tuple[Gripper, ...] = get_args(Gripper)
"""Command of the chosen arm's gripper."""
AXES = ("surge", "sway", "heave", "roll", "pitch", "yaw")
"""Axes of the vehicle: forward, to starboard, down, and about them."""
FORMAT = 1
"""Version of the format of input files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """Operator input at one instant."""

    mode: Mode = "hold"
    """One of `MODES`."""
    axes: Deflections = (0.0,) * 6
    """Deflections of the vehicle's axes in the order of `AXES`, -1 to 1, shape (6,)."""
    arm: Annotated[int, Bound(least=0, most=99, whole=True)] = 0
    """Number of the arm for the next fields, from 0; an unused number moves none."""
    arm_mode: ArmMode = "joints"
    """One of `ARM_MODES`."""
    arm_axes: Deflections = (0.0,) * 6
    """Deflections of the arm's axes, -1 to 1, shape (6,): the joints, starting at the base, or forward,
    starboard and down, depending on `arm_mode`."""
    gripper: Gripper = "keep"
    """One of `GRIPPER`; takes effect when it changes."""
    target: Annotated[tuple[float, ...], Bound(least=-1e6, most=1e6, size=3)] | None = None
    """Target of the tool, in world axes [m], shape (3,); None for none. It is used in the arm's mode "tool"."""
    swing: bool = False
    """True if the tool swings up and down about its position, as in the fast manipulation mission."""

    def __post_init__(self) -> None:
        check_fields(self)
        if not isinstance(self.swing, bool):
            raise FieldError("Operator.swing", self.swing, "must be true or false")

    @classmethod
    def of(cls, values: Mapping[str, Any], last: Operator | None = None) -> Operator:
        """Return an operator input with changed fields, by default of the default input; reject unknown fields."""
        given = asdict(last or cls())
        for name in values:
            if name not in given:
                raise FieldError("Operator", name, f"is not one of its fields{nearest(str(name), given)}")
        return cls(**{**given, **values})


class InputLog:
    """New file of an operator's inputs: a line for each change, with the first control tick that uses it."""

    def __init__(self, path: str | os.PathLike[str], period: float) -> None:
        self._file: IO[str] = Path(path).open("x", encoding="utf-8")  # noqa: SIM115  it stays open during the run
        self._last = Operator()
        self._write({"hydromechs_inputs": FORMAT, "period": period})

    def _write(self, line: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()

    def take(self, tick: int, now: Operator) -> None:
        """Write the differences from the previous tick."""
        if now is self._last or now == self._last:
            return
        changed = {f.name: getattr(now, f.name) for f in fields(now) if getattr(now, f.name) != getattr(self._last, f.name)}
        self._write({"tick": tick, **changed})
        self._last = now

    def close(self, t: float) -> None:
        """Write the time at which the run ended [s], and close the file."""
        self._write({"end": t})
        self._file.close()


class Inputs(abc.ABC):
    """Source of a pilot's inputs. It acts as a device: copies of the pilot read the same source."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Inputs:
        return self

    @abc.abstractmethod
    def at(self, tick: int) -> Operator:
        """Return the operator input at a tick of the control."""


class LiveInputs(Inputs):
    """Live inputs of an operator. Any thread may set them; the controller reads and logs them at its ticks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._now = Operator()
        self.log: InputLog | None = None
        """Log of changes; None for none."""
        self.link: Callable[[int, Operator], Operator] | None = None
        """Function from a tick and the operator's input to the input that has reached the vehicle; None without a link."""

    @property
    def now(self) -> Operator:
        """Operator input."""
        return self._now

    def set(self, **changes: Any) -> Operator:
        """Change some fields and return the result. A wrong value raises an error, and nothing changes."""
        with self._lock:
            self._now = Operator.of(changes, self._now)
            return self._now

    def at(self, tick: int) -> Operator:
        """Input that has reached the vehicle by a tick: the present one or, behind a link, an earlier one."""
        now = self._now if self.link is None else self.link(tick, self._now)
        if self.log is not None:
            self.log.take(tick, now)
        return now


class RecordedInputs(Inputs):
    """Inputs of an earlier run, from its file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._ticks: list[int] = []
        self._values: list[Operator] = []
        self.end: float | None = None
        """Time at which that run ended [s]; None if it was killed."""
        lines = files.read_text(path).splitlines()
        head = self._line(path, 1, lines[0] if lines else "")
        if head.get("hydromechs_inputs") != FORMAT:
            raise ValueError(f"{path} is not a file of operator inputs; a piloted run leaves inputs.jsonl in its folder")
        self.period = positive(head.get("period"), f"{path}: period")
        """Time between two ticks [s]."""
        last = Operator()
        for k, text in enumerate(lines[1:], start=2):
            line = self._line(path, k, text)
            if "end" in line:
                self.end = finite(line["end"], f"{path}:{k}: end")
                continue
            tick = line.pop("tick", None)
            if type(tick) is not int or (self._ticks and tick <= self._ticks[-1]):
                raise ValueError(f"{path}:{k}: tick is {tick!r}, must be an integer above the previous ones")
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
