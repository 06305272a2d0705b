"""Compiled distances between bodies, and between bodies and terrain, with gradients for planners and controllers."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hydromechs import compiler, dynamics
from hydromechs.errors import UnsupportedFeature
from hydromechs.geometry import Placed, Plane
from hydromechs.model import Model
from hydromechs.spatial import norm, where
from hydromechs.values import Array, Scalar

from ._arguments import configuration, model_of
from ._gjk import Core, Nearest, core_of, nearest


class Distance(NamedTuple):
    """Distance between two solids, with the batch dimensions of the configuration."""

    value: Array
    """Distance between the surfaces [m], shape (...). If the solids overlap, the distance is at most 0. It is exact for a
    plane, and for spheres and capsules whose axes do not intersect; otherwise it is minus the sum of the radii around the
    cores."""
    gradient: Array
    """Gradient of the distance with respect to tangent displacements, d(value)/dt = gradient · v, shape (..., nv); 0 if the
    cores overlap."""
    points: Array
    """Nearest points of both solids in world axes [m], shape (..., 2, 3)."""
    normal: Array
    """Unit vector from the second solid to the first in world axes, shape (..., 3)."""


def distance(model: Model, q: ArrayLike, a: str | Placed, b: str | Placed) -> Distance:
    """Return the compiled distance between two solids, with gradient and nearest points; exact for convex shapes.

    A body is represented by all its shapes with the role contact. A tube is treated as solid, a mesh as its convex hull.

    Args:
        model: The mechanism.
        q: Configuration, shape (..., nq).
        a: Name of a body, or a shape placed in the world, such as terrain.
        b: Name of another body, or a placed shape. At least one argument must be a body, and only `b` may be a plane.
    """
    model = model_of(model)
    q = np.asarray(q, dtype=float)
    if q.ndim == 1:
        configuration(model, q)
    return Distance(*_query(model, a, b)([q]))


_QUERIES: dict[int, dict[Any, compiler.Compiled]] = {}
"""Compiled queries, keyed by the identity of the model; they are removed together with the model."""


def _query(model: Model, a: str | Placed, b: str | Placed) -> compiler.Compiled:
    if id(model) not in _QUERIES:
        _QUERIES[id(model)] = {}
        weakref.finalize(model, _QUERIES.pop, id(model), None).atexit = False
    found, key = _QUERIES[id(model)], tuple(x if isinstance(x, str) else repr(x) for x in (a, b))
    if key not in found:
        found[key] = _compiled(model, a, b)
    return found[key]


def _compiled(model: Model, a: str | Placed, b: str | Placed) -> compiler.Compiled:
    (first, mine), (second, other) = (_pieces(model, x) for x in (a, b))
    if first == second:
        raise ValueError(
            f"distance between {_name(a)} and {_name(b)}: both are fixed relative to each other; select two bodies that move"
        )
    if any(isinstance(piece.shape, Plane) for piece in mine):
        raise UnsupportedFeature(f"distance from {_name(a)}: the first solid is a plane; pass the plane as the second solid")
    function = _function(model, first, mine, second, other)
    outputs = {"value": (), "gradient": (model.nv,), "points": (2, 3), "normal": (3,)}
    return compiler.compile_function("distance", function, {"q": (model.nq,)}, outputs, lanes=compiler.native_lanes())


def _name(what: str | Placed) -> str:
    return repr(what) if isinstance(what, str) else f"a {what.shape.word}"


def _pieces(model: Model, what: str | Placed) -> tuple[int | None, list[Placed]]:
    """Return the index of the body, None for the world, and the shapes that represent it."""
    if not isinstance(what, str):
        return None, [what]
    at = model.body_index(what)
    pieces: list[Placed] = [shape for shape in model.bodies[at].shapes if shape.contact]
    if not pieces:
        raise ValueError(f"distance of body {what!r}: the body has no shape with the role contact; add a shape with this role")
    return at, pieces


def _function(
    model: Model, first: int | None, mine: list[Placed], second: int | None, other: list[Placed]
) -> Callable[[Array], tuple[Scalar | Array, ...]]:
    cores = [core_of(piece) for piece in mine]
    solids = [piece if isinstance(piece.shape, Plane) else core_of(piece) for piece in other]

    def of(q: Array) -> tuple[Scalar | Array, ...]:
        kin = dynamics.kinematics(model, q, np.zeros(model.nv))
        (R_A, p_A), (R_B, p_B) = (
            (np.eye(3), np.zeros(3)) if at is None else (kin.R_WB[at], kin.p_WB[at]) for at in (first, second)
        )
        R, p = R_B.T @ R_A, R_B.T @ (p_A - p_B)
        best: Nearest | None = None
        for core, solid in product(cores, solids):
            found = nearest(core, solid, R, p) if isinstance(solid, Core) else _above_plane(core, solid, R, p)
            best = found if best is None else _nearer(found, best)
        assert best is not None
        n, x, y = R_B @ best.normal, R_B @ best.first + p_B, R_B @ best.second + p_B
        gradient: Any = np.zeros(model.nv)
        for at, point, sign, R_WB, p_WB in ((first, x, 1.0, R_A, p_A), (second, y, -1.0, R_B, p_B)):
            if at is not None:
                J = dynamics.jacobian(model, kin, at, R_WB.T @ (point - p_WB))
                gradient = gradient + sign * ((R_WB.T @ n) @ J[:3])
        apart = norm(best.normal) > 0.5
        return best.distance, np.array([where(apart, g, 0.0) for g in gradient]), np.stack([x, y]), n

    return of


def _above_plane(core: Core, plane: Placed, R: Array, p: Array) -> Nearest:
    """Return the distance of the lowest point of a core from a plane, which is exact also below the plane."""
    n = plane.origin.R[:, 2]
    x = R @ core.support(-(R.T @ n)) + p - core.radius * n
    height = n @ (x - np.array(plane.origin.xyz))
    return Nearest(height, n, x, x - height * n)


def _nearer(a: Nearest, b: Nearest) -> Nearest:
    """Return the result with the smaller distance."""
    first = a.distance < b.distance
    pick = lambda x, y: np.array([where(first, s, t) for s, t in zip(x, y, strict=True)])  # noqa: E731
    rows = (pick(x, y) for x, y in zip(a[1:], b[1:], strict=True))
    return Nearest(where(first, a.distance, b.distance), *rows)
