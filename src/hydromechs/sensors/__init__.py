"""Sensors: quantities, rates, latencies and errors of measurements."""

from collections.abc import Mapping

from ._compass import Compass
from ._contact_switch import ContactSwitch
from ._depth import DepthGauge
from ._devices import DEVICES, Device, device
from ._dvl import Dvl
from ._encoders import JointEncoders
from ._force_torque import ForceTorque
from ._imu import Imu
from ._instant import Instant, MountedFrame
from ._noise import Noise
from ._sampling import Readings, SensorNodes, common_period, equations_of, part_of, recipe_of, whole_periods
from ._sensing import REPORT, PlainSensing, Reading, Sensed, messages_of
from ._sensor import Aid, Channel, Errors, FrameMotion, Mounted, Sensor
from ._suite import SensorSuite
from ._tachometer import Tachometer
from ._usbl import Usbl

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
    "recipe_of",
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
"""Sensors by their names in files."""
