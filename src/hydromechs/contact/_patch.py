"""Friction of a contact patch: one stick-slip anchor for slip of the centre and twist about the normal."""

from typing import NamedTuple

import numpy as np

from hydromechs.spatial import maximum, where
from hydromechs.values import Array, Scalar

from ._law import DryFriction

NEWTON = 6
"""Number of Newton steps onto the limit surface; subsequent scaling makes the limit exact."""
SMALL = 1e-12
"""Ratio of the smallest patch radius to the anchor radius."""


class PatchFriction(NamedTuple):
    """Friction of a contact patch."""

    force: Array
    """Friction force f; −f acts on the sliding body at the centre [N], shape (3,)."""
    torque: Scalar
    """Friction torque τ; −τ acts on the rotating body about the normal [N·m]."""
    s_rate: Array
    """Rate ṡ of the deflection [m/s], shape (3,)."""
    twist_rate: Scalar
    """Rate of the twist [rad/s]."""
    loss: Scalar
    """Dissipated power, at least 0 [W]."""
    stored: Scalar
    """Elastic energy of the anchor [J]."""


def patch_friction(
    law: DryFriction, anchor: float, normal: Scalar, radius: Scalar, n: Array, s: Array, twist: Scalar, v: Array, spin: Scalar
) -> PatchFriction:
    """Return the friction of a patch with normal force N and radius R, the mean distance of the pressure from its centre.

        f₀ = k_t s + c_t v,  τ₀ = k_r θ + c_r ω,     (|f|/μN)² + (τ/μNR)² ≤ 1,     ṡ = (f − k_t s)/c_t,  θ̇ = (τ − k_r θ)/c_r

    Here (f, τ) is the point of the limit surface nearest to (f₀, τ₀) in the metric of the dampers, with k_r = k_t r² and
    c_r = c_t r² for the constant radius r of the anchor. A point contact (R = 0) has full sliding friction and no torque; the
    torque of a pure spin is limited to μNR. With f = f₀/(1 + x), τ = τ₀/(1 + κx) and κ = (r/R)², Newton's method for 1/√S(x)
    finds x monotonically. The loss (|f − k_t s|² + f·(f₀ − f))/c_t and the corresponding loss of the twist are non-negative.

    Args:
        anchor: Radius r of the anchor [m].
        n: Unit normal, shape (3,).
        s: Deflection of the anchor [m], shape (3,).
        twist: Elastic twist θ [rad].
        v: Velocity of the centre along the tangent plane [m/s], shape (3,).
        spin: Rate of rotation ω about n [rad/s].
    """
    k, c = law.stiffness, law.damping
    k_r, c_r = k * anchor**2, c * anchor**2
    across = (n @ s) * n
    along = s - across
    f0, torque0 = k * along + c * v, k_r * twist + c_r * spin
    radius = maximum(radius, SMALL * anchor)
    fall = 1.0 + (v @ v + (radius * spin) * (radius * spin)) / law.stribeck_speed**2
    limit = normal * (law.kinetic + (law.static - law.kinetic) / fall)
    a = maximum(limit, 1e-30)
    F2, T2, kappa = f0 @ f0, (torque0 / radius) * (torque0 / radius), (anchor / radius) * (anchor / radius)
    x: Scalar = 0.0
    for _ in range(NEWTON):
        p, t = 1.0 / (1.0 + x), 1.0 / (1.0 + kappa * x)
        square = F2 * p * p + T2 * t * t
        slope = F2 * p * p * p + kappa * T2 * t * t * t  # −S'/2
        step = square / maximum(slope, 1e-150) * (np.sqrt(square) / a - 1.0)
        x = maximum(x + step, 0.0)
    p, t = 1.0 / (1.0 + x), 1.0 / (1.0 + kappa * x)
    size = np.sqrt(F2 * p * p + T2 * t * t)
    scale = where(size > limit, limit / maximum(size, 1e-150), 1.0)
    f, torque = (p * scale) * f0, (t * scale) * torque0
    s_rate = (f - k * along) / c - (k / c) * across
    twist_rate = (torque - k_r * twist) / c_r
    stored = 0.5 * k * (s @ s) + 0.5 * k_r * twist * twist
    loss = f @ v - k * (s @ s_rate) + torque * spin - k_r * twist * twist_rate
    return PatchFriction(f, torque, s_rate, twist_rate, loss, stored)
