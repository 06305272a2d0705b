"""Energies and momentum of the bodies and of the water that moves with them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hydromechs.spatial import shift_wrench
from hydromechs.values import Array, Scalar

from ._kinematics import Kinematics


def kinetic_energy(inertias: Sequence[Array | None], velocities: Sequence[Array]) -> Scalar:
    """½ Σ Vᵀ I V [J] over bodies; entries of `inertias` (6, 6) may be None, `velocities` are (6,)."""
    total = 0.0
    for inertia, V in zip(inertias, velocities, strict=True):
        if inertia is not None:
            total = total + 0.5 * (V @ (inertia @ V))
    return total


def potential_energy(
    masses: Sequence[Scalar], first_moments: Sequence[Array], poses: Sequence[tuple[Array, Array]], gravity_W: Array
) -> Scalar:
    """−Σ g · (m p + R h) [J]: zero at the world's origin; displaced water counts with negative mass.

    Bodies have first moments h = m s about their origins, in their axes [kg·m], shape (3,), and poses in the world: axes (3, 3)
    and origin (3,) [m]. Masses are in kg, gravity in world axes in m/s², shape (3,).
    """
    total = 0.0
    for m, h, (R, p) in zip(masses, first_moments, poses, strict=True):
        total = total - gravity_W @ (m * p + R @ h)
    return total


def momentum(inertias: Sequence[Array | None], velocities: Sequence[Array], kin: Kinematics) -> Array:
    """Σ of I V, in world axes about the world's origin (linear, angular) [kg·m/s, kg·m²/s], shape (6,).

    For added mass and the velocity relative to the water this is Kirchhoff's impulse of the fluid.
    """
    total = np.zeros(6)
    for inertia, V, R, p in zip(inertias, velocities, kin.R_WB, kin.p_WB, strict=True):
        if inertia is not None:
            h = inertia @ V
            total = total + shift_wrench(np.concatenate([R @ h[:3], R @ h[3:]]), p)
    return total
