"""Conditions on a state from which a simulation can start."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hydromechs.errors import FieldError
from hydromechs.integrators import rounding
from hydromechs.model import State

LATEST = 1e-3
"""Rounding of a time, in steps, up to which a run can start there."""
CONTROLLER = ("memory", "signal")
"""Parts of a state that are a controller's."""


def check_is_state(given: object) -> None:
    """Reject what a caller gave as a state and is none."""
    if not isinstance(given, State):
        raise FieldError("state", given, "must be a hydromechs.State, as State(q=q, v=v), or the state of a simulation")


def check_start(values: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]], step: float) -> None:
    """Reject numbers of a state that have another shape, are not finite, or start too late for the step."""
    for name, shape in shapes.items():
        if np.shape(values[name]) != shape:
            words = f"state.{name} must have shape {shape}, got {np.shape(values[name])}"
            if name in CONTROLLER:
                reset = "dataclasses.replace(state, memory=np.zeros(0), signal=np.zeros(0))"
                raise ValueError(f"{words}; is it of another controller? use {reset} to reset this one")
            raise ValueError(f"{words}; is it of another simulation?")
        if name not in CONTROLLER and not np.isfinite(values[name]).all():
            raise ValueError(f"state.{name} is {values[name]}; its numbers must be finite")
    check_time(values["t"], "state.t", step)


def check_time(t: float, name: str, step: float) -> None:
    """Reject a time, which the error calls `name`, at which steps would be lost in rounding."""
    if rounding(t) > LATEST * step:
        latest = LATEST * step / rounding(1.0)
        raise ValueError(
            f"{name} is {t:g} s; a number that large has too few digits for steps of {step:g} s: "
            f"start before {latest:.2g} s, or count time from a later moment"
        )
