"""Geometry of a body as placed parts: boxes, ellipsoids, cylinders, capsules and closed meshes; checks of arguments."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hydromechs.geometry import Cylinder, Integrals, Mesh, Placed, Polyhedron, Triangles, read_triangles
from hydromechs.model import Body, BodyShape, Model
from hydromechs.values import Array


def check_model(where: str, model: Any) -> None:
    """Raise `TypeError` if an argument of the function `where` is not a model."""
    if not isinstance(model, Model):
        inside = isinstance(getattr(model, "model", None), Model)
        remedy = "pass its attribute `.model`" if inside else "hydromechs.load gives one"
        value = type(model).__name__ if inside else repr(model)
        raise TypeError(f"{where}: model is {value}, must be a Model; {remedy}")


def configuration(where: str, model: Model, q: Array | None) -> Array:
    """Return the given configuration or the initial configuration, shape (nq,); errors name the function `where`."""
    out = model.initial().q if q is None else np.asarray(q, dtype=float)
    if out.shape != (model.nq,):
        raise ValueError(f"{where}: q has shape {out.shape}, must be ({model.nq},) for {model.name}")
    if not np.isfinite(out).all():
        k = int(np.flatnonzero(~np.isfinite(out))[0])
        raise ValueError(f"{where}: q is {out[k]} at index {k}, must contain finite numbers")
    return out


def check_finite(where: str, **values: float) -> None:
    """Raise an error if a named argument of the function `where` is not a finite number."""
    for name, value in values.items():
        try:
            finite = math.isfinite(value)
        except TypeError:
            raise TypeError(f"{where}: {name} is {value!r}, must be a number") from None
        if not finite:
            raise ValueError(f"{where}: {name} is {value!r}, must be a finite number")


def check_angle(where: str, name: str, value: float, most: float) -> None:
    """Raise `ValueError` for an implausibly large angle, which may be in degrees."""
    check_finite(where, **{name: value})
    if abs(value) > most:
        raise ValueError(
            f"{where}: {name} is {value:g} rad, must be from {-most:.4g} to {most:.4g}; for degrees use math.radians({value:g})"
        )


POINTS = 4000
"""Number of sample points in each part for the overlap of parts."""
SEED = 1
"""Seed of the sample points, so that results are repeatable."""
SIDES = 16
"""Number of sides of round parts in panel meshes."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SolidMesh(Polyhedron):
    """Closed mesh."""

    surface: Triangles


@dataclass(frozen=True, kw_only=True, eq=False)
class SolidPart(Placed):
    """Solid shape placed on a body."""

    name: str
    note: str = ""
    """Reason why the mesh differs from the file; empty if the mesh is unchanged."""
    filled: float = 1.0
    """Fraction of the volume of this part that is enclosed by the mesh in the file; an estimate if the mesh is open."""

    def surface(self) -> Triangles:
        """Return the surface as triangles in body axes; round surfaces are enlarged to the volume of the part."""
        own = self.shape.triangulate(SIDES).merged()
        growth = (self.shape.volume / own.integrals().volume) ** (1.0 / 3.0)
        return own.scaled(np.full(3, growth)).moved(self.origin.R, self.origin.xyz)

    def points(self, rng: np.random.Generator, n: int) -> Array:
        """Return about n evenly distributed points inside the part, in body axes [m], shape (about n, 3)."""
        center, half = self.shape.center, self.shape.half_size
        tries = rng.uniform(-1.0, 1.0, (math.ceil(n * float(np.prod(2.0 * half)) / self.shape.volume), 3)) * half + center
        return tries[self.shape.inside(tries)] @ self.origin.R.T + self.origin.xyz


def part_of(piece: Placed, folder: Path) -> SolidPart | None:
    """Return the part that a shape represents, or None for tubes and unbounded shapes.

    An open, folded or inverted mesh is replaced by its convex hull, with a note. `folder` is the base of mesh paths; the mesh's
    own folder takes precedence. Raises `ValueError` for a mesh that is flat or unreadable.
    """
    shape = piece.shape
    if not shape.bounded or (isinstance(shape, Cylinder) and shape.bore):
        return None
    if not isinstance(shape, Mesh):
        return SolidPart(shape=shape, origin=piece.origin, name=shape.word)
    solid = read_mesh_of(shape.path if shape.folder else folder / shape.file).scaled(shape.scale)
    solid = Triangles(solid.vertices, solid.faces, shape.file)
    problems = solid.problems()
    if not problems:
        return SolidPart(shape=SolidMesh(surface=solid), origin=piece.origin, name=f"mesh {shape.file}")
    hull = SolidMesh(surface=solid.convex_hull())
    with np.errstate(invalid="ignore", divide="ignore"):  # the centroid of a surface that encloses nothing
        filled = min(1.0, abs(solid.integrals().volume) / hull.volume)
    note = f"{problems[0].partition(';')[0]}; its convex hull is used; the triangles enclose about {filled:.0%} of it"
    return SolidPart(shape=hull, origin=piece.origin, name=f"convex hull of mesh {shape.file}", note=note, filled=filled)


def solid_or_drawn(body: Body) -> tuple[list[BodyShape], list[BodyShape]]:
    """Return the solid shapes of a body, and the shapes for appearance only, without boxes that replace missing meshes."""
    known = [s for s in body.shapes if s.style != "placeholder"]
    solid, drawn = ([s for s in known if (s.roles == ("appearance",)) == seen] for seen in (False, True))
    return solid, drawn


def read_mesh_of(path: Path) -> Triangles:
    """Return the triangles of a mesh file; raise `ValueError` if the file is unreadable or has no triangles."""
    if not path.is_file():
        raise FileNotFoundError(
            f"mesh {str(path)!r} does not exist; set the folder of the mesh with `folder`, or the mesh with `meshes`"
        )
    return read_triangles(path)


def union(parts: tuple[SolidPart, ...]) -> tuple[Integrals, float, float]:
    """Return the integrals over the union of parts, the shared fraction, and the relative standard error of the volume.

    Shared volume counts once. With the number n(x) of parts that contain x:  V = Σ_k V_k E[1/n],  first moment
    Σ_k V_k E[x/n], with means over the points of part k. The result is exact for parts that do not overlap.
    """
    wholes = [part.integrals() for part in parts]
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


def _may_meet(a: SolidPart, b: SolidPart) -> bool:
    reach = float(np.linalg.norm(a.shape.half_size) + np.linalg.norm(b.shape.half_size))
    apart = a.origin.R @ a.shape.center + a.origin.xyz - b.origin.R @ b.shape.center - b.origin.xyz
    return float(np.linalg.norm(apart)) < reach
