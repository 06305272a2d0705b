"""Checks of arguments: shapes, finite numbers and unit quaternions. Symbols are checked for their shape only."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hydromechs.errors import UnsupportedFeature
from hydromechs.model import UNIT_TOLERANCE, Model, MovingStep
from hydromechs.values import Array


def model_of(model: Any) -> Model:
    """Return `model` if it is a `Model`; otherwise raise `TypeError`."""
    if not isinstance(model, Model):
        raise TypeError(f"model must be a hydromechs.Model, got {type(model).__name__}; load one with hm.load")
    return model


def array(value: ArrayLike, shapes: tuple[tuple[int, ...], ...], name: str, meaning: str) -> Array:
    """Return `value` as an array of one of `shapes`; errors state the argument's `name` and `meaning`."""
    try:
        out = np.asarray(value)
        if np.iscomplexobj(out) or any(x is None or isinstance(x, str) for x in (out.flat if out.dtype == object else ())):
            raise ValueError
        out = out if out.dtype == object else out.astype(float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of numbers ({meaning}), got {value!r}") from None
    if out.shape not in shapes:
        expected = " or ".join(map(str, shapes))
        raise ValueError(f"{name} must have shape {expected} ({meaning}), got {out.shape}")
    if out.dtype != object and not np.isfinite(out).all():
        at = ", ".join(map(str, np.argwhere(~np.isfinite(out))[0]))
        raise ValueError(f"{name}[{at}] is {out[tuple(np.argwhere(~np.isfinite(out))[0])]}; use finite numbers")
    return out


def configuration(model: Model, q: ArrayLike, name: str = "q") -> Array:
    """Return a configuration with normalised quaternions, shape (nq,); their length must be 1 within rounding."""
    given = array(q, ((model.nq,),), name, f"configuration of {model.name}, nq = {model.nq}")
    if given.dtype == object:
        return given
    out = given.copy()
    for body, steps in zip(model.bodies, model.steps, strict=True):
        for step in steps:
            if isinstance(step, MovingStep) and step.quaternion is not None:
                start = step.iq + step.quaternion
                length = float(np.linalg.norm(out[start : start + 4]))
                if abs(length - 1.0) > UNIT_TOLERANCE:
                    raise ValueError(
                        f"{name}[{start}:{start + 4}], the quaternion of body {body.name!r}, has length {length:.9g}; "
                        f"normalise (w, x, y, z) to length 1 within {UNIT_TOLERANCE:g}"
                    )
                out[start : start + 4] /= length
    return out


def state(model: Any, q: ArrayLike, v: ArrayLike) -> tuple[Model, Array, Array]:
    """Return the model, configuration (nq,) and velocity (nv,) after checks."""
    model = model_of(model)
    return model, configuration(model, q), array(v, ((model.nv,),), "v", "velocity")


def torques(model: Model, tau: ArrayLike) -> Array:
    """Return a generalised force after checks, shape (nv,)."""
    return array(tau, ((model.nv,),), "tau", "generalised force")


def wrenches(model: Model, wrench: ArrayLike | None) -> Array | None:
    """Return external wrenches on the bodies after checks, shape (nb, 6), or None."""
    if wrench is None:
        return None
    return array(wrench, ((model.nb, 6),), "wrench", "on each body in its axes about its origin")


def fluid(model: Model, value: ArrayLike | None, name: str) -> Array:
    """Return a fluid velocity or acceleration in world axes after checks, shape (3,) or (nb, 3); zero for None."""
    if value is None:
        return np.zeros(3)
    return array(value, ((3,), (model.nb, 3)), name, "in world axes, uniform or one row per body")


def dry(
    model: Model,
    fluid_velocity: ArrayLike | None = None,
    fluid_acceleration: ArrayLike | None = None,
    wrench: ArrayLike | None = None,
) -> Array | None:
    """Return external wrenches on a dry mechanism; the motion of the water is checked but has no effect."""
    fluid(model, fluid_velocity, "fluid_velocity")
    fluid(model, fluid_acceleration, "fluid_acceleration")
    return wrenches(model, wrench)


def point(value: ArrayLike) -> Array:
    """Return a point of a body after checks, shape (3,)."""
    return array(value, ((3,),), "point", "position in the axes of the body or frame")


def without_loops(model: Model) -> Model:
    """Return a model without loops; raise `UnsupportedFeature` if the model has loops."""
    model = model_of(model)
    if model.loops:
        names = ", ".join(repr(loop.name) for loop in model.loops)
        raise UnsupportedFeature(f"{model.name}: this algorithm does not support loops ({names}); use forward_dynamics")
    return model
