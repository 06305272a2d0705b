"""Adapter of the vector environment for Stable-Baselines3 without one process per world."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hydromechs.values import Array

from ._environments import WorldsVectorEnv

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError:  # reported when an environment is created
    VecEnv = object


class StableBaselinesEnv(VecEnv):
    """Adapter of a `WorldsVectorEnv` for Stable-Baselines3; wrap the adapter in a `VecMonitor` to record episode returns."""

    def __init__(self, environment: WorldsVectorEnv) -> None:
        if VecEnv is object:
            raise ImportError("StableBaselinesEnv requires Stable-Baselines3; pip install 'hydromechs[learn]'")
        self.environment = environment
        self.render_mode = environment.render_mode
        self._actions: Array | None = None
        self._seed: int | None = None
        super().__init__(environment.num_envs, environment.single_observation_space, environment.single_action_space)

    def reset(self) -> Any:
        """Start new episodes in all worlds; return observations, shape (num_envs, no)."""
        seen, _ = self.environment.reset(seed=self._seed)
        self._seed = None
        return seen

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Set the seed of the next `reset`."""
        self._seed = seed
        return [None if seed is None else seed + k for k in range(self.num_envs)]

    def step_async(self, actions: Array) -> None:
        """Store actions from -1 to 1, shape (num_envs, na), for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, Array, Array, list[dict[str, Any]]]:
        """Advance by one period; return observations, rewards, episode ends and infos."""
        seen, reward, ended, over, info = self.environment.step(self._actions)
        done = ended | over
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for k in np.flatnonzero(done):
            about = {name: x[k] for name, x in info["final_info"].items() if not name.startswith("_")}
            infos[k] = {"terminal_observation": info["final_obs"][k], "TimeLimit.truncated": bool(over[k]), **about}
        return seen, reward.astype(np.float32), done, infos

    def close(self) -> None:
        """Close the environment."""
        self.environment.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of the environment, repeated for each world."""
        return [getattr(self.environment, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of the environment."""
        setattr(self.environment, attr_name, value)

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """Call a method of the environment once; return the result, repeated for each world."""
        result = getattr(self.environment, method_name)(*method_args, **method_kwargs)
        return [result for _ in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Return False for each world, as none is wrapped."""
        return [False for _ in self._get_indices(indices)]
