"""Scenarios as objects: models in water, forces and actuators, sensors and controllers, run settings, and checks."""

from ._assemble import ModelStart, WorldSettings, assemble
from ._judge import check_faults, owner_of, trial_faults
from ._randomisation import ObservationNoise, Randomisation
from ._run import RunInterrupted, RunResult, conclude_run, recording_attrs, run_scenario
from ._scenario import Scenario
from ._states import Checkpoints, SavedState
from ._tables import CONTROLLERS, FAMILIES
from ._unit_mistakes import buoyancy_mistakes, contact_warnings, unit_mistakes

__all__ = [
    "CONTROLLERS",
    "FAMILIES",
    "Checkpoints",
    "ModelStart",
    "ObservationNoise",
    "Randomisation",
    "RunInterrupted",
    "RunResult",
    "SavedState",
    "Scenario",
    "WorldSettings",
    "assemble",
    "buoyancy_mistakes",
    "check_faults",
    "conclude_run",
    "contact_warnings",
    "owner_of",
    "recording_attrs",
    "run_scenario",
    "trial_faults",
    "unit_mistakes",
]
