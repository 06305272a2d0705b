"""Commercial sensors, keyed by model name."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from hydromechs.errors import FieldError
from hydromechs.values import nearest

from ._acoustic import Dvl, Usbl
from ._gauges import Compass, DepthGauge
from ._imu import Imu
from ._sensor import Mounted, Noise

MG = 9.80665e-3
"""Thousandth of standard gravity [m/s²]."""
DEG = math.pi / 180.0


class Device(NamedTuple):
    """Typical data of a commercial sensor."""

    kind: type[Mounted]
    """Sensor class of the device."""
    fields: Mapping[str, Any]
    """Field values of the sensor class."""
    source: str
    """Sources of the values; estimates are marked."""


DEVICES: Mapping[str, Device] = {
    "mems_imu": Device(
        Imu,
        {
            "rate": 100.0,
            "accelerometer": Noise(density=0.14 * MG, bias=2.0 * MG, walk=0.004 * MG, limit=16000.0 * MG),
            "gyroscope": Noise(density=0.0035 * DEG, bias=0.02 * DEG, walk=3e-4 * DEG, limit=2000.0 * DEG),
        },
        "estimate: industrial MEMS class (such as the VectorNav VN-100); densities as commonly quoted, biases after "
        "calibration",
    ),
    "fog_imu": Device(
        Imu,
        {
            "rate": 100.0,
            "accelerometer": Noise(density=0.12 * MG, bias=0.5 * MG, walk=0.001 * MG, limit=10000.0 * MG),
            "gyroscope": Noise(density=2e-4 * DEG, bias=3e-4 * DEG, walk=3e-6 * DEG, limit=490.0 * DEG),
        },
        "estimate: fibre-optic gyroscopes with MEMS accelerometers (such as the KVH 1750 IMU), 0.012°/√h and 1°/h",
    ),
    "waterlinked_a50": Device(
        Dvl,
        {
            "rate": 5.0,
            "latency": 0.1,
            "noise": Noise(sigma=0.01, bias=0.002),
            "range": 50.0,
            "nearest": 0.05,
            "tilt": 22.5 * DEG,
        },
        "ranges and rate: docs.waterlinked.com/dvl/range-mode (0.05 to 50 m, 2 to 15 Hz); estimates: noise, bias and latency",
    ),
    "dvl_600khz": Device(
        Dvl,
        {
            "rate": 5.0,
            "latency": 0.1,
            "noise": Noise(sigma=0.006, bias=0.001),
            "water_noise": Noise(sigma=0.02, bias=0.005),
            "range": 90.0,
            "nearest": 0.7,
            "tilt": 30.0 * DEG,
        },
        "estimate: four-beam 600 kHz DVL, typical of work-class vehicles",
    ),
    "bar30": Device(
        DepthGauge,
        {"rate": 10.0, "noise": Noise(sigma=0.005, bias=0.05, resolution=0.002, limit=300.0)},
        "resolution 2 mm and range 300 m: manufacturer's data of the Blue Robotics Bar30; estimates: noise and bias",
    ),
    "quartz_depth": Device(
        DepthGauge,
        {"rate": 10.0, "noise": Noise(sigma=0.003, bias=0.02, resolution=0.001)},
        "estimate: quartz pressure gauge with an accuracy of 0.01 % of a range of several hundred metres",
    ),
    "magnetic_compass": Device(
        Compass,
        {"rate": 10.0, "noise": Noise(sigma=1.0 * DEG, bias=1.0 * DEG)},
        "estimate: calibrated magnetometer near thrusters",
    ),
    "gyrocompass": Device(
        Compass, {"rate": 10.0, "noise": Noise(sigma=0.05 * DEG, bias=0.1 * DEG)}, "estimate: north-seeking FOG"
    ),
    "usbl_short": Device(
        Usbl,
        {"rate": 1.0, "latency": 0.4, "range_sigma": 0.1, "bearing_sigma": 1.0 * DEG, "dropout": 0.05},
        "estimate: small USBL with a bearing accuracy of 1° at ranges up to several hundred metres",
    ),
    "usbl_survey": Device(
        Usbl,
        {"rate": 1.0, "latency": 0.6, "range_sigma": 0.03, "bearing_sigma": 0.1 * DEG, "dropout": 0.02},
        "estimate: survey-grade USBL with a bearing accuracy of 0.1° and an aligned, motion-compensated transceiver",
    ),
}
"""Devices, keyed by model name."""


def device(model: str, name: str, frame: str, changes: Mapping[str, object] | None = None) -> Mounted:
    """Return a commercial sensor with typical error data.

    `model`: key of `DEVICES`; `name`: unique name of the sensor; `frame`: frame or body that carries the sensor; `changes`:
    values of fields that override the typical data, such as rate or transceiver.
    """
    if model not in DEVICES:
        raise FieldError("device.model", model, f"must be a model from sensors.DEVICES{nearest(str(model), DEVICES)}")
    found, changes = DEVICES[model], dict(changes or {})
    known = [f.name for f in dataclasses.fields(found.kind) if f.name not in ("name", "frame")]
    for key in changes:
        if key not in known:
            raise FieldError("device.changes", key, f"must be a field of {found.kind.__name__}{nearest(key, known)}")
    return found.kind(name=name, frame=frame, **{**found.fields, **changes})
