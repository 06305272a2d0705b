"""A scenario as an operator flies it: its file with the pilot in place of the mission, and with what was changed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import yaml

from hydromechs.errors import FieldError
from hydromechs.files import read_text
from hydromechs.gnc.sensors import common_period
from hydromechs.scenario import Scenario
from hydromechs.values import floats, nearest, number, positive, whole

__all__ = ["PILOT", "Catalog", "Changes", "Configured", "configured"]

PILOT = "hydromechs.station:Pilot"
"""The pilot as scenario files name it."""
PERIOD = 0.04
"""Least time between two commands of the pilot [s]."""


@dataclass(frozen=True, kw_only=True)
class Catalog:
    """The scenarios that can be chosen, and how to read one: files are above the station, so whoever starts it says how."""

    files: Mapping[str, str]
    """Paths of the scenario files, by the name that is shown."""
    read: Callable[[str, str], Scenario]
    """From the text of a file, and its path for messages and relative names, to the scenario."""
    text: Callable[[str], str] = read_text
    """Reads the text of a file."""
    drawing: Callable[[Scenario], Mapping[str, str]] = lambda scenario: {}
    """Attributes of a recording from which a replay draws a scenario."""


@dataclass(frozen=True, kw_only=True)
class Changes:
    """What an operator changes of a scenario; None leaves it as it is in the file."""

    current: tuple[float, ...] | None = None
    """Velocity of the water in world axes [m/s], shape (3,)."""
    wave_height: float | None = None
    """Height of regular waves [m]; 0 for none."""
    wave_period: float | None = None
    """Their period [s]."""
    position: tuple[float, ...] | None = None
    """Where the first model starts, in world axes [m], shape (3,)."""
    heading_deg: float | None = None
    """Heading that it starts with [°]."""
    bandwidth: float | None = None
    """Bandwidth of the speed control [rad/s]."""
    stiffness: float | None = None
    """Rate at which errors of place die away [1/s]."""
    seed: int | None = None
    """Of gusts, waves and the errors of sensors."""

    def __post_init__(self) -> None:
        for name in ("current", "position"):
            if getattr(self, name) is not None:
                values = floats(getattr(self, name), 3, name)
                if not all(map(math.isfinite, values)):
                    raise FieldError(name, list(values), "must be 3 finite numbers")
                object.__setattr__(self, name, values)
        for name, check in (
            ("wave_height", number),
            ("wave_period", positive),
            ("heading_deg", number),
            ("bandwidth", positive),
            ("stiffness", positive),
            ("seed", whole),
        ):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check(getattr(self, name), name))
        if self.wave_height is not None and self.wave_height < 0.0:
            raise FieldError("wave_height", self.wave_height, "must not be negative; 0 for no waves")

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Changes:
        """Changes by name, as a page sends them; names that there are not are refused.

        Args:
            values: Fields by name.
        """
        known = [f.name for f in fields(cls)]
        for name in values:
            if name not in known:
                raise FieldError("changes", name, f"is none of them{nearest(str(name), known)}")
        return cls(**values)


@dataclass(frozen=True, kw_only=True)
class Configured:
    """A scenario that can be piloted."""

    name: str
    """Name in the catalog."""
    scenario: Scenario
    """The scenario; its controller is a `ControllerSpec` of the pilot."""
    text: str
    """It as a file."""
    file: str
    """Path of the file that it was made from."""
    changes: Changes
    """What is different from that file."""
    attrs: Mapping[str, str] = field(default_factory=dict)
    """Attributes of its recordings from which they are drawn."""


def configured(catalog: Catalog, name: str, changes: Changes | None = None) -> Configured:
    """A scenario of a catalog with the pilot as its controller.

    The mission is left out: its controller, its checks, and events at set times. Faults are those of a file, in one
    `ScenarioError`.

    Args:
        catalog: The scenarios.
        name: One of its names.
        changes: What is different from the file; nothing unless given.
    """
    changes = changes or Changes()
    if name not in catalog.files:
        raise ValueError(f"there is no scenario {name!r} to pilot{nearest(name, catalog.files)}")
    file = catalog.files[name]
    text = catalog.text(file)
    plain = catalog.read(text, file)
    if not plain.thrusters:
        raise ValueError(f"{name} has no thrusters: there is nothing to pilot; choose a scenario with a vehicle")
    data = _flown(yaml.safe_load(text), changes, _period(plain))
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120)
    scenario = catalog.read(text, file)
    drawing = catalog.drawing(scenario)
    return Configured(name=name, scenario=scenario, text=text, file=file, changes=changes, attrs=drawing)


def _period(scenario: Scenario) -> float:
    """Time between two commands that fits the steps and the sensors: the first multiple of both that is not too short [s]."""
    base = common_period(scenario.sensors) if scenario.sensors else scenario.step
    return round(base * math.ceil(PERIOD / base - 1e-9), 12)


def _flown(data: dict[str, Any], changes: Changes, period: float) -> dict[str, Any]:
    """The contents of a scenario file with the pilot and with changes."""
    gains = {k: v for k in ("bandwidth", "stiffness") if (v := getattr(changes, k)) is not None}
    before = data.get("controller")
    if isinstance(before, dict) and before.get("type") == PILOT:
        gains = {**before.get("parameters", {}), **gains}
    out = {k: v for k, v in data.items() if k not in ("controller", "checks", "events")}
    out["controller"] = {"type": PILOT, "period": period, **({"parameters": gains} if gains else {})}
    events = [e for e in data.get("events", ()) if not _of_mission(e)]
    if events:
        out["events"] = events
    first = dict(out["models"][0])
    if changes.position is not None:
        first["position"] = list(changes.position)
    if changes.heading_deg is not None:
        first.pop("orientation", None)
        first["rpy_deg"] = [*_angles(first)[:2], changes.heading_deg]
    out["models"] = [first, *out["models"][1:]]
    water = dict(out.get("environment", {}))
    if changes.current is not None:
        water["current"] = {"velocity": list(changes.current)}
    if changes.wave_height is not None:
        water["waves"] = []
        if changes.wave_height > 0.0:
            water["waves"] = [{"regular": {"height": changes.wave_height, "period": changes.wave_period or 5.0}}]
    if water:
        out["environment"] = water
    if changes.seed is not None:
        out["seed"] = changes.seed
    return out


def _angles(first: Mapping[str, Any]) -> Sequence[float]:
    given = first.get("rpy_deg")
    return given if isinstance(given, list) and len(given) == 3 else [0.0, 0.0, 0.0]


def _of_mission(event: Mapping[str, Any]) -> bool:
    """Whether an event is part of a mission: at a set time, or of a signal of its controller."""
    quantity = str(event.get("quantity", ""))
    return quantity == "time" or quantity.startswith("signal.")
