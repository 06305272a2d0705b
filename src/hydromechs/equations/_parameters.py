"""Form of a model's compiled equations, their cache key as text, and open parameters."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from hydromechs import registry
from hydromechs.errors import UnsupportedFeature
from hydromechs.model import Model, added_mass_matrix, definition
from hydromechs.values import Array

from ._branches_on_lanes import BranchesOnLanes

Form: TypeAlias = Literal["specialised", "rolled", "branches"]
"""Compiled form of equations: straight-line code of all bodies; a loop over them; straight-line code in which forward dynamics
of one state evaluates equal branches side by side on lanes."""
LARGE = 40
"""Number of bodies from which trees are rolled by default: straight-line code of larger trees takes LLVM seconds."""
LARGER = 64
"""Number of bodies from which batches are also rolled: as straight-line code, smaller trees take a quarter less time."""

ROLLED = ("forward_dynamics", "inverse_dynamics", "kinematics", "inertia_times")
"""Equations that can be rolled."""
STRAIGHT = ("forward_dynamics", "inverse_dynamics")
"""Equations whose batches are straight-line code below `LARGER` bodies."""


def form_of(model: Model, form: Form | None, parameters: Sequence[str]) -> Form:
    """Return the compiled form of a model: the given one, or by its size and shape if None."""
    if form not in (None, "specialised", "rolled", "branches"):
        raise ValueError(f"form is {form!r}, must be 'specialised', 'rolled' or 'branches', or omitted")
    if form in ("rolled", "branches") and parameters:
        raise UnsupportedFeature(
            f"{model.name}: open parameters ({', '.join(parameters)}) need form='specialised'; "
            "other forms keep the bodies' parameters in a table"
        )
    if form in ("rolled", "branches") and model.sections:
        raise UnsupportedFeature(f"{model.name}: a model with flexible links needs form='specialised', or none")
    if form in ("rolled", "branches") and model.loops:
        raise UnsupportedFeature(f"{model.name}: a model with loops needs form='specialised', or none")
    if form == "branches":
        BranchesOnLanes(model).check()
    if form is not None or parameters or model.loops or model.sections:
        return form or "specialised"
    return "rolled" if model.nb >= LARGE else "branches" if _branched(model) else "specialised"


def _branched(model: Model) -> bool:
    """True if a single state is faster with branches on lanes: at least two equal branches of two bodies."""
    try:
        star = BranchesOnLanes(model)
        star.check()
    except UnsupportedFeature:
        return False
    return len(star.groups[0]) >= 2


OPEN = "open"
"""Placeholder in an identity for a number that is an input of programs."""
OF_COMPONENTS = ("limits", "limit", "damping", "friction", "position", "velocity", "orientation")
"""Joint data for drives, stops and the initial state; no equation reads them."""


def identity_of(thing: Any) -> str | None:
    """Return a text with every number and class of a model, or of a dataclass that holds models.

    Equal texts mean equal equations. It is None with a custom class, or with a custom handler for the added mass of a built-in
    element: then only the traced program identifies the equations.
    """
    for element, handler in added_mass_matrix.registry.items():
        if element.__module__.startswith("hydromechs.") and not handler.__module__.startswith("hydromechs."):
            return None
    return definition(thing)


def parameter_value(model: Model, path: str) -> Array:
    """Return the number or array at a path such as "vehicle.hydro.volume"; `KeyError` if no equation reads it."""
    for keys in registry.located(model, path):
        check_equation_number(path, keys)
        if keys == ("world", "water_density") and any(
            b.flexible is not None and b.flexible.water is not None for b in model.bodies
        ):
            raise KeyError(f"parameter {path!r} cannot stay open with flexible links in water: their modes follow from it")
    return registry.value(model, path)


def check_equation_number(path: str, keys: registry.Keys) -> None:
    """Raise `KeyError` if no equation reads the number at some keys of a model."""
    if keys[2:3] == ("joint",) and {*keys[3:]} & {*OF_COMPONENTS}:
        raise KeyError(f"parameter {path!r} has no effect on the equations: it is data for drives, stops and the initial state")
    if keys[2:3] == ("flexible",):
        raise KeyError(f"parameter {path!r} cannot stay open: modes and sections follow from flexible links at construction")
    if keys[2:3] == ("shapes",):
        raise KeyError(f"parameter {path!r} cannot stay open: contacts, drag and added mass follow from shapes at construction")


def with_parameters(model: Model, values: Mapping[str, Any]) -> Model:
    """Return a model with other numbers or symbols at paths; nothing is checked."""
    new: Model = registry.replaced_all(model, {path: np.asarray(x) for path, x in values.items()}, checked=False)
    try:
        _ = new.steps, new.rigid
    except TypeError as error:
        raise UnsupportedFeature(
            f"one of {', '.join(values)} determines the structure of programs; remove it from parameters"
        ) from error
    return new


def open_identity(thing: Any, parameters: Sequence[str]) -> str | None:
    """Return the identity of a model or plant without the values of its open parameters: new values need no compilation.

    Parameters with "*" are factors; the numbers remain part of the program.
    """
    masked = {path: OPEN for path in parameters if not registry.is_factor(path)}
    return identity_of(registry.replaced_all(thing, masked, checked=False) if masked else thing)
