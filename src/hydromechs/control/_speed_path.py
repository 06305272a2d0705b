"""Position and heading control, held or along a path, as an outer loop around the speed control."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np

from hydromechs.simulation import Site, Tick
from hydromechs.spatial import maximum, minimum, norm, quaternion_matrix, smallest_angle
from hydromechs.values import Array, Bound, Finite, Positive, Scalar, positive

from ._pose_control import POSE, pose_waypoints
from ._reference import Waypoints
from ._speed_control import LqrSpeed, named
from ._vehicle import pose_notes


def speeds_towards(here: Array, wanted: Array, rate: Array, stiffness: float, speed: float) -> tuple[Array, Array]:
    """Return the reference of a speed loop that moves a vehicle to a pose, and the error of the pose, shape (6,) each.

        ν_ref = Rᵀ (ṗ_ref + s κ (p_ref − p)),    r_ref = ψ̇_ref + κ (ψ_ref − ψ),    s = min(1, v_max/(κ |p_ref − p|))

    `here`: position and quaternion now, shape (7,); `wanted`: position and roll, pitch, heading [m, rad], shape (6,); `rate`:
    their rates, shape (6,); `stiffness`: κ [1/s]; `speed`: v_max [m/s].
    """
    R = quaternion_matrix(here[3:])
    off = wanted[:3] - here[:3]
    back = stiffness * off
    back = back * minimum(1.0, speed / maximum(norm(back), 1e-300))
    turn = smallest_angle(wanted[5] - np.arctan2(R[1, 0], R[0, 0]))
    nu = R.T @ (rate[:3] + back)
    roll, pitch = np.arctan2(R[2, 1], R[2, 2]), np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    reference = np.array([*nu, wanted[3], wanted[4], rate[5] + stiffness * turn])
    return reference, np.array([*off, wanted[3] - roll, wanted[4] - pitch, turn])


class LqrFollowPath(LqrSpeed):
    """Controller that moves a vehicle along waypoints: an outer loop sets speeds of the servo LQR.

        ν_ref = Rᵀ (ṗ_ref + s κ (p_ref − p)),    r_ref = ψ̇_ref + κ (ψ_ref − ψ),    s = min(1, v_max/(κ |p_ref − p|))

    The inner loop tracks speeds over ground without a steady error, so the position is held in a current, too,
    along the axes that are controlled; `notes` names the others, and a path that leads only along those is rejected.
    Its signals are reference and error of the pose, as those of `FollowPath`, besides those of `LqrSpeed`, as are its further
    arguments.

    Args:
        waypoints: Mappings with t [s], position (3,) in world axes [m], and heading_deg, pitch_deg, roll_deg (default 0).
        stiffness: κ, decay rate of position errors [1/s]; defaults to a third of the bandwidth.
        speed: v_max, maximum speed of the approach besides that of the path [m/s].
    """

    def __init__(
        self,
        *,
        waypoints: Sequence[Mapping[str, Any]],
        stiffness: Positive | None = None,
        speed: Positive = 0.5,
        arm: Sequence[Mapping[str, Any]] = (),
        body: str | None = None,
        controlled: Sequence[str] | None = None,
        bandwidth: Positive = 1.0,
        integral: Positive = 1.0,
        period: Positive = 0.05,
    ) -> None:
        super().__init__(
            waypoints=waypoints,
            arm=arm,
            body=body,
            controlled=controlled,
            bandwidth=bandwidth,
            integral=integral,
            period=period,
        )
        self.stiffness = self.bandwidth / 3.0 if stiffness is None else positive(stiffness, "stiffness")
        self.speed = positive(speed, "speed")

    _asked = (3, 4)

    def _path(self, waypoints: Sequence[Mapping[str, Any]]) -> Waypoints:
        return pose_waypoints(waypoints)

    def prepare(self, site: Site) -> None:
        super().prepare(site)
        vehicle = self._loop.vehicle
        self.notes = [*self.notes, *pose_notes(vehicle, self._loop.axes, self.path.points)]

    def _channels(self) -> dict[str, str]:
        return super()._channels() | {f"{kind}.{x}": unit for kind in ("reference", "error") for x, unit in POSE.items()}

    def _reference(self, tick: Tick) -> tuple[Array, dict[str, Scalar]]:
        wanted, rate, _ = self.path(tick.t)
        reference, off = speeds_towards(tick.q[self._loop.vehicle.q], wanted, rate, self.stiffness, self.speed)
        return reference, named("reference", POSE, wanted) | named("error", POSE, off)

    def _rate(self, tick: Tick) -> Array | None:
        return None


class LqrHoldPose(LqrFollowPath):
    """Controller that holds a pose by an outer loop around speed control; further arguments are those of `LqrFollowPath`.

    Args:
        position: Setpoint in world axes [m], shape (3,).
        heading_deg: Heading [°].
    """

    def __init__(
        self,
        *,
        position: Annotated[Sequence[float], Bound(size=3)],
        heading_deg: Finite = 0.0,
        stiffness: Positive | None = None,
        speed: Positive = 0.5,
        arm: Sequence[Mapping[str, Any]] = (),
        body: str | None = None,
        controlled: Sequence[str] | None = None,
        bandwidth: Positive = 1.0,
        integral: Positive = 1.0,
        period: Positive = 0.05,
    ) -> None:
        super().__init__(
            waypoints=[{"t": 0.0, "position": position, "heading_deg": heading_deg}],
            stiffness=stiffness,
            speed=speed,
            arm=arm,
            body=body,
            controlled=controlled,
            bandwidth=bandwidth,
            integral=integral,
            period=period,
        )
