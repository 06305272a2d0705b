"""Probes on bodies, and contact pairs of a probe and a solid."""

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from hydromechs.errors import UnsupportedFeature
from hydromechs.geometry import Box, Capsule, Convex, Cylinder, Mesh, Placed, Plane, Sphere
from hydromechs.model import BodyShape, Model
from hydromechs.model.component import Component
from hydromechs.values import Array

from ._convex_pair import ConvexPair, meet_as_convex
from ._law import Material
from ._pair import Pair, PointProbe, Segment
from ._touching import BodyContact, CollisionGroup, ContactExclusion, PointContact, Terrain

MAX_CORNERS = 32
"""Maximum number of corners of the hull of a mesh, in addition to the farthest corners along the axes."""
MAX_POINTS = 5
"""Maximum number of points along a capsule or cylinder."""


def contact_pairs(model: Model, parts: Iterable[Component]) -> tuple[Pair, ...]:
    """Return the contact pairs of moving bodies with terrain, of the selected pairs of bodies, and of collision groups.

    Convex shapes touch each other, and cylinders touch planes, with their whole surfaces: one `ConvexPair`. Other contacts of
    shapes with the role contact use probes:

    - A sphere is one probe.
    - A box or hull has a probe at each corner.
    - A capsule has probes with its radius along its axis: at the ends and at most 4 radii apart (at most 5 probes). Against a
      plane, only the ends are used; against a sphere or capsule, the exact nearest point.
    - A cylinder on a height field is a capsule of the same length, or 4 points on the rim of each face if it is shorter than
      its diameter.
    - A mesh is replaced by its convex hull with at most 38 corners.

    Args:
        model: The model.
        parts: Parts of a plant; only terrain, `PointContact`, `BodyContact`, `CollisionGroup` and `ContactExclusion` are used.
    """
    parts = tuple(parts)
    terrain = [part for part in parts if isinstance(part, Terrain)]
    points = [part.frame for part in parts if isinstance(part, PointContact)]
    bodies = [part for part in parts if isinstance(part, BodyContact)]
    for name, count in Counter(t.name for t in terrain).items():
        if count > 1:
            raise ValueError(f"two terrains are named {name!r}; rename one of them")
    meetings: dict[frozenset[str], tuple[int, int, Material]] = {}
    for part in bodies:
        part.check(model)
        a, b = map(model.body_index, part.bodies)
        meetings[frozenset(part.bodies)] = a, b, part.material
    excluded = {frozenset(part.bodies) for part in parts if isinstance(part, ContactExclusion)}
    for group in (part for part in parts if isinstance(part, CollisionGroup)):
        for a, b in group.pairs(model):
            key = frozenset((model.body_names[a], model.body_names[b]))
            if key not in excluded:
                meetings.setdefault(key, (a, b, group.material))
    meeting = {at for a, b, _ in meetings.values() for at in (a, b)}
    able = [at in meeting or bool(terrain and model.moves[at]) for at in range(model.nb)]  # other shapes can be of any kind
    touching = [
        [touching_shape(body.name, s) for s in body.shapes if s.contact] if able[at] else []
        for at, body in enumerate(model.bodies)
    ]
    pairs: list[Pair] = []
    for solid in terrain:
        rough = solid.material
        for name in points:
            if name not in model.frames:
                raise KeyError(f"{model.name} has no frame {name!r}; frames are {', '.join(model.frames) or 'none'}")
            at, frame = model.frames[name]
            if model.moves[at]:
                probe = PointProbe(position=frame.origin.xyz)
                meets = f"{name} on {solid.name}"
                pairs.append(Pair(name=meets, body=at, probe=probe, frame=name, solid=solid, material=rough))
        for at, body in enumerate(model.bodies):
            if model.moves[at]:
                pairs += _touches(at, body.name, touching[at], None, solid.name, solid, rough)
    for first, second, material in meetings.values():
        pairs += _meetings(model, touching, first, second, material)
    counts: dict[str, int] = {}
    for k, pair in enumerate(pairs):
        counts[pair.name] = counts.get(pair.name, 0) + 1
        if counts[pair.name] > 1:
            pairs[k] = replace(pair, name=f"{pair.name} ({counts[pair.name]})")
    return tuple(pairs)


def _meetings(model: Model, touching: Sequence[Sequence[BodyShape]], a: int, b: int, material: Material) -> list[Pair]:
    """Return the contact pairs between the shapes of two bodies."""
    names = model.body_names
    out = []
    for first, second in itertools.product(touching[a], touching[b]):
        ways = [(a, first, b, second), (b, second, a, first)]
        if (
            meet_as_convex(first, second)
            or isinstance(first.shape, Sphere)
            or (isinstance(first.shape, Capsule) and isinstance(second.shape, Capsule))
        ):
            ways = ways[:1]
        elif isinstance(second.shape, Sphere):
            ways = ways[1:]
        for at, shape, other, solid in ways:
            out += _touches(at, names[at], [shape], other, names[other], solid, material)
    return out


def _touches(
    at: int, name: str, touching: Sequence[BodyShape], other: int | None, others: str, solid: Placed, material: Material
) -> list[Pair]:
    """Return the contact pairs of the shapes of a body with a solid, numbered from 1 if a shape has several pairs."""
    out: list[Pair] = []
    for number, shape in enumerate(touching, start=1):
        body = name if len(touching) == 1 else f"{name}.{number}"
        fields = dict(body=at, other=other, solid=solid, material=material)
        if meet_as_convex(shape, solid):
            middle = PointProbe(position=shape.origin.xyz)
            out.append(ConvexPair(name=f"{body} on {others}", probe=middle, piece=shape, **fields))  # type: ignore[arg-type]
            continue
        found = probes(shape, solid)
        out += [
            Pair(name=f"{body if len(found) == 1 else f'{body} {k}'} on {others}", probe=probe, **fields)  # type: ignore[arg-type]
            for k, probe in enumerate(found, start=1)
        ]
    return out


def probes(piece: Placed, solid: Placed) -> list[PointProbe | Segment]:
    """Return the probes of a shape against terrain or against a shape of another body."""
    match shape := piece.shape:
        case Sphere():
            return [PointProbe(position=piece.origin.xyz, radius=shape.radius)]
        case Box():
            corners = itertools.product(*((-0.5 * a, 0.5 * a) for a in shape.size))
            return [PointProbe(position=_place(piece, corner)) for corner in corners]
        case Capsule():
            return _along(piece, shape.radius, shape.length, solid)
        case Convex():
            return [PointProbe(position=_place(piece, corner)) for corner in shape.surface.vertices.tolist()]
        case Cylinder():
            r = shape.radius
            if shape.length >= 2.0 * r:
                return _along(piece, r, shape.length - 2.0 * r, solid)
            rim = [(r, 0.0), (0.0, r), (-r, 0.0), (0.0, -r)]
            return [PointProbe(position=_place(piece, (x, y, z * shape.length))) for z in (-0.5, 0.5) for x, y in rim]
    raise TypeError(f"a {shape.word} has no probes; use a sphere, capsule, cylinder, box or convex hull")


def _along(piece: Placed, radius: float, length: float, solid: Placed) -> list[PointProbe | Segment]:
    """Return probes along the axis of a capsule; `length` is the distance between the centres of its end caps [m]."""
    if isinstance(solid.shape, Sphere | Capsule):
        direction = tuple(piece.origin.R[:, 2].tolist())
        return [Segment(center=piece.origin.xyz, direction=direction, half_length=0.5 * length, radius=radius)]
    apart = 1 if isinstance(solid.shape, Plane) else min(max(math.ceil(length / (4.0 * radius)), 1), MAX_POINTS - 1)
    if length == 0.0:
        apart = 0
    places = [0.0] if apart == 0 else [length * (k / apart - 0.5) for k in range(apart + 1)]
    return [PointProbe(position=_place(piece, (0.0, 0.0, z)), radius=radius) for z in places]


def _place(piece: Placed, x: Sequence[float]) -> tuple[float, float, float]:
    """Return a point in the frame of a shape as a position in body axes [m]."""
    R = piece.origin.R
    along = R[:, 0] * x[0] + R[:, 1] * x[1] + R[:, 2] * x[2]  # not R @ x, which rounds differently on other processors
    return tuple((along + piece.origin.xyz).tolist())


def _hull_corners(mesh: Mesh) -> Array:
    """Return corners of the convex hull of a mesh [m], shape (n, 3); of many, only the farthest in evenly spaced directions."""
    corners = mesh.surface.convex_hull().vertices
    if len(corners) <= MAX_CORNERS:
        return corners
    k = np.arange(MAX_CORNERS) + 0.5
    z, turn = 1.0 - 2.0 * k / MAX_CORNERS, np.pi * (1.0 + np.sqrt(5.0)) * k  # a spiral of equal areas
    across = np.sqrt(1.0 - z * z)
    spread = np.stack([across * np.cos(turn), across * np.sin(turn), z], axis=1)
    directions = np.concatenate([spread, np.eye(3), -np.eye(3)]) / mesh.half_size
    return np.asarray(corners[np.unique(np.argmax(corners @ directions.T, axis=0))])


def touching_shape(body: str, piece: BodyShape) -> BodyShape:
    """Return the shape used for contact, for a mesh its convex hull; raise `UnsupportedFeature` for other shapes."""
    if isinstance(piece.shape, Mesh):
        return replace(piece, shape=Convex(points=tuple(map(tuple, _hull_corners(piece.shape).tolist()))))
    if not isinstance(piece.shape, Sphere | Box | Capsule | Cylinder | Convex):
        raise UnsupportedFeature(
            f"body {body!r}: contact with a {piece.shape.word} (shape {piece.name!r}) is not possible; "
            "remove the role 'contact' of this shape and add spheres, capsules, cylinders, boxes or convex hulls"
        )
    return piece
