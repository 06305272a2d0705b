"""Checks of the initial state of a simulation."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hydromechs.errors import FieldError
from hydromechs.integrators import rounding
from hydromechs.model import State

LATEST = 1e-3
"""Maximum rounding error of the initial time, relative to the step [-]."""
CONTROLLER = ("memory", "signal")
"""Fields of a state that belong to controllers."""


def check_is_state(given: object) -> None:
    """Raise `FieldError` if an argument is not a state."""
    if not isinstance(given, State):
        raise FieldError("state", given, "must be a hydromechs.State, such as State(q=q, v=v), or the state of a simulation")


def check_start(values: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]], step: float) -> None:
    """Raise `ValueError` for wrong shapes or non-finite numbers in a state, or a time too large for the step."""
    for name, shape in shapes.items():
        if np.shape(values[name]) != shape:
            words = f"state.{name} must have shape {shape}, got {np.shape(values[name])}"
            if name in CONTROLLER:
                reset = "dataclasses.replace(state, memory=np.zeros(0), signal=np.zeros(0))"
                raise ValueError(f"{words}; if the state is from another controller, reset the memory with {reset}")
            raise ValueError(f"{words}; use a state of this simulation")
        if name not in CONTROLLER and not np.isfinite(values[name]).all():
            raise ValueError(f"state.{name} is {values[name]}, must be finite")
    check_time(values["t"], "state.t", step)


def check_time(t: float, name: str, step: float) -> None:
    """Raise `ValueError` for a time at which steps would vanish in rounding error; error messages contain `name`."""
    if rounding(t) > LATEST * step:
        latest = LATEST * step / rounding(1.0)
        raise ValueError(
            f"{name} is {t:g} s, at which the resolution of floating-point numbers is too coarse for steps of {step:g} s; "
            f"start before {latest:.2g} s"
        )
