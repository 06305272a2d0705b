"""Forces of water whose motion varies over a body.

An added mass M about the body origin responds to the mean water velocity v_f = Σ s_j v(x_j) at a few points x_j of the body.
Its kinetic energy is T = ½ V_rᵀ M V_r, V_r = V − (v_f, 0). Lagrange's equations (Kirchhoff's equations for a position-dependent
T) give its force on the body,

    F = −M dV_r/dt − V_r ×* (M V_r) − Σ s_j (G_jᵀ P at x_j),   P = (M V_r) linear,   G_ij = ∂v_i/∂x_j,
    dv_r/dt = dv/dt + ω × v_f − Σ s_j (Dv/Dt + G_j (ẋ_j − v(x_j))),

all in body axes. The last term is the force of a converging stream (Taylor 1928): on a fixed body in a steady stream,
F + m_f Dv/Dt = ∇(½ m_f v² + ½ v·A v). For a sphere, the terms with G cancel in waves; in a shear flow, the lift
½ m_f (v − ẋ) × curl v remains (Auton, Hunt and Prud'homme 1988). The terms vanish if the water moves uniformly over the body.

The displaced water exerts m_f (Dv/Dt − g) at each point of the hull: buoyancy and the Froude-Krylov force, with their moment.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from hydromechs.model.drag import Faces, Strips
from hydromechs.spatial import cross, force_cross, shift_wrench
from hydromechs.values import Array, Scalar

from ._sampling import AddedMassAt, DragAt, HullStrip, Shares, WetSampling, corners
from ._surface import immersion, wetting

DRY_TOLERANCE = 1e-9
"""Regularisation of the centre of an almost dry strip, whose force vanishes."""


class Flow(NamedTuple):
    """Undisturbed water at a point of a body, in body axes."""

    velocity: Array
    """Water velocity v [m/s], shape (3,)."""
    a_fg: Array
    """Particle acceleration minus gravity, Dv/Dt − g [m/s²], shape (3,)."""
    gradient: Array
    """Velocity gradient ∂v_i/∂x_j [1/s], shape (3, 3)."""


class HullPoint(NamedTuple):
    """Point of the hull that represents part of the displaced volume."""

    part: Scalar
    """Fraction of the displaced volume assigned to the point."""
    moment: Array
    """First moment of this part about the body origin, divided by the whole volume [m], shape (3,)."""
    a_fg: Array
    """Acceleration of the water at the point minus gravity, in body axes [m/s²], shape (3,)."""


class SurroundingWater(NamedTuple):
    """Non-uniform water around a body."""

    sampling: WetSampling
    """Points at which the body samples the water."""
    V: Array
    """Velocity of the body relative to the world, in body axes [m/s, rad/s], shape (6,)."""
    flows: tuple[Flow, ...]
    """Water at the points of `sampling`."""
    hull: tuple[HullPoint, ...]
    """Points that represent the displaced volume, with the water at these points."""


class WetStrip(NamedTuple):
    """Wet part of a strip of the hull."""

    fraction: Scalar
    """Wet fraction of the strip, 0 to 1."""
    moment: Array
    """First moment of the wet part about the body origin, divided by the volume of the strip [m], shape (3,)."""
    head: Scalar
    """Integral of depth over the wet part, divided by the volume of the strip [m]."""
    rate: Scalar
    """Rate of change of the wet fraction [1/s]."""
    share: float
    """Fraction of the volume of the body in the strip, 0 to 1."""
    center: Array
    """Centre of the wet part, or of the strip if it is dry [m], shape (3,)."""
    spread: tuple[Array, ...]
    """Half distances between the points that represent the wet part [m], shape (3,) each; see `HullStrip`."""

    @property
    def away(self) -> list[Array]:
        """Offsets of the points from the centre [m], shape (3,) each; empty if the centre represents the strip."""
        return corners(self.spread)

    @property
    def points(self) -> tuple[Array, ...]:
        """Points that represent the wet part [m], shape (3,) each."""
        return tuple(self.center + away for away in self.away) or (self.center,)


def wet_strip(strip: HullStrip, down: Array, down_rate: Array, depth: Scalar, depth_rate: Scalar) -> WetStrip:
    """Return the wet part of a strip below a plane surface.

    The spread of the points shrinks with the wet fraction along a vertical axis, and is constant along a horizontal axis.

    Args:
        strip: Strip of the hull.
        down: Unit normal of the surface into the water, in body axes, shape (3,).
        down_rate: Rate of change of `down` [1/s], shape (3,).
        depth: Depth of the centre of the strip below the surface [m].
        depth_rate: Rate of change of `depth` [m/s].
    """
    wet = immersion(strip.cells, down, depth)
    rate = wetting(strip.cells, down, depth, down_rate, depth_rate)
    spread = []
    for a in strip.spread:
        upright = (a @ down) ** 2 / (a * a).sum()  # bit-identical on all processors, unlike a @ a
        spread.append((1.0 - (1.0 - wet.fraction) * upright) * a)
    moment = wet.moment + wet.fraction * strip.center
    center = strip.center + wet.moment / (wet.fraction + DRY_TOLERANCE)
    return WetStrip(wet.fraction, moment, wet.head, rate, strip.share, center, tuple(spread))


def wet_hull(strips: Sequence[WetStrip], a_fg: Sequence[Sequence[Array]]) -> tuple[HullPoint, ...]:
    """Return the points of a hull at a free surface; `a_fg`: acceleration minus gravity at the points of each strip [m/s²]."""
    out = []
    for strip, accelerations in zip(strips, a_fg, strict=True):
        share = strip.share / len(accelerations)
        for away, a in zip(strip.away or [np.zeros(3)], accelerations, strict=True):
            out.append(HullPoint(share * strip.fraction, share * (strip.moment + strip.fraction * away), a))
    return tuple(out)


def hull_points(sampling: WetSampling, flows: Sequence[Flow]) -> tuple[HullPoint, ...]:
    """Return the points of a submerged hull, with the water at its sampling points."""
    points = sampling.points
    return tuple(HullPoint(w, w * points[i], flows[i].a_fg) for i, w in sampling.mean)


def mean_of(shares: Shares, value: Callable[[int], Array]) -> Array:
    """Return the weighted mean Σ s_j x_j of values x_j at points."""
    total = None
    for i, w in shares:
        term = value(i) if isinstance(w, float) and w == 1.0 else w * value(i)
        total = term if total is None else total + term
    assert total is not None
    return total


def relative_velocity(around: SurroundingWater, shares: Shares) -> Array:
    """Return V − (v_f, 0) for the mean water velocity v_f at some points [m/s, rad/s], shape (6,)."""
    v_f = mean_of(shares, lambda i: around.flows[i].velocity)
    return np.concatenate([around.V[:3] - v_f, around.V[3:]])


def added_mass_force(around: SurroundingWater, item: AddedMassAt) -> Array:
    """Return the wrench of an added mass without the term −M a' [N, N·m], shape (6,); a' is the acceleration minus gravity."""
    V, w, M = around.V, around.V[3:], item.matrix
    V_r = relative_velocity(around, item.shares)
    a_fg = mean_of(item.shares, lambda i: around.flows[i].a_fg + _convective_rate(around, i))
    momentum = M @ V_r
    return (
        M[:, :3] @ (a_fg - cross(w, V[:3] - V_r[:3])) - force_cross(V_r, momentum) - _gradient_force(around, item, momentum[:3])
    )


def _convective_rate(around: SurroundingWater, i: int) -> Array:
    """Return G (ẋ − v), the rate of the water velocity at a body point minus the particle acceleration [m/s²], shape (3,)."""
    flow, x = around.flows[i], around.sampling.points[i]
    return flow.gradient @ (around.V[:3] + cross(around.V[3:], x) - flow.velocity)


def _gradient_force(around: SurroundingWater, item: AddedMassAt, P: Array) -> Array:
    """Return the wrench Σ s_j (Gᵀ P at x_j) about the body origin [N, N·m], shape (6,)."""

    def at(i: int) -> Array:
        return shift_wrench(np.concatenate([around.flows[i].gradient.T @ P, np.zeros(3)]), around.sampling.points[i])

    return mean_of(item.shares, at)


def gradient_power(around: SurroundingWater, item: AddedMassAt) -> Scalar:
    """Return the power V_r · Σ s_j (Gᵀ P at x_j) [W]; the force F of an added mass satisfies F · V_r = −dT/dt − power."""
    V_r = relative_velocity(around, item.shares)
    return _gradient_force(around, item, (item.matrix @ V_r)[:3]) @ V_r


def drag_of(around: SurroundingWater, item: DragAt) -> tuple[Array, Array]:
    """Return the wrench of a drag element [N, N·m] and its velocity relative to the water [m/s, rad/s], shape (6,) each."""
    V_r = relative_velocity(around, item.shares)
    if isinstance(item.numbers, Strips):
        mean = around.V[:3] - V_r[:3]
        excess = [mean_of(shares, lambda i: around.flows[i].velocity) - mean for shares in item.stations]
        return item.numbers.wrench(V_r, excess), V_r
    if isinstance(item.numbers, Faces):
        return item.numbers.wrench(V_r, mean_of(item.shares, lambda i: around.flows[i].gradient)), V_r
    return item.numbers.wrench(V_r), V_r
