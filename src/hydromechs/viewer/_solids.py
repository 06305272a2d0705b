"""Triangulated surfaces that are used only in scenes: thrusters, arrows, mesh files with colours."""

from pathlib import Path
from typing import Any

import numpy as np

from hydromechs.geometry import Box, Triangles, joined, quads, read_mesh, revolved
from hydromechs.spatial import axis_frame, planar_rotation
from hydromechs.values import Array


def duct(radius: float, length: float) -> Triangles:
    """Return the nozzle of a thruster with hub and three struts, centred at the origin along z; radius and length in [m]."""
    r, h = radius, 0.5 * length
    nozzle = revolved(
        [(0.86 * r, -h), (0.93 * r, -1.05 * h), (r, -0.8 * h), (r, 0.5 * h), (0.93 * r, h), (0.84 * r, h), (0.86 * r, -h)]
    )
    hub = revolved([(0.0, -1.4 * h), (0.12 * r, -1.35 * h), (0.2 * r, -h), (0.2 * r, 0.0), (0.0, 0.0)])
    strut = Box(size=(0.7 * r, 0.06 * r, 0.3 * h)).at((0.53 * r, 0.0, -0.75 * h)).triangulate()
    struts = [strut.moved(turn_about_z(k * 2.0 * np.pi / 3.0), (0.0, 0.0, 0.0)) for k in range(3)]
    return joined([nozzle, hub, *struts])


def propeller(radius: float, length: float) -> Triangles:
    """Return the propeller that fits a duct with a radius and length [m], along z."""
    r, h = radius, 0.5 * length
    nose = revolved([(0.21 * r, 0.0), (0.21 * r, 0.5 * h), (0.12 * r, 0.9 * h), (0.0, h)])
    s = np.linspace(0.15, 0.8, 6) * r
    twist = np.linspace(1.1, 0.45, 6)
    chord = np.array([0.12, 0.24, 0.3, 0.3, 0.26, 0.12]) * r
    edge = np.stack([np.zeros(6), chord * np.cos(twist), chord * np.sin(twist)], axis=1)
    middle = np.stack([s, np.zeros(6), np.full(6, 0.35 * h)], axis=1)
    blade = np.concatenate([middle - edge, middle + edge]).reshape(2, 6, 3).transpose(1, 0, 2).reshape(-1, 3)
    faces = quads(6, 2)
    both = Triangles(np.concatenate([blade, blade]), np.concatenate([faces, faces[:, ::-1] + len(blade)]))
    blades = [both.moved(turn_about_z(k * np.pi / 2.0), (0.0, 0.0, 0.0)) for k in range(4)]
    return joined([nose, *blades])


def turn_about_z(angle: float) -> Array:
    """Return the rotation matrix about z for an angle [rad], shape (3, 3)."""
    return planar_rotation(2, np.cos(angle), np.sin(angle))


def arrow(start: Array, end: Array, width: float) -> Triangles:
    """Return an arrow between two points [m], shape (3,) each, with shaft radius `width` [m]; empty if the points coincide."""
    length = float(np.linalg.norm(end - start))
    if length < 1e-9:
        return joined([])
    head = min(5.0 * width, length)
    profile = [(0.0, 0.0), (width, 0.0), (width, length - head), (2.5 * width, length - head), (0.0, length)]
    return revolved(profile, 12, sharp=True).moved(axis_frame(start, end)[0], start)


def mesh_file(path: str | Path) -> list[tuple[Triangles, tuple[float, float, float] | None]]:
    """Return the parts of an OBJ, STL, GLB or DAE file, each with its colour, or None for a part without colour."""
    return [
        (Triangles(np.asarray(part.vertices, dtype=float), np.asarray(part.faces, dtype=int)), _mesh_color(part))
        for part in read_mesh(path)
    ]


def _mesh_color(part: Any) -> tuple[float, float, float] | None:
    """Return the colour of a part in a mesh file, without textures, or None if the file does not specify a colour."""
    import trimesh

    look = part.visual
    if isinstance(look, trimesh.visual.TextureVisuals):
        color = None if look.material is None else look.material.main_color
    else:
        color = look.main_color if look.defined else None
    return None if color is None else (float(color[0]) / 255.0, float(color[1]) / 255.0, float(color[2]) / 255.0)
