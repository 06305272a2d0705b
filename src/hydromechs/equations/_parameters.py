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
"""Compiled form of equations: straight-line code of all bodies ("specialised"), a loop over bodies ("rolled"), or
straight-line code that evaluates equal branches of one state on lanes in forward dynamics ("branches")."""
LARGE = 40
"""Number of bodies at which trees are rolled by default, because LLVM needs seconds for straight-line code of larger trees."""
LARGER = 64
"""Number of bodies at which batches are also rolled; straight-line code of smaller trees takes a quarter less time."""

ROLLED = ("forward_dynamics", "inverse_dynamics", "kinematics", "inertia_times")
"""Names of equations that can be rolled."""
STRAIGHT = ("forward_dynamics", "inverse_dynamics")
"""Names of equations whose batches use straight-line code below `LARGER` bodies."""


def form_of(model: Model, form: Form | None, parameters: Sequence[str]) -> Form:
    """Return the compiled form of a model: `form` if given, otherwise by size and structure of the model."""
    if form not in (None, "specialised", "rolled", "branches"):
        raise ValueError(f"form is {form!r}; use 'specialised', 'rolled' or 'branches', or omit it")
    if form in ("rolled", "branches") and parameters:
        raise UnsupportedFeature(
            f"{model.name}: open parameters ({', '.join(parameters)}) are not available for form={form!r}; "
            "use form='specialised'"
        )
    if form in ("rolled", "branches") and model.sections:
        raise UnsupportedFeature(f"{model.name} has flexible links; use form='specialised' or omit form")
    if form in ("rolled", "branches") and model.loops:
        raise UnsupportedFeature(f"{model.name} has loops; use form='specialised' or omit form")
    if form == "branches":
        BranchesOnLanes(model).check()
    if form is not None or parameters or model.loops or model.sections:
        return form or "specialised"
    return "rolled" if model.nb >= LARGE else "branches" if _branched(model) else "specialised"


def _branched(model: Model) -> bool:
    """Return True if branches on lanes are faster for a single state: at least two equal branches of two bodies."""
    try:
        star = BranchesOnLanes(model)
        star.check()
    except UnsupportedFeature:
        return False
    return len(star.groups[0]) >= 2


OPEN = "open"
"""Placeholder in an identity for a parameter that is an input of programs."""
OF_COMPONENTS = ("limits", "limit", "damping", "friction", "position", "velocity", "orientation")
"""Joint data for drives, stops and the initial state, which no equation reads."""


def identity_of(thing: Any) -> str | None:
    """Return a text with every number and class of a model, or of a dataclass that contains models.

    Equal texts mean equal equations. The result is None for a custom class, or a custom handler of the added mass of a built-in
    element, because only the traced program can identify such equations.
    """
    for element, handler in added_mass_matrix.registry.items():
        if element.__module__.startswith("hydromechs.") and not handler.__module__.startswith("hydromechs."):
            return None
    return definition(thing)


def parameter_value(model: Model, path: str) -> Array:
    """Return the number or array at a path such as "vehicle.hydro.volume"; raise `KeyError` if no equation reads it."""
    for keys in registry.located(model, path):
        check_equation_number(path, keys)
        if keys == ("world", "water_density") and any(
            b.flexible is not None and b.flexible.water is not None for b in model.bodies
        ):
            raise KeyError(
                f"parameter {path!r} cannot stay open, because modes of flexible links in water depend on it; "
                "remove it from parameters"
            )
    return registry.value(model, path)


def check_equation_number(path: str, keys: registry.Keys) -> None:
    """Raise `KeyError` if no equation reads the model parameter at `keys`."""
    if keys[2:3] == ("joint",) and {*keys[3:]} & {*OF_COMPONENTS}:
        raise KeyError(
            f"parameter {path!r} has no effect on the equations, because it is data for drives, stops or the initial state; "
            "remove it from parameters"
        )
    if keys[2:3] == ("flexible",):
        raise KeyError(
            f"parameter {path!r} cannot stay open, because modes and sections are computed at construction; "
            "remove it from parameters"
        )
    if keys[2:3] == ("shapes",):
        raise KeyError(
            f"parameter {path!r} cannot stay open, because contacts, drag and added mass are computed at construction; "
            "remove it from parameters"
        )


def with_parameters(model: Model, values: Mapping[str, Any]) -> Model:
    """Return a model with other numbers or symbols at given paths, without checks."""
    new: Model = registry.replaced_all(model, {path: np.asarray(x) for path, x in values.items()}, checked=False)
    try:
        _ = new.steps, new.rigid
    except TypeError as error:
        raise UnsupportedFeature(
            f"one of {', '.join(values)} determines the structure of programs; remove it from parameters"
        ) from error
    return new


def open_identity(thing: Any, parameters: Sequence[str]) -> str | None:
    """Return the identity of a model or plant without the values of its open parameters.

    New values of these parameters need no compilation. Parameters with "*" are factors; the numbers that they multiply remain
    part of the program.
    """
    masked = {path: OPEN for path in parameters if not registry.is_factor(path)}
    return identity_of(registry.replaced_all(thing, masked, checked=False) if masked else thing)
