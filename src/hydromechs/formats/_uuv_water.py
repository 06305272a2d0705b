"""Water in a robot file of the UUV Simulator (Manhães et al. 2016): plugins for underwater objects and for thrusters.

Volume and centre of buoyancy are in link axes, x forward and z up. The matrices are about the link origin in Fossen's axes,
x forward and z down: with S = diag(1, −1, −1, 1, −1, −1), matrices M become S M S in HydroMechs. Added mass is positive in
both. Damping is negative in the simulator, −D ν − |ν| D ν, so that its sign changes. The simulator uses only the diagonal
of quadratic damping. Thrusters push along the axis of their joint; the thrust follows from the speed of the rotor.
"""

import re

import numpy as np

from hydromechs.values import Array

from ._imported import Findings
from ._xml import Element, is_true

PLUGINS = {
    "object": (r"uuv_underwater_object", ("link",)),
    "uuv thruster": (r"uuv_thruster", ("jointName",)),
}
"""Supported plugins, as in `_sdf_water`."""
DENSITY = 1028.0
"""Default water density of the plugin for underwater objects [kg/m³]."""
DOWN = np.array([1.0, -1.0, -1.0, 1.0, -1.0, -1.0])
"""Signs of velocities in Fossen's axes relative to link axes."""
MODEL = ("type", "added_mass", "linear_damping", "quadratic_damping")
"""Elements of `<hydrodynamic_model>` that are read."""
LINK = ("neutrally_buoyant", "volume", "box", "center_of_buoyancy", "hydrodynamic_model")
"""Elements of a `<link>` of the plugin that are read; the box has an effect only at the surface."""


def buoyancy(f: Findings, element: Element, link: Element, owner: str, density: float) -> tuple[float, Array]:
    """Return volume [m³] and centre of buoyancy [m], shape (3,), of a `<link>` of the plugin, in link axes."""
    f.unknown(element, LINK, owner)
    volume = f.child_number(element, "volume", owner, 0.0, "volume [m³]")
    if volume < 0.0:
        f.fault(element, f"{owner}: the volume is {volume:g} m³, must not be negative", volume)
    if is_true(element.text_of("neutrally_buoyant")) and density > 0.0:
        volume = _mass(f, link, owner) / density
    center = element.first("center_of_buoyancy")
    text = None if center is None else center.text
    return volume, np.array(f.numbers(text, 3, element, f"{owner}: center_of_buoyancy [m]", (0.0, 0.0, 0.0)))


def _mass(f: Findings, link: Element, owner: str) -> float:
    inertial = link.first("inertial")
    mass = None if inertial is None else inertial.first("mass")
    return 0.0 if mass is None else f.number(mass.attributes.get("value", mass.text), mass, f"{owner}: mass", 0.0)


def matrices(f: Findings, element: Element, owner: str) -> tuple[Array, Array, Array]:
    """Return added mass, linear and quadratic damping of a `<link>` of the plugin, positive, shape (6, 6) each."""
    model = element.first("hydrodynamic_model")
    zero = np.zeros((6, 6))
    if model is None:
        return zero, zero, zero
    f.unknown(model, MODEL, owner)
    kind = model.text_of("type").strip()
    if kind != "fossen":
        done = "only 'fossen' has coefficients in the file; estimate them from shapes with hm.add_water"
        f.left_out(model, owner, f"hydrodynamic_model of type {kind!r}", done)
        return zero, zero, zero
    A, D, Q = (_matrix(f, model, tag, owner) for tag in MODEL[1:])
    return A, -D, -np.diag(np.diag(Q))


def _matrix(f: Findings, model: Element, tag: str, owner: str) -> Array:
    """Return a matrix from a child element with 36 numbers, or with the 6 numbers of the diagonal, in link axes."""
    child = model.first(tag)
    if child is None:
        return np.zeros((6, 6))
    count = 6 if tag != "added_mass" and len(child.text.split()) == 6 else 36
    row = np.array(f.numbers(child.text, count, child, f"{owner}: {tag}", (0.0,) * count))
    return DOWN[:, None] * (np.diag(row) if count == 6 else row.reshape(6, 6)) * DOWN


def thrust_limits(f: Findings, plugin: Element, owner: str) -> tuple[float, float] | None:
    """Return minimum and maximum thrust of a thruster plugin [N], from limits of thrust and command; None if unlimited."""
    gain = f.child_number(plugin, "gain", owner, 1.0) * f.child_number(plugin, "propeller_efficiency", owner, 1.0)
    efficiency = f.child_number(plugin, "thrust_efficiency", owner, 1.0)
    conversion = plugin.first("conversion")
    low, high = -np.inf, np.inf
    clamps = [f.child_number(plugin, tag, owner, edge) for tag, edge in (("clampMin", -np.inf), ("clampMax", np.inf))]
    if conversion is not None:
        low, high = (efficiency * x for x in _converted(f, conversion, owner, *(gain * clamp for clamp in clamps)))
    low = max(low, f.child_number(plugin, "thrustMin", owner, -np.inf, "thrustMin [N]"))
    high = min(high, f.child_number(plugin, "thrustMax", owner, np.inf, "thrustMax [N]"))
    return None if not (np.isfinite(low) and np.isfinite(high)) else (float(low), float(high))


def _converted(f: Findings, conversion: Element, owner: str, low: float, high: float) -> tuple[float, float]:
    """Return the thrust at the limits of rotor speed [N]; infinite without limits."""
    kind = conversion.text_of("type").strip()
    if kind == "LinearInterp":
        text = re.sub(r"[,;]", " ", conversion.text_of("outputValues"))
        values = f.numbers(text, len(text.split()), conversion, f"{owner}: outputValues [N]", ())
        return (min(values), max(values)) if values else (-np.inf, np.inf)
    factors = {"Basic": ("rotorConstant",) * 2, "Bessa": ("rotorConstantL", "rotorConstantR")}.get(kind)
    if factors is None:
        f.left_out(conversion, owner, f"conversion of type {kind!r}")
        return -np.inf, np.inf
    left, right = (f.child_number(conversion, tag, owner, 0.0) for tag in factors)
    zones = (f.child_number(conversion, tag, owner, 0.0) for tag in ("deltaL", "deltaR"))
    below, above = zones if kind == "Bessa" else (0.0, 0.0)
    return min(left * (low * abs(low) - below), 0.0), max(right * (high * abs(high) - above), 0.0)


def lag(f: Findings, plugin: Element, owner: str) -> float:
    """Return the time constant of a thruster plugin [s]; 0 without a time constant."""
    dynamics = plugin.first("dynamics")
    if dynamics is None or dynamics.text_of("type").strip() != "FirstOrder":
        if dynamics is not None and dynamics.text_of("type").strip() != "ZeroOrder":
            f.left_out(dynamics, owner, f"dynamics of type {dynamics.text_of('type')!r}", "the thrust has no lag")
        return 0.0
    return max(f.child_number(dynamics, "timeConstant", owner, 0.0, "timeConstant [s]"), 0.0)
