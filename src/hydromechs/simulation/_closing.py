"""Constraints that close during a run: their frames must coincide, and an impulse equalises velocities."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hydromechs import dynamics
from hydromechs.compiler import Argument, Recipe
from hydromechs.equations import constraint_response
from hydromechs.integrators import Point
from hydromechs.model.component import Component, Constraint, Now
from hydromechs.spatial import where
from hydromechs.values import Array, Scalar

from ._actions import acting
from ._evaluate import evaluate, inertia_matrix
from ._plant import Plant
from ._water import Water, fluid_at


def closed(plant: Plant, at: Point, before: np.ndarray, after: np.ndarray) -> tuple[Point, float]:
    """Return the state after a change of inputs that may close constraints, and the energy lost [J].

    `before`: inputs before the change, shape (nu,). `after`: inputs after the change, shape (nu,).
    """
    if not constraints_change(plant, before, after):
        return at, 0.0
    old, new = _constraints(plant, at, before), _constraints(plant, at, after)
    closing = [k for k, ((_, a), (_, b)) in enumerate(zip(old, new, strict=True)) if b.active and not a.active]
    for c, row in (new[k] for k in closing):
        row.check_closure(at.t, c)
    if not closing:
        return at, 0.0
    touched = {k for group in plant.groups if set(group) & set(closing) for k in group}
    rows = [row if k in touched else row._replace(active=0.0) for k, (_, row) in enumerate(new)]
    return _after_impulse(plant, at, after, rows, new[closing[0]][0].cause)


def constraints_change(plant: Plant, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return True where inputs of constraints differ, shape (...), from inputs of shape (..., nu)."""
    u = [i for k in plant.constraining for i in plant.layout.u[k].values()]
    return np.any(before[..., u] != after[..., u], axis=-1)


def active_rows(plant: Plant, at: Point, inputs: np.ndarray) -> np.ndarray:
    """Return the stacked Jacobian of all closed constraints, shape (c, nv)."""
    rows = [np.array(row.J, dtype=float) for _, row in _constraints(plant, at, inputs) if row.active]
    return np.vstack([np.zeros((0, plant.model.nv)), *rows])


def switched_off(plant: Plant, inputs: np.ndarray) -> np.ndarray:
    """Return inputs with all constraints opened, shape (..., nu)."""
    out, first = inputs.copy(), len(plant.layout.commands)
    out[..., [i for k in plant.constraining for i in plant.layout.u[k].values() if i >= first]] = 0.0
    return out


def _constraints(plant: Plant, at: Point, inputs: np.ndarray) -> list[tuple[Component, Constraint]]:
    plant = plant.opened(inputs)
    model, nv = plant.model, plant.model.nv
    kin = dynamics.kinematics(model, at.q, at.x[:nv])
    now = Now(model, at.t, at.q, at.x[:nv], kin, Water(plant, at.t, kin, inputs, fluid_at))
    out = []
    for k in plant.constraining:
        action = acting(plant.components[k], now, *plant.layout.of_component(k, at.x[nv:], inputs))
        out += [(plant.components[k], row) for row in action.constraints]
    return out


def _after_impulse(plant: Plant, at: Point, inputs: np.ndarray, rows: list[Constraint], cause: str) -> tuple[Point, float]:
    """Return the state after an impulse that makes velocities satisfy constraints, and the energy lost [J]."""
    x, lost = _impulse(plant, at.t, at.q, at.x, inputs, rows, {cause: 1.0})
    return Point(at.t, at.q, np.asarray(x, dtype=float)), float(lost)


def _impulse(
    plant: Plant, t: Scalar, q: Array, x: Array, inputs: Array, rows: list[Constraint], causes: Mapping[str, Scalar]
) -> tuple[Array, Scalar]:
    """Return velocities and internal states after an impulse, and the energy lost [J], for numbers or symbols.

        v⁺ = v − M⁻¹ Jᵀ (J M⁻¹ Jᵀ)⁺ J v

    The impulses of a constraint on two bodies are equal and opposite, so that momentum is conserved and kinetic energy
    decreases.

    `causes`: fraction of the loss, keyed by cause; 1 for one cause and 0 for all others.
    """
    nv, layout = plant.model.nv, plant.layout
    M = inertia_matrix(plant, t, q, x[:nv], inputs)
    before = evaluate(plant, t, q, x[:nv], x[nv:], inputs)
    change = constraint_response(M, rows, [row.J @ x[:nv] for row in rows], plant.groups, plant.given_dofs).change
    v = x[:nv] + change
    lost = 0.5 * (change @ M @ change)
    after = evaluate(plant, t, q, v, x[nv:], inputs)
    fluid = after.kinetic_energy_fluid - before.kinetic_energy_fluid
    given = after.kinetic_energy_body - before.kinetic_energy_body + fluid + lost
    work = {name: -share * lost for name, share in causes.items()}
    if "water" in layout.causes:  # the impulse moves its added mass too
        work["water"] = work.get("water", 0.0) + given
    else:
        work = {name: y + causes[name] * given for name, y in work.items()}
    z = [y + work.get(name.removeprefix("work."), 0.0) for name, y in zip(layout.states, x[nv:], strict=True)]
    return np.concatenate([v, np.array(z)]), lost


def closing_recipe(plant: Plant) -> Recipe:
    """Return `closed` as a program with the arguments (t, q, x, before, after).

    The results are x, the energy lost [J], 1 for each constraint that closes, and the distance [m] and angle [rad] between
    the frames of each constraint.
    """
    sizes = {"t": (), "q": (plant.model.nq,), "x": (plant.model.nv + plant.layout.nz,)}
    sizes |= dict.fromkeys(("before", "after"), (plant.layout.size,))

    def program(t: Scalar, q: Array, x: Array, before: Array, after: Array) -> tuple[Array, ...]:
        at = Point(np.asarray(t)[()], q, x)  # type: ignore[arg-type]  # symbols
        old, new = _constraints(plant, at, before), _constraints(plant, at, after)
        closing = [
            where(a.active != 0.0, 0.0, where(b.active != 0.0, 1.0, 0.0)) for (_, a), (_, b) in zip(old, new, strict=True)
        ]
        touched = {k: sum((closing[i] for i in group), 0.0) for group in plant.groups for k in group}
        rows = [row._replace(active=where(touched[k] != 0.0, row.active, 0.0)) for k, (_, row) in enumerate(new)]
        causes: dict[str, Scalar] = {}
        none: Scalar = 1.0
        for (c, _), closes in zip(new, closing, strict=True):  # the loss is assigned to the first closing constraint
            causes[c.cause] = causes.get(c.cause, 0.0) + none * closes
            none = none * (1.0 - closes)
        moved, lost = _impulse(plant, at.t, q, x, after, rows, causes)
        moved = np.array([where(none != 0.0, a, b) for a, b in zip(x, moved, strict=True)])
        return moved, np.asarray(where(none != 0.0, 0.0, lost)), np.array(closing), np.array([row.apart for _, row in new])

    n = sum(len(action.constraints) for action in plant.first_actions)
    outputs = {"x_after": sizes["x"], "lost": (), "closing": (n,), "apart": (n, 2)}
    arguments = [tuple(Argument(name, shape) for name, shape in shapes.items()) for shapes in (sizes, outputs)]
    identity = None if plant.identity is None else f"{plant.identity} closing"
    return Recipe("closing", program, *arguments, identity, rarely_called=True)


def closing_texts(plant: Plant) -> list[dict[str, Any]]:
    """Return the names and tolerances of all constraints, in the order of `closing_recipe`."""
    rows = ((plant.components[k], row) for k in plant.constraining for row in plant.first_actions[k].constraints)
    return [{"name": c.name, "kind": c.kind, "between": list(row.between), "tolerance": row.tolerance} for c, row in rows]
