"""A model in MuJoCo, dry."""

from __future__ import annotations

import numpy as np

from hydromechs.hybrid import MujocoTree
from hydromechs.model import Model

from ._import import import_peer


class MujocoPeer:
    """MuJoCo's model and data of a mechanism without water, contacts or limits."""

    tree_of: type[MujocoTree] = MujocoTree
    """How the mechanism is described."""

    def __init__(self, model: Model) -> None:
        mujoco = import_peer("mujoco")
        self.mujoco, self.ours, self.tree = mujoco, model, self.tree_of(mujoco, model)
        self.tree.spec.option.gravity = model.world.gravity_vector
        self.tree.spec.option.disableflags = int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        self.model = self.tree.compile()
        self.q_of, self.v_of = self.tree.q_of, self.tree.v_of
        self.data = mujoco.MjData(self.model)

    def _set(self, q: np.ndarray, **rates: np.ndarray) -> None:
        """Put our `q` and the named fields, given in MuJoCo's rates, into the data."""
        self.data.qpos[self.q_of] = q
        for name, value in rates.items():
            getattr(self.data, name)[self.v_of] = value

    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """v̇ by `mj_forward`, shape (nv,)."""
        B = self.tree.rates(q)
        self._set(q, qvel=B @ v, qfrc_applied=B @ tau)
        self.mujoco.mj_forward(self.model, self.data)
        return B.T @ (self.data.qacc[self.v_of] - self.tree.rates_bias(q, v))

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, vdot: np.ndarray) -> np.ndarray:
        """τ by `mj_inverse`, shape (nv,)."""
        B = self.tree.rates(q)
        self._set(q, qvel=B @ v, qacc=B @ vdot + self.tree.rates_bias(q, v))
        self.mujoco.mj_inverse(self.model, self.data)
        return B.T @ self.data.qfrc_inverse[self.v_of]

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """M by `mj_fullM`, shape (nv, nv)."""
        self._set(q, qvel=np.zeros(self.ours.nv))
        self.mujoco.mj_forward(self.model, self.data)
        M = np.zeros((self.model.nv, self.model.nv))
        self.mujoco.mj_fullM(self.model, self.data, M)
        B = self.tree.rates(q)
        return B.T @ M[np.ix_(self.v_of, self.v_of)] @ B
