"""Depth-buffer rasteriser in NumPy, which draws scenes without a display or a browser."""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from hydromechs.geometry import Triangles, grid, joined
from hydromechs.values import Array

from ._looks import Color
from ._scene import HIDDEN, Scene
from ._solids import arrow

WATER = (np.array([0.84, 0.94, 0.98]), np.array([0.25, 0.53, 0.70]))
AIR = (np.array([0.97, 0.98, 0.99]), np.array([0.80, 0.83, 0.86]))
"""Background colours at the top and bottom: red, green, blue, from 0 to 1."""
FOV = 0.6
"""Vertical field of view [rad]."""
LIGHT = np.array([-0.351, 0.501, 0.791])
"""Unit vector towards the light, with components along right, back and up of the camera."""
SHADOW = 400
"""Number of cells along the longer edge of the shadow map."""
FINE = 2
"""Number of rendered pixels, in each direction, that are averaged into one pixel of the picture."""
NEAR = 0.01
"""Near clipping distance, as a fraction of the distance from the camera to its target."""


class Camera(NamedTuple):
    """Camera of a picture, in axes with z up."""

    position: Array
    """Position [m], shape (3,)."""
    target: Array
    """Point at which the camera looks [m], shape (3,)."""


def camera_for(
    low: Array, high: Array, *, azimuth: float = -38.0, elevation: float = 20.0, aspect: float = 4.0 / 3.0
) -> Camera:
    """Return a camera whose view contains a complete box.

    Args:
        low: Minimum coordinates of the box, z up [m], shape (3,).
        high: Maximum coordinates of the box, z up [m], shape (3,).
        azimuth: Azimuth of the camera about z, from x [deg].
        elevation: Elevation of the camera above the horizon [deg].
        aspect: Ratio of width to height of the picture.
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
    """Return a camera that sees the bodies of a scene at some times, from a low elevation if the scene has a water surface."""
    return camera_for(*scene.bounds(*moments), azimuth=azimuth, elevation=3.0 if scene.surfaces else 20.0, aspect=aspect)


def _axes(view: Array) -> tuple[Array, Array, Array]:
    """Return the directions right, back and up of a camera located in the direction `view` from its target, shape (3,) each."""
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
    """Return the picture of a scene, with its bodies at one or several times.

    Args:
        scene: Scene to draw.
        moments: Indices of times; arrows and surfaces are drawn at the last of these times.
        size: Width and height [pixel].
        camera: Camera. Defaults to a camera that sees all bodies.
        layers: Layers to show. Defaults to all layers except `HIDDEN`.

    Returns:
        Red, green and blue, from 0 to 1, shape (height, width, 3).
    """
    shown = set(scene.layers) - HIDDEN if layers is None else set(layers)
    parts = list(_parts(scene, moments, shown))
    camera = camera or scene_camera(scene, moments, aspect=size[0] / size[1])
    buffer = _Buffer(size[0] * FINE, size[1] * FINE, camera, scene.wet)
    buffer.cast([part for part in parts if part.casts])
    buffer.draw([part for part in parts if part.opacity >= 1.0])
    for line in scene.lines:
        if line.layer in shown:
            buffer.line(line.points @ scene.upright.T, line.color)
    for strand in scene.strands:
        for k in moments if strand.layer in shown else ():
            buffer.line(strand.points[k] @ scene.upright.T, strand.color)
    for part in parts:
        if part.opacity < 1.0:
            buffer.draw([part], part.opacity)
    image = buffer.image.reshape(size[1], FINE, size[0], FINE, 3).mean(axis=(1, 3))
    return np.clip(image, 0.0, 1.0)


class _Part(NamedTuple):
    """Surface to draw, in axes with z up."""

    triangles: Triangles
    color: Color
    opacity: float
    casts: bool = False
    """True if the surface casts a shadow."""


def _parts(scene: Scene, moments: Sequence[int], shown: Collection[str]) -> Iterator[_Part]:
    up = scene.upright
    for number, k in enumerate(moments):
        poses = scene.poses(k)
        for solid in scene.solids:
            if solid.layer in shown and (solid.frame or number == 0):
                R, p = poses[solid.frame]
                vertices = (solid.triangles.vertices @ R.T + p) @ up.T
                casts = bool(solid.frame) and solid.opacity >= 1.0
                yield _Part(Triangles(vertices, solid.triangles.faces), solid.color, solid.opacity, casts)
    for arrows in scene.arrows:
        if arrows.layer in shown:
            for tail, tip in arrows.ends[moments[-1]]:
                yield _Part(arrow(up @ tail, up @ tip, arrows.width), arrows.color, 1.0)
    for surface in scene.surfaces:
        if surface.layer in shown:
            triangles = grid(surface.x, surface.y, surface.z[moments[-1]])
            upper = Triangles(triangles.vertices @ up.T, triangles.faces)
            yield _Part(upper, surface.color, surface.opacity)
            red, green, blue = surface.color
            lit = (2.0 * red, 2.0 * green, 2.0 * blue)  # seen from below, it transmits light
            yield _Part(Triangles(upper.vertices, upper.faces[:, ::-1]), lit, surface.opacity)


class _Buffer:
    """Colours and depths of the pixels of a picture."""

    def __init__(self, width: int, height: int, camera: Camera, wet: bool) -> None:
        self.width, self.height = width, height
        top, bottom = WATER if wet else AIR
        part = np.linspace(0.0, 1.0, height)[:, None]
        self.behind = ((1.0 - part) * top + part * bottom).astype(np.float32)
        self.image = np.repeat(self.behind, width, axis=0)
        self.depth = np.full(width * height, np.inf, dtype=np.float32)
        view = camera.position - camera.target
        self.R = np.stack(_axes(view))
        self.position, self.far = camera.position, float(np.linalg.norm(view))
        self.scale = 0.5 * height / np.tan(0.5 * FOV)
        self.wet = wet
        self.shadows = _Shadows(np.zeros((0, 3, 3)))

    def _local(self, points: Array) -> Array:
        return (points - self.position) @ self.R.T

    def _on_picture(self, local: Array) -> Array:
        """Return the pixel coordinates of points in front of the camera, given in camera axes [m]."""
        return np.array([0.5 * self.width, 0.5 * self.height]) + self.scale * local[..., [0, 2]] / local[..., [1]] * [-1.0, 1.0]

    def _seen(self, color: Array, pixel: Array, distance: Array) -> Array:
        """Return colours attenuated by distance; water absorbs light, so distant surfaces fade into the background."""
        if not self.wet:
            return color
        part = 1.0 - np.exp(-np.maximum(distance / self.far - 0.8, 0.0) * 0.4)
        return color + part[..., None] * (self.behind[pixel // self.width] - color)

    def cast(self, parts: Sequence[_Part]) -> None:
        """Add surfaces to the shadow map, so that they cast shadows on surfaces drawn later."""
        surface = joined(part.triangles for part in parts)
        self.shadows = _Shadows(self._local(surface.vertices)[surface.faces])

    def draw(self, parts: Sequence[_Part], opacity: float = 1.0) -> None:
        """Draw the outer sides of surfaces, with a depth test."""
        surface = joined(part.triangles for part in parts)
        colors = np.repeat([part.color for part in parts], [len(part.triangles.faces) for part in parts], axis=0).astype(
            np.float32
        )
        corners, owner = _before(self._local(surface.vertices)[surface.faces], NEAR * self.far)
        xy = self._on_picture(corners)
        keep = (_area(xy) < -1e-9) & (xy.max(1) > 0.0).all(axis=1)  # y points down: clockwise
        keep &= (xy.min(1) < [self.width, self.height]).all(axis=1)
        corners, owner, xy = corners[keep], owner[keep], xy[keep]
        if not len(owner):
            return
        normal = _normals(corners)
        ambient = (0.38 + 0.10 * np.maximum(normal @ [0.9, 0.3, -0.3], 0.0)).astype(np.float32)
        lean = np.maximum(normal @ LIGHT, 0.0).astype(np.float32)
        direct = np.float32(0.62) * lean
        pixel, inverse, which = _filled(xy, -1.0 / corners[..., 1], self.width, self.height)  # 1/distance is linear there
        distance = (1.0 / inverse).astype(np.float32)
        # the nearest at each pixel: positive distances are ordered like their bits, which lead the key
        nearest = np.full(len(self.depth), np.iinfo(np.uint64).max, dtype=np.uint64)
        np.minimum.at(nearest, pixel, distance.view(np.uint32).astype(np.uint64) << np.uint64(32) | which.astype(np.uint64))
        distance = (nearest >> np.uint64(32)).astype(np.uint32).view(np.float32)
        front = np.flatnonzero(distance < self.depth)  # where nothing was drawn the bits are not a number
        which = (nearest[front] & np.uint64(0xFFFFFFFF)).astype(int)
        light = ambient[which] + direct[which] * self.shadows.lit(self._places(front, distance[front]), lean[which])
        color = self._seen(light[:, None] * colors[owner[which]], front, distance[front])
        self.image[front] += opacity * (color - self.image[front])
        if opacity >= 1.0:
            self.depth[front] = distance[front]

    def _places(self, pixel: Array, distance: Array) -> Array:
        """Return the visible points at some pixels in camera axes [m], shape (3, n)."""
        row, column = np.divmod(pixel.astype(np.uint32), np.uint32(self.width))
        part = distance / np.float32(self.scale)
        right = (column + np.float32(0.5 - 0.5 * self.width)) * part
        up = (np.float32(0.5 * self.height - 0.5) - row) * part
        return np.stack([right, -distance, up])

    def line(self, points: Array, color: Color) -> None:
        """Draw a line, with a depth test."""
        points = points[-self._local(points)[:, 1] > NEAR * self.far]
        if len(points) < 2:
            return
        xy = self._on_picture(self._local(points))
        steps = np.minimum(np.ceil(np.abs(np.diff(xy, axis=0)).max(axis=1)), 4000).astype(int) + 1
        s = np.concatenate([k + np.arange(n) / n for k, n in enumerate(steps)])
        fine = np.stack([np.interp(s, np.arange(len(points)), points[:, k]) for k in range(3)], axis=1)
        local = self._local(fine)
        xy, distance = self._on_picture(local), -local[:, 1]
        for dx in (-1, 0, 1):
            for dy in (-1, 0, 1):
                x, y = (xy + np.array([dx, dy])).astype(int).T
                ok = (x >= 0) & (x < self.width) & (y >= 0) & (y < self.height)
                pixel = (y * self.width + x)[ok]
                front = distance[ok] < self.depth[pixel]
                self.image[pixel[front]] = self._seen(np.tile(color, (front.sum(), 1)), pixel[front], distance[ok][front])


class _Shadows:
    """Shadow map: distance from the light to the nearest triangle, over a plane perpendicular to the light."""

    def __init__(self, corners: Array) -> None:
        a = np.cross(LIGHT, [0.0, 0.0, 1.0])
        a /= np.linalg.norm(a)
        self.R = np.stack([a, np.cross(LIGHT, a), LIGHT])
        corners = corners[_normals(corners) @ LIGHT > 0.0] @ self.R.T
        flat = corners.reshape(-1, 3)[:, :2]
        low, high = (flat.min(0), flat.max(0)) if len(flat) else (np.zeros(2), np.ones(2))
        self.cell = float((high - low).max()) / SHADOW
        self.low = low - 2.0 * self.cell
        self.width, self.height = (np.ceil((high - low) / self.cell).astype(int) + 5).tolist()
        self.map = np.full(self.width * self.height, -np.inf)
        xy = (corners[..., :2] - self.low) / self.cell
        some = _area(xy) < -1e-9
        pixel, near, _ = _filled(xy[some], corners[some, :, 2], self.width, self.height)
        np.maximum.at(self.map, pixel, near)

    def lit(self, places: Array, lean: Array) -> Array:
        """Return the brightness, from 0.3 in full shadow to 1, shape (n,), at points in camera axes [m], shape (3, n).

        Shadow cells are coarse at grazing incidence; `lean` is the cosine of the angle between light and normal, shape (n,).
        """
        a, b, near = (sum(float(r) * p for r, p in zip(row, places, strict=True)) for row in self.R)
        x = ((a - float(self.low[0])) * (1.0 / self.cell)).astype(np.int32)
        y = ((b - float(self.low[1])) * (1.0 / self.cell)).astype(np.int32)
        over = np.flatnonzero((x > 0) & (x < self.width - 1) & (y > 0) & (y < self.height - 1))
        cell, height = (y * self.width + x)[over], near[over] + self.cell * (2.0 + 2.0 / np.maximum(lean[over], 0.05))
        light = np.ones(places.shape[1], dtype=np.float32)
        for shift in (0, -1, 1, -self.width, self.width):  # averaged over some cells for soft edges
            light[over] -= 0.14 * (self.map[cell + shift] > height)
        return light


def _normals(corners: Array) -> Array:
    """Return outward normals of triangles in camera axes, which are left-handed, shape (n, 3)."""
    normal = np.cross(corners[:, 2] - corners[:, 0], corners[:, 1] - corners[:, 0])
    return normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)


def _area(xy: Array) -> Array:
    """Return twice the area of triangles on the picture [pixel²], negative if the outer side is visible, shape (n,)."""
    a, b = xy[:, 1] - xy[:, 0], xy[:, 2] - xy[:, 0]
    return a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]


def _before(local: Array, near: float) -> tuple[Array, Array]:
    """Return the parts of triangles beyond the near clipping distance [m] of a camera, and the indices of the triangles.

    Corners are in camera axes [m], shape (n, 3, 3); the camera looks along the negative second axis.
    """
    distance = -local[..., 1] - near
    inside = (distance > 0.0).sum(axis=1)
    out, owner = [local[inside == 3]], [np.flatnonzero(inside == 3)]
    for count in (1, 2):
        cut = np.flatnonzero(inside == count)
        if len(cut):
            lone = np.argmax((distance[cut] > 0.0) == (count == 1), axis=1)  # the only corner on its side
            a, b, c = (local[cut, (lone + k) % 3] for k in range(3))
            da, db, dc = (distance[cut, (lone + k) % 3, None] for k in range(3))
            ab, ac = a + da / (da - db) * (b - a), a + da / (da - dc) * (c - a)
            pieces = [(a, ab, ac)] if count == 1 else [(ab, b, c), (ab, c, ac)]
            out += [np.stack(piece, axis=1) for piece in pieces]
            owner += [cut] * len(pieces)
    return np.concatenate(out), np.concatenate(owner)


def _runs(first: Array, count: Array) -> tuple[Array, Array]:
    """Return ranges of consecutive integers as two arrays: the index of the range of each integer, and the integer."""
    run = np.repeat(np.arange(len(first)), count)
    start = np.cumsum(count) - count
    return run, first[run] + np.arange(len(run)) - start[run]


def _filled(xy: Array, value: Array, width: int, height: int) -> tuple[Array, Array, Array]:
    """Return the pixels inside triangles: pixel indices, interpolated values of a quantity, and indices of the triangles.

    Corners on the picture are clockwise, shape (n, 3, 2). The quantity is given at the corners, shape (n, 3), and is linear
    between them.
    """
    # rows of pixels of each triangle, and where each row starts and ends within it
    y = xy[..., 1]
    first = np.clip(np.ceil(y.min(1) - 0.5), 0, height).astype(int)
    last = np.clip(np.ceil(y.max(1) - 0.5), 0, height).astype(int)
    which, row = _runs(first, last - first)
    left, right = np.zeros(len(row)), np.full(len(row), float(width))
    for k in range(3):
        p, edge = xy[:, k], xy[:, (k + 1) % 3] - xy[:, k]
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = edge[:, 0] / edge[:, 1]
            x = p[which, 0] + (row + 0.5 - p[which, 1]) * slope[which]
        down = edge[which, 1]
        np.maximum(left, x, out=left, where=down > 0.0)
        np.minimum(right, x, out=right, where=down < 0.0)
    start = np.ceil(np.minimum(left, width) - 0.5).astype(int)
    count = np.maximum(np.ceil(np.maximum(right, 0.0) - 0.5).astype(int) - start, 0)
    # 1/distance is linear on the picture
    a, b, area = xy[:, 1] - xy[:, 0], xy[:, 2] - xy[:, 0], _area(xy)
    da, db = value[:, 1] - value[:, 0], value[:, 2] - value[:, 0]
    along_x, along_y = (da * b[:, 1] - db * a[:, 1]) / area, (a[:, 0] * db - b[:, 0] * da) / area
    at_start = (
        value[which, 0] + along_x[which] * (start + 0.5 - xy[which, 0, 0]) + along_y[which] * (row + 0.5 - xy[which, 0, 1])
    )
    n, x = _runs(start, count)
    inner = at_start[n] + along_x[which][n] * (x - start[n])
    low, high = value.min(1)[which][n], value.max(1)[which][n]
    return row[n] * width + x, np.clip(inner, low, high), which[n]
