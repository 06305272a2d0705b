"""Filter outside a simulation: tick by tick with readings from the caller, or on a log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from hydromechs.compiler import Entries, Routine, RoutineCode
from hydromechs.model import Model, State
from hydromechs.sensors import REPORT, Reading, Sensor, messages_of
from hydromechs.simulation import Pack
from hydromechs.spatial import quaternion_matrix
from hydromechs.values import Array, nearest

from ._covariance import ERRORS, STATES, difference, of_body, plus
from ._filter_programs import NE, NX, ROW, first_covariance, start_of
from ._fusion import PRIOR, Arrived, Fusion

if TYPE_CHECKING:
    import xarray

    from ._navigation import ErrorStateFilter


Memory: TypeAlias = Mapping[str, Array]
"""Memory of a filter, keyed by the names of its `pack`: views into an array of the caller."""


class Estimate(NamedTuple):
    """Estimated state of the vehicle body."""

    position: Array
    """Position of the body origin in world axes [m], shape (3,)."""
    orientation: Array
    """Quaternion (w, x, y, z), body to world, shape (4,)."""
    velocity: Array
    """Velocity of the body at its origin, in body axes [m/s, rad/s], shape (6,)."""
    current: Array
    """Water velocity in world axes [m/s], shape (3,)."""
    position_sigma: Array
    """Standard deviations of the position at the IMU, in world axes [m], shape (3,)."""
    attitude_sigma: Array
    """Standard deviations of the attitude about the IMU axes [rad], shape (3,)."""
    velocity_sigma: Array
    """Standard deviations of the velocity at the IMU, in world axes [m/s], shape (3,)."""


class Navigator:
    """Filter for one vehicle, for readings from any source. The caller keeps its memory in an array; see `pack`.

    `sensors`: one `Imu` and any number of `Aid` sensors; other sensors are ignored.
    """

    def __init__(self, settings: ErrorStateFilter, model: Model, sensors: Sequence[Sensor]) -> None:
        self.fusion = f = Fusion(settings, model, sensors)
        self.settings, self.model, self.body, self.imu, self.aids = settings, model, f.body, f.imu, f.aids
        self.pack = Pack({name: x.shape for name, x in f.state.items()})
        self._sizes = [len(s.channels(model)) for s in self.aids]
        self._code = {moves: self._compiled(moves) for moves in (True,)}

    def _compiled(self, moves: bool) -> RoutineCode:
        f, na, total = self.fusion, len(self.aids), max(1, sum(self._sizes))
        sizes = {name: x.size for name, x in f.state.items()} | {"t": 1, "reading": 6, "values": total}
        sizes |= {"fresh": max(1, na), "number": max(1, na), "reports": max(1, REPORT * len(f.texts))}
        r = Routine("navigator", sizes, {name: x.size for name, x in f.inputs.items()})
        ends = np.cumsum([0, *self._sizes]).tolist()
        rows = [(r.part("fresh", i, 1), r.part("number", i, 1)) for i in range(na)]
        aids = [Arrived(*row, Entries("values", ends[i], self._sizes[i])) for i, row in enumerate(rows)]
        f.add(r, r["t"], r["reading"], aids, r["reports"], moves=moves)
        code = RoutineCode(r, 1, 1)
        code.compile()
        return code

    def start(self, m: Memory, believed: Array, t: float) -> None:
        """Reset the filter memory to the state x̂, shape (19,), at time t [s]."""
        f = self.fusion
        values = f.inputs["filter design"]
        prior, bias = (values[at : at + n] for at, n in (f.numbers_at("prior"), f.numbers_at("bias")))
        for name, x in zip(f.state, f.started_at(t, believed, prior, bias), strict=True):
            m[name][...] = np.asarray(x, dtype=float)

    def first_covariance(self, x: Array) -> Array:
        """Return the initial covariance at a state x, shape (18, 18)."""
        at, n = self.fusion.numbers_at("prior")
        prior = dict(zip(PRIOR, self.fusion.inputs["filter design"][at : at + n].tolist(), strict=True))
        return first_covariance(prior, quaternion_matrix(x[STATES["q"]]).T @ self.model.world.down)

    def tick(self, m: Memory, t: float, imu: Array, arrived: Sequence[Reading]) -> list[str]:
        """Advance by one IMU period: store copies for late sensors, use arrived measurements, and return messages.

        `t`: time, a multiple of the period [s]; `imu`: IMU reading, shape (6,), NaN without a reading; `arrived`: arrived
        readings, whose `sensor` is an index into `aids`.
        """
        left, said, moves = sorted(arrived, key=lambda r: (r.sensor, r.number)), [], True
        while moves or left:  # several readings of one sensor, for example after a gap in a log, need several passes
            now = {r.sensor: r for r in reversed(left)}
            left = [r for r in left if r is not now[r.sensor]]
            said += self._pass(m, t, imu, now, moves)
            moves = False
        return said

    def _pass(self, m: Memory, t: float, imu: Array, now: Mapping[int, Reading], moves: bool) -> list[str]:
        if moves not in self._code:
            self._code[moves] = self._compiled(moves)
        code, na, f = self._code[moves], max(1, len(self.aids)), self.fusion
        arrays = {name: m[name].reshape(1, -1) for name in f.state}
        fresh, number = np.zeros((1, na)), np.zeros((1, na))
        values = [np.full(n, np.nan) for n in self._sizes] or [np.zeros(1)]
        for i, reading in now.items():
            fresh[0, i], number[0, i], values[i] = 1.0, reading.number, reading.value
        reports = np.zeros((1, code.routine.state["reports"]))
        arrays |= {"t": np.array([[float(t)]]), "reading": np.array(imu, dtype=float)[None], "fresh": fresh, "number": number}
        arrays |= {"values": np.concatenate(values)[None].astype(float), "reports": reports}
        code.run(arrays, {name: x[None] for name, x in f.inputs.items()}, 1)
        return messages_of(f.texts, reports[0][: REPORT * len(f.texts)])

    # -- estimates ---------------------------------------------------------------------------------------------------

    def estimate(self, m: Memory) -> Estimate:
        """Return the estimated state of the vehicle body."""
        x, w = m["filter x"][:NX], m["filter x"][NX:ROW]
        position, orientation, velocity = of_body(x, w, self.fusion.p_BI, self.fusion.q_BI)
        sigma = np.sqrt(np.maximum(np.diagonal(self.covariance(m)), 0.0))
        return Estimate(
            position=position,
            orientation=orientation,
            velocity=velocity,
            current=x[STATES["c"]].copy(),
            position_sigma=sigma[ERRORS["p"]],
            attitude_sigma=sigma[ERRORS["q"]],
            velocity_sigma=sigma[ERRORS["v"]],
        )

    def covariance(self, m: Memory) -> Array:
        """Return the covariance of the error δ, shape (18, 18); entries of an unestimated current are 0."""
        n = self.fusion.layout
        own, out = n.present >= 0, np.zeros((NE, NE))
        out[np.ix_(own, own)] = n.matrix(m["filter P"])[np.ix_(n.present[own], n.present[own])]
        return out

    @staticmethod
    def moved(x: Array, error: Array) -> Array:
        """Return x ⊞ δ, shape (19,), for the leading entries of δ, shape (n,); the other entries are 0."""
        return plus(x, np.concatenate([error, np.zeros(NE - len(error))]))

    def true(self, state: State, bias: Array | None = None, current: Array | None = None) -> Array:
        """Return the filter state x of a true motion, shape (19,).

        `bias`: IMU biases of specific force and angular rate [m/s², rad/s], shape (6,), default 0; `current`: water velocity in
        world axes [m/s], shape (3,), default 0.
        """
        i = self.body
        pose, velocity = state.q[self.model.q_slices[i]], state.v[self.model.v_slices[i]]
        return start_of(self.fusion.q_BI, self.fusion.p_BI, pose, velocity, bias, current)

    def error(self, m: Memory, true: Array) -> Array:
        """Return the error δ, shape (18,), relative to a true state x, shape (19,); see `true`."""
        return difference(true, m["filter x"][:NX])


class Track(NamedTuple):
    """Estimates of a filter over time."""

    times: Array
    """Times of the estimates [s], shape (n,)."""
    position: Array
    """Position of the body origin in world axes [m], shape (n, 3)."""
    orientation: Array
    """Quaternions, body to world, shape (n, 4)."""
    velocity: Array
    """Velocity of the body at its origin, in body axes [m/s, rad/s], shape (n, 6)."""
    sigma: Array
    """Standard deviations of the error δ, shape (n, 18)."""
    messages: tuple[str, ...]
    """Messages of the filter."""


def run_on(navigator: Navigator, log: Mapping[str, tuple[Array, Array]], start: Array) -> Track:
    """Run a filter on a log.

    `log`: times (n,) and values (n, channels) of measurements, keyed by sensor name, with NaN for missing values; measurements
    are received after the sensor latency; `start`: x̂ at the first IMU reading, shape (19,), see `Navigator.true`.
    """
    for s in (navigator.imu, *navigator.aids):
        if s.name not in log:
            raise KeyError(f"the log has no sensor named {s.name!r}{nearest(s.name, log)}")
    times, values = (np.asarray(x, dtype=float) for x in log[navigator.imu.name])
    waiting = []
    for k, s in enumerate(navigator.aids):
        waiting += [
            (t + s.latency, Reading(k, round(t * s.rate), float(t), np.asarray(y, dtype=float)))
            for t, y in zip(*log[s.name], strict=True)
        ]
    waiting.sort(key=lambda entry: entry[0])
    memory = navigator.pack.views(np.zeros(navigator.pack.size))
    navigator.start(memory, start, float(times[0]))
    rows, said, at = [], [], 0
    for t, imu in zip(times.tolist(), values, strict=True):
        arrived = []
        while at < len(waiting) and waiting[at][0] <= t + 1e-6 * navigator.imu.period:
            arrived.append(waiting[at][1])
            at += 1
        said += [
            f"t = {t:g} s: {text}" for text in navigator.tick(memory, t, imu, [r for r in arrived if r.time >= times[0] - 1e-9])
        ]
        e = navigator.estimate(memory)
        rows.append(np.concatenate([e.position, e.orientation, e.velocity, np.sqrt(np.diag(navigator.covariance(memory)))]))
    table = np.array(rows)
    return Track(times, table[:, :3], table[:, 3:7], table[:, 7:13], table[:, 13:], tuple(said))


def log_of(recording: xarray.Dataset, model: Model, sensors: Sequence[Sensor]) -> dict[str, tuple[Array, Array]]:
    """Return the log of sensors from the variable `signal` of a recording sampled at least at the sensor rates."""
    if "signal" not in recording:
        raise KeyError("the recording has no signals; add sensors to the blocks and run again")
    times, out = recording["time"].values, {}
    for s in sensors:
        names = [f"{s.name}.{c.label}" for c in s.channels(model)]
        values = recording["signal"].sel(channel=names).values
        numbers = np.floor((times - s.latency) * s.rate + 1e-6)  # indices of the newest known measurements
        fresh = (numbers >= 0) & (np.diff(numbers, prepend=-1.0) > 0)
        out[s.name] = (numbers[fresh] * s.period, values[fresh])
    return out
