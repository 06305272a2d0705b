"""What do the library's models look like? Draws their display shapes by casting one ray per pixel; no dependency but NumPy.

python docs/pictures/draw_library.py            writes docs/pictures/library.png
"""

import struct
import sys
import zlib
from pathlib import Path

import numpy as np

import hydromechs as hm

TOP, BOTTOM = np.array([0.80, 0.92, 0.97]), np.array([0.26, 0.55, 0.72])
"""Colours of the water, above and below."""


def hits(shape, o, d):
    """Distance along each ray to a shape in its own frame (inf for none) and the outward normal there."""
    with np.errstate(all="ignore"):
        if isinstance(shape, hm.shapes.Box):
            half = 0.5 * np.array(shape.size)
            t1, t2 = np.sort(np.stack([(-half - o) / d, (half - o) / d]), axis=0)
            t, axis = t1.max(1), t1.argmax(1)
            normal = -np.sign(d)[None, :] * np.eye(3)[axis]
            return np.where(t <= t2.min(1), t, np.inf), normal
        if isinstance(shape, hm.shapes.Cylinder):
            a, b, c = d[:2] @ d[:2], o[:, :2] @ d[:2], (o[:, :2] ** 2).sum(1) - shape.radius**2
            t = (-b - np.sqrt(b * b - a * c)) / a
            p = o + t[:, None] * d
            side = np.where(np.abs(p[:, 2]) <= shape.length / 2, t, np.inf)
            cap = (-np.sign(d[2]) * shape.length / 2 - o[:, 2]) / d[2]
            inside = ((o + cap[:, None] * d)[:, :2] ** 2).sum(1) <= shape.radius**2
            cap = np.where(inside, cap, np.inf)
            normal = np.where((cap < side)[:, None], [0, 0, -np.sign(d[2])], p * [1, 1, 0] / shape.radius)
            return np.fmin(np.nan_to_num(side, nan=np.inf, posinf=np.inf), cap), normal
        b, c = o @ d, (o**2).sum(1) - shape.radius**2
        t = np.nan_to_num(-b - np.sqrt(b * b - c), nan=np.inf, posinf=np.inf)
        return t, (o + t[:, None] * d) / shape.radius


def render(name: str, width: int, height: int, azimuth: float = -40.0, elevation: float = 18.0) -> np.ndarray:
    """Picture of a model at its initial configuration, shape (height, width, 3) from 0 to 1."""
    model = hm.load(name)
    state = model.initial()
    poses = hm.kinematics(model, state.q, state.v).X_WB
    up = np.diag([1.0, -1.0, -1.0]) if model.world.axes == "NED" else np.eye(3)
    placed = []
    for body, X in zip(model.bodies, poses, strict=True):
        for shape in body.shapes:
            R = up @ X[:3, :3]
            placed.append((shape, R @ shape.origin.R, R @ np.array(shape.origin.xyz) + up @ X[:3, 3]))
    az, el = np.radians([azimuth, elevation])
    view = np.array([np.cos(el) * np.cos(az), np.cos(el) * np.sin(az), np.sin(el)])
    right = np.cross([0, 0, 1], view) / np.linalg.norm(np.cross([0, 0, 1], view))
    above = np.cross(view, right)
    # frame the shapes by the corners of spheres around them
    size = [
        np.linalg.norm(getattr(s, "size", (s.radius, s.radius, getattr(s, "length", 0.0)) if hasattr(s, "radius") else 0)) / 2
        for s, _, _ in placed
    ]
    x = np.array([[p @ right - r, p @ right + r] for r, (_, _, p) in zip(size, placed, strict=True)])
    y = np.array([[p @ above - r, p @ above + r] for r, (_, _, p) in zip(size, placed, strict=True)])
    scale = 0.93 * max((x.max() - x.min()) / width, (y.max() - y.min()) / height)
    grid_x = (x.max() + x.min()) / 2 + scale * (np.arange(width) - width / 2)
    grid_y = (y.max() + y.min()) / 2 - scale * (np.arange(height) - height / 2)
    gx, gy = (g.ravel() for g in np.meshgrid(grid_x, grid_y))
    origin = gx[:, None] * right + gy[:, None] * above + 100.0 * view
    water = np.linspace(0, 1, height).repeat(width)[:, None]
    image, depth = TOP * (1 - water) + BOTTOM * water, np.full(len(gx), np.inf)
    light = view + 0.9 * above + 0.4 * right
    light = light / np.linalg.norm(light)
    for shape, R, p in placed:
        t, normal = hits(shape, (origin - p) @ R, -view @ R)
        closer = t < depth
        shade = 0.42 + 0.58 * np.clip(normal @ (R.T @ light), 0, 1)
        color = np.array(shape.color or (0.7, 0.7, 0.7))
        image[closer] = (color * shade[:, None])[closer]
        depth[closer] = t[closer]
    return image.reshape(height, width, 3)


def write_png(path: Path, image: np.ndarray) -> None:
    """Write an image of shape (height, width, 3), 0 to 1."""
    pixels = (np.clip(image, 0, 1) * 255).astype(np.uint8)
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")
    )


def main() -> None:
    """Draw four models and write the picture."""
    names = ("tiburon_titan2", "rexrov2_oberon7", "bluerov2_heavy_alpha5", "puma560")
    twice = [render(name, 960, 720) for name in names]  # drawn at twice the size and averaged, for smooth edges
    tiles = [t.reshape(360, 2, 480, 2, 3).mean((1, 3)) for t in twice]
    image = np.concatenate([np.concatenate(tiles[:2], axis=1), np.concatenate(tiles[2:], axis=1)])
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("library.png")
    write_png(path, image)
    print(path)


if __name__ == "__main__":
    main()
