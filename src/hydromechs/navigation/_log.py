"""Filter on a log: measurements that were recorded earlier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hydromechs.model import Model
from hydromechs.sensors import Reading, Sensor
from hydromechs.values import Array, nearest

if TYPE_CHECKING:
    import xarray

    from ._navigator import Navigator


class Track(NamedTuple):
    """Estimates of a filter over time."""

    times: Array
    """Times [s], shape (n,)."""
    position: Array
    """Position of the vehicle's origin in world axes [m], shape (n, 3)."""
    orientation: Array
    """Quaternions, body to world, shape (n, 4)."""
    velocity: Array
    """Velocity in body axes [m/s, rad/s], shape (n, 6)."""
    sigma: Array
    """Standard deviations of the errors of the filter's state, shape (n, 18)."""
    messages: tuple[str, ...]
    """Messages."""


def run_on(navigator: Navigator, log: Mapping[str, tuple[Array, Array]], start: Array) -> Track:
    """Run a filter on a log.

    Args:
        log: Times (n,) and values (n, channels) of each sensor's measurements, by its name; NaN where there is nothing. A
            measurement counts as received after its sensor's latency.
        start: x̂ at the first reading of the IMU, shape (19,); see `Navigator.true`.
    """
    for s in (navigator.imu, *navigator.aids):
        if s.name not in log:
            raise KeyError(f"the log has no sensor {s.name!r}{nearest(s.name, log)}")
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
    """Return the log of sensors from the variable `signal` of a recording, with samples at least as often as they measure."""
    if "signal" not in recording:
        raise KeyError("the recording has no signals; run it with sensors among its blocks")
    times, out = recording["time"].values, {}
    for s in sensors:
        names = [f"{s.name}.{c.label}" for c in s.channels(model)]
        values = recording["signal"].sel(channel=names).values
        numbers = np.floor((times - s.latency) * s.rate + 1e-6)  # of the newest measurement that is known
        fresh = (numbers >= 0) & (np.diff(numbers, prepend=-1.0) > 0)
        out[s.name] = (numbers[fresh] * s.period, values[fresh])
    return out
