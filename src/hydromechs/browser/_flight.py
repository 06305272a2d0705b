"""Flights from pages: repeat a mission in Python from the inputs recorded by a page."""

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

if TYPE_CHECKING:
    import xarray

LOG = "inputs"
"""Attribute of a recording that holds the inputs of a page."""
KINDS = ("command", "held", "parameter", "control")
"""Kinds of inputs."""
LIMIT = 1_000_000
"""Maximum number of inputs."""
OPERATOR = "operator."
"""Prefix of the settings by which an operator takes over; see `station.helmed`."""


class Input(NamedTuple):
    """An input at one instant."""

    n: float
    """Index of the last step."""
    part: float
    """Time since then [s]."""
    kind: str
    """One of `KINDS`."""
    name: str
    """Actuator, held input or path of a parameter; empty for the control."""
    value: Any
    """New value."""


class Flight(NamedTuple):
    """Inputs of a page."""

    scenario: str
    """Name of the scenario."""
    seed: int
    """Seed of gusts, waves and sensors."""
    parameters: Mapping[str, Any]
    """Initial values of parameters that differ from those of the scenario, by path."""
    entries: tuple[Input, ...]
    """Inputs in chronological order."""
    end: tuple[float, float]
    """Index of the last step, and time since then [s]."""

    @classmethod
    def of(cls, recording: xarray.Dataset) -> Flight:
        """Return the inputs in a recording of a page; `ValueError` if there are none, or if they are damaged."""
        text = recording.attrs.get(LOG)
        if not isinstance(text, str):
            raise ValueError(
                f"the recording has no attribute {LOG!r}: it was not recorded by a page; give a recording of a page"
            )
        try:
            found = json.loads(text)
            entries = tuple(_input(**row) for row in found["entries"][: LIMIT + 1])
            end = _number(found["end"]["n"]), _number(found["end"]["part"])
            flight = cls(str(found["scenario"]), int(found["seed"]), dict(found["parameters"]), entries, end)
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
            raise ValueError(f"the attribute {LOG!r} of the recording is damaged: {type(error).__name__}: {error}") from None
        if len(entries) > LIMIT:
            raise ValueError(f"the recording has more than {LIMIT:,} inputs; record a shorter flight")
        times = [(e.n, e.part) for e in entries]
        if times != sorted(times) or any(t > end for t in times):
            raise ValueError(f"the attribute {LOG!r} of the recording is damaged: its inputs are not in chronological order")
        return flight

    @property
    def opened(self) -> list[str]:
        """Paths of all parameters that change."""
        return sorted({*self.parameters, *(e.name for e in self.entries if e.kind == "parameter")})


def _number(x: Any) -> float:
    if type(x) not in (int, float) or not math.isfinite(x) or x < 0.0:
        raise ValueError(f"{x!r} is not a time")
    return float(x)


def _input(n: Any, part: Any, kind: Any, name: Any, value: Any) -> Input:
    if kind not in KINDS or not isinstance(name, str):
        raise ValueError(f"{kind!r} {name!r} is not an input")
    return Input(_number(n), _number(part), kind, name, value)


def fly_again(recording: str | os.PathLike[str] | xarray.Dataset, scenario: Scenario | None = None) -> Run:
    """Repeat a flight in a page with `Simulation`.

    Pages use different elementary functions: results agree to about 1e-12, less closely after contacts and in waves.

    Args:
        recording: Recording of a page, or its file.
        scenario: The scenario. Defaults to the one in the recording.
    """
    ds = load_recording(recording) if isinstance(recording, str | os.PathLike) else recording
    flight = Flight.of(ds)
    if scenario is None:
        text = str(ds.attrs.get("scenario", ""))
        if not text:
            raise ValueError(
                f"the recording does not contain the text of scenario {flight.scenario!r}; pass the scenario itself"
            )
        file = str(ds.attrs.get("scenario_file", ""))
        scenario = formats.loads_scenario(text, file or flight.scenario, Path(file).parent, library.load, library.load_vehicle)
    if "held" in ds.coords and any(str(name).startswith(OPERATOR) for name in ds["held"].values):
        scenario = helmed(scenario)  # as in the page, also if nobody took over: the same program to the last operation
    sim = Simulation(scenario, parameters=flight.opened, seed=flight.seed)
    sim.parameters |= {name: _value(x) for name, x in flight.parameters.items()}
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
                sim.parameters[e.name] = _value(e.value)
            case _:
                sim.switch_control(bool(e.value))
    live.advance(flight.end[0] * sim.step_size + flight.end[1])
    return live.close()


def _value(x: Any) -> Any:
    return x[0] if isinstance(x, list) and len(x) == 1 else x
