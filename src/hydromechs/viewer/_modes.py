"""Plots of modes: the mechanism at both extremes of each motion, and a map of frequencies and damping ratios."""

import math
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np

from hydromechs import dynamics
from hydromechs.model import Model
from hydromechs.values import Array

from ._raster import raster, scene_camera
from ._scene import MovingFrame, Scene, SceneSolid, bodies_at, body_parts
from ._style import COLOURS, INK, figure

COLUMNS = 3
"""Number of mode shapes per row."""
MAX_SHAPES = 12
"""Maximum number of mode shapes in a figure."""
WAY = 0.12
"""Displacement of a body origin to which motions are scaled, as a fraction of the size of the mechanism."""
TURN = 0.35
"""Rotation of a body to which motions are scaled [rad]."""
STILL = 0.1
"""Fraction of the largest motion below which a body is drawn only at equilibrium."""
ENDS = ((1.0, (0.0, 0.45, 0.70)), (-1.0, (0.84, 0.37, 0.0)))
"""Sign and colour of the two extremes of a motion."""


class ShownMode(Protocol):
    """Interface of a mode that can be drawn."""

    @property
    def natural_frequency(self) -> float:
        """Natural frequency [Hz]."""

    @property
    def damping_ratio(self) -> float:
        """Damping ratio; a mode with 1 or more does not oscillate; NaN for a neutral mode."""

    @property
    def shape(self) -> np.ndarray:
        """Complex mode shape, whose first nv entries displace the configuration."""

    @property
    def who(self) -> tuple[str, ...]:
        """Names of the largest components of the shape."""


def plot_modes(model: Model, q: Array, modes: Sequence[ShownMode], path: str | os.PathLike[str]) -> Path:
    """Draw modes as a map of frequencies over damping ratios, and the mechanism at both extremes of each motion.

    At most twelve modes are drawn. Neutral modes have no frequency and are omitted from the map. Motions are scaled to 12 % of
    the size of the mechanism, or to 20°.

    Args:
        model: The mechanism.
        q: Configuration of the equilibrium, shape (nq,).
        modes: Modes to draw, for example `hm.modes(...).oscillating`.
        path: File to write; its suffix selects the format.

    Raises:
        ValueError: If there are no modes.
    """
    if not modes:
        raise ValueError("plot_modes: there are no modes; pass at least one mode")
    shown, path = list(modes)[:MAX_SHAPES], Path(path)
    rows = math.ceil(len(shown) / COLUMNS)
    with figure(path, height=2.3 + 2.1 * rows, math=False) as fig:
        grid = fig.add_gridspec(rows + 1, COLUMNS)
        plane = fig.add_subplot(grid[0, :])
        for k, mode in enumerate(shown):
            if mode.damping_ratio == mode.damping_ratio:
                plane.plot(mode.natural_frequency, mode.damping_ratio, "o", color=COLOURS[0])
                at = (mode.natural_frequency, mode.damping_ratio)
                plane.annotate(str(k + 1), at, xytext=(5, 3), textcoords="offset points", fontsize=8, color=INK)
        plane.set_xscale("log")
        plane.xaxis.set_major_formatter("{x:g}")
        plane.xaxis.set_minor_formatter("{x:g}")
        plane.set_xlabel("natural frequency [Hz]")
        plane.set_ylabel("damping ratio ζ")
        low, high = plane.get_ylim()
        plane.set_ylim(min(low, 0.0), max(high, 1.0))
        for k, mode in enumerate(shown):
            ax = fig.add_subplot(grid[1 + k // COLUMNS, k % COLUMNS])
            ax.set_axis_off()
            ax.imshow(_drawn(model, np.asarray(q, dtype=float), mode.shape[: model.nv]), interpolation="lanczos")
            ax.set_title(_title(model, k + 1, mode), fontsize=8, fontweight="normal")
    return path


def _title(model: Model, number: int, mode: ShownMode) -> str:
    """Return two lines of text: frequency and damping, and up to two coordinates, or internal states if no coordinate moves."""
    names = [name for name in mode.who if name in model.coordinate_names[1]] or list(mode.who)
    who = ", ".join(names[:2]) + (", ..." if len(names) > 2 else "")
    return f"{number}: {mode.natural_frequency:.3g} Hz, ζ = {mode.damping_ratio:.2g}\n{who}"


def _drawn(model: Model, q: Array, shape: np.ndarray) -> Array:
    """Draw the mechanism at equilibrium, with moving bodies translucent at both extremes of a motion, shape (nv,)."""
    frames, solids = _parts(model, q)
    vertices = [np.ptp(s.triangles.vertices, axis=0).max(initial=0.0) for s in solids]
    position = np.array([f.position[0] for f in frames if not f.parent])
    size = float(np.linalg.norm(np.ptp(position, axis=0))) + max(map(float, vertices), default=1.0)
    parts = [np.array(dynamics.kinematics(model, q, x).V, dtype=float) for x in (shape.real, shape.imag)]
    V = np.abs(parts[0] + 1j * parts[1])
    ways = np.maximum(np.linalg.norm(V[:, :3], axis=1) / (WAY * size), np.linalg.norm(V[:, 3:], axis=1) / TURN)
    largest = float(ways.max(initial=0.0))
    moving = {body.name for body, way in zip(model.bodies, ways, strict=True) if way > STILL * largest}
    rest, ghosts, skins = Scene(title="", axes=model.world.axes, frames=tuple(frames), solids=tuple(solids)), [], []
    for side, colour in ENDS if largest > 0.0 else ():
        there = np.array(dynamics.integrate(model, q, side / largest * shape.real, 1.0), dtype=float)
        at_end, skin = _parts(model, there)
        mark = f"{side:+.0f} "
        ghosts += [replace(f, name=mark + f.name, parent=f.parent and mark + f.parent) for f in at_end]
        skin = [s for s in skin if s.frame.partition("/")[0] in moving]
        skins += [replace(s, name=mark + s.name, frame=mark + s.frame, color=colour, opacity=0.35) for s in skin]
    seen = replace(rest, frames=tuple(ghosts), solids=tuple(skins)) if skins else rest
    scene = replace(rest, frames=(*frames, *ghosts), solids=(*solids, *skins), wet=model.wet)
    return raster(scene, size=(360, 270), camera=scene_camera(seen))


def _parts(model: Model, q: Array) -> tuple[list[MovingFrame], list[SceneSolid]]:
    position, wxyz = bodies_at(model, q)
    return body_parts(model, position[None], wxyz[None])
