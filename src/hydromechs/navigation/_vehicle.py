"""Vehicle of a filter, and mounting of sensors on the vehicle."""

from collections.abc import Sequence

import numpy as np

from hydromechs import dynamics
from hydromechs.model import Model, joints
from hydromechs.sensors import Aid, Imu, Sensor
from hydromechs.simulation import check_free_in_world
from hydromechs.values import Array


def vehicle_of(model: Model, sensors: Sequence[Sensor]) -> int:
    """Return the index of the navigated body for these sensors; reject unsupported sensors."""
    imus = [s for s in sensors if isinstance(s, Imu)]
    if len(imus) != 1:
        named = ", ".join(repr(s.name) for s in imus) or "none"
        raise ValueError(f"the navigation filter found {len(imus)} Imu sensors ({named}); use exactly one")
    (imu,) = imus
    if imu.latency or any(s.rate > imu.rate * (1 + 1e-9) for s in sensors):
        raise ValueError(
            f"sensor {imu.name!r}: latency is {imu.latency:g} s and rate {imu.rate:g} Hz; set latency 0 and the highest rate"
        )
    imu.check(model)
    i = model.locate(imu.frame).body
    while model.parent[i] >= 0 and model.bodies[i].joint.nv == 0:
        i = model.parent[i]
    if not isinstance(model.bodies[i].joint, joints.Free) or model.parent[i] >= 0:
        raise ValueError(
            f"sensor {imu.name!r}: frame {imu.frame!r} is on body {model.body_names[i]!r}, which is not free in the world; "
            "mount the Imu on the vehicle"
        )
    check_free_in_world(model, i)
    for s in sensors:
        if isinstance(s, Aid):
            place_on_body(model, i, s.frame, s.name)
    return i


def place_on_body(model: Model, body: int, frame: str, sensor: str) -> tuple[Array, Array]:
    """Return origin and axes of a frame fixed to the vehicle, in body axes."""
    at = model.locate(frame)
    p, R, i = at.p, at.R, at.body
    kin = dynamics.kinematics(model, *model.neutral())
    while i != body:
        if model.bodies[i].joint.nv or model.parent[i] < 0:
            raise ValueError(
                f"sensor {sensor!r}: frame {frame!r} moves relative to {model.body_names[body]!r}, which carries the Imu; "
                "mount the sensor on that body"
            )
        R_step, p_step = kin.paths[i].pose()
        p, R, i = (
            np.asarray(p_step, dtype=float) + np.asarray(R_step, dtype=float) @ p,
            np.asarray(R_step, dtype=float) @ R,
            model.parent[i],
        )
    return p, R
