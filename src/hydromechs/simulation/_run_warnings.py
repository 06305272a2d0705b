"""Warnings about a run, computed from its recording independently of the checks of the scenario."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

import numpy as np

from hydromechs.actuation import JointMotion, JointStops, Thruster, drives
from hydromechs.contact import Pair, Terrain
from hydromechs.dynamics import kinematics
from hydromechs.geometry import Box, Cylinder, HeightField, Mesh, Placed, Sphere
from hydromechs.hydro import PowerLaw, wave_components
from hydromechs.lines import HangingLine, Tether
from hydromechs.model import BodyShape, Hydro, Model, State, drag, joints
from hydromechs.recording import RunWarning
from hydromechs.spatial import rotation_between
from hydromechs.values import Array

from ._plant import Plant

if TYPE_CHECKING:
    import xarray

CAPSIZED = 90.0
"""Tilt above which a vehicle is reported as capsized [°]."""
LONG = 2.0
"""Maximum continuous time of an actuator at its limit [s]."""
OFTEN = 0.2
"""Maximum fraction of the run that an actuator may be at its limit [-]; detects chatter, whose intervals are short."""
AT_STOP = 1e-4
"""Penetration above which a joint has reached a soft stop, as a fraction of the travel [-]."""
SLACK = 0.02
"""Tension below which a line is slack, as a fraction of the mean tension [-]."""
NO_TENSION = 1e-6
"""Tension below which a line is always reported as slack [N]."""
STRAIGHT = 0.995
"""Distance between the ends of a line, relative to its length, below which the line can go slack [-]."""
LONG_WAVE = 5.0
"""Minimum ratio of wavelength to body size for negligible wave scattering [-] (DNV-RP-C205, 6.1: Morison's equation)."""
CRITICAL_REYNOLDS = 2e5
"""Reynolds number above which the drag coefficient of a smooth sphere or cylinder falls [-] (drag crisis)."""
SUBCRITICAL: dict[type, float] = {Cylinder: 0.7, Sphere: 0.3}
"""Drag coefficient above which the flow around a shape is subcritical [-], keyed by class of the shape. Beyond the drag
crisis, cylinders have 0.3 to 0.7 and spheres 0.1 to 0.2."""
SLOW_FLOW = 0.1
"""Speed through water, relative to its maximum, below which angles outside a map do not matter [-]: forces are below 1 %."""


def run_warnings(
    plant: Plant, recording: xarray.Dataset, expected: Collection[str] = (), start: State | None = None
) -> tuple[RunWarning, ...]:
    """Return warnings about conditions that make the result of a run doubtful, in order of time.

    `recording`: recording of the run; non-finite samples are ignored. `expected`: kinds of warnings in
    `recording.WARNING_KINDS` that are marked as expected. `start`: initial state of the mission if the recording is of a
    resumed run. Defaults to the first sample.
    """
    if not recording.sizes.get("time", 0):
        return ()
    run = _Recorded(plant, recording, start)
    with np.errstate(all="ignore"):
        found = [w for look in LOOKS for w in look(run)]
    return tuple(w._replace(expected=w.kind in expected) for w in sorted(found, key=lambda w: w.time))


class _Recorded:
    """Recording of a plant with access by index, which is much faster than access by label."""

    def __init__(self, plant: Plant, recording: xarray.Dataset, start: State | None = None) -> None:
        self.plant, self.model, self.recording, self.start = plant, plant.model, recording, start
        self.time: Array = np.asarray(recording["time"].values, dtype=float)

    def has(self, name: str) -> bool:
        return name in self.recording.variables

    def values(self, name: str, *index: int) -> Array:
        """Return the samples of one entry of a variable, shape (time, ...)."""
        variable = self.recording.variables[name]
        return np.asarray(variable[(slice(None), *index)].values, dtype=float)

    def names(self, dimension: str) -> list[str]:
        return [str(x) for x in self.recording.variables[dimension].values] if self.has(dimension) else []

    def warning(
        self, kind: str, item: str, excess: Array, value: Array, limit: float, unit: str, text: str, **more: str
    ) -> list[RunWarning]:
        """Return a warning if `excess` is positive at any time.

        `item`: name of the body, joint, actuator, line or contact. `excess`: amount by which the limit is exceeded, shape
        (time,); its maximum defines the worst time. `value`: value to report, shape (time,). `unit`: unit of value and limit.
        `text`: sentence with {item}, {time}, {worst}, {value} and {limit}. `**more`: additional fields of the sentence.
        """
        beyond = np.flatnonzero(excess > 0.0)  # False for NaN
        if not len(beyond):
            return []
        worst = int(beyond[np.argmax(excess[beyond])])
        first, at, x = float(self.time[beyond[0]]), float(self.time[worst]), float(value[worst])
        numbers = {"time": f"{first:.4g}", "worst": f"{at:.4g}", "value": f"{x:.3g}", "limit": f"{limit:.3g}"}
        words = text.format(item=item, **numbers, **more)
        return [RunWarning(kind, item, first, x, limit, unit, words)]


# -- attitude and actuators -------------------------------------------------------------------------------------------------


def _capsized(run: _Recorded) -> Iterator[RunWarning]:
    """Yield warnings about vehicles that tilt by more than 90° from their initial attitude, for any body axes."""
    text = (
        "{item!r} capsized at {time} s: tilt of {value}° from its initial attitude at {worst} s, limit {limit}°; "
        "check trim, current moment and attitude gains"
    )
    first = None if run.start is None else kinematics(run.model, run.start.q, run.start.v).R_WB
    for i in sorted(vehicles(run.plant)):
        tilt = tilt_from_start(run.values("orientation", i), None if first is None else np.asarray(first[i], dtype=float)[2])
        yield from run.warning("capsized", run.model.body_names[i], tilt - CAPSIZED, tilt, CAPSIZED, "deg", text)


def tilt_from_start(orientation: np.ndarray, start: np.ndarray | None = None) -> np.ndarray:
    """Return the angle between the vertical in body axes, Rᵀ e_z, and its initial direction [°], shape (time,).

    Args:
        orientation: Quaternions (w, x, y, z), body to world, shape (time, 4).
        start: Initial vertical in body axes, shape (3,). Defaults to the vertical in the first sample.
    """
    w, x, y, z = orientation.T
    vertical = np.stack([2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)], axis=1)
    return tilt_between(vertical @ (vertical[0] if start is None else start))


def tilt_between(cosine: np.ndarray) -> np.ndarray:
    """Return the angle between two verticals from its cosine [°], shape (...)."""
    return np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))


def vehicles(plant: Plant) -> set[int]:
    """Return the indices of free roots of mechanisms with actuators; all free roots if only custom components have commands."""
    model, out = plant.model, set()
    for c in plant.components:
        if isinstance(c, Thruster):
            out.add(_root(model, model.locate(c.frame).body))
        elif isinstance(c, drives.Drive | JointMotion):
            out.add(_root(model, model.body_index(c.joint) if c.joint in model.body_names else _carried(model, c.joint)))
    free = {i for i, body in enumerate(model.bodies) if isinstance(body.joint, joints.Free)}
    return out & free or (free if plant.layout.commands else set())


def _carried(model: Model, part: str) -> int:
    """Return the body that a part of a composite joint carries, such as "wrist.2"."""
    return model.body_index(part.rpartition(".")[0])


def _root(model: Model, i: int) -> int:
    while model.parent[i] >= 0:
        i = model.parent[i]
    return i


def _saturated(run: _Recorded) -> Iterator[RunWarning]:
    """Yield warnings about actuators at their limit for a long continuous time, or for a large part of the run."""
    if not run.has("saturated") or len(run.time) < 2:
        return
    at_limit = run.values("saturated") > 0.5
    spans = np.diff(run.time)
    for k in np.flatnonzero(at_limit.any(axis=0)):
        name, on = run.names("actuator")[k], at_limit[:-1, k]
        held = _stretches(on, spans)
        text = "actuator {item!r} was continuously at its limit for {value} s, until {worst} s; limit {limit} s"
        found = run.warning("saturated", name, np.append(0.0, held - LONG), np.append(0.0, held), LONG, "s", text)
        if not found:
            share = float(spans[on].sum() / spans.sum())
            text = "actuator {item!r} was at its limit for {value} % of the run, first at {time} s; limit {limit} %"
            all_of_it = np.where(at_limit[:, k], share - OFTEN, 0.0)
            found = run.warning("saturated", name, all_of_it, np.full(len(run.time), 100.0 * share), 100.0 * OFTEN, "%", text)
        yield from (w._replace(text=f"{w.text}; reduce the demand or use a stronger actuator") for w in found)


def _stretches(on: Array, spans: Array) -> Array:
    """Return the time for which a condition has lasted at the end of each interval [s], shape (n,)."""
    total = np.cumsum(np.where(on, spans, 0.0))
    return total - np.maximum.accumulate(np.where(on, 0.0, total))


def _joint_stops(run: _Recorded) -> Iterator[RunWarning]:
    for c in run.plant.components:
        if not isinstance(c, JointStops):
            continue
        part = run.model.joint_part(c.joint)
        q = run.values("q")[:, part.q]
        ball, lower, upper = q.shape[1] == 4, c.lower, c.upper
        if ball:
            level = np.array([1.0, 0.0, 0.0, 0.0])
            x, lower = np.array([np.linalg.norm(rotation_between(level, row)) for row in q], dtype=float), -math.inf
        else:
            x = q[:, 0]
        travel = upper - lower if math.isfinite(upper - lower) else 1.0
        unit = "m" if isinstance(part.joint, joints.Prismatic) else "rad"
        for limit, excess in ((lower, lower - x), (upper, x - upper)):
            text = f"joint {{item!r}} reached its stop at {{time}} s: {{value}} {unit} at {{worst}} s, limit {{limit}} {unit}"
            yield from run.warning("joint_stop", c.joint, excess - AT_STOP * travel, x, limit, unit, text)


# -- lines and contacts -----------------------------------------------------------------------------------------------------


def _lines(run: _Recorded) -> Iterator[RunWarning]:
    points, names = run.names("line_point"), run.names(HangingLine.kind)
    for c in run.plant.components:
        if isinstance(c, HangingLine):
            yield from _slack(run, c.name, run.values("hanging_tension", names.index(c.name), 1))
        elif isinstance(c, Tether):
            low, high = (points.index(f"{c.name}.{k}") for k in (0, c.segments + 1))
            yield from _slack(run, c.name, run.values("line_tension", high))
            ends = [run.values("line_position", k) for k in (low, high)]
            apart = np.linalg.norm(ends[1] - ends[0], axis=1)
            length = np.full(len(apart), c.length)
            if c.winch is not None:
                length = run.values("internal_state", run.names("internal").index(f"{c.name}.length"))
            loose = np.logical_or.accumulate(apart < STRAIGHT * length)
            tension = run.values("line_tension", high)
            text = "line {item!r} snapped tight at {time} s: ends {value} m apart at {worst} s, length {limit} m"
            taut = np.where(loose, apart - length, 0.0)
            for w in run.warning("line_taut", c.name, taut, apart, float(length[int(np.argmax(taut))]), "m", text):
                peak = float(np.nanmax(tension[run.time >= w.time]))
                yield w._replace(text=f"{w.text}; tension at the top up to {peak:.3g} N; pay out more line, or stay closer")


def _slack(run: _Recorded, name: str, tension: Array) -> list[RunWarning]:
    limit = max(SLACK * float(np.nanmean(tension)), NO_TENSION)
    text = "line {item!r} went slack at {time} s: tension at the top {value} N at {worst} s, limit {limit} N (2 % of the mean)"
    return run.warning("line_slack", name, limit - tension, tension, limit, "N", text)


def _deep_contacts(run: _Recorded) -> Iterator[RunWarning]:
    """Yield warnings about contacts deeper than half the thinner shape, beyond which a contact pushes to the wrong side."""
    if not run.has("contact_gap"):
        return
    gaps, names = run.values("contact_gap"), run.names("contact")
    for k in np.flatnonzero((gaps < 0.0).any(axis=0)):
        pair = next((c for c in run.plant.components if isinstance(c, Pair) and c.name == names[k]), None)
        limit = math.inf if pair is None else _half_thickness(run.model, pair)
        text = "contact {item!r} was {value} m deep at {worst} s, limit {limit} m (half the shape); use stiffer materials"
        yield from run.warning("deep_contact", names[k], -gaps[:, k] - limit, -gaps[:, k], limit, "m", text)


def _half_thickness(model: Model, pair: Pair) -> float:
    """Return half the thickness of the thinner object [m]; the thickness of a body is that of its thickest shape."""
    own = [_thickness(s) for s in model.bodies[pair.body].shapes if s.contact]
    return 0.5 * min(max(own, default=math.inf), _thickness(pair.solid))


def _thickness(solid: Placed) -> float:
    """Return the minimum dimension of a shape [m]; infinite for a plane, height field or mesh."""
    shape = solid.shape
    known = shape.bounded and not isinstance(shape, Mesh)
    return 2.0 * float(shape.half_size.min()) if known else math.inf


def _largest(solid: BodyShape) -> float:
    """Return the maximum dimension of a shape [m]; 0 for a mesh or an unbounded shape."""
    match solid.shape:
        case Box():
            return math.hypot(*solid.shape.size)
        case Cylinder():
            return math.hypot(2.0 * solid.shape.radius, solid.shape.length)
        case Mesh():
            return 0.0
    return 2.0 * float(solid.shape.half_size.max()) if solid.shape.bounded else 0.0


# -- domain of validity -----------------------------------------------------------------------------------------------------


def _water(run: _Recorded) -> Iterator[RunWarning]:
    """Yield warnings about bodies above the water in an environment without a free surface, and bodies below the bed."""
    environment, names = run.plant.environment, run.model.body_names
    wet = [i for i, body in enumerate(run.model.bodies) if body.hydro is not None and run.model.moves[i]]
    profile = environment.profile
    beds = [d for d in (environment.water_depth, profile.depth if isinstance(profile, PowerLaw) else None) if d is not None]
    if not run.plant.wet or not wet:
        return
    depth = run.values("depth")[:, wet]
    # without waves, bed or profile, z = 0 is not a surface: the water is unbounded
    has_surface = bool(environment.waves or beds or (depth[0] > 0.0).all())
    if environment.surface is None and has_surface:
        k = int(np.nanargmin(np.nanmin(depth, axis=0)))
        text = (
            "{item!r} rose out of the water at {time} s: depth {value} m at {worst} s, but the environment has no free surface"
        )
        advice = "; add 'surface: free' to the environment"
        for w in run.warning("above_surface", names[wet[k]], -depth[:, k], depth[:, k], 0.0, "m", text):
            yield w._replace(text=w.text + advice)
    if beds:
        k, bed = int(np.nanargmax(np.nanmax(depth, axis=0))), min(beds)
        text = (
            "{item!r} was below the seabed at {time} s: depth {value} m at {worst} s, bed at {limit} m; change "
            "the motion or the depth of the bed"
        )
        yield from run.warning("below_bed", names[wet[k]], depth[:, k] - bed, depth[:, k], bed, "m", text)


def _terrain(run: _Recorded) -> Iterator[RunWarning]:
    fields: dict[int, tuple[str, HeightField]] = {}
    for c in run.plant.components:
        if isinstance(c, Pair) and isinstance(c.solid, Terrain) and isinstance(c.solid.shape, HeightField):
            fields[c.body] = c.solid.name, c.solid.shape
    for i, (name, field) in fields.items():
        p = run.values("position", i)
        beyond = np.max([field.x[0] - p[:, 0], p[:, 0] - field.x[-1], field.y[0] - p[:, 1], p[:, 1] - field.y[-1]], axis=0)
        text = (
            "{item!r} left the grid of terrain {grid!r} at {time} s, by up to {value} m; extend the grid, beyond "
            "which the ground is level"
        )
        yield from run.warning("off_terrain", run.model.body_names[i], beyond, beyond, 0.0, "m", text, grid=name)


def _short_waves(run: _Recorded) -> Iterator[RunWarning]:
    """Yield a warning if the wavelength of the highest wave component is less than five times the size of a wet body."""
    environment, model = run.plant.environment, run.model
    if not environment.waves:
        return
    waves = wave_components(environment, model.world.gravity, run.plant.seed)
    length = 2.0 * math.pi / float(waves.wavenumber[int(np.argmax(waves.amplitude))])
    sizes = {
        b.name: max((_largest(s) for s in b.shapes if s.wetting), default=0.0) for b in model.bodies if b.hydro is not None
    }
    name, size = max(sizes.items(), key=lambda item: item[1], default=("", 0.0))
    reach = np.zeros(len(run.time))
    reach[0] = LONG_WAVE * size - length
    text = (
        f"{{item!r}} is {{value}} m long, more than a fifth of the wavelength of {length:.3g} m, so it would scatter the waves"
    )
    yield from run.warning("short_waves", name, reach, np.full(len(reach), size), length / LONG_WAVE, "m", text)


def _reynolds(run: _Recorded) -> Iterator[RunWarning]:
    """Yield warnings about smooth cylinders and spheres beyond the drag crisis, given the speed of the body origin."""
    if not run.has("fluid_velocity"):
        return
    for i, body in enumerate(run.model.bodies):
        elements = body.hydro.drag if isinstance(body.hydro, Hydro) else ()
        pairs = [(e, e.solid.shape) for e in elements if isinstance(e, drag.ShapeDrag)]
        smooth = [(e, shape) for e, shape in pairs if isinstance(shape, Cylinder | Sphere)]
        radii = [shape.radius for e, shape in smooth if e.coefficients[0] > SUBCRITICAL[type(shape)]]
        if not radii:
            continue
        over_ground = np.linalg.norm(run.values("velocity", i)[:, :3], axis=1)
        water = np.linalg.norm(run.values("fluid_velocity", i), axis=1)
        per_speed = 2.0 * max(radii) / run.model.world.kinematic_viscosity
        reynolds = per_speed * (over_ground + water)  # upper bound first: most bodies are far below
        if not (reynolds > CRITICAL_REYNOLDS).any():
            continue
        rate = np.linalg.norm(_ground_velocity(run, i) - run.values("fluid_velocity", i), axis=1)
        reynolds = per_speed * rate
        text = (
            "{item!r} reached a Reynolds number of {value} at {worst} s; the drag of smooth bodies drops above "
            "{limit}; reduce the coefficient"
        )
        yield from run.warning("reynolds", body.name, reynolds - CRITICAL_REYNOLDS, reynolds, CRITICAL_REYNOLDS, "1", text)


def _maps(run: _Recorded) -> Iterator[RunWarning]:
    """Yield warnings about flow angles outside the tables of hydrodynamic maps, where forces can even drive the body."""
    if not run.has("fluid_velocity"):
        return
    for i, body in enumerate(run.model.bodies):
        for element in body.hydro.drag if isinstance(body.hydro, Hydro) else ():
            if not isinstance(element, drag.CoefficientMap):
                continue
            V = run.values("velocity", i)
            water = _turned(_inverse(run.values("orientation", i)), run.values("fluid_velocity", i))
            v = (V[:, :3] + np.cross(V[:, 3:], element.center) - water) @ element.origin.R
            speed = np.linalg.norm(v, axis=1)
            angles = np.arctan2(v[:, 2], v[:, 0]), np.arcsin(np.clip(v[:, 1] / speed, -1.0, 1.0))
            for symbol, x, table in zip(("α", "β"), angles, (element.alpha, element.beta), strict=True):
                beyond = np.maximum(table[0] - x, x - table[-1]) - 1e-6
                beyond = np.where(speed > SLOW_FLOW * np.nanmax(speed), beyond, 0.0)
                limit = np.degrees(table[0] if x[int(np.nanargmax(beyond))] < table[0] else table[-1])
                text = (
                    "the flow at {item!r} came from {angle} = {value}° at {worst} s, outside its map (limit {limit}°), whose "
                    "nearest coefficients can then drive the body; extend the map"
                )
                yield from run.warning("outside_map", body.name, beyond, np.degrees(x), float(limit), "deg", text, angle=symbol)


def _ground_velocity(run: _Recorded, i: int) -> Array:
    """Return the velocity of the origin of a body in world axes [m/s], shape (time, 3)."""
    return _turned(run.values("orientation", i), run.values("velocity", i)[:, :3])


def _inverse(q: Array) -> Array:
    """Return inverse unit quaternions, shape (n, 4)."""
    return q * np.array([1.0, -1.0, -1.0, -1.0])


def _turned(q: Array, v: Array) -> Array:
    """Rotate vectors from body to world axes, shape (n, 3): v + 2 w (u × v) + 2 u × (u × v) for a quaternion (w, u)."""
    w, u = q[:, :1], q[:, 1:]
    across = np.cross(u, v)
    return v + 2.0 * (w * across + np.cross(u, across))


def _inflow(run: _Recorded) -> Iterator[RunWarning]:
    """Yield warnings about thrusters whose speed of advance exceeds the speed at which full thrust is 0."""
    for c in run.plant.components:
        if not isinstance(c, Thruster) or c.zero_thrust_speed is None or not run.has("fluid_velocity"):
            continue
        place = run.model.locate(c.frame)
        V, q = run.values("velocity", place.body), run.values("orientation", place.body)
        water = _turned(_inverse(q), run.values("fluid_velocity", place.body))
        speed = (V[:, :3] + np.cross(V[:, 3:], place.p) - water) @ place.R[:, 0]
        text = (
            "thruster {item!r} had a speed of advance of {value} m/s at {worst} s; its full thrust is 0 above "
            "{limit} m/s; reduce the speed"
        )
        yield from run.warning(
            "inflow", c.name, np.abs(speed) - c.zero_thrust_speed, np.abs(speed), c.zero_thrust_speed, "m/s", text
        )


LOOKS = (_capsized, _saturated, _joint_stops, _lines, _deep_contacts, _water, _terrain, _short_waves, _reynolds, _maps, _inflow)
"""Functions that check all conditions."""
