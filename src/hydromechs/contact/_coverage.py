"""Warnings about contacts that probes cannot represent: shapes on height fields, and motions that are inaccurate."""

import math
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from hydromechs import compiler
from hydromechs.geometry import Box, Capsule, Convex, Cylinder, HeightField, Placed
from hydromechs.model import Model
from hydromechs.model.component import Component, Now, StillWater
from hydromechs.values import Array

from ._convex_pair import ConvexPair
from ._pair import Pair, PointProbe
from ._probes import probes
from ._touching import Terrain

LISTED = 6
"""Maximum number of pairs listed in one message; further pairs are counted."""
CREST = 0.1
"""Height of a crest between two probes above which a warning is issued, relative to the smallest dimension of the shape."""
ENGINE = "run the plant in MuJoCo, whose contacts use whole shapes"


def unrepresented_contacts(model: Model, components: Iterable[Component]) -> list[str]:
    """Return a warning for each kind of contact geometry that probes cannot represent.

    Convex shapes touch each other and planes with their whole surfaces. They touch height fields only at probes, which may be
    farther apart than the crests.
    """
    pairs = [c for c in components if isinstance(c, Pair) and not isinstance(c, ConvexPair)]
    found: dict[str, list[str]] = {}
    for where, defect in _meetings(model, pairs):
        places = found.setdefault(defect, [])
        if where not in places:
            places.append(where)
    out = []
    for defect, places in found.items():
        more = f" and {len(places) - LISTED} more pairs" if len(places) > LISTED else ""
        out.append(f"contact of {', '.join(places[:LISTED])}{more}: {defect}, or {ENGINE}")
    return out


def contact_cost(model: Model, components: Iterable[Component]) -> tuple[int, int]:
    """Return the number of contact pairs, and their operations per evaluation of the dynamics if all pairs are in contact."""
    pairs = [c for c in components if isinstance(c, Pair)]
    alike: dict[Any, list[Pair]] = {}
    for pair in pairs:
        alike.setdefault(pair.alike, []).append(pair)
    return len(pairs), sum(len(group) * _operations(model, group[0]) for group in alike.values())


def _operations(model: Model, pair: Pair) -> int:
    slots = [slot.name for slot in pair.states(model)]

    def of(R: Array, p: Array, V: Array, R_B: Array, p_B: Array, V_B: Array, s: Array) -> tuple[Any, ...]:
        other = -1 if pair.other is None else pair.other
        bodies = {pair.body: (R, p, V), other: (R_B, p_B, V_B)}
        kin = SimpleNamespace(**{k: {at: x[i] for at, x in bodies.items()} for i, k in enumerate(("R_WB", "p_WB", "V"))})
        now = Now(model, 0.0, np.zeros(model.nq), np.zeros(model.nv), kin, StillWater(None))
        action = pair.act(now, dict(zip(slots, s, strict=True)), {})
        results = [*(w.F_Bo_B for w in action.forces), *action.rates.values(), action.energy, action.power]
        return tuple(np.asarray(x) for x in (*results, *action.record.values()))

    shapes = {"R": (3, 3), "p": (3,), "V": (6,), "R_B": (3, 3), "p_B": (3,), "V_B": (6,), "s": (len(slots),)}
    return compiler.typical_operations(compiler.trace(of, shapes, name="pair"))


def _meetings(model: Model, pairs: Iterable[Pair]) -> Iterator[tuple[str, str]]:
    """Yield the names of a shape and a height field that may touch, and a description of the inaccurate motion."""
    names = model.body_names
    met = {(pair.body, id(pair.solid)): pair.solid for pair in pairs if pair.frame is None}
    for (body, _), solid in met.items():
        if not (isinstance(solid, Terrain) and isinstance(solid.shape, HeightField)):
            continue
        for shape in model.bodies[body].shapes:
            defect = _defect(shape, solid, solid.shape) if shape.contact else None
            if defect is not None:
                yield f"{shape.shape.word} {names[body]!r} with {solid.shape.word} {solid.name!r}", defect


def _defect(piece: Placed, solid: Placed, ground: HeightField) -> str | None:
    """Return a description of the motion that probes cannot represent on a height field, with a fix; None if there is none."""
    shape = piece.shape
    if isinstance(shape, Box | Convex):
        height = _crest(ground, 2.0 * float(max(shape.half_size)))
        if height <= CREST * 2.0 * float(min(shape.half_size)):
            return None
        return (
            f"a {shape.word} touches a height field only with its corners, so crests up to {height:.2g} m high between two "
            "corners, pass through the faces; add spheres on the faces"
        )
    if isinstance(shape, Cylinder) and shape.length < 2.0 * shape.radius:
        return (
            "a short cylinder touches a height field with 4 points on each rim and rolls like a square; for rolling "
            "use a sphere, a capsule or a plane; for standing use a box"
        )
    between = _between(piece, shape.radius, solid, ground) if isinstance(shape, Capsule | Cylinder) else ""
    if isinstance(shape, Cylinder):
        passing = f", and {between}" if between else ""
        return (
            f"a long cylinder touches a height field like a capsule, which cannot stand on its round ends{passing}; for "
            "standing use a box, for lying and rolling a capsule"
        )
    if not between:
        return None
    return f"a long capsule touches a height field with spheres on its axis, so {between}; split the capsule into shorter ones"


def _between(piece: Placed, radius: float, solid: Placed, ground: HeightField) -> str:
    """Return a description of crests that pass between the spheres along an axis, or an empty text if there are none."""
    places = [p.position for p in probes(piece, solid) if isinstance(p, PointProbe)]
    if len(places) < 2:
        return ""
    apart = math.dist(places[0], places[1])
    height = _crest(ground, apart)
    if apart <= 2.0 * radius * (1.0 + 1e-9) or height <= CREST * 2.0 * radius:
        return ""
    return f"crests of the ground, up to {height:.2g} m high, pass between spheres {apart:.3g} m apart"


def _crest(field: HeightField, span: float) -> float:
    """Return the maximum height of the surface above the chord between two points at a distance `span` along x or y [m].

    The ends of the chord are on grid lines. Within a cell, a parabola approximates the surface.
    """
    highest, heights = 0.0, np.array(field.heights)
    for h, cell in ((heights, field.spacing[0]), (heights.T, field.spacing[1])):
        reach = min(max(round(0.5 * span / cell), 1), (len(h) - 1) // 2)
        if reach:
            above = float((h[reach:-reach] - 0.5 * (h[2 * reach :] + h[: -2 * reach])).max())
            highest = max(highest, above * min(1.0, 0.5 * span / cell) ** 2)
    return highest
