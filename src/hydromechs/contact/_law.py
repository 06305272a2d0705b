"""Materials of a contact: normal laws that only push, and dry friction (thesis ch. 5 and 8; Marhefka and Orin 1999)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Annotated, NamedTuple

import numpy as np

from hydromechs.errors import FieldError
from hydromechs.spatial import stick_slip, where
from hydromechs.values import Bound, NotNegative, Positive, check_fields

__all__ = [
    "DryFriction",
    "FrictionForce",
    "LinearContact",
    "Material",
    "NonlinearContact",
    "NormalForce",
    "friction_force",
    "normal_force",
]

TINY = 1e-300
"""Keeps the slope of √ finite at 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearContact:
    """Spring and damper that push only: N = max(0, k d + c ḋ) while d > 0."""

    stiffness: Positive
    """Force per depth k [N/m]."""
    damping: NotNegative = 0.0
    """Force per rate of the depth c [N·s/m]."""

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class NonlinearContact:
    """Spring whose damping grows with the depth: N = max(0, k dⁿ (1 + 3/2 α ḋ)); no jump at touch, no pull on release."""

    stiffness: Positive
    """Force per depth to the power of the exponent k [N/mⁿ]."""
    damping_factor: NotNegative = 0.0
    """Damping factor α [s/m]; the coefficient of restitution is about 1 − α v for slow impacts."""
    exponent: Annotated[float, Bound(least=1.0)] = 1.0
    """Power n of the depth [-]; 1.5 for two spheres after Hertz."""

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class DryFriction:
    """Coulomb friction with a stick phase, an anchored spring; μ falls from static to kinetic as the speed grows (Stribeck)."""

    static: NotNegative
    """Coefficient at rest, at least `kinetic` [-]."""
    kinetic: NotNegative
    """Coefficient of sliding [-]."""
    stiffness: Positive
    """Force per deflection while it sticks k_t [N/m]."""
    damping: Positive
    """Force per rate of the deflection c_t [N·s/m]; c_t/k_t is the time in which a broken anchor settles."""
    stribeck_speed: Positive = 0.01
    """Speed at which half of the way from static to kinetic is gone v_s [m/s]."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.static < self.kinetic:
            raise FieldError(
                "DryFriction.static", self.static, f"must be finite and at least {self.kinetic:g}, the kinetic one"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """How two surfaces meet: a normal law, and friction or none."""

    law: LinearContact | NonlinearContact
    """Normal force by depth and rate."""
    friction: DryFriction | None = None
    """Friction; a smooth surface if left out."""

    def __post_init__(self) -> None:
        for name, kinds in (("law", (LinearContact, NonlinearContact)), ("friction", (DryFriction, type(None)))):
            if not isinstance(getattr(self, name), kinds):
                wanted = " or ".join(k.__name__ for k in kinds)
                raise FieldError(f"Material.{name}", getattr(self, name), f"must be a {wanted}")


class NormalForce(NamedTuple):
    """Normal force of one contact."""

    force: object
    """N, at least 0 [N]."""
    elastic: object
    """What the spring alone would push with, the slope of `stored` by depth [N]."""
    stored: object
    """Energy of the spring [J]."""


class FrictionForce(NamedTuple):
    """Friction of one contact."""

    force: object
    """f that the sliding body feels with the opposite sign [N], shape (3,)."""
    rate: object
    """ṡ [m/s], shape (3,)."""
    loss: object
    """Power lost, at least 0 [W]."""
    stored: object
    """Energy of the anchored spring [J]."""


@singledispatch
def normal_force(law, depth, rate) -> NormalForce:
    """Normal force of a law.

    Its power −N ḋ on the bodies is −(N − elastic) ḋ − d(stored)/dt; the first part is a loss in every case: c ḋ² or
    3/2 α elastic ḋ² while the law pushes, −elastic ḋ > 0 where a damper would pull and the spring lets go.

    Args:
        law: A `LinearContact` or `NonlinearContact`.
        depth: d, how far the surfaces overlap; below 0 they are apart [m].
        rate: ḋ [m/s].
    """
    raise TypeError(f"{law!r} is no law of hydromechs.contact")


@normal_force.register
def _(law: LinearContact, depth, rate):
    d = positive(depth)
    elastic = law.stiffness * d
    force = positive(elastic + law.damping * rate) if law.damping else elastic
    return NormalForce(where(depth > 0.0, force, 0.0), elastic, 0.5 * elastic * d)


@normal_force.register
def _(law: NonlinearContact, depth, rate):
    d = positive(depth)
    elastic = law.stiffness * _power(d, law.exponent)
    force = elastic * positive(1.0 + 1.5 * law.damping_factor * rate) if law.damping_factor else elastic
    return NormalForce(force, elastic, elastic * d / (law.exponent + 1.0))


def friction_force(friction, normal, n, s, v) -> FrictionForce:
    """Friction of one contact by `spatial.stick_slip` in the tangent plane, limit μ N,

        μ = μ_k + (μ_s − μ_k) / (1 + (v/v_s)²),    ṡ = (f − k_t s) / c_t

    A part of s along the normal (the plane has turned since) makes no force and dies out with the time constant c_t/k_t, as
    all of s does when the surfaces part. The loss is f · v − k_t s · ṡ.

    Args:
        friction: A `DryFriction`, or None for a smooth surface.
        normal: N, at least 0 [N].
        n: Unit normal, shape (3,).
        s: Deflection of the anchored spring [m], shape (3,).
        v: Velocity along the tangent plane, n · v = 0 [m/s], shape (3,).
    """
    if friction is None:
        return FrictionForce(np.zeros(3), np.zeros(3), 0.0, 0.0)
    k, c = friction.stiffness, friction.damping
    across = (n @ s) * n
    fall = 1.0 + v @ v / friction.stribeck_speed**2
    limit = normal * (friction.kinetic + (friction.static - friction.kinetic) / fall)
    force, rate = stick_slip(k, c, limit, s - across, v)
    rate = rate - (k / c) * across
    return FrictionForce(force, rate, force @ v - k * (s @ rate), 0.5 * k * (s @ s))


def positive(x):
    """max(x, 0), exact, NaN for NaN."""
    return 0.5 * (x + abs(x))


def _power(d, exponent: float):
    """dⁿ of a number that is not negative, cheap for the usual exponents."""
    if exponent.is_integer():
        return d ** int(exponent)
    return d ** int(exponent) * np.sqrt(d + TINY) if (2.0 * exponent).is_integer() else d**exponent
