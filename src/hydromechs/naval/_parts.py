"""The geometry of a body as parts: boxes, ellipsoids, cylinders, capsules, closed meshes, each where it is on the body."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hydromechs.model import Origin, shapes, visual
from hydromechs.values import Array

from ._solid import Integrals, Solid, convex_hull, integrals, is_inside, read_solid, solid_faults

__all__ = ["BoxPart", "CapsulePart", "CylinderPart", "EllipsoidPart", "MeshPart", "Part", "part_of", "union"]

POINTS = 4000
"""Points in each part by which the overlap of parts is found."""
SEED = 1
"""Seed of those points: the same model gets the same water."""
SIDES = 16
"""Sides of round parts as panels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(abc.ABC):
    """A solid in its own frame, and where that is on the body."""

    origin: Origin
    """Frame on the body."""
    name: str
    """What it is, for the report."""

    @property
    @abc.abstractmethod
    def local(self) -> Integrals:
        """Volume, centroid and second moments in its own frame."""

    @property
    @abc.abstractmethod
    def half_size(self) -> Array:
        """Half sides of the box around it in its own frame, about `local.center` or more [m], shape (3,)."""

    @abc.abstractmethod
    def inside_local(self, points: Array) -> Array:
        """Whether points of its own frame are inside, shape (n,)."""

    @property
    @abc.abstractmethod
    def surface_local(self) -> Solid:
        """Its surface as triangles, in its own frame."""

    @property
    def whole(self) -> Integrals:
        """Volume, centroid and second moments in body axes."""
        own, R = self.local, self.origin.R
        return Integrals(own.volume, R @ own.center + self.origin.xyz, R @ own.second @ R.T)

    @property
    def surface(self) -> Solid:
        """Its surface as triangles, in body axes; a round one is grown to have the volume of the part."""
        own = self.surface_local
        growth = (self.local.volume / integrals(own).volume) ** (1.0 / 3.0)
        return own.scaled(np.full(3, growth)).moved(self.origin.R, np.array(self.origin.xyz))

    def inside(self, points: Array) -> Array:
        """Whether points of the body's frame are inside, shape (n,)."""
        return self.inside_local((points - self.origin.xyz) @ self.origin.R)

    def points(self, rng: np.random.Generator, n: int) -> Array:
        """About n points in it, evenly, in body axes [m], shape (about n, 3)."""
        center, half = self.local.center, self.half_size
        tries = rng.uniform(-1.0, 1.0, (math.ceil(n * float(np.prod(2.0 * half)) / self.local.volume), 3)) * half + center
        return tries[self.inside_local(tries)] @ self.origin.R.T + self.origin.xyz


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxPart(Part):
    """A box about its centre."""

    size: tuple[float, float, float]
    """Edges [m], shape (3,)."""

    @property
    def local(self) -> Integrals:
        """Volume, centroid and second moments in its own frame."""
        volume = math.prod(self.size)
        return Integrals(volume, np.zeros(3), np.diag(volume * np.square(self.size) / 12.0))

    @property
    def half_size(self) -> Array:
        """Half edges [m], shape (3,)."""
        return 0.5 * np.array(self.size)

    def inside_local(self, points: Array) -> Array:
        """Whether points of its own frame are inside, shape (n,)."""
        return np.all(np.abs(points) <= self.half_size, axis=1)

    @property
    def surface_local(self) -> Solid:
        """Its surface as triangles, in its own frame."""
        corners = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * self.half_size
        sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
        faces = [t for a, b, c, d in sides for t in ((a, b, c), (a, c, d))]
        return Solid(corners, np.array(faces), self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class EllipsoidPart(Part):
    """An ellipsoid or a sphere about its centre."""

    axes: tuple[float, float, float]
    """Half axes [m], shape (3,)."""

    @property
    def local(self) -> Integrals:
        """Volume, centroid and second moments in its own frame."""
        volume = 4.0 / 3.0 * math.pi * math.prod(self.axes)
        return Integrals(volume, np.zeros(3), np.diag(volume * np.square(self.axes) / 5.0))

    @property
    def half_size(self) -> Array:
        """Half axes [m], shape (3,)."""
        return np.array(self.axes)

    def inside_local(self, points: Array) -> Array:
        """Whether points of its own frame are inside, shape (n,)."""
        return np.square(points / self.half_size).sum(axis=1) <= 1.0

    @property
    def surface_local(self) -> Solid:
        """Its surface as triangles, in its own frame."""
        angle = np.linspace(0.0, math.pi, SIDES // 2 + 1)
        return _revolved(np.sin(angle), -np.cos(angle), self.name).scaled(self.half_size)


@dataclass(frozen=True, slots=True, kw_only=True)
class CylinderPart(Part):
    """A cylinder about its centre, along z."""

    radius: float
    """Radius [m]."""
    length: float
    """Length [m]."""

    @property
    def local(self) -> Integrals:
        """Volume, centroid and second moments in its own frame."""
        r, l = self.radius, self.length
        volume = math.pi * r**2 * l
        return Integrals(volume, np.zeros(3), volume * np.diag([r**2 / 4.0, r**2 / 4.0, l**2 / 12.0]))

    @property
    def half_size(self) -> Array:
        """Half sides of the box around it [m], shape (3,)."""
        return np.array([self.radius, self.radius, 0.5 * self.length])

    def inside_local(self, points: Array) -> Array:
        """Whether points of its own frame are inside, shape (n,)."""
        return (np.hypot(points[:, 0], points[:, 1]) <= self.radius) & (np.abs(points[:, 2]) <= 0.5 * self.length)

    @property
    def surface_local(self) -> Solid:
        """Its surface as triangles, in its own frame."""
        r, h = self.radius, 0.5 * self.length
        return _revolved(np.array([0.0, r, r, 0.0]), np.array([-h, -h, h, h]), self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class CapsulePart(CylinderPart):
    """A cylinder with round caps; `length` is between the centres of the caps."""

    @property
    def local(self) -> Integrals:
        """Volume, centroid and second moments in its own frame."""
        r, l = self.radius, self.length
        tube, ball = math.pi * r**2 * l, 4.0 / 3.0 * math.pi * r**3
        across = tube * r**2 / 4.0 + ball * r**2 / 5.0
        # each half ball: its own r²/5 about its flat face, 3r/8 its centroid, l/2 its distance
        along = tube * l**2 / 12.0 + ball * (r**2 / 5.0 + 2.0 * 0.5 * l * 3.0 * r / 8.0 + l**2 / 4.0)
        return Integrals(tube + ball, np.zeros(3), np.diag([across, across, along]))

    @property
    def half_size(self) -> Array:
        """Half sides of the box around it [m], shape (3,)."""
        return np.array([self.radius, self.radius, 0.5 * self.length + self.radius])

    def inside_local(self, points: Array) -> Array:
        """Whether points of its own frame are inside, shape (n,)."""
        beyond = np.maximum(np.abs(points[:, 2]) - 0.5 * self.length, 0.0)
        return np.square(points[:, :2]).sum(axis=1) + beyond**2 <= self.radius**2

    @property
    def surface_local(self) -> Solid:
        """Its surface as triangles, in its own frame."""
        angle = np.linspace(0.0, 0.5 * math.pi, SIDES // 4 + 1)
        r, z = self.radius * np.sin(angle), 0.5 * self.length + self.radius * np.cos(angle)
        return _revolved(np.concatenate([r, r[::-1]]), np.concatenate([-z, z[::-1]]), self.name)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeshPart(Part):
    """A closed mesh."""

    solid: Solid
    """Its triangles, in its own frame."""
    note: str = ""
    """Reason why `solid` is not the mesh itself; empty if it is."""

    @property
    def local(self) -> Integrals:
        """Volume, centroid and second moments in its own frame."""
        return integrals(self.solid)

    @property
    def half_size(self) -> Array:
        """Half sides of the box about its centroid that holds it [m], shape (3,)."""
        return np.abs(self.solid.vertices - self.local.center).max(axis=0)

    def inside_local(self, points: Array) -> Array:
        """Whether points of its own frame are inside, shape (n,)."""
        return is_inside(self.solid, points)

    @property
    def surface_local(self) -> Solid:
        """Its surface as triangles, in its own frame."""
        return self.solid

    @property
    def surface(self) -> Solid:
        """Its surface as triangles, in body axes."""
        return self.solid.moved(self.origin.R, np.array(self.origin.xyz))


def part_of(shape: shapes.Shape | visual.Visual, folder: Path) -> Part | None:
    """Return the part that a shape or visual represents; None for those with negligible volume: thrusters, tubes.

    An open, folded or inverted mesh is replaced by its convex hull, with a note.

    Args:
        shape: Shape or visual of a body.
        folder: Base folder of mesh paths; the shape's own folder takes precedence.

    Raises:
        ValueError: A mesh is flat or unreadable.
        FileNotFoundError: The mesh does not exist.
    """
    match shape:
        case shapes.Box() | visual.Box():
            return BoxPart(origin=shape.origin, name="box", size=shape.size)
        case shapes.Capsule() | visual.Capsule():
            return CapsulePart(origin=shape.origin, name="capsule", radius=shape.radius, length=shape.length)
        case visual.Cylinder(bore=bore) if bore > 0.0:
            return None
        case shapes.Cylinder() | visual.Cylinder():
            return CylinderPart(origin=shape.origin, name="cylinder", radius=shape.radius, length=shape.length)
        case shapes.Sphere() | visual.Sphere():
            return EllipsoidPart(origin=shape.origin, name="sphere", axes=(shape.radius,) * 3)
        case visual.Ellipsoid():
            return EllipsoidPart(origin=shape.origin, name="ellipsoid", axes=shape.axes)
        case shapes.Mesh() | visual.Mesh():
            start = Path(shape.folder) if isinstance(shape, visual.Mesh) and shape.folder else folder
            solid = replace(read_solid(start / shape.file).scaled(np.array(shape.scale)), name=shape.file)
            faults = solid_faults(solid)
            if not faults:
                return MeshPart(origin=shape.origin, name=f"mesh {shape.file}", solid=solid)
            hull = convex_hull(solid)
            note = f"{faults[0].partition(';')[0]}; its convex hull is used, which is larger"
            return MeshPart(origin=shape.origin, name=f"convex hull of mesh {shape.file}", solid=hull, note=note)
    return None


def union(parts: tuple[Part, ...]) -> tuple[Integrals, float, float]:
    """Parts as one body: its integrals, the part of the volume that is shared, and the standard error of the volume over it.

    What parts share counts once. With n(x) the number of parts that hold x:  V = Σ_k V_k E[1/n],  first moment
    Σ_k V_k E[x/n], over the points of part k; exact where no parts meet.

    Args:
        parts: The parts of a body, one or more.
    """
    wholes = [part.whole for part in parts]
    meet = [[other for other in parts if other is not part and _may_meet(part, other)] for part in parts]
    rng = np.random.default_rng(SEED)
    volume, first, second = 0.0, np.zeros(3), np.zeros((3, 3))
    variance = 0.0
    for part, own, others in zip(parts, wholes, meet, strict=True):
        share, center, moments = 1.0, own.center, own.second / own.volume + np.outer(own.center, own.center)
        if others:
            x = part.points(rng, POINTS)
            weight = 1.0 / (1.0 + np.sum([other.inside(x) for other in others], axis=0))
            if weight.min() < 1.0:
                lost = 1.0 - weight  # exact whole less what is shared: no error where nothing is
                share = 1.0 - float(lost.mean())
                center = (own.center - lost @ x / len(x)) / share
                moments = (moments - np.einsum("n,ni,nj->ij", lost, x, x) / len(x)) / share
                variance += (own.volume * float(lost.std())) ** 2 / len(x)
        volume += share * own.volume
        first += share * own.volume * center
        second += share * own.volume * moments
    center = first / volume
    shared = max(0.0, sum(own.volume for own in wholes) / volume - 1.0)
    return Integrals(volume, center, second - volume * np.outer(center, center)), shared, math.sqrt(variance) / volume


def _may_meet(a: Part, b: Part) -> bool:
    """Whether the balls around two parts meet."""
    reach = float(np.linalg.norm(a.half_size) + np.linalg.norm(b.half_size))
    return float(np.linalg.norm(a.whole.center - b.whole.center)) < reach


def _revolved(r: Array, z: Array, name: str) -> Solid:
    """A closed profile from the lower to the upper end of the z axis, turned about it, as a polyhedron inside of it."""
    turn = 2.0 * math.pi * np.arange(SIDES) / SIDES
    rings = r[1:-1, None, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    heights = np.broadcast_to(z[1:-1, None, None], (*rings.shape[:2], 1))
    ring = np.concatenate([rings, heights], axis=2).reshape(-1, 3)
    vertices = np.concatenate([ring, [[0.0, 0.0, z[0]], [0.0, 0.0, z[-1]]]])
    k, ahead = np.arange(SIDES), (np.arange(SIDES) + 1) % SIDES
    faces = []
    for i in range(len(r) - 3):
        a, b = i * SIDES, (i + 1) * SIDES
        faces += [np.stack([a + k, a + ahead, b + ahead], axis=1), np.stack([a + k, b + ahead, b + k], axis=1)]
    foot, top, last = len(vertices) - 2, len(vertices) - 1, (len(r) - 3) * SIDES
    faces += [
        np.stack([np.full(SIDES, foot), ahead, k], axis=1),
        np.stack([np.full(SIDES, top), last + k, last + ahead], axis=1),
    ]
    return Solid(vertices, np.concatenate(faces), name)
