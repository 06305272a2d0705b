"""What is drawn of a body: its looks, or a stand-in made of what the equations know of it, and its properties as shapes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from functools import singledispatch
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hydromechs.model import Body, Hydro, Model, World, added_mass, added_mass_matrix, drag, shapes, visual
from hydromechs.spatial import tensor_matrix
from hydromechs.values import Array

from . import _solids as solids
from ._solids import Triangles, joined, moved

__all__ = ["ROLES", "DrawingWarning", "Piece", "Propeller", "body_looks", "body_properties", "drawing_notes", "solid_of"]

Color = tuple[float, float, float]

ROLES: dict[str, Color] = {
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
}
"""Colours by role, each from 0 to 1."""
PROPELLER: Color = (0.78, 0.62, 0.25)
CONTACT: Color = (0.85, 0.20, 0.55)
DRAG: Color = (0.10, 0.60, 0.45)
ADDED: Color = (0.10, 0.45, 0.80)
INERTIA: Color = (0.85, 0.45, 0.10)
BUOYANCY: Color = (0.05, 0.35, 0.85)
MASS: Color = (0.75, 0.10, 0.10)
AIR, WATER = 1.2, 1000.0
"""Densities of air and of water [kg/m³]."""
UNREADABLE: Color = (0.5, 0.5, 0.5)
"""Colour of the box that replaces an unreadable mesh."""
UNREADABLE_SIZE = 0.1
"""Edge length of that box for a body without inertia [m]."""


class DrawingWarning(UserWarning):
    """A visual is not drawn as the model specifies."""


class Piece(NamedTuple):
    """A part of a body that has one colour."""

    triangles: Triangles
    """Surface in the body's axes."""
    color: Color
    """Red, green, blue, 0 to 1."""
    opacity: float = 1.0
    """0 is not seen, 1 is solid."""
    layer: str = "looks"
    """What it shows, for switching it on and off."""


class Propeller(NamedTuple):
    """A part that turns about x of its frame."""

    R: Array
    """Axes of its frame on the body, shape (3, 3)."""
    p: Array
    """Origin of its frame on the body [m], shape (3,)."""
    piece: Piece
    """What it looks like, in its frame."""


# -- solids of elements ---------------------------------------------------------------------------------------------------


@singledispatch
def solid_of(element: Any) -> Triangles | None:
    """The surface of a shape of any kind in the axes of its body; None for what has no shape.

    Args:
        element: A shape, a look, an element of drag or of added mass.
    """
    return None


def _placed(element: Any, surface: Triangles) -> Triangles:
    return moved(surface, element.origin.R, element.origin.xyz)


@solid_of.register
def _(element: visual.Box) -> Triangles:
    return _placed(element, solids.box(element.size, element.rounding))


@solid_of.register(shapes.Box)
@solid_of.register(drag.Box)
@solid_of.register(added_mass.Box)
def _(element: Any) -> Triangles:
    return _placed(element, solids.box(element.size))


@solid_of.register
def _(element: visual.Cylinder) -> Triangles:
    return _placed(element, solids.cylinder(element.radius, element.length, element.bore))


@solid_of.register
def _(element: shapes.Cylinder) -> Triangles:
    return _placed(element, solids.cylinder(element.radius, element.length))


@solid_of.register(shapes.Capsule)
@solid_of.register(visual.Capsule)
def _(element: Any) -> Triangles:
    return _placed(element, solids.capsule(element.radius, element.length))


@solid_of.register(shapes.Sphere)
@solid_of.register(visual.Sphere)
def _(element: Any) -> Triangles:
    return _placed(element, solids.ellipsoid((element.radius,) * 3))


@solid_of.register(visual.Ellipsoid)
@solid_of.register(drag.Ellipsoid)
@solid_of.register(added_mass.Ellipsoid)
def _(element: Any) -> Triangles:
    return _placed(element, solids.ellipsoid(element.axes))


@solid_of.register(drag.Sphere)
@solid_of.register(added_mass.Sphere)
def _(element: Any) -> Triangles:
    return moved(solids.ellipsoid((element.radius,) * 3), np.eye(3), element.center)


@solid_of.register(drag.Cylinder)
@solid_of.register(added_mass.Cylinder)
def _(element: Any) -> Triangles:
    start, end = np.array(element.start), np.array(element.end)
    length = float(np.linalg.norm(end - start))
    return moved(solids.cylinder(element.radius, length), _along((end - start) / length), 0.5 * (start + end))


@solid_of.register
def _(element: drag.Foil) -> Triangles:
    normal = np.array(element.normal) / np.linalg.norm(element.normal)
    chord = np.array(element.chord) / np.linalg.norm(element.chord)
    edge = math.sqrt(element.area)
    R = np.stack([chord, np.cross(normal, chord), normal], axis=1)
    return moved(solids.box((edge, edge, 0.06 * edge)), R, element.position)


@solid_of.register
def _(element: visual.Thruster) -> Triangles:
    return _placed(element, solids.duct(element.radius, element.length))


def _along(z: Array) -> Array:
    """Axes whose last one is the unit vector z, shape (3, 3)."""
    x = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


# -- looks ----------------------------------------------------------------------------------------------------------------


def body_looks(body: Body) -> tuple[list[Piece], list[Propeller]]:
    """Return the visuals of a body: a piece for each colour, and its propellers.

    A body without visuals is drawn from the first of these that it has: shapes, drag elements, added-mass elements, its
    volume as a sphere, its inertia as a box. An unreadable mesh becomes a grey box, with a warning.

    Args:
        body: The body.
    """
    pieces: list[Piece] = []
    propellers = []
    for look in body.visual:
        color = look.color or ROLES[look.role]
        if isinstance(look, visual.Mesh):
            pieces += _mesh_pieces(look, body)
        else:
            pieces.append(Piece(_solid(look), color, look.opacity))
        if isinstance(look, visual.Thruster):
            piece = Piece(solids.propeller(look.radius, look.length), PROPELLER)
            propellers.append(Propeller(look.origin.R, np.array(look.origin.xyz), piece))
    return _by_color(pieces or _stand_in(body)), propellers


def drawing_notes(model: Model) -> list[str]:
    """List the visuals of a model that cannot be drawn as specified.

    Args:
        model: The model.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DrawingWarning)
        for body in model.bodies:
            body_looks(body)
    return [str(warning.message) for warning in caught]


def _solid(element: Any) -> Triangles:
    surface = solid_of(element)
    if surface is None:
        raise TypeError(f"{element!r} has no shape")
    return surface


def _mesh_pieces(look: visual.Mesh, body: Body) -> list[Piece]:
    try:
        parts = solids.mesh_file(Path(look.folder) / look.file)
    except (OSError, ValueError) as error:  # a visual must not stop a run
        warnings.warn(f"body {body.name!r}: {error}; a grey box is drawn instead", DrawingWarning, stacklevel=2)
        box = _inertia_box(body)
        return [Piece(_placed(look, solids.box((UNREADABLE_SIZE,) * 3)) if box is None else box, UNREADABLE)]
    out = []
    for surface, color in parts:
        flip = math.prod(look.scale) < 0.0  # a mirror turns the triangles inside out
        faces = surface.faces[:, ::-1] if flip else surface.faces
        scaled = Triangles(surface.vertices * np.array(look.scale), faces)
        out.append(Piece(_placed(look, scaled), look.color or color or ROLES[look.role], look.opacity))
    return out


def _by_color(pieces: Iterable[Piece]) -> list[Piece]:
    """Pieces of one colour joined."""
    groups: dict[tuple[Color, float, str], list[Triangles]] = {}
    for piece in pieces:
        groups.setdefault((piece.color, piece.opacity, piece.layer), []).append(piece.triangles)
    return [Piece(joined(parts), *key) for key, parts in groups.items()]


def _stand_in(body: Body) -> list[Piece]:
    color = ROLES["float" if body.parent is None else "link"]
    hydro = body.hydro if isinstance(body.hydro, Hydro) else Hydro()
    for elements in (body.shapes, hydro.drag, hydro.added_mass):
        found = [(e, solid) for e in elements if (solid := solid_of(e)) is not None]
        if found:
            return [Piece(solid, getattr(e, "color", None) or color) for e, solid in found]
    if hydro.volume > 0.0:
        radius = (0.75 * hydro.volume / math.pi) ** (1.0 / 3.0)
        return [Piece(moved(solids.ellipsoid((radius,) * 3), np.eye(3), hydro.buoyancy_center), color)]
    found_box = _inertia_box(body)
    return [Piece(found_box, color)] if found_box is not None else []


def _inertia_box(body: Body) -> Triangles | None:
    """Return the box of a body's inertia; if it would be less dense than air, shrunk to the density of water."""

    def box(edges: tuple[float, ...]) -> Triangles:
        density = body.inertia.mass / math.prod(edges)
        shrink = (density / WATER) ** (1.0 / 3.0) if density < AIR else 1.0
        return solids.box(tuple(edge * shrink for edge in edges))

    return _of_inertia(body, box, 12.0)


def _of_inertia(body: Body, make: Any, factor: float) -> Triangles | None:
    """A solid whose edges or half axes e² = factor/2 (I_2 + I_3 − I_1)/m are those of uniform density with the body's inertia.

    A box of edges e has I_1 = m (e_2² + e_3²)/12, so the factor is 12; an ellipsoid of half axes e 5.
    """
    inertia = body.inertia
    if inertia.mass <= 0.0 or not any(inertia.tensor):
        return None
    moments, R = np.linalg.eigh(tensor_matrix(inertia.tensor).astype(float))
    squares = 0.5 * factor * (moments.sum() - 2.0 * moments) / inertia.mass
    edges = np.sqrt(np.maximum(squares, 1e-4 * max(squares.max(), 1e-12)))
    if np.linalg.det(R) < 0.0:
        R[:, 0] *= -1.0
    return moved(make(tuple(edges.tolist())), R, inertia.com)


# -- properties -----------------------------------------------------------------------------------------------------------


def body_properties(body: Body, world: World, size: float) -> list[Piece]:
    """What the equations know of a body, as translucent shapes in layers.

    The ellipsoid of added mass has, along each of its principal directions, the radius of the ball of water whose mass is that
    added mass.

    Args:
        body: The body.
        world: Its surroundings.
        size: Radius of the balls that mark points [m].
    """
    out = []
    for shape in body.shapes:
        if shape.contact and (solid := solid_of(shape)) is not None:
            out.append(Piece(solid, CONTACT, 0.35, "contact shapes"))
    ellipsoid = _of_inertia(body, solids.ellipsoid, 5.0)
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
            M = np.sum([added_mass_matrix(e, world.water_density) for e in hydro.added_mass], axis=0).astype(float)
            masses, R = np.linalg.eigh(M[:3, :3])
            radii = (np.maximum(masses, 1e-6 * abs(masses).max()) * 0.75 / math.pi / world.water_density) ** (1.0 / 3.0)
            if np.linalg.det(R) < 0.0:
                R[:, 0] *= -1.0
            if radii.max() > 0.0:
                solid = moved(solids.ellipsoid(tuple(radii.tolist())), R, hydro.buoyancy_center)
                out.append(Piece(solid, ADDED, 0.35, "added mass"))
    return _by_color(out)


def _ball(radius: float, center: tuple[float, ...]) -> Triangles:
    return moved(solids.ellipsoid((radius,) * 3), np.eye(3), center)
