"""How fast the stiff parts of a plant are, and which step that needs."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hydromechs import contact, dynamics, equations
from hydromechs.actuation import drives
from hydromechs.integrators import fastest_root

from ._plant import Plant

__all__ = ["Mode", "step_warnings", "stiff_modes"]


class Mode(NamedTuple):
    """A mode of a stiff part: m ẍ + c ẋ + k x = 0, or a lag."""

    name: str
    """What it is."""
    frequency: float
    """√(k/m) [rad/s]; 0 for a lag."""
    decay: float
    """c/m, or 1/T of a lag [1/s]."""
    meets: bool = False
    """Whether it begins with an impact: a contact, a stop."""

    @property
    def fastest(self) -> float:
        """Largest |λ| of λ² + decay λ + frequency² = 0 [1/s]."""
        return fastest_root(self.frequency, self.decay)

    def limit(self, method) -> float:
        """Longest stable step [s]; 3/|λ| for an impact, also with a method that is stable otherwise."""
        impact = 3.0 / self.fastest if self.meets and self.fastest else math.inf
        return min(method.longest_step(self.frequency, self.decay), impact)


def stiff_modes(plant: Plant, q: np.ndarray) -> list[Mode]:
    """Modes of contacts, drives, friction and stops, each alone, with the inertia that it meets at a configuration.

    Args:
        plant: What is simulated.
        q: Configuration, shape (nq,).
    """
    model = plant.model
    stabilised = [(g.name, g.stabilisation) for g in plant.grasps if g.stabilisation]
    grasps = [Mode(f"stabilisation of grasp {name!r}", rate, 2.0 * rate) for name, rate in stabilised]
    if not (plant.contacts or plant.joints or plant.thrusters):
        return grasps
    M = np.array(equations.mass_matrix(model, q), dtype=float)
    if plant.armature is not None:
        M = M + np.diag(plant.armature)
    inverse = np.linalg.inv(M) if model.nv else M
    out = grasps + [Mode(f"lag of thruster {t.name!r}", 0.0, 1.0 / t.time_constant) for t in plant.thrusters if t.time_constant]
    for joint in plant.joints:
        iv = model.v_slices[model.body_index(joint.joint)].start
        mobility = float(inverse[iv, iv])
        match joint.drive:
            case drives.Servo(stiffness=k, damping=c):
                out.append(_mode(f"servo of joint {joint.joint!r}", k, c, mobility))
            case drives.Motor(inductance=L, resistance=R) as motor if L:
                out.append(Mode(f"current of the motor of joint {joint.joint!r}", 0.0, R / L))
            case drives.Motor() as motor:
                c = motor.gear_ratio**2 * motor.torque_constant * motor.back_emf / motor.resistance
                out.append(_mode(f"motor of joint {joint.joint!r}", 0.0, c, mobility))
            case drives.Hydraulic() as h:
                k = 4.0 * h.bulk_modulus / h.chamber_volume * h.displacement**2
                out.append(_mode(f"oil of the hydraulic drive of joint {joint.joint!r}", k, 0.0, mobility))
                if h.spool_time_constant:
                    out.append(Mode(f"valve of joint {joint.joint!r}", 0.0, 1.0 / h.spool_time_constant))
        if joint.friction:
            f = joint.friction
            k = f.coulomb / f.stick_deflection
            out.append(_mode(f"friction of joint {joint.joint!r}", k, k * f.relaxation + f.viscous, mobility))
            if f.coulomb:
                out.append(Mode(f"slipping friction of joint {joint.joint!r}", 0.0, 1.0 / f.relaxation))
        if joint.stops:
            stops = joint.stops
            out.append(_mode(f"stops of joint {joint.joint!r}", stops.stiffness, stops.damping, mobility, meets=True))
    kin = dynamics.kinematics(model, np.asarray(q), np.zeros(model.nv))
    for pair in plant.contacts:
        mobility = max(_mobility(model, kin, inverse, pair.body, _probe_place(pair)), 1e-300)
        law, friction = pair.material.law, pair.material.friction
        if isinstance(law, contact.LinearContact):
            out.append(_mode(f"contact {pair.name!r}", law.stiffness, law.damping, mobility, meets=True))
        else:  # at a depth of a millimetre
            k = law.stiffness * law.exponent * 1e-3 ** (law.exponent - 1.0)
            out.append(_mode(f"contact {pair.name!r}", k, 0.0, mobility, meets=True))
        if friction is not None:
            out.append(_mode(f"friction of contact {pair.name!r}", friction.stiffness, friction.damping, mobility))
            out.append(Mode(f"slipping friction of contact {pair.name!r}", 0.0, friction.stiffness / friction.damping))
    return out


def _mode(name: str, k: float, c: float, mobility: float, meets: bool = False) -> Mode:
    return Mode(name, math.sqrt(max(k, 0.0) * mobility), c * mobility, meets)


def _probe_place(pair) -> np.ndarray:
    return np.array(pair.probe.position if isinstance(pair.probe, contact.Point) else pair.probe.center)


def _mobility(model, kin, inverse: np.ndarray, body: int, point: np.ndarray) -> float:
    """Largest acceleration of a point per force on it [1/kg]."""
    J = np.array(dynamics.jacobian(model, kin, body, point), dtype=float)[:3]
    return float(np.linalg.eigvalsh(J @ inverse @ J.T)[-1]) if model.nv else 0.0


def _remedy(method, step: float, mode: Mode) -> str:
    """What else helps a mode that is too stiff."""
    if method.name != "linearly_implicit" and not (mode.meets and mode.fastest * step > 3.0):
        return ", soften it, or use the integrator linearly_implicit"
    return " or soften it"


def step_warnings(plant: Plant, q: np.ndarray, method, step: float) -> list[str]:
    """What is too stiff for the step, in words: one line per part, with the longest stable step.

    Args:
        plant: What is simulated.
        q: Configuration at the start, shape (nq,).
        method: The integrator.
        step: Its step [s].
    """
    slow = [(m.limit(method), m) for m in stiff_modes(plant, q)]
    worst = sorted([(limit, m) for limit, m in slow if limit < step], key=lambda pair: pair[0])
    return [
        f"{m.name} is too stiff for a step of {step:g} s with {method.name}: it moves at {m.fastest:.3g} 1/s and needs a step "
        f"below {limit:.2g} s; take a shorter step{_remedy(method, step, m)}"
        for limit, m in worst[:5]
    ] + ([f"{len(worst) - 5} more parts are too stiff for the step"] if len(worst) > 5 else [])
