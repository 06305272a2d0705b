"""A mission as an object: models in water with all that acts on them, how long to simulate, and what must come true."""

from ._assemble import ModelStart, assemble
from ._run import RunInterrupted, RunResult, run_scenario
from ._scenario import CONTROLLERS, ControllerSpec, Scenario

__all__ = [
    "CONTROLLERS",
    "ControllerSpec",
    "ModelStart",
    "RunInterrupted",
    "RunResult",
    "Scenario",
    "assemble",
    "run_scenario",
]
