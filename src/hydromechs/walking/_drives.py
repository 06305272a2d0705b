"""Joint servos of legs: positions and rates become voltages of direct-current motors, or targets of servos."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hydromechs.actuation import drives
from hydromechs.simulation import Simulation
from hydromechs.values import Array, nearest


class JointServos:
    """Makes joints follow positions and rates, whatever drives them.

    A servo is told both. A motor gets the voltage at which it would turn, without load, at the wanted rate and a part of the
    error per second,

        V = K_e N (q̇_ref + ω (q_ref − q))

    so that a load torque τ leaves the error R τ / (K_t K_e N² ω), which its resistance makes small.

    Args:
        simulation: The simulation that they are in.
        names: Names of the joints.
        bandwidth: ω, of the position loops of motors [1/s].
    """

    def __init__(self, simulation: Simulation, names: Sequence[str], bandwidth: float) -> None:
        driven = {c.joint: c for c in simulation.plant.components if isinstance(c, drives.Drive)}
        self.names, self.bandwidth = tuple(names), bandwidth
        for name in names:
            if name not in driven:
                raise ValueError(f"joint {name!r} is not driven{nearest(name, driven)}; give it a motor or a servo")
            if not isinstance(driven[name], drives.Motor | drives.Servo):
                kind = type(driven[name]).__name__
                raise ValueError(f"joint {name!r} has the drive {kind}; legs are moved by drives.Motor or drives.Servo")
        motors = [driven[name] for name in names]
        self._volts = [
            m.gear_ratio * (m.torque_constant if m.back_emf is None else m.back_emf) if isinstance(m, drives.Motor) else None
            for m in motors
        ]

    def commands(self, t: float, at: Array, position: Array, rate: Array) -> dict[str, float]:
        """Commands of all joints.

        Args:
            at: Where the joints are [rad], shape (n,).
            position: Where they should be [rad], shape (n,).
            rate: How fast they should move [rad/s], shape (n,).
        """
        wanted = rate + self.bandwidth * (position - at)
        out: dict[str, float] = {}
        for k, (name, volts) in enumerate(zip(self.names, self._volts, strict=True)):
            if volts is None:
                out |= {name: float(position[k]), f"{name}.rate": float(rate[k]), f"{name}.at": t}
            else:
                out[name] = volts * float(wanted[k])
        return out


def smooth(s: Array) -> Array:
    """10 s³ − 15 s⁴ + 6 s⁵ between 0 and 1, held beyond."""
    s = np.clip(s, 0.0, 1.0)
    return np.asarray(s * s * s * (10.0 + s * (-15.0 + 6.0 * s)))
