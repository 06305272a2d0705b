"""Position of the onboard camera: that of the model, or on top of the bow if the arm blocks the model's camera."""

from __future__ import annotations

import numpy as np

from hydromechs.model import Model
from hydromechs.spatial import matrix_from_rpy
from hydromechs.values import Array
from hydromechs.viewer import Scene

CLEAR = 0.05
"""Distance from the hull to a camera in front of it [m]."""
TILT = np.radians(30.0)
"""Angle by which a camera on top of the bow looks down [rad]."""
FREE = 0.75
"""Length of the line of sight that must be unobstructed, over the size of the vehicle."""


def camera_place(model: Model, scene: Scene, vehicle: int) -> tuple[int, Array, Array]:
    """Return body, position [m] and axes of the onboard camera, in the body's axes; x is its line of sight.

    The camera is the frame of the vehicle whose name ends with `camera`, moved out of the vehicle's own hull. If there is none,
    or if an arm blocks its view at the start, the camera is on top of the bow and looks slightly down.
    """
    own = model.body_names[vehicle]
    hull = _triangles(scene, own, np.eye(3), np.zeros(3))
    corners = hull.reshape(-1, 3) if len(hull) else np.zeros((1, 3))
    low, high = corners.min(axis=0), corners.max(axis=0)
    poses = scene.poses(0)
    R_V, p_V = poses[own]
    others = [(name, *poses[name]) for name in model.body_names if name != own]
    parts = [_triangles(scene, name, R_V.T @ R, R_V.T @ (p - p_V)) for name, R, p in others]
    blocking = np.concatenate([np.zeros((0, 3, 3)), *parts])
    for name in model.frames:
        if name.rpartition(".")[2].endswith("camera") and model.locate(name)[0] == vehicle:
            _, place, axes = model.locate(name)
            p, R = np.asarray(place, dtype=float), np.asarray(axes, dtype=float)
            inside = _hits(hull, p, R[:, 0])
            if len(inside):
                p = p + (inside.max() + CLEAR) * R[:, 0]
            if not (_hits(blocking, p, R[:, 0]) < FREE * np.linalg.norm(high - low)).any():
                return vehicle, p, R
    down = float(model.world.down[2])
    bow = np.array([high[0] + CLEAR, 0.5 * (low[1] + high[1]), (low if down > 0.0 else high)[2] - CLEAR * down])
    return vehicle, bow, np.array(matrix_from_rpy((0.0, -down * TILT, 0.0)), dtype=float)


def _triangles(scene: Scene, frame: str, R: Array, p: Array) -> Array:
    """Return the triangles of the visuals of a body, rotated and translated, shape (n, 3, 3)."""
    found = [s.triangles.vertices[s.triangles.faces] @ R.T + p for s in scene.solids if s.frame == frame and s.layer == "looks"]
    return np.concatenate([np.zeros((0, 3, 3)), *found])


def _hits(triangles: Array, p: Array, d: Array) -> Array:
    """Return the distances at which a ray intersects triangles (Möller and Trumbore) [m], shape (hits,)."""
    a, e1, e2 = triangles[:, 0], triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    h = np.cross(d, e2)
    det = np.einsum("ij,ij->i", e1, h)
    with np.errstate(divide="ignore", invalid="ignore"):
        s = p - a
        q = np.cross(s, e1)
        u, v, t = np.einsum("ij,ij->i", s, h) / det, q @ d / det, np.einsum("ij,ij->i", e2, q) / det
        hit = (np.abs(det) > 1e-14) & (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (t > 0.0)
    return np.asarray(t[hit])
