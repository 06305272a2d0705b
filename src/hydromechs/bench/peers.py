"""The same mechanism in third-party codes, for comparison: Pinocchio, MuJoCo and DART (extra `dev`)."""

import importlib
from types import ModuleType

import numpy as np

from hydromechs.bridges import to_pinocchio
from hydromechs.hybrid import DartTree, MujocoTree, added_masses, swap
from hydromechs.model import Model

__all__ = ["DartPeer", "MujocoPeer", "PinocchioPeer", "import_peer"]


def import_peer(name: str) -> ModuleType:
    """Import the module `name` of a third-party code, or raise an error with install instructions."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise ModuleNotFoundError("crosscheck requires DART, Pinocchio and MuJoCo; pip install 'hydromechs[dev]'") from None


class DartPeer:
    """DART skeleton of a model. Gravity acts on the rigid masses; drag and buoyancy are omitted."""

    def __init__(self, model: Model) -> None:
        inertias = np.stack([body.inertia.matrix for body in model.bodies]) + added_masses(model)
        self.model, self.tree = model, DartTree(import_peer("dartpy"), model, inertias)

    def body_accelerations(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, wrench: np.ndarray) -> np.ndarray:
        """Return v̇ of each body in body axes, with added mass but without drag and buoyancy, shape (nb, 6)."""
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


class MujocoPeer:
    """MuJoCo model and data of a mechanism without water, contacts or limits."""

    tree_of: type[MujocoTree] = MujocoTree
    """Class that builds the MuJoCo mechanism."""

    def __init__(self, model: Model) -> None:
        mujoco = import_peer("mujoco")
        self.mujoco, self.ours, self.tree = mujoco, model, self.tree_of(mujoco, model)
        self.tree.spec.option.gravity = model.world.gravity_vector
        self.tree.spec.option.disableflags = int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        self.model = self.tree.compile()
        self.q_of, self.v_of = self.tree.q_of, self.tree.v_of
        self.data = mujoco.MjData(self.model)

    def _set(self, q: np.ndarray, **rates: np.ndarray) -> None:
        """Copy our `q` and named fields, given in MuJoCo velocity coordinates, into the data."""
        self.data.qpos[self.q_of] = q
        for name, value in rates.items():
            getattr(self.data, name)[self.v_of] = value

    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Return v̇ computed by `mj_forward`, shape (nv,)."""
        B = self.tree.rates(q)
        self._set(q, qvel=B @ v, qfrc_applied=B @ tau)
        self.mujoco.mj_forward(self.model, self.data)
        return B.T @ (self.data.qacc[self.v_of] - self.tree.rates_bias(q, v))

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, vdot: np.ndarray) -> np.ndarray:
        """Return τ computed by `mj_inverse`, shape (nv,)."""
        B = self.tree.rates(q)
        self._set(q, qvel=B @ v, qacc=B @ vdot + self.tree.rates_bias(q, v))
        self.mujoco.mj_inverse(self.model, self.data)
        return B.T @ self.data.qfrc_inverse[self.v_of]

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return M computed by `mj_fullM`, shape (nv, nv)."""
        self._set(q, qvel=np.zeros(self.ours.nv))
        self.mujoco.mj_forward(self.model, self.data)
        M = np.zeros((self.model.nv, self.model.nv))
        self.mujoco.mj_fullM(self.model, self.data, M)
        B = self.tree.rates(q)
        return B.T @ M[np.ix_(self.v_of, self.v_of)] @ B


class PinocchioPeer:
    """Pinocchio model and data of a mechanism without water."""

    def __init__(self, model: Model) -> None:
        self.pin = import_peer("pinocchio")
        self.model, self.at, _ = to_pinocchio(model)
        self.data = self.model.createData()
        self.q_of, self.v_of = self.at.q_of, self.at.v_of

    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Return v̇ computed by `aba`, shape (nv,)."""
        at = self.at
        vdot = self.pin.aba(self.model, self.data, at.q(q), at.v(q, v), at.tau(q, tau))
        return at.our_vdot(q, v, vdot)

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, vdot: np.ndarray) -> np.ndarray:
        """Return τ computed by `rnea`, shape (nv,)."""
        at = self.at
        return at.our_tau(q, self.pin.rnea(self.model, self.data, at.q(q), at.v(q, v), at.vdot(q, v, vdot)))

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return M computed by `crba`, shape (nv, nv)."""
        M = np.asarray(self.pin.crba(self.model, self.data, self.at.q(q)))
        M = np.triu(M) + np.triu(M, 1).T
        return M[np.ix_(self.v_of, self.v_of)]
