"""Random drops of convex shapes on a block: without friction and damping, their energy is constant."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import hydromechs as hm
from hydromechs import geometry
from hydromechs.contact import Material, NonlinearContact, Terrain

__all__ = ["SHAPES", "Drops", "study_drops"]

SHAPES = {
    "box": geometry.Box(size=(0.4, 0.3, 0.2)),
    "capsule": geometry.Capsule(radius=0.06, length=0.3),
    "cylinder": geometry.Cylinder(radius=0.15, length=0.25),
    "disc": geometry.Cylinder(radius=0.2, length=0.08),
    "hull": geometry.Convex(points=((0.2, 0, 0), (0, 0.25, 0), (-0.2, -0.1, 0), (0.02, 0.01, 0.22), (0, 0, -0.15))),
}
GROUND = {
    "block": geometry.Box(size=(0.5, 0.4, 0.4)),
    "drum": geometry.Cylinder(radius=0.3, length=0.4),
    "hull": geometry.Convex(points=((0.5, 0, 0), (-0.3, 0.4, 0), (-0.3, -0.4, 0), (0, 0, -0.2), (0, 0, 0.3))),
}
MASS = 8.0
STIFFNESS = 1e5
HIGH = 0.55
"""Height of the middle of a body above that of the ground at the start [m]."""
TIME = 0.5
"""Duration; about two impacts [s]."""
EVERY = 0.025
"""Time between two samples of the energy [s]."""


class Drops(NamedTuple):
    """Change of the total energy of drops of one shape on one ground, by step."""

    shape: str
    ground: str
    steps: tuple[float, ...]
    """Steps of RK4 [s]."""
    touched: int
    """Drops that touched."""
    kinetic: float
    """Median of the largest kinetic energy of a drop [J]."""
    largest: tuple[float, ...]
    """Largest change of energy for each step [J]."""
    quantile: tuple[float, ...]
    """The change that 99 % of the drops stay below, for each step [J]."""


def study_drops(shape: str, ground: str, drops: int, steps: tuple[float, ...] = (2e-4, 1e-4), seed: int = 0) -> Drops:
    """Drop a shape in random poses, with random velocities, beside and on a ground, without friction and damping."""
    elastic = Material(law=NonlinearContact(stiffness=STIFFNESS))
    piece = SHAPES[shape]
    J = np.diag(piece.inertia(MASS / piece.volume))
    inertia = hm.Inertia(mass=MASS, tensor=(float(J[0]), float(J[1]), float(J[2]), 0.0, 0.0, 0.0))
    body = hm.Body(name="body", joint=hm.joints.Free(), inertia=inertia, shapes=(hm.BodyShape(shape=piece),))
    model = hm.Model(name="drop", bodies=(body,), world=hm.World(water_density=1e-9))
    solid = Terrain(name="ground", material=elastic, shape=GROUND[ground])
    rng = np.random.default_rng(seed)
    q, v = np.zeros((drops, 7)), np.zeros((drops, 6))
    q[:, :3] = np.stack([rng.uniform(-0.3, 0.3, drops), rng.uniform(-0.3, 0.3, drops), np.full(drops, -HIGH)], axis=1)
    turns = rng.normal(size=(drops, 4))
    q[:, 3:] = turns / np.linalg.norm(turns, axis=1, keepdims=True)
    v[:, :3], v[:, 3:] = 0.3 * rng.normal(size=(drops, 3)), 3.0 * rng.normal(size=(drops, 3))
    changes, touched, kinetic = [], np.zeros(drops, bool), np.zeros(drops)
    for step in steps:
        worlds = hm.Worlds(hm.Simulation(model, components=[solid], step=step).plant, drops, step=step)
        worlds.q[:], worlds.v[:] = q, v
        change = np.zeros(drops)
        first = None
        for _ in range(round(TIME / EVERY)):
            seen = worlds.observe("kinetic_energy_body", "potential_energy", "elastic_energy", "contact_gap")
            total = sum(np.asarray(seen[name]).reshape(drops, -1).sum(axis=1) for name in list(seen)[:3])
            first = total if first is None else first
            change = np.maximum(change, np.abs(total - first))
            touched |= np.asarray(seen["contact_gap"]).reshape(drops, -1).min(axis=1) < 0.0
            kinetic = np.maximum(kinetic, np.asarray(seen["kinetic_energy_body"]).reshape(drops))
            worlds.step(steps=round(EVERY / step))
        changes.append(change)
    largest, quantile = (tuple(float(f(x)) for x in changes) for f in (np.max, lambda x: np.quantile(x, 0.99)))
    return Drops(shape, ground, steps, int(touched.sum()), float(np.median(kinetic)), largest, quantile)
