"""Contacts that probes cannot represent: the pairs of shapes, and the motion that is inaccurate."""

import math
from collections.abc import Iterable, Iterator

import numpy as np

from hydromechs.geometry import Box, Capsule, Cylinder, HeightField, Placed, Plane
from hydromechs.model import Model
from hydromechs.model.component import Component

from ._pair import Pair, PointProbe
from ._probes import probes
from ._touching import Terrain

LISTED = 6
"""Maximum number of pairs that one message names; the others are counted."""
CREST = 0.1
"""Height of a crest between two probes above which it is reported, as a fraction of the shape's smallest dimension."""
ENGINE = "run the plant in MuJoCo, whose contacts use whole shapes"


def unrepresented_contacts(model: Model, components: Iterable[Component]) -> list[str]:
    """Return warnings about contacts of a plant's components whose geometry the probes cannot represent, one for each defect.

    A contact is represented if the probes of one side cover its whole surface, since distances to solids are exact. Spheres
    cover their surface; capsules do if the spheres along their axis overlap; boxes do against a plane. Terrain has no probes.
    """
    pairs = [c for c in components if isinstance(c, Pair)]
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


def _meetings(model: Model, pairs: Iterable[Pair]) -> Iterator[tuple[str, str]]:
    """Yield the names of two shapes that may touch, and what their probes cannot represent."""
    names = model.body_names
    met = {(pair.body, pair.other, id(pair.solid)): pair.solid for pair in pairs if pair.frame is None}
    for (body, other, _), solid in met.items():
        for shape in model.bodies[body].shapes:
            defect = _defect(shape, solid) if shape.contact else None
            if defect is None:
                continue
            name = f"{shape.shape.word} {names[body]!r}"
            if isinstance(solid, Terrain):
                yield f"{name} with {solid.shape.word} {solid.name!r}", "; ".join(defect)
            elif other is not None:
                opposite = _defect(solid, shape)
                if opposite is not None:  # both directions are found; sorting gives both the same text
                    where = sorted([name, f"{solid.shape.word} {names[other]!r}"])
                    parts = zip(*sorted([defect, opposite]), strict=True)
                    motions, remedies = (dict.fromkeys(part) for part in parts)
                    yield " with ".join(where), f"{'; '.join(motions)}; {', or '.join(remedies)}"


def _defect(piece: Placed, solid: Placed) -> tuple[str, str] | None:
    """Return the motion that the probes of a shape cannot represent against a solid, and the fix; None if they cover it."""
    match piece.shape:
        case Box():
            return _box_defect(piece.shape, solid)
        case Cylinder():
            return _cylinder_defect(piece, piece.shape, solid)
        case Capsule():
            return _capsule_defect(piece, piece.shape, solid)
    return None


def _box_defect(shape: Box, solid: Placed) -> tuple[str, str] | None:
    if isinstance(solid.shape, Plane):
        return None
    if isinstance(solid.shape, HeightField):
        height = _crest(solid.shape, max(shape.size))
        if height <= CREST * min(shape.size):
            return None
        passing = f"crests of the ground, up to {height:.2g} m high between two corners, pass through its faces"
    else:
        passing = "edges that cross, and faces that meet between the corners, pass through each other"
    return f"a box touches with its 8 corners only, so {passing}", (
        "use spheres or capsules instead, and remove the role contact of the box"
    )


def _cylinder_defect(piece: Placed, shape: Cylinder, solid: Placed) -> tuple[str, str] | None:
    if shape.length < 2.0 * shape.radius:
        return "a cylinder shorter than its diameter touches with 4 points on each rim, so it rolls like a square", (
            "for rolling use a sphere, a capsule or a cylinder that is longer than its diameter; for standing use a box"
        )
    round_ends = "a cylinder touches as a capsule of the same length, so it cannot rest on its round ends"
    between = _between(piece, shape.radius, solid)
    passing = f", and {between[0]} pass between its {between[1]}" if between else ""
    return round_ends + passing, "for standing use a box; for lying and rolling use a capsule"


def _capsule_defect(piece: Placed, shape: Capsule, solid: Placed) -> tuple[str, str] | None:
    between = _between(piece, shape.radius, solid)
    if not between:
        return None
    motion = f"a capsule longer than its diameter touches by spheres on its axis, so {between[0]} pass between {between[1]}"
    return motion, "split the capsule into capsules no longer than their diameter"


def _between(piece: Placed, radius: float, solid: Placed) -> tuple[str, str] | None:
    """Return the features that pass between the spheres along an axis, and the spheres' spacing; None if nothing passes."""
    places = [p.position for p in probes(piece, solid) if isinstance(p, PointProbe)]  # a segment is exact
    if isinstance(solid.shape, Plane) or len(places) < 2:
        return None
    apart = math.dist(places[0], places[1])
    if apart <= 2.0 * radius * (1.0 + 1e-9):
        return None
    if isinstance(solid.shape, HeightField):
        height = _crest(solid.shape, apart)
        if height <= CREST * 2.0 * radius:
            return None
        return f"crests of the ground, up to {height:.2g} m high", f"spheres {apart:.3g} m apart"
    return "edges and corners", f"spheres {apart:.3g} m apart"


def _crest(field: HeightField, span: float) -> float:
    """Maximum height of the surface above the chord between two points `span` apart along x or y [m].

    The chord's ends lie on grid lines; within a cell the surface is approximated by a parabola.
    """
    highest, heights = 0.0, np.array(field.heights)
    for h, cell in ((heights, field.spacing[0]), (heights.T, field.spacing[1])):
        reach = min(max(round(0.5 * span / cell), 1), (len(h) - 1) // 2)
        if reach:
            above = float((h[reach:-reach] - 0.5 * (h[2 * reach :] + h[: -2 * reach])).max())
            highest = max(highest, above * min(1.0, 0.5 * span / cell) ** 2)
    return highest
