"""A model in DART, with the full 6×6 inertia (rigid and added) of every body."""

from __future__ import annotations

import numpy as np

from hydromechs.hybrid import DartTree, added_masses, swap
from hydromechs.model import Model

from ._import import import_peer


class DartPeer:
    """DART's skeleton of a model. Gravity acts on the rigid masses, drag and buoyancy are left out."""

    def __init__(self, model: Model) -> None:
        inertias = np.stack([body.inertia.matrix for body in model.bodies]) + added_masses(model)
        self.model, self.tree = model, DartTree(import_peer("dartpy"), model, inertias)

    def body_accelerations(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, wrench: np.ndarray) -> np.ndarray:
        """Time derivative of each body's velocity (the numbers in body axes) in vacuum-like water, shape (nb, 6)."""
        self.tree.put(q, v)
        self.tree.set_forces(tau)
        skeleton = self.tree.skeleton
        skeleton.clearExternalForces()
        for node, body, F in zip(self.tree.nodes, self.model.bodies, wrench, strict=True):
            weight = body.inertia.mass * self.model.world.gravity_vector
            node.addExtForce(weight, np.array(body.inertia.com), False, True)
            node.addExtForce(F[:3], np.zeros(3), True, True)
            node.addExtTorque(F[3:], True)
        skeleton.computeForwardDynamics()
        return np.stack([swap(np.asarray(node.getSpatialAcceleration())) for node in self.tree.nodes])
