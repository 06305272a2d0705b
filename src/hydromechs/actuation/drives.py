"""Drives, friction and stops of a joint with one degree of freedom. The data are here, the equations in `_drive_equations`.

Units are those of a revolute joint; for a prismatic one read N for N·m, m for rad.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ._values import convert, number

__all__ = ["Friction", "Hydraulic", "Motor", "Servo", "Stops", "Torque"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Torque:
    """Ideal source of torque; the command is the torque [N·m]."""

    limit: float = math.inf
    """Highest torque, either way [N·m]."""

    def __post_init__(self):
        convert(self, limit="limit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Servo:
    """Position servo, a spring and damper to the target; the command is the target position [rad]."""

    stiffness: float
    """Torque per position error [N·m/rad]."""
    damping: float
    """Torque per speed [N·m·s/rad]."""
    limit: float = math.inf
    """Highest torque, either way [N·m]."""

    def __post_init__(self):
        convert(self, not_negative="stiffness damping", limit="limit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Motor:
    """Brushed direct-current motor with a gearbox; the command is the voltage [V]."""

    resistance: float
    """Resistance R of the winding and its driver [Ω]."""
    torque_constant: float
    """Torque of the rotor per current K_t [N·m/A]."""
    gear_ratio: float = 1.0
    """Turns N of the rotor per turn of the joint; for a prismatic joint, radians of the rotor per metre."""
    voltage_limit: float = math.inf
    """Highest voltage, either way [V]."""
    inductance: float = 0.0
    """Inductance L of the winding [H]; 0: the current follows at once and is no state."""
    back_emf: float | None = None
    """Voltage per speed of the rotor K_e [V·s/rad]; None: equal to the torque constant, as physics has it without losses."""
    rotor_inertia: float = 0.0
    """Inertia of the rotor and the gears on its shaft J [kg·m²]; the joint feels N² J."""
    efficiency: float = 1.0
    """Part η of the power that the gearbox passes on, above 0 and at most 1; alike when the load drives the motor."""
    efficiency_speed: float = 0.02
    """Joint speed over which the gearbox's loss changes its sign [rad/s]; it matters only if the efficiency is below 1."""

    def __post_init__(self):
        convert(
            self,
            positive="resistance torque_constant gear_ratio efficiency efficiency_speed",
            not_negative="inductance rotor_inertia",
            limit="voltage_limit",
        )
        if self.back_emf is None:
            object.__setattr__(self, "back_emf", self.torque_constant)
        convert(self, not_negative="back_emf")
        if self.efficiency > 1.0:
            raise ValueError(f"Motor.efficiency is {self.efficiency:.6g}, must be at most 1; 85 % is 0.85")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hydraulic:
    """Symmetric hydraulic actuator behind a four-way valve; the command is the valve opening, −1 to 1."""

    supply_pressure: float
    """Pressure of the supply over the return p_s [Pa]."""
    displacement: float
    """Volume per angle D [m³/rad], or the piston area of a prismatic joint [m²]."""
    flow_coefficient: float
    """Flow of the open valve per root of the pressure C [m³/(s·√Pa)]: without load it passes C √p_s."""
    bulk_modulus: float
    """Bulk modulus of the oil β, with its hoses [Pa]."""
    chamber_volume: float
    """Volume of both chambers with their hoses together V [m³]."""
    leakage: float = 0.0
    """Flow from one chamber to the other per pressure c [m³/(s·Pa)]."""
    spool_time_constant: float = 0.0
    """Time constant of the valve's spool [s]; 0: the opening is the command."""

    def __post_init__(self):
        convert(
            self,
            positive="supply_pressure displacement flow_coefficient bulk_modulus chamber_volume",
            not_negative="leakage spool_time_constant",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Friction:
    """Viscous friction, and Coulomb friction with a stick phase."""

    viscous: float = 0.0
    """Torque per speed [N·m·s/rad]."""
    coulomb: float = 0.0
    """Torque at which it slips [N·m]; 0: no Coulomb friction, no state."""
    stick_deflection: float = 1e-3
    """Elastic deflection at which it slips [rad]: the stiffness of the stick phase is coulomb / stick_deflection."""
    relaxation: float = 0.005
    """Damping over stiffness of the stick phase [s]: the time in which the deflection settles while it slips."""

    def __post_init__(self):
        convert(self, positive="stick_deflection relaxation", not_negative="viscous coulomb")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stops:
    """Soft ends of the travel: a spring and a damper beyond each limit, which push back and never pull."""

    lower: float = -math.inf
    """Lowest free position [rad]; −inf: none."""
    upper: float = math.inf
    """Highest free position [rad]; inf: none."""
    stiffness: float
    """Torque per angle beyond the limit [N·m/rad]."""
    damping: float = 0.0
    """Torque per speed beyond the limit [N·m·s/rad]."""

    def __post_init__(self):
        convert(self, positive="stiffness", not_negative="damping")
        for name in ("lower", "upper"):
            object.__setattr__(self, name, number(getattr(self, name), f"Stops.{name}"))
        if not self.lower < self.upper:
            raise ValueError(f"Stops.lower is {self.lower:.6g}, must be below Stops.upper, {self.upper:.6g}; swap them?")
