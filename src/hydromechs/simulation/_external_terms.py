"""External forces on a mechanism of rigid bodies: all effects of a plant that a third-party physics engine lacks."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from hydromechs import dynamics
from hydromechs.compiler import Compiled, compile_function
from hydromechs.values import Array, Scalar

from ._evaluate import evaluate
from ._plant import Plant
from ._programs import PlantPrograms
from ._water import MotionAt, fluid_at


class ExternalTerms(NamedTuple):
    """Terms of M_RB v̇ + c_RB = τ' − M_A v̇ for a third-party engine, which computes only the left side."""

    force: Array
    """Generalised force τ' of joints and bodies (Σ Jᵀ F), including weight, without acceleration forces [N, N·m], shape (nv,).
    """
    added: Array
    """Joint-space added inertia M_A, shape (nv, nv)."""
    rigid: Array
    """Joint-space inertia M_RB of the rigid bodies, shape (nv, nv)."""
    carried_bias: Array
    """Bias force c of the inertias that the engine adds to the rigid bodies [N, N·m], shape (nv,)."""
    carried: Array
    """Joint-space inertia of the inertias that the engine adds, shape (nv, nv)."""
    zdot: Array
    """Rates of the internal states, shape (nz,)."""


def external_terms(
    plant: Plant,
    t: Scalar,
    q: Array,
    v: Array,
    z: Array,
    inputs: Array,
    carried: Array,
    inside: Collection[str],
    motion: MotionAt = fluid_at,
) -> ExternalTerms:
    """Return forces and added inertia at one instant.

    The added-mass force on a body is −M_A V̇ plus a remainder that depends on pose and velocities. Σ Jᵀ M_A J v̇ is added, so
    that only the remainder is part of the forces. Constraints are solved with the added mass, and with the contact
    forces that the engine computed in the last step.

    `carried`: inertia that the engine adds to each rigid body [kg, kg·m, kg·m²], shape (nb, 6, 6). `inside`: labels of forces
    that the engine itself applies.
    """
    model = plant.opened(inputs).model
    e = evaluate(plant, t, q, v, z, inputs, motion)
    kin = dynamics.kinematics(model, q, v)
    acting = [e.constraint_wrench, *(F for label, F in e.forces.items() if label not in inside)]
    wrench = [sum((F[i] for F in acting), np.zeros(6)) for i in range(model.nb)]
    added = dynamics.mass_matrix(model, kin, list(e.added_mass))
    force = e.tau + dynamics.generalized_force(model, kin, wrench) + added @ e.vdot
    a = dynamics.accelerations(model, kin, kin.c, np.zeros(model.nv), np.zeros(6))
    bias = [carried[i] @ a[i] - dynamics.velocity_force(carried[i], kin.V[i]) for i in range(model.nb)]
    return ExternalTerms(
        force=force,
        added=added,
        rigid=dynamics.mass_matrix(model, kin, [None if r is None else r.matrix for r in model.rigid]),
        carried_bias=dynamics.generalized_force(model, kin, bias),
        carried=dynamics.mass_matrix(model, kin, list(carried)),
        zdot=e.zdot,
    )


def external_program(programs: PlantPrograms, inside: Collection[str]) -> Compiled:
    """Return `external_terms` as a compiled program from (t, q, x, inputs, carried) to the fields of `ExternalTerms`.

    `programs`: programs of the simulated plant. `inside`: labels of forces that the engine itself applies.
    """
    plant = programs.plant
    model, layout = plant.model, plant.layout
    nv, motion = model.nv, programs.motion
    sizes = {"t": (), "q": (model.nq,), "x": (nv + layout.nz,), "inputs": (layout.size,), "carried": (model.nb, 6, 6)}
    outputs = {"force": (nv,), "added": (nv, nv), "rigid": (nv, nv), "carried_bias": (nv,), "carried": (nv, nv)}
    outputs["zdot"] = (layout.nz,)

    def function(t: Scalar, q: Array, x: Array, inputs: Array, carried: Array) -> tuple[Array, ...]:
        return external_terms(plant, t, q, x[:nv], x[nv:], inputs, carried, inside, motion)

    identity = None if plant.identity is None else f"{plant.identity} outside {sorted(inside)}"
    return compile_function("outside", function, sizes, outputs, identity)
