"""Equations of the joint drives, of joint friction and of joint stops; all of them can be traced.

A drive has a command, internal states x (a sequence, named by `drive_states`) and gives a force on its joint. Units are those
of a revolute joint, see `drives`.
"""

from __future__ import annotations

import math
from functools import singledispatch
from typing import NamedTuple

import numpy as np

from hydromechs.spatial import clamp, maximum, stick_slip, where

from . import drives

__all__ = [
    "FrictionForce",
    "drive_armature",
    "drive_force",
    "drive_limits",
    "drive_rate",
    "drive_saturated",
    "drive_states",
    "friction_force",
    "friction_states",
    "stop_energy",
    "stop_force",
    "stop_loss",
]

LAMINAR = 1e-3
"""Part of the supply pressure below which the flow through a valve is linear in the pressure."""


def _bounded(x, lower, upper):
    """`x` between two constants, at no cost where they are infinite."""
    return x if math.isinf(lower) and math.isinf(upper) else clamp(x, lower, upper)


def _outside(x, lower, upper):
    """1 where `x` is at or beyond one of two constants, else 0."""
    return 0.0 if math.isinf(lower) and math.isinf(upper) else where(x <= lower, 1.0, where(x >= upper, 1.0, 0.0))


@singledispatch
def drive_states(drive) -> tuple[str, ...]:
    """Names of the internal states of a `drive`."""
    raise TypeError(f"{drive!r} is no drive of hydromechs.actuation.drives")


@singledispatch
def drive_limits(drive) -> tuple[float, float]:
    """Lowest and highest command of a `drive`; commands beyond are cut there."""
    raise TypeError(f"{drive!r} is no drive of hydromechs.actuation.drives")


@singledispatch
def drive_force(drive, command, q, qd, x):
    """Torque of a drive on its joint [N·m].

    Args:
        drive: A drive of `hydromechs.actuation.drives`.
        command: Command, in the drive's unit.
        q: Joint position [rad].
        qd: Joint speed [rad/s].
        x: Internal states as `drive_states` names them, shape (n,).
    """
    raise TypeError(f"{drive!r} is no drive of hydromechs.actuation.drives")


@singledispatch
def drive_rate(drive, command, q, qd, x) -> tuple:
    """Rates of the internal states of a drive, as many as `drive_states` names.

    Args:
        drive: A drive of `hydromechs.actuation.drives`.
        command: Command, in the drive's unit.
        q: Joint position [rad].
        qd: Joint speed [rad/s].
        x: Internal states, shape (n,).
    """
    return ()


@singledispatch
def drive_armature(drive) -> float:
    """Inertia of a `drive` that its joint feels, to be added to the joint's own [kg·m²]."""
    return 0.0


@singledispatch
def drive_saturated(drive, command, q, qd, x):
    """1 where a drive is at a limit of its command or of its torque, else 0.

    Args:
        drive: A drive of `hydromechs.actuation.drives`.
        command: Command, in the drive's unit.
        q: Joint position [rad].
        qd: Joint speed [rad/s].
        x: Internal states, shape (n,).
    """
    return _outside(command, *drive_limits(drive))


@drive_states.register(drives.Torque)
@drive_states.register(drives.Servo)
def _(drive) -> tuple[str, ...]:
    return ()


@drive_limits.register
def _(drive: drives.Torque) -> tuple[float, float]:
    return -drive.limit, drive.limit


@drive_force.register
def _(drive: drives.Torque, command, q, qd, x):
    """τ = the command, within the limit."""
    return _bounded(command, -drive.limit, drive.limit)


@drive_limits.register
def _(drive: drives.Servo) -> tuple[float, float]:
    return -math.inf, math.inf


@drive_force.register
def _(drive: drives.Servo, command, q, qd, x):
    """τ = k (command − q) − d q̇, within the limit."""
    return _bounded(drive.stiffness * (command - q) - drive.damping * qd, -drive.limit, drive.limit)


@drive_saturated.register
def _(drive: drives.Servo, command, q, qd, x):
    return _outside(drive_force(drive, command, q, qd, x), -drive.limit, drive.limit)


@drive_states.register
def _(drive: drives.Motor) -> tuple[str, ...]:
    return ("current",) if drive.inductance else ()


@drive_limits.register
def _(drive: drives.Motor) -> tuple[float, float]:
    return -drive.voltage_limit, drive.voltage_limit


@drive_armature.register
def _(drive: drives.Motor) -> float:
    """N² J."""
    return drive.gear_ratio**2 * drive.rotor_inertia


def _voltage_left(drive: drives.Motor, command, qd):
    """Voltage less the back e.m.f. V − K_e N q̇ [V]."""
    return _bounded(command, *drive_limits(drive)) - drive.back_emf * drive.gear_ratio * qd


@drive_force.register
def _(drive: drives.Motor, command, q, qd, x):
    """τ = N K_t i η^σ, with i the state, or (V − K_e N q̇)/R without inductance.

    σ = 1 where the motor drives the joint and −1 where the joint drives the motor, so that the gearbox always loses. Its sign
    changes smoothly, σ = sgn(i) tanh(q̇/v): at rest nothing is lost, as must be for a force that is passive and continuous.
    """
    i = x[0] if drive.inductance else _voltage_left(drive, command, qd) / drive.resistance
    tau = drive.gear_ratio * drive.torque_constant * i
    if drive.efficiency == 1.0:
        return tau
    sigma = where(i >= 0.0, 1.0, -1.0) * np.tanh(qd / drive.efficiency_speed)
    return tau * np.exp(math.log(drive.efficiency) * sigma)


@drive_rate.register
def _(drive: drives.Motor, command, q, qd, x) -> tuple:
    """di/dt = (V − K_e N q̇ − R i) / L."""
    if not drive.inductance:
        return ()
    return ((_voltage_left(drive, command, qd) - drive.resistance * x[0]) / drive.inductance,)


@drive_states.register
def _(drive: drives.Hydraulic) -> tuple[str, ...]:
    return ("opening", "pressure") if drive.spool_time_constant else ("pressure",)


@drive_limits.register
def _(drive: drives.Hydraulic) -> tuple[float, float]:
    return -1.0, 1.0


@drive_force.register
def _(drive: drives.Hydraulic, command, q, qd, x):
    """τ = D p, with the load pressure p, the last state."""
    return drive.displacement * x[-1]


@drive_rate.register
def _(drive: drives.Hydraulic, command, q, qd, x) -> tuple:
    """Oil into one chamber and out of the other compresses what the joint does not take:

        dp/dt = 4β/V (Q − D q̇ − c p),     Q = C y r(p_s − sgn(y) p),     dy/dt = (command − y)/T

    with the opening y of the valve. r(Δ) is sgn(Δ) √|Δ|, made linear (laminar) within a thousandth of p_s and exact at Δ = p_s.
    A load that drives the pressure above the supply's pushes oil back through the open valve. The valve never gives energy.
    """
    y, p = x if drive.spool_time_constant else (clamp(command, -1.0, 1.0), x[0])
    ps = drive.supply_pressure
    left = ps - where(y >= 0.0, 1.0, -1.0) * p
    Q = drive.flow_coefficient * y * left * np.sqrt((1.0 + LAMINAR) / (abs(left) + LAMINAR * ps))
    rate = 4.0 * drive.bulk_modulus / drive.chamber_volume * (Q - drive.displacement * qd - drive.leakage * p)
    if not drive.spool_time_constant:
        return (rate,)
    return (clamp(command, -1.0, 1.0) - y) / drive.spool_time_constant, rate


class FrictionForce(NamedTuple):
    """Friction of a joint, with tau · q̇ = −loss − d(stored)/dt."""

    tau: object
    """Torque on the joint [N·m]."""
    s_rate: object
    """Rate of the deflection [rad/s]."""
    loss: object
    """Power that is lost, never negative [W]."""
    stored: object
    """Elastic energy of the stick phase [J]."""


def friction_states(friction: drives.Friction) -> tuple[str, ...]:
    """Names of the internal states of a joint's `friction`: the deflection, or none without Coulomb friction."""
    return ("deflection",) if friction.coulomb else ()


def friction_force(friction: drives.Friction, qd, s) -> FrictionForce:
    """Viscous and Coulomb friction: τ = −d q̇ − f, f from `spatial.stick_slip`.

    Below the Coulomb torque it holds with no creep; above, it slips with |f| equal to it.

    Args:
        friction: The friction.
        qd: Joint speed [rad/s].
        s: Deflection of the stick phase, its state [rad]; without effect where there is no Coulomb friction.
    """
    viscous = friction.viscous * qd
    if not friction.coulomb:
        return FrictionForce(-viscous, 0.0, viscous * qd, 0.0)
    k = friction.coulomb / friction.stick_deflection
    c = k * friction.relaxation
    (f,), (rate,) = stick_slip(k, c, friction.coulomb, [s], [qd])
    return FrictionForce(-viscous - f, rate, viscous * qd + c * rate * rate + f * (qd - rate), 0.5 * k * s * s)


def _beyond(stops: drives.Stops, q):
    """(depth beyond the limit, sense of the way out) of each stop that there is."""
    out = []
    if math.isfinite(stops.lower):
        out.append((maximum(stops.lower - q, 0.0), 1.0))
    if math.isfinite(stops.upper):
        out.append((maximum(q - stops.upper, 0.0), -1.0))
    return out


def _push(stops: drives.Stops, depth, depth_rate):
    """max(0, k d + c ḋ) while d > 0."""
    return where(depth > 0.0, maximum(stops.stiffness * depth + stops.damping * depth_rate, 0.0), 0.0)


def stop_force(stops: drives.Stops, q, qd):
    """Torque of the stops on the joint [N·m]: max(0, k d + c ḋ) back into the travel while the depth d > 0.

    Args:
        stops: The stops.
        q: Joint position [rad].
        qd: Joint speed [rad/s].
    """
    return sum((sense * _push(stops, d, -sense * qd) for d, sense in _beyond(stops, q)), 0.0)


def stop_energy(stops: drives.Stops, q):
    """Elastic energy of the stops ½ k d² [J].

    Args:
        stops: The stops.
        q: Joint position [rad].
    """
    return sum((0.5 * stops.stiffness * d * d for d, _ in _beyond(stops, q)), 0.0)


def stop_loss(stops: drives.Stops, q, qd):
    """Power that the stops lose [W], never negative: (F − k d) ḋ, so that τ q̇ = −loss − d(energy)/dt.

    It is c ḋ² while they push; where the joint leaves faster than they follow, the spring's energy is lost.

    Args:
        stops: The stops.
        q: Joint position [rad].
        qd: Joint speed [rad/s].
    """
    return sum(((_push(stops, d, -sense * qd) - stops.stiffness * d) * (-sense * qd) for d, sense in _beyond(stops, q)), 0.0)
