"""From what a caller or a file says to the components of a plant: friction and stops as said, or as the model says."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hydromechs import equations
from hydromechs.actuation import (
    ElasticJoints,
    ExternalWrench,
    JointDrive,
    JointFriction,
    JointMotion,
    JointRotor,
    JointStops,
    Thruster,
    drives,
    motions,
)
from hydromechs.contact import Material, contact_pairs, terrain
from hydromechs.errors import FieldError
from hydromechs.lines import Tether
from hydromechs.model import JointPart, Model, joints
from hydromechs.model.component import Component
from hydromechs.values import Array, nearest

__all__ = ["components_of"]

STOP_FREQUENCY = 2.0 * math.pi * 5.0
"""Natural frequency, with all other joints locked, of stops that the model gives limits for but no stiffness [rad/s]."""
STOP_HIGHEST = 2.0 * math.pi * 72.0
"""Their highest natural frequency with all other joints free [rad/s]: the default step follows many of them at once."""
STOP_DAMPING = 0.7
"""Their damping ratio."""
STICK_FREQUENCY = 2.0 * math.pi * 40.0
"""Highest natural frequency of the stick phase where the model gives Coulomb friction only [rad/s]."""
FRICTION_RATE = 800.0
"""Highest rate at which the model's viscous friction alone stops a joint [1/s]; a rotor is added where it would be higher."""


def components_of(
    model: Model,
    *,
    thrusters: Iterable[Thruster] = (),
    drives: Mapping[str, drives.Drive] | None = None,
    motions: Mapping[str, motions.Motion] | None = None,
    friction: Mapping[str, drives.Friction | None] | None = None,
    stops: Mapping[str, drives.Stops | None] | None = None,
    terrain: Iterable[terrain.Terrain] = (),
    touching: Iterable[str] = (),
    collisions: Iterable[tuple[str, str]] = (),
    material: Material | None = None,
    external: Iterable[str] = (),
    components: Iterable[Component] = (),
) -> tuple[Component, ...]:
    """All components of a plant, in the order of its commands: thrusters, then driven joints, then the rest.

    Args:
        model: The mechanism.
        thrusters: Thrusters.
        drives: Drive of each driven joint, by its name.
        motions: Motion of joints that is given as a function of time, by name; they have no friction and no stops unless
            these are given.
        friction: Friction of joints by name; what the model says unless given. None leaves a joint without.
        stops: Stops of joints by name; soft ones at the model's limits unless given. None leaves a joint without.
        terrain: What stands still and can be touched.
        touching: Names of frames that touch terrain at their origin.
        collisions: Pairs of names of bodies that can touch each other.
        material: How bodies meet each other.
        external: Names of bodies on which the caller puts wrenches.
        components: Others, a user's own too.
    """
    given: dict[str, dict[str, Any]] = {}
    for what, values in (("drives", drives), ("motions", motions), ("friction", friction), ("stops", stops)):
        if values is not None and not isinstance(values, Mapping):
            raise FieldError(what, values, "must map names of joints to what acts there, as {'elbow': drives.Servo(...)}")
        given[what] = dict(values or {})
    twice = [name for name in given["drives"] if name in given["motions"]]
    if twice:
        raise ValueError(f"joint {twice[0]!r} has a drive and a given motion; leave one of them out")
    for what, mapping in given.items():
        for name in mapping:
            if name not in model.joint_parts:
                hint = nearest(name, model.joint_parts)
                raise KeyError(f"{what}: no joint {name!r} in {model.name}; joints have the names of their bodies{hint}")
    terrain, touching, collisions = tuple(terrain), tuple(touching), tuple(collisions)
    for i, pair in enumerate(collisions):
        if len(pair) != 2 or not all(isinstance(name, str) for name in pair):
            raise FieldError(f"collisions[{i}]", pair, "must be two names of bodies, as ('hand', 'pipe')")
    if touching and not terrain:
        raise ValueError(f"touching names {', '.join(map(repr, touching))}, but there is no terrain to touch; add terrain")
    if material is not None and not collisions:
        raise ValueError("material says how bodies meet each other, but no pair of bodies can touch; name pairs in collisions")
    components = tuple(components)
    laid = [solid for c in components if isinstance(c, Tether) for solid in c.ground]
    pairs = contact_pairs(model, terrain, points=touching, bodies=collisions, material=material)
    for solid in terrain:
        if solid not in laid and not any(pair.solid is solid for pair in pairs):
            warnings.warn(
                f"nothing can touch terrain {solid.name!r}: give a body a shape with contact, or name frames in touching",
                stacklevel=3,
            )
    for name in given["motions"]:
        for what in ("friction", "stops"):
            given[what].setdefault(name, None)
    springs = tuple(name for name, part in model.joint_parts.items() if _elastic(part))
    rotors = _rotors(given["drives"])
    for c in components:
        if isinstance(c, JointRotor):
            rotors[c.joint] = rotors.get(c.joint, 0.0) + c.inertia
    resisting = _friction(model, given["friction"], rotors)
    rotors |= {c.joint: rotors.get(c.joint, 0.0) + c.armature for c in resisting}
    return (
        *thrusters,
        *(JointDrive(joint=name, drive=drive) for name, drive in _ordered(model, given["drives"])),
        *(JointMotion(joint=name, motion=motion) for name, motion in _ordered(model, given["motions"])),
        *resisting,
        *([ElasticJoints(joints=springs)] if springs else []),
        *_stops(model, given["stops"], rotors),
        *pairs,
        *(ExternalWrench(body=name) for name in external),
        *components,
    )


def _elastic(part: JointPart) -> bool:
    """Whether a joint has a spring."""
    return isinstance(part.joint, joints.Ball) and any(part.joint.stiffness)


def _ordered(model: Model, given: Mapping) -> list[tuple]:
    """Entries in the order of the model's joints."""
    return [(name, given[name]) for name in model.joint_parts if name in given]


def _friction(model: Model, given: Mapping, rotors: Mapping[str, float]) -> list[JointFriction]:
    """Friction as given, or as the model says.

    A model has two numbers of a joint's friction. How it sticks is chosen so that the default step can follow: the stick phase
    deflects by that of `drives.Friction`, or by more where its natural frequency would be above `STICK_FREQUENCY` otherwise.
    Where viscous friction would stop a joint faster than `FRICTION_RATE`, the friction is that of a motor whose rotor the
    description leaves out; the least inertia for that rate is added. All from the description, at its initial configuration.
    """
    out, m = [], None
    for name, part in model.joint_parts.items():
        found, rotor = given.get(name), 0.0
        viscous = 0.0 if isinstance(part.joint, joints.Free) or _elastic(part) else part.joint.damping  # with its spring
        if name not in given and not isinstance(part.joint, joints.Free) and (viscous or part.joint.friction):
            m = _felt_inertia(model, rotors) if m is None else m
            found, rotor = _model_friction(viscous, part.joint.friction, m[name])
        if found is not None:
            out.append(JointFriction(joint=name, friction=found, armature=rotor))
    return out


def _model_friction(viscous: float, coulomb: float, inertia: float) -> tuple[drives.Friction, float]:
    """Friction of a joint that feels this inertia [kg·m²], and the inertia of a rotor that it needs [kg·m²]."""
    rotor = max(0.0, viscous / FRICTION_RATE - inertia)
    found = drives.Friction(viscous=viscous, coulomb=coulomb)
    deflection = coulomb / ((inertia + rotor) * STICK_FREQUENCY**2)
    if deflection > found.stick_deflection:
        found = replace(found, stick_deflection=float(f"{deflection:.3g}"))
    return found, float(f"{rotor:.3g}")


def _rotors(driven: Mapping) -> dict[str, float]:
    """Inertia of each drive's rotor at its joint [kg·m²]; what is no drive is refused later."""
    return {name: drive.armature for name, drive in driven.items() if isinstance(drive, drives.Drive)}


def _geared_mass_matrix(model: Model, rotors: Mapping[str, float]) -> Array:
    """Mass matrix at the initial configuration, added mass and rotors included [kg, kg·m, kg·m²], shape (nv, nv)."""
    M = np.array(equations.mass_matrix(model, model.initial().q), dtype=float)
    for name, rotor in rotors.items():
        at = model.joint_parts[name].v
        M[at, at] += rotor * np.eye(M[at, at].shape[0])
    return M


def _felt_inertia(model: Model, rotors: Mapping[str, float]) -> dict[str, float]:
    """Least inertia that a torque in each joint meets with all others free, added mass and rotors included [kg·m²].

    It is refused where it is lost in rounding beside other inertias, or beside lengths.
    """
    M = _geared_mass_matrix(model, rotors)
    try:
        inverse = np.linalg.inv(M)
        found = {
            name: 1.0 / float(np.linalg.eigvalsh(inverse[part.v, part.v])[-1])
            for name, part in model.joint_parts.items()
            if not isinstance(part.joint, joints.Free)
        }
    except (np.linalg.LinAlgError, ZeroDivisionError):
        found = {}
    if not found or not all(inertia > 0.0 for inertia in found.values()):
        diagonal = np.diag(M)
        ends = [f"{diagonal[k]:.6g} ({model.coordinate_names[1][k]})" for k in (np.argmin(diagonal), np.argmax(diagonal))]
        words = f"the velocities move inertias from {ends[0]} to {ends[1]}, too far apart to compute what each joint feels"
        raise ValueError(f"{words}; is a mass, a tensor or a length mistyped?")
    return found


def _stops(model: Model, given: Mapping, rotors: Mapping[str, float]) -> list[JointStops]:
    """Stops as given, or soft ones at the model's limits, from the description at its initial configuration.

    With an inertia J_l where all other joints are locked, as an arm that swings meets its stop, and J_f where they are free, as
    the joint answers at once, J_f ≤ J_l:

        k = min(J_l ω², J_f Ω²),    c = 2 ζ min(J_l ω, J_f Ω),    ω = 2π 5 Hz, Ω = 2π 72 Hz

    In a chain J_l can be thousands of times J_f. Then Ω counts, so that the default step can follow.
    """
    out: list[JointStops] = []
    locked, free = None, {}
    for name, part in model.joint_parts.items():
        limits = None if name in given else _limits(part)
        if limits is not None:
            if locked is None:
                locked, free = np.diag(_geared_mass_matrix(model, rotors)), _felt_inertia(model, rotors)
            slow, fast = float(locked[part.v].max()) * STOP_FREQUENCY, free[name] * STOP_HIGHEST
            stops = drives.Stops(
                lower=limits[0],
                upper=limits[1],
                stiffness=float(f"{min(slow * STOP_FREQUENCY, fast * STOP_HIGHEST):.3g}"),
                damping=float(f"{2.0 * STOP_DAMPING * min(slow, fast):.3g}"),
            )
            out.append(JointStops(joint=name, stops=stops, assumed=True))
        elif given.get(name) is not None:
            out.append(JointStops(joint=name, stops=given[name]))
    return out


def _limits(part: JointPart) -> tuple[float, float] | None:
    """Ends of the travel that the model gives; None for none."""
    if isinstance(part.joint, joints.Ball):
        return None if part.joint.limit is None else (-math.inf, part.joint.limit)
    limits = None if isinstance(part.joint, joints.Free) else part.joint.limits
    return limits if limits is not None and any(math.isfinite(x) for x in limits) else None
