"""Pictures of a scene without a display or a browser: triangles into a depth buffer, in NumPy."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from hydromechs.values import Array

from ._looks import Color
from ._scene import HIDDEN, Scene
from ._solids import Triangles, arrow, grid, joined

__all__ = ["AIR", "FOV", "WATER", "Camera", "camera_for", "raster", "scene_camera"]

WATER = (np.array([0.84, 0.94, 0.98]), np.array([0.25, 0.53, 0.70]))
AIR = (np.array([0.97, 0.98, 0.99]), np.array([0.80, 0.83, 0.86]))
"""Colours behind everything, above and below."""
FOV = 0.6
"""Angle of view from the bottom to the top of a picture [rad]."""
LIGHT = np.array([-0.35, 0.5, 0.79])
"""Direction to the light, along the camera's right, back and up."""
FINE = 2
"""Pixels along each edge that are averaged into one."""
LONGEST = 24
"""Longest extent of a triangle on the picture; longer ones are cut [pixels]."""
CHUNK = 500_000
"""Pixels that are tried at once."""


class Camera(NamedTuple):
    """Where a picture is taken from, in axes with z up."""

    position: Array
    """Its place [m], shape (3,)."""
    target: Array
    """What it looks at [m], shape (3,)."""


def camera_for(
    low: Array, high: Array, *, azimuth: float = -38.0, elevation: float = 20.0, aspect: float = 4.0 / 3.0
) -> Camera:
    """A camera that sees a box whole.

    Args:
        low: Lowest coordinates, z up [m], shape (3,).
        high: Highest coordinates [m], shape (3,).
        azimuth: Direction that it is seen from, about z from x [deg].
        elevation: Angle above the horizon that it is seen from [deg].
        aspect: Width of the picture over its height.
    """
    az, el = np.radians([azimuth, elevation])
    view = np.array([np.cos(el) * np.cos(az), np.cos(el) * np.sin(az), np.sin(el)])
    center = 0.5 * (low + high)
    corners = np.array([[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])]) - center
    right, back, up = _axes(view)
    tall = 0.95 * np.tan(0.5 * FOV)
    # from the distance d a corner at a, b, c along right, back, up is seen where |c| ≤ tall (d − b), |a| ≤ aspect tall (d − b)
    needed = corners @ back + np.maximum(np.abs(corners @ up), np.abs(corners @ right) / aspect) / tall
    return Camera(center + max(float(needed.max()), 1e-3) * view, center)


def scene_camera(scene: Scene, moments: Sequence[int] = (0,), *, azimuth: float = -38.0, aspect: float = 4.0 / 3.0) -> Camera:
    """A camera that sees the bodies of a scene at some times: from above, but from below the water's surface where it is near.

    Args:
        scene: The scene.
        moments: Indices of times.
        azimuth: Direction that it is seen from, about z from x [deg].
        aspect: Width of the picture over its height.
    """
    return camera_for(*scene.bounds(*moments), azimuth=azimuth, elevation=3.0 if scene.surfaces else 20.0, aspect=aspect)


def _axes(view: Array) -> tuple[Array, Array, Array]:
    """Right, back (towards the camera) and up of a camera that sits in the direction `view`, shape (3,) each."""
    back = view / np.linalg.norm(view)
    right = np.cross([0.0, 0.0, 1.0], back)
    right = right / np.linalg.norm(right) if np.linalg.norm(right) > 1e-9 else np.array([0.0, 1.0, 0.0])
    return right, back, np.cross(back, right)


def raster(
    scene: Scene,
    moments: Sequence[int] = (0,),
    *,
    size: tuple[int, int] = (960, 720),
    camera: Camera | None = None,
    layers: Collection[str] | None = None,
) -> Array:
    """The picture of a scene at one time, or with its bodies at several times.

    Args:
        scene: The scene.
        moments: Indices of times; arrows and surfaces are those of the last one.
        size: Width and height [pixels].
        camera: Where it is taken from; so that all bodies are seen unless given.
        layers: What to show; all but those that are `HIDDEN` unless given.

    Returns:
        Red, green and blue, 0 to 1, shape (height, width, 3).
    """
    shown = set(scene.layers) - HIDDEN if layers is None else set(layers)
    parts = list(_parts(scene, moments, shown))
    camera = camera or scene_camera(scene, moments, aspect=size[0] / size[1])
    buffer = _Buffer(size[0] * FINE, size[1] * FINE, camera, scene.wet)
    buffer.draw([part for part in parts if part.opacity >= 1.0])
    for line in scene.lines:
        if line.layer in shown:
            buffer.line(line.points @ scene.upright.T, line.color)
    for part in parts:
        if part.opacity < 1.0:
            buffer.draw([part], part.opacity)
    image = buffer.image.reshape(size[1], FINE, size[0], FINE, 3).mean(axis=(1, 3))
    return np.clip(image, 0.0, 1.0)


class _Part(NamedTuple):
    """A surface in axes with z up."""

    triangles: Triangles
    color: Color
    opacity: float


def _parts(scene: Scene, moments: Sequence[int], shown: Collection[str]) -> Iterator[_Part]:
    """All surfaces of a scene."""
    up = scene.upright
    for number, k in enumerate(moments):
        poses = scene.poses(k)
        for solid in scene.solids:
            if solid.layer in shown and (solid.frame or number == 0):
                R, p = poses[solid.frame]
                vertices = (solid.triangles.vertices @ R.T + p) @ up.T
                yield _Part(Triangles(vertices, solid.triangles.faces), solid.color, solid.opacity)
    for arrows in scene.arrows:
        if arrows.layer in shown:
            for tail, tip in arrows.ends[moments[-1]]:
                yield _Part(arrow(up @ tail, up @ tip, arrows.width), arrows.color, 1.0)
    for surface in scene.surfaces:
        if surface.layer in shown:
            triangles = grid(surface.x, surface.y, surface.z[moments[-1]])
            upper = Triangles(triangles.vertices @ up.T, triangles.faces)
            for faces in (upper.faces, upper.faces[:, ::-1]):
                yield _Part(Triangles(upper.vertices, faces), surface.color, surface.opacity)


class _Buffer:
    """Colours and depths of the pixels of a picture."""

    def __init__(self, width: int, height: int, camera: Camera, wet: bool) -> None:
        self.width, self.height = width, height
        top, bottom = WATER if wet else AIR
        part = np.linspace(0.0, 1.0, height)[:, None, None]
        self.image = np.broadcast_to((1.0 - part) * top + part * bottom, (height, width, 3)).reshape(-1, 3).copy()
        self.depth = np.full(width * height, np.inf)
        view = camera.position - camera.target
        self.R = np.stack(_axes(view))
        self.position, self.far = camera.position, float(np.linalg.norm(view))
        self.scale = 0.5 * height / np.tan(0.5 * FOV)
        self.fog = 0.5 * (top + bottom) if wet else None

    def _projected(self, points: Array) -> tuple[Array, Array, Array]:
        """Pixel coordinates of points, shape (n, 2), their distances along the view, and their places in the camera's axes."""
        local = (points - self.position) @ self.R.T
        distance = np.maximum(-local[:, 1], 1e-6)
        x = 0.5 * self.width + self.scale * local[:, 0] / distance
        y = 0.5 * self.height - self.scale * local[:, 2] / distance
        return np.stack([x, y], axis=1), np.where(local[:, 1] < -1e-3, distance, np.inf), local

    def _seen(self, color: Array, distance: Array) -> Array:
        """Colour as it is seen from a distance: the water takes light."""
        if self.fog is None:
            return color
        part = 0.55 * (1.0 - np.exp(-np.maximum(distance / self.far - 0.7, 0.0) * 0.8))
        return color + np.asarray(part)[..., None] * (self.fog - color)

    def draw(self, parts: Sequence[_Part], opacity: float = 1.0) -> None:
        """Draw the outer sides of surfaces, over what is behind them."""
        surface = joined(part.triangles for part in parts)
        faces = surface.faces
        colors = np.repeat([part.color for part in parts], [len(part.triangles.faces) for part in parts], axis=0)
        xy, distance, local = self._projected(surface.vertices)
        a, b, c = (xy[faces[:, k]] for k in range(3))
        area = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
        keep = (area < -1e-9) & np.isfinite(distance[faces]).all(axis=1)  # counter-clockwise where y points down
        keep &= (xy[faces].max(1) > 0.0).all(axis=1) & (xy[faces].min(1) < [self.width, self.height]).all(axis=1)
        faces = faces[keep]
        if not len(faces):
            return
        normal = np.cross(local[faces[:, 2]] - local[faces[:, 0]], local[faces[:, 1]] - local[faces[:, 0]])  # left-handed axes
        normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)
        shade = 0.38 + 0.62 * np.maximum(normal @ LIGHT, 0.0) + 0.10 * np.maximum(normal @ [0.9, 0.3, -0.3], 0.0)
        color = shade[:, None] * colors[keep]
        corners, near, owner = self._cut(local[faces])
        pixel, depth, owner = self._filled(corners, near, owner)
        front = depth < self.depth[pixel]
        pixel, depth, owner = pixel[front], depth[front], owner[front]
        order = np.argsort(depth, kind="stable")
        pixel, nearest = np.unique(pixel[order], return_index=True)
        depth, owner = depth[order][nearest], owner[order][nearest]
        self.image[pixel] += opacity * (self._seen(color[owner], depth) - self.image[pixel])
        if opacity >= 1.0:
            self.depth[pixel] = depth

    def _on_picture(self, local: Array) -> Array:
        """Pixel coordinates of places in the camera's axes."""
        return np.array([0.5 * self.width, 0.5 * self.height]) + self.scale * local[..., [0, 2]] / local[..., [1]] * [-1.0, 1.0]

    def _cut(self, local: Array) -> tuple[Array, Array, Array]:
        """Triangles cut across their longest edges until they are small on the picture, so that few pixels are tried in vain.

        Returns corners on the picture, shape (n, 3, 2), 1/distance there, shape (n, 3), and the triangle each is a piece of.
        """
        owner, done = np.arange(len(local)), []
        for _ in range(24):
            xy = self._on_picture(local)
            long = np.ptp(xy, axis=1).max(axis=1) > LONGEST
            done.append((local[~long], owner[~long]))
            local, owner, xy = local[long], owner[long], xy[long]
            if not len(local):
                break
            first = np.linalg.norm(xy - xy[:, [1, 2, 0]], axis=2).argmax(axis=1)
            n = np.arange(len(local))
            A, B, C = local[n, first], local[n, (first + 1) % 3], local[n, (first + 2) % 3]
            M = 0.5 * (A + B)
            local, owner = np.concatenate([np.stack([A, M, C], 1), np.stack([M, B, C], 1)]), np.concatenate([owner, owner])
        local, owner = np.concatenate([d[0] for d in done]), np.concatenate([d[1] for d in done])
        return self._on_picture(local), -1.0 / local[..., 1], owner

    def _filled(self, corners: Array, near: Array, owner: Array) -> tuple[Array, Array, Array]:
        """Pixels inside of triangles: their indices, distances and the numbers of the triangles."""
        size = np.array([self.width, self.height])
        first = np.clip(np.floor(corners.min(1)).astype(int), 0, size)
        extent = (np.clip(np.ceil(corners.max(1)).astype(int), 0, size) - first).max(axis=1)
        u, v = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
        area = u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]
        found = [(np.zeros(0, dtype=int), np.zeros(0), np.zeros(0, dtype=int))]
        edge = 1
        while edge < 2 * LONGEST:
            group = np.flatnonzero((extent > edge // 2) & (extent <= edge) & (area < 0.0))
            step = max(CHUNK // edge**2, 1)
            for start in range(0, len(group), step):
                found.append(self._inside(group[start : start + step], edge, corners, area, first, near))
            edge *= 2
        pixel, depth, which = (np.concatenate([f[k] for f in found]) for k in range(3))
        return pixel, depth, owner[which]

    def _inside(
        self, group: Array, edge: int, corners: Array, area: Array, first: Array, near: Array
    ) -> tuple[Array, Array, Array]:
        """Pixels inside of triangles that fit into squares of `edge` pixels: their indices, distances and triangles."""
        i = np.arange(edge)
        x = first[group, 0, None, None] + i[None, None, :]
        y = first[group, 1, None, None] + i[None, :, None]
        weights = []
        for k in range(3):
            p, q = corners[group, (k + 1) % 3], corners[group, (k + 2) % 3]
            u, v = (q - p).T[:, :, None, None]
            weights.append(
                (u * (y + 0.5 - p[:, 1, None, None]) - v * (x + 0.5 - p[:, 0, None, None])) / area[group, None, None]
            )
        inside = (weights[0] >= -1e-6) & (weights[1] >= -1e-6) & (weights[2] >= -1e-6) & (x < self.width) & (y < self.height)
        inverse = sum(w * near[group, k, None, None] for k, w in enumerate(weights))  # 1/distance is linear on the picture
        which = np.broadcast_to(group[:, None, None], inside.shape)
        pixel = np.broadcast_to(y * self.width + x, inside.shape)
        return pixel[inside], 1.0 / np.maximum(np.asarray(inverse)[inside], 1e-12), which[inside]

    def line(self, points: Array, color: Color) -> None:
        """Draw a line, over what is behind it."""
        if len(points) < 2:
            return
        xy, _, _ = self._projected(points)
        steps = np.minimum(np.ceil(np.abs(np.diff(xy, axis=0)).max(axis=1)), 4000).astype(int) + 1
        s = np.concatenate([k + np.arange(n) / n for k, n in enumerate(steps)])
        fine = np.stack([np.interp(s, np.arange(len(points)), points[:, k]) for k in range(3)], axis=1)
        xy, distance, _ = self._projected(fine)
        for dx in (-1, 0, 1):
            for dy in (-1, 0, 1):
                x, y = (xy + np.array([dx, dy])).astype(int).T
                ok = (x >= 0) & (x < self.width) & (y >= 0) & (y < self.height) & np.isfinite(distance)
                pixel = (y * self.width + x)[ok]
                front = distance[ok] < self.depth[pixel]
                self.image[pixel[front]] = self._seen(np.tile(color, (front.sum(), 1)), distance[ok][front])
