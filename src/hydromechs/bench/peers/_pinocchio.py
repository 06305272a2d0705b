"""A model in Pinocchio, dry."""

from __future__ import annotations

import numpy as np

from hydromechs.bridges import to_pinocchio
from hydromechs.model import Model

from ._import import import_peer


class PinocchioPeer:
    """Pinocchio's model and data of a mechanism without water."""

    def __init__(self, model: Model) -> None:
        self.pin = import_peer("pinocchio")
        self.model, self.at, _ = to_pinocchio(model)
        self.data = self.model.createData()
        self.q_of, self.v_of = self.at.q_of, self.at.v_of

    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """v̇ by `aba`, shape (nv,)."""
        at = self.at
        vdot = self.pin.aba(self.model, self.data, at.q(q), at.v(q, v), at.tau(q, tau))
        return at.our_vdot(q, v, vdot)

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, vdot: np.ndarray) -> np.ndarray:
        """τ by `rnea`, shape (nv,)."""
        at = self.at
        return at.our_tau(q, self.pin.rnea(self.model, self.data, at.q(q), at.v(q, v), at.vdot(q, v, vdot)))

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """M by `crba`, shape (nv, nv)."""
        M = np.asarray(self.pin.crba(self.model, self.data, self.at.q(q)))
        M = np.triu(M) + np.triu(M, 1).T
        return M[np.ix_(self.v_of, self.v_of)]
