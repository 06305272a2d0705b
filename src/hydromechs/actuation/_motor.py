"""Drives with internal states: a brushed DC motor with a gearbox, and a hydraulic actuator with a valve."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from hydromechs.model.component import FastMode, mode_of
from hydromechs.spatial import clamp, where
from hydromechs.values import Bound, Checked, Limit, NotNegative, Positive, Scalar, check_fields, is_zero

from ._drive import Drive, bounded


@dataclass(frozen=True, slots=True, kw_only=True)
class Motor(Drive):
    """Brushed DC motor with a gearbox; the command is the voltage [V]."""

    unit = "V"

    resistance: Positive
    """Resistance R of the winding and the motor driver [Ω]."""
    torque_constant: Positive
    """Torque constant K_t: rotor torque per current [N·m/A]."""
    gear_ratio: Positive = 1.0
    """Gear ratio N: rotor angle per joint angle, or per displacement of a prismatic joint [rad/m]."""
    voltage_limit: Limit = math.inf
    """Maximum voltage in either direction [V]."""
    inductance: NotNegative = 0.0
    """Inductance L of the winding [H]; with 0, the current has no lag and is not a state."""
    back_emf: NotNegative | None = None
    """Back-EMF constant K_e: voltage per rotor speed [V·s/rad]. Defaults to the torque constant, as for a lossless motor."""
    rotor_inertia: NotNegative = 0.0
    """Inertia J of the rotor and the gears on its shaft [kg·m²]; the inertia reflected to the joint is N² J."""
    efficiency: Annotated[float, Bound(above=0.0, most=1.0, hint="85 % is 0.85")] = 1.0
    """Efficiency η of the gearbox for power in both directions [-], above 0 and at most 1."""
    efficiency_speed: Positive = 0.02
    """Joint speed over which the gearbox loss changes sign [rad/s]; used only if the efficiency is below 1."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.back_emf is None:
            object.__setattr__(self, "back_emf", self.torque_constant)

    @property
    def state_names(self) -> tuple[str, ...]:
        """Name of the current [A] for nonzero inductance; otherwise empty."""
        return () if is_zero(self.inductance) else ("current",)

    @property
    def limits(self) -> tuple[float, float]:
        return -self.voltage_limit, self.voltage_limit

    @property
    def armature(self) -> float:
        """Rotor inertia reflected to the joint, N² J [kg·m²]."""
        return self.gear_ratio * self.gear_ratio * self.rotor_inertia

    @property
    def _emf_constant(self) -> float:
        """Back-EMF constant K_e [V·s/rad]."""
        return self.torque_constant if self.back_emf is None else self.back_emf

    def _voltage_left(self, command: Scalar, qd: Scalar) -> Scalar:
        """Return the voltage minus the back EMF, V − K_e N q̇ [V]."""
        return bounded(command, *self.limits) - self._emf_constant * self.gear_ratio * qd

    def force(self, command: Scalar, q: Scalar, qd: Scalar, x: Sequence[Scalar]) -> Scalar:
        """Return the torque τ = N K_t i η^σ, with the current i from the state, or i = (V − K_e N q̇)/R without inductance.

        σ = 1 if the motor drives the joint and −1 if the joint drives the motor, so that the gearbox always dissipates
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
        """Return the rate of the current, di/dt = (V − K_e N q̇ − R i) / L [A/s]."""
        if is_zero(self.inductance):
            return ()
        return ((self._voltage_left(command, qd) - self.resistance * x[0]) / self.inductance,)

    def joint_modes(self, mobility: float) -> tuple[FastMode, ...]:
        if self.inductance:
            return (FastMode(f"current of the motor of joint {self.joint!r}", 0.0, self.resistance / self.inductance),)
        c = self.gear_ratio * self.gear_ratio * self.torque_constant * self._emf_constant / self.resistance
        return (mode_of(f"motor of joint {self.joint!r}", 0.0, c, mobility),)


LAMINAR = 1e-3
"""Fraction of the supply pressure below which the flow through a valve is linear in the pressure (laminar)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hydraulic(Checked, Drive):
    """Symmetric hydraulic actuator with a four-way valve; the command is the valve opening, −1 to 1."""

    unit = "1"

    supply_pressure: Positive
    """Supply pressure p_s relative to the return pressure [Pa]."""
    displacement: Positive
    """Displacement D: volume per angle [m³/rad], or piston area of a prismatic joint [m²]."""
    flow_coefficient: Positive
    """Flow coefficient C of the open valve [m³/(s·√Pa)]; the flow without load is C √p_s."""
    bulk_modulus: Positive
    """Effective bulk modulus β of the oil in its hoses [Pa]."""
    chamber_volume: Positive
    """Total volume V of both chambers with their hoses [m³]."""
    leakage: NotNegative = 0.0
    """Leakage coefficient c between the chambers: flow per pressure [m³/(s·Pa)]."""
    spool_time_constant: NotNegative = 0.0
    """Time constant of the valve spool [s]; 0 for no lag."""

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the valve opening, if the spool has a lag, and of the load pressure [Pa]."""
        return ("pressure",) if is_zero(self.spool_time_constant) else ("opening", "pressure")

    @property
    def limits(self) -> tuple[float, float]:
        return -1.0, 1.0

    def force(self, command: Scalar, q: Scalar, qd: Scalar, x: Sequence[Scalar]) -> Scalar:
        """Return the torque τ = D p, with the load pressure p as the last state."""
        return self.displacement * x[-1]

    def rates(self, command: Scalar, q: Scalar, qd: Scalar, x: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """Return the rates of the valve opening y and the load pressure p, from compression of the oil:

            dp/dt = 4β/V (Q − D q̇ − c p),     Q = C y r(p_s − sgn(y) p),     dy/dt = (command − y)/T

        The function r(Δ) is sgn(Δ) √|Δ|, but linear (laminar) within a thousandth of p_s, and exact at Δ = p_s. A load that
        raises the pressure above the supply pressure pushes oil back through the open valve. The valve never supplies energy.
        """
        y, p = (clamp(command, -1.0, 1.0), x[0]) if is_zero(self.spool_time_constant) else x
        ps = self.supply_pressure
        left = ps - where(y >= 0.0, 1.0, -1.0) * p
        Q = self.flow_coefficient * y * left * np.sqrt((1.0 + LAMINAR) / (abs(left) + LAMINAR * ps))
        rate = 4.0 * self.bulk_modulus / self.chamber_volume * (Q - self.displacement * qd - self.leakage * p)
        if is_zero(self.spool_time_constant):
            return (rate,)
        return (clamp(command, -1.0, 1.0) - y) / self.spool_time_constant, rate

    def joint_modes(self, mobility: float) -> tuple[FastMode, ...]:
        k = 4.0 * self.bulk_modulus / self.chamber_volume * self.displacement * self.displacement
        out: tuple[FastMode, ...] = (
            mode_of(f"oil of the hydraulic drive of joint {self.joint!r}", k, 0.0, mobility, internal=True),
        )
        if self.spool_time_constant:
            out += (FastMode(f"valve of joint {self.joint!r}", 0.0, 1.0 / self.spool_time_constant),)
        return out
