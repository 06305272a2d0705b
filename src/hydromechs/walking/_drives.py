"""Joint servos of legs: convert positions and rates to voltages of direct-current motors, or targets of servos."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hydromechs.actuation import drives
from hydromechs.simulation import Simulation, Site
from hydromechs.spatial import clamp, maximum, where
from hydromechs.values import Array, Scalar, nearest


class JointServos:
    """Commands for joints that follow target positions and rates, with any type of drive.

    A servo receives both. A motor gets its no-load voltage for the target rate plus a fraction of the error per second,

        V = K_e N (q̇_ref + ω (q_ref − q))

    so that a load torque τ leaves the error R τ / (K_t K_e N² ω), which its resistance makes small.

    Args:
        simulation: Simulation that contains the joints.
        names: Names of the joints.
        bandwidth: ω, of the position loops of motors [1/s].
    """

    def __init__(self, simulation: Simulation | Site, names: Sequence[str], bandwidth: float) -> None:
        driven = {c.joint: c for c in simulation.plant.components if isinstance(c, drives.Drive)}
        self.names, self.bandwidth = tuple(names), bandwidth
        for name in names:
            if name not in driven:
                raise ValueError(f"joint {name!r} is not driven{nearest(name, driven)}; add a motor or a servo")
            if not isinstance(driven[name], drives.Motor | drives.Servo):
                kind = type(driven[name]).__name__
                raise ValueError(f"joint {name!r} has the drive {kind}; legs need drives.Motor or drives.Servo")
        motors = [driven[name] for name in names]
        self._volts = [
            m.gear_ratio * (m.torque_constant if m.back_emf is None else m.back_emf) if isinstance(m, drives.Motor) else None
            for m in motors
        ]

    @property
    def commanded(self) -> tuple[str, ...]:
        """Names of its commands and settings."""
        pairs = zip(self.names, self._volts, strict=True)
        return tuple(x for name, volts in pairs for x in ((name, f"{name}.rate", f"{name}.at") if volts is None else (name,)))

    def commands(self, t: Scalar, at: Array, position: Array, rate: Array) -> dict[str, Scalar]:
        """Return commands of joints `at` angles (n,) [rad] for target positions (n,) [rad] and rates (n,) [rad/s]."""
        wanted = rate + self.bandwidth * (position - at)
        out: dict[str, Scalar] = {}
        for k, (name, volts) in enumerate(zip(self.names, self._volts, strict=True)):
            if volts is None:
                out |= {name: position[k], f"{name}.rate": rate[k], f"{name}.at": t}
            else:
                out[name] = volts * wanted[k]
        return out


def smooth(s: Scalar) -> Scalar:
    """Return 10 s³ − 15 s⁴ + 6 s⁵ between 0 and 1, constant beyond."""
    s = clamp(s, 0.0, 1.0)
    return s * s * s * (10.0 + s * (-15.0 + 6.0 * s))


def select(condition: Any, a: Any, b: Any) -> Array:
    """Return `a` where a condition holds, else `b`, entry by entry, numbers or symbols; all are broadcast together."""
    parts = np.broadcast_arrays(np.asarray(condition), np.asarray(a), np.asarray(b))
    return np.array([where(*x) for x in zip(*(p.flat for p in parts), strict=True)]).reshape(parts[0].shape)


def first_largest(values: Sequence[Scalar] | Array) -> tuple[list[Scalar], Scalar]:
    """Return for each number 1 if it is the first maximum, else 0; and the maximum."""
    largest = values[0]
    for x in values[1:]:
        largest = maximum(largest, x)
    free, out = 1.0, []
    for x in values:
        out.append(where(x >= largest, free, 0.0))
        free = where(x >= largest, 0.0, free)
    return out, largest


def pick(chosen: Sequence[Scalar], arrays: Sequence[Array]) -> Array:
    """Return the array whose entry in `chosen` is 1, the others being 0."""
    out = np.asarray(arrays[0])
    for c, x in zip(chosen[1:], arrays[1:], strict=True):
        out = select(c != 0.0, x, out)
    return out
