"""Likely unit mistakes: degrees, litres, millimetres, grams."""

from __future__ import annotations

import math

from hydromechs.geometry import Mesh
from hydromechs.values import plain

from ._body import Body, Hydro
from .joints import Revolute

TURNS = 2.0
"""Travel of a joint in either direction above which integer limits are reported as degrees [turns]."""
LIGHT = 100.0
"""Displaced mass over mass of a body above which its volume is reported as litres; foam has 10 to 30."""
DENSEST = 25_000.0
"""Density above which the mass of a body is reported as grams; osmium has 22,600 [kg/m³]."""
LIGHTEST = 0.01
"""Density below which the lengths of a body are reported as millimetres, a hundredth of that of air [kg/m³]."""


def unit_mistakes(body: Body, density: float) -> list[str]:
    """Return warnings about likely unit mistakes in a valid body, in water of a density [kg/m³]."""
    out, mass = [], body.inertia.mass
    for part in body.joint.parts:
        if isinstance(part, Revolute) and part.limits is not None:
            text = limits_mistake("its joint limits", part.limits)
            out += [text] if text else []
    if not mass:
        return out
    if isinstance(body.hydro, Hydro) and density * body.hydro.volume > LIGHT * mass:
        ratio = f"which displaces {density * body.hydro.volume / mass:.4g} times its mass"
        out.append(f"its volume is {body.hydro.volume:g} m³, {ratio}; in litres it would be {body.hydro.volume / 1e3:g} m³")
    if isinstance(body.hydro, Hydro) and mass > DENSEST * body.hydro.volume > 0.0:
        dense = f"{mass / body.hydro.volume:.3g} kg/m³, denser than any metal"
        meant = f"in grams it would be {mass / 1e3:g} kg; is the volume in m³?"
        out.append(f"its mass of {plain(mass)} kg in a volume of {body.hydro.volume:g} m³ is {dense}; {meant}")
    solids = [s.shape for s in body.shapes if s.contact or s.wetting]
    if isinstance(body.hydro, Hydro):
        solids += [placed.shape for placed in body.hydro.own_shapes.values()]
    for solid in solids:
        volume = solid.volume if solid.bounded and not isinstance(solid, Mesh) else 0.0
        if volume * LIGHTEST > mass:
            what = f"its {solid.word} of {volume:.3g} m³ and its mass of {plain(mass)} kg"
            out.append(f"{what} make it lighter than air; are lengths in metres?")
    return out


def limits_mistake(what: str, limits: tuple[float, ...]) -> str:
    """Return a warning about limits of an angle [rad] that look like degrees, or nothing. Infinite limits count as none."""
    turns = max((abs(x) for x in limits if math.isfinite(x)), default=0.0) / (2.0 * math.pi)
    if turns <= TURNS or not all(x.is_integer() and abs(x) <= 360.0 for x in limits if math.isfinite(x)):
        return ""
    meant = ", ".join(f"{math.radians(x):.4g}" for x in limits)
    return f"{what} {plain(limits)} rad are {turns:.3g} turns; in degrees they would be [{meant}] rad"
