"""Sensors as nodes of a routine, and the state seen by controllers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hydromechs.compiler import Entries, PackedCode, Routine, recipe_of
from hydromechs.contact import Terrain
from hydromechs.simulation import Controller, Measured, Plant, SensingPlaces
from hydromechs.spatial import where
from hydromechs.values import Array, Scalar

from ._imu import Imu
from ._joint_sensors import JointEncoders
from ._sampling import HUGE, Readings, SensorNodes, common_period, part_of, whole_periods
from ._sensor import Aid, Mounted, Sensor

REPORT = 5
"""Number of values in a report: a condition, then four values for the text."""


def messages_of(texts: Sequence[Callable[..., str]], reports: Array) -> list[str]:
    """Return the texts of reports whose condition is true, from five values per text."""
    rows = np.reshape(reports, (-1, REPORT))
    return [text(*row[1:]) for text, row in zip(texts, rows, strict=True) if row[0] != 0.0]


class Reading(NamedTuple):
    """Measurement that has arrived."""

    sensor: int
    """Index of the sensor."""
    number: int
    """Index of the sample, counted from time 0."""
    time: float
    """Time of the measurement [s]."""
    value: Array
    """Measured values, shape (n,); NaN for missing values."""


class Sensed(NamedTuple):
    """Entries with the results of a tick."""

    seen_q: Entries
    """Configuration seen by controllers."""
    seen_v: Entries
    """Velocity seen by controllers."""
    measured: Entries
    """Last received values of all sensors; NaN before the first reading."""
    signals: Entries
    """Signal values."""
    reports: Entries
    """Five values for each of `texts`: a condition, then four values for the text."""


class PlainSensing:
    """Sensors of a plant as nodes of a routine, without a filter: controllers read true states and encoder readings.

    `terrain`: visible ground in addition to the terrain of the plant; `step`: integration step [s]; `controlled`: True if a
    controller reads the sensors.
    """

    def __init__(
        self, plant: Plant, sensors: Sequence[Sensor], terrain: Sequence[Terrain], step: float, *, controlled: bool = True
    ) -> None:
        self.plant = plant
        self.sampling = SensorNodes(plant, sensors, step, terrain)
        self.period = self.sampling.period
        """Tick interval [s]."""
        self.state: dict[str, Array] = dict(self.sampling.state)
        """Persistent arrays of the routine, with initial values."""
        self.inputs: dict[str, Array] = dict(self.sampling.inputs)
        """Input arrays of the routine for a run, with values."""
        self.signals: dict[str, str] = {}
        """Units of the signals, keyed by signal name."""
        self.measured: dict[str, Measured] = {}
        """Sensor readings, keyed by sensor name, initialised with NaN."""
        for s, channels in zip(self.sampling.sensors, self.sampling.channels, strict=True):
            self.signals |= {f"{s.name}.{c.label}": c.unit for c in channels}
            frame = s.frame if isinstance(s, Mounted) else ""
            self.measured[s.name] = Measured(frame, np.full(len(channels), np.nan), tuple(c.label for c in channels))
        self.texts: list[Callable[..., str]] = []
        """Functions that format messages from four values."""
        self._prepare(controlled)

    def _prepare(self, controlled: bool) -> None:
        names = ", ".join(repr(s.name) for s in self.sampling.sensors if isinstance(s, Imu | Aid))
        if names and controlled:
            text = (
                "the controller reads the true pose and velocity, because no navigation filter uses the readings of "
                f"{names}; to control from estimates, add Navigation() to the blocks (in a file, {{type: error_state_filter}})"
            )
            self.state["sensing reported"] = np.zeros(1)
            self.texts.append(lambda *numbers: text)

    def check(self, lanes: int) -> None:
        """Raise errors of the sensors on this plant, by compiling the measurements for the lanes of the run."""
        PackedCode(self.sampling.truth, lanes, 1).code(lanes)

    def add(self, routine: Routine, at: SensingPlaces) -> Sensed:
        """Append all operations of one tick of the fastest sensor."""
        r, nq, nv = routine, self.plant.model.nq, self.plant.model.nv
        got = self.sampling.add(r, at)
        reports = r.scratch("sensing reports", REPORT * len(self.texts))
        self._add_filter(r, at, got, reports)
        q, v = r.scratch("seen q", nq), r.scratch("seen v", nv)
        signals = r.scratch("sensing signals", len(self.signals))
        r.copy(got.received, part_of(signals, 0, self.sampling.size))
        given: dict[str, tuple[int, ...]] = {"t": (), "q": (nq,), "v": (nv,), "last": (self.sampling.size,)}
        wanted: dict[str, tuple[int, ...]] = {"seen_q": (nq,), "seen_v": (nv,)}
        places, results = [at.t, at.q, part_of(at.x, 0, nv), got.last], [q, v]
        for name, place in self._estimate_inputs(r).items():
            given[name] = (place.size,)
            places.append(place)
        more = len(self.signals) - self.sampling.size
        if more:
            wanted["signals"] = (more,)
            results.append(part_of(signals, self.sampling.size, more))
        r.call(recipe_of("sensing_estimate", self._estimate, given, wanted, identity=self._identity()), places, results)
        return Sensed(q, v, got.last, signals, reports)

    def _add_filter(self, r: Routine, at: SensingPlaces, got: Readings, reports: Entries) -> None:
        """Append the operations after the sensors: without a filter, a single report that controllers read the true state."""
        if not self.texts:
            return
        shapes: dict[str, tuple[int, ...]] = {"reported": ()}
        recipe = recipe_of(
            "sensing_truth",
            lambda reported: (1.0, np.array([1.0 - reported, 0.0, 0.0, 0.0, 0.0])),
            shapes,
            shapes | {"report": (REPORT,)},
            identity="truth",
        )
        r.call(recipe, [r["sensing reported"]], [r["sensing reported"], reports])

    def _estimate_inputs(self, r: Routine) -> dict[str, Entries]:
        """Return additional arguments of `_estimate`, keyed by name."""
        return {}

    def _encoded(self) -> list[tuple[int, list[int], list[int]]]:
        """Return first channel, indices in q and indices in v of each sensor that replaces joint values."""
        out = []
        for s, at in zip(self.sampling.sensors, self.sampling.places, strict=True):
            if isinstance(s, JointEncoders):
                parts = [self.plant.model.joint_part(name) for name in s.joints]
                out.append((at.start, [p.q.start for p in parts], [p.v.start for p in parts]))
        return out

    def _identity(self) -> str:
        return str(self._encoded())

    def _estimate(self, t: Scalar, q: Array, v: Array, last: Array, **more: Any) -> tuple[Array, ...]:
        seen_q, seen_v = list(q), list(v)
        for first, in_q, in_v in self._encoded():
            known = abs(last[first]) <= HUGE
            for k, (i, j) in enumerate(zip(in_q, in_v, strict=True)):
                seen_q[i] = where(known, last[first + k], q[i])
                seen_v[j] = where(known, last[first + len(in_q) + k], v[j])
        return np.array(seen_q), np.array(seen_v)


@dataclass(frozen=True)
class SensorSuite:
    """Sensors whose readings controllers use without a filter: true states and encoder readings."""

    sensors: tuple[Sensor, ...]
    """Sensors of the suite."""
    terrain: tuple[Terrain, ...] = ()
    """Visible ground in addition to the terrain of the plant."""

    def __post_init__(self) -> None:
        if not self.sensors:
            raise ValueError("sensors is empty; add at least one sensor")

    @property
    def period(self) -> float:
        """Tick interval [s]."""
        return common_period(self.sensors)

    @property
    def description(self) -> str:
        """Names and rates of the sensors as text."""
        return f"; sensors: {', '.join(f'{s.name} at {s.rate:g} Hz' for s in self.sensors)}"

    def check(self, controller: Controller) -> None:
        """Raise `ValueError` if the period of a controller is not a multiple of the tick interval."""
        whole_periods(controller.period, self.period, f"the period of {type(controller).__name__}")

    def on(self, plant: Plant, step: float, *, controlled: bool) -> PlainSensing:
        """Return the operations of a tick for a plant."""
        return PlainSensing(plant, self.sensors, self.terrain, step, controlled=controlled)
