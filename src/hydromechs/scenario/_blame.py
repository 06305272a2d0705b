"""Which part of a scenario is to blame where the whole cannot be built or started."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from hydromechs.actuation import ExternalWrench, JointDrive, JointFriction, JointMotion, JointStops
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
MAPPED = ("drives", "motions", "friction", "stops")
"""What is given by the names of joints."""


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
    places = [*((("thrusters", i), thruster) for i, thruster in enumerate(scenario.thrusters)), *scenario.acting]
    for place, part in places:
        if part is component:
            return place
    if isinstance(component, Pair):
        solids = [i for i, solid in enumerate(scenario.terrain) if solid is component.solid]
        return ("terrain", solids[0]) if solids else ("collisions",)
    if isinstance(component, ExternalWrench):
        return "external", scenario.external.index(component.body)
    if isinstance(component, JointDrive):
        return "drives", component.joint
    if isinstance(component, JointMotion):
        return "motions", component.joint
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
    alone = _refusal(_plant, scenario, [])
    if isinstance(alone, ModelError):
        return [Fault(("models", _model_of(scenario, fault)), fault.text) for fault in alone.faults]
    if alone is not None:
        return [Fault(("models", 0), words_of(alone))]
    out, parts = [], _parts(scenario)
    for build in (_acting, _plant):  # what can be seen without a plant costs little
        while (error := _refusal(build, scenario, parts)) is not None:
            good, bad = 0, len(parts)  # the first `good` can be built, the first `bad` cannot
            while bad - good > 1:
                middle = (good + bad) // 2
                found = _refusal(build, scenario, parts[:middle])
                good, bad, error = (middle, bad, error) if found is None else (good, middle, found)
            out.append(Fault(parts.pop(bad - 1).path, words_of(error)))
    return out


def _model_of(scenario: Scenario, fault: Fault) -> int:
    """Number of the model in which a fault of all models as one lies."""
    numbered = len(fault.path) > 1 and isinstance(fault.path[1], int)
    return owner_of(scenario, scenario.known_model.bodies[fault.path[1]].name)[0] if numbered else 0


class _Part(NamedTuple):
    """A part of a scenario that makes components."""

    path: tuple[Any, ...]
    """Where it stands in the scenario."""
    key: str
    """Argument of `components_of` that it belongs to."""
    value: Any
    """What it is: an item of a list, or a pair of a name and what it has."""


def _parts(scenario: Scenario) -> list[_Part]:
    """All parts, in the order in which they refer to each other."""
    out = []
    for key in ("thrusters", "drives", "motions", "friction", "stops", "terrain", "touching", "collisions", "external"):
        items = getattr(scenario, key)
        out += [_Part((key, item[0] if key in MAPPED else i), key, item) for i, item in enumerate(items)]
    return [*out, *(_Part(place, "components", c) for place, c in scenario.acting if isinstance(c, Component))]


def _acting(scenario: Scenario, parts: Sequence[_Part]) -> tuple[Component, ...]:
    """The components that parts make."""
    given: dict[str, Any] = {}
    for part in parts:
        given.setdefault(part.key, []).append(part.value)
    given |= {key: dict(given[key]) for key in MAPPED if key in given}
    given |= {"material": scenario.material} if "collisions" in given else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return components_of(scenario.known_model, **given)


def _plant(scenario: Scenario, parts: Sequence[_Part]) -> Plant:
    """The plant of parts alone."""
    acting = _acting(scenario, parts)
    return Plant(model=scenario.known_model, environment=scenario.environment, components=acting, seed=scenario.seed)


def _refusal(
    build: Callable[[Scenario, Sequence[_Part]], object], scenario: Scenario, parts: Sequence[_Part]
) -> Exception | None:
    """The error with which something is not built; None where it is."""
    try:
        build(scenario, parts)
    except REFUSED as e:
        return e
    return None
