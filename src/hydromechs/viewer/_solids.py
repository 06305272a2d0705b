"""Surfaces of triangles: the solids that scenes are made of. Outward sides are counter-clockwise."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hydromechs.geometry import read_mesh
from hydromechs.values import Array

__all__ = [
    "Triangles",
    "arrow",
    "box",
    "capsule",
    "cylinder",
    "duct",
    "ellipsoid",
    "grid",
    "joined",
    "mesh_file",
    "moved",
    "propeller",
    "revolved",
]

SIDES = 32
"""Sides of what is round."""


class Triangles(NamedTuple):
    """A surface of triangles."""

    vertices: Array
    """Corners [m], shape (nv, 3)."""
    faces: Array
    """Indices of the corners of each triangle, counter-clockwise from outside, shape (nf, 3)."""


def joined(parts: Iterable[Triangles]) -> Triangles:
    """Several surfaces as one.

    Args:
        parts: The surfaces.
    """
    parts = list(parts)
    starts = np.cumsum([0, *(len(p.vertices) for p in parts)])
    if not parts:
        return Triangles(np.zeros((0, 3)), np.zeros((0, 3), dtype=int))
    faces = [p.faces + start for p, start in zip(parts, starts, strict=False)]
    return Triangles(np.concatenate([p.vertices for p in parts]), np.concatenate(faces))


def moved(surface: Triangles, R: Array, p: Array | tuple[float, ...]) -> Triangles:
    """A surface in another frame.

    Args:
        surface: The surface.
        R: Axes of its frame, shape (3, 3).
        p: Origin of its frame [m], shape (3,).
    """
    return Triangles(surface.vertices @ np.asarray(R).T + np.asarray(p), surface.faces)


def box(size: tuple[float, ...], rounding: float = 0.0) -> Triangles:
    """A box about its centre, its edges rounded.

    Args:
        size: Edge lengths [m], shape (3,).
        rounding: Radius of the edges [m].
    """
    half = 0.5 * np.array(size)
    # each face is a grid whose lines crowd at its edges; a point moves to the rounding's distance from the box within
    steps = np.sin(np.linspace(0.0, np.pi / 2, 4)) if rounding else np.array([1.0])
    parts = []
    for axis in range(3):
        a, b = (axis + 1) % 3, (axis + 2) % 3
        for sign in (-1.0, 1.0):
            lines = []
            for k in (a, b):
                inner = half[k] - rounding
                ends = inner + rounding * steps if rounding else np.array([half[k]])
                lines.append(np.concatenate([-ends[::-1], ends]))
            n = len(lines[0])
            points = np.zeros((n * n, 3))
            points[:, a], points[:, b] = (m.ravel() for m in np.meshgrid(*lines, indexing="ij"))
            points[:, axis] = sign * half[axis]
            if rounding:
                core = np.clip(points, rounding - half, half - rounding)
                out = points - core
                points = core + rounding * out / np.linalg.norm(out, axis=1, keepdims=True)
            faces = _quads(n, n)
            parts.append(Triangles(points, faces if sign > 0 else faces[:, ::-1]))
    return joined(parts)


def _quads(n: int, m: int, *, closed: bool = False) -> Array:
    """Triangles of a grid of n × m points, row-major; closed along the second direction."""
    i, j = np.meshgrid(np.arange(n - 1), np.arange(m if closed else m - 1), indexing="ij")
    a, b = i * m + j, i * m + (j + 1) % m
    c, d = a + m, b + m
    return np.stack([np.stack([a, c, d], axis=-1), np.stack([a, d, b], axis=-1)], axis=2).reshape(-1, 3)


def grid(x: Array, y: Array, z: Array) -> Triangles:
    """A surface over a grid, its upper side (towards +z) outside.

    Args:
        x: Grid lines [m], shape (nx,).
        y: Grid lines [m], shape (ny,).
        z: Heights [m], shape (nx, ny).
    """
    X, Y = np.meshgrid(x, y, indexing="ij")
    return Triangles(np.stack([X.ravel(), Y.ravel(), z.ravel()], axis=1), _quads(len(x), len(y)))


def revolved(profile: Array | list[tuple[float, float]], sides: int = SIDES) -> Triangles:
    """A profile turned about z.

    Args:
        profile: Radius and z of its points, so that outside is to the right of its direction [m], shape (n, 2).
        sides: Number of sides.
    """
    r, z = np.asarray(profile, dtype=float).T
    angle = np.linspace(0.0, 2.0 * np.pi, sides, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    points = np.concatenate([r[:, None, None] * ring, np.broadcast_to(z[:, None, None], (len(r), sides, 1))], axis=2)
    return Triangles(points.reshape(-1, 3), _quads(len(r), sides, closed=True)[:, ::-1])


def _sharp(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """A profile with each corner twice, so that shading does not round it."""
    return [points[0], *(p for p in points[1:-1] for _ in range(2)), points[-1]]


def cylinder(radius: float, length: float, bore: float = 0.0) -> Triangles:
    """A cylinder or a tube about its centre, along z.

    Args:
        radius: Radius [m].
        length: Length [m].
        bore: Radius of the hole [m].
    """
    h = 0.5 * length
    if bore:
        return revolved(_sharp([(bore, -h), (radius, -h), (radius, h), (bore, h), (bore, -h)]))
    return revolved(_sharp([(0.0, -h), (radius, -h), (radius, h), (0.0, h)]))


def capsule(radius: float, length: float) -> Triangles:
    """A cylinder with round caps about its centre, along z.

    Args:
        radius: Radius [m].
        length: Length between the centres of the caps [m].
    """
    angle = np.linspace(-np.pi / 2, 0.0, SIDES // 4 + 1)
    low = np.stack([radius * np.cos(angle), radius * np.sin(angle) - 0.5 * length], axis=1)
    return revolved(np.concatenate([low, low[::-1] * [1.0, -1.0]]))


def ellipsoid(axes: tuple[float, ...]) -> Triangles:
    """An ellipsoid about its centre.

    Args:
        axes: Half lengths [m], shape (3,).
    """
    angle = np.linspace(-np.pi / 2, np.pi / 2, SIDES // 2 + 1)
    unit = revolved(np.stack([np.cos(angle), np.sin(angle)], axis=1))
    return Triangles(unit.vertices * np.array(axes), unit.faces)


def duct(radius: float, length: float) -> Triangles:
    """The nozzle of a thruster about its centre, along x, with its hub and three struts.

    Args:
        radius: Outer radius [m].
        length: Length [m].
    """
    r, h = radius, 0.5 * length
    nozzle = revolved(
        [(0.86 * r, -h), (0.93 * r, -1.05 * h), (r, -0.8 * h), (r, 0.5 * h), (0.93 * r, h), (0.84 * r, h), (0.86 * r, -h)]
    )
    hub = revolved([(0.0, -1.4 * h), (0.12 * r, -1.35 * h), (0.2 * r, -h), (0.2 * r, 0.0), (0.0, 0.0)])
    struts = [
        moved(
            box((0.7 * r, 0.06 * r, 0.3 * h)),
            _turn(k * 2.0 * np.pi / 3.0),
            _turn(k * 2.0 * np.pi / 3.0) @ (0.53 * r, 0.0, -0.75 * h),
        )
        for k in range(3)
    ]
    return moved(joined([nozzle, hub, *struts]), _Z_TO_X, (0.0, 0.0, 0.0))


def propeller(radius: float, length: float) -> Triangles:
    """The propeller of a thruster with that duct, along x.

    Args:
        radius: Outer radius of the duct [m].
        length: Length of the duct [m].
    """
    r, h = radius, 0.5 * length
    nose = revolved([(0.21 * r, 0.0), (0.21 * r, 0.5 * h), (0.12 * r, 0.9 * h), (0.0, h)])
    s = np.linspace(0.15, 0.8, 6) * r
    twist = np.linspace(1.1, 0.45, 6)
    chord = np.array([0.12, 0.24, 0.3, 0.3, 0.26, 0.12]) * r
    edge = np.stack([np.zeros(6), chord * np.cos(twist), chord * np.sin(twist)], axis=1)
    middle = np.stack([s, np.zeros(6), np.full(6, 0.35 * h)], axis=1)
    blade = np.concatenate([middle - edge, middle + edge]).reshape(2, 6, 3).transpose(1, 0, 2).reshape(-1, 3)
    faces = _quads(6, 2)
    both = Triangles(np.concatenate([blade, blade]), np.concatenate([faces, faces[:, ::-1] + len(blade)]))
    blades = [moved(both, _turn(k * np.pi / 2.0), (0.0, 0.0, 0.0)) for k in range(4)]
    return moved(joined([nose, *blades]), _Z_TO_X, (0.0, 0.0, 0.0))


_Z_TO_X = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


def _turn(angle: float) -> Array:
    """Rotation about z, shape (3, 3)."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def arrow(start: Array, end: Array, width: float) -> Triangles:
    """An arrow from one point to another; nothing where they are the same.

    Args:
        start: Its tail [m], shape (3,).
        end: Its tip [m], shape (3,).
        width: Radius of its shaft [m].
    """
    length = float(np.linalg.norm(end - start))
    if length < 1e-9:
        return joined([])
    z = (end - start) / length
    x = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
    x /= np.linalg.norm(x)
    head = min(5.0 * width, length)
    profile = _sharp([(0.0, 0.0), (width, 0.0), (width, length - head), (2.5 * width, length - head), (0.0, length)])
    return moved(revolved(profile, 12), np.stack([x, np.cross(z, x), z], axis=1), start)


def mesh_file(path: str | Path) -> list[tuple[Triangles, tuple[float, float, float] | None]]:
    """Return the parts of a mesh file with their colours, None for a part without one.

    Args:
        path: OBJ, STL, GLB or DAE file.
    """
    return [
        (Triangles(np.asarray(part.vertices, dtype=float), np.asarray(part.faces, dtype=int)), _mesh_color(part))
        for part in read_mesh(path)
    ]


def _mesh_color(part: Any) -> tuple[float, float, float] | None:
    """The colour that a mesh file gives to a part, of a texture its mean; None where it says none."""
    import trimesh

    look = part.visual
    if isinstance(look, trimesh.visual.TextureVisuals):
        color = None if look.material is None else look.material.main_color
    else:
        color = look.main_color if look.defined else None
    return None if color is None else (float(color[0]) / 255.0, float(color[1]) / 255.0, float(color[2]) / 255.0)
