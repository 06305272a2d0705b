"""How do we put a mechanism in water on a custom physics engine?

This engine solves the dense equations of the rigid bodies with NumPy; water, thrusters and drives stay ours.

python examples/own_engine.py
"""

from dataclasses import dataclass, replace

import numpy as np

import hydromechs as hm
from hydromechs.hybrid import Engine, Hybrid


@dataclass
class DenseEngine(Engine):
    """Semi-implicit Euler steps of M v̇ + c = τ, without contact."""

    name = "dense"
    joint_types = dict.fromkeys(hm.joints.TYPES.values())
    takes_inertia = True

    def faults(self, model, scene):
        return ["it has no contact; remove the terrain"] if scene.solids else []

    def carries(self, model, added):
        return np.zeros_like(added)  # all of it comes with `apply`

    def load(self, model, scene, carried, armature):
        bodies = [replace(body, hydro=None) for body in model.bodies]
        self.model = replace(model, bodies=tuple(bodies), world=replace(model.world, gravity=0.0))  # weight is our force
        self.dynamics = hm.compile(self.model)
        self.q, self.v = self.model.neutral()
        self.vdot = self.v

    def put(self, q, v):
        self.q, self.v = np.array(q), np.array(v)

    def state(self):
        return self.q, self.v

    def apply(self, force, inertia=None):
        M = self.dynamics.mass_matrix(self.q) + (0.0 if inertia is None else inertia)
        c = self.dynamics.inverse_dynamics(self.q, self.v, np.zeros_like(self.v))
        self.vdot = np.linalg.solve(M, force - c)

    def step(self, h):
        self.v = self.v + h * self.vdot
        self.q = hm.integrate(self.model, self.q, self.v, h)

    def acceleration(self):
        return self.vdot

    def touches(self):
        return []

    def save(self):
        return self.q, self.v, self.vdot

    def restore(self, saved):
        self.q, self.v, self.vdot = saved


def run(step: float = 2e-3) -> tuple[np.ndarray, np.ndarray]:
    """Velocity of a vehicle with an arm after 0.2 s, on this engine and on ours, shape (nv,) each."""
    plant = hm.load_plant("bluerov2_heavy_alpha5")
    dense = Hybrid(engine=DenseEngine()).simulation(plant, step=step)
    return dense.step(duration=0.2).v, hm.Simulation(plant, step=step).step(duration=0.2).v


def check(ends: tuple[np.ndarray, np.ndarray]) -> None:
    """First order in the step."""
    assert np.abs(ends[0] - ends[1]).max() < 0.01


def main() -> None:
    ends = run()
    check(ends)
    print("largest difference of velocities:", np.abs(ends[0] - ends[1]).max())


if __name__ == "__main__":
    main()
