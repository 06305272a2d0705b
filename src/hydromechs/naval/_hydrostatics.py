"""Hydrostatics of a mechanism: masses, centres, equilibrium attitude, and checks of stability and trim."""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from hydromechs import dynamics, hydro
from hydromechs.model import Hydro, Model, joints
from hydromechs.values import Array

from ._parts import check_model, configuration

OUT_OF_BALANCE = 0.03
"""Ratio of net weight to weight above which a vehicle counts as heavy or light."""
STANDS = 0.2
"""Ratio of net weight to weight above which a vehicle is assumed to stand on the bed, without further warnings."""
TENDER = 0.005
"""Height of the centre of buoyancy above the centre of mass below which a vehicle is barely stable, relative to the
cube root of the volume."""
OUT_OF_TRIM = math.radians(2.0)
"""Angle between initial and equilibrium attitude above which a vehicle counts as out of trim [rad]."""


NEGLIGIBLE = 1e-3
"""Fraction of the total mass up to which a body without hydrodynamics, such as a sensor in a robot file, is not reported."""
HEAVY_PART = 0.3
"""Fraction of the mass of all moving bodies above which a body in water is expected to have added mass."""


class Sums(NamedTuple):
    """Sums of mass and displaced water of bodies, about an origin."""

    mass: float
    """Mass [kg]."""
    moment: Array
    """First moment of mass [kg·m], shape (3,)."""
    water: float
    """Mass of the displaced water [kg]."""
    water_moment: Array
    """First moment of the displaced water [kg·m], shape (3,)."""


def sums_of(model: Model, kin: dynamics.Kinematics, bodies: Iterable[int], p: Array, R: Array) -> Sums:
    """Return the sums about a point p in world axes [m], shape (3,), in axes R; R (3, 3) rotates to world axes."""
    m = m_f = 0.0
    mu, mu_f = np.zeros(3), np.zeros(3)
    for i in bodies:
        body, arm = model.bodies[i], kin.p_WB[i] - p
        m += body.inertia.mass
        mu += R.T @ (body.inertia.mass * (arm + kin.R_WB[i] @ np.array(body.inertia.com)))
        water, moment = hydro.displaced_mass(body, model.world.water_density)
        m_f += water
        mu_f += R.T @ (water * arm + kin.R_WB[i] @ moment)
    return Sums(m, mu, m_f, mu_f)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hydrostatics:
    """Hydrostatics of bodies at a configuration, in world axes, with all joints held except the joint of the vehicle."""

    mass: float
    """Mass [kg]."""
    displaced_mass: float
    """Mass of the displaced water [kg]."""
    com: Array
    """Centre of mass [m], shape (3,); NaN without mass."""
    cob: Array
    """Centre of buoyancy [m], shape (3,); NaN without volume."""
    net_weight: float
    """Weight in water: weight minus buoyancy, positive downwards [N]."""
    stability: float
    """Height of the centre of buoyancy above the centre of mass, negative below [m]; NaN without volume."""
    rest: tuple[float, float]
    """Roll and pitch at equilibrium [rad], with both centres on one vertical line; NaN without a righting moment. A vehicle
    that is not neutral and is held at another point settles at another attitude."""
    tilt: float
    """Angle between the attitudes of the configuration and of equilibrium, 0 to π [rad]; NaN without a righting moment."""
    warnings: tuple[str, ...]
    """Warnings: no buoyancy, heavy, light, unstable, barely stable, out of trim, no added mass, dry. Empty for models that
    cannot float freely. With several moving roots, warnings begin with the name of the root."""


def hydrostatics(model: Model, q: Array | None = None, bodies: Collection[int] | None = None) -> Hydrostatics:
    """Return weight, buoyancy, stability and trim of a model. If a body floats freely, fixed bodies are ignored.

    Args:
        model: The model.
        q: Configuration, shape (nq,). Defaults to the initial configuration.
        bodies: Indices of the bodies to include, with the vehicle first. Defaults to all bodies.
    """
    check_model("hydrostatics", model)
    q = configuration("hydrostatics", model, q)
    chosen = list(range(model.nb) if bodies is None else bodies)
    if any(model.parent[i] < 0 and isinstance(model.bodies[i].joint, joints.Free) for i in chosen):
        chosen = [i for i in chosen if model.moves[i]]  # scenery is supported by the ground
    kin = dynamics.kinematics(model, q, np.zeros(model.nv))
    mass, moment, displaced, buoyancy_moment = sums_of(model, kin, chosen, np.zeros(3), np.eye(3))
    with np.errstate(invalid="ignore", divide="ignore"):
        com, cob = moment / np.float64(mass), buoyancy_moment / np.float64(displaced)
    arm = com - cob
    root = chosen[0] if chosen else 0
    rest = _rest(model, kin.R_WB[root].T @ arm)
    down = float(arm @ model.world.down)
    across = float(np.linalg.norm(arm - down * model.world.down))
    apart = math.hypot(down, across)
    found = Hydrostatics(
        mass=mass,
        displaced_mass=displaced,
        com=com,
        cob=cob,
        net_weight=(mass - displaced) * model.world.gravity,
        stability=down,
        rest=rest if apart > 0.0 else (math.nan, math.nan),
        tilt=math.atan2(across, down) if apart > 0.0 else math.nan,
        warnings=(),
    )
    roots = [i for i in chosen if model.parent[i] < 0]
    if len(roots) > 1:
        return replace(found, warnings=_of_each(model, q, chosen))
    if not roots or not isinstance(model.bodies[root].joint, joints.Free) or not mass:
        return found
    sinking, dry = _sinking(model, chosen), [*_without_added_mass(model, chosen), *_dry(model, chosen)]
    found = _with_warnings(found, model, dry) if displaced else replace(found, warnings=tuple(dry))
    return replace(found, warnings=(*sinking, *found.warnings))


def _of_each(model: Model, q: Array, chosen: Sequence[int]) -> tuple[str, ...]:
    """Return the warnings about several independent mechanisms, each with the name of its root."""
    trees: dict[int, list[int]] = {}
    for i in chosen:
        root = i
        while model.parent[root] >= 0:
            root = model.parent[root]
        trees.setdefault(root, []).append(i)
    each = [(model.body_names[root], hydrostatics(model, q, tree).warnings) for root, tree in trees.items()]
    return tuple(f"{name}: {text}" for name, warnings in each for text in warnings)


def down_in_body(model: Model, roll: float, pitch: float) -> Array:
    """Return the downward unit vector in axes of a body with given roll and pitch [rad], shape (3,)."""
    # the world has z down (NED) or up (ENU)
    sign = float(model.world.down[2])
    return sign * np.array([-math.sin(pitch), math.sin(roll) * math.cos(pitch), math.cos(roll) * math.cos(pitch)])


def _rest(model: Model, arm_B: Array) -> tuple[float, float]:
    """Return roll and pitch [rad] at which the arm [m], from the centre of buoyancy to the centre of mass, points down."""
    x, y, z = arm_B * float(model.world.down[2])
    return math.atan2(y, z), math.atan2(-x, math.hypot(y, z))


def _with_warnings(h: Hydrostatics, model: Model, dry: Sequence[str]) -> Hydrostatics:
    out = []
    ratio = (h.mass - h.displaced_mass) / h.mass
    litres = f"{abs(h.mass - h.displaced_mass) / model.world.water_density * 1e3:.3g} L"
    force = f"{_three(abs(h.net_weight))} N, {abs(ratio):.0%} of its weight"
    if ratio > STANDS:
        stands = f"heavy: the vehicle sinks with {force}, like a machine that stands on the bed"
        words = f"{stands}; add {litres} of volume to make the vehicle float"
        return replace(h, warnings=(words, *dry))
    if ratio > OUT_OF_BALANCE:
        out.append(f"heavy: the vehicle sinks with {force}; add {litres} of volume")
    elif ratio < -OUT_OF_BALANCE:
        out.append(f"light: the vehicle rises with {force}; remove {litres} of volume, or add ballast")
    size = (h.displaced_mass / model.world.water_density) ** (1.0 / 3.0)
    arm = float(np.linalg.norm(h.com - h.cob))
    if arm < TENDER * size:
        out.append(f"barely stable: centres of buoyancy and mass are {1e3 * arm:.2g} mm apart; move floats up or weights down")
    elif h.stability < 0.0:
        out.append(
            f"unstable: the centre of buoyancy is {-1e3 * h.stability:.3g} mm below the centre of mass; the vehicle capsizes"
        )
    elif h.tilt > OUT_OF_TRIM:
        roll, pitch = (math.degrees(a) + 0.0 for a in h.rest)
        out.append(
            f"out of trim by {math.degrees(h.tilt):.1f}°: it settles with a roll of {roll:.1f}° and a pitch of "
            f"{pitch:.1f}°; level it with hm.ballast"
        )
    return replace(h, warnings=(*out, *dry))


def without_buoyancy(model: Model) -> list[int]:
    """Return the indices of moving bodies that have drag or added mass, but no buoyancy, including bodies fixed to them.

    Gazebo files have this structure: a plugin of the model provides drag and added mass, a plugin of the world buoyancy.
    """
    group: list[int] = []  # for each body, the moving body to which it is fixed
    for i, body in enumerate(model.bodies):
        group.append(group[model.parent[i]] if body.joint.nv == 0 and model.parent[i] >= 0 else i)
    floating = {
        group[i]
        for i, b in enumerate(model.bodies)
        if b.hydro is not None and not (isinstance(b.hydro, Hydro) and b.hydro.volume == 0.0)
    }
    return [
        i
        for i, body in enumerate(model.bodies)
        if model.moves[i]
        and group[i] not in floating
        and isinstance(body.hydro, Hydro)
        and body.inertia.mass > 0.0
        and (body.hydro.drag or body.hydro.added_mass)
    ]


def _sinking(model: Model, chosen: Sequence[int]) -> list[str]:
    """Return a warning about the selected bodies that have drag or added mass, but no buoyancy."""
    names = [model.body_names[i] for i in without_buoyancy(model) if i in chosen]
    if not names:
        return []
    return [
        f"no buoyancy: drag or added mass, but no volume, on {', '.join(names)}; in Gazebo, a world plugin adds "
        "buoyancy. Estimate the volume from shapes with hm.add_water (info --water), or set Hydro(volume=...)"
    ]


def _without_added_mass(model: Model, chosen: Sequence[int]) -> list[str]:
    """Return a warning about the selected bodies in water that have a large part of the mass, but no added mass."""
    moving = [model.bodies[i] for i in chosen if model.moves[i]]
    large = HEAVY_PART * sum(body.inertia.mass for body in moving)
    wet = [(body.name, body.hydro) for body in moving if isinstance(body.hydro, Hydro) and body.inertia.mass > large]
    names = [name for name, hydro in wet if hydro.volume > 0.0 and not hydro.added_mass]
    if not names:
        return []
    return [
        f"no added mass: {', '.join(names)} accelerates too easily; set Hydro(added_mass=...), or estimate it, "
        f"with the drag, by hm.add_water(model, bodies={names})"
    ]


def _dry(model: Model, chosen: Sequence[int]) -> list[str]:
    """Return a warning about the selected bodies that have mass, but no hydrodynamics."""
    bodies = [model.bodies[i] for i in chosen if model.moves[i]]
    least = NEGLIGIBLE * sum(body.inertia.mass for body in bodies)
    dry = [body.name for body in bodies if body.hydro is None and body.inertia.mass > least]
    return [f"dry: no hydrodynamics on {', '.join(dry)}; estimate hydrodynamics from shapes with hm.add_water"] if dry else []


def _three(x: float) -> str:
    """Return a number as text with three significant digits; large numbers have no exponent."""
    return f"{x:.0f}" if x >= 100.0 else f"{x:.3g}"
