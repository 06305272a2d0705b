"""Checks of arguments, with the name of the function, the argument and the remedy."""

import math
from typing import Any

import numpy as np

from hydromechs.model import Model
from hydromechs.values import Array


def check_model(where: str, model: Any) -> None:
    """Reject an argument that is not a model."""
    if not isinstance(model, Model):
        inside = isinstance(getattr(model, "model", None), Model)
        remedy = "its `.model` is one" if inside else "hydromechs.load gives one"
        value = type(model).__name__ if inside else repr(model)
        raise TypeError(f"{where}: model is {value}, must be a Model; {remedy}")


def configuration(where: str, model: Model, q: Array | None) -> Array:
    """Return the given configuration, or the initial one, shape (nq,); `where` names the function in an error."""
    out = model.initial().q if q is None else np.asarray(q, dtype=float)
    if out.shape != (model.nq,):
        raise ValueError(f"{where}: q has shape {out.shape}, must have ({model.nq},), the configuration of {model.name}")
    if not np.isfinite(out).all():
        k = int(np.flatnonzero(~np.isfinite(out))[0])
        raise ValueError(f"{where}: q is {out[k]} at [{k}], must be finite numbers")
    return out


def check_finite(where: str, **values: float) -> None:
    """Reject arguments of the function `where`, by name, that are not finite numbers."""
    for name, value in values.items():
        try:
            finite = math.isfinite(value)
        except TypeError:
            raise TypeError(f"{where}: {name} is {value!r}, must be a number") from None
        if not finite:
            raise ValueError(f"{where}: {name} is {value!r}, must be a finite number")


def check_angle(where: str, name: str, value: float, most: float) -> None:
    """Reject an implausibly large angle, which may be in degrees."""
    check_finite(where, **{name: value})
    if abs(value) > most:
        raise ValueError(
            f"{where}: {name} is {value:g} rad, must be from {-most:.4g} to {most:.4g}; "
            f"for degrees give math.radians({value:g})"
        )
