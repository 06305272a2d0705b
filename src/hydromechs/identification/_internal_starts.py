"""Internal states of a plant where trials begin, as components say, and how they follow the start and what is unknown."""

from collections.abc import Sequence

import numpy as np

from hydromechs.simulation import InitialInstant

from ._samples import Trial, motion_names
from ._sensitivity import Sensitivities

DIFFERENCE = 1e-6
"""Of the central differences of states that are functions of the start, along a change of size 1 or more."""


class InternalStarts:
    """Internal states at the starts of trials.

    Most begin with a number. Some are functions of the instant, as the places of the masses of a tether, which hang between
    its ends: they are found anew for every start, with their derivatives by differences.
    """

    def __init__(self, dynamics: Sensitivities, trials: Sequence[Trial]) -> None:
        self.dynamics, self.plant, self.trials = dynamics, dynamics.plant, trials
        slots = self.plant.layout.state_slots
        self.follow = np.array([k for k, slot in enumerate(slots) if callable(slot.start)], dtype=int)
        self.guess = np.zeros((len(trials), len(slots)))
        for j, trial in enumerate(trials):
            now = InitialInstant(self.plant, trial.start, trial.q, trial.v, {})
            moved = motion_names(self.plant, trial)
            for component in self.plant.components:
                if component.name not in moved:
                    try:
                        component.check_start(now)
                    except ValueError as error:
                        error.add_note(f"in trial {trial.name!r}")
                        raise
            self.guess[j] = now.states()

    def __call__(
        self, q: np.ndarray, v: np.ndarray, inputs: np.ndarray, S: np.ndarray, P: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Internal states, shape (n, nz), and ∂/∂θ, shape (n, nz, k).

        From the inputs at the start, shape (n, nu), S = ∂(chart of q, v)/∂θ, shape (n, 2 nv, k), and P = ∂p/∂θ, shape (np, k).
        """
        z, by = self.guess.copy(), np.zeros((len(q), self.guess.shape[1], S.shape[2]))
        if not len(self.follow):
            return z, by
        for j in range(len(q)):
            z[j, self.follow] = self._at(j, q[j], v[j], inputs[j])
        for k in range(S.shape[2]):
            along, change = S[..., k], P[:, k]
            h = DIFFERENCE / max(1.0, np.abs(along).max(initial=0.0), np.abs(change).max(initial=0.0))
            if along.any() or change.any():
                up, down = (self._away(q, v, inputs, along, change, s * h) for s in (1.0, -1.0))
                by[:, self.follow, k] = (up - down) / (2.0 * h)
        return z, by

    def _away(
        self, q: np.ndarray, v: np.ndarray, inputs: np.ndarray, along: np.ndarray, change: np.ndarray, h: float
    ) -> np.ndarray:
        """States that follow, h along a direction, shape (n, len(follow))."""
        nv = self.dynamics.nv
        there, _ = self.dynamics.moved(q, np.ascontiguousarray(h * along[:, :nv]), np.zeros((len(q), nv, 0)))
        other = inputs.copy()
        other[:, self.dynamics.places] += h * change
        return np.stack([self._at(j, there[j], v[j] + h * along[j, nv:], other[j]) for j in range(len(q))])

    def _at(self, j: int, q: np.ndarray, v: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        layout = self.plant.layout
        parameters = {name: layout.array(f"parameter.{name}", inputs) for name in self.plant.parameters}
        now = InitialInstant(self.plant, self.trials[j].start, q, v, parameters)
        return now.states()[self.follow]
