"""Contact of two convex solids by all their features, with one patch of friction: a component of a plant."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
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
"""Normal force below which a patch has no centre [N]."""


REACH = 2.0
"""Distance over the radius of an edge up to which gaps are exact; beyond, they are upper bounds [-]."""


class Probe(NamedTuple):
    """Contact of one feature."""

    force: Scalar
    """Normal force, at least 0 [N]."""
    normal: Array
    """Direction of its force on the first body, in the frame of the second shape, shape (3,)."""
    moment: Array
    """Moment of that direction about the origin of the frame [m], shape (3,)."""
    point: Array
    """Deepest point of the feature's surface in that frame, where friction acts [m], shape (3,)."""
    gap: Scalar
    """Distance, negative in contact [m]."""
    loss: Scalar
    """Power lost in the normal law [W]."""
    stored: Scalar
    """Energy stored in the normal law [J]."""


@dataclass(frozen=True, kw_only=True)
class ConvexPair(Pair):
    """Two convex solids that touch anywhere on their surfaces: edges of each against the faces of the other."""

    piece: Placed
    """Shape of the body A."""

    def states(self, model: Model) -> list[Slot]:
        """Deflection of the anchor of friction [m] in the axes of the second shape, and its twist [rad]."""
        if self.material.friction is None:
            return []
        return [*(Slot(name, unit="m") for name in ("sx", "sy", "sz")), Slot("twist", unit="rad")]

    @property
    def alike(self) -> Hashable:
        return id(self)

    @classmethod
    def act_together(cls, components: Sequence[Any], now: Now, z: Sequence[Values], u: Sequence[Values]) -> list[Action]:
        return [pair.act(now, own, given) for pair, own, given in zip(components, z, u, strict=True)]

    @cached_property
    def features(self) -> tuple[Features, Features]:
        """Features of the first shape that touch the second, and of the second that touch the first."""
        both = features_of(self.piece.shape), features_of(self.solid.shape)
        one, other = self.piece.shape, self.solid.shape
        if isinstance(one, Cylinder) and not isinstance(other, Cylinder):  # others meet its side with their edges
            both = both[0]._replace(edges=()), both[1]
        if isinstance(other, Cylinder) and not isinstance(one, Cylinder):
            both = both[0], both[1]._replace(edges=())
        return both

    @cached_property
    def fields(self) -> tuple[tuple[Field, Field], tuple[Field, Field]]:
        """Fields of the second shape for edges and rims of the first, and those of the first."""
        return _fields(self.solid, self.piece), _fields(self.piece, self.solid)

    @cached_property
    def anchor(self) -> float:
        """Radius of the anchor of twist: half the smallest size of both [m]."""
        return min(float(np.min(piece.shape.half_size)) for piece in (self.piece, self.solid) if piece.shape.bounded)

    def act(self, now: Now, z: Values, u: Values) -> Action:
        A, B = self.body, self.other
        o_A, o_B = self.piece.origin, self.solid.origin
        R_B, p_B = (np.eye(3), np.zeros(3)) if B is None else (now.R_WB[B], now.p_WB[B])
        R_S, p_S = R_B @ o_B.R, p_B + R_B @ np.array(o_B.xyz)
        R, p = R_S.T @ now.R_WB[A], R_S.T @ (now.p_WB[A] - p_S)  # body A in the frame of the second shape
        motion = _motion(R, p, now.V[A], None if B is None else now.V[B], o_B.R, np.array(o_B.xyz))
        probes = self._probes(now, R @ o_A.R, p + R @ np.array(o_A.xyz), motion)
        normal = sum(x.force for x in probes)
        f = sum(x.force * x.normal for x in probes)
        moment = sum(x.force * x.moment for x in probes)
        loss, stored = sum(x.loss for x in probes), sum(x.stored for x in probes)
        gap = probes[0].gap
        for x in probes[1:]:
            gap = minimum(x.gap, gap)
        rates: dict[str, Scalar] = {}
        if self.material.friction is not None:
            share = 1.0 / maximum(normal, TINY)
            center = share * sum(x.force * x.point for x in probes)
            size = norm(f)
            n = f / maximum(size, TINY)
            radius = share * sum(x.force * norm(x.point - center) for x in probes)
            v = motion.linear + cross(motion.angular, center)
            v = v - (n @ v) * n
            s = np.array([z[name] for name in ("sx", "sy", "sz")])
            friction = patch_friction(
                self.material.friction, self.anchor, normal, radius, n, s, z["twist"], v, n @ motion.angular
            )
            f = f - friction.force
            moment = moment - cross(center, friction.force) - friction.torque * n
            loss, stored = loss + friction.loss, stored + friction.stored
            rates = dict(zip(("sx", "sy", "sz", "twist"), (*friction.s_rate, friction.twist_rate), strict=True))
        forces = [Wrench(A, np.concatenate([R.T @ f, R.T @ (moment - cross(p, f))]))]
        if B is not None:
            f_B = o_B.R @ f
            forces.append(Wrench(B, -np.concatenate([f_B, o_B.R @ moment + cross(np.array(o_B.xyz), f_B)])))
        record = {"contact_force": normal, "contact_gap": gap}
        return Action(forces=forces, rates=rates, record=record, energy=stored, power=-loss)

    def _probes(self, now: Now, R: Array, p: Array, motion: _Motion) -> list[Probe]:
        """Return the contacts of all features; the first shape has the axes R and the origin p in the frame of the second."""
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
                of_edge = lambda *edge, f=features, g=edge_field, a=first, at=pose: pressed(  # noqa: E731
                    on_edge(g, Edge(*edge), at[0], at[1], REACH * f.radius), f.radius, f.weight, a
                )
                out += now.each(of_edge, *zip(*features.edges, strict=True))
            if features.rims:
                deepest = on_rim_above_plane if isinstance(self.solid.shape, Plane) else on_rim
                of_rim = lambda *rim, f=features, g=rim_field, a=first, at=pose, d=deepest: pressed(  # noqa: E731
                    d(g, Rim(*rim), *at), f.rim_radius, f.weight, a
                )
                out += now.each(of_rim, *zip(*features.rims, strict=True))
        return out

    def modes(self, model: Model, mobility: Mobility) -> Sequence[FastMode]:
        """Return the modes of a flat face on four units of the law."""
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


class _Motion(NamedTuple):
    """Velocity of the first body relative to the second, in the frame of the second shape."""

    linear: Array
    """At the origin of that frame [m/s], shape (3,)."""
    angular: Array
    """Angular velocity [rad/s], shape (3,)."""


def _motion(R: Array, p: Array, V_A: Array, V_B: Array | None, R_o: Array, p_o: Array) -> _Motion:
    angular = R @ V_A[3:]
    linear = R @ V_A[:3] - cross(angular, p)
    if V_B is not None:
        linear = linear - R_o.T @ (V_B[:3] + cross(V_B[3:], p_o))
        angular = angular - R_o.T @ V_B[3:]
    return _Motion(linear, angular)


def _fields(solid: Placed, other: Placed) -> tuple[Field, Field]:
    """Return the fields of a solid that edges and rims of another touch: exact distances for axes with a radius."""
    shape = solid.shape
    band = BAND * rounding_of(shape) if shape.bounded else 0.0
    axes = isinstance(other.shape, Capsule | Sphere) or (isinstance(other.shape, Cylinder) and isinstance(shape, Cylinder))
    exact = axes and isinstance(shape, Box | Cylinder | Convex)
    return field_of(shape, band, exact), field_of(shape, band)


def meet_as_convex(piece: Placed, solid: Placed) -> bool:
    """True if two shapes meet by all their features, not by probes."""
    a, b = piece.shape, solid.shape
    if isinstance(b, Plane):
        return isinstance(a, Cylinder)
    if isinstance(b, Sphere):  # spheres of bodies are probes themselves
        return isinstance(solid, Terrain) and isinstance(a, Box | Cylinder | Convex)
    if isinstance(a, Capsule) and isinstance(b, Capsule):
        return False
    return isinstance(a, Box | Capsule | Cylinder | Convex) and isinstance(b, Box | Capsule | Cylinder | Convex)
