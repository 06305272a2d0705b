"""Balance of forces on every body, mechanical and hydrodynamic, the basis of all equations of motion."""

from collections.abc import Sequence
from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike

from hydromechs import dynamics, hydro
from hydromechs.dynamics import Balance, Bias, Kinematics
from hydromechs.hydro import LocalSurface, WetMotion
from hydromechs.model import Body, Model, RigidBody
from hydromechs.spatial import cross
from hydromechs.values import Array

from . import _arguments as arguments


class WaterOptions(TypedDict, total=False):
    """Motion of the water: optional keywords of `closed_form` and related functions."""

    fluid_velocity: ArrayLike | None
    """Velocity of the water in world axes [m/s], shape (3,) or (nb, 3); zero if None."""
    fluid_acceleration: ArrayLike | None
    """Acceleration of the water in world axes [m/s²], shape (3,) or (nb, 3); zero if None."""


class FlowOptions(WaterOptions, total=False):
    """Motion of the water and external wrenches: optional keywords of `forward_dynamics` and related functions."""

    wrench: ArrayLike | None
    """External wrench on each body in body axes about the body origin [N, N·m], shape (nb, 6); zero if None."""


def balance(
    model: Model,
    q: Array,
    v: Array,
    fluid_velocity: ArrayLike | None = None,
    fluid_acceleration: ArrayLike | None = None,
    wrench: ArrayLike | None = None,
    surface: Sequence[LocalSurface] | None = None,
    motions: list[WetMotion] | None = None,
) -> tuple[Balance, list[WetMotion] | None]:
    """Return kinematics, inertias and forces (hydrodynamic and external) of all bodies, and their motions in the water, if wet.

    `fluid_velocity`, `fluid_acceleration` and `wrench` are as in `FlowOptions`; `surface` is the free surface at each body. In
    non-uniform water, the `motions` of the bodies replace velocity, acceleration and surface of the water.
    """
    if motions is not None and model.wet:
        return _with_wrench(model, dynamics.kinematics(model, q, v), motions, False, wrench)
    v_f = arguments.fluid(model, fluid_velocity, "fluid_velocity")
    a_f = arguments.fluid(model, fluid_acceleration, "fluid_acceleration")
    motions = None
    if model.wet:
        kin, motions = in_water(model, q, v, v_f, a_f, surface)
    else:
        kin = dynamics.kinematics(model, q, v)
    return _with_wrench(model, kin, motions, v_f.ndim == 1, wrench)


def prepared(model: Model, q: ArrayLike, v: ArrayLike, tau: ArrayLike, flow: FlowOptions) -> tuple[Model, Balance, Array]:
    """Check the arguments of forward dynamics; return the model, the balance of its bodies, and τ (nv,)."""
    model, q, v = arguments.state(model, q, v)
    tau = arguments.torques(model, tau)
    return model, balance(model, q, v, **flow)[0], tau


def _with_wrench(
    model: Model, kin: Kinematics, motions: list[WetMotion] | None, uniform: bool, wrench: ArrayLike | None
) -> tuple[Balance, list[WetMotion] | None]:
    bias, inertia, force = forces_on_bodies(model, kin, motions, uniform=uniform)
    external = arguments.wrenches(model, wrench)
    if external is not None:
        force = [F + external[i] for i, F in enumerate(force)]
    return Balance(kin, bias, inertia, force, None if external is None or motions else list(external)), motions


def in_water(
    model: Model,
    q: Array,
    v: Array,
    fluid_velocity: Array,
    fluid_acceleration: Array,
    surface: Sequence[LocalSurface] | None = None,
) -> tuple[Kinematics, list[WetMotion]]:
    """Return kinematics, and the motion of every body and of the surrounding water; arguments as in `WaterOptions`.

    A uniform fluid velocity is propagated along the chains, as in the papers. A non-uniform velocity is rotated to the axes of
    each body.
    """
    gravity = model.world.gravity_vector
    uniform = fluid_velocity.ndim == 1
    kin = dynamics.kinematics(model, q, v, fluid_velocity if uniform else np.zeros(3))
    velocities = list(kin.V)
    if not uniform:
        for i, R in enumerate(kin.R_WB):
            velocities[i] = velocities[i] - np.concatenate([R.T @ fluid_velocity[i], np.zeros(3)])
    if fluid_acceleration.ndim == 1:
        a_fg = dynamics.world_vector(model, kin, fluid_acceleration - gravity)
    else:
        a_fg = [R.T @ (fluid_acceleration[i] - gravity) for i, R in enumerate(kin.R_WB)]
    return kin, hydro.body_motions(model, kin, velocities, a_fg, surface)


def forces_on_bodies(
    model: Model, kin: Kinematics, motions: Sequence[WetMotion] | None, *, uniform: bool
) -> tuple[Sequence[Bias], list[Array | None], list[Array]]:
    """Return bias accelerations, inertias and forces of all bodies; the mechanism is dry if `motions` is None.

    A dry mechanism uses true accelerations, as in the papers, which need no linear velocities. In water, linear velocities are
    required anyway. With derivatives of velocity components as accelerations, rigid and added inertia then share one velocity
    product, −V ×* (I + I^A) V. `uniform` is true if `kin` contains velocities relative to water with equal motion at all
    bodies.
    """
    if motions is None:
        pairs = [dry_force(r, V) for r, V in zip(model.rigid, kin.V, strict=True)]
    else:
        each = zip(model.bodies, model.rigid, motions, kin.V, strict=True)
        pairs = [force_in_water(body, rigid, motion, V, uniform=uniform) for body, rigid, motion, V in each]
    return kin.zeta if motions is None else kin.c, [I for I, _ in pairs], [F for _, F in pairs]


def dry_force(rigid: RigidBody | None, V: Array) -> tuple[Array | None, Array]:
    """Return the inertia (6, 6) or None, and the force (6,), of a dry body for true accelerations.

    Only the angular part of V is used.
    """
    return (None, np.zeros(6)) if rigid is None else (rigid.matrix, dynamics.rigid_bias(rigid, V))


def force_in_water(
    body: Body, rigid: RigidBody | None, motion: WetMotion, V: Array, *, uniform: bool
) -> tuple[Array | None, Array]:
    """Return the inertia (6, 6) or None, and the force (6,), of a body in water for derivatives of velocity components.

    V is relative to the water if `uniform`.
    """
    I, F = None if rigid is None else rigid.matrix, np.zeros(6)
    if body.hydro is not None:
        M_A = hydro.added_mass(body, motion)
        F = hydro.water_wrench(body, motion, M_A)
        if motion.around is not None:
            F = F if I is None else F + dynamics.velocity_force(I, V)
        elif not uniform:  # the velocity of the water in body axes changes as the body rotates
            carried = V[:3] - motion.velocity[:3]
            F = F + dynamics.velocity_force(M_A, motion.velocity) - M_A[:, :3] @ cross(V[3:], carried)
            F = F if I is None else F + dynamics.velocity_force(I, V)
        I = M_A if I is None else I + M_A
        if uniform:  # in a frame that drifts with the water, rigid and added inertia have the same velocity
            F = F + dynamics.velocity_force(I, V)
    elif I is not None:
        F = dynamics.velocity_force(I, V)
    return I, F


def total_inertias(rigid: Sequence[RigidBody | None], added: Sequence[Array | None]) -> list[Array | None]:
    """Return the sum of rigid and added inertia of each body, shape (6, 6) each, or None if both are absent."""
    out: list[Array | None] = []
    for r, M_A in zip(rigid, added, strict=True):
        out.append(M_A if r is None else r.matrix if M_A is None else r.matrix + M_A)
    return out
