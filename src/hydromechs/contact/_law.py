"""Contact materials: normal laws that only push, and dry friction (McMillan 1994, ch. 5, 8; Marhefka and Orin 1999)."""

import abc
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, NamedTuple

import numpy as np

from hydromechs.errors import FieldError
from hydromechs.spatial import positive_part, stick_slip, where
from hydromechs.values import Array, Bound, Checked, NotNegative, Positive, Scalar, check_fields, is_zero

TINY = 1e-300
"""Regularisation that limits the slope of √ at 0."""


class NormalForce(NamedTuple):
    """Normal force of one contact."""

    force: Scalar
    """Normal force N, at least 0 [N]."""
    elastic: Scalar
    """Force of the spring, the derivative of `stored` with respect to penetration depth [N]."""
    stored: Scalar
    """Energy of the spring [J]."""


class ContactFriction(NamedTuple):
    """Friction of one contact."""

    force: Array
    """Friction force f; −f acts on the sliding body [N], shape (3,)."""
    rate: Array
    """Rate ṡ of the deflection [m/s], shape (3,)."""
    loss: Scalar
    """Dissipated power, at least 0 [W]."""
    stored: Scalar
    """Energy of the anchored spring [J]."""


class ContactLaw(abc.ABC):
    """Normal force from penetration depth and its rate. For a custom law, derive a frozen dataclass with NumPy operations."""

    __slots__ = ()

    @abc.abstractmethod
    def force(self, depth: Scalar, rate: Scalar) -> NormalForce:
        """Return the normal force, spring force and spring energy at the overlap d [m] of the surfaces and its rate ḋ [m/s].

        The overlap is negative for separated surfaces. The power on the bodies is −N ḋ = −(N − elastic) ḋ − d(stored)/dt; the
        first part must always be dissipative.
        """

    @abc.abstractmethod
    def stiffness_at(self, depth: float) -> tuple[float, float]:
        """Return stiffness [N/m] and damping [N·s/m] near a penetration `depth` [m], for advice on the step size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearContact(Checked, ContactLaw):
    """Spring and damper that only push: N = max(0, k d + c ḋ) while the penetration depth d is above 0."""

    stiffness: Positive
    """Stiffness k: force per penetration depth [N/m]."""
    damping: NotNegative = 0.0
    """Damping c: force per rate of penetration depth [N·s/m]."""

    def force(self, depth: Scalar, rate: Scalar) -> NormalForce:
        """Return the forces and energy; the loss is c ḋ² while N > 0, and −elastic ḋ > 0 if the damper would pull."""
        d = positive_part(depth)
        elastic = self.stiffness * d
        force = elastic if is_zero(self.damping) else positive_part(elastic + self.damping * rate)
        return NormalForce(where(depth > 0.0, force, 0.0), elastic, 0.5 * elastic * d)

    def stiffness_at(self, depth: float) -> tuple[float, float]:
        return self.stiffness, self.damping


@dataclass(frozen=True, slots=True, kw_only=True)
class NonlinearContact(Checked, ContactLaw):
    """Spring with damping proportional to its force: N = max(0, k dⁿ (1 + 3/2 α ḋ)); continuous at contact, never pulls."""

    stiffness: Positive
    """Stiffness k: force per penetration depth to the power n [N/mⁿ]."""
    damping_factor: NotNegative = 0.0
    """Damping factor α [s/m]; the coefficient of restitution is about 1 − α v for slow impacts."""
    exponent: Annotated[float, Bound(least=1.0)] = 1.0
    """Exponent n of the penetration depth [-]; 1.5 for two spheres (Hertz)."""

    def force(self, depth: Scalar, rate: Scalar) -> NormalForce:
        """Return the forces and energy; the loss is 3/2 α elastic ḋ² while N > 0."""
        d = positive_part(depth)
        elastic = self.stiffness * _power(d, self.exponent)
        force = elastic if is_zero(self.damping_factor) else elastic * positive_part(1.0 + 1.5 * self.damping_factor * rate)
        return NormalForce(force, elastic, elastic * d / (self.exponent + 1.0))

    def stiffness_at(self, depth: float) -> tuple[float, float]:
        return self.stiffness * self.exponent * depth ** (self.exponent - 1.0), 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DryFriction:
    """Coulomb friction with a stick phase, an anchored spring; μ decreases from static to kinetic with speed (Stribeck)."""

    static: NotNegative
    """Static friction coefficient μ_s [-], at least `kinetic`."""
    kinetic: NotNegative
    """Kinetic friction coefficient μ_k [-]."""
    stiffness: Positive
    """Tangential stiffness k_t of the stick phase [N/m]."""
    damping: Positive
    """Tangential damping c_t [N·s/m]; c_t/k_t is the settling time of a broken anchor."""
    stribeck_speed: Positive = 0.01
    """Stribeck speed v_s, at which μ is halfway from static to kinetic [m/s]."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.static < self.kinetic:
            raise FieldError("DryFriction.static", self.static, f"must be at least kinetic, {self.kinetic:g}; swap them")

    def force(self, normal: Scalar, n: Array, s: Array, v: Array) -> ContactFriction:
        """Return friction by `spatial.stick_slip` in the tangent plane, limit μ N,

            μ = μ_k + (μ_s − μ_k) / (1 + (v/v_s)²),    ṡ = (f − k_t s) / c_t

        A component of s along the normal (after a rotation of the plane) exerts no force and decays with the time constant
        c_t/k_t. When the surfaces separate, all of s decays at this rate. The loss is f · v − k_t s · ṡ.

        Args:
            normal: Normal force N, at least 0 [N].
            n: Unit normal, shape (3,).
            s: Deflection of the anchored spring [m], shape (3,).
            v: Velocity along the tangent plane, n · v = 0 [m/s], shape (3,).
        """
        k, c = self.stiffness, self.damping
        across = (n @ s) * n
        fall = 1.0 + v @ v / self.stribeck_speed**2
        limit = normal * (self.kinetic + (self.static - self.kinetic) / fall)
        force, rate = stick_slip(k, c, limit, s - across, v)
        rate = rate - (k / c) * across
        return ContactFriction(force, rate, force @ v - k * (s @ rate), 0.5 * k * (s @ s))


SMOOTH = ContactFriction(np.zeros(3), np.zeros(3), 0.0, 0.0)
"""Zero friction, for smooth surfaces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Contact of two surfaces: a normal law, and optional friction."""

    law: ContactLaw
    """Normal force as a function of penetration depth and its rate."""
    friction: DryFriction | None = None
    """Friction. Defaults to no friction."""

    def __post_init__(self) -> None:
        if not isinstance(self.law, ContactLaw):
            raise FieldError("Material.law", self.law, "must be a LinearContact, NonlinearContact or ContactLaw")
        if self.friction is not None and not isinstance(self.friction, DryFriction):
            raise FieldError("Material.friction", self.friction, "must be a DryFriction or None")


def _power(d: Scalar, exponent: float) -> Scalar:
    """Return dⁿ of a non-negative number; common exponents are fast."""
    if exponent.is_integer():
        return d ** int(exponent)
    return d ** int(exponent) * np.sqrt(d + TINY) if (2.0 * exponent).is_integer() else d**exponent


def _material(static: float, kinetic: float, stiffness: float, damping_factor: float) -> Material:
    """Return friction with the stiffness of the ground; a broken anchor settles within 10 ms."""
    friction = DryFriction(static=static, kinetic=kinetic, stiffness=0.7 * stiffness, damping=0.007 * stiffness)
    return Material(law=NonlinearContact(stiffness=stiffness, damping_factor=damping_factor), friction=friction)


MATERIALS: Mapping[str, Material] = MappingProxyType(
    {
        "concrete": _material(0.7, 0.6, 1.0e5, 1.0),
        "rock": _material(0.7, 0.6, 1.0e5, 1.0),
        "sand": _material(0.6, 0.5, 5.0e4, 2.0),
        "mud": _material(0.3, 0.2, 1.0e4, 3.0),
        "steel": _material(0.4, 0.3, 1.0e5, 0.6),
        "rubber": _material(0.8, 0.7, 3.0e4, 0.8),
    }
)
"""Contact of steel feet with ground materials under water, for machines of about 100 to 1,000 kg."""

MATERIAL_SOURCES: Mapping[str, str] = MappingProxyType(
    {
        "concrete": "estimated: friction of foundations on sound rock and clean gravel is about 0.55 to 0.7 in soil mechanics",
        "rock": "estimated: same as concrete",
        "sand": "estimated: tan 31°, an angle of internal friction of loose to medium sand; slip occurs within it",
        "mud": "estimated: soft clay; no suction, no gradual sinking",
        "steel": "estimated: steel on wet steel",
        "rubber": "estimated: rubber on a wet hard floor",
    }
)
"""Sources of the friction coefficients. Stiffness and damping are estimates for practical step sizes; bodies sink in by
millimetres to centimetres."""
