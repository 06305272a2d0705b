"""A custom thruster with a propeller speed, a custom joint drive, a custom contact law and custom hydrodynamics.

    ShaftThruster    J dn/dt = u - k_q |n| n,  T = k_t |n| n       shaft speed n, motor torque u
    LaggedTorque     T dτ/dt = u - τ                               and a damping torque
    Stiffening       N = k d + k2 d²                               and a damper c d ḋ that never pulls
    ViscousSphere    Stokes drag at low speed, quadratic drag above, buoyancy that fades out above the surface

python examples/custom_components.py            prints the results
"""

from dataclasses import dataclass

import numpy as np

import hydromechs as hm
from hydromechs.compiler import trace
from hydromechs.contact import ContactLaw, Material, NormalForce, Terrain
from hydromechs.geometry import Plane
from hydromechs.model.component import FastMode
from hydromechs.spatial import clamp, maximum, norm, where


@dataclass(frozen=True, slots=True, kw_only=True)
class ShaftThruster(hm.Component):
    """Propeller whose shaft speed is a state; the command is the motor torque [N·m]."""

    kind = "actuator"
    label = "thrust"
    outputs = (
        hm.Output("actuator_force", "N, N m", "thrust, or force of the drive"),
        hm.Output("saturated", "1", "1 where the actuator is at a limit", dtype="int8"),
    )

    name: str
    """Name of the actuator."""
    frame: str
    """Frame whose x axis is the direction of thrust."""
    thrust_constant: float
    """k_t [N·s²/rad²]."""
    torque_constant: float
    """k_q [N·m·s²/rad²]."""
    inertia: float
    """J of rotor, propeller and entrained water [kg·m²]."""
    limit: float
    """Maximum torque [N·m]."""

    def states(self, model):
        return [hm.Slot("speed", unit="rad/s")]

    def inputs(self, model):
        return [hm.Slot("", unit="N m")]

    def act(self, now, z, u):
        place, n = now.frame(self.frame), z["speed"]
        torque = clamp(u[""], -self.limit, self.limit)
        T = self.thrust_constant * abs(n) * n
        return hm.Action(
            forces=[place.force_B(T * place.R_B[:, 0])],
            rates={"speed": (torque - self.torque_constant * abs(n) * n) / self.inertia},
            record={"actuator_force": T, "saturated": where(abs(u[""]) >= self.limit, 1.0, 0.0)},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LaggedTorque(hm.drives.Drive):
    """A torque that follows its command with a lag [N·m]."""

    time_constant: float
    """T [s]."""
    damping: float = 0.0
    """d [N·m·s/rad]."""

    @property
    def state_names(self):
        return ("torque",)

    def force(self, command, q, qd, x):
        return x[0] - self.damping * qd

    def rates(self, command, q, qd, x):
        return ((command - x[0]) / self.time_constant,)

    def joint_modes(self, mobility):
        return (FastMode(f"lag of joint {self.joint!r}", 0.0, 1.0 / self.time_constant),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stiffening(ContactLaw):
    """A spring that stiffens with depth, and a damper that acts in depth."""

    stiffness: float
    """k [N/m]."""
    stiffening: float
    """k2 [N/m²]."""
    damping: float
    """c [N·s/m²]."""

    def force(self, depth, rate):
        d = maximum(depth, 0.0)
        spring = self.stiffness * d + self.stiffening * d * d
        pushed = maximum(spring + self.damping * d * rate, 0.0)
        return NormalForce(pushed, spring, 0.5 * self.stiffness * d * d + self.stiffening * d * d * d / 3.0)

    def stiffness_at(self, depth):
        return self.stiffness + 2.0 * self.stiffening * depth, self.damping * depth


class ViscousSphere:
    """A small sphere: Stokes drag at low speed, quadratic drag above, buoyancy that fades out above the surface."""

    def __init__(self, radius):
        self.radius = radius

    def added_mass(self, body, motion):
        mass = 2 / 3 * np.pi * motion.density * self.radius**3
        return np.diag([mass, mass, mass, 0.0, 0.0, 0.0])

    def wrench(self, body, motion):
        v = motion.velocity[:3]
        stokes = 6 * np.pi * 1e-3 * self.radius
        quadratic = 0.5 * motion.density * 0.4 * np.pi * self.radius**2
        wet = 0.5 + 0.5 * np.tanh(motion.depth / self.radius)
        buoyancy = wet * motion.density * 4 / 3 * np.pi * self.radius**3 * motion.a_fg
        return np.concatenate([buoyancy - (stokes + quadratic * norm(v)) * v, np.zeros(3)])


def run() -> tuple[float, float, float, float]:
    """Return shaft speed [rad/s] and thrust [N] of a thruster, push of an arm on the floor [N] and angle of the arm [rad]."""
    prop = ShaftThruster(name="stern", frame="thruster_1", thrust_constant=0.02, torque_constant=4e-4, inertia=0.05, limit=30.0)
    sim = hm.Simulation(hm.load("tiburon_titan2"), components=[prop], step=2e-3)
    sim.command = {"stern": 10.0}
    ds = sim.run(10.0).recording
    speed, thrust = ds.internal_state.sel(internal="stern.speed")[-1], ds.actuator_force.sel(actuator="stern")[-1]

    law = Stiffening(stiffness=1000.0, stiffening=2e5, damping=2e4)
    floor = Terrain(name="floor", material=Material(law=law), shape=Plane.through((0, 0, 1.0), (0, 0, -1)))
    arm = hm.Body(
        name="arm",
        joint=hm.joints.Revolute(axis=(0, 1, 0), placement=hm.Origin((0, 0, 0.8)), position=-0.1),
        inertia=hm.Inertia(mass=2.0, com=(0.5, 0, 0), tensor=(0.01, 0.05, 0.05, 0, 0, 0)),
        shapes=[hm.geometry.Sphere(radius=0.1).at((1.0, 0, 0))],
    )
    drive = LaggedTorque(joint="arm", time_constant=0.05, damping=0.5)
    sim = hm.Simulation(hm.Model(name="arm", bodies=[arm]), components=[floor, drive], step=1e-3)
    sim.command = {"arm": 5.0}
    found = sim.run(4.0)
    assert float(abs(found.recording.energy_residual).max()) < 1e-5

    inertia = hm.Inertia(mass=0.5, tensor=(1e-3, 1e-3, 1e-3, 0, 0, 0))
    model = hm.Model(bodies=[hm.Body(name="ball", inertia=inertia, hydro=ViscousSphere(0.05))])
    q, v = model.neutral()
    q[2] = 3.0  # 3 m deep
    assert hm.forward_dynamics(model, q, v, np.zeros(6))[2] < 0.0  # it rises
    traced = trace(lambda q, v, tau: hm.forward_dynamics(model, q, v, tau), {"q": (7,), "v": (6,), "tau": (6,)})
    v = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    assert np.allclose(np.array(traced(q, v, np.zeros(6))).ravel(), hm.forward_dynamics(model, q, v, np.zeros(6)))
    return float(speed), float(thrust), float(found.recording.contact_force[-1].sum()), float(found.state.q[0])


def check(result: tuple[float, float, float, float]) -> None:
    """Verify that the motor torque balances the propeller, and that weight and torque balance the push."""
    speed, thrust, push, angle = result
    assert abs(speed - np.sqrt(10.0 / 4e-4)) < 1e-3
    assert abs(thrust - 0.02 * speed**2) < 1e-6 * speed**2
    assert abs(push - (2.0 * 9.81 * 0.5 - 5.0 / np.cos(angle))) < 1e-3


if __name__ == "__main__":
    result = run()
    check(result)
    print("propeller {:.1f} rad/s, {:.1f} N; the arm pushes with {:.2f} N at {:.3f} rad".format(*result))
