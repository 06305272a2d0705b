"""Sensors: measured quantities, rates, latencies and error models."""

from collections.abc import Mapping

from ._acoustic import Dvl, Usbl
from ._devices import DEVICES, Device, device
from ._gauges import Compass, ContactSwitch, DepthGauge, Tachometer
from ._imu import Imu
from ._instant import Instant, MountedFrame
from ._joint_sensors import ForceTorque, JointEncoders
from ._sampling import Readings, SensorNodes, common_period, equations_of, part_of, whole_periods
from ._sensing import REPORT, PlainSensing, Reading, Sensed, SensorSuite, messages_of
from ._sensor import Aid, Channel, Errors, FrameMotion, Mounted, Noise, Sensor

__all__ = [
    "DEVICES",
    "REPORT",
    "TYPES",
    "Aid",
    "Channel",
    "Compass",
    "ContactSwitch",
    "DepthGauge",
    "Device",
    "Dvl",
    "Errors",
    "ForceTorque",
    "FrameMotion",
    "Imu",
    "Instant",
    "JointEncoders",
    "Mounted",
    "MountedFrame",
    "Noise",
    "PlainSensing",
    "Reading",
    "Readings",
    "Sensed",
    "Sensor",
    "SensorNodes",
    "SensorSuite",
    "Tachometer",
    "Usbl",
    "common_period",
    "device",
    "equations_of",
    "messages_of",
    "part_of",
    "whole_periods",
]

TYPES: Mapping[str, type[Sensor]] = {
    "imu": Imu,
    "dvl": Dvl,
    "usbl": Usbl,
    "depth": DepthGauge,
    "compass": Compass,
    "encoders": JointEncoders,
    "force_torque": ForceTorque,
    "tachometer": Tachometer,
    "contact_switch": ContactSwitch,
}
"""Sensor classes, keyed by the type name in files."""
