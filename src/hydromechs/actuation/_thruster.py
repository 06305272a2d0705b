"""Thrusters: lag, loss to axial inflow, and where they push."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hydromechs.spatial import clamp

from ._curves import ForceCurve
from ._values import convert

__all__ = ["Thruster", "thruster_rate", "thruster_states", "thruster_thrust", "thruster_wet"]

BLEND = 1e-4
"""Part of the highest thrust below which the shaft speed is taken linear in the thrust, so that the loss has a slope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thruster:
    """A propeller on a named frame, pushing along the frame's x axis."""

    name: str
    """Name, unique among the actuators."""
    frame: str
    """Named frame of the model; positive thrust is along its x axis, on the body that carries it."""
    curve: ForceCurve
    """Steady force at rest by command, with saturation and dead band."""
    time_constant: float = 0.0
    """Time constant of the force after a change of the command [s]; 0: at once."""
    zero_thrust_speed: float | None = None
    """Speed through the water along the thrust at which the full forward thrust vanishes [m/s]; None: no loss to inflow."""
    radius: float = 0.1
    """Radius of the propeller, over which its thrust falls to zero as it leaves the water [m]."""

    def __post_init__(self):
        for name in ("name", "frame"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name):
                raise ValueError(f"Thruster.{name} is {getattr(self, name)!r}, must be a text that is not empty")
        if not isinstance(self.curve, ForceCurve):
            raise ValueError(f"Thruster.curve is {self.curve!r}, must be a ForceCurve; see linear_curve and t200_curve")
        convert(self, not_negative="time_constant", positive="radius")
        if self.zero_thrust_speed is not None:
            convert(self, positive="zero_thrust_speed")
            if self.curve.limits[1] <= 0.0:
                raise ValueError(
                    f"Thruster.zero_thrust_speed is {self.zero_thrust_speed:.6g} m/s, but the curve has no forward thrust; "
                    "leave it out, or turn the frame around"
                )


def thruster_states(thruster: Thruster) -> tuple[str, ...]:
    """Names of the states of a `thruster`: its lagged thrust, or none without a lag."""
    return ("thrust",) if thruster.time_constant else ()


def thruster_rate(thruster: Thruster, x, target):
    """Rate of the lagged thrust [N/s]: ẋ = (target − x) / T.

    Args:
        thruster: A thruster with a time constant T > 0.
        x: Lagged thrust at rest [N].
        target: Force of the curve at the present command [N].
    """
    if not thruster.time_constant:
        raise ValueError(f"thruster {thruster.name!r} has no lag, so no state; its thrust at rest is its target")
    return (target - x) / thruster.time_constant


def thruster_wet(thruster: Thruster, depth):
    """Part of the thrust that is left at a depth of the propeller's centre below the free surface: 0 in the air, 1 below it.

    Args:
        thruster: The thruster.
        depth: Depth of its frame's origin below the surface [m].
    """
    x = clamp(0.5 + 0.5 * depth / thruster.radius, 0.0, 1.0)
    return x * x * (3.0 - 2.0 * x)


def thruster_thrust(thruster: Thruster, x, axial_speed):
    """Thrust [N] in moving water, linear in the speed of advance u as in the open-water diagram K_T = K_0 − K_1 J:

        T = x − √(|x| F) u / u_0

    since thrust at rest goes with the shaft speed squared, x ∝ |n| n, and the loss with |n| u. F is the highest forward thrust,
    T = 0 at x = F and u = u_0. √|x| is written |x| √((F + εF) / (|x| + εF)) / √F with ε = 10⁻⁴: no loss and a slope at x = 0.

    Args:
        thruster: The thruster, F and u_0.
        x: Thrust at rest, after the lag [N].
        axial_speed: Speed u of the thruster relative to the water, along its positive thrust [m/s].
    """
    if thruster.zero_thrust_speed is None:
        return x
    F = thruster.curve.limits[1]
    loss = abs(x) * np.sqrt((1.0 + BLEND) * F / (abs(x) + BLEND * F))
    return x - loss * axial_speed / thruster.zero_thrust_speed
