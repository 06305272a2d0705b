"""Checks of the start state of a simulation."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hydromechs.errors import FieldError
from hydromechs.integrators import rounding
from hydromechs.model import State

LATEST = 1e-3
"""Maximum rounding error of the start time, in steps."""
CONTROLLER = ("memory", "signal")
"""Fields of a state that belong to controllers."""


def check_is_state(given: object) -> None:
    """Reject an argument that is not a state."""
    if not isinstance(given, State):
        raise FieldError("state", given, "must be a hydromechs.State, such as State(q=q, v=v), or the state of a simulation")


def check_start(values: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]], step: float) -> None:
    """Reject arrays of a state with wrong shapes or non-finite numbers, and times too late for the step."""
    for name, shape in shapes.items():
        if np.shape(values[name]) != shape:
            words = f"state.{name} must have shape {shape}, got {np.shape(values[name])}"
            if name in CONTROLLER:
                reset = "dataclasses.replace(state, memory=np.zeros(0), signal=np.zeros(0))"
                raise ValueError(f"{words}; the state may be from another controller: use {reset} to reset this one")
            raise ValueError(f"{words}; use a state of this simulation")
        if name not in CONTROLLER and not np.isfinite(values[name]).all():
            raise ValueError(f"state.{name} is {values[name]}; its numbers must be finite")
    check_time(values["t"], "state.t", step)


def check_time(t: float, name: str, step: float) -> None:
    """Reject a time, called `name` in errors, at which steps would vanish in rounding."""
    if rounding(t) > LATEST * step:
        latest = LATEST * step / rounding(1.0)
        raise ValueError(
            f"{name} is {t:g} s; a number that large has too few digits for steps of {step:g} s: "
            f"start before {latest:.2g} s, or count time from a later moment"
        )
