"""Height fields from rows, arrays, functions, files and generators.

Heights are positive up from the mean water surface, in NED and ENU; x and y are world coordinates.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from hydromechs.errors import FieldError
from hydromechs.values import Array, Finite, Positive, Rising, finite, nearest, positive, whole

from ._ground import MAX_HEIGHTS, HeightField, Heights
from ._height_files import grid_on_lines, read_heights


def height_field(
    *,
    x: Rising | None = None,
    y: Rising | None = None,
    heights: Heights | None = None,
    file: str = "",
    low: Finite | None = None,
    high: Finite | None = None,
    spacing: Positive | None = None,
    generate: Mapping[str, Any] | None = None,
) -> HeightField:
    """Create a height field from heights, a file of heights or a generator, as described in a scenario file.

    Args:
        x: Evenly spaced grid lines along x of the world [m], or only the first and last line. Files of points contain
            their own lines.
        y: Evenly spaced grid lines along y of the world [m], or only the first and last line.
        heights: Heights above the mean water surface, positive up and negative under water: one row per x [m]. In Python,
            optionally a function of arrays x and y, with `spacing`.
        file: File with the heights: a table (.npy, .csv), points (.xyz, .txt), an image (.png, .tif, .bmp, .pgm) or a mesh
            (.obj, .stl, .ply, .glb).
        low: Height of black in an image [m].
        high: Height of white in an image [m].
        spacing: Spacing of the grid over a mesh, for the highest point at each grid point [m].
        generate: Generator of the heights: {type: rubble_mound, spacing: 0.1, seed: 1, ...}; type is slope, steps or
            rubble_mound; the other keys are arguments of the generator.
    """
    given = {"heights": heights is not None, "file": bool(file), "generate": generate is not None}
    sources = [key for key, there in given.items() if there]
    options = {key: value for key, value in (("low", low), ("high", high), ("spacing", spacing)) if value is not None}
    if len(sources) != 1:
        raise ValueError(
            f"has {' and '.join(sources)}; keep one of them" if sources else "add one of `heights`, `file` or `generate`"
        )
    if options and not file and not callable(heights):
        raise ValueError(f"has {' and '.join(options)}, which apply only with `file`; remove these keys")
    missing = [key for key, lines in (("x", x), ("y", y)) if lines is None]
    if missing and not file:
        raise ValueError(f"has no {' and '.join(missing)}; add at least the first and the last grid line")
    if file:
        ends = ((float(x[0]), float(x[-1])), (float(y[0]), float(y[-1]))) if x and y else None
        grid = grid_on_lines(read_heights(Path(file), ends, **options), Path(file).name, x, y)
        return _field(grid.x, grid.y, grid.heights)
    assert x is not None and y is not None  # as checked above
    if generate is not None:
        return _generated(x, y, generate)
    if callable(heights):
        lines = grid_lines(x, spacing or 0.0, "x"), grid_lines(y, spacing or 0.0, "y")
        return _field(*lines, np.broadcast_to(heights(*np.meshgrid(*lines, indexing="ij")), tuple(map(len, lines))))
    if np.ndim(heights[0]) != 1:  # type: ignore[index]  # it is given, because nothing else is
        raise FieldError("heights", heights, "must be a row for each x")
    rows = tuple(map(tuple, heights))  # type: ignore[arg-type]
    return HeightField(x=_lines(x, len(rows)), y=_lines(y, len(rows[0])), heights=rows)


def _lines(given: Sequence[float], n: int) -> tuple[float, ...]:
    """Return all n grid lines; if only the first and the last are given, interpolate between them."""
    return tuple(np.linspace(given[0], given[-1], n).tolist()) if len(given) == 2 < n else tuple(given)


def _field(x: Any, y: Any, heights: Any) -> HeightField:
    rows = tuple(map(tuple, np.asarray(heights, dtype=float).tolist()))
    return HeightField(x=tuple(np.asarray(x).tolist()), y=tuple(np.asarray(y).tolist()), heights=rows)


def grid_lines(ends: Sequence[float], spacing: float, name: str = "x") -> Array:
    """Return grid lines from one end to the other [m], shape (n,); the spacing [m] is rounded to a fraction of the length."""
    if len(ends) < 2 or not all(np.isfinite(ends)) or not ends[0] < ends[-1]:
        raise FieldError(name, list(ends), "must be the first and the last grid line, in increasing order")
    n = round(min((ends[-1] - ends[0]) / positive(spacing, "spacing"), 1e15)) + 1
    if n < 2:
        raise FieldError("spacing", spacing, f"must be at most {ends[-1] - ends[0]:g} m, the length of {name}")
    if n > MAX_HEIGHTS:  # check before memory is allocated
        raise FieldError(
            "spacing", spacing, f"must be larger; {n:g} lines along {name} exceed the maximum of {MAX_HEIGHTS} heights"
        )
    return np.linspace(ends[0], ends[-1], n)


# -- generators: heights over grid lines ----------------------------------------------------------------------------------


def slope(x: Array, y: Array, *, level: float = 0.0, rise: float, heading_deg: float = 0.0) -> Array:
    """Return the heights of a slope [m], shape (nx, ny).

    `x`: grid lines [m], shape (nx,); `y`: grid lines [m], shape (ny,); `level`: height at x = y = 0 [m]; `rise`: slope
    uphill, rise over run [-]; `heading_deg`: uphill heading [deg].
    """
    a = np.radians(finite(heading_deg, "heading_deg"))
    return finite(level, "level") + finite(rise, "rise") * (np.cos(a) * x[:, None] + np.sin(a) * y[None, :])


def steps(x: Array, y: Array, *, level: float = 0.0, rise: float, run: float, start: float = 0.0) -> Array:
    """Return the heights of steps along x [m], shape (nx, ny).

    A height field is smooth, so that the edges of the steps are rounded over one grid spacing. Use boxes for sharp edges.

    `x`: grid lines [m], shape (nx,); `y`: grid lines [m], shape (ny,); `level`: height before the first step [m]; `rise`:
    height of a step, negative for steps down [m]; `run`: length of a step [m]; `start`: x of the first edge [m].
    """
    ahead = x - finite(start, "start")
    climbed = np.maximum(np.floor(ahead / positive(run, "run")) + 1.0, 0.0) * finite(rise, "rise")
    return finite(level, "level") + np.repeat(climbed[:, None], len(y), axis=1)


def rubble_mound(
    x: Array, y: Array, *, level: float = 0.0, stone: float = 0.4, relief: float = 0.15, seed: int = 0, start: float = -np.inf
) -> Array:
    """Return the heights of a mound of dumped rubble, such as under a sea wall (Iwasaki et al. 1987) [m], shape (nx, ny).

    Stones are caps of ellipsoids at random positions; the surface is the highest cap at each point. The mean height is
    `level`, and the standard deviation is about a sixth of the relief. Equal seeds give equal mounds on any grid.

    `x`: grid lines [m], shape (nx,); `y`: grid lines [m], shape (ny,); `level`: mean height [m]; `stone`: mean diameter of
    the stones [m]; `relief`: height from the gaps to the tops of the largest stones [m]; `seed`: seed of the random
    numbers; `start`: x at which the rubble starts, after level ground [m].
    """
    stone, relief, seed = positive(stone, "stone"), finite(relief, "relief"), whole(seed, "seed")
    level, start = finite(level, "level"), start if start == -np.inf else finite(start, "start")
    heights = np.zeros((len(x), len(y)))
    # a stone in each cell of a lattice, drawn from (seed, cell), so that a larger grid has the same stones
    cell = 0.55 * stone
    n = (float(np.ptp(x)) / max(cell, 1e-300) + 5.0) * (float(np.ptp(y)) / max(cell, 1e-300) + 5.0)
    if n > MAX_HEIGHTS:
        raise FieldError("stone", stone, f"must be larger; {n:.3g} stones exceed the maximum of {MAX_HEIGHTS}")
    for i in range(int(np.floor(x[0] / cell)) - 2, int(np.ceil(x[-1] / cell)) + 3):
        for j in range(int(np.floor(y[0] / cell)) - 2, int(np.ceil(y[-1] / cell)) + 3):
            rng = np.random.default_rng([seed, i + 2**20, j + 2**20])
            px, py = (i + rng.random()) * cell, (j + rng.random()) * cell
            a, b = 0.5 * stone * rng.uniform(0.7, 1.4, 2)
            top, turn = relief * rng.uniform(0.35, 1.0), rng.uniform(0.0, np.pi)
            rows = np.flatnonzero(np.abs(x - px) < 1.5 * stone)
            columns = np.flatnonzero(np.abs(y - py) < 1.5 * stone)
            if not (len(rows) and len(columns)):
                continue
            u, w = np.meshgrid(x[rows] - px, y[columns] - py, indexing="ij")
            along, across = u * np.cos(turn) + w * np.sin(turn), w * np.cos(turn) - u * np.sin(turn)
            cap = top * np.sqrt(np.maximum(1.0 - (along / a) ** 2 - (across / b) ** 2, 0.0))
            heights[np.ix_(rows, columns)] = np.maximum(heights[np.ix_(rows, columns)], cap)
    share = np.clip((x - start) / stone, 0.0, 1.0)[:, None] if np.isfinite(start) else 1.0
    return level + share * (heights - 0.6 * relief)


GENERATORS: Mapping[str, Callable[..., Array]] = MappingProxyType(
    {"slope": slope, "steps": steps, "rubble_mound": rubble_mound}
)
"""Generators of heights, keyed by name in scenario files."""


def _generated(x: Sequence[float], y: Sequence[float], made: Mapping[str, Any]) -> HeightField:
    """Return a generated height field between the first and last grid lines; errors name the key inside `generate`."""
    try:
        lines, heights = _heights(x, y, made)
    except FieldError as e:
        raise e if e.name in ("x", "y") else FieldError(f"generate.{e.name}", e.value, e.must) from None
    except ValueError as e:
        raise FieldError("generate", dict(made), f"but {e}") from None
    return _field(*lines, heights)


def _heights(x: Sequence[float], y: Sequence[float], made: Mapping[str, Any]) -> tuple[tuple[Array, Array], Array]:
    given = dict(made)
    kind, spacing = given.pop("type", None), given.pop("spacing", None)
    if not isinstance(kind, str) or kind not in GENERATORS:
        raise ValueError(f"type is {kind!r}, must be one of {', '.join(GENERATORS)}{nearest(str(kind), GENERATORS)}")
    if spacing is None:
        raise ValueError("spacing is missing; set the spacing of the grid [m]")
    takes = [name for name in inspect.signature(GENERATORS[kind]).parameters if name not in ("x", "y")]
    for name in given:
        if name not in takes:
            raise ValueError(f"{kind} has no argument {name!r}{nearest(name, takes)}")
    lines = grid_lines(x, spacing, "x"), grid_lines(y, spacing, "y")
    if len(lines[0]) * len(lines[1]) > MAX_HEIGHTS:
        raise ValueError(f"a spacing of {spacing:g} m gives {len(lines[0]) * len(lines[1])} heights; use at most {MAX_HEIGHTS}")
    try:
        heights = GENERATORS[kind](*lines, **given)
    except TypeError as e:
        raise ValueError(f"{kind}: {e}") from None
    return lines, heights
