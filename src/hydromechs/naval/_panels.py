"""Added mass of closed meshes by boundary elements: Capytaine, in a fluid without a surface or a bed.

The potential of each of the six rigid motions has the normal velocity of that motion on the body and vanishes far away; the
added mass is its momentum, A_ij = −ρ ∮ φ_j n_i dS. Without a free surface it does not depend on frequency and is what a
body far below the surface has, the same as at infinite frequency. Solved twice, on panels and on their quarters: the error
of constant panels falls with their size to a power of 1 (edges) to 2 (smooth bodies), so the two are extrapolated with
1.5, and what that changes is the uncertainty.
"""

from __future__ import annotations

import logging
from types import ModuleType
from typing import NamedTuple

import numpy as np

from hydromechs.spatial import shift_inertia
from hydromechs.values import Array

from ._solid import Solid, integrals

__all__ = ["PanelMass", "import_extra", "panel_added_mass", "panels"]

ORDER = 1.5
"""Power of the panels' size with which the error is taken to fall."""
OUT_OF_ROUND = 0.05
"""Added inertia over added mass · volume^(2/3) below which a body is taken as round."""
MOTIONS = ("Surge", "Sway", "Heave", "Roll", "Pitch", "Yaw")
"""Capytaine's names of the six motions."""


class PanelMass(NamedTuple):
    """Added mass from panels."""

    matrix: Array
    """Added mass about the origin of the mesh, linear first, in a fluid of density 1 [m³, m⁴, m⁵], shape (6, 6), symmetric."""
    uncertainty: float
    """Largest change by extrapolation, over the largest entry of its block."""
    number: int
    """Panels of the finer mesh."""


def panel_added_mass(solid: Solid, count: int) -> PanelMass:
    """Added mass of a closed mesh far from all boundaries, about the origin of its frame.

    Args:
        solid: The mesh.
        count: Most panels of the finer of two meshes; the time grows with its square to cube, 2,500 take some seconds.

    Raises:
        ModuleNotFoundError: Capytaine is not installed.
    """
    cpt = import_extra("capytaine")
    whole = integrals(solid)
    # about the centroid first, where moments do not cancel
    near = panels(solid.moved(np.eye(3), -whole.center), count // 4)
    coarse, fine = _solved(cpt, near), _solved(cpt, _quartered(near))
    change = (fine - coarse) / (2.0**ORDER - 1.0)
    matrix = fine + change
    linear, angular = np.diag(matrix)[:3].max(), np.diag(matrix)[3:].max()
    # a round body turns without added inertia: errors are then compared with that of a body out of round
    angular = max(angular, OUT_OF_ROUND * linear * whole.volume ** (2.0 / 3.0))
    size = np.sqrt(np.repeat([linear, angular], 3))
    return PanelMass(_about(matrix, whole.center), float(np.abs(change / np.outer(size, size)).max()), 4 * len(near))


def panels(solid: Solid, count: int) -> Array:
    """Triangles of even size that cover a mesh: large ones halved across their longest edge; they need not meet at corners.

    Args:
        solid: The mesh; one with more triangles than half of `count` is simplified first.
        count: Most panels.

    Returns:
        Corners of each panel [m], shape (n, 3, 3).
    """
    if len(solid.faces) > count // 2:
        simplify = import_extra("fast_simplification").simplify
        vertices, faces = simplify(
            solid.vertices.astype(np.float32), solid.faces.astype(np.int32), target_count=count // 3, agg=5.0
        )
        simple = Solid(np.asarray(vertices, dtype=float), np.asarray(faces, dtype=int), solid.name)
        growth = (integrals(solid).volume / integrals(simple).volume) ** (1.0 / 3.0)
        middle = integrals(simple).center
        solid = Solid(integrals(solid).center + (simple.vertices - middle) * growth, simple.faces, solid.name)
    longest = np.sqrt(2.0 * np.linalg.norm(solid.area_vectors, axis=1).sum() / count)
    out = _halved(solid.corners, longest)
    while len(out) > max(count, len(solid.faces)):
        longest *= 1.15
        out = _halved(solid.corners, longest)
    return out


def _halved(corners: Array, longest: float) -> Array:
    """Triangles halved until no edge is longer than `longest` [m]."""
    done = []
    while len(corners):
        edges = np.linalg.norm(np.roll(corners, -1, axis=1) - corners, axis=2)
        at = edges.argmax(axis=1)
        good = edges.max(axis=1) <= longest
        done.append(corners[good])
        corners, at = corners[~good], at[~good]
        row = np.arange(len(corners))
        a, b, c = corners[row, at], corners[row, (at + 1) % 3], corners[row, (at + 2) % 3]
        middle = 0.5 * (a + b)
        corners = np.concatenate([np.stack([a, middle, c], axis=1), np.stack([middle, b, c], axis=1)])
    return np.concatenate(done)


def _quartered(corners: Array) -> Array:
    """Each triangle as four."""
    a, b, c = np.moveaxis(corners, 1, 0)
    ab, bc, ca = 0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a)
    return np.concatenate([np.stack(t, axis=1) for t in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))])


def _solved(cpt: ModuleType, corners: Array) -> Array:
    """Added mass about the origin from one set of panels, density 1, shape (6, 6), made symmetric."""
    mesh = cpt.Mesh(
        vertices=corners.reshape(-1, 3),
        faces=np.arange(3 * len(corners)).reshape(-1, 3).tolist(),
        auto_clean=False,
        auto_check=False,
    )
    body = cpt.FloatingBody(mesh=mesh, dofs=cpt.rigid_body_dofs(rotation_center=(0.0, 0.0, 0.0)))
    logger, level = logging.getLogger("capytaine"), logging.getLogger("capytaine").level
    logger.setLevel(logging.ERROR)
    try:
        # a table of waves is not needed: with a small one the solver starts at once
        green = cpt.Delhommeau(tabulation_nr=2, tabulation_nz=2, tabulation_cache_dir=None)
        solver = cpt.BEMSolver(method="direct", green_function=green)
        problems = [
            cpt.RadiationProblem(body=body, radiating_dof=dof, free_surface=np.inf, wavelength=1.0, rho=1.0) for dof in MOTIONS
        ]
        results = solver.solve_all(problems, progress_bar=False)
    finally:
        logger.setLevel(level)
    A = np.array([[result.added_masses[dof] for dof in MOTIONS] for result in results])
    return 0.5 * (A + A.T)


def _about(matrix: Array, p: Array) -> Array:
    """The matrix about the origin of one that is given about the point p [m]."""
    return np.asarray(shift_inertia(matrix, p), dtype=float)


def import_extra(name: str) -> ModuleType:
    """A package of the extra `mesh`, or an error that says how to get it.

    Args:
        name: Its name in Python.
    """
    from importlib import import_module

    try:
        return import_module(name)
    except ModuleNotFoundError:
        package = name.replace("_", "-")
        raise ModuleNotFoundError(f"added mass by boundary elements needs {package}: pip install 'hydromechs[mesh]'") from None
