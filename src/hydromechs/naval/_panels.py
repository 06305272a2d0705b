"""Added mass of closed meshes by boundary elements (Capytaine), in a fluid without surface or bed.

The potential of each of the six rigid motions has the normal velocity of that motion on the body and vanishes far away; the
added mass is its momentum, A_ij = −ρ ∮ φ_j n_i dS. Without a free surface, the added mass does not depend on frequency. It is
the added mass of a body far below the surface, which equals the added mass at infinite frequency.

The problem is solved on panels and on quarters of these panels. The order of convergence of constant panels is between 1
(edges) and 2 (smooth bodies). Richardson extrapolation of both solutions assumes order 1.5, and their difference is the
uncertainty. A mesh with too many triangles for two solutions is solved once. The exact matrix is symmetric; a solution with
large asymmetry, due to panels that are too large for thin parts, is rejected.
"""

import logging
from types import ModuleType
from typing import NamedTuple

import numpy as np

from hydromechs._lazy import import_extra
from hydromechs.geometry import Triangles
from hydromechs.spatial import shift_inertia
from hydromechs.values import Array

ORDER = 1.5
"""Assumed order of convergence in the panel size."""
CROOKED = 0.1
"""Asymmetry above which a solution is rejected, relative to the largest entry of a block."""
ONCE = 0.03
"""Standard uncertainty of a mesh with only one solution, relative to the largest entry."""
LOST = 0.05
"""Maximum relative loss of volume of a simplified mesh."""
OUT_OF_ROUND = 0.05
"""Ratio of added inertia to added mass · volume^(2/3) below which a body counts as round."""
MESH = ("mesh", "added mass by boundary elements")
"""Name of the extra with the required packages, and its purpose."""
MOTIONS = ("Surge", "Sway", "Heave", "Roll", "Pitch", "Yaw")
"""Names of the six motions in Capytaine."""


class PanelMass(NamedTuple):
    """Added mass from boundary elements."""

    matrix: Array
    """Added mass about the origin of the mesh, linear first, in a fluid of density 1 [m³, m⁴, m⁵], shape (6, 6), symmetric."""
    uncertainty: float
    """Standard uncertainty, relative to the largest entry of a block."""
    number: int
    """Number of panels of the finer mesh."""


def panel_added_mass(solid: Triangles, count: int) -> PanelMass:
    """Return the added mass of a closed mesh far from all boundaries, about the origin of its frame.

    Args:
        solid: Closed mesh.
        count: Maximum number of panels of the finer of two meshes; the time grows with its square to cube; 2,500 panels take
            some seconds.

    Raises:
        ModuleNotFoundError: Capytaine is not installed.
        ValueError: There are too few panels for the mesh.
    """
    cpt = import_extra("capytaine", *MESH)
    solid = _simple(solid, count)
    whole = solid.integrals()
    near = solid.moved(np.eye(3), -whole.center)  # about the centroid, where moments do not cancel
    nested = len(solid.faces) <= count // 4
    coarse = panels(near, count // 4) if nested else np.zeros((0, 3, 3))
    fine = _quartered(coarse) if nested else panels(near, count)
    matrix = _solved(cpt, fine)
    skew = _size(matrix - matrix.T, matrix, whole.volume)
    if not skew < CROOKED:
        raise ValueError(
            f"{solid.name}: {len(fine)} panels are too few for the thin parts (the added mass is asymmetric by "
            f"{skew:.0%}); increase FromPanels.count, or remove thin parts from the mesh"
        )
    uncertainty = max(ONCE, skew)
    if nested:
        before = _solved(cpt, coarse)
        change = (matrix - before) / (2.0**ORDER - 1.0)
        if _size(before - before.T, before, whole.volume) < CROOKED:
            matrix = matrix + change
            uncertainty = max(skew, _size(change, matrix, whole.volume))
    about_origin = np.asarray(shift_inertia(0.5 * (matrix + matrix.T), whole.center), dtype=float)
    return PanelMass(about_origin, uncertainty, len(fine))


def _size(change: Array, matrix: Array, volume: float) -> float:
    """Return the largest entry of a change, relative to the largest matrix entries in the blocks of its row and column."""
    d = np.abs(np.diag(matrix))
    linear = d[:3].max()
    # a round body turns without added inertia: errors are then compared with that of a body out of round
    angular = max(d[3:].max(), OUT_OF_ROUND * linear * volume ** (2.0 / 3.0))
    size = np.sqrt(np.repeat([linear, angular], 3))
    return float(np.abs(change / np.outer(size, size)).max())


def _simple(solid: Triangles, count: int) -> Triangles:
    """Return the mesh if it has few enough triangles, otherwise a simpler mesh with the same volume and centroid."""
    if len(solid.faces) <= 0.8 * count:
        return solid
    vertices, faces = import_extra("fast_simplification", *MESH).simplify(
        solid.vertices.astype(np.float32), solid.faces.astype(np.int32), target_count=count // 6, agg=5.0
    )
    simple = Triangles(np.asarray(vertices, dtype=float), np.asarray(faces, dtype=int), solid.name)
    whole, own = solid.integrals(), simple.integrals()
    if not abs(own.volume - whole.volume) < LOST * whole.volume or len(simple.faces) > 0.8 * count:
        raise ValueError(
            f"{solid.name} has {len(solid.faces)} triangles, but loses its shape at {len(simple.faces)}, which {count} panels "
            f"allow; increase FromPanels.count, or use a simpler mesh in `meshes`"
        )
    growth = (whole.volume / own.volume) ** (1.0 / 3.0)
    return Triangles(whole.center + (simple.vertices - own.center) * growth, simple.faces, solid.name)


def panels(solid: Triangles, count: int) -> Array:
    """Return triangles of similar size that cover a mesh; large ones are halved; corners may be on edges of neighbours.

    Returns:
        Corners of the panels [m], shape (n, 3, 3); n is at most `count`, unless the mesh has more triangles.
    """
    longest = np.sqrt(2.0 * np.linalg.norm(solid.area_vectors, axis=1).sum() / count)
    out = _halved(solid.corners, longest)
    while len(out) > max(count, len(solid.faces)):
        longest *= 1.15
        out = _halved(solid.corners, longest)
    return out


def _halved(corners: Array, longest: float) -> Array:
    """Return triangles, halved until all edges are at most `longest` [m]."""
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
    a, b, c = np.moveaxis(corners, 1, 0)
    ab, bc, ca = 0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a)
    return np.concatenate([np.stack(t, axis=1) for t in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))])


def _solved(cpt: ModuleType, corners: Array) -> Array:
    """Return the added mass about the origin from one set of panels at density 1, shape (6, 6), not symmetrised."""
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
    return np.array([[result.added_masses[dof] for dof in MOTIONS] for result in results])
