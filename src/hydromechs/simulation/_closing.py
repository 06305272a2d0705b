"""Constraints that close during a run: their frames must meet, and an impulse makes velocities agree."""

import numpy as np

from hydromechs import dynamics
from hydromechs.equations import constraint_response
from hydromechs.integrators import Point
from hydromechs.model.component import Component, Constraint, Now

from ._actions import acting
from ._evaluate import evaluate, inertia_matrix
from ._plant import Plant
from ._water import Water, fluid_at


def closed(plant: Plant, at: Point, before: np.ndarray, after: np.ndarray) -> tuple[Point, float]:
    """Return the state after a change of inputs that may close constraints, and the energy lost [J].

    `before`: inputs so far, shape (nu,); `after`: inputs from now on, shape (nu,).
    """
    u = [i for k in plant.constraining for i in plant.layout.u[k].values()]
    if np.array_equal(before[u], after[u]):
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


def active_rows(plant: Plant, at: Point, inputs: np.ndarray) -> np.ndarray:
    """Stacked J of all closed constraints, shape (c, nv)."""
    rows = [np.array(row.J, dtype=float) for _, row in _constraints(plant, at, inputs) if row.active]
    return np.vstack([np.zeros((0, plant.model.nv)), *rows])


def switched_off(plant: Plant, inputs: np.ndarray) -> np.ndarray:
    """Return inputs (..., nu) with all switches of constraints at 0."""
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
    """The state after an impulse that makes velocities agree with constraints, with its energy loss accounted for [J].

        v⁺ = v − M⁻¹ Jᵀ (J M⁻¹ Jᵀ)⁺ J v

    The impulses of a constraint between two bodies are equal and opposite: momentum is conserved; kinetic energy falls.
    """
    nv, layout = plant.model.nv, plant.layout
    t, q, x = at.t, at.q, at.x.copy()
    M = inertia_matrix(plant, t, q, x[:nv], inputs)
    before = evaluate(plant, t, q, x[:nv], x[nv:], inputs)
    x[:nv] += constraint_response(M, rows, [row.J @ x[:nv] for row in rows], plant.groups, plant.given_dofs).change
    change = x[:nv] - at.x[:nv]
    lost = 0.5 * float(change @ M @ change)
    after = evaluate(plant, t, q, x[:nv], x[nv:], inputs)
    fluid = float(after.kinetic_energy_fluid - before.kinetic_energy_fluid)
    given = float(after.kinetic_energy_body - before.kinetic_energy_body) + fluid + lost
    moving_water = "water" in layout.causes  # the impulse moves its added mass too
    for name, work in ((cause, -lost), ("water" if moving_water else cause, given)):
        x[nv + layout.states.index(f"work.{name}")] += work
    return Point(t, q, x), lost
