"""Components of a plant, derived from listed parts and the model."""

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from hydromechs import equations
from hydromechs.actuation import JointFriction, JointSpring, JointStops
from hydromechs.contact import Terrain, contact_pairs, loop_closures
from hydromechs.errors import placed
from hydromechs.model import JointPart, Model, joints
from hydromechs.model.component import Component
from hydromechs.values import Array, instances

from ._plant import COMPONENTS

STOP_FREQUENCY = 2.0 * math.pi * 5.0
"""Natural frequency of stops without a stiffness in the model, with all other joints locked [rad/s]."""
STOP_HIGHEST = 2.0 * math.pi * 72.0
"""Maximum natural frequency of these stops with all other joints free [rad/s]; the default step can resolve many stops."""
STOP_DAMPING = 0.7
"""Damping ratio of these stops [-]."""
STICK_FREQUENCY = 2.0 * math.pi * 40.0
"""Maximum natural frequency in the stick phase of joints whose model has only Coulomb friction [rad/s]."""
FRICTION_RATE = 800.0
"""Maximum rate at which viscous friction alone stops a joint [1/s]; a rotor is added if the rate would be higher."""


def components_of(model: Model, parts: Iterable[Component]) -> tuple[Component, ...]:
    """Return the components of a plant: active parts, and components derived from the parts and the model.

    Contacts are derived from terrain, `contact.PointContact` and `contact.BodyContact`. Friction, springs and stops are
    derived from the joints of the model; a part with the same name, such as "elbow.stops", replaces a derived component. Loop
    closures are derived from the loops of the model.

    `parts`: components in any order; a plant sorts them by `Component.order`.
    """
    parts = instances(parts, Component, "components", COMPONENTS)
    for part in parts:
        part.check_beside(parts)
    replaced = {name for part in parts for name in (part.name, *part.replaces)}
    rotors: dict[str, float] = {}
    for part in parts:
        for joint, inertia in part.rotors.items():
            if joint in model.joint_parts:  # the part's own check reports an unknown joint
                rotors[joint] = rotors.get(joint, 0.0) + inertia

    @cache
    def bare() -> Array:
        return np.array(equations.mass_matrix(model, model.initial().q), dtype=float)

    friction = _friction(model, replaced, rotors, bare)
    for part in friction:
        rotors[part.joint] = rotors.get(part.joint, 0.0) + part.armature
    pairs = contact_pairs(model, parts)
    _warn_untouched(parts, pairs)
    derived = [*friction, *_springs(model, replaced), *_stops(model, replaced, rotors, bare), *pairs, *loop_closures(model)]
    return tuple(sorted((*(c for c in parts if c.acts), *derived), key=lambda c: c.order(model)))


def _warn_untouched(parts: Sequence[Component], pairs: Sequence[Component]) -> None:
    laid = [solid for part in parts for solid in getattr(part, "ground", ())]
    touched = {id(getattr(pair, "solid", None)) for pair in pairs}
    for part in parts:
        if isinstance(part, Terrain) and part not in laid and id(part) not in touched:
            warnings.warn(
                f"nothing can touch terrain {part.name!r}; add a contact shape to a body, or add a PointContact",
                stacklevel=4,
            )


def _springs(model: Model, replaced: set[str]) -> list[JointSpring]:
    names = tuple(name for name, part in model.joint_parts.items() if _elastic(part))
    balls = [JointSpring(joints=names, name="springs")] if names and "springs" not in replaced else []
    links = [name for name, part in model.joint_parts.items() if isinstance(part.joint, joints.ModalJoint)]
    return balls + [JointSpring(joints=(name,)) for name in links if f"{name}.spring" not in replaced]


def _elastic(part: JointPart) -> bool:
    return isinstance(part.joint, joints.Ball) and any(part.joint.stiffness)


def _friction(model: Model, replaced: set[str], rotors: Mapping[str, float], bare: Callable[[], Array]) -> list[JointFriction]:
    """Return the friction of the joints in the model.

    A model has two friction parameters per joint. The stiffness of the stick phase is chosen so that the default step resolves
    it: the stick deflection is the default of `JointFriction`, or more if the natural frequency would exceed
    `STICK_FREQUENCY`. If viscous friction would stop a joint faster than `FRICTION_RATE`, the friction is attributed to a
    motor whose rotor the model omits, and the minimum rotor inertia for this rate is added. All values are derived from the
    model at its initial configuration.
    """
    out, m = [], None
    for name, part in model.joint_parts.items():
        if isinstance(part.joint, joints.Free):
            continue
        viscous = 0.0 if _elastic(part) else part.joint.damping  # part of its spring
        if (viscous or part.joint.friction) and f"{name}.friction" not in replaced:
            m = _felt_inertia(model, rotors, _geared(model, rotors, bare())) if m is None else m
            out.append(_model_friction(name, viscous, part.joint.friction, m[name]))
    return out


def _model_friction(joint: str, viscous: float, coulomb: float, inertia: float) -> JointFriction:
    """Return the friction of a joint with an inertia [kg·m²], including the required rotor."""
    rotor = max(0.0, viscous / FRICTION_RATE - inertia)
    found = JointFriction(joint=joint, viscous=viscous, coulomb=coulomb, armature=float(f"{rotor:.3g}"))
    deflection = coulomb / ((inertia + rotor) * STICK_FREQUENCY**2)
    if deflection > found.stick_deflection:
        found = replace(found, stick_deflection=float(f"{deflection:.3g}"))
    return found


def _geared(model: Model, rotors: Mapping[str, float], bare: Array) -> Array:
    """Return the mass matrix with rotors [kg, kg·m, kg·m²], shape (nv, nv), given the mass matrix `bare` without rotors."""
    M = bare.copy()
    for name, rotor in rotors.items():
        at = model.joint_parts[name].v
        M[at, at] += rotor * np.eye(M[at, at].shape[0])
    return M


def _felt_inertia(model: Model, rotors: Mapping[str, float], M: Array) -> dict[str, float]:
    """Return the minimum effective inertia of each joint with all other joints free [kg·m²], keyed by joint.

    The mass matrix `M` includes added mass and rotors. An inertia within the rounding error of other inertias or lengths is
    rejected.
    """
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
        words = f"the diagonal of the mass matrix ranges from {ends[0]} to {ends[1]}, too widely for inertias of joints"
        with placed(*_extreme_place(model, rotors, diagonal)):
            raise ValueError(f"{words}; correct masses, inertia tensors and lengths")
    return found


def _extreme_place(model: Model, rotors: Mapping[str, float], diagonal: Array) -> tuple[str, int | str]:
    """Return the path of the most extreme inertia: the rotor of a joint, or a body."""
    size = np.log(np.clip(diagonal, 1e-320, 1e308))
    k = int(np.argmax(np.abs(size - np.median(size))))
    for name, rotor in rotors.items():
        if k in range(model.nv)[model.joint_parts[name].v] and rotor >= 0.5 * diagonal[k]:
            return "rotors", name
    return "bodies", next(i for i, dofs in enumerate(model.v_slices) if k in range(model.nv)[dofs])


def _stops(model: Model, replaced: set[str], rotors: Mapping[str, float], bare: Callable[[], Array]) -> list[JointStops]:
    """Return soft stops at the joint limits of the model, with parameters derived from its initial configuration.

    J_l is the inertia with all other joints locked, as for an arm that swings against its stop. J_f ≤ J_l is the inertia with
    all other joints free, which determines the immediate response of the joint:

        k = min(J_l ω², J_f Ω²),    c = 2 ζ min(J_l ω, J_f Ω),    ω = 2π 5 Hz, Ω = 2π 72 Hz

    In a chain, J_l can be thousands of times J_f. In this case Ω limits the stiffness, so that the default step resolves it.
    """
    out: list[JointStops] = []
    locked, free = None, {}
    for name, part in model.joint_parts.items():
        limits = None if f"{name}.stops" in replaced else _limits(part)
        if limits is None:
            continue
        if locked is None:
            M = _geared(model, rotors, bare())
            locked, free = np.diag(M), _felt_inertia(model, rotors, M)
        slow, fast = float(locked[part.v].max()) * STOP_FREQUENCY, free[name] * STOP_HIGHEST
        out.append(
            JointStops(
                joint=name,
                lower=limits[0],
                upper=limits[1],
                stiffness=float(f"{min(slow * STOP_FREQUENCY, fast * STOP_HIGHEST):.3g}"),
                damping=float(f"{2.0 * STOP_DAMPING * min(slow, fast):.3g}"),
                assumed=True,
            )
        )
    return out


def _limits(part: JointPart) -> tuple[float, float] | None:
    """Return the limits of the travel of a joint in the model; None without limits."""
    if isinstance(part.joint, joints.Ball):
        return None if part.joint.limit is None else (-math.inf, part.joint.limit)
    limits = None if isinstance(part.joint, joints.Free) else part.joint.limits
    return limits if limits is not None and any(math.isfinite(x) for x in limits) else None
