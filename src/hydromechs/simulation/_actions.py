"""Checks of the actions of a component against its declaration; error messages name the component."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from hydromechs import compiler, registry
from hydromechs.contact import Terrain
from hydromechs.errors import noted
from hydromechs.hydro import Environment
from hydromechs.model import Model, body_faults, world_faults
from hydromechs.model.component import Action, Component, Constraint, JointForce, MovedJoint, Now, Values, Wrench
from hydromechs.registry import Item, Keys

if TYPE_CHECKING:
    from ._plant import Plant


MANY = 16
"""Minimum number of similar components for a shared program; for fewer components, copies cost less than calls."""
COPIED = 8000
"""Maximum operations in all copies of a function for which programs with one world per lane use copies instead of calls."""


Each: TypeAlias = Callable[..., list[Any]]
"""Function that evaluates another function at several points, like `compiler.each`."""


def each_on(lanes: int) -> Each:
    """Return `compiler.each` for a number of worlds per vector. With one world, points are side by side in a vector."""
    return partial(compiler.each, least=0 if lanes == 1 else COPIED)


def acting(component: Component, now: Now, z: Values, u: Values) -> Action:
    """Return the actions of a component at one instant; errors receive a note with the name of the component."""
    with noted(f"in act of the component {component.name!r} ({type(component).__name__})"):
        return component.act(now, z, u)


def acting_together(components: Sequence[Component], now: Now, given: Sequence[tuple[Values, Values]]) -> list[Action]:
    """Return the actions of components with their states and inputs at one instant; similar components act together."""
    groups: dict[Hashable, list[int]] = {}
    for k, c in enumerate(components):
        groups.setdefault(k if c.alike is None else (c.alike,), []).append(k)
    out: dict[int, Action] = {}
    for group in groups.values():
        if len(group) < MANY:
            out |= {k: acting(components[k], now, *given[k]) for k in group}
            continue
        first = components[group[0]]
        with noted(f"in act of the components {first.name!r}, ... ({type(first).__name__})"):
            z, u = zip(*(given[k] for k in group), strict=True)
            out |= zip(group, first.act_together([components[k] for k in group], now, z, u), strict=True)
    return [out[k] for k in range(len(components))]


def check_action(component: Component, model: Model, action: object, z: Mapping[str, float]) -> None:
    """Raise an error that names the component unless `action`, the result of `act` for floats, is a valid action."""
    who = f"component {component.name!r} ({type(component).__name__})"
    if not isinstance(action, Action):
        raise TypeError(f"{who}: act returned {_short(action)}, but must return an Action(...)")

    def require(good: bool, what: str, value: object, must: str) -> None:
        if not good:
            raise ValueError(f"{who}: act returned an Action with {what} {_short(value)}, must be {must}")

    for name, kind, make in (
        ("forces", Wrench, "wrenches, such as frame.force(...)"),
        ("joint_forces", JointForce, "joint forces, such as joint.force(...)"),
        ("constraints", Constraint, "constraints"),
        ("motions", MovedJoint, "joints with prescribed motion"),
    ):
        items: Any = getattr(action, name)
        listed = isinstance(items, Sequence) and not isinstance(items, kind) and all(isinstance(x, kind) for x in items)
        require(listed, name, items, f"a list of {make}")
    for name in ("rates", "record"):
        require(isinstance(getattr(action, name), Mapping), name, getattr(action, name), "a mapping of names to numbers")
    for body, F in action.forces:
        inside = isinstance(body, int | np.integer) and 0 <= body < model.nb
        require(inside, "a wrench on body", body, f"the index of a body, 0 to {model.nb - 1}")
        require(np.shape(F) == (6,), "a wrench of shape", np.shape(F), "(6,)")
    for dofs, tau in action.joint_forces:
        n = len(range(model.nv)[dofs]) if isinstance(dofs, slice) else -1
        require(n > 0, "a joint force on", dofs, "a slice of the velocities")
        require(np.shape(tau) == (n,), "a joint force of shape", np.shape(tau), f"({n},)")
    for moved in action.motions:
        n = len(range(model.nv)[moved.dofs]) if isinstance(moved.dofs, slice) else -1
        require(n > 0, "a motion of", moved.dofs, "a slice of the velocities")
        require(np.shape(moved.vdot) == (n,), "an acceleration of shape", np.shape(moved.vdot), f"({n},)")
    for item in action.armature:
        pair = isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], slice) and _is_number(item[1])
        require(pair, "an armature entry", item, "a pair (slice of the velocities, inertia)")
        if not np.all(np.isfinite(item[1]) & (np.asarray(item[1]) >= 0.0)):
            raise ValueError(f"{who}: the armature is {item[1]}, must be finite and at least 0")
    if set(action.rates) != set(z):
        raise ValueError(
            f"{who}: act returned rates of {sorted(action.rates)}, but must return the rates of the states {sorted(z)}"
        )
    declared = {o.name for o in component.outputs}
    recorded = {*action.record, *(name for c in action.constraints for name in c.record(np.zeros(len(c.bias))))}
    recorded |= {name for m in action.motions for name in m.record(np.zeros(len(m.vdot)))}
    if recorded != declared:
        raise ValueError(f"{who}: act records {sorted(recorded)}, but must record the outputs {sorted(declared)}")
    for name, value in (("energy", action.energy), ("power", action.power), *action.rates.items()):
        require(value is None or _is_number(value), f"{name} =", value, "a number")
    if action.energy is not None and action.power is None:
        raise ValueError(
            f"{who} stores energy, but the Action has no power; set power to Σ F·V + d(energy)/dt for the energy audit"
        )


def _is_number(x: object) -> bool:
    return np.ndim(x) == 0 and np.asarray(x).dtype.kind in "fiub"  # type: ignore[arg-type]  # whatever was returned


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:76] + " ..."


def plant_items(model: Model, components: Sequence[Component], environment: Environment) -> list[Item]:
    """Return the items at which parameter paths of a plant start; terrain is located in the components that touch it."""
    out = [Item(i.section, i.name, tuple(("model", *keys) for keys in i.places)) for i in model.path_items()]
    terrain: dict[str, list[Keys]] = {}
    for k, c in enumerate(components):
        out.append(Item("components", c.name, (("components", k),)))
        for name in getattr(c, "__dataclass_fields__", ()):
            held = getattr(c, name)
            for j, solid in enumerate(held if isinstance(held, tuple) else (held,)):
                if isinstance(solid, Terrain):
                    where = ("components", k, name, j) if isinstance(held, tuple) else ("components", k, name)
                    terrain.setdefault(solid.name, []).append(where)
    for name, places in terrain.items():
        out.append(Item("terrain", name, tuple(places)))
        both = [(*keys, "material") for keys in places]  # contacts use the material of the terrain, too
        both += [(*keys[:2], "material") for keys in places if hasattr(components[int(keys[1])], "material")]
        out.append(Item("terrain", f"{name}.material", tuple(both)))
    return out + [Item("environment", f.name, (("environment", f.name),)) for f in fields(environment)]


def check_edits(plant: Plant, edits: Mapping[Keys, Any]) -> None:
    """Raise `ValueError` if a body, a component or the environment rejects new numbers; each object is built once."""
    objects: dict[Keys, dict[Keys, Any]] = {}
    for keys, x in edits.items():
        depth = {"model": 3 if keys[1] == "bodies" else 2, "components": 2}.get(str(keys[0]), 1)
        objects.setdefault(keys[:depth], {})[keys[depth:]] = x
    for keys, own in objects.items():
        before = registry.follow(plant, keys)
        thing = registry.edited(before, own)
        if keys[0] == "model":
            for fault in body_faults(int(keys[2]), thing) if keys[1] == "bodies" else world_faults(thing):
                raise ValueError(fault.text)
        if keys[0] == "components":
            slots = [[s.name for s in (*c.states(plant.model), *c.inputs(plant.model))] for c in (before, thing)]
            if slots[0] != slots[1] or not thing.acts:
                raise ValueError(
                    f"component {thing.name!r} would have different states or inputs; replace the number before building "
                    "the plant"
                )
