"""Shapes of input arrays for many worlds: constant or per step, equal in all worlds or per world."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hydromechs.errors import FieldError
from hydromechs.model import UNIT_TOLERANCE, Model, MovingStep
from hydromechs.values import whole


def as_array(x: Any, name: str) -> np.ndarray:
    """Return the argument `name` of a caller as an array of floats."""
    try:
        return np.asarray(x, dtype=float)
    except (TypeError, ValueError):
        raise FieldError(name, x, "must be an array of numbers") from None


def batch_of(shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Return the batch shape of inputs, whose leading dimensions must be compatible under broadcasting."""
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items() if shape)
        raise ValueError(
            f"batch shapes are incompatible: {listed}; use the same leading dimensions for all arrays, or none"
        ) from None


def rows_of(x: Any, name: str, n: int) -> np.ndarray:
    """Return the argument `name` as an array, shape (..., n)."""
    x = as_array(x, name)
    if x.ndim < 1 or x.shape[-1] != n:
        raise ValueError(f"{name} must have shape (..., {n}), got {x.shape}")
    return x


def shape_text(shape: tuple[int, ...]) -> str:
    """Return the text of an array shape that follows batch dimensions, such as "(..., 3)"."""
    return f"({', '.join(['...', *map(str, shape)])})"


def check_quaternions(model: Model, q: np.ndarray) -> None:
    """Raise `ValueError` unless initial quaternions have unit norm; non-finite values are accepted and stop their world."""
    for body, steps in zip(model.bodies, model.steps, strict=True):
        for step in steps:
            if isinstance(step, MovingStep) and step.quaternion is not None:
                at = step.iq + step.quaternion
                length = np.linalg.norm(q[..., at : at + 4], axis=-1)
                bad = np.abs(length - 1.0) > UNIT_TOLERANCE
                if bad.any():
                    where = tuple(int(k) for k in np.argwhere(bad)[0])
                    world = f" of world {where}" if where else ""
                    raise ValueError(
                        f"q[..., {at}:{at + 4}], the quaternion of body {body.name!r}{world}, has norm {length[where]:.6g}; "
                        "set a unit quaternion (w, x, y, z)"
                    )


def leading(x: np.ndarray, name: str, shape: tuple[int, ...], batch: tuple[int, ...], steps: int) -> tuple[int, ...]:
    """Return the batch dimensions of an input, which may be followed by one row per step."""
    n = len(shape)
    if x.ndim < n or x.shape[x.ndim - n :] != shape:
        raise ValueError(f"{name} must have shape {shape_text(shape)}, got {x.shape}")
    lead = x.shape[: x.ndim - n]
    if len(lead) == len(batch) + 1:
        if lead[-1] != steps:
            raise ValueError(f"{name} of shape {x.shape} has {lead[-1]} rows for {steps} steps; use one row per step")
        return lead[:-1]
    if len(lead) > len(batch) + 1:
        raise ValueError(
            f"{name} of shape {x.shape} has too many dimensions for the batch {batch} and the steps; remove dimensions"
        )
    if lead and batch and steps > 1 and lead == (steps,) and lead != batch[-1:]:
        raise ValueError(
            f"{name} of shape {x.shape} has one row per step but not the batch {batch}; use the shape "
            f"{(*[1] * len(batch), *x.shape)} for the same rows in all worlds"
        )
    return lead


def flat(x: np.ndarray, lead: tuple[int, ...], batch: tuple[int, ...], worlds: int) -> np.ndarray:
    """Return an array with one leading dimension: the number of worlds, or 1 if all worlds have equal values."""
    rest = x.shape[len(lead) :]
    if int(np.prod(lead)) == 1:
        return x.reshape(1, *rest)
    return np.broadcast_to(x, batch + rest).reshape(worlds, *rest)


def each_world(x: np.ndarray, batch: tuple[int, ...], worlds: int) -> np.ndarray:
    """Return an array broadcast to one row per world, shape (worlds, n)."""
    return np.broadcast_to(x, batch + x.shape[-1:]).reshape(worlds, x.shape[-1])


def seeds_of(seed: int | Sequence[int], worlds: int) -> np.ndarray:
    """Return one seed per world. Seeds derived from one integer do not depend on the number of worlds.

    `seed`: one integer, or one seed per world. `worlds`: number of worlds.
    """
    if np.ndim(seed) == 0:
        first = whole(seed, "seed")
        drawn = [int(np.random.SeedSequence((first, k)).generate_state(1, np.uint64)[0]) for k in range(worlds)]
        return np.array(drawn, dtype=object)
    out = np.array([whole(x, "seed") for x in np.ravel(np.asarray(seed, dtype=object))], dtype=object)
    if out.shape != (worlds,):
        raise ValueError(f"seed must be an integer or one seed for each of {worlds} worlds, got {out.shape[0]} seeds")
    return out
