"""Which part of a scenario is to blame where the whole cannot be built or started."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from hydromechs.actuation import ExternalWrench, JointDrive, JointFriction, JointStops
from hydromechs.contact import Pair
from hydromechs.errors import ModelError, words_of
from hydromechs.model import Fault
from hydromechs.model.component import Component
from hydromechs.simulation import Plant, components_of

from ._assemble import start_names

if TYPE_CHECKING:
    from ._scenario import Scenario

__all__ = ["REFUSED", "building_faults", "owner_of", "place_of"]

REFUSED = (ValueError, KeyError, TypeError, ArithmeticError)
"""Errors with which a part refuses what it is given."""


def owner_of(scenario: Scenario, name: str) -> tuple[int, str]:
    """Number of the model that a body or joint belongs to, and its name there.

    Args:
        scenario: The scenario.
        name: Name of the body or joint in the scenario.
    """
    if len(scenario.models) > 1:
        for i, model in enumerate(start_names(scenario.models)):
            if name.startswith(f"{model}."):
                return i, name.removeprefix(f"{model}.")
    return 0, name


def place_of(scenario: Scenario, component: Component) -> tuple[Any, ...]:
    """Path of what a component of the plant comes from: a part of the scenario, or a model.

    Args:
        scenario: The scenario.
        component: One of the components of its plant.
    """
    lists: dict[str, tuple[Any, ...]] = {
        key: getattr(scenario, key) for key in ("thrusters", "grasps", "tethers", "components")
    }
    for key, items in lists.items():
        for i, item in enumerate(items):
            if item is component:
                return key, i
    if isinstance(component, Pair):
        solids = [i for i, solid in enumerate(scenario.terrain) if solid is component.solid]
        return ("terrain", solids[0]) if solids else ("collisions",)
    if isinstance(component, ExternalWrench):
        return "external", scenario.external.index(component.body)
    if isinstance(component, JointDrive):
        return "drives", component.joint
    if isinstance(component, JointFriction | JointStops):
        key = "friction" if isinstance(component, JointFriction) else "stops"
        given = dict(getattr(scenario, key))
        return (key, component.joint) if component.joint in given else ("models", owner_of(scenario, component.joint)[0])
    return ()


def building_faults(scenario: Scenario) -> list[Fault]:
    """Faults of the parts of a plant that cannot be built: each that cannot be added to those before it.

    Args:
        scenario: The scenario; its names are good.
    """
    try:
        _build(scenario, {})
    except ModelError as e:
        return [Fault(("models", _model_of(scenario, fault)), fault.text) for fault in e.faults]
    except REFUSED as e:
        return [Fault(("models", 0), words_of(e))]
    out, given = [], dict[str, Any]()
    for path, key, value in _parts(scenario):
        old = given.get(key, {} if isinstance(value, dict) else ())
        trial = given | {key: old | value if isinstance(value, dict) else (*old, value)}
        trial |= {"material": scenario.material} if key == "collisions" else {}
        try:
            _build(scenario, trial)
            given = trial
        except REFUSED as e:
            out.append(Fault(path, words_of(e)))
    return out


def _model_of(scenario: Scenario, fault: Fault) -> int:
    """Number of the model in which a fault of all models as one lies."""
    numbered = len(fault.path) > 1 and isinstance(fault.path[1], int)
    return owner_of(scenario, scenario.model.bodies[fault.path[1]].name)[0] if numbered else 0


def _parts(scenario: Scenario) -> list[tuple[tuple[Any, ...], str, Any]]:
    """Path in the scenario, argument of `components_of` and value of each part that makes components."""
    out: list[tuple[tuple[Any, ...], str, Any]] = []
    for key in ("thrusters", "drives", "friction", "stops", "terrain", "touching", "collisions", "external"):
        for i, item in enumerate(getattr(scenario, key)):
            named = key in ("drives", "friction", "stops")
            out.append(((key, item[0] if named else i), key, dict([item]) if named else item))
    for key in ("grasps", "tethers", "components"):
        items = [(i, c) for i, c in enumerate(getattr(scenario, key)) if isinstance(c, Component)]
        out += [((key, i), "components", c) for i, c in items]
    return out


def _build(scenario: Scenario, given: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        acting = components_of(scenario.model, **given)
        Plant(model=scenario.model, environment=scenario.environment, components=acting, seed=scenario.seed)
