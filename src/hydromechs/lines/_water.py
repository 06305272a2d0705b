"""Forces of the water on the masses of a lumped line. In world axes, for floats or symbols.

The added mass of a piece, M_A = ρ A l (C_an (1 − t tᵀ) + C_at t tᵀ), turns with the tangent t = (x_above − x_below)/|...| and
grows with its wet part w. T_f = ½ w rᵀ M_A r, r = u − v_water, is the energy of the water around it, and with

    −w M_A a − w Ṁ_A r − p M_A r  on the mass,   ± ∂T_f/∂t · ∂t/∂x  on its neighbours,   p as in `hydro.crossing`

the work of all these in still water is −dT_f/dt − (p − ẇ/2) rᵀ M_A r: never above what the water gives back.

The wet part is that of an ellipsoid of the piece's length and diameter, and the buoyancy that it lacks has the potential
ρ A l g Q(D, b), D the depth of the mass, b how far the piece reaches up and down, Q the mean height of its dry part: where b
changes with the tangent, that acts on the neighbours, too.
"""

from typing import NamedTuple

import numpy as np

from hydromechs import hydro
from hydromechs.geometry import ellipsoid_wet, ellipsoid_wetting
from hydromechs.model.component import WaterPoint
from hydromechs.spatial import norm
from hydromechs.values import Array, Scalar

from ._cable import Cable

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
    """Force on the mass, as the added mass turns and grows [N], shape (3,)."""
    reaction: Array
    """Force of the added mass on the point above, and its opposite on that below [N], shape (3,)."""
    lost: Scalar
    """Power lost to spray and wake at the free surface, never below 0 [W]."""
    lack: Array
    """Buoyancy that the mass lacks out of the water [N], shape (3,), down."""
    levelling: Array
    """Force of buoyancy on the point above, and its opposite on that below [N], shape (3,)."""
    stored: Scalar
    """Potential energy of the buoyancy that it lacks [J]."""
    stored_by_length: Scalar
    """Its derivative with respect to ln l, the points as they are [J]."""


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

    times the part of its piece that is below the free surface, plus the effects of the changing added mass.

    `chord` goes from the point below to that above [m], `spread` is the velocity of that above less that of the one below, `u`
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
