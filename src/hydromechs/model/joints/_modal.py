"""Motion of a section of a flexible link: a combination of mode shapes, shared by all sections of the link."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hydromechs.spatial import skew
from hydromechs.values import Array

from ._joint import Coordinates, Joint, Problem, limit_problems


@dataclass(frozen=True, slots=True, kw_only=True)
class ModalJoint(Joint):
    """A section of a flexible link, placed at the undeformed position. All sections of a link share the modal amplitudes q.

        p = Tᵀ q − ½ (qᵀ G_c q)_c,    R = rotation with the Gibbs vector g = ½ Ψᵀ q

    Each mode has a row of T (n, 3) [m] and Ψ (n, 3) [rad] per unit of q. G_c, c = x, y, z, is the second-order shortening
    from slopes. Without shortening, the first-order effect of axial forces on the deflection would be missing.
    """

    link: str
    """Name of the flexible link; sections with equal parents and links share their coordinates."""
    names: tuple[str, ...]
    """Names of the modes, length n."""
    units: tuple[str, ...]
    """Units of the modal amplitudes, "m" or "rad", length n."""
    translation: tuple[tuple[float, ...], ...]
    """Displacement T per unit amplitude, in the axes of the undeformed section, shape (n, 3)."""
    rotation: tuple[tuple[float, ...], ...]
    """Rotation Ψ per unit amplitude [rad], shape (n, 3)."""
    shortening: tuple[tuple[tuple[float, ...], ...], ...]
    """Second-order shortening G, symmetric matrices for x, y, z, shape (3, n, n)."""
    stiffness: tuple[float, ...]
    """Modal stiffness [N/m or N·m/rad], length n."""
    mode_damping: tuple[float, ...]
    """Modal damping [N·s/m or N·m·s/rad], length n."""
    position: tuple[float, ...] = ()
    """Initial modal amplitudes [m or rad], length n; zero if omitted."""

    kind = "modal"
    unit = "m"

    @property
    def shared(self) -> str:
        return self.link

    @property
    def neutral_q(self) -> tuple[float, ...]:  # type: ignore[override]  # its number of modes is data
        return (0.0,) * len(self.names)

    @property
    def initial_q(self) -> tuple[float, ...]:
        return self.position or self.neutral_q

    @property
    def coordinates(self) -> tuple[Coordinates, ...]:
        return tuple(Coordinates((n,), "amplitude of a mode", u) for n, u in zip(self.names, self.units, strict=True))

    @property
    def rates(self) -> tuple[Coordinates, ...]:
        return tuple(Coordinates((n,), "rate of a mode", f"{u}/s") for n, u in zip(self.names, self.units, strict=True))

    def random_q(self, rng: np.random.Generator, n: int) -> Array:
        """Return random configurations with deflections and rotations up to about 0.1 [m, rad], shape (n, nq)."""
        largest = max(1e-9, float(np.abs([*self.translation, *self.rotation]).max(initial=0.0)))
        return rng.uniform(-0.1, 0.1, (n, self.nq)) / largest

    def _gibbs(self, x: Array) -> Array:
        return 0.5 * np.array(self.rotation).T @ x

    def _bent(self, x: Array) -> Array:
        """Return the rows G_c x, with zeros for components without shortening, shape (3, n)."""
        return np.stack([np.array(G) @ x if np.any(G) else np.zeros(self.nv) for G in self.shortening])

    @property
    def _turns(self) -> bool:
        return bool(np.any(self.rotation))

    def pose(self, q: Array) -> tuple[Array, Array]:
        q = np.asarray(q)
        p = np.array(self.translation).T @ q - 0.5 * (self._bent(q) @ q)
        return self._axes(q) if self._turns else np.eye(3), p

    def _axes(self, q: Array) -> Array:
        g = self._gibbs(q)
        G = skew(g)
        return np.eye(3) + (2.0 / (1.0 + g @ g)) * (G + G @ G)

    def subspace(self, q: Array) -> Array:
        q = np.asarray(q)
        linear = np.array(self.translation).T - self._bent(q)
        if not self._turns:
            return np.concatenate([linear, np.zeros((3, self.nv))])
        return np.concatenate([self._axes(q).T @ linear, self._spin(q)])

    def _spin(self, q: Array) -> Array:
        """Return ω = 2 (ġ − g × ġ)/(1 + g²) in section axes for a unit rate of each amplitude in turn, shape (3, n)."""
        g, half = self._gibbs(q), 0.5 * np.array(self.rotation).T
        return (2.0 / (1.0 + g @ g)) * (half - skew(g) @ half)

    def subspace_rate(self, q: Array, v: Array) -> Array:
        q, v = np.asarray(q), np.asarray(v)
        bent = -self._bent(v)
        if not self._turns:
            return np.concatenate([bent, np.zeros((3, self.nv))])
        R, spin = self._axes(q), self._spin(q)
        linear = R.T @ (np.array(self.translation).T - self._bent(q))
        g, g_rate, half = self._gibbs(q), self._gibbs(v), 0.5 * np.array(self.rotation).T
        scale = 2.0 / (1.0 + g @ g)
        turning = -scale * (skew(g_rate) @ half) - (scale * (g @ g_rate)) * spin
        return np.concatenate([R.T @ bent - skew(spin @ v) @ linear, turning])

    def problems(self, where: str) -> Iterator[Problem]:
        if self.position and len(self.position) != self.nv:
            yield ("position",), f"{where}.position has {len(self.position)} numbers; use {self.nv}"
        yield from limit_problems(self)

    def disagreements(self) -> Iterator[str]:
        return iter(())
