"""Leg servos: conversion of joint positions and rates to motor voltages or servo targets."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hydromechs.actuation import drives
from hydromechs.simulation import Simulation, Site
from hydromechs.spatial import clamp, maximum, where
from hydromechs.values import Array, Scalar, nearest


class JointServos:
    """Commands for joints that follow target positions and rates, with motors or servos.

    A servo receives target position and rate. A motor receives the no-load voltage of the target rate plus position feedback:

        V = K_e N (q̇_ref + ω (q_ref − q))

    A load torque τ causes the steady-state error R τ / (K_t K_e N² ω), which is small for a motor with low resistance R.

    Args:
        simulation: Simulation that contains the joints.
        names: Names of the joints.
        bandwidth: ω, bandwidth of the motor position loops [rad/s].
    """

    def __init__(self, simulation: Simulation | Site, names: Sequence[str], bandwidth: float) -> None:
        driven = {c.joint: c for c in simulation.plant.components if isinstance(c, drives.Drive)}
        self.names, self.bandwidth = tuple(names), bandwidth
        for name in names:
            if name not in driven:
                raise ValueError(f"joint {name!r} is not driven{nearest(name, driven)}; add drives.Motor or drives.Servo")
            if not isinstance(driven[name], drives.Motor | drives.Servo):
                kind = type(driven[name]).__name__
                raise ValueError(f"joint {name!r} has the drive {kind}; use drives.Motor or drives.Servo for legs")
        motors = [driven[name] for name in names]
        self._volts = [
            m.gear_ratio * (m.torque_constant if m.back_emf is None else m.back_emf) if isinstance(m, drives.Motor) else None
            for m in motors
        ]

    @property
    def commanded(self) -> tuple[str, ...]:
        """Names of the commands and settings of the drives."""
        pairs = zip(self.names, self._volts, strict=True)
        return tuple(x for name, volts in pairs for x in ((name, f"{name}.rate", f"{name}.at") if volts is None else (name,)))

    def commands(self, t: Scalar, at: Array, position: Array, rate: Array) -> dict[str, Scalar]:
        """Return drive commands for angles `at`, target positions [rad] and target rates [rad/s], shape (n,) each."""
        wanted = rate + self.bandwidth * (position - at)
        out: dict[str, Scalar] = {}
        for k, (name, volts) in enumerate(zip(self.names, self._volts, strict=True)):
            if volts is None:
                out |= {name: position[k], f"{name}.rate": rate[k], f"{name}.at": t}
            else:
                out[name] = volts * wanted[k]
        return out


def smooth(s: Scalar) -> Scalar:
    """Return 10 s³ − 15 s⁴ + 6 s⁵ with s clamped to [0, 1]."""
    s = clamp(s, 0.0, 1.0)
    return s * s * s * (10.0 + s * (-15.0 + 6.0 * s))


def select(condition: Any, a: Any, b: Any) -> Array:
    """Return `a` where the condition holds, else `b`, elementwise with broadcasting, for numbers or symbols."""
    parts = np.broadcast_arrays(np.asarray(condition), np.asarray(a), np.asarray(b))
    return np.array([where(*x) for x in zip(*(p.flat for p in parts), strict=True)]).reshape(parts[0].shape)


def first_largest(values: Sequence[Scalar] | Array) -> tuple[list[Scalar], Scalar]:
    """Return a list with 1 at the first maximum and 0 elsewhere, and the maximum."""
    largest = values[0]
    for x in values[1:]:
        largest = maximum(largest, x)
    free, out = 1.0, []
    for x in values:
        out.append(where(x >= largest, free, 0.0))
        free = where(x >= largest, 0.0, free)
    return out, largest


def pick(chosen: Sequence[Scalar], arrays: Sequence[Array]) -> Array:
    """Return the array whose entry in `chosen` is 1; the other entries are 0."""
    out = np.asarray(arrays[0])
    for c, x in zip(chosen[1:], arrays[1:], strict=True):
        out = select(c != 0.0, x, out)
    return out
