"""A brushed direct-current motor with a gearbox."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from hydromechs.model.component import FastMode, mode_of
from hydromechs.spatial import where
from hydromechs.values import Bound, Limit, NotNegative, Positive, Scalar, check_fields, is_zero

from ._drive import Drive, bounded


@dataclass(frozen=True, slots=True, kw_only=True)
class Motor(Drive):
    """Brushed direct-current motor with a gearbox; the command is the voltage [V]."""

    unit = "V"

    resistance: Positive
    """Resistance R of the winding and its driver [Ω]."""
    torque_constant: Positive
    """Torque of the rotor per current K_t [N·m/A]."""
    gear_ratio: Positive = 1.0
    """Gear ratio N: turns of the rotor per turn of the joint [-], or per metre [rad/m]."""
    voltage_limit: Limit = math.inf
    """Maximum voltage in either direction [V]."""
    inductance: NotNegative = 0.0
    """Inductance L of the winding [H]; 0 for a current without lag, which is not a state."""
    back_emf: NotNegative | None = None
    """Voltage per speed of the rotor K_e [V·s/rad]; if omitted, equal to the torque constant, as for a lossless motor."""
    rotor_inertia: NotNegative = 0.0
    """Inertia of the rotor and the gears on its shaft J [kg·m²]; the joint feels N² J."""
    efficiency: Annotated[float, Bound(above=0.0, most=1.0, hint="85 % is 0.85")] = 1.0
    """Efficiency η of the gearbox [-], for power in both directions."""
    efficiency_speed: Positive = 0.02
    """Joint speed over which the gearbox's loss changes sign [rad/s]; used only if the efficiency is below 1."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.back_emf is None:
            object.__setattr__(self, "back_emf", self.torque_constant)

    @property
    def state_names(self) -> tuple[str, ...]:
        """The current [A], if there is an inductance."""
        return () if is_zero(self.inductance) else ("current",)

    @property
    def limits(self) -> tuple[float, float]:
        return -self.voltage_limit, self.voltage_limit

    @property
    def armature(self) -> float:
        """N² J [kg·m²]."""
        return self.gear_ratio * self.gear_ratio * self.rotor_inertia

    @property
    def _emf_constant(self) -> float:
        """K_e [V·s/rad]."""
        return self.torque_constant if self.back_emf is None else self.back_emf

    def _voltage_left(self, command: Scalar, qd: Scalar) -> Scalar:
        """Voltage less the back e.m.f. V − K_e N q̇ [V]."""
        return bounded(command, *self.limits) - self._emf_constant * self.gear_ratio * qd

    def force(self, command: Scalar, q: Scalar, qd: Scalar, x: Sequence[Scalar]) -> Scalar:
        """τ = N K_t i η^σ, with i the state, or (V − K_e N q̇)/R without inductance.

        σ = 1 where the motor drives the joint and −1 where the joint drives the motor, so that the gearbox always dissipates
        power. Its sign changes smoothly, σ = sgn(i) tanh(q̇/v): at rest nothing is dissipated, as required for a passive and
        continuous force.
        """
        i = self._voltage_left(command, qd) / self.resistance if is_zero(self.inductance) else x[0]
        tau = self.gear_ratio * self.torque_constant * i
        if self.efficiency == 1.0:
            return tau
        sigma = where(i >= 0.0, 1.0, -1.0) * np.tanh(qd / self.efficiency_speed)
        return tau * np.exp(math.log(self.efficiency) * sigma)

    def rates(self, command: Scalar, q: Scalar, qd: Scalar, x: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """di/dt = (V − K_e N q̇ − R i) / L."""
        if is_zero(self.inductance):
            return ()
        return ((self._voltage_left(command, qd) - self.resistance * x[0]) / self.inductance,)

    def joint_modes(self, mobility: float) -> tuple[FastMode, ...]:
        if self.inductance:
            return (FastMode(f"current of the motor of joint {self.joint!r}", 0.0, self.resistance / self.inductance),)
        c = self.gear_ratio * self.gear_ratio * self.torque_constant * self._emf_constant / self.resistance
        return (mode_of(f"motor of joint {self.joint!r}", 0.0, c, mobility),)
