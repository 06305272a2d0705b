"""Visuals of bodies from their shapes, or from other data of a body without shapes; properties of bodies as shapes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from hydromechs.files import one_load
from hydromechs.geometry import Box, Cylinder, Mesh, Placed, Sphere, Triangles, joined
from hydromechs.model import Body, BodyShape, Hydro, Model, World, added_mass, added_mass_matrix, drag
from hydromechs.spatial import tensor_matrix
from hydromechs.values import Array

from . import _solids as solids

Color = tuple[float, float, float]

STYLES: dict[str, Color] = {
    "hull": (0.86, 0.88, 0.90),
    "float": (0.98, 0.76, 0.08),
    "frame": (0.17, 0.18, 0.21),
    "thruster": (0.11, 0.12, 0.14),
    "housing": (0.66, 0.69, 0.73),
    "glass": (0.50, 0.72, 0.84),
    "link": (0.90, 0.90, 0.87),
    "joint": (0.30, 0.33, 0.38),
    "gripper": (0.55, 0.57, 0.60),
    "tool": (0.85, 0.22, 0.12),
    "load": (0.80, 0.47, 0.16),
    "propeller": (0.11, 0.12, 0.14),
    "placeholder": (0.5, 0.5, 0.5),
}
"""Colours keyed by style: red, green, blue, from 0 to 1."""
PROPELLER: Color = (0.78, 0.62, 0.25)
CONTACT: Color = (0.85, 0.20, 0.55)
DRAG: Color = (0.10, 0.60, 0.45)
ADDED: Color = (0.10, 0.45, 0.80)
INERTIA: Color = (0.85, 0.45, 0.10)
BUOYANCY: Color = (0.05, 0.35, 0.85)
MASS: Color = (0.75, 0.10, 0.10)
AIR, WATER = 1.2, 1000.0
"""Densities of air and of water [kg/m³]."""
UNREADABLE_SIZE = 0.1
"""Edge length of the box that replaces an unreadable mesh on a body without inertia [m]."""
CUBE, BALL = Box(size=(1.0, 1.0, 1.0)).triangulate(), Sphere(radius=1.0).triangulate()
"""Unit surfaces, scaled to represent data of a body; their size is unlimited, so that every model can be drawn."""


class DrawingWarning(UserWarning):
    """Warning that a shape is not drawn as the model specifies."""


class Piece(NamedTuple):
    """Part of a body with one colour."""

    triangles: Triangles
    """Surface in body axes [m]."""
    color: Color
    """Red, green and blue, from 0 to 1."""
    opacity: float = 1.0
    """Opacity: 0 is invisible, 1 is opaque."""
    layer: str = "bodies"
    """Layer of the part."""


class Propeller(NamedTuple):
    """Part that rotates about the z axis of its own frame."""

    R: Array
    """Axes of the propeller frame in body axes, shape (3, 3)."""
    p: Array
    """Origin of the propeller frame in body axes [m], shape (3,)."""
    piece: Piece
    """Surface and colour, in the propeller frame."""


# -- solids of elements ---------------------------------------------------------------------------------------------------


def solid_of(element: Any) -> Triangles | None:
    """Return the surface of a shape, drag element or added-mass element in body axes, or None if there is no surface."""
    match element:
        case Placed(shape=Mesh()):
            return None
        case Placed():
            return element.triangulate() if element.shape.bounded else None
        case drag.DragElement():
            return element.surface()
        case added_mass.ShapeAddedMass():
            return solid_of(element.solid)
    return None


# -- appearance ----------------------------------------------------------------------------------------------------------------


def body_looks(body: Body) -> tuple[list[Piece], list[Propeller]]:
    """Return the visual of a body: a piece for each colour, and its propellers.

    A body without shapes for appearance is drawn from other data. The first available source is used: shapes, drag elements,
    added-mass elements, the volume as a sphere, the inertia as a box. An unreadable mesh becomes a grey box, with a warning.
    """
    pieces: list[Piece] = []
    propellers = []
    for look in (shape for shape in body.shapes if shape.appearance):
        color = look.color or STYLES[look.style]
        if isinstance(look.shape, Mesh):
            pieces += _mesh_pieces(look, look.shape, body)
        elif look.style == "propeller" and isinstance(look.shape, Cylinder):
            R, p, size = look.origin.R, np.array(look.origin.xyz), (look.shape.radius, look.shape.length)
            pieces.append(Piece(solids.duct(*size).moved(R, p), color, look.opacity))
            propellers.append(Propeller(R, p, Piece(solids.propeller(*size), PROPELLER)))
        elif look.shape.bounded:
            pieces.append(Piece(look.triangulate(), color, look.opacity))
    return _by_color(pieces or _stand_in(body)), propellers


@one_load()
def drawing_notes(model: Model) -> list[str]:
    """Return a message for each shape of a model that cannot be drawn as specified."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DrawingWarning)
        for body in model.bodies:
            body_looks(body)
    return [str(warning.message) for warning in caught]


def _mesh_pieces(look: BodyShape, mesh: Mesh, body: Body) -> list[Piece]:
    try:
        parts = solids.mesh_file(mesh.path)
    except (OSError, ValueError) as error:  # a visual must never stop a run
        warnings.warn(f"body {body.name!r}: {error}; drawing a grey box instead", DrawingWarning, stacklevel=2)
        box = _inertia_box(body) or Placed(shape=Box(size=(UNREADABLE_SIZE,) * 3), origin=look.origin).triangulate()
        return [Piece(box, STYLES["placeholder"])]
    at, style = look.origin, look.color or STYLES[look.style]
    placed = [(surface.scaled(mesh.scale).moved(at.R, at.xyz), look.color or color) for surface, color in parts]
    return [Piece(surface, color or style, look.opacity) for surface, color in placed]


def _by_color(pieces: Iterable[Piece]) -> list[Piece]:
    groups: dict[tuple[Color, float, str], list[Triangles]] = {}
    for piece in pieces:
        groups.setdefault((piece.color, piece.opacity, piece.layer), []).append(piece.triangles)
    return [Piece(joined(parts), *key) for key, parts in groups.items()]


def _stand_in(body: Body) -> list[Piece]:
    color = STYLES["float" if body.parent is None else "link"]
    hydro = body.hydro if isinstance(body.hydro, Hydro) else Hydro()
    for elements in (body.shapes, hydro.drag, hydro.added_mass):
        found = [(e, solid) for e in elements if (solid := solid_of(e)) is not None]
        if found:
            return [Piece(solid, getattr(e, "color", None) or color) for e, solid in found]
    if hydro.volume > 0.0:
        radius = (0.75 * hydro.volume / math.pi) ** (1.0 / 3.0)
        return [Piece(_ball(radius, hydro.buoyancy_center), color)]
    found_box = _inertia_box(body)
    return [Piece(found_box, color)] if found_box is not None else []


def _inertia_box(body: Body) -> Triangles | None:
    """Return the uniform box with the inertia of a body; a box less dense than air is scaled to the density of water."""

    def box(edges: tuple[float, ...]) -> Triangles:
        density = body.inertia.mass / math.prod(edges)
        shrink = (density / WATER) ** (1.0 / 3.0) if density < AIR else 1.0
        return CUBE.scaled(tuple(edge * shrink for edge in edges))

    return _of_inertia(body, box, 12.0)


def _of_inertia(body: Body, make: Any, factor: float) -> Triangles | None:
    """Return the uniform solid with the inertia of a body, with edges or semi-axes e_1² = factor/2 (I_2 + I_3 − I_1)/m.

    A box with edges e has I_1 = m (e_2² + e_3²)/12, so the factor is 12. The factor of an ellipsoid with semi-axes e is 5.
    """
    inertia = body.inertia
    if inertia.mass <= 0.0 or not any(inertia.tensor):
        return None
    moments, R = _right_handed(tensor_matrix(inertia.tensor))
    squares = 0.5 * factor * (moments.sum() - 2.0 * moments) / inertia.mass
    edges = np.sqrt(np.maximum(squares, 1e-4 * max(squares.max(), 1e-12)))
    return make(tuple(edges.tolist())).moved(R, inertia.com)


def _right_handed(matrix: Array) -> tuple[Array, Array]:
    """Return the eigenvalues of a symmetric matrix, shape (3,), and its right-handed principal axes, shape (3, 3)."""
    values, R = np.linalg.eigh(matrix.astype(float))
    return values, R * [np.sign(np.linalg.det(R)), 1.0, 1.0]


# -- properties -----------------------------------------------------------------------------------------------------------


def body_properties(body: Body, world: World, size: float) -> list[Piece]:
    """Return the properties of a body as translucent shapes, in separate layers.

    Each semi-axis of the added-mass ellipsoid is the radius of a sphere of water whose mass equals the added mass along the
    axis.
    """
    out = []
    for shape in body.shapes:
        if shape.contact and (solid := solid_of(shape)) is not None:
            out.append(Piece(solid, CONTACT, 0.35, "contact shapes"))
    ellipsoid = _of_inertia(body, BALL.scaled, 5.0)
    if ellipsoid is not None:
        out.append(Piece(ellipsoid, INERTIA, 0.35, "inertia"))
    if body.inertia.mass > 0.0:
        out.append(Piece(_ball(size, body.inertia.com), MASS, 1.0, "centres of mass"))
    if isinstance(body.hydro, Hydro):
        hydro = body.hydro
        if hydro.volume > 0.0:
            out.append(Piece(_ball(size, hydro.buoyancy_center), BUOYANCY, 1.0, "centres of buoyancy"))
        for element in hydro.drag:
            if (solid := solid_of(element)) is not None:
                out.append(Piece(solid, DRAG, 0.35, "drag shapes"))
        if hydro.added_mass and world.water_density > 0.0:
            M = np.sum([added_mass_matrix(e, world.water_density) for e in hydro.added_mass], axis=0)
            masses, R = _right_handed(M[:3, :3])
            radii = (np.maximum(masses, 1e-6 * abs(masses).max()) * 0.75 / math.pi / world.water_density) ** (1.0 / 3.0)
            if radii.max() > 0.0:
                solid = BALL.scaled(tuple(radii.tolist())).moved(R, hydro.buoyancy_center)
                out.append(Piece(solid, ADDED, 0.35, "added mass"))
    return _by_color(out)


def _ball(radius: float, center: tuple[float, ...]) -> Triangles:
    return BALL.scaled((radius,) * 3).moved(np.eye(3), center)
