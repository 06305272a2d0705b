"""Thrusters: force curve, lag, loss due to axial inflow, line of action."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from hydromechs.model import Model, Place
from hydromechs.model.component import Action, Component, FastMode, FrameNow, Mobility, Now, Order, Slot, Values
from hydromechs.spatial import clamp
from hydromechs.values import NotNegative, Positive, Scalar, check_fields, is_zero

from ._curves import ForceCurve, ideal_curve
from ._drive import outside
from ._joints import ACTUATOR_OUTPUTS

BLEND = 1e-4
"""Fraction of the maximum thrust below which shaft speed is linear in thrust, so that the loss has finite slope."""
WIDE = 100.0
"""Maximum thrust in the search, relative to the maximum bollard thrust; actual limits depend on the inflow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thruster(Component):
    """Propeller on a named frame, with thrust along the x axis of the frame."""

    kind = "actuator"
    cause = "thrusters"
    label = "thrust"
    outputs = ACTUATOR_OUTPUTS
    refers = MappingProxyType({"frame": "frame or body"})

    name: str
    """Name, unique among actuators."""
    frame: str
    """Frame or body of the model; positive thrust acts at its origin, along its x axis."""
    curve: ForceCurve
    """Bollard thrust as a function of the command, with saturation and dead band."""
    time_constant: NotNegative = 0.0
    """Time constant of the force after a change of the command [s]; 0 for no lag."""
    zero_thrust_speed: Positive | None = None
    """Speed through the water at which the maximum forward thrust is zero [m/s]. Defaults to no loss due to inflow."""
    radius: Positive = 0.1
    """Radius of the propeller, over which the thrust decreases to zero when the propeller leaves the water [m]."""

    def __post_init__(self) -> None:
        for name in ("name", "frame"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name):
                raise ValueError(f"Thruster.{name} is {getattr(self, name)!r}, must be a non-empty text")
        if not isinstance(self.curve, ForceCurve):
            raise ValueError(f"Thruster.curve is {self.curve!r}, must be a ForceCurve; see linear_curve and t200_curve")
        check_fields(self)
        if self.zero_thrust_speed is not None and self.curve.limits[1] <= 0.0:
            raise ValueError(
                f"Thruster.zero_thrust_speed is {self.zero_thrust_speed:.6g} m/s, but the curve has no forward thrust; "
                "omit it, or reverse the frame"
            )

    def order(self, model: Model) -> tuple[int, int]:
        return Order.THRUSTER, 0

    def check(self, model: Model) -> None:
        self.place(model)

    def place(self, model: Model) -> Place:
        """Return the location of the thruster frame in a model; positive thrust is along the x axis."""
        try:
            return model.locate(self.frame)
        except KeyError as error:
            raise ValueError(f"thruster {self.name!r}: {error.args[0]}") from None

    def states(self, model: Model) -> list[Slot]:
        """Return the internal state: bollard thrust after the lag [N]; empty without lag."""
        return [] if is_zero(self.time_constant) else [Slot("thrust", unit="N")]

    def inputs(self, model: Model) -> list[Slot]:
        """Return the command, in the unit of the curve; the initial command gives zero thrust."""
        commands = self.curve.commands
        return [Slot("", self.curve.inverse(0.0), self.curve.unit, limits=(commands[0], commands[-1]))]

    def act(self, now: Now, z: Values, u: Values) -> Action:
        """Return the thrust along x: force of the curve after the lag, minus the loss due to inflow; zero in air."""
        frame, command = now.frame(self.frame), u[""]
        d = frame.R_B[:, 0]
        speed = d @ frame.v_B
        target = self.curve.steady(command)
        x = target if is_zero(self.time_constant) else z["thrust"]
        T = self.thrust(x, self.advance(frame))
        depth = frame.depth
        if depth is not None:  # a propeller has no thrust in air
            T = T * self.wet(depth)
        return Action(
            forces=[frame.force_B(T * d)],
            power=T * speed,
            rates={} if is_zero(self.time_constant) else {"thrust": self.rate(x, target)},
            record={"actuator_force": T, "saturated": outside(command, self.curve.commands[0], self.curve.commands[-1])},
        )

    def as_force(self, given: bool) -> Thruster:
        """Return the thrust without lag: bollard thrust for a given command, otherwise limits in the water."""
        low, high = self.curve.limits
        if given:
            return replace(self, curve=ideal_curve(max(high, 0.0), max(-low, 0.0)), time_constant=0.0)
        wide = WIDE * max(high, -low)
        return replace(self, curve=ideal_curve(wide, wide), time_constant=0.0, zero_thrust_speed=None)

    def reach(self, speed: float) -> tuple[float, float]:
        """Return the minimum and maximum thrust [N] at a speed of advance [m/s], for rotation in the direction of thrust."""
        low, high = self.curve.limits
        wide = WIDE * max(high, -low)
        least, most = float(self.thrust(low, speed)), float(self.thrust(high, speed))
        least = min(least, 0.0) if low <= 0.0 else least
        most = max(most, 0.0) if high >= 0.0 else most
        return float(np.clip(least, -wide, wide)), float(np.clip(max(least, most), -wide, wide))

    def modes(self, model: Model, mobility: Mobility) -> Sequence[FastMode]:
        return [FastMode(f"lag of thruster {self.name!r}", 0.0, 1.0 / self.time_constant)] if self.time_constant else []

    @staticmethod
    def advance(frame: FrameNow) -> Scalar:
        """Return the speed of the thruster frame relative to the water, in the direction of positive thrust [m/s]."""
        d = frame.R_B[:, 0]
        return d @ frame.v_B - d @ (frame.now.R_WB[frame.body].T @ frame.v_water)

    def rate(self, x: Scalar, target: Scalar) -> Scalar:
        """Return the rate of the lagged thrust, ẋ = (target − x) / T [N/s]; x and target are in [N]."""
        if is_zero(self.time_constant):
            raise ValueError(f"thruster {self.name!r} has no lag and therefore no state; use the target thrust")
        return (target - x) / self.time_constant

    def wet(self, depth: Scalar) -> Scalar:
        """Return the fraction of thrust at a depth of the propeller below the free surface [m]: 0 in air, 1 in water."""
        x = clamp(0.5 + 0.5 * depth / self.radius, 0.0, 1.0)
        return x * x * (3.0 - 2.0 * x)

    def thrust(self, x: Scalar, axial_speed: Scalar) -> Scalar:
        """Return the thrust in moving water [N], linear in the speed of advance u as in the diagram K_T = K_0 − K_1 J:

            T = x − √(|x| F) u / u_0

        Bollard thrust is proportional to the square of the shaft speed, x ∝ |n| n, and the loss is proportional to |n| u. F is
        the maximum forward thrust, and T = 0 at x = F and u = u_0. √|x| is approximated by |x| √((F + εF) / (|x| + εF)) / √F
        with ε = 10⁻⁴, so that the loss has a finite slope at x = 0.

        Args:
            x: Bollard thrust after the lag [N].
            axial_speed: Speed u of the thruster relative to the water, in the direction of positive thrust [m/s].
        """
        if self.zero_thrust_speed is None:
            return x
        F = self.curve.limits[1]
        loss = abs(x) * np.sqrt((1.0 + BLEND) * F / (abs(x) + BLEND * F))
        return x - loss * axial_speed / self.zero_thrust_speed

    def at_rest(self, thrust: float, axial_speed: float) -> float:
        """Return the bollard thrust x [N] that gives a thrust T in moving water, also beyond the limits of the curve.

        x has the sign of T. In opposing flow, T(x) decreases below 0 before it increases. The range T x < 0, in which the flow
        drives a slow propeller, is excluded, because the opposite rotation requires less bollard thrust.

        Args:
            thrust: Thrust T [N].
            axial_speed: Speed of the thruster relative to the water, in the direction of positive thrust [m/s].
        """
        if self.zero_thrust_speed is None or thrust == 0.0:
            return thrust
        F, T, sign = self.curve.limits[1], abs(thrust), math.copysign(1.0, thrust)
        part = sign * axial_speed / self.zero_thrust_speed
        zero = (1.0 + BLEND) * F * max(part, 0.0) ** 2  # T rises from there on and reaches its value at or before 2 T + zero
        least = max(zero - BLEND * F, 0.0)

        def missing(x: float) -> float:
            return sign * float(self.thrust(sign * x, axial_speed)) - T

        if missing(least) >= 0.0:  # T is rounding of 0
            return sign * least
        from scipy.optimize import brentq  # slow to import, and rarely needed

        return sign * float(brentq(missing, least, 2.0 * T + zero, xtol=1e-300, rtol=1e-15))
