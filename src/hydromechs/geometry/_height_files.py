"""Files of terrain heights: NumPy arrays, tables, images, points x y z, meshes."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from hydromechs import files
from hydromechs.errors import FieldError
from hydromechs.values import positive

from ._ground import MAX_HEIGHTS
from ._mesh_checks import read_mesh

Ends: TypeAlias = tuple[float, float]
"""First and last grid line along each axis [m]."""

SAME = 1e-6
"""Tolerance between given grid lines and the grid lines of a file, relative to the extent of the grid [-]."""
IMAGES = (".png", ".tif", ".tiff", ".bmp", ".pgm")
POINTS = (".xyz", ".txt")
MESHES = (".obj", ".stl", ".ply", ".glb")
KINDS = (".npy", ".csv", *IMAGES, *POINTS, *MESHES)


class HeightGrid(NamedTuple):
    """Heights over a grid, and the grid if the file has one."""

    heights: np.ndarray
    """Heights, one row per x [m], shape (nx, ny)."""
    x: np.ndarray | None
    """Grid along x [m], shape (nx,), or None if the file does not specify it."""
    y: np.ndarray | None
    """Grid along y [m], shape (ny,), or None if the file does not specify it."""


def read_heights(
    path: Path,
    ends: tuple[Ends, Ends] | None = None,
    *,
    low: float | None = None,
    high: float | None = None,
    spacing: float | None = None,
) -> HeightGrid:
    """Return the heights of a file in metres; `ValueError` describes any problem.

    | suffix | contents |
    |---|---|
    | .npy | a NumPy array of shape (nx, ny) |
    | .csv | one row of numbers per x |
    | .png, .tif, .bmp, .pgm | grey values, 0 black to 1 white: image columns along x, lower edge of the image at minimum y |
    | .xyz, .txt | lines of x, y and height, in any order, that fill a grid |
    | .obj, .stl, .ply, .glb | a mesh, z up: the highest point over each grid point |

    Only images require `low` and `high`, the heights of black and white [m]. Only meshes require `spacing`, the spacing of
    the grid over the mesh [m]. The first and last grid lines `ends` [m] along x and y default to the bounds of the mesh.
    """
    suffix = path.suffix.lower()
    if suffix not in KINDS:
        raise ValueError(f"{path.name!r} must end in one of {', '.join(KINDS)}")
    if suffix in IMAGES and (low is None or high is None):
        raise ValueError(f"{path.name!r} is an image; set low and high, the heights of black and white")
    if suffix not in IMAGES and not (low is None and high is None):
        raise ValueError(f"{path.name!r} is not an image; remove low and high")
    if (spacing is not None) is not (suffix in MESHES):
        words = "is a mesh; set the spacing of the height grid" if spacing is None else "contains its own grid; remove spacing"
        raise ValueError(f"{path.name!r} {words}")
    try:
        files.require_file(path)
        if suffix in MESHES:
            grid = _mesh(path, positive(spacing, "spacing"), ends)
        elif suffix in POINTS:
            grid = _points(path)
        else:
            grid = HeightGrid({".npy": _npy, ".csv": _csv}.get(suffix, _image)(path), None, None)
    except FileNotFoundError:
        raise ValueError(f"file {str(path)!r} does not exist; correct the path, relative to the scenario file") from None
    except OSError as e:
        raise ValueError(f"{str(path)!r} cannot be read: {e}") from None
    bad = np.argwhere(~np.isfinite(grid.heights))
    if len(bad):
        i, j = bad[0]
        value = grid.heights[i, j]
        raise ValueError(f"{path.name!r} has a height that is not finite: row {i}, column {j} is {value}; replace it")
    return grid if low is None or high is None else grid._replace(heights=low + (high - low) * grid.heights)


def grid_on_lines(grid: HeightGrid, file: str, x: Sequence[float] | None, y: Sequence[float] | None) -> HeightGrid:
    """Return heights with grid lines from the file or from `x` and `y`; raise `FieldError` for invalid `x` or `y`.

    `x` and `y` contain all lines along an axis, or the first and the last [m]. Errors name the file.
    """
    lines = []
    for axis, own, given, n in zip("xy", (grid.x, grid.y), (x, y), grid.heights.shape, strict=True):
        ends = None if given is None else [float(a) for a in given]
        if own is None and ends is None:
            raise ValueError(f"{file!r} does not specify the position of the grid; set the first and last grid line in {axis}")
        if ends is not None and len(ends) not in (2, n):
            has = f"must contain the {n} grid lines of {file!r}, or only the first and the last"
            raise FieldError(axis, ends, has)
        line: Any = own if ends is None else np.linspace(ends[0], ends[-1], n) if len(ends) == 2 else np.array(ends)
        if own is not None and not np.allclose(line, own, rtol=0.0, atol=SAME * float(np.ptp(own))):
            raise FieldError(axis, ends, f"but {file!r} has points from {own[0]:g} to {own[-1]:g} m; remove x and y")
        lines.append(line)
    return HeightGrid(grid.heights, lines[0], lines[1])


def _image(path: Path) -> np.ndarray:
    from PIL import Image  # rarely needed

    try:
        with Image.open(path, formats=("PNG", "TIFF", "BMP", "PPM")) as image:  # other formats start external programs (EPS)
            _small(path, image.width * image.height)
            grey = np.asarray(image if image.mode in ("I;16", "I", "F") else image.convert("L"), dtype=float)
            top = {"I;16": 65535.0, "I": 65535.0, "F": 1.0}.get(image.mode, 255.0)
    except Image.DecompressionBombError:
        raise ValueError(f"{path.name!r} has too many pixels; use at most {MAX_HEIGHTS} pixels") from None
    return grey[::-1].T / top


def _points(path: Path) -> HeightGrid:
    rows = []
    for n, line in enumerate(files.read_text(path).splitlines(), 1):
        cells = line.replace(",", " ").split()
        if not cells or cells[0].startswith("#"):
            continue
        if len(cells) != 3:
            raise ValueError(f"{path.name!r}: line {n} has {len(cells)} numbers; write x, y and height")
        rows.append([_number(path, n, k, cell) for k, cell in enumerate(cells, 1)])
    if not rows:
        raise ValueError(f"{path.name!r} is empty; write x, y and height of one point per line")
    points = np.array(rows)
    x, y = np.unique(points[:, 0]), np.unique(points[:, 1])
    _small(path, len(x) * len(y))
    if len(points) != len(x) * len(y):
        raise ValueError(
            f"{path.name!r} has {len(points)} points, but {len(x)} different x and {len(y)} different y, which form a grid "
            f"of {len(x) * len(y)} points; add exactly one height per grid point"
        )
    heights = np.full((len(x), len(y)), np.nan)
    heights[np.searchsorted(x, points[:, 0]), np.searchsorted(y, points[:, 1])] = points[:, 2]
    missing = np.argwhere(np.isnan(heights))
    if len(missing):
        i, j = missing[0]
        raise ValueError(f"{path.name!r} has no height at x = {x[i]:g}, y = {y[j]:g}; add exactly one height per grid point")
    return HeightGrid(heights, x, y)


def _mesh(path: Path, spacing: float, ends: tuple[Ends, Ends] | None) -> HeightGrid:
    """Return the height of the highest point of all triangles over each grid point."""
    from trimesh.util import concatenate  # importing it takes 0.25 s, and it is rarely needed

    mesh: Any = concatenate(read_mesh(path))
    bounds = ends or tuple(zip(*mesh.bounds[:, :2], strict=True))
    nx, ny = (max(2, round(min((b - a) / spacing, 1e15)) + 1) for a, b in bounds)
    _small(path, nx * ny)
    x, y = (np.linspace(a, b, n) for (a, b), n in zip(bounds, (nx, ny), strict=True))
    heights = np.full((len(x), len(y)), -np.inf)
    for corners in np.asarray(mesh.triangles):
        _raise_to(heights, x, y, corners)
    bare = np.argwhere(np.isinf(heights))
    if len(bare):
        i, j = bare[0]
        raise ValueError(
            f"{path.name!r} has no surface at x = {x[i]:g}, y = {y[j]:g}; close the holes of the mesh, or use a smaller grid"
        )
    return HeightGrid(heights, x, y)


def _raise_to(heights: np.ndarray, x: np.ndarray, y: np.ndarray, corners: np.ndarray) -> None:
    """Raise the heights (nx, ny) below a triangle with corners (3, 3) to the height of the triangle."""
    a, b, c = corners
    double = (b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])
    if abs(double) < 1e-15:
        return  # vertical
    tiny = 1e-9
    rows = np.flatnonzero((x >= corners[:, 0].min() - tiny) & (x <= corners[:, 0].max() + tiny))
    columns = np.flatnonzero((y >= corners[:, 1].min() - tiny) & (y <= corners[:, 1].max() + tiny))
    if not (len(rows) and len(columns)):
        return
    px, py = np.meshgrid(x[rows] - a[0], y[columns] - a[1], indexing="ij")
    u = (px * (c[1] - a[1]) - py * (c[0] - a[0])) / double
    w = (py * (b[0] - a[0]) - px * (b[1] - a[1])) / double
    z = np.where((u >= -tiny) & (w >= -tiny) & (u + w <= 1.0 + tiny), a[2] + u * (b[2] - a[2]) + w * (c[2] - a[2]), -np.inf)
    at = np.ix_(rows, columns)
    heights[at] = np.maximum(heights[at], z)


def _small(path: Path, n: int) -> None:
    if n > MAX_HEIGHTS:
        raise ValueError(f"{path.name!r} has {n} heights, must have at most {MAX_HEIGHTS}; crop or resample the file")


def _npy(path: Path) -> np.ndarray:
    try:
        heights = np.lib.format.open_memmap(path, mode="r")
    except (ValueError, EOFError) as e:
        raise ValueError(f"{path.name!r} cannot be read as numbers: {e}; write the file with numpy.save") from None
    if heights.dtype.kind not in "fiu":
        raise ValueError(f"{path.name!r} contains {heights.dtype}; save real numbers")
    if heights.ndim != 2:
        raise ValueError(f"{path.name!r} has the shape {heights.shape}; save two dimensions, one row per x")
    _small(path, heights.size)
    return np.array(heights, dtype=float)


def _csv(path: Path) -> np.ndarray:
    rows: list[list[float]] = []
    try:
        for n, cells in enumerate(csv.reader(files.read_text(path).splitlines()), 1):
            if not cells:
                continue
            rows.append([_number(path, n, k, cell) for k, cell in enumerate(cells, 1)])
            if len(rows[-1]) != len(rows[0]):
                raise ValueError(f"{path.name!r}: line {n} has {len(rows[-1])} numbers; use {len(rows[0])} as in line 1")
            _small(path, len(rows) * len(rows[0]))
    except csv.Error as e:
        raise ValueError(f"{path.name!r} cannot be read as rows of numbers: {e}") from None
    if not rows:
        raise ValueError(f"{path.name!r} is empty; write a row of heights for each x, with commas between them")
    return np.array(rows)


def _number(path: Path, line: int, column: int, cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        raise ValueError(f"{path.name!r}: line {line}: entry {column} is not a number; remove headings") from None
