"""Ground to stand and walk on: height fields from functions, arrays and files, generated ones, and ready materials.

Heights are UP from the mean surface of the water, whatever the axes of the world; x and y are those of the world.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import numpy as np

from hydromechs.errors import FieldError
from hydromechs.registry import ByName
from hydromechs.values import Array, Finite, Positive, Rising, finite, nearest, positive, whole

from ._height_files import MAX_HEIGHTS, HeightGrid, grid_on_lines, read_grid, read_heights
from ._law import DryFriction, Material, NonlinearContact
from .terrain import HeightField, Heights

__all__ = [
    "GENERATORS",
    "MATERIALS",
    "SOURCES",
    "HeightGrid",
    "field_from_array",
    "field_from_file",
    "field_from_function",
    "generated",
    "grid_lines",
    "grid_on_lines",
    "height_field",
    "read_grid",
    "read_heights",
    "rubble_mound",
    "slope",
    "steps",
]


def _material(static: float, kinetic: float, stiffness: float, damping_factor: float) -> Material:
    """Friction as stiff as the ground; its damping settles a broken anchor within 10 ms."""
    friction = DryFriction(static=static, kinetic=kinetic, stiffness=0.7 * stiffness, damping=0.007 * stiffness)
    return Material(law=NonlinearContact(stiffness=stiffness, damping_factor=damping_factor), friction=friction)


MATERIALS: Mapping[str, Material] = MappingProxyType(
    {
        "concrete": _material(0.7, 0.6, 1.0e5, 1.0),
        "rock": _material(0.7, 0.6, 1.0e5, 1.0),
        "sand": _material(0.6, 0.5, 5.0e4, 2.0),
        "mud": _material(0.3, 0.2, 1.0e4, 3.0),
        "steel": _material(0.4, 0.3, 1.0e5, 0.6),
        "rubber": _material(0.8, 0.7, 3.0e4, 0.8),
    }
)
"""Materials of ground, as a foot of steel meets it under water, for machines of some 100 to 1,000 kg."""

SOURCES: Mapping[str, str] = MappingProxyType(
    {
        "concrete": "estimated: friction of foundations on sound rock and clean gravel is about 0.55 to 0.7 in soil mechanics",
        "rock": "estimated: as concrete",
        "sand": "estimated: tan 31°, an angle of internal friction of loose to medium sand; it slips in the sand, not on it",
        "mud": "estimated: soft clay; no suction, no sinking in time",
        "steel": "estimated: steel on wet steel",
        "rubber": "estimated: rubber on a wet hard floor",
    }
)
"""Where the friction comes from. Stiffness and damping are all estimated: soft enough to integrate, millimetres to centimetres
of sinking."""


def grid_lines(ends: Sequence[float], spacing: float, name: str = "x") -> Array:
    """Grid lines from one end to the other, shape (n,).

    Args:
        ends: First and last line [m].
        spacing: About how far apart; it is rounded so that lines are on both ends [m].
        name: What an error calls it.
    """
    if len(ends) < 2 or not all(np.isfinite(ends)) or not ends[0] < ends[-1]:
        raise FieldError(name, list(ends), "must be the first and the last grid line, rising")
    n = round((ends[-1] - ends[0]) / positive(spacing, "spacing")) + 1
    if n < 2:
        raise FieldError("spacing", spacing, f"must be at most {ends[-1] - ends[0]:g} m, the length of {name}")
    return np.linspace(ends[0], ends[-1], n)


def field_from_array(heights: Any, *, name: str, material: Material, x: Sequence[float], y: Sequence[float]) -> HeightField:
    """A height field from an array.

    Args:
        heights: Height, a row for each x [m], shape (nx, ny).
        name: Name of the terrain.
        material: How it meets what touches it.
        x: Grid lines along x, or the first and the last [m].
        y: Grid lines along y, or the first and the last [m].
    """
    h = np.asarray(heights, dtype=float)
    if h.ndim != 2:
        raise FieldError(f"terrain {name!r}.heights", h.shape, "must be the shape (nx, ny): a row for each x")
    if h.size > MAX_HEIGHTS:
        raise FieldError(
            f"terrain {name!r}.heights", h.shape, f"must have at most {MAX_HEIGHTS} heights; thin it, or cut a part out"
        )
    bad = np.argwhere(~np.isfinite(h))
    if len(bad):
        i, j = bad[0]
        raise FieldError(f"terrain {name!r}.heights[{i}, {j}]", float(h[i, j]), "must be finite; fill it in")
    grids = [
        np.linspace(lines[0], lines[-1], n) if len(lines) == 2 else np.asarray(lines, dtype=float)
        for lines, n in zip((x, y), h.shape, strict=True)
    ]
    rows = tuple(map(tuple, h.tolist()))
    return HeightField(name=name, material=material, x=tuple(grids[0].tolist()), y=tuple(grids[1].tolist()), heights=rows)


def field_from_function(
    height: Callable[[Array, Array], Any],
    *,
    name: str,
    material: Material,
    x: Sequence[float],
    y: Sequence[float],
    spacing: float,
) -> HeightField:
    """A height field from a function of x and y.

    Args:
        height: From arrays of x and y [m], shape (nx, ny) each, to heights [m].
        name: Name of the terrain.
        material: How it meets what touches it.
        x: First and last grid line along x [m].
        y: First and last grid line along y [m].
        spacing: Of the grid [m].
    """
    lines = grid_lines(x, spacing, "x"), grid_lines(y, spacing, "y")
    X, Y = np.meshgrid(*lines, indexing="ij")
    heights = np.broadcast_to(np.asarray(height(X, Y), dtype=float), X.shape)
    return field_from_array(heights, name=name, material=material, x=lines[0].tolist(), y=lines[1].tolist())


def field_from_file(
    path: str | Path,
    *,
    name: str,
    material: Material,
    x: Sequence[float] | None = None,
    y: Sequence[float] | None = None,
    low: float = 0.0,
    high: float = 1.0,
    spacing: float | None = None,
) -> HeightField:
    """A height field from a file: NumPy, table, image, points or mesh; see `read_grid`.

    Args:
        path: The file; its ending says what it is.
        name: Name of the terrain.
        material: How it meets what touches it.
        x: Grid lines along x, or the first and the last [m]; not needed where the file has its own.
        y: Grid lines along y, or the first and the last [m]; not needed where the file has its own.
        low: Height of black in an image, added to the heights of others [m].
        high: Height of white in an image; heights of others are multiplied by high − low [m].
        spacing: Of the grid over a mesh [m].
    """
    grid = grid_on_lines(read_grid(Path(path), spacing=spacing), Path(path).name, x, y)
    heights = low + (high - low) * grid.heights
    return field_from_array(heights, name=name, material=material, x=_listed(grid.x), y=_listed(grid.y))


def _listed(lines: Array | None) -> list[float]:
    return [] if lines is None else lines.tolist()


def height_field(
    *,
    name: str,
    material: Annotated[Material, ByName()],
    x: Rising | None = None,
    y: Rising | None = None,
    heights: Heights | None = None,
    file: str = "",
    low: Finite | None = None,
    high: Finite | None = None,
    spacing: Positive | None = None,
    generate: Mapping[str, Any] | None = None,
) -> HeightField:
    """Height field as scenario files describe it: with its heights, from a file, or from a generator.

    Args:
        name: Name, unique in a scene.
        material: How it meets what touches it.
        x: Grid along x of the world, evenly spaced [m]; with `file` and `generate` the first and last grid line are enough,
            and a file of points has its own.
        y: The same along y [m].
        heights: Height UP from the mean surface of the water, so below 0 under water: a row for each x [m].
        file: File with the heights: a table (.npy, .csv), points (.xyz, .txt), an image (.png, .tif, .bmp, .pgm) or a mesh
            (.obj, .stl, .ply, .glb).
        low: Height of black in an image [m].
        high: Height of white in an image [m].
        spacing: Spacing of the grid over a mesh, whose highest points count [m].
        generate: Generator of the heights: {type: rubble_mound, spacing: 0.1, seed: 1, ...}; type is slope, steps or
            rubble_mound, the other keys are its arguments.
    """
    given = {"heights": heights is not None, "file": bool(file), "generate": generate is not None}
    sources = [key for key, there in given.items() if there]
    options = {key: value for key, value in (("low", low), ("high", high), ("spacing", spacing)) if value is not None}
    if len(sources) != 1:
        raise ValueError(
            f"has {' and '.join(sources)}; keep one of them" if sources else "needs heights, file or generate; add one"
        )
    if options and not file:
        raise ValueError(f"has {' and '.join(options)}, which only go with file; remove them")
    missing = [key for key, lines in (("x", x), ("y", y)) if lines is None]
    if missing and not file:
        raise ValueError(f"needs {' and '.join(missing)}, a grid line at least at each end; add it")
    if generate is not None:
        try:
            lines_x, lines_y, made = generated(x, y, generate)  # type: ignore[arg-type]  # both are given
        except FieldError as e:
            if e.name in ("x", "y"):
                raise
            raise FieldError(f"generate.{e.name}", e.value, e.must) from None
        except ValueError as e:
            raise FieldError("generate", dict(generate), f"but {e}") from None
    elif file:
        ends = ((float(x[0]), float(x[-1])), (float(y[0]), float(y[-1]))) if x and y else None
        grid = grid_on_lines(read_heights(Path(file), ends, **options), Path(file).name, x, y)
        lines_x, lines_y, made = _listed(grid.x), _listed(grid.y), grid.heights
    else:
        return HeightField(name=name, material=material, x=x, y=y, heights=heights)  # type: ignore[arg-type]  # as above
    rows = tuple(map(tuple, made.tolist()))
    return HeightField(name=name, material=material, x=tuple(lines_x), y=tuple(lines_y), heights=rows)


# -- generators: heights over grid lines ----------------------------------------------------------------------------------


def slope(x: Array, y: Array, *, level: float = 0.0, rise: float, heading_deg: float = 0.0) -> Array:
    """Heights of an even slope [m], shape (nx, ny).

    Args:
        x: Grid lines [m], shape (nx,).
        y: Grid lines [m], shape (ny,).
        level: Height at x = y = 0 [m].
        rise: Rise per way uphill [-].
        heading_deg: Direction uphill, from x towards y [degrees].
    """
    a = np.radians(finite(heading_deg, "heading_deg"))
    return finite(level, "level") + finite(rise, "rise") * (np.cos(a) * x[:, None] + np.sin(a) * y[None, :])


def steps(x: Array, y: Array, *, level: float = 0.0, rise: float, run: float, start: float = 0.0) -> Array:
    """Heights of steps along x [m], shape (nx, ny).

    A height field is smooth: the edges of the steps are as round as the grid is wide. For sharp ones use boxes.

    Args:
        x: Grid lines [m], shape (nx,).
        y: Grid lines [m], shape (ny,).
        level: Height before the first step [m].
        rise: Height of a step; below 0 they go down [m].
        run: Length of a step [m].
        start: x of the first edge [m].
    """
    ahead = x - finite(start, "start")
    climbed = np.maximum(np.floor(ahead / positive(run, "run")) + 1.0, 0.0) * finite(rise, "rise")
    return finite(level, "level") + np.repeat(climbed[:, None], len(y), axis=1)


def rubble_mound(
    x: Array, y: Array, *, level: float = 0.0, stone: float = 0.4, relief: float = 0.15, seed: int = 0, start: float = -np.inf
) -> Array:
    """Heights of a mound of dumped rubble, as below a sea wall (Iwasaki et al. 1987) [m], shape (nx, ny).

    Stones are caps of ellipsoids at random places; the ground is the highest of them. Their mean height is `level`, and the
    standard deviation about a sixth of the relief. The same seed gives the same mound, whatever the grid covers of it.

    Args:
        x: Grid lines [m], shape (nx,).
        y: Grid lines [m], shape (ny,).
        level: Mean height [m].
        stone: Mean diameter of the stones [m].
        relief: Height from the gaps to the tops of the largest stones [m].
        seed: Seed of the numbers.
        start: x from which on there is rubble; before it the ground is level [m].
    """
    stone, relief, seed = positive(stone, "stone"), finite(relief, "relief"), whole(seed, "seed")
    level, start = finite(level, "level"), start if start == -np.inf else finite(start, "start")
    heights = np.zeros((len(x), len(y)))
    # a stone in each cell of a lattice, drawn from (seed, cell), so that a larger grid has the same stones
    cell = 0.55 * stone
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
"""Generators of heights by the names that scenario files have."""


def generated(x: Sequence[float], y: Sequence[float], made: Mapping[str, Any]) -> tuple[list[float], list[float], Array]:
    """Grid lines along x and y and heights as a scenario file asks for them.

    Args:
        x: First and last grid line along x [m].
        y: First and last grid line along y [m].
        made: {"type": name of a generator, "spacing": of the grid [m], and its arguments}.
    """
    given = dict(made)
    kind, spacing = given.pop("type", None), given.pop("spacing", None)
    if kind not in GENERATORS:
        raise ValueError(f"type is {kind!r}, must be one of {', '.join(GENERATORS)}{nearest(str(kind), GENERATORS)}")
    if spacing is None:
        raise ValueError("spacing is missing: give the spacing of the grid [m]")
    takes = [name for name in inspect.signature(GENERATORS[kind]).parameters if name not in ("x", "y")]
    for name in given:
        if name not in takes:
            raise ValueError(f"{kind} has no {name!r}{nearest(name, takes)}")
    lines = grid_lines(x, spacing, "x"), grid_lines(y, spacing, "y")
    if len(lines[0]) * len(lines[1]) > MAX_HEIGHTS:
        raise ValueError(
            f"a spacing of {spacing:g} m makes {len(lines[0]) * len(lines[1])} heights, must be at most {MAX_HEIGHTS}"
        )
    try:
        heights = GENERATORS[kind](*lines, **given)
    except TypeError as e:
        raise ValueError(f"{kind}: {e}") from None
    return lines[0].tolist(), lines[1].tolist(), heights
