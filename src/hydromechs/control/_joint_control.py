"""Control of torque-driven joints: feedback with weight fed forward, and computed torque."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hydromechs.actuation import drives
from hydromechs.compiler import compile_function
from hydromechs.equations import inverse_dynamics, mass_matrix, restoring_force
from hydromechs.model import Model, State
from hydromechs.simulation import Controller, Simulation
from hydromechs.values import Array, Limit, Positive, positive

from ._reference import JointTrajectory, Servos


class TorqueControl(Controller):
    """Leads torque-driven joints along waypoints; what they share that compute the torques in one way or another.

    Args:
        waypoints: As of `JointTrajectory`.
        frequency: ω, natural frequency of the error [rad/s].
        damping: ζ, its damping ratio [-].
        integral: k, of the integral's strength; larger is weaker; infinite for none [-].
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
        self.memory = np.zeros(len(self.names))
        """∫e dt [rad·s], shape (n,)."""

    @abc.abstractmethod
    def _torque(self, model: Model, dofs: Sequence[int], q: Array, v: Array, wanted: Array) -> Array:
        """Torques of the joints for wanted accelerations, in NumPy operations, shape (n,)."""

    def start(self, simulation: Simulation) -> None:
        """Look up the joints and compile the law."""
        model = simulation.model
        self._servos = Servos(simulation, self.names, drives.Torque)
        dofs = [model.joint_part(name).v.start for name in self.names]
        n = len(dofs)

        def law(q: Array, v: Array, off: Array, memory: Array, reference: Array) -> tuple[Array, ...]:
            rate = reference[1] - np.array([v[i] for i in dofs])
            wanted = reference[2] + self.gains[0] * off + self.gains[1] * rate + self.gains[2] * memory
            return (self._torque(model, dofs, q, v, wanted),)

        sizes = {"q": (model.nq,), "v": (model.nv,), "off": (n,), "memory": (n,), "reference": (3, n)}
        self._law = compile_function("joint_law", law, sizes, {"tau": (n,)})
        self._law.code(1)
        self.memory = np.zeros(n)
        units = self._servos.units
        self.signals = {f"{kind}.{name}": units[name] for kind in ("reference", "error") for name in self.names}

    def __call__(self, state: State) -> dict[str, float]:
        """Torques at a `state`."""
        reference = np.array(self.path(state.t))
        off = reference[0] - self._servos.positions(state)
        (tau,) = self._law.single_results(state.q, state.v, off, self.memory, reference)
        self.memory = self.memory + self.period * off
        self.signal_values = np.concatenate([reference[0], off])
        return dict(zip(self.names, tau.tolist(), strict=True))


class JointControl(TorqueControl):
    """Leads torque-driven joints along waypoints by feedback in each joint. A controller.

        τ = m (q̈_ref + 2 ζ ω ė + ω² e + (ω³/k) ∫e dt) + g(q)

    m is the inertia that each joint feels in the model's initial configuration with all others held, g weight and buoyancy.
    What the joints do to each other, and drag, are left to the feedback. Its signals are those of `JointTrajectory`.

    Args:
        waypoints: As of `JointTrajectory`.
        frequency: ω, natural frequency of the error [rad/s].
        damping: ζ, its damping ratio [-].
        integral: k, of the integral's strength; larger is weaker; infinite, which is none, unless given [-].
        period: Time between two commands [s].
    """

    def _torque(self, model: Model, dofs: Sequence[int], q: Array, v: Array, wanted: Array) -> Array:
        m = np.diag(np.array(mass_matrix(model, model.initial().q), dtype=float))
        g = restoring_force(model, q)
        return np.array([m[i] * a + g[i] for i, a in zip(dofs, wanted, strict=True)])


class ComputedTorque(TorqueControl):
    """Leads torque-driven joints along waypoints by computed torque. A controller.

        τ = M(q) a + C(q, q̇) q̇ + D + g,     a = q̈_ref + 2 ζ ω ė + ω² e + (ω³/k) ∫e dt

    by inverse dynamics, so that the error obeys ë + 2 ζ ω ė + ω² e + (ω³/k) ∫e dt = 0 whatever the joints do to each other. All
    that it does not lead, a vehicle too, is taken to keep its velocity; the water to be still; friction and rotors are not
    known. Its signals are those of `JointTrajectory`.

    Args:
        waypoints: As of `JointTrajectory`.
        frequency: ω, natural frequency of the error [rad/s].
        damping: ζ, its damping ratio [-].
        integral: k, of the integral's strength; larger is weaker; infinite, which is none, unless given [-].
        period: Time between two commands [s].
    """

    def _torque(self, model: Model, dofs: Sequence[int], q: Array, v: Array, wanted: Array) -> Array:
        given = dict(zip(dofs, wanted, strict=True))
        tau = inverse_dynamics(model, q, v, np.array([given.get(i, 0.0) for i in range(model.nv)]))
        return np.array([tau[i] for i in dofs])
