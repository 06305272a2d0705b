"""Component for contact of two convex solids through all their features, with one friction patch."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from hydromechs.errors import noted
from hydromechs.geometry import Box, Capsule, Convex, Cylinder, Placed, Plane, Sphere
from hydromechs.model import Model
from hydromechs.model.component import Action, FastMode, Mobility, Now, Slot, Values, Wrench, mode_of
from hydromechs.spatial import cross, maximum, minimum, norm
from hydromechs.values import Array, Scalar

from ._deepest import Deepest, on_edge, on_rim, on_rim_above_plane
from ._features import BAND, Edge, Features, Rim, features_of, rounding_of
from ._fields import Field, field_of
from ._pair import Pair
from ._patch import patch_friction
from ._touching import Terrain

TINY = 1e-30
"""Normal force below which a friction patch has no centre [N]."""


STATES = ("sx", "sy", "sz", "twist")
"""Names of the friction states."""
REACH = 2.0
"""Ratio of gap to edge radius up to which gaps are exact; larger gaps are bounds."""


class Probe(NamedTuple):
    """Contact of one feature."""

    force: Scalar
    """Normal force, at least 0 [N]."""
    normal: Array
    """Direction of the force on the first body, in the frame of the second shape, shape (3,)."""
    moment: Array
    """Moment of a unit force in this direction about the origin of this frame [m], shape (3,)."""
    point: Array
    """Deepest point on the surface of the feature, at which friction acts, in this frame [m], shape (3,)."""
    gap: Scalar
    """Distance, negative in contact [m]."""
    loss: Scalar
    """Power dissipated by the normal law [W]."""
    stored: Scalar
    """Energy stored by the normal law [J]."""


@dataclass(frozen=True, kw_only=True)
class ConvexPair(Pair):
    """Contact of two convex solids anywhere on their surfaces: edges of each solid against the faces of the other."""

    piece: Placed
    """Shape of body A."""

    def states(self, model: Model) -> list[Slot]:
        """Names of the deflection of the friction anchor in axes of the second shape [m], and of its twist [rad]."""
        if self.material.friction is None:
            return []
        return [Slot(name, unit="rad" if name == "twist" else "m") for name in STATES]

    @property
    def alike(self) -> Hashable:
        return ConvexPair, self.piece.shape, self.solid.shape, id(self.material)

    @classmethod
    def act_together(cls, components: Sequence[Any], now: Now, z: Sequence[Values], u: Sequence[Values]) -> list[Action]:
        """Evaluate pairs of the same shapes by one function, each only if its bounding boxes are close."""
        first: ConvexPair = components[0]
        poses = [_relative(pair, now) for pair in components]
        s = [np.array([own[name] for name in STATES]) if own else np.zeros(4) for own in z]
        bounds = [first._least_gap(at.R, at.p) for at in poses]
        conditions = [bound < first.margin for bound in bounds]
        kept = [first._apart(bound, own) for bound, own in zip(bounds, s, strict=True)]
        touches = now.each(partial(first._touch, now), *zip(*poses, strict=True), s, conditions=conditions, kept=kept)
        return [_action(pair, now, t, bool(own)) for pair, t, own in zip(components, touches, z, strict=True)]

    @cached_property
    def features(self) -> tuple[Features, Features]:
        """Features of the first shape against the second, and features of the second shape against the first."""
        both = features_of(self.piece.shape), features_of(self.solid.shape)
        one, other = self.piece.shape, self.solid.shape
        if isinstance(one, Cylinder) and not isinstance(other, Cylinder):  # others meet its side with their edges
            both = both[0]._replace(edges=()), both[1]
        if isinstance(other, Cylinder) and not isinstance(one, Cylinder):
            both = both[0], both[1]._replace(edges=())
        return both

    @cached_property
    def fields(self) -> tuple[tuple[Field, Field], tuple[Field, Field]]:
        """Fields of the second shape for edges and rims of the first, and fields of the first shape for the second."""
        return _fields(self.solid, self.piece), _fields(self.piece, self.solid)

    @cached_property
    def anchor(self) -> float:
        """Radius of the twist anchor: half the smallest dimension of both shapes [m]."""
        return min(float(np.min(piece.shape.half_size)) for piece in (self.piece, self.solid) if piece.shape.bounded)

    @cached_property
    def margin(self) -> float:
        """Distance between the bounding boxes above which a pair is not evaluated [m]."""
        return REACH * max(max(f.rim_radius, f.radius if f.edges else 0.0) for f in self.features)

    def act(self, now: Now, z: Values, u: Values) -> Action:
        return self.act_together([self], now, [z], [u])[0]

    def _least_gap(self, R: Array, p: Array) -> Scalar:
        """Return a lower bound of the distance: the largest separation along the axes of both bounding boxes [m]."""
        one, other = self.piece.shape, self.solid.shape
        x = p + R @ one.center
        if isinstance(other, Plane):
            return x[2] - abs(R[2]) @ one.half_size
        x = x - other.center
        across = np.array([[abs(a) for a in row] for row in R])
        beyond = [abs(a) for a in x] - other.half_size - across @ one.half_size
        behind = [abs(a) for a in R.T @ x] - one.half_size - across.T @ other.half_size
        least = beyond[0]
        for a in (*beyond[1:], *behind):
            least = maximum(a, least)
        return least

    def _apart(self, gap: Scalar, s: Array) -> _Touch:
        """Return zero forces for a separated pair, and the rates at which its friction state s decays."""
        zero, friction = np.zeros(3), self.material.friction
        if friction is None:
            return _Touch(zero, zero, 0.0, gap, 0.0, 0.0, np.zeros(4))
        free = patch_friction(friction, self.anchor, 0.0, 0.0, np.array([0.0, 0.0, 1.0]), s[:3], s[3], zero, 0.0)
        return _Touch(zero, zero, 0.0, gap, free.loss, free.stored, np.array([*free.s_rate, free.twist_rate]))

    def _touch(self, now: Now, R: Array, p: Array, linear: Array, angular: Array, s: Array) -> _Touch:
        """Return the contact for a pose and motion of the first shape, see `_Relative`, and the friction state s."""
        motion = _Motion(linear, angular)
        probes = self._probes(now, R, p, motion)
        normal = sum(x.force for x in probes)
        f = sum(x.force * x.normal for x in probes)
        moment = sum(x.force * x.moment for x in probes)
        loss, stored = sum(x.loss for x in probes), sum(x.stored for x in probes)
        gap = probes[0].gap
        for x in probes[1:]:
            gap = minimum(x.gap, gap)
        if self.material.friction is None:
            return _Touch(f, moment, normal, gap, loss, stored, np.zeros(4))
        share = 1.0 / maximum(normal, TINY)
        center = share * sum(x.force * x.point for x in probes)
        size = norm(f)
        n = f / maximum(size, TINY)
        radius = share * sum(x.force * norm(x.point - center) for x in probes)
        v = linear + cross(angular, center)
        v = v - (n @ v) * n
        friction = patch_friction(self.material.friction, self.anchor, normal, radius, n, s[:3], s[3], v, n @ angular)
        f = f - friction.force
        moment = moment - cross(center, friction.force) - friction.torque * n
        rates = np.array([*friction.s_rate, friction.twist_rate])
        return _Touch(f, moment, normal, gap, loss + friction.loss, stored + friction.stored, rates)

    def _probes(self, now: Now, R: Array, p: Array, motion: _Motion) -> list[Probe]:
        """Return the contacts of all features; R (3, 3) and p (3,) [m] are the pose of the first shape in the second."""
        (mine, others), (fields_B, fields_A) = self.features, self.fields
        law = self.material.law
        back, away = R.T, -(R.T @ p)

        def pressed(found: Deepest, radius: float, weight: float, first: bool) -> Probe:
            x, n, m = found.point, found.gradient, found.moment
            if not first:
                x, n = p + R @ x, -(R @ n)
                m = cross(p, n) - R @ m
            depth = radius - found.value
            surface = x - radius * n if first else x + radius * n
            rate = -(n @ motion.linear + m @ motion.angular)
            with noted(f"in the contact law ({type(law).__name__})"):
                pressure = law.force(depth, rate)
            loss = weight * (pressure.force - pressure.elastic) * rate
            return Probe(weight * pressure.force, n, m, surface, -depth, loss, weight * pressure.stored)

        out: list[Probe] = []
        for features, (edge_field, rim_field), first in ((mine, fields_B, True), (others, fields_A, False)):
            pose = (R, p) if first else (back, away)
            if features.edges:
                of_edge = lambda R, p, *edge, f=features, g=edge_field, a=first: pressed(  # noqa: E731
                    on_edge(g, Edge(*edge), R, p, REACH * f.radius), f.radius, f.weight, a
                )
                out += now.each(of_edge, *([x] * len(features.edges) for x in pose), *zip(*features.edges, strict=True))
            if features.rims:
                deepest = on_rim_above_plane if isinstance(self.solid.shape, Plane) else on_rim
                of_rim = lambda R, p, *rim, f=features, g=rim_field, a=first, d=deepest: pressed(  # noqa: E731
                    d(g, Rim(*rim), R, p), f.rim_radius, f.weight, a
                )
                out += now.each(of_rim, *([x] * len(features.rims) for x in pose), *zip(*features.rims, strict=True))
        return out

    def modes(self, model: Model, mobility: Mobility) -> Sequence[FastMode]:
        """Return the fast modes of a flat face, which rests on four contacts with the full contact law each."""
        moves = max(mobility.point(self.body, np.array(self.probe.center)), 1e-300)
        if self.other is not None:
            moves += mobility.point(self.other, np.array(self.solid.origin.xyz))
        k, c = self.material.law.stiffness_at(1e-3)
        out = [mode_of(f"contact {self.name!r}", 4.0 * k, 4.0 * c, moves, meets=True)]
        friction = self.material.friction
        if friction is not None:
            out.append(
                mode_of(f"friction of contact {self.name!r}", friction.stiffness, friction.damping, moves, internal=True)
            )
            out.append(FastMode(f"slipping friction of contact {self.name!r}", 0.0, friction.stiffness / friction.damping))
        return out


class _Relative(NamedTuple):
    """Pose of the first shape and velocity of its body, in the frame of the second shape."""

    R: Array
    """Axes, shape (3, 3)."""
    p: Array
    """Origin [m], shape (3,)."""
    linear: Array
    """Velocity at the origin of that frame [m/s], shape (3,)."""
    angular: Array
    """Angular velocity [rad/s], shape (3,)."""


class _Touch(NamedTuple):
    """Contact of a pair, in the frame of the second shape."""

    force: Array
    """Force on the first shape [N], shape (3,)."""
    moment: Array
    """Moment of this force about the origin of the frame [N·m], shape (3,)."""
    normal: Scalar
    """Normal force [N]."""
    gap: Scalar
    """Distance, negative in contact [m]."""
    loss: Scalar
    """Dissipated power [W]."""
    stored: Scalar
    """Energy stored [J]."""
    rates: Array
    """Rates of the friction states [m/s, rad/s], shape (4,)."""


class _Motion(NamedTuple):
    """Velocity of the first body relative to the second, in the frame of the second shape."""

    linear: Array
    """Linear velocity at the origin of the frame [m/s], shape (3,)."""
    angular: Array
    """Angular velocity [rad/s], shape (3,)."""


def _relative(pair: ConvexPair, now: Now) -> _Relative:
    """Return pose and velocity of the first shape in the frame of the second."""
    A, B = pair.body, pair.other
    o_A, o_B = pair.piece.origin, pair.solid.origin
    R_B, p_B = (np.eye(3), np.zeros(3)) if B is None else (now.R_WB[B], now.p_WB[B])
    R_S, p_S = R_B @ o_B.R, p_B + R_B @ np.array(o_B.xyz)
    R, p = R_S.T @ now.R_WB[A], R_S.T @ (now.p_WB[A] - p_S)  # body A in the frame of the second shape
    linear, angular = _motion(R, p, now.V[A], None if B is None else now.V[B], o_B.R, np.array(o_B.xyz))
    return _Relative(R @ o_A.R, p + R @ np.array(o_A.xyz), linear, angular)


def _action(pair: ConvexPair, now: Now, touch: _Touch, rough: bool) -> Action:
    """Return the wrenches on both bodies, and the rates of the friction states of a pair with friction."""
    A, B = pair.body, pair.other
    o_B, f = pair.solid.origin, touch.force
    R_S, p_S = o_B.R, np.array(o_B.xyz)
    f_B, n_B = R_S @ f, R_S @ touch.moment + cross(p_S, R_S @ f)  # about the origin of B, in its axes
    R_B, p_B = (np.eye(3), np.zeros(3)) if B is None else (now.R_WB[B], now.p_WB[B])
    f_W, R_A = R_B @ f_B, now.R_WB[A]
    n_W = R_B @ n_B + cross(p_B - now.p_WB[A], f_W)
    forces = [Wrench(A, np.concatenate([R_A.T @ f_W, R_A.T @ n_W]))]
    if B is not None:
        forces.append(Wrench(B, -np.concatenate([f_B, n_B])))
    rates = dict(zip(STATES, touch.rates, strict=True)) if rough else {}
    record = {"contact_force": touch.normal, "contact_gap": touch.gap}
    return Action(forces=forces, rates=rates, record=record, energy=touch.stored, power=-touch.loss)


def _motion(R: Array, p: Array, V_A: Array, V_B: Array | None, R_o: Array, p_o: Array) -> _Motion:
    angular = R @ V_A[3:]
    linear = R @ V_A[:3] - cross(angular, p)
    if V_B is not None:
        linear = linear - R_o.T @ (V_B[:3] + cross(V_B[3:], p_o))
        angular = angular - R_o.T @ V_B[3:]
    return _Motion(linear, angular)


def _fields(solid: Placed, other: Placed) -> tuple[Field, Field]:
    """Return the fields of a solid for the edges and rims of another solid; distances are exact for axes with a radius."""
    shape = solid.shape
    band = BAND * rounding_of(shape) if shape.bounded else 0.0
    axes = isinstance(other.shape, Capsule | Sphere) or (isinstance(other.shape, Cylinder) and isinstance(shape, Cylinder))
    exact = axes and isinstance(shape, Box | Cylinder | Convex)
    return field_of(shape, band, exact), field_of(shape, band)


def meet_as_convex(piece: Placed, solid: Placed) -> bool:
    """Return True if contact of two shapes is computed over their whole surfaces (`ConvexPair`) instead of at probes."""
    a, b = piece.shape, solid.shape
    if isinstance(b, Plane):
        return isinstance(a, Cylinder)
    if isinstance(b, Sphere):  # spheres of bodies are probes themselves
        return isinstance(solid, Terrain) and isinstance(a, Box | Cylinder | Convex)
    if isinstance(a, Capsule) and isinstance(b, Capsule):
        return False
    return isinstance(a, Box | Capsule | Cylinder | Convex) and isinstance(b, Box | Capsule | Cylinder | Convex)
