"""The compiled filter against the same filter in plain NumPy with dense matrices, on the same readings."""

import numpy as np
import pytest
from benchmarks.navigation_study import IMU, RATE, SENSORS, small_vehicle
from tests.reference_filter import Navigator as Reference

from hydromechs.navigation import ErrorStateFilter
from hydromechs.navigation._covariance import Believed
from hydromechs.navigation._filter_programs import drawn_error, first_covariance
from hydromechs.navigation._fusion import PRIOR
from hydromechs.sensors import Compass, DepthGauge, Dvl, Noise, Reading, Usbl
from hydromechs.spatial import quaternion_exp

BIASED = Noise(sigma=0.02, bias=0.05, walk=0.001)
MANY = (
    IMU,
    Dvl(name="dvl", frame="dvl", rate=5.0, latency=0.1, noise=BIASED, water_noise=BIASED, range=60.0),
    DepthGauge(name="depth", frame="hull", rate=5.0, noise=BIASED),
    Compass(name="compass", frame="hull", rate=5.0, noise=Noise(sigma=0.02, bias=0.02)),
    Usbl(name="usbl", frame="dvl", rate=1.0, latency=2.2, transceiver=(5, -10, 2), range_sigma=0.05, bearing_sigma=0.01),
)
"""Levers, biases that walk, three samples on their way at once."""


def readings(navigator, seed, jump):
    """Random readings about a vehicle at rest, some missing, in ticks of the IMU: (t, reading of the IMU, readings that arrive)."""
    rng, model = np.random.default_rng(seed), navigator.model
    x = navigator.true(model.initial())
    way = []
    for k in range(200):
        t = k / RATE
        imu = np.array([0, 0, -9.81, 0, 0, 0]) + 0.02 * rng.normal(size=6)
        if rng.random() < 0.05:
            imu[:] = np.nan
        for i, s in enumerate(navigator.aids):
            number = round(t * s.rate)
            if abs(t - number * s.period) > 1e-9:
                continue
            frame = Believed.at(x, np.zeros(3), *navigator.fusion.place(s))
            y = np.asarray(s.expected(frame, model.world)) + 0.02 * rng.normal(size=len(s.channels(model)))
            if jump and s.name == jump and t > 2.0:
                y = y + 2.0
            if s.name == "dvl" and len(y) > 4:  # beams that lose the ground track the water
                lost = rng.random(4) < 0.2
                y = np.concatenate([np.where(lost, np.nan, y[:4]), np.where(lost, y[4:], np.nan)])
            if rng.random() < 0.1:
                y = np.full(len(y), np.nan)
            way.append((t + s.latency, Reading(i, number, t, y)))
        yield t, imu, [r for due, r in way if due <= t + 1e-9]
        way = [(due, r) for due, r in way if due > t + 1e-9]


@pytest.mark.parametrize(
    ("sensors", "settings", "jump"),
    [
        (SENSORS, {}, ""),
        (MANY, {}, ""),
        (MANY, {"current": 0.3}, ""),
        (MANY, {"patience": 3}, "dvl"),
        (MANY, {"patience": 3, "current": 0.3}, "depth"),
        (MANY, {"patience": 2}, "compass"),
        (MANY, {"patience": 1}, "usbl"),
    ],
)
def test_filter_equals_its_reference(sensors, settings, jump):
    """Covariance to 1e-10 of its deviations, state to 1e-7, the same messages: late, missing, rejected readings, widening."""
    model, given = small_vehicle(), ErrorStateFilter(tilt=0.01, heading=0.05, **settings)
    navigator, reference = given.on(model, sensors), Reference(given, model, sensors)
    m, n = (f.pack.views(np.zeros(f.pack.size)) for f in (navigator, reference))
    x = navigator.true(model.initial())
    x = np.concatenate([x[:6] + 0.01, x[6:10], x[10:]])
    navigator.start(m, x, 0.0)
    reference.start(n, x, 0.0)
    said, expected = [], []
    for t, imu, arrived in readings(navigator, 3, jump):
        said += navigator.tick(m, t, imu, arrived)
        expected += reference.tick(n, t, imu, arrived)
        P, Q = navigator.covariance(m), reference.covariance(n)
        scale = np.sqrt(np.maximum(np.outer(np.diag(Q), np.diag(Q)), 1e-300))
        assert np.abs((P - Q) / scale).max() < 1e-10
        np.testing.assert_allclose(m["filter x"][:19], n["x"][0], atol=1e-7, rtol=0)
    assert said == expected
    assert not jump or any("rejected" in text for text in said)
    for a, b in zip(navigator.estimate(m), reference.estimate(n), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-7)


def test_attitude_of_a_start_has_its_covariance():
    """Errors of position, velocity and attitude that are drawn at a start, against the covariance that the filter begins with."""
    prior = dict(zip(PRIOR, (0.5, 0.1, 0.02, 0.3, 0.0, 0.0, 0.0), strict=True))
    down = quaternion_exp(np.array([0.3, -0.4, 0.2]))[1:]
    down = down / np.linalg.norm(down)
    L = np.array([drawn_error(prior, down, e) for e in np.eye(9)]).T
    np.testing.assert_allclose(L @ L.T, first_covariance(prior, down)[:9, :9].astype(float), atol=1e-15)
