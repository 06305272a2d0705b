"""Gymnasium environments: a single world, or a vector of worlds, based on `Arena`."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack, cast

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from hydromechs.integrators import Integrator
from hydromechs.scenario import Randomisation
from hydromechs.values import Array, nearest, whole

from ._arena import Arena, Picture, Source, generators
from ._manipulation import PickAndPlace, Reach
from ._task import Task
from ._tracking import StationKeeping, TrajectoryTracking
from ._walking import WalkAhead

MODES = ("human", "rgb_array")
"""Modes of `render`: show the world in a browser, or return an RGB array."""


class ArenaOptions(TypedDict, total=False):
    """Options of an environment; None selects the default."""

    period: float | None
    """Action period [s]. Defaults to the period of the task."""
    duration: float | None
    """Duration of an episode [s]. Defaults to the duration of the task."""
    randomisation: Randomisation | None
    """Randomisation between episodes, in addition to that of the task. Defaults to the randomisation of the scenario."""
    ranges: Mapping[str, tuple[float, float]] | None
    """Minimum and maximum of commands, keyed by name. Defaults to the ranges of the plant."""
    step: float | None
    """Step of the simulation [s]. Defaults to the step of the scenario."""
    method: str | Integrator | None
    """Integrator. Defaults to the integrator of the scenario."""
    sensors: Sequence[str] | None
    """Names of scenario sensors whose noisy readings replace the true attitude, velocities and joint states of the vehicle."""


def _arena(task: Task, scenario: Source | None, worlds: int, options: ArenaOptions, threads: int = 1) -> Arena:
    """Return the arena of a task; omitted options default to the values of the task."""
    if not isinstance(task, Task):
        raise TypeError(f"task is {task!r}; pass a task object, such as hydromechs.learning.StationKeeping()")
    preferred = {"period": task.period, "duration": task.duration, "step": task.step if scenario is None else None}
    given = {name: value for name, value in options.items() if value is not None}
    source = task.default if scenario is None else scenario
    return Arena(task, source, worlds, threads=threads, **cast(Any, {**preferred, **given}))


def _spaces(arena: Arena) -> tuple[gymnasium.spaces.Box, gymnasium.spaces.Box]:
    seen, acted = len(arena.labels), arena.last.shape[1]
    observation = gymnasium.spaces.Box(-arena.limits, arena.limits, (seen,), np.float32)
    return observation, gymnasium.spaces.Box(-1.0, 1.0, (acted,), np.float32)


def _check_mode(mode: str | None) -> None:
    if mode is not None and mode not in MODES:
        raise ValueError(f"render_mode is {mode!r}; use {', '.join(MODES)} or None")


def _checked(actions: Any, shape: tuple[int, ...], arena: Arena) -> Array:
    """Return actions as a float array; reject a wrong shape, type or non-finite values."""
    given = np.asarray(actions)
    extra = "" if not arena.task.extra else f" and {arena.task.extra} additional actions of the task"
    if given.dtype.kind not in "fiu" or given.shape != shape:
        what = f"shape {given.shape}" if given.dtype.kind in "fiu" else f"type {given.dtype}"
        raise ValueError(
            f"actions have {what}; pass numbers of shape {shape}, one for each of {len(arena.actions)} commands{extra}: "
            f"{', '.join(arena.actions.names)}"
        )
    out = given.astype(float)
    if not np.isfinite(out).all():
        raise ValueError("actions are not finite; check the policy for divergence")
    return out


class WorldsVectorEnv(VectorEnv):
    """Gymnasium vector environment of many worlds, based on `hydromechs.Worlds`.

    A world whose episode ends starts a new episode in the same step (`AutoresetMode.SAME_STEP`). The returned observation
    belongs to the new episode; `infos["final_obs"]` contains the last observation of the old episode. After
    `reset(seed=5)`, world k uses the seed 5 + k and equals a single environment with this seed.

    Args:
        task: Task of the agent.
        num_envs: Number of worlds.
        scenario: Library name of a vehicle or scenario, path of a scenario file, or a `Scenario`. Defaults to the scenario of
            the task. Controller and events of the scenario are ignored.
        threads: Number of threads that share the worlds.
        render_mode: "human" shows the first world in a browser; "rgb_array" returns pictures of all worlds.
        options: `period`, `duration`, `randomisation`, `ranges`, `step`, `method`, `sensors`; see `ArenaOptions`.
    """

    def __init__(
        self,
        task: Task,
        num_envs: int = 1,
        scenario: Source | None = None,
        *,
        threads: int = 1,
        render_mode: str | None = None,
        **options: Unpack[ArenaOptions],
    ) -> None:
        _check_mode(render_mode)
        self.num_envs = whole(num_envs, "num_envs", 1)
        self.arena = _arena(task, scenario, self.num_envs, options, threads)
        self.render_mode = render_mode
        fps = max(1, round(1.0 / self.arena.period))
        self.metadata = {"render_modes": list(MODES), "render_fps": fps, "autoreset_mode": AutoresetMode.SAME_STEP}
        self.single_observation_space, self.single_action_space = _spaces(self.arena)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.arena.random = generators([None] * self.num_envs)
        self._pictures = Picture(self.arena)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Start new episodes.

        `seed`: an integer, so that world k uses seed + k, or one seed per world; by default, the generators continue.
        `options`: the optional entry "reset_mask", booleans of shape (num_envs,), selects the worlds to reset.
        """
        which = _masked(options, self.num_envs)
        if seed is not None:
            seeds = [seed + k for k in range(self.num_envs)] if isinstance(seed, int | np.integer) else list(seed)
            if len(seeds) != self.num_envs:
                raise ValueError(
                    f"seed has {len(seeds)} entries; pass an integer or one seed for each of {self.num_envs} worlds"
                )
            for k in which:
                if seeds[k] is not None:
                    self.arena.random[k] = generators([seeds[k]])[0]
        self.arena.reset(which)
        self._show()
        return self.arena.observe(), {}

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Advance all worlds by one period; return observations, rewards, terminations, truncations and infos.

        `actions`: values from -1 to 1, shape (num_envs, na).
        """
        arena = self.arena
        acted = _checked(actions, (self.num_envs, arena.last.shape[1]), arena)
        seen, judged, ended, over, measures = _period(arena, acted)
        infos: dict[str, Any] = {}
        everyone = np.ones(self.num_envs, dtype=bool)
        done = ended | over
        if done.any():
            which = np.flatnonzero(done)
            final = np.full(self.num_envs, None, dtype=object)
            for k in which:
                final[k] = seen[k].copy()
            about: dict[str, Any] = {}
            for name, x in measures.items():
                about[name], about[f"_{name}"] = np.where(done, x, np.zeros((), x.dtype)), done.copy()
            infos |= {"final_obs": final, "_final_obs": done.copy(), "final_info": about, "_final_info": done.copy()}
            arena.reset(which)
            begun = arena.seen(which)
            seen[which] = begun[which]
        for name, x in measures.items():
            infos[name], infos[f"_{name}"] = np.where(done, np.zeros((), x.dtype), x), everyone & ~done
        self._show()
        return seen, judged, ended, over, infos

    def render(self) -> tuple[Array, ...] | None:
        """Return pictures of all worlds, shape (height, width, 3) each; None in mode "human"."""
        if self.render_mode == "rgb_array":
            return tuple(self._pictures.rgb(k) for k in range(self.num_envs))
        self._show()
        return None

    def _show(self) -> None:
        if self.render_mode == "human":
            self._pictures.show(0)

    def close_extras(self, **kwargs: Any) -> None:
        """Close the page in the browser."""
        self._pictures.close()


class WorldEnv(gymnasium.Env):
    """Gymnasium environment of one world; equals `WorldsVectorEnv` with a single world.

    `task`: task of the agent; `scenario`: as in `WorldsVectorEnv`; `render_mode`: "human" shows the world in a browser,
    "rgb_array" returns a picture; `options`: `period`, `duration`, `randomisation`, `ranges`, `step`, `method`,
    `sensors`; see `ArenaOptions`.
    """

    metadata = {"render_modes": list(MODES), "render_fps": 10}

    def __init__(
        self, task: Task, scenario: Source | None = None, *, render_mode: str | None = None, **options: Unpack[ArenaOptions]
    ) -> None:
        _check_mode(render_mode)
        self.arena = _arena(task, scenario, 1, options)
        self.render_mode = render_mode
        self.metadata = {"render_modes": list(MODES), "render_fps": max(1, round(1.0 / self.arena.period))}
        self.observation_space, self.action_space = _spaces(self.arena)
        self._pictures = Picture(self.arena)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Start a new episode.

        `seed`: seed of the random generator; if omitted, the current generator continues. `options`: unused.
        """
        super().reset(seed=seed)
        self.arena.random = [self.np_random]
        self.arena.reset(np.arange(1))
        self._show()
        return self.arena.observe()[0], {}

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Advance by one period with an action from -1 to 1, shape (na,).

        Returns observation, reward, terminated, truncated and info.
        """
        acted = _checked(action, (self.arena.last.shape[1],), self.arena)
        seen, judged, ended, over, measures = _period(self.arena, acted[None])
        self._show()
        info = {name: x[0].item() for name, x in measures.items()}
        return seen[0], float(judged[0]), bool(ended[0]), bool(over[0]), info

    def render(self) -> Array | None:
        """Return a picture, shape (height, width, 3); None in mode "human"."""
        if self.render_mode == "rgb_array":
            return self._pictures.rgb(0)
        self._show()
        return None

    def _show(self) -> None:
        if self.render_mode == "human":
            self._pictures.show(0)

    def close(self) -> None:
        """Close the page in the browser."""
        self._pictures.close()


def _period(arena: Arena, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Array]]:
    """Advance all worlds by one period; return observations, rewards, terminations, truncations and measures."""
    arena.act(actions)
    judged = arena.task.judge()
    frozen = arena.worlds.frozen.copy()
    ended = np.asarray(judged.lost, dtype=bool) | frozen
    over = (arena.count >= arena.most_steps) & ~ended
    measures = {name: np.asarray(x) for name, x in judged.measures.items()} | {"diverged": frozen}
    return arena.observe(), np.asarray(judged.reward, dtype=np.float64), ended, over, measures


def _masked(options: Mapping[str, Any] | None, n: int) -> Array:
    if not options or "reset_mask" not in options:
        return np.arange(n)
    mask = np.asarray(options["reset_mask"])
    if mask.dtype != bool or mask.shape != (n,) or not mask.any():
        raise ValueError(
            f"options['reset_mask'] is {mask.dtype} of shape {mask.shape}; pass booleans of shape ({n},) with at least one true"
        )
    return np.flatnonzero(mask)


TASKS: dict[str, type[Task]] = {
    kind.__name__: kind for kind in (StationKeeping, TrajectoryTracking, Reach, PickAndPlace, WalkAhead)
}
"""Task classes, keyed by name."""
OPTIONS = ("scenario", "render_mode", *ArenaOptions.__annotations__)
"""Names of the arguments of all environments."""


def _split(task: str, given: dict[str, Any], more: tuple[str, ...] = ()) -> tuple[Task, dict[str, Any]]:
    """Return a task with its options, and the remaining arguments of the environment."""
    kind = TASKS[task]
    own = [f.name for f in dataclasses.fields(kind)]  # type: ignore[arg-type]
    known = (*OPTIONS, *more, *own)
    for name in given:
        if name not in known:
            raise TypeError(f"{task} has no option named {name!r}{nearest(name, known)}")
    return kind(**{k: x for k, x in given.items() if k in own}), {k: x for k, x in given.items() if k not in own}


def make_single(task: str, **options: Any) -> WorldEnv:
    """Return a single environment of one of `TASKS`, for `gymnasium.make`; options are those of task and `WorldEnv`."""
    what, others = _split(task, options)
    return WorldEnv(what, **others)


def make_vector(task: str, num_envs: int = 1, **options: Any) -> WorldsVectorEnv:
    """Return a vector environment, for `gymnasium.make_vec`; see `make_single` and `WorldsVectorEnv`."""
    what, others = _split(task, options, ("threads",))
    return WorldsVectorEnv(what, num_envs, **others)


def register() -> None:
    """Register the environments, such as "HydroMechs/StationKeeping-v0"; importing this package calls this function."""
    for name in TASKS:
        known_as = f"HydroMechs/{name}-v0"
        if known_as not in gymnasium.registry:
            gymnasium.register(
                known_as,
                entry_point="hydromechs.learning:make_single",
                vector_entry_point="hydromechs.learning:make_vector",
                kwargs={"task": name},
            )
