"""Scenarios compiled to WebAssembly modules with manifests, which `engine.js` runs in a browser or in Node."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from hydromechs import formats, registry
from hydromechs.compiler import MemoryPlace, PlacedProgram, PlacedRoutine, WasmModule
from hydromechs.errors import UnsupportedFeature, message_of
from hydromechs.recording import Check
from hydromechs.scenario import Scenario, recording_attrs
from hydromechs.simulation import Plant, Simulation, portable

from ._gains import gain_row, is_gain

FORMAT = 1
"""Version of manifests."""
CAPACITY = 64
"""Maximum number of samples that the compiled loop records before it returns."""
RANGE = (0.5, 1.5)
"""Default range of a parameter, relative to its value."""
AROUND_ZERO = 1.0
"""Half of the default range of a parameter whose value is 0."""

Range = tuple[float, float]
Parameters = Iterable[str] | Mapping[str, Range | None]
"""Paths of parameters that a page can change, or ranges keyed by path; None selects 0.5 to 1.5 times the value."""


@cache
def engine_text() -> str:
    """Return the text of `engine.js`, which defines `HydroMechsEngine`."""
    return (Path(__file__).parent / "engine.js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Module:
    """Scenario compiled to WebAssembly."""

    wasm: bytes
    """Code of the WebAssembly module."""
    manifest: Mapping[str, Any]
    """Description of the mission and its arrays, as JSON data."""


def compile_scenario(
    scenario: Scenario,
    parameters: Parameters = (),
    *,
    source: Scenario | None = None,
    progress: Callable[[str], None] = lambda name: None,
) -> Module:
    """Compile a scenario to WebAssembly.

    Args:
        scenario: Scenario with a fixed step and without Python blocks.
        parameters: Paths of numbers that can be changed, such as "vehicle.inertia.mass", or ranges keyed by path.
        source: Scenario that recordings name as their source, if `scenario` is derived from it. Defaults to `scenario`.
        progress: Callback that receives the name of each program before compilation.

    Raises:
        UnsupportedFeature: If a part of the scenario cannot be compiled; the message contains a remedy.
    """
    ranges: dict[str, Range | None] = dict(parameters) if isinstance(parameters, Mapping) else dict.fromkeys(parameters)
    if scenario.engine is not None:
        raise UnsupportedFeature(
            f"scenario {scenario.name!r} runs on the third-party engine {type(scenario.engine).__name__}, which cannot be "
            "compiled; remove the section 'engine'"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about the scenario; `hydromechs run` reports them
        gains = [path for path in ranges if is_gain(scenario, path)]
        if len({registry.located(scenario, path)[0][1] for path in gains}) < len(gains):
            raise ValueError(f"parameters {', '.join(map(repr, gains))}: a page changes one number of a controller; keep one")
        sim = Simulation(scenario, parameters=[path for path in ranges if path not in gains])
        mission = portable(sim)
        module = WasmModule(mission.routines, mission.programs, CAPACITY, ["bare"], progress)
    plant, model, arrays = sim.plant, sim.model, module.routines["mission"].arrays
    first, last = arrays["n"], arrays["unset" if "unset" in arrays else "until"]  # state and design numbers
    rows = [_gain(scenario, sim, path, x) if path in gains else _parameter(plant, path, x) for path, x in ranges.items()]
    manifest = {
        "format": FORMAT,
        "version": version("hydromechs"),
        "name": scenario.name,
        "title": scenario.title or scenario.name,
        "description": scenario.description,
        "model": model.name,
        "axes": model.world.axes,
        "down": [float(x) for x in model.world.down],
        "step": sim.step_size,
        "record": sim.record,
        "period": sim.period,
        "duration": scenario.duration,
        "seed": plant.seed,
        "bodies": list(model.body_names),
        **mission.data,
        "parameters": rows,
        "checks": [_check(c) for c in scenario.checks],
        "attrs": _attributes(source or scenario, sim),
        "capacity": CAPACITY,
        "sensing": sim.mission is not None and sim.mission.sensing is not None,
        "layout": {
            "region": [first.address, last.address],
            "routines": {name: _routine(r) for name, r in module.routines.items()},
            "programs": {name: _program(p) for name, p in module.programs.items()},
        },
    }
    return Module(module.code(mission.values), manifest)


def _places(arrays: Mapping[str, MemoryPlace]) -> dict[str, list[int]]:
    return {name: [p.address, p.size] for name, p in arrays.items()}


def _routine(r: PlacedRoutine) -> dict[str, Any]:
    return {"table": r.table, "arrays": _places(r.arrays), "records": _places(r.records)}


def _program(p: PlacedProgram) -> dict[str, Any]:
    return {"entry": p.entry, "arguments": p.arguments, "inputs": _places(p.inputs), "outputs": _places(p.outputs)}


def _gain(scenario: Scenario, sim: Simulation, path: str, given: Range | None) -> dict[str, Any]:
    value = registry.value(scenario, path)
    if value.ndim:
        raise ValueError(f"parameter {path!r} has shape {value.shape}; use the path of one number")
    low, high = _range(path, value, given)
    return _row(scenario, path, value, low, high) | gain_row(scenario, sim, path, low, high)


def _parameter(plant: Plant, path: str, given: Range | None) -> dict[str, Any]:
    value = registry.value(plant, path)
    if value.ndim > 1:
        raise ValueError(f"parameter {path!r} has shape {value.shape}; use the path of a row or number in it")
    low, high = _range(path, value, given)
    for x in (low, high):
        try:
            plant.check_values({path: np.full(value.shape, x)})
        except ValueError as error:
            raise ValueError(f"range of {message_of(error)}; use a valid range, such as {{{path!r}: (low, high)}}") from error
    return _row(plant, path, value, low, high)


def _range(path: str, value: np.ndarray, given: Range | None) -> Range:
    """Return the range of a slider: as given, or around the value."""
    largest = float(np.abs(value).max())
    if given is None:
        low, high = RANGE if registry.is_factor(path) else sorted(float(k * value.ravel()[0]) for k in RANGE)
        if value.size > 1 or largest == 0.0:
            half = RANGE[1] * largest or AROUND_ZERO
            low, high = -half, half
    else:
        low, high = (float(x) for x in given)
    if not low < high:
        raise ValueError(f"parameter {path!r}: range {low:g} to {high:g} is not increasing; put the smaller limit first")
    return low, high


def _row(thing: Plant | Scenario, path: str, value: np.ndarray, low: float, high: float) -> dict[str, Any]:
    units = {number.path: number.unit for number in registry.paths(thing)}
    return {
        "path": path,
        "label": path.replace("_", " "),
        "unit": units.get(path) or units.get(path.rpartition(".")[0], ""),
        "value": float(value) if value.ndim == 0 else value.tolist(),
        "low": low,
        "high": high,
        "size": int(value.size),
    }


def _check(c: Check) -> dict[str, Any]:
    names = ("name", "quantity", "statistic", "target", "after", "before", "below", "above", "limit", "text")
    return {name: getattr(c, name) for name in names} | {"mean_of": None if c.mean_of is None else list(c.mean_of)}


def _attributes(scenario: Scenario, sim: Simulation) -> dict[str, Any]:
    """Return the attributes of recordings of the page, which are equal to the attributes of a run."""
    own: dict[str, Any] = {"hydromechs_recording": 2, "model": sim.model.name, "axes": sim.model.world.axes}
    layout = sim.plant.layout
    if layout.commands:
        units = zip(layout.commands, layout.input_slots, strict=False)
        own["command_units"] = {name: slot.unit for name, slot in units}
    own |= {"signal_units": dict(sim.signals)} if sim.signals else {}
    own |= {"integrator": sim.method.name, "step": sim.step_size}
    try:
        text = formats.dumps_scenario(scenario)
    except UnsupportedFeature:  # objects built in Python
        text = ""
    stored = recording_attrs(scenario, text, "")
    found = own | {name: x for name, x in stored.items() if name != "created"} | formats.drawing_attrs(scenario)
    return {name: json.dumps(x) if isinstance(x, dict) else x for name, x in found.items()}
