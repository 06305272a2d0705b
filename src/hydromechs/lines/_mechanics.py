"""Internal forces of a lumped line, water forces on the line, and cable properties; in world axes, for floats or symbols."""

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
    """A round cable. Hydrodynamic coefficients default to values for long cylinders."""

    diameter: Positive
    """Outer diameter d [m]."""
    mass: Positive
    """Mass per length m, in air [kg/m]."""
    axial_stiffness: Positive
    """Axial stiffness EA, force per strain [N]; the cable carries no compression."""
    axial_damping: NotNegative = 0.0
    """Axial damping CA, force per strain rate [N·s]."""
    bending_stiffness: NotNegative = 0.0
    """Bending stiffness EI, moment per curvature [N·m²]."""
    normal_drag: NotNegative = 1.2
    """Normal drag coefficient C_n, based on diameter times length [-]."""
    tangential_drag: NotNegative = 0.01
    """Tangential drag coefficient C_t, based on π times diameter times length [-]."""
    normal_added_mass: NotNegative = 1.0
    """Normal added-mass coefficient C_an, relative to the displaced water [-]."""
    tangential_added_mass: NotNegative = 0.0
    """Tangential added-mass coefficient C_at, relative to the displaced water [-]."""

    def displaced(self, density: float) -> float:
        """Return the displaced mass of water per length, ρ π d²/4 [kg/m], for a density [kg/m³]."""
        return density * math.pi / 4.0 * self.diameter**2

    def weight(self, density: float, gravity: float) -> float:
        """Return the weight in water per length [N/m], negative if buoyant, for a density [kg/m³] and gravity g [m/s²]."""
        return (self.mass - self.displaced(density)) * gravity


CREEP = 0.02
"""Sliding speed at which ground friction reaches 0.7 of its full magnitude [m/s]."""


def pieces(n: int) -> list[float]:
    """Return the lengths of the n + 1 segments in units of L/n."""
    return [0.5, *[1.0] * (n - 1), 0.5]


class Segment(NamedTuple):
    """Line segment between two points."""

    rest: Scalar
    """Unstretched length [m]."""
    length: Scalar
    """Current length [m]."""
    t: Array
    """Unit vector towards the upper end, shape (3,)."""
    strain: Scalar
    """Elongation divided by the unstretched length, 0 for a slack segment [-]."""
    strain_rate: Scalar
    """Rate of the length divided by the unstretched length, also for a slack segment [1/s]."""
    tension: Scalar
    """Tension max(0, EA strain + CA rate) [N]."""
    damper: Scalar
    """Damping part of the tension, tension − EA strain [N]; the loss damper · strain_rate is never negative."""

    def stored(self, cable: Cable) -> Scalar:
        """Return the strain energy ½ EA strain² times the unstretched length [J]."""
        return 0.5 * cable.axial_stiffness * self.strain * self.strain * self.rest


def segment_of(cable: Cable, chord: Array, rest: Scalar) -> Segment:
    """Return the segment with chord (3,) [m] and an unstretched length [m], without strain rate."""
    length = norm(chord)
    strain = maximum(length / rest - 1.0, 0.0)
    return Segment(rest, length, chord / length, strain, 0.0, cable.axial_stiffness * strain, 0.0)


def damped(cable: Cable, segment: Segment, spread: Array) -> Segment:
    """Return the segment with strain rate and damping.

    `spread` is the material velocity at the upper point minus the material velocity at the lower point [m/s], shape (3,).
    """
    rate = (segment.t @ spread) / segment.rest
    tension = maximum(segment.tension + cable.axial_damping * rate, 0.0)
    return segment._replace(strain_rate=rate, tension=tension, damper=tension - segment.tension)


class Bending(NamedTuple):
    """Bending forces at the junction of two segments: `below` − `above` on the mass, −`below` and `above` on the neighbours."""

    below: Array
    """Reaction to the force on the lower neighbour [N], shape (3,)."""
    above: Array
    """Force on the upper neighbour [N], shape (3,)."""
    energy: Scalar
    """Bending energy [J]."""


def bending(stiffness: float, a: Segment, b: Segment) -> Bending:
    """Return the bending forces at the junction of segments a and b for a bending stiffness EI [N·m²].

        E = EI/l (1 − t_a · t_b)   ≈ ½ EI θ²/l,   with mean segment length l and angle θ

    The ends of a line are free to rotate.
    """
    if not stiffness:
        return Bending(np.zeros(3), np.zeros(3), 0.0)
    g = 2.0 * stiffness / (a.rest + b.rest)
    c = a.t @ b.t
    return Bending((g / a.length) * (b.t - c * a.t), (g / b.length) * (a.t - c * b.t), g * (1.0 - c))


class GroundForce(NamedTuple):
    """Terrain forces on one mass of a line."""

    force: Array
    """Total force [N], shape (3,)."""
    elastic: Array
    """Contact spring force [N], shape (3,)."""
    loss: Scalar
    """Dissipated power [W]."""
    stored: Scalar
    """Energy of the contact springs [J]."""


def ground_force(ground: Sequence[Terrain], p: Array, u: Array, radius: float, down: Array) -> GroundForce:
    """Return the terrain force on a mass of a line at position p [m] with velocity u [m/s], shape (3,) each, and a radius [m].

    The contact law of the terrain material gives the normal force N. Friction uses the kinetic coefficient,
    −μ N v/√(v² + v_0²), so that the line creeps instead of sticking.
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
"""Regularisation that limits the slope of √ at zero speed [m²/s²]."""


class WaterForce(NamedTuple):
    """Water forces on the piece of a line at one mass."""

    drag: Array
    """Force on the mass [N], shape (3,)."""
    driving: Array
    """Force ρ A l (1 + C_a) a_water on a stationary mass [N], shape (3,)."""
    added_n: Scalar
    """Normal added mass, across the line [kg]."""
    added_t: Scalar
    """Tangential added mass, along the line [kg]."""
    turning: Array
    """Force on the mass due to rotation and growth of the added mass [N], shape (3,)."""
    reaction: Array
    """Added-mass force on the upper point, and the opposite force on the lower point [N], shape (3,)."""
    lost: Scalar
    """Power lost to spray and wake at the free surface, nonnegative [W]."""
    lack: Array
    """Buoyancy reduction above the free surface, downwards [N], shape (3,)."""
    levelling: Array
    """Buoyancy force on the upper point, and the opposite force on the lower point [N], shape (3,)."""
    stored: Scalar
    """Potential energy of the buoyancy reduction [J]."""
    stored_by_length: Scalar
    """Derivative of `energy` with respect to ln l at fixed points [J]."""


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
    """Return the water forces on a mass from strip theory.

        drag    = ½ ρ d l (C_n |w_n| w_n + π C_t |w_t| w_t),   w = v_water − u
        inertia = ρ A l (a_water + C_an (a_water − a)_n + C_at (a_water − a)_t)

    Both are multiplied by the submerged fraction of the piece. Effects of the changing added mass are included.

    `chord` is the vector from the lower to the upper point [m], `spread` the velocity of the upper point minus the velocity
    of the lower point [m/s], `u` the velocity of the mass [m/s], and `down` a unit vector, shape (3,) each. ρ is in kg/m³,
    g in m/s²; l is the unstretched length of the piece [m].
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
