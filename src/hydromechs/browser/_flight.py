"""Flights recorded by pages, and their repetition in Python from the recorded inputs."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hydromechs import formats, library
from hydromechs.recording import load_recording
from hydromechs.scenario import Scenario
from hydromechs.simulation import Run, Simulation
from hydromechs.station import helmed

from ._gains import is_gain, set_gain

if TYPE_CHECKING:
    import xarray

LOG = "inputs"
"""Attribute of a recording that contains the inputs of a page."""
KINDS = ("command", "held", "parameter", "control")
"""Kinds of inputs."""
LIMIT = 1_000_000
"""Maximum number of inputs of a flight."""
OPERATOR = "operator."
"""Prefix of the settings through which an operator steers; see `station.helmed`."""


class Input(NamedTuple):
    """Input at one instant."""

    n: float
    """Index of the last step before the input."""
    part: float
    """Time since this step [s]."""
    kind: str
    """Kind of input, one of `KINDS`."""
    name: str
    """Name of an actuator or held input, or path of a parameter; empty for the kind "control"."""
    value: Any
    """New value."""


class Flight(NamedTuple):
    """Inputs of a flight in a page."""

    scenario: str
    """Name of the scenario."""
    seed: int
    """Seed of gusts, waves and sensors."""
    parameters: Mapping[str, Any]
    """Initial values of parameters that differ from the scenario, keyed by path."""
    entries: tuple[Input, ...]
    """Inputs in chronological order."""
    end: tuple[float, float]
    """End of the flight: index of the last step, and time since this step [s]."""

    @classmethod
    def of(cls, recording: xarray.Dataset) -> Flight:
        """Return the inputs in a recording of a page; raise `ValueError` if they are missing or damaged."""
        text = recording.attrs.get(LOG)
        if not isinstance(text, str):
            raise ValueError(f"the recording has no attribute {LOG!r}, so it is not from a page; use a recording of a page")
        try:
            found = json.loads(text)
            entries = tuple(_input(**row) for row in found["entries"][: LIMIT + 1])
            end = _number(found["end"]["n"]), _number(found["end"]["part"])
            flight = cls(str(found["scenario"]), int(found["seed"]), dict(found["parameters"]), entries, end)
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
            raise ValueError(f"attribute {LOG!r} of the recording is damaged: {type(error).__name__}: {error}") from None
        if len(entries) > LIMIT:
            raise ValueError(f"the recording has more than {LIMIT:,} inputs; record a shorter flight")
        times = [(e.n, e.part) for e in entries]
        if times != sorted(times) or any(t > end for t in times):
            raise ValueError(f"attribute {LOG!r} of the recording is damaged: the inputs are not in chronological order")
        return flight

    @property
    def opened(self) -> list[str]:
        """Paths of all parameters that change during the flight, or differ from the scenario."""
        return sorted({*self.parameters, *(e.name for e in self.entries if e.kind == "parameter")})


def _number(x: Any) -> float:
    if type(x) not in (int, float) or not math.isfinite(x) or x < 0.0:
        raise ValueError(f"{x!r} is not a finite, non-negative number")
    return float(x)


def _input(n: Any, part: Any, kind: Any, name: Any, value: Any) -> Input:
    if kind not in KINDS or not isinstance(name, str):
        raise ValueError(f"input of kind {kind!r} named {name!r} is unknown")
    return Input(_number(n), _number(part), kind, name, value)


def fly_again(recording: str | os.PathLike[str] | xarray.Dataset, scenario: Scenario | None = None) -> Run:
    """Repeat a flight in a page with `Simulation`.

    Elementary functions of pages differ from Python by rounding. Results agree to about 1e-12, less closely after contacts
    and in waves.

    Args:
        recording: Recording of a page, or path of its file.
        scenario: Flown scenario. Defaults to the scenario in the recording.
    """
    ds = load_recording(recording) if isinstance(recording, str | os.PathLike) else recording
    flight = Flight.of(ds)
    if scenario is None:
        text = str(ds.attrs.get("scenario", ""))
        if not text:
            raise ValueError(
                f"the recording does not contain the scenario {flight.scenario!r}; pass the scenario as an argument"
            )
        file = str(ds.attrs.get("scenario_file", ""))
        scenario = formats.loads_scenario(text, file or flight.scenario, Path(file).parent, library.load, library.load_vehicle)
    if "held" in ds.coords and any(str(name).startswith(OPERATOR) for name in ds["held"].values):
        scenario = helmed(scenario)  # as in the page, also if nobody took over: the same program to the last operation
    sim = Simulation(scenario, parameters=[p for p in flight.opened if not is_gain(scenario, p)], seed=flight.seed)

    def change(path: str, value: Any) -> None:
        if path in sim.parameters:
            sim.parameters[path] = value
        else:
            set_gain(sim, scenario, path, float(value))

    for path, value in flight.parameters.items():
        change(path, _value(value))
    live = sim.begin()
    for e in flight.entries:
        t = e.n * sim.step_size + e.part
        if t > live.t and live.advance(t) is not None:
            break
        match e.kind:
            case "command":
                sim.command = {e.name: e.value}
            case "held":
                sim.held = {e.name: e.value}
            case "parameter":
                change(e.name, _value(e.value))
            case _:
                sim.switch_control(bool(e.value))
    live.advance(flight.end[0] * sim.step_size + flight.end[1])
    return live.close()


def _value(x: Any) -> Any:
    return x[0] if isinstance(x, list) and len(x) == 1 else x
