"""Reinforcement learning environments: Gymnasium tasks for vehicles, arms and walkers, in one world or many.

Importing this package registers the environments: `gymnasium.make("HydroMechs/StationKeeping-v0")`.
"""

from importlib.util import find_spec as _find_spec

from hydromechs._lazy import lazy_names as _lazy_names
from hydromechs.scenario import ObservationNoise, Randomisation

if _find_spec("gymnasium") is None:
    raise ImportError("hydromechs.learning requires Gymnasium; pip install 'hydromechs[learn]'")

from ._arena import Arena, mission
from ._environments import TASKS, ArenaOptions, WorldEnv, WorldsVectorEnv, make_single, make_vector, register
from ._manipulation import PickAndPlace, Reach
from ._task import Judgement, Task
from ._tracking import StationKeeping, TrajectoryTracking
from ._walking import WalkAhead

__all__ = [
    "TASKS",
    "Arena",
    "ArenaOptions",
    "Judgement",
    "ObservationNoise",
    "PickAndPlace",
    "Randomisation",
    "Reach",
    "StationKeeping",
    "Task",
    "TrajectoryTracking",
    "WalkAhead",
    "WorldEnv",
    "WorldsVectorEnv",
    "make_single",
    "make_vector",
    "mission",
    "register",
]

__getattr__, __dir__, _ = _lazy_names(__name__, {"._stable_baselines": ("StableBaselinesEnv",)})

register()
