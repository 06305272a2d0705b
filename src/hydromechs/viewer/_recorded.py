"""Scene of a recording: moving bodies, their paths, forces by cause, current, seabed and water surface."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from hydromechs.contact import Terrain
from hydromechs.geometry import Cylinder, HeightField, Plane, Triangles
from hydromechs.hydro import Environment, WaveComponents, wave_components
from hydromechs.model import Model
from hydromechs.values import Array

from ._looks import Color
from ._scene import Arrows, Line, Scene, SceneSolid, Strand, Surface, body_parts
from ._series import depth, free_bodies

if TYPE_CHECKING:
    import xarray

FORCES: dict[str, Color] = {
    "thrust": (0.90, 0.35, 0.05),
    "drag": (0.00, 0.60, 0.45),
    "added_mass": (0.35, 0.30, 0.75),
    "fluid_acceleration": (0.30, 0.65, 0.90),
    "contact": (0.80, 0.25, 0.60),
    "external": (0.55, 0.40, 0.10),
    "weight": (0.70, 0.10, 0.10),
    "buoyancy": (0.05, 0.35, 0.85),
}
"""Colours of force arrows, keyed by cause."""
OTHER: Color = (0.25, 0.25, 0.25)
"""Colour of force arrows with other causes."""
STATIC = ("weight", "buoyancy")
"""Causes drawn with a separate scale, because each force is far larger than their sum."""
SAND: Color = (0.74, 0.67, 0.52)
CONCRETE: Color = (0.62, 0.64, 0.66)
TETHER: Color = (0.98, 0.72, 0.10)
SEA: Color = (0.80, 0.94, 1.0)
CURRENT: Color = (0.10, 0.55, 0.85)
NEAR_SURFACE = 12.0
"""Maximum depth of the first body at which the water surface is drawn [m]."""
AROUND = np.array([[a, b, c] for a in (-0.8, 0.8) for b in (-0.8, 0.8) for c in (-0.25, 0.25)])
"""Tails of the current arrows relative to a body, as fractions of the size of the mechanism, shape (8, 3)."""
FASTEST = 9.0
"""Displayed rate of the propeller with the highest thrust, slow enough to be visible [rad/s]."""


def sample_times(ds: xarray.Dataset, rate: float, most: int) -> Array:
    """Return the indices of finite samples for a replay, at most `rate` per second and `most` in total, shape (n,)."""
    time = ds["time"].values
    good = np.isfinite(ds["position"].values).all(axis=(1, 2)) & np.isfinite(ds["orientation"].values).all(axis=(1, 2))
    usable = np.flatnonzero(good)
    if not len(usable):
        raise ValueError("the recording has no finite sample; check whether the run diverged at the start")
    span = time[usable[-1]] - time[usable[0]]
    count = int(min(most, max(2, round(span * rate) + 1), len(usable)))
    wanted = np.linspace(time[usable[0]], time[usable[-1]], count)
    after = np.clip(np.searchsorted(time[usable], wanted), 1, len(usable) - 1) if len(usable) > 1 else np.zeros(1, dtype=int)
    nearer = np.abs(time[usable[after - 1]] - wanted) <= np.abs(time[usable[after]] - wanted)
    return np.unique(usable[np.where(nearer, after - 1, after)])


def recording_scene(
    model: Model,
    ds: xarray.Dataset,
    *,
    terrain: Sequence[Terrain] = (),
    environment: Environment | None = None,
    thrusters: Mapping[str, str] | None = None,
    rate: float = 25.0,
    most: int = 3000,
) -> Scene:
    """Return the scene of a recording.

    Args:
        model: Model that was simulated.
        ds: Recording of the simulation.
        terrain: Terrain to draw.
        environment: Environment with the water surface. Defaults to no water surface.
        thrusters: Name of the frame of each thruster, keyed by thruster. Defaults to actuators that share the name of a frame.
        rate: Maximum number of samples per second [1/s].
        most: Maximum number of samples; longer recordings are thinned.
    """
    recorded = [str(x) for x in ds["body"].values]
    if recorded != list(model.body_names):
        raise ValueError(
            f"the recording contains the bodies {', '.join(recorded)}, but the model has {', '.join(model.body_names)}; "
            "use the model that was simulated"
        )
    at = sample_times(ds, rate, most)
    some = ds.isel(time=at)
    position, wxyz = some["position"].values, some["orientation"].values
    thrust = _thrust(model, some, thrusters)
    frames, parts = body_parts(model, position, wxyz, turns=_turns(some["time"].values, thrust))
    scene = Scene(axes=model.world.axes, frames=tuple(frames), solids=tuple(parts))
    vehicle = next(iter(free_bodies(ds)), "")
    own = {frame.name for frame in frames if frame.mechanism == vehicle and not frame.scenery} or None
    low, high = scene.bounds(0, frames=own)
    size = float(np.linalg.norm(high - low))
    path = scene.bounds(*np.linspace(0, len(at) - 1, min(len(at), 12)).astype(int))
    return Scene(
        title=str(ds.attrs.get("title") or model.name),
        axes=model.world.axes,
        times=some["time"].values,
        frames=tuple(frames),
        solids=(*parts, *_ground(model, terrain, environment, path)),
        arrows=(*_force_arrows(model, some, size, thrust), *_current_arrows(some, size)),
        lines=tuple(_paths(ds)),
        strands=tuple(_tethers(some)),
        surfaces=tuple(_sea(model, some, environment, path)) if model.wet and environment is not None else (),
        wet=model.wet,
    )


def _thrust(model: Model, ds: xarray.Dataset, thrusters: Mapping[str, str] | None) -> dict[str, Array]:
    """Return the thrust along the x axis of each thruster frame [N], shape (time,), keyed by frame."""
    if "actuator_force" not in ds:
        return {}
    names = [str(name) for name in ds["actuator"].values]
    known = {name: name for name in names if name in model.frames} if thrusters is None else thrusters
    return {known[n]: np.nan_to_num(ds["actuator_force"].values[:, k]) for k, n in enumerate(names) if n in known}


def _turns(times: Array, thrust: Mapping[str, Array]) -> dict[str, Array]:
    """Return propeller angles [rad], shape (time,), keyed by frame; shaft rates are proportional to √|thrust|."""
    most = max((float(np.abs(force).max()) for force in thrust.values()), default=0.0)
    steps = np.diff(times, prepend=times[0])
    return {
        frame: np.cumsum(FASTEST * np.sign(force) * np.sqrt(np.abs(force) / max(most, 1e-9)) * steps)
        for frame, force in thrust.items()
    }


def _paths(ds: xarray.Dataset) -> Iterator[Line]:
    thin = ds.isel(time=sample_times(ds, 20.0, 1500))
    for body in free_bodies(ds)[:8]:
        points = thin["position"].sel(body=body).values
        yield Line(name=f"path of {body}", points=points, color=(0.95, 0.85, 0.20), layer="path")


def _tethers(ds: xarray.Dataset) -> Iterator[Strand]:
    """Yield the recorded tethers as smooth curves.

    The points of a tether are named "name.0", "name.1", ... along the dimension line_point.
    """
    if "line_position" not in ds:
        return
    names = [str(name).rpartition(".")[0] for name in ds["line_point"].values]
    for name in dict.fromkeys(names):
        points = ds["line_position"].values[:, [k for k, other in enumerate(names) if other == name]]
        yield tether_strand(name, points)


def tether_strand(name: str, points: Array) -> Strand:
    """Return a tether as a smooth curve through points in world axes [m], shape (time, n, 3)."""
    return Strand(name=f"tether {name}", points=_smooth(points), color=TETHER, layer="tethers")


def _smooth(points: Array) -> Array:
    """Return points on Catmull-Rom curves, shape (time, 4 (n − 1) + 1, 3), through given points, shape (time, n, 3)."""
    before = np.concatenate([points[:, :1], points[:, :-1]], axis=1)[:, :-1]
    after = np.concatenate([points[:, 2:], points[:, -1:]], axis=1)
    a, b = points[:, :-1], points[:, 1:]
    x = np.array([0.0, 0.25, 0.5, 0.75])[:, None]
    rows = [
        v[:, :, None]
        for v in (a, 0.5 * (b - before), before - 2.5 * a + 2.0 * b - 0.5 * after, 0.5 * (after - before) + 1.5 * (a - b))
    ]
    curve = rows[0] + x * (rows[1] + x * (rows[2] + x * rows[3]))
    return np.concatenate([curve.reshape(len(points), -1, 3), points[:, -1:]], axis=1)


def _turned(wxyz: Array, v: Array) -> Array:
    """Rotate vectors from body to world axes, shape (..., 3): R v for a unit quaternion (w, u)."""
    w, u = wxyz[..., :1], wxyz[..., 1:]
    across = 2.0 * np.cross(u, v)
    return v + w * across + np.cross(u, across)


def _force_arrows(model: Model, ds: xarray.Dataset, size: float, thrust: Mapping[str, Array]) -> Iterator[Arrows]:
    """Yield arrows of the forces on bodies by cause, and of thrust at each thruster; the longest spans 80 % of the vehicle."""
    recorded = [str(name).removeprefix("force_") for name in ds.data_vars if str(name).startswith("force_")]
    causes = [*(c for c in FORCES if c in recorded), *(c for c in recorded if c not in FORCES)]
    start, wxyz = ds["position"].values, ds["orientation"].values
    worlds = {c: _turned(wxyz, np.nan_to_num(ds[f"force_{c}"].values[..., :3])) for c in causes}
    longest = {
        group: max((float(np.linalg.norm(worlds[c], axis=-1).max()) for c in causes if (c in STATIC) == group), default=0.0)
        for group in (True, False)
    }
    if thrust and longest[False] > 0.0:
        yield _thruster_arrows(model, ds, 0.8 * size / longest[False], 0.006 * size, thrust)
    for cause, force in worlds.items():
        scale = longest[cause in STATIC]
        peak = np.linalg.norm(force, axis=-1).max(axis=0)
        shown = np.flatnonzero(peak > 0.05 * scale)
        if len(shown):
            tails = start[:, shown]
            ends = np.stack([tails, tails + 0.8 * size / scale * force[:, shown]], axis=2)
            label = "sum of thrust" if thrust and cause == "thrust" else cause.replace("_", " ")
            color = FORCES.get(cause, OTHER)
            yield Arrows(name=f"force {label}", ends=ends, color=color, layer=f"force: {label}", width=0.006 * size)


def _thruster_arrows(model: Model, ds: xarray.Dataset, length: float, width: float, thrust: Mapping[str, Array]) -> Arrows:
    """Return arrows for the thrust of each thruster with the scale `length` [m/N]."""
    ends = []
    for name, force in thrust.items():
        body, place, R = model.locate(name)
        p, wxyz = ds["position"].values[:, body], ds["orientation"].values[:, body]
        tail = p + _turned(wxyz, np.broadcast_to(place, p.shape))
        along = _turned(wxyz, np.broadcast_to(R[:, 0], p.shape))
        ends.append(np.stack([tail, tail + length * force[:, None] * along], axis=1))
    return Arrows(name="force thrust", ends=np.stack(ends, axis=1), color=FORCES["thrust"], layer="force: thrust", width=width)


def _current_arrows(ds: xarray.Dataset, size: float) -> Iterator[Arrows]:
    """Yield arrows of the water velocity around the first body; an arrow for 1 m/s is as long as the vehicle."""
    if "fluid_velocity" not in ds or not np.any(np.nan_to_num(ds["fluid_velocity"].values)):
        return
    v = np.nan_to_num(ds["fluid_velocity"].values[:, 0])
    tails = ds["position"].values[:, :1] + size * AROUND
    ends = np.stack([tails, tails + size * v[:, None]], axis=2)
    yield Arrows(name="current", ends=ends, color=CURRENT, layer="current", width=0.005 * size)


# -- surroundings ---------------------------------------------------------------------------------------------------


def _around(path: tuple[Array, Array], down: float) -> tuple[Array, float]:
    """Return the centre of a path in world axes, and a quarter of the width of the surroundings [m].

    `path` contains the minimum and maximum coordinates of the path, z up [m].
    """
    center = 0.5 * (path[0] + path[1]) * np.array([1.0, -down, -down])
    return center, max(1.25 * float(np.linalg.norm((path[1] - path[0])[:2])), 3.0)


def _ground(
    model: Model, things: Sequence[Terrain], environment: Environment | None, path: tuple[Array, Array]
) -> Iterator[SceneSolid]:
    down = float(model.world.down[2])
    center, half = _around(path, down)
    for thing in things:
        color = CONCRETE if thing.shape.bounded else SAND
        yield SceneSolid(
            name=f"terrain {thing.name}", triangles=_terrain(thing, center, half, down), color=color, layer="terrain"
        )
    bed = None if environment is None else environment.water_depth
    if bed is not None and not things and bed - abs(center[2]) < 4.0 * half:
        floor = Cylinder(radius=12.0 * half, length=0.01).at((center[0], center[1], down * bed)).triangulate()
        yield SceneSolid(name="bed", triangles=floor, color=SAND, layer="terrain")


def _terrain(thing: Terrain, center: Array, half: float, down: float) -> Triangles:
    """Return the surface of a terrain in world axes, or the part of unbounded terrain around a point."""
    match shape := thing.shape:
        case Plane():
            z, thick = thing.origin.R[:, 2], 0.02 * half
            foot = center - z * float(z @ (center - np.array(thing.origin.xyz)))
            disc = Cylinder(radius=12.0 * half, length=thick).triangulate()
            return disc.moved(thing.origin.R, foot - 0.5 * thick * z)
        case HeightField():
            return shape.triangulate().scaled((1.0, 1.0, -down))
    return thing.triangulate()


def wave_heights(components: WaveComponents, x: Array, y: Array, times: Array) -> Array:
    """Return the elevation of the water surface, η = Σ a cos(k n·p − ω t + phase) [m], shape (time, nx, ny)."""
    out = np.zeros((len(times), len(x), len(y)))
    for a, omega, k, n, phase in zip(*components[:5], strict=True):
        place = k * (n[0] * x[:, None] + n[1] * y[None, :]) + phase
        out += a * np.cos(place[None] - omega * times[:, None, None])
    return out


def _seed(ds: xarray.Dataset) -> int:
    seed = ds.attrs.get("seed", 0)
    if not (isinstance(seed, int | np.integer) and seed >= 0):
        raise ValueError(
            f"attribute 'seed' of the recording is {str(seed)[:40]!r}, not an integer of at least 0; correct or delete it"
        )
    return int(seed)


def _sea(model: Model, ds: xarray.Dataset, environment: Environment, path: tuple[Array, Array]) -> Iterator[Surface]:
    if float(depth(ds, str(ds["body"].values[0])).min()) > NEAR_SURFACE:
        return
    components = wave_components(environment, model.world.gravity, _seed(ds))
    down = float(model.world.down[2])
    center, half = _around(path, down)
    lines = 2.0 * half * np.linspace(-1.0, 1.0, 33)
    x, y = center[0] + lines, center[1] + lines
    heights = wave_heights(components, x, y, ds["time"].values)
    yield Surface(name="water surface", x=x, y=y, z=(-down * heights).astype(np.float32), color=SEA, opacity=0.45)
