"""Possible contacts for an engine with its own contact model: shapes on bodies, terrain, and pairs of them."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from hydromechs.contact import Material, Pair, Terrain, touching_shape
from hydromechs.geometry import HeightField, Origin, Placed, Shape, Sphere
from hydromechs.model import Mdh, Model, joints
from hydromechs.spatial import pose_matrix
from hydromechs.values import Array


def placement_pose(joint: joints.Joint) -> np.ndarray:
    """Return the pose of a joint frame on its parent, shape (4, 4); independent of the transformations that it verifies."""
    placement = joint.placement
    if isinstance(placement, Mdh):
        branch = _rotation(2, placement.branch_theta) @ _translation((0.0, 0.0, placement.branch_d))
        across = _rotation(0, placement.alpha) @ _translation((placement.a, 0.0, 0.0))
        return branch @ across @ _rotation(2, placement.theta) @ _translation((0.0, 0.0, placement.d))
    roll, pitch, yaw = placement.rpy
    return _translation(placement.xyz) @ _rotation(2, yaw) @ _rotation(1, pitch) @ _rotation(0, roll)


def _rotation(axis: int, angle: float) -> np.ndarray:
    """Return the homogeneous matrix of a rotation about coordinate `axis` by `angle` [rad], shape (4, 4)."""
    c, s = math.cos(angle), math.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    T = np.eye(4)
    T[i, i], T[i, j], T[j, i], T[j, j] = c, -s, s, c
    return T


def _translation(p: Sequence[float]) -> np.ndarray:
    """Return the homogeneous matrix of a translation by `p` [m], shape (4, 4)."""
    return pose_matrix(np.eye(3), np.array(p))


def swap(V: np.ndarray) -> np.ndarray:
    """Convert between linear-first and angular-first order along the first axis."""
    return np.concatenate([V[3:], V[:3]])


def depth_first(model: Model) -> list[int]:
    """Return body indices in an order with contiguous subtrees, as required by some codes."""
    order: list[int] = []
    stack = [i for i in reversed(range(model.nb)) if model.parent[i] < 0]
    while stack:
        order.append(stack.pop())
        stack += [i for i in reversed(range(model.nb)) if model.parent[i] == order[-1]]
    return order


TIP = 1e-3
"""Radius of the sphere that represents a contact point [m]."""
DEPTH, RATE = 1e-3, 0.1
"""Depth [m] and rate [m/s] at which stiffness and damping of a material are evaluated."""


class Piece(NamedTuple):
    """Contact shape of a body."""

    name: str
    body: int
    shape: Placed
    """Shape with its placement on the body."""


class Scene(NamedTuple):
    """Possible contacts of a mechanism."""

    pieces: tuple[Piece, ...]
    solids: tuple[Terrain, ...]
    grounded: frozenset[int]
    """Indices of bodies that can touch terrain."""
    meeting: tuple[tuple[int, int, Material], ...]
    """Indices of bodies that can touch each other, with the material of the pair."""

    def others(self, known: tuple[type[Shape], ...], engine: str) -> list[str]:
        """Return errors for terrain and bodies with shapes that the engine does not support."""
        words = ", ".join(kind.__name__.lower() for kind in known)
        owned = [
            *((f"terrain {x.name!r}", x.shape) for x in self.solids),
            *((f"shape {x.name}", x.shape.shape) for x in self.pieces),
        ]
        return [
            f"{owner} is a {shape.word}, which {engine} does not support; use {words}, or another engine"
            for owner, shape in owned
            if not isinstance(shape, known)
        ]

    def pieces_of(self, body: int) -> list[Piece]:
        """Return the shapes of one body."""
        return [piece for piece in self.pieces if piece.body == body]


def scene_of(model: Model, pairs: Iterable[Pair]) -> Scene:
    """Return the scene of possible contacts in `pairs`, with complete shapes instead of probes."""
    pairs = tuple(pairs)
    solids: dict[str, Terrain] = {}
    grounded, meeting, points = set(), {}, {}
    for pair in pairs:
        if isinstance(pair.solid, Terrain):
            solids[pair.solid.name] = pair.solid
            grounded.add(pair.body)
            name = pair.name.partition(" on ")[0]
            if name in model.frames:
                tip = Placed(shape=Sphere(radius=TIP), origin=Origin(xyz=model.frames[name][1].origin.xyz))
                points[name] = Piece(name, pair.body, tip)
        elif pair.other is not None:
            a, b = sorted((pair.body, pair.other))
            meeting[a, b] = pair.material
    touching = grounded | {i for ab in meeting for i in ab}
    pieces = [
        Piece(f"{model.body_names[i]}.{k}", i, touching_shape(model.body_names[i], shape))
        for i in sorted(touching)
        for k, shape in enumerate((s for s in model.bodies[i].shapes if s.contact), start=1)
    ]
    met = tuple((a, b, material) for (a, b), material in meeting.items())
    return Scene((*pieces, *points.values()), tuple(solids.values()), frozenset(grounded), met)


def height_rows(field: HeightField, down: float) -> tuple[Array, Array, Array]:
    """Return heights of a field in rows of constant y with z up, axes of this frame, and its origin at height 0 [m].

    The frame is rotated about x if world z is down.
    """
    heights, x, y = np.array(field.heights), np.array(field.x), np.array(field.y)
    middle = np.array([0.5 * (x[0] + x[-1]), 0.5 * (y[0] + y[-1]), 0.0])
    return (heights[:, ::-1] if down > 0.0 else heights).T, np.diag([1.0, -down, -down]), middle


def friction_of(material: Material) -> float:
    """Return the friction coefficient of a material; engines support a single one."""
    return 0.0 if material.friction is None else material.friction.static


def spring_of(material: Material) -> tuple[float, float]:
    """Return stiffness [N/m] and damping [N·s/m] of a material at a depth of 1 mm, exact for linear materials."""
    still = float(material.law.force(DEPTH, 0.0).force)
    return still / DEPTH, (float(material.law.force(DEPTH, RATE).force) - still) / RATE
