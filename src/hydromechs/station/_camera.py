"""Onboard cameras: cameras of the model, and a camera on the bow if there is none or if an arm blocks its view."""

from typing import NamedTuple

import numpy as np

from hydromechs.geometry import joined
from hydromechs.model import Model
from hydromechs.spatial import matrix_from_rpy
from hydromechs.values import Array
from hydromechs.viewer import Scene


class CameraPlace(NamedTuple):
    """Mounting of a camera."""

    name: str
    """Name shown to the pilot."""
    body: int
    """Index of the body that carries the camera."""
    position: Array
    """Position in body axes [m], shape (3,)."""
    axes: Array
    """Rotation matrix from camera to body axes, shape (3, 3); the camera looks along x."""


def camera_places(model: Model, scene: Scene, vehicle: int) -> list[CameraPlace]:
    """Return the cameras that a pilot can select: the camera from `camera_place`, then all other camera frames."""
    named = {name: model.locate(name) for name in model.frames if _is_camera(name)}
    first = camera_place(model, scene, vehicle)
    own = (name for name, (body, _, axes) in named.items() if body == vehicle and np.array_equal(axes, first[2]))
    out = [CameraPlace(next(own, "bow camera"), *first)]
    for name, (body, place, axes) in named.items():
        if name != out[0].name and model.moves[body]:
            out.append(CameraPlace(name, body, np.asarray(place, dtype=float), np.asarray(axes, dtype=float)))
    return out


def _is_camera(frame: str) -> bool:
    return frame.rpartition(".")[2].endswith("camera")


CLEAR = 0.05
"""Distance of a camera in front of the hull [m]."""
TILT = np.radians(30.0)
"""Downward angle of a camera on top of the bow [rad]."""
FREE = 0.75
"""Length of the line of sight that must be unobstructed, as a fraction of the size of the vehicle."""


def camera_place(model: Model, scene: Scene, vehicle: int) -> tuple[int, Array, Array]:
    """Return the body, position [m] and rotation matrix of the onboard camera, in body axes; the camera looks along x.

    The camera is at the vehicle frame whose name ends with `camera`, moved out of the hull. If there is no such frame, or if
    an arm initially blocks the view, the camera is on top of the bow and points 30° downwards.
    """
    own = model.body_names[vehicle]
    hull = joined(s.triangles for s in scene.solids if s.frame == own and s.layer == "bodies")
    corners = hull.vertices if len(hull.vertices) else np.zeros((1, 3))
    low, high = corners.min(axis=0), corners.max(axis=0)
    size = float(np.linalg.norm(high - low))
    poses = scene.poses(0)
    R_V, p_V = poses[own]
    others = {
        name: (R_V.T @ R, R_V.T @ (p - p_V)) for name, (R, p) in poses.items() if name in model.body_names and name != own
    }
    blocking = joined(s.triangles.moved(*others[s.frame]) for s in scene.solids if s.frame in others and s.layer == "bodies")
    for name in model.frames:
        if _is_camera(name) and model.locate(name)[0] == vehicle:
            _, place, axes = model.locate(name)
            p, R = np.asarray(place, dtype=float), np.asarray(axes, dtype=float)
            far = size + float(np.linalg.norm(p - 0.5 * (low + high)))  # beyond the hull, which the ray enters from outside
            ahead = far - hull.ray(p + far * R[:, 0], -R[:, 0])
            if ahead > 0.0:
                p = p + (ahead + CLEAR) * R[:, 0]
            if blocking.ray(p, R[:, 0]) >= FREE * size:
                return vehicle, p, R
    down = float(model.world.down[2])
    bow = np.array([high[0] + CLEAR, 0.5 * (low[1] + high[1]), (low if down > 0.0 else high)[2] - CLEAR * down])
    return vehicle, bow, np.array(matrix_from_rpy((0.0, -down * TILT, 0.0)), dtype=float)
