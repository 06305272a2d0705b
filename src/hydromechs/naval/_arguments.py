"""Checks of what callers hand in, with the name of the function, the argument and the remedy."""

from __future__ import annotations

import math
from typing import Any

from hydromechs.model import Model

__all__ = ["check_angle", "check_finite", "check_model"]


def check_model(where: str, model: Any) -> None:
    """Refuse what is no model.

    Args:
        where: Name of the function, for the error.
        model: What the caller gave.
    """
    if not isinstance(model, Model):
        inside = isinstance(getattr(model, "model", None), Model)
        remedy = "its `.model` is one" if inside else "hydromechs.load gives one"
        value = type(model).__name__ if inside else repr(model)
        raise TypeError(f"{where}: model is {value}, must be a Model; {remedy}")


def check_finite(where: str, **values: float) -> None:
    """Refuse what is no finite number.

    Args:
        where: Name of the function, for the error.
        values: What the caller gave, by the name of the argument.
    """
    for name, value in values.items():
        try:
            finite = math.isfinite(value)
        except TypeError:
            raise TypeError(f"{where}: {name} is {value!r}, must be a number") from None
        if not finite:
            raise ValueError(f"{where}: {name} is {value!r}, must be a finite number")


def check_angle(where: str, name: str, value: float, most: float) -> None:
    """Refuse an angle that is too large, as degrees are.

    Args:
        where: Name of the function, for the error.
        name: Name of the argument.
        value: The angle that the caller gave [rad].
        most: Largest magnitude of it [rad].
    """
    check_finite(where, **{name: value})
    if abs(value) > most:
        raise ValueError(
            f"{where}: {name} is {value:g} rad, must be from {-most:.4g} to {most:.4g}; for degrees give math.radians({value:g})"
        )
