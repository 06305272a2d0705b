"""How the equations of a model are compiled: straight-line code of all bodies, or a loop over them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from hydromechs.errors import UnsupportedFeature
from hydromechs.model import Model

__all__ = ["LARGE", "ROLLED", "Form", "form_of"]

Form: TypeAlias = Literal["specialised", "rolled"]
"""How equations are compiled."""
LARGE = 40
"""Bodies from which trees are rolled unless the caller says otherwise: LLVM takes seconds for straight-line code of more."""

ROLLED = ("forward_dynamics", "inverse_dynamics", "kinematics", "inertia_times")
"""Equations that can be rolled."""


def form_of(model: Model, form: Form | None, parameters: Sequence[str]) -> Form:
    """How a model is compiled.

    Args:
        model: The mechanism.
        form: What the caller wants; None if that is left to its size.
        parameters: Names of numbers that stay open.
    """
    if form not in (None, "specialised", "rolled"):
        raise ValueError(f"form is {form!r}, must be 'specialised' or 'rolled', or left out")
    if form == "rolled" and parameters:
        raise UnsupportedFeature(
            f"{model.name}: open parameters ({', '.join(parameters)}) need form='specialised'; "
            "a rolled program has the numbers of its bodies in a table"
        )
    return form or ("rolled" if model.nb >= LARGE and not parameters else "specialised")
