"""Control of torque-driven joints: feedback with gravity compensation, and computed torque."""

import abc
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hydromechs.actuation import drives
from hydromechs.equations import inverse_dynamics, mass_matrix, restoring_force
from hydromechs.model import Model
from hydromechs.simulation import Site, Tick, TracedBlock, Update
from hydromechs.values import Array, Limit, Positive, positive

from ._reference import JointTrajectory, Servos


class TorqueControl(TracedBlock):
    """Base of controllers that move torque-driven joints along waypoints.

    Args:
        waypoints: Mappings with a time "t" [s] and joint positions by name [rad or m]; all name the same joints.
        frequency: ω, natural frequency of the error [rad/s].
        damping: ζ, its damping ratio [-].
        integral: k; a larger value weakens the integral; infinite, the default, for none [-].
        period: Time between two commands [s].
    """

    def __init__(
        self,
        *,
        waypoints: Sequence[Mapping[str, Any]],
        frequency: Positive = 10.0,
        damping: Positive = 1.0,
        integral: Limit = np.inf,
        period: Positive = 0.002,
    ) -> None:
        motion = JointTrajectory(waypoints=waypoints, period=period)
        self.names, self.path, self.period = motion.names, motion.path, motion.period
        w, z = positive(frequency, "frequency"), positive(damping, "damping")
        if not integral > 0.0:
            raise ValueError(f"integral is {integral!r}, must be above 0; inf for none")
        self.gains = (w**2, 2.0 * z * w, w**3 / integral)
        self.first_memory = {"integral": np.zeros(len(self.names))}
        self.commanded = self.names

    @abc.abstractmethod
    def _torque(self, model: Model, dofs: Sequence[int], tick: Tick, wanted: Array) -> Array:
        """Return torques of the joints for wanted accelerations, in NumPy operations, shape (n,)."""

    def prepare(self, site: Site) -> None:
        self._servos = Servos(site, self.names, drives.Torque)
        self._dofs = [site.model.joint_part(name).v.start for name in self.names]
        self.design = {"gains": np.array(self.gains)}
        units = self._servos.units
        self.signals = {f"{kind}.{name}": units[name] for kind in ("reference", "error") for name in self.names}

    def update(self, tick: Tick) -> Update:
        position, rate, acceleration = self.path(tick.t)
        off, summed, gains = position - self._servos.positions(tick), tick.memory["integral"], tick.design["gains"]
        wanted = acceleration + gains[0] * off + gains[1] * (rate - tick.v[self._dofs]) + gains[2] * summed
        tau = self._torque(self.site.model, self._dofs, tick, wanted)
        return Update(
            dict(zip(self.names, tau, strict=True)),
            {"integral": summed + self.period * off},
            dict(zip(self.signals, np.concatenate([position, off]), strict=True)),
        )


class JointControl(TorqueControl):
    """Controller that moves torque-driven joints along waypoints by feedback in each joint.

        τ = m (q̈_ref + 2 ζ ω ė + ω² e + (ω³/k) ∫e dt) + g(q)

    m is the inertia of each joint in the model's initial configuration with all others held, g weight and buoyancy.
    Feedback handles coupling between joints, and drag. Its signals are those of `JointTrajectory`, its arguments those
    of `TorqueControl`.
    """

    def prepare(self, site: Site) -> None:
        super().prepare(site)
        M = np.array(mass_matrix(site.model, site.model.initial().q), dtype=float)
        self.design = {**self.design, "inertia": np.diag(M)[self._dofs]}

    def _torque(self, model: Model, dofs: Sequence[int], tick: Tick, wanted: Array) -> Array:
        return tick.design["inertia"] * wanted + restoring_force(model, tick.q)[dofs]


class ComputedTorque(TorqueControl):
    """Controller that moves torque-driven joints along waypoints by computed torque.

        τ = M(q) a + C(q, q̇) q̇ + D + g,     a = q̈_ref + 2 ζ ω ė + ω² e + (ω³/k) ∫e dt

    by inverse dynamics, so that the error obeys ë + 2 ζ ω ė + ω² e + (ω³/k) ∫e dt = 0 for any motion of the joints. All other
    parts, a vehicle too, are assumed to keep their velocity, and the water to be still; friction and rotors are
    ignored. Its signals are those of `JointTrajectory`, its arguments those of `TorqueControl`.
    """

    def _torque(self, model: Model, dofs: Sequence[int], tick: Tick, wanted: Array) -> Array:
        given = dict(zip(dofs, wanted, strict=True))
        return inverse_dynamics(model, tick.q, tick.v, np.array([given.get(i, 0.0) for i in range(model.nv)]))[dofs]
