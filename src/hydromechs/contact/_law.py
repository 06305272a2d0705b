"""Materials of a contact: normal laws that only push, and dry friction (thesis ch. 5 and 8; Marhefka and Orin 1999)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import singledispatch
from typing import NamedTuple

import numpy as np

from hydromechs.spatial import stick_slip, where
from hydromechs.values import number

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

    stiffness: float
    """k, above 0 [N/m]."""
    damping: float = 0.0
    """c, at least 0 [N·s/m]."""

    def __post_init__(self):
        set_number(self, "stiffness", "LinearContact", above=0.0)
        set_number(self, "damping", "LinearContact", least=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class NonlinearContact:
    """Spring whose damping grows with the depth: N = max(0, k dⁿ (1 + 3/2 α ḋ)); no jump at touch, no pull on release."""

    stiffness: float
    """k, above 0 [N/mⁿ]."""
    damping_factor: float = 0.0
    """α, at least 0 [s/m]; the coefficient of restitution is about 1 − α v for slow impacts."""
    exponent: float = 1.0
    """n, at least 1; 1.5 for two spheres after Hertz."""

    def __post_init__(self):
        set_number(self, "stiffness", "NonlinearContact", above=0.0)
        set_number(self, "damping_factor", "NonlinearContact", least=0.0)
        set_number(self, "exponent", "NonlinearContact", least=1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class DryFriction:
    """Coulomb friction with a stick phase, an anchored spring; μ falls from static to kinetic as the speed grows (Stribeck)."""

    static: float
    """Coefficient at rest, at least `kinetic`."""
    kinetic: float
    """Coefficient of sliding, at least 0."""
    stiffness: float
    """k_t of the stick phase, above 0 [N/m]."""
    damping: float
    """c_t of the stick phase, above 0 [N·s/m]; c_t/k_t is the time in which a broken anchor settles."""
    stribeck_speed: float = 0.01
    """v_s, speed at which half of the way from static to kinetic is gone, above 0 [m/s]."""

    def __post_init__(self):
        set_number(self, "kinetic", "DryFriction", least=0.0)
        set_number(self, "static", "DryFriction", least=self.kinetic)
        for name in ("stiffness", "damping", "stribeck_speed"):
            set_number(self, name, "DryFriction", above=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """How two surfaces meet: a normal law, and friction or none."""

    law: LinearContact | NonlinearContact
    """Normal force by depth and rate."""
    friction: DryFriction | None = None
    """Friction; None for a smooth surface."""

    def __post_init__(self):
        for name, kinds in (("law", (LinearContact, NonlinearContact)), ("friction", (DryFriction, type(None)))):
            if not isinstance(getattr(self, name), kinds):
                wanted = " or ".join(k.__name__ for k in kinds)
                raise ValueError(f"Material.{name} is {getattr(self, name)!r}, must be a {wanted}")


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


def set_number(data, field: str, owner: str, *, above: float | None = None, least: float | None = None) -> None:
    """Make a field of frozen data a float and check its range.

    Args:
        data: The dataclass instance.
        field: Name of the field.
        owner: What the error calls the instance.
        above: Bound that the value must exceed.
        least: Bound that the value must reach.
    """
    value = number(getattr(data, field), f"{owner}.{field}")
    object.__setattr__(data, field, value)
    bound = f"above {above:g}" if above is not None else f"at least {least:g}"
    fine = value > above if above is not None else value >= least
    if not (math.isfinite(value) and fine):
        raise ValueError(f"{owner}.{field} is {value:g}, must be finite and {bound}")
