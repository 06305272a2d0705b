"""Geometry of frame walkers: two halves that slide or rotate relative to each other, on sliding, optionally swinging legs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from hydromechs.dynamics import Kinematics, kinematics
from hydromechs.model import JointPart, Model, joints
from hydromechs.spatial import maximum
from hydromechs.values import Array, Scalar

STRAIGHT = 1e-6
"""Tolerance of an axis direction, as the sine of the angle."""


class FlatPose(NamedTuple):
    """Planar pose above the ground."""

    x: Scalar
    """x coordinate [m]."""
    y: Scalar
    """y coordinate [m]."""
    yaw: Scalar
    """Heading [rad]."""

    def then(self, other: FlatPose) -> FlatPose:
        """Return the composition of this pose with `other`, which is given relative to this pose."""
        c, s = np.cos(self.yaw), np.sin(self.yaw)
        return FlatPose(self.x + c * other.x - s * other.y, self.y + s * other.x + c * other.y, self.yaw + other.yaw)

    def back(self) -> FlatPose:
        """Return the inverse pose."""
        c, s = np.cos(self.yaw), np.sin(self.yaw)
        return FlatPose(-c * self.x - s * self.y, s * self.x - c * self.y, -self.yaw)

    def points(self, p: Array) -> Array:
        """Return the world coordinates of points given in this pose [m], shape (n, 2)."""
        c, s = np.cos(self.yaw), np.sin(self.yaw)
        return np.array([self.x, self.y]) + p[:, :2] @ np.array([[c, s], [-s, c]])


class FrameWalker:
    """Frame walker: two halves with legs.

    A slide along x, a rotation about z, or both connect the second half to the first. A leg is a slide along z, or a swing
    about y followed by a slide:

        foot = P + R(a, φ) (e − P + l d)

    a and P are axis and point of the swing, d is the direction of the slide, and e is the foot position at zero, in half axes.

    Args:
        model: Model of the robot.
        halves: Feet (names of frames or bodies) of both halves, keyed by body name; the half with the free joint first.
    """

    def __init__(self, model: Model, halves: Mapping[str, Sequence[str]]) -> None:
        self.names = tuple(halves)
        """Body names of the halves."""
        roots = [model.body_index(name) for name in self.names]
        kin = kinematics(model, *model.neutral())
        self.feet = tuple(foot for feet in halves.values() for foot in feet)
        """Names of the feet; the feet of the first half come first."""
        self.half = np.array([h for h, feet in enumerate(halves.values()) for _ in feet])
        """Index of the half of each foot, shape (n,)."""
        self._torso(model, kin, roots)
        legs = [_leg(model, kin, foot, roots[h]) for foot, h in zip(self.feet, self.half, strict=True)]
        kinds = {leg.axis is not None for leg in legs}
        if len(kinds) > 1:
            raise ValueError("legs with and without swing joints are mixed; use legs of one kind")
        self.swings = kinds.pop()
        """True if the legs have swing joints."""
        self.joints = [part.name for part in self.torso if part] + [part.name for leg in legs for part in leg.parts]
        """Names of all joints: torso slide and rotation, if present, then swing, if present, and slide of each leg."""
        parts = [model.joint_part(name) for name in self.joints]
        self.at = [part.q.start for part in parts]
        """Indices of the joints in q."""
        bounds = [getattr(part.joint, "limits", None) or (-math.inf, math.inf) for part in parts]
        self.limits = np.array(bounds)
        """Minimum and maximum positions of the joints [m, rad], shape (nj, 2)."""
        self._ends, self._slides = np.array([leg.end for leg in legs]), np.array([leg.slide for leg in legs])
        self._points = np.array([leg.point for leg in legs])
        self._axes = np.array([leg.axis for leg in legs]) if self.swings else np.zeros((0, 3))

    def _torso(self, model: Model, kin: Kinematics, roots: Sequence[int]) -> None:
        """Set the joints between the halves and the pose of the second half at zero."""
        first, second = roots
        one, two = self.names
        if model.parent[second] != first:
            raise ValueError(f"body {two!r} is not connected to body {one!r}; list the half with the free joint first")
        slide: JointPart | None = None
        turn: JointPart | None = None
        R = np.asarray(kin.R_WB[first], dtype=float)
        R12 = R.T @ np.asarray(kin.R_WB[second], dtype=float)
        p12 = R.T @ np.asarray(kin.p_WB[second] - kin.p_WB[first], dtype=float)
        hub = p12
        columns = np.asarray(kin.subspaces[second], dtype=float).T
        parts = [part for part in model.joint_parts.values() if part.body == second]
        for part, column in zip(parts, columns, strict=True):
            v, w = R12 @ column[:3], R12 @ column[3:]
            if isinstance(part.joint, joints.Prismatic) and slide is turn is None and abs(v[0] - 1.0) < STRAIGHT:
                slide = part
            elif isinstance(part.joint, joints.Revolute) and turn is None and abs(w[2] - 1.0) < STRAIGHT:
                turn, hub = part, p12 - np.cross(v, w)
            else:
                kind = type(part.joint).__name__.lower()
                raise ValueError(f"joint {part.name!r} is {kind}; use a slide along x, a rotation about z, or both")
        self.torso = (slide, turn)
        """Joints of slide and rotation of the second half relative to the first; None for a missing joint."""
        self._hub = hub[:2]
        self._second = FlatPose(float(p12[0] - hub[0]), float(p12[1] - hub[1]), math.atan2(R12[1, 0], R12[0, 0]))
        self.depth = float(p12[2])
        """z of the second half's origin in axes of the first half [m]."""

    def relative(self, torso: Array) -> FlatPose:
        """Return the pose of the second half relative to the first for `torso`: slide [m] and turn [rad], shape (2,)."""
        x, y = self._hub
        return FlatPose(x + torso[0], y, torso[1]).then(self._second)

    def positions(self, angles: Array) -> Array:
        """Return the feet in half axes [m], shape (n, 3), for positions of all joints [m, rad], shape (nj,)."""
        legs = np.reshape(angles[-len(self.feet) * (2 if self.swings else 1) :], (len(self.feet), -1))
        x = self._ends + legs[:, -1:] * self._slides
        if not self.swings:
            return np.asarray(x)
        a, r = self._axes, x - self._points
        c, s = np.cos(legs[:, :1]), np.sin(legs[:, :1])
        along = (r * a).sum(axis=1, keepdims=True) * a
        return np.asarray(self._points + along + c * (r - along) + s * np.cross(a, r))

    def legs(self, places: Array) -> Array:
        """Return flat leg positions [m, rad] for feet in axes of their half (n, 3) [m]; errors normal to leg planes remain."""
        if not self.swings:
            return np.asarray(((places - self._ends) * self._slides).sum(axis=1))
        a, d = self._axes, self._slides
        w = _across(places - self._points, a)
        e = _across(self._ends - self._points, a)
        b = (e * d).sum(axis=1)
        squares = b * b + (w * w).sum(axis=1) - (e * e).sum(axis=1)
        length = np.sqrt([maximum(x, 0.0) for x in squares]) - b
        r = e + length[:, None] * d
        swing = np.arctan2((np.cross(r, w) * a).sum(axis=1), (r * w).sum(axis=1))
        return np.column_stack([swing, length]).ravel()


class _Leg(NamedTuple):
    """One leg in half axes, with all joints at zero."""

    parts: list[JointPart]
    end: Array
    slide: Array
    point: Array
    axis: Array | None


def _across(x: Array, a: Array) -> Array:
    """Return the components of vectors x perpendicular to unit vectors a, shape (n, 3)."""
    return np.asarray(x - (x * a).sum(axis=1, keepdims=True) * a)


def _leg(model: Model, kin: Kinematics, foot: str, root: int) -> _Leg:
    place = model.locate(foot)
    R, p = np.asarray(kin.R_WB[root], dtype=float), np.asarray(kin.p_WB[root], dtype=float)
    at = place.body
    parts: list[JointPart] = []
    columns: list[tuple[Array, Array, Array]] = []  # origin, linear and angular part of a joint's motion
    while at >= 0 and at != root:
        T = R.T @ np.asarray(kin.R_WB[at], dtype=float)
        origin = R.T @ (np.asarray(kin.p_WB[at], dtype=float) - p)
        own = [part for part in model.joint_parts.values() if part.body == at]
        subspace = np.asarray(kin.subspaces[at], dtype=float).T
        parts = own + parts
        columns = [(origin, T @ c[:3], T @ c[3:]) for c in subspace] + columns
        at = model.parent[at]
    body = model.body_names[root]
    if at < 0:
        raise ValueError(f"foot {foot!r} is not on body {body!r}; list the foot under the half that carries it")
    kinds = [type(part.joint) for part in parts]
    if kinds not in ([joints.Prismatic], [joints.Revolute, joints.Prismatic]):
        words = ", ".join(f"{part.name!r} ({type(part.joint).__name__.lower()})" for part in parts) or "no joint"
        raise ValueError(f"leg of foot {foot!r} has {words} between foot and {body!r}; use a slide, or a swing and a slide")
    end = R.T @ (np.asarray(kin.R_WB[place.body], dtype=float) @ place.p + kin.p_WB[place.body] - p)
    _, slide, _ = columns[-1]
    if abs(slide[2]) < 1.0 - STRAIGHT:
        raise ValueError(
            f"leg of foot {foot!r} slides along the axis {np.round(slide, 3).tolist()}; align this axis with z of the half"
        )
    if len(parts) == 1:
        return _Leg(parts, np.asarray(end, dtype=float), slide, np.zeros(3), None)
    origin, v, w = columns[0]
    if abs(w[1]) < 1.0 - STRAIGHT:
        raise ValueError(
            f"leg of foot {foot!r} swings about the axis {np.round(w, 3).tolist()}; align this axis with y of the half"
        )
    return _Leg(parts, np.asarray(end, dtype=float), slide, origin - np.cross(v, w), w)
