"""Stability of a step for all parts of a plant together: each may be slow enough alone, but not all together."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from hydromechs import dynamics
from hydromechs.integrators import Integrator, NotFinite, Point
from hydromechs.values import Array

from ._plant import Plant
from ._stiffness import other_method, step_limit, stiff_modes

Advanced: TypeAlias = Callable[[Point, Array, float], Point]
"""Returns the point at a time [s] from another, with held inputs."""
NEAR = 10.0
"""Longest stable step of a part on its own, in steps, up to which parts are checked together."""
MAX_COORDINATES = 150
"""Coordinates of a state up to which they are looked at: a step is taken for each."""
GROWTH_LIMIT = 0.01
"""Growth in one step above which a motion is not stable."""
GROWTH_RATIO = 2.0
"""Ratio that it must exceed over two steps of half the length: a motion that grows by nature grows the same in both."""
APART = 1e-7
"""Displacement for differences [SI]."""
HALVINGS = 6
"""Steps that are tried, each half as long as the one before."""
SHARE = 0.3
"""Part of the largest share of a motion from which on a joint is named."""


def unstable_together(plant: Plant, method: Integrator, advanced: Advanced, at: Point, inputs: Array, step: float) -> list[str]:
    """Return a warning about a step that lets motions of the parts together grow; nothing of one that is short enough.

    The compiled step Φ_h itself is differentiated at the start, and the eigenvalues of ∂Φ_h tell how much a small motion grows
    in it. Methods that choose their step, large plants, and parts that are all far from their limit are not checked.

    `advanced`: returns the point at a later time, in at most one step; `inputs`: inputs of the plant there, shape (nu,).
    """
    n = plant.model.nv + len(at.x) - len(plant.layout.causes)
    if method.adaptive or method.restarts_at_stops or not method.many_worlds or n > MAX_COORDINATES:
        return []
    close = [mode for mode in stiff_modes(plant, at.q) if step_limit(mode, method) < NEAR * step]
    if len(close) < 2:
        return []
    slopes = _Slopes(plant, advanced, at, inputs)
    with np.errstate(all="ignore"):
        growth, mover = slopes.fastest(step)
        if growth <= 1.0 + GROWTH_LIMIT or growth - 1.0 <= GROWTH_RATIO * max(slopes.fastest(0.5 * step)[0] ** 2 - 1.0, 0.0):
            return []
        tried = (step / 2.0**k for k in range(1, HALVINGS + 1))
        good = next((h for h in tried if slopes.fastest(h)[0] <= 1.0 + GROWTH_LIMIT), None)
    remedy = "take a much shorter step" if good is None else f"take a step of {good:g} s"
    instead = other_method(plant, method)
    other = f", or {instead}" if instead else ""
    return [
        f"a step of {step:g} s is too long for all parts together, though not for each on its own: with {method.name} a small "
        f"motion of {', '.join(mover)} grows {growth:.3g}-fold in each; {remedy}{other}"
    ]


class _Slopes:
    """Derivatives of steps from one point, in coordinates (δ, v, z) of q ⊕ δ; without work integrals."""

    def __init__(self, plant: Plant, advanced: Advanced, at: Point, inputs: Array) -> None:
        self.plant, self.advanced, self.at, self.inputs = plant, advanced, at, inputs
        self.nx = len(at.x) - len(plant.layout.causes)
        self.tangent = self._tangent(at.q)

    def _tangent(self, q: Array) -> Array:
        """∂(q ⊕ δ)/∂δ, shape (nq, nv)."""
        model = self.plant.model
        columns = [dynamics.integrate(model, q, APART * e, 1.0) - q for e in np.eye(model.nv)]
        return np.array(columns, dtype=float).reshape(model.nv, model.nq).T / APART

    def _after(self, q: Array, x: Array, h: float) -> Array:
        """q and x after a step, shape (nq + nx,)."""
        end = self.advanced(Point(self.at.t, q, x), self.inputs, self.at.t + h)
        return np.concatenate([end.q, end.x[: self.nx]])

    def fastest(self, h: float) -> tuple[float, list[str]]:
        """Largest |eigenvalue| of ∂Φ_h for the step `h` [s], and who moves in it; infinite where a step is not finite."""
        nv, nq, at = self.plant.model.nv, self.plant.model.nq, self.at
        try:
            end = self._after(at.q, at.x, h)
            columns = [self._after(at.q + APART * dq, at.x, h) - end for dq in self.tangent.T]
            for i in range(self.nx):
                x = at.x.copy()
                x[i] += APART
                columns.append(self._after(at.q, x, h) - end)
        except NotFinite:
            return np.inf, ["all"]
        moved = np.array(columns).T / APART  # of q and x, shape (nq + nx, nv + nx)
        J = np.vstack([np.linalg.pinv(self._tangent(end[:nq])) @ moved[:nq], moved[nq:]])
        if not np.isfinite(J).all():
            return np.inf, ["all"]
        values, vectors = np.linalg.eig(J)
        k = int(np.argmax(np.abs(values)))
        share = np.abs(vectors[nv : 2 * nv, k])
        names = self.plant.model.coordinate_names[1]
        who = [name for name, s in zip(names, share, strict=True) if s >= SHARE * share.max(initial=0.0)]
        return float(np.abs(values[k])), who
