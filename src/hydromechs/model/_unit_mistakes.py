"""Likely unit mistakes in bodies, positions and angles: degrees, litres, millimetres, grams."""

import math
from collections.abc import Iterator, Sequence

from hydromechs.geometry import Mesh, Origin, Placed
from hydromechs.values import plain

from ._body import Body, Hydro
from ._placement import Mdh
from .joints import Fixed, Revolute

TURNS = 2.0
"""Joint travel above which a warning suggests that integer limits are in degrees [turns]."""
LIGHT = 100.0
"""Ratio of displaced mass to mass above which a warning suggests that the volume is in litres; foam has 10 to 30 [-]."""
DENSEST = 25_000.0
"""Density above which a warning suggests that the mass is in grams; osmium has 22,600 [kg/m³]."""
LIGHTEST = 0.01
"""Density below which a warning suggests that lengths are in millimetres; about 1 % of the density of air [kg/m³]."""


def unit_mistakes(body: Body, density: float) -> list[str]:
    """Return warnings about likely unit mistakes in a valid body; the water density is in kg/m³."""
    out, mass = [], body.inertia.mass
    for part in body.joint.parts:
        if isinstance(part, Revolute) and part.limits is not None:
            text = limits_mistake("the joint limits", part.limits)
            out += [text] if text else []
    if not mass:
        return out
    if isinstance(body.hydro, Hydro) and density * body.hydro.volume > LIGHT * mass:
        ratio = f"which displaces {density * body.hydro.volume / mass:.4g} times its mass"
        out.append(
            f"the volume is {body.hydro.volume:g} m³, {ratio}; if this is in litres, write {body.hydro.volume / 1e3:g} m³"
        )
    if isinstance(body.hydro, Hydro) and mass > DENSEST * body.hydro.volume > 0.0:
        dense = f"{mass / body.hydro.volume:.3g} kg/m³, denser than any metal"
        meant = f"if the number is in grams, write {mass / 1e3:g} kg; check the mass, and the volume in m³"
        out.append(f"the mass of {plain(mass)} kg in a volume of {body.hydro.volume:g} m³ is {dense}; {meant}")
    solids = [s.shape for s in body.shapes if s.contact or s.wetting]
    if isinstance(body.hydro, Hydro):
        solids += [placed.shape for placed in body.hydro.own_shapes.values()]
    for solid in solids:
        volume = solid.volume if solid.bounded and not isinstance(solid, Mesh) else 0.0
        if volume * LIGHTEST > mass:
            what = f"its {solid.word} of {volume:.3g} m³ and its mass of {plain(mass)} kg"
            out.append(f"{what} make the body lighter than air; write lengths in metres")
    return out


def limits_mistake(what: str, limits: tuple[float, ...]) -> str:
    """Return a warning if finite limits of an angle [rad] look like degrees; empty otherwise."""
    turns = max((abs(x) for x in limits if math.isfinite(x)), default=0.0) / (2.0 * math.pi)
    if turns <= TURNS or not all(x.is_integer() and abs(x) <= 360.0 for x in limits if math.isfinite(x)):
        return ""
    meant = ", ".join(f"{math.radians(x):.4g}" for x in limits)
    return f"{what} {plain(limits)} rad are {turns:.3g} turns; if these are degrees, write [{meant}] rad"


FULL_TURN = 2.0 * math.pi * 1.001
"""Magnitude above which an angle is reported as degrees [rad]."""
FAR = 30.0
"""Distance from the body origin, relative to the largest body, above which a position is reported as millimetres [-]."""
NEAR = 10.0
"""Distance below which a position is never reported as millimetres [m]."""
DENSITY = 1000.0
"""Density assumed for a body without a shape [kg/m³]."""


def placement_mistakes(bodies: Sequence[Body]) -> list[str]:
    """Return warnings about likely unit mistakes in the poses on valid bodies."""
    size = max(map(_size, bodies), default=0.0)
    out = []
    for body in bodies:
        out += [f"body {body.name!r}: {text}" for text in _angle_mistakes(body)]
        out += [f"body {body.name!r}: {text}" for text in _length_mistakes(body, size)]
    return out


def angle_mistake(what: str, angles: tuple[float, ...]) -> str:
    """Return a warning about angles [rad] such as "frame 'camera' rpy" if an angle exceeds a full turn; empty otherwise."""
    most = max(map(abs, angles))
    if most <= FULL_TURN:
        return ""
    given, meant = (plain(angles if len(angles) > 1 else angles[0]) for angles in (angles, tuple(map(math.radians, angles))))
    return f"{what} is {given} rad, {most / (2.0 * math.pi):.3g} turns; if this is in degrees, write {meant} rad"


def _placements(body: Body) -> Iterator[tuple[str, Origin | Mdh]]:
    for k, part in enumerate(body.joint.parts):
        yield "joint" if len(body.joint.parts) == 1 else f"part {k + 1} of the joint", part.placement
    for frame in body.frames:
        yield f"frame {frame.name!r}", frame.origin
    yield from ((f"shapes.{shape.name} origin", shape.origin) for shape in body.shapes)
    if isinstance(body.hydro, Hydro):
        yield from ((f"hydro.{key}.shape origin", placed.origin) for key, placed in body.hydro.own_shapes.items())


def _angle_mistakes(body: Body) -> list[str]:
    out = []
    for what, place in _placements(body):
        if isinstance(place, Origin):
            out.append(angle_mistake(f"{what} rpy", place.rpy))
        else:
            named = ("alpha", "theta", "branch_theta")
            out += [angle_mistake(f"{what} mdh {name}", (getattr(place, name),)) for name in named]
    for part in body.joint.parts:
        if part.nq == 1 and part.unit == "rad":
            out.append(angle_mistake("joint position", part.initial_q))
    return [text for text in out if text]


def _length_mistakes(body: Body, size: float) -> list[str]:
    """Return warnings about positions far from the body origin; positions in the world are not limited."""
    if not size or (body.parent is None and isinstance(body.joint, Fixed)):
        return []
    places: list[tuple[str, tuple[float, ...]]] = [("inertia.com", body.inertia.com)]
    if isinstance(body.hydro, Hydro):
        places.append(("hydro.buoyancy_center", body.hydro.buoyancy_center))
    for what, place in _placements(body):
        if body.parent is None and "joint" in what:
            continue
        if isinstance(place, Origin):
            places.append((f"{what} xyz", place.xyz))
        else:
            places += [(f"{what} mdh {name}", (getattr(place, name),)) for name in ("a", "d", "branch_d")]
    for part in body.joint.parts:
        if part.nq == 1 and part.unit == "m" and body.parent is not None:
            places += [("joint position", part.initial_q), ("joint limits", part.limits or (0.0,))]
    out = []
    for what, at in places:
        distance = max(map(abs, at)) if "limits" in what else math.hypot(*at)
        if distance > max(FAR * size, NEAR):
            given, meant = (plain(x if len(x) > 1 else x[0]) for x in (at, tuple(a / 1000.0 for a in at)))
            far = f"{distance / size:.3g} times the size of the largest body, {size:.3g} m"
            out.append(f"{what} is {given} m, {far}; if this is in millimetres, write {meant} m")
    return out


def _size(body: Body) -> float:
    """Return the size of a body, from its shapes, its hydrodynamic elements, or a cube of its volume or mass [m]."""
    mass = body.inertia.mass
    lengths = [math.cbrt(mass / DENSITY)]
    if mass:
        lengths.append(math.sqrt(12.0 * max(body.inertia.tensor[:3]) / mass))
    solids: list[Placed] = [s for s in body.shapes if s.contact or s.wetting]
    if isinstance(body.hydro, Hydro):
        lengths.append(math.cbrt(body.hydro.volume))
        solids += body.hydro.own_shapes.values()
    for solid in solids:
        if solid.shape.bounded and not isinstance(solid.shape, Mesh):
            lengths.append(2.0 * float(solid.shape.half_size.max()))
    return max(lengths)
