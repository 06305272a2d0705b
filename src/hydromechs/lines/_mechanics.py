"""Forces in a lumped line and of the water on it, and the cable. In world axes, for floats or symbols."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hydromechs import hydro
from hydromechs.contact import Terrain
from hydromechs.errors import noted
from hydromechs.geometry import ellipsoid_wet, ellipsoid_wetting
from hydromechs.model.component import WaterPoint
from hydromechs.spatial import maximum, norm
from hydromechs.values import Array, Checked, NotNegative, Positive, Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class Cable(Checked):
    """A round cable. Hydrodynamic coefficients default to those of long cylinders."""

    diameter: Positive
    """Outer diameter d [m]."""
    mass: Positive
    """Mass per length m, dry [kg/m]."""
    axial_stiffness: Positive
    """Axial stiffness EA, force per strain [N]; a cable only pulls."""
    axial_damping: NotNegative = 0.0
    """Axial damping CA, force per rate of strain [N·s]."""
    bending_stiffness: NotNegative = 0.0
    """Bending stiffness EI, moment per curvature [N·m²]."""
    normal_drag: NotNegative = 1.2
    """Drag coefficient across the cable C_n, based on d and the length [-]."""
    tangential_drag: NotNegative = 0.01
    """Drag coefficient along the cable C_t, based on π d and the length [-]."""
    normal_added_mass: NotNegative = 1.0
    """Added-mass coefficient across the cable C_an, relative to the displaced water [-]."""
    tangential_added_mass: NotNegative = 0.0
    """Added-mass coefficient along the cable C_at, relative to the displaced water [-]."""

    def displaced(self, density: float) -> float:
        """Return the displaced mass of water per length, ρ π d²/4 [kg/m], for a density [kg/m³]."""
        return density * math.pi / 4.0 * self.diameter**2

    def weight(self, density: float, gravity: float) -> float:
        """Return the weight in water per length [N/m], below 0 if buoyant, for a density [kg/m³] and gravity g [m/s²]."""
        return (self.mass - self.displaced(density)) * gravity


CREEP = 0.02
"""Speed at which friction on the ground has 0.7 of its full size [m/s]."""


def pieces(n: int) -> list[float]:
    """Return the n + 1 lengths of the segments in units of L/n."""
    return [0.5, *[1.0] * (n - 1), 0.5]


class Segment(NamedTuple):
    """Line between two points."""

    rest: Scalar
    """Unstretched length [m]."""
    length: Scalar
    """Length [m]."""
    t: Array
    """Unit vector towards the upper end, shape (3,)."""
    strain: Scalar
    """Stretch over the unstretched length, 0 where it is slack [-]."""
    strain_rate: Scalar
    """Rate of the length over the unstretched length, also where it is slack [1/s]."""
    tension: Scalar
    """max(0, EA strain + CA rate) [N]."""
    damper: Scalar
    """Tension in addition to EA strain [N]; damper · strain_rate is a loss, never negative."""

    def stored(self, cable: Cable) -> Scalar:
        """½ EA strain² over its length [J]."""
        return 0.5 * cable.axial_stiffness * self.strain * self.strain * self.rest


def segment_of(cable: Cable, chord: Array, rest: Scalar) -> Segment:
    """Return the segment along a chord (3,) [m] of an unstretched length [m], without its strain rate."""
    length = norm(chord)
    strain = maximum(length / rest - 1.0, 0.0)
    return Segment(rest, length, chord / length, strain, 0.0, cable.axial_stiffness * strain, 0.0)


def damped(cable: Cable, segment: Segment, spread: Array) -> Segment:
    """Return the segment with its strain rate and the corresponding damping.

    `spread` is the velocity of the material at its upper point minus that at its lower [m/s], shape (3,).
    """
    rate = (segment.t @ spread) / segment.rest
    tension = maximum(segment.tension + cable.axial_damping * rate, 0.0)
    return segment._replace(strain_rate=rate, tension=tension, damper=tension - segment.tension)


class Bending(NamedTuple):
    """Forces of bending where two segments meet: `below` − `above` on the mass there, their opposites on its neighbours."""

    below: Array
    """[N], shape (3,)."""
    above: Array
    """[N], shape (3,)."""
    energy: Scalar
    """Energy of bending [J]."""


def bending(stiffness: float, a: Segment, b: Segment) -> Bending:
    """Bending of a stiffness [N·m²] where the segments a and b meet.

        E = EI/l (1 − t_a · t_b)   ≈ ½ EI θ²/l,   l the mean length of the segments, which meet at an angle θ

    The ends of a line are free to turn.
    """
    if not stiffness:
        return Bending(np.zeros(3), np.zeros(3), 0.0)
    g = 2.0 * stiffness / (a.rest + b.rest)
    c = a.t @ b.t
    return Bending((g / a.length) * (b.t - c * a.t), (g / b.length) * (a.t - c * b.t), g * (1.0 - c))


class GroundForce(NamedTuple):
    """Terrain forces on one mass."""

    force: Array
    """Total force [N], shape (3,)."""
    elastic: Array
    """Force of its springs alone [N], shape (3,)."""
    loss: Scalar
    """Power lost [W]."""
    stored: Scalar
    """Energy of its springs [J]."""


def ground_force(ground: Sequence[Terrain], p: Array, u: Array, radius: float, down: Array) -> GroundForce:
    """Return the force of terrain on a mass of a line at p [m] with the velocity u [m/s], shape (3,) each, and a radius [m].

    The normal force is that of the terrain's material; friction has its kinetic coefficient, −μ N v/√(v² + v_0²): the line
    creeps instead of sticking.
    """
    F, elastic = np.zeros(3), np.zeros(3)
    loss: Scalar = 0.0
    stored: Scalar = 0.0
    for solid in ground:
        distance, n = solid.distance(p, down)
        rate = -(n @ u)
        with noted(f"in the contact law ({type(solid.material.law).__name__})"):
            normal = solid.material.law.force(radius - distance, rate)
        F, elastic, stored = F + normal.force * n, elastic + normal.elastic * n, stored + normal.stored
        loss = loss + (normal.force - normal.elastic) * rate
        if solid.material.friction is not None:
            slide = u + rate * n
            drag = normal.force * solid.material.friction.kinetic / np.sqrt(slide @ slide + CREEP**2)
            F, loss = F - drag * slide, loss + drag * (slide @ slide)
    return GroundForce(F, elastic, loss, stored)


TINY = 1e-12
"""Limits the slope of √ at rest [m²/s²]."""


class WaterForce(NamedTuple):
    """Forces of the water on one piece of a line."""

    drag: Array
    """Force on the mass [N], shape (3,)."""
    driving: Array
    """ρ A l ((1 + C_a) a_water), the force on a mass that is held [N], shape (3,)."""
    added_n: Scalar
    """Added mass across the line [kg]."""
    added_t: Scalar
    """Added mass along it [kg]."""
    turning: Array
    """Force on the mass due to rotation and growth of the added mass [N], shape (3,)."""
    reaction: Array
    """Force of the added mass on the point above, and its opposite on that below [N], shape (3,)."""
    lost: Scalar
    """Power lost to spray and wake at the free surface, never below 0 [W]."""
    lack: Array
    """Buoyancy missing out of the water [N], shape (3,), downwards."""
    levelling: Array
    """Buoyancy force on the point above, and its opposite on that below [N], shape (3,)."""
    stored: Scalar
    """Potential energy of the missing buoyancy [J]."""
    stored_by_length: Scalar
    """Its derivative with respect to ln l at fixed points [J]."""


def water_force(
    cable: Cable,
    density: Scalar,
    gravity: Scalar,
    down: Array,
    water: WaterPoint,
    chord: Array,
    u: Array,
    spread: Array,
    length: Scalar,
) -> WaterForce:
    """Return the strip forces of water on a mass.

        drag    = ½ ρ d l (C_n |w_n| w_n + π C_t |w_t| w_t),   w = v_water − u
        inertia = ρ A l (a_water + C_an (a_water − a)_n + C_at (a_water − a)_t)

    times the fraction of its piece below the free surface, plus the effects of the changing added mass.

    `chord` goes from the point below to that above [m], `spread` is the velocity of the upper point minus that of the lower
    one, `u`
    that of the mass [m/s], `down` a unit vector, shape (3,) each. ρ is in kg/m³, g in m/s²; l is the unstretched length of the
    piece [m].
    """
    apart = norm(chord)
    t = chord / apart
    t_rate = (spread - (t @ spread) * t) / apart
    r = u - water.velocity
    r_t = t @ r
    r_n = r - r_t * t
    speed_n = np.sqrt(r_n @ r_n + TINY)
    across, along = 0.5 * cable.normal_drag * speed_n, 0.5 * np.pi * cable.tangential_drag * abs(r_t)
    drag = -(density * cable.diameter * length) * (across * r_n + (along * r_t) * t)
    carried = cable.displaced(density) * length
    normal, uneven = cable.normal_added_mass, cable.tangential_added_mass - cable.normal_added_mass
    a = water.acceleration
    driving = carried * ((1.0 + normal) * a + (uneven * (t @ a)) * t)
    force = WaterForce(
        drag=drag,
        driving=driving,
        added_n=carried * normal,
        added_t=carried * cable.tangential_added_mass,
        turning=-(carried * uneven) * (r_t * t_rate + (t_rate @ r) * t),
        reaction=(carried * uneven * r_t / apart) * r_n,
        lost=0.0,
        lack=np.zeros(3),
        levelling=np.zeros(3),
        stored=0.0,
        stored_by_length=0.0,
    )
    if water.depth is None:
        return force
    # the free surface
    half, radius, c = 0.5 * length, 0.5 * cable.diameter, t @ down
    b = np.sqrt(radius**2 + (half * half - radius**2) * (c * c))
    b_c = (half * half - radius**2) * c / b
    dry, Q_b, Q = ellipsoid_wet(-water.depth, b)
    wet, weight = 1.0 - dry, carried * gravity
    sinking = (down + water.slope) @ u + water.rise
    wetting = ellipsoid_wetting(water.depth, b, sinking, b_c * (t_rate @ down))
    push, loss = hydro.crossing(cable.diameter, wetting, gravity)
    momentum = carried * (normal * r + (uneven * r_t) * t)  # M_A r of a piece under water
    return WaterForce(
        drag=wet * drag,
        driving=wet * driving,
        added_n=wet * force.added_n,
        added_t=wet * force.added_t,
        turning=wet * force.turning - push * momentum,
        reaction=wet * force.reaction,
        lost=loss * (r @ momentum),
        lack=(weight * dry) * down,
        levelling=-(weight * Q_b * b_c / apart) * (down - c * t),
        stored=weight * Q,
        stored_by_length=weight * (Q + Q_b * (half * half) * (c * c) / b),
    )
