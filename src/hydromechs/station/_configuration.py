"""Configuration of a piloted scenario: the pilot replaces the mission of a scenario file, with changes by the operator."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any

from hydromechs.actuation import Thruster
from hydromechs.errors import FieldError
from hydromechs.files import read_text
from hydromechs.hydro import Current, RegularWave
from hydromechs.scenario import Scenario
from hydromechs.sensors import common_period
from hydromechs.simulation import PythonBlock
from hydromechs.spatial import matrix_from_rpy, quaternion_from_matrix, quaternion_matrix, rpy_from_matrix
from hydromechs.values import Bound, check_fields, nearest

from ._helm import pilot_period
from ._pilot import Pilot


def _from(low: float, high: float, **more: Any) -> Bound:
    """Return limits of a setting of the operator, beyond which results are meaningless."""
    return Bound(least=low, most=high, **more)


@dataclass(frozen=True, kw_only=True)
class Catalog:
    """Available scenarios, with functions to read and write them, provided by the program that starts the station."""

    files: Mapping[str, str]
    """Paths of scenario files, keyed by displayed name."""
    offered: Sequence[str]
    """Names of scenarios offered on the page; each has a vehicle to fly."""
    read: Callable[[str, str], Scenario]
    """Function that reads a scenario from the text and path of a file; the path serves messages and relative paths."""
    write: Callable[[Scenario, str], str]
    """Function that returns the text of a scenario for a file at a path."""
    text: Callable[[str], str] = read_text
    drawing: Callable[[Scenario], Mapping[str, str]] = lambda scenario: {}
    """Function that returns the attributes of a recording that a replay needs to draw a scenario."""


@dataclass(frozen=True, kw_only=True)
class Changes:
    """Changes of a scenario by the operator; None keeps the value in the file."""

    current: Annotated[tuple[float, float, float], _from(-20.0, 20.0, size=3)] | None = None
    """Current velocity in world axes [m/s], shape (3,)."""
    wave_height: Annotated[float, _from(0.0, 40.0)] | None = None
    """Height of regular waves [m]; 0 for none."""
    wave_period: Annotated[float, _from(0.2, 1000.0)] | None = None
    """Wave period [s]."""
    position: Annotated[tuple[float, float, float], _from(-1e5, 1e5, size=3)] | None = None
    """Initial position of the first model, in world axes [m], shape (3,)."""
    heading_deg: Annotated[float, _from(-3600.0, 3600.0)] | None = None
    """Initial heading of the first model [deg]."""
    bandwidth: Annotated[float, _from(0.01, 100.0)] | None = None
    """Bandwidth of speed control [rad/s]."""
    stiffness: Annotated[float, _from(0.001, 100.0)] | None = None
    """Decay rate of position errors [1/s]."""
    seed: Annotated[int, Bound(least=0, whole=True)] | None = None
    """Seed of gusts, waves and sensor errors."""

    def __post_init__(self) -> None:
        check_fields(self, "changes")

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Changes:
        """Return changes from values keyed by name, as sent by a page; reject unknown names."""
        known = [f.name for f in fields(cls)]
        for name in values:
            if name not in known:
                raise FieldError("changes", name, f"must be a known change{nearest(str(name), known)}")
        return cls(**values)


@dataclass(frozen=True, kw_only=True)
class Configured:
    """Scenario configured for a pilot."""

    name: str
    scenario: Scenario
    """Scenario whose controller is a `Pilot`."""
    text: str
    file: str
    """Path of the source file."""
    changes: Changes
    """Changes relative to the source file."""
    attrs: Mapping[str, str] = field(default_factory=dict)
    """Attributes of recordings that a replay needs for drawing."""
    objective: tuple[str, ...] = ()
    """Names of the checks of the mission."""


def configured(catalog: Catalog, name: str, changes: Changes | None = None) -> Configured:
    """Return a scenario of a catalog with the pilot as its controller, and with changes.

    Controllers, checks and timed events of the mission are omitted. A `ScenarioError` lists errors as for a file.
    """
    changes = changes or Changes()
    if name not in catalog.files:
        raise ValueError(f"unknown scenario {name!r}{nearest(name, catalog.files)}")
    file = catalog.files[name]
    text = catalog.text(file)
    plain = catalog.read(text, file)
    if not plain.parts(Thruster):
        raise ValueError(f"{name} has no thrusters to pilot; choose a scenario with a vehicle")
    scenario = _flown(plain, changes)
    text = catalog.write(scenario, file)
    drawing = catalog.drawing(scenario)
    objective = tuple(check.name for check in plain.checks if not check.quantity.startswith("signal."))
    return Configured(name=name, scenario=scenario, text=text, file=file, changes=changes, attrs=drawing, objective=objective)


def _period(scenario: Scenario) -> float:
    """Return the command period [s]: a multiple of the periods of steps and sensors that is not too short."""
    base = common_period(scenario.sensors) if scenario.sensors else scenario.step
    return pilot_period(base)


def _flown(scenario: Scenario, changes: Changes) -> Scenario:
    """Return a scenario with changes, in which the pilot replaces the controllers of the mission."""
    gains = {k: v for k in ("bandwidth", "stiffness") if (v := getattr(changes, k)) is not None}
    for before in scenario.controllers:
        if isinstance(before.controller, Pilot):
            gains = {**before.controller.arguments, **gains}
    others = [block for block in scenario.blocks if not isinstance(block, PythonBlock)]
    first, water = scenario.models[0], scenario.environment
    if changes.position is not None:
        x, y, z = changes.position
        first = replace(first, position=(x, y, z))
    if changes.heading_deg is not None:
        roll, pitch, _ = rpy_from_matrix(quaternion_matrix(first.orientation or (1.0, 0.0, 0.0, 0.0)))
        turned = matrix_from_rpy((float(roll), float(pitch), math.radians(changes.heading_deg)))
        w, x, y, z = map(float, quaternion_from_matrix(turned))
        first = replace(first, orientation=(w, x, y, z))
    if changes.current is not None:
        x, y, z = changes.current
        water = replace(water, current=Current(velocity=(x, y, z)))
    if changes.wave_height is not None:
        wave = RegularWave(height=changes.wave_height, period=changes.wave_period or 5.0) if changes.wave_height > 0.0 else None
        water = replace(water, waves=() if wave is None else (wave,))
    return scenario.with_fields(
        blocks=(*others, PythonBlock(controller=Pilot(**{**gains, "period": _period(scenario)}))),
        checks=(),
        events=tuple(e for e in scenario.events if e.quantity != "time" and not e.quantity.startswith("signal.")),
        models=(first, *scenario.models[1:]),
        environment=water,
        seed=scenario.seed if changes.seed is None else changes.seed,
    )
