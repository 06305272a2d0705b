"""Component for contact of one probe (contact point) of a body with one solid, with its forces and energies."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from hydromechs.errors import noted
from hydromechs.geometry import Capsule, HeightField, Placed
from hydromechs.model import Model
from hydromechs.model.component import Action, Component, FastMode, Mobility, Now, Order, Output, Slot, Values, Wrench, mode_of
from hydromechs.spatial import clamp, cross, norm, where
from hydromechs.values import Array, Scalar

from ._law import SMOOTH, Material


class Contact(NamedTuple):
    """Forces and energies of a contact pair; wrenches are about the body origins in body axes."""

    wrench_A: Array
    """Wrench on the body that carries the probe [N, N·m], shape (6,)."""
    wrench_B: Array | None
    """Wrench on the body that carries the solid [N, N·m], shape (6,); None for terrain."""
    s_rate: Array
    """Rate of the tangential deflection [m/s], shape (3,)."""
    loss: Scalar
    """Dissipated power, at least 0 [W]."""
    stored: Scalar
    """Elastic energy, normal and tangential [J]."""
    normal_force: Scalar
    """Normal force, at least 0 [N]."""
    gap: Scalar
    """Distance between the surfaces, negative in contact [m]."""
    sliding_speed: Scalar
    """Speed of the deepest point of the probe along the surface, even without contact [m/s]."""


def contact_wrench(
    pair: Pair, X_A: tuple[Array, Array], V_A: Array, X_B: tuple[Array, Array] | None, V_B: Array | None, s: Array, down: Array
) -> Contact:
    """Return the forces of a contact pair. C is the frame of the solid: the world for terrain, otherwise body B.

        d = r − φ(c),   ḋ = −∇φ · v,   f = N(d, ḋ) ∇φ − f_t(N, s, v_t)   at the deepest point x = c − r n of the probe

    Here v is the velocity of x on A minus the velocity of x on B. The force f acts at x on both bodies with opposite signs, so
    that wrench_A · V_A + wrench_B · V_B = −loss − d(stored)/dt exactly.

    Args:
        pair: Probe, solid and material.
        X_A: Pose of body A in the world: rotation matrix (3, 3) and origin (3,) [m].
        V_A: Velocity of body A at its origin in body axes [m/s, rad/s], shape (6,).
        X_B: Pose of body B; None for terrain.
        V_B: Velocity of body B; None for terrain.
        s: Tangential deflection in axes of C [m], shape (3,).
        down: Constant unit vector down in world axes, shape (3,).
    """
    R, p = X_A if X_B is None else (X_B[0].T @ X_A[0], X_B[0].T @ (X_A[1] - X_B[1]))
    r = pair.probe.radius
    point = pair.probe.nearest(pair.solid, R, p)
    distance, slope = pair.solid.distance(p + R @ point, down)
    # off the surface, the gradient of a height field's distance does not have unit length
    size = norm(slope) if isinstance(pair.solid.shape, HeightField) else 1.0
    n = slope / size
    arm = point - r * (R.T @ n)
    v = R @ (V_A[:3] + cross(V_A[3:], arm))
    x = p + R @ arm
    if V_B is not None:
        v = v - V_B[:3] - cross(V_B[3:], x)
    v_n = n @ v
    v_t = v - v_n * n
    rate = -size * v_n
    with noted(f"in the contact law ({type(pair.material.law).__name__})"):
        normal = pair.material.law.force(r - distance, rate)
    pushed = normal.force * size
    rough = pair.material.friction
    friction = SMOOTH if rough is None else rough.force(pushed, n, s, v_t)
    f = pushed * n - friction.force
    f_A = R.T @ f
    return Contact(
        wrench_A=np.concatenate([f_A, cross(arm, f_A)]),
        wrench_B=None if X_B is None else -np.concatenate([f, cross(x, f)]),
        s_rate=friction.rate,
        loss=(normal.force - normal.elastic) * rate + friction.loss,
        stored=normal.stored + friction.stored,
        normal_force=pushed,
        gap=distance - r,
        sliding_speed=norm(v_t),
    )


PARALLEL = 1e-12
"""Squared sine of the angle below which the axes of two capsules count as parallel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PointProbe:
    """Probe: a point of a body, or a sphere about a point."""

    position: tuple[float, float, float]
    """Position in body axes from the body origin [m], shape (3,)."""
    radius: float = 0.0
    """Radius of the sphere; 0 for a point [m]."""

    @property
    def center(self) -> tuple[float, float, float]:
        """Position of the point in body axes [m], shape (3,)."""
        return self.position

    def nearest(self, other: Placed, R: Array, p: Array) -> Array:
        """Return the point of the probe nearest to a solid, in body axes [m], shape (3,).

        R (3, 3) and p (3,) [m] are the pose of the body in the frame of the solid.
        """
        return np.array(self.position)


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """Probe: a capsule of a body, which touches a sphere or capsule at the point of its axis nearest to the other axis."""

    center: tuple[float, float, float]
    """Middle of the axis in body axes [m], shape (3,)."""
    direction: tuple[float, float, float]
    """Unit vector along the axis in body axes, shape (3,)."""
    half_length: float
    """Half the distance between the centres of the end caps [m]."""
    radius: float
    """Radius of the capsule [m]."""

    def nearest(self, other: Placed, R: Array, p: Array) -> Array:
        """Return the point w + t u of the axis, |t| ≤ l, that is nearest to the other axis τ e, in body axes [m], shape (3,).

            t = (b e·w − u·w) / (1 − b²),  b = u·e;   then τ = e·w + b t and t = b τ − u·w, each limited to the ends

        Here w is the vector from the other centre to this centre. The result is exact (Ericson 2005, sec. 5.1.9). At this
        point, the distance from the other axis is stationary in t, or t is at a limit. Therefore the rate of the distance is
        equal to the rate for a point fixed to the body. The arguments are those of `PointProbe.nearest`.
        """
        half, center, direction = self.half_length, np.array(self.center), np.array(self.direction)
        w, u = p + R @ center - np.array(other.origin.xyz), R @ direction
        along = u @ w
        if isinstance(other.shape, Capsule):
            e, reach = other.origin.R[:, 2], 0.5 * other.shape.length
            b, beside = u @ e, e @ w
            sine = 1.0 - b * b
            t = clamp((b * beside - along) / where(sine > PARALLEL, sine, PARALLEL), -half, half)
            tau = clamp(beside + b * t, -reach, reach)
            return center + clamp(b * tau - along, -half, half) * direction
        return center + clamp(-along, -half, half) * direction


DEFLECTION = ("sx", "sy", "sz")


@dataclass(frozen=True, kw_only=True)
class Pair(Component):
    """Contact pair of one probe and one solid, with at most one contact."""

    kind = "contact"
    outputs = (Output("contact_force", "N", "normal force"), Output("contact_gap", "m", "distance, negative in contact"))

    name: str
    """Name, such as "foot_1 on floor", unique among contact pairs."""
    body: int
    """Index of body A, which carries the probe."""
    probe: PointProbe | Segment
    frame: str | None = None
    """Name of the frame whose origin is the probe; None if the probe is part of a shape."""
    other: int | None = None
    """Index of body B, which carries the solid; None for terrain."""
    solid: Placed
    """Solid that the probe touches: `Terrain`, or a shape of body B."""
    material: Material

    def order(self, model: Model) -> tuple[int, int]:
        return Order.CONTACT, 0

    def states(self, model: Model) -> list[Slot]:
        """Return the internal state: deflection of the friction spring [m]; empty without friction."""
        return [] if self.material.friction is None else [Slot(x, unit="m") for x in DEFLECTION]

    def act(self, now: Now, z: Values, u: Values) -> Action:
        return _action(self, _contact(self, now, _numbers(self, now), _deflection(z)), z)

    @property
    def alike(self) -> Hashable:
        return Pair, type(self.probe), self.body, self.other, id(self.solid), id(self.material)

    @classmethod
    def act_together(cls, components: Sequence[Component], now: Now, z: Sequence[Values], u: Sequence[Values]) -> list[Action]:
        pairs: Sequence[Pair] = components  # type: ignore[assignment]
        probes, deflections = [_numbers(pair, now) for pair in pairs], [_deflection(own) for own in z]
        contacts = now.each(partial(_contact, pairs[0], now), probes, deflections)
        return [_action(pair, c, own) for pair, c, own in zip(pairs, contacts, z, strict=True)]

    def modes(self, model: Model, mobility: Mobility) -> Sequence[FastMode]:
        moves = max(mobility.point(self.body, np.array(self.probe.center)), 1e-300)
        out = [mode_of(f"contact {self.name!r}", *self.material.law.stiffness_at(1e-3), moves, meets=True)]
        friction = self.material.friction
        if friction is not None:
            name = f"friction of contact {self.name!r}"
            out.append(mode_of(name, friction.stiffness, friction.damping, moves, internal=True))
            settling = friction.stiffness / friction.damping
            out.append(FastMode(f"slipping friction of contact {self.name!r}", 0.0, settling))
        return out


def _numbers(pair: Pair, now: Now) -> tuple[Any, ...]:
    """Return the values of the fields of the probe; the pose of a frame may be an open parameter."""
    if pair.frame is not None:
        return tuple(now.model.frames[pair.frame][1].origin.xyz), 0.0
    return tuple(getattr(pair.probe, f.name) for f in fields(pair.probe))


def _deflection(z: Values) -> Array:
    return np.array([z[x] for x in DEFLECTION]) if z else np.zeros(3)


def _contact(pair: Pair, now: Now, probe: tuple[Any, ...], s: Array) -> Contact:
    """Return the contact for the field values of the probe, see `_numbers`, and the tangential deflection s [m], shape (3,)."""
    a, b = pair.body, pair.other
    X_B, V_B = (None, None) if b is None else ((now.R_WB[b], now.p_WB[b]), now.V[b])
    pair = replace(pair, probe=type(pair.probe)(**dict(zip([f.name for f in fields(pair.probe)], probe, strict=True))))
    return contact_wrench(pair, (now.R_WB[a], now.p_WB[a]), now.V[a], X_B, V_B, s, now.model.world.down)


def _action(pair: Pair, c: Contact, z: Values) -> Action:
    forces = [Wrench(pair.body, c.wrench_A)]
    if pair.other is not None and c.wrench_B is not None:
        forces.append(Wrench(pair.other, c.wrench_B))
    return Action(
        forces=forces,
        rates=dict(zip(DEFLECTION, c.s_rate, strict=True)) if z else {},
        record={"contact_force": c.normal_force, "contact_gap": c.gap},
        energy=c.stored,
        power=-c.loss,
    )
