"""Arena of a task: worlds with actions, delays, noise and variation between episodes, and pictures.

Each world has a separate random generator, so that its random numbers do not depend on the number of worlds.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from hydromechs import equations, registry
from hydromechs.contact import Terrain
from hydromechs.control import observed_joints
from hydromechs.geometry import Triangles
from hydromechs.hydro import Current
from hydromechs.integrators import Integrator, whole_steps
from hydromechs.library import load_scenario, load_vehicle, names, plant_names
from hydromechs.model import Hydro, Model, added_mass_matrix, joints
from hydromechs.model import added_mass as kinds
from hydromechs.scenario import Randomisation, Scenario
from hydromechs.sensors import Sensor
from hydromechs.simulation import Plant
from hydromechs.spatial import quaternion_from_matrix
from hydromechs.values import Array, is_path, nearest, positive
from hydromechs.viewer import Camera, LivePage, MovingFrame, Scene, SceneSolid, camera_for, live_scene, raster
from hydromechs.worlds import Worlds

from ._actions import Actions
from ._arrays import rotate_back
from ._task import Task

DRAG = ("coefficient", "end_coefficient", "linear", "quadratic", "drag_parallel", "drag_normal", "lift_slope")
"""Names of drag parameters that a randomisation factor scales."""
SCALED = {
    "mass": ("inertia.mass", "inertia.tensor"),
    "added_mass": ("hydro.added_mass.*.matrix", "hydro.added_mass.*.diagonal"),
    "drag": tuple(f"hydro.drag.*.{name}" for name in DRAG),
}
"""Parameter paths, relative to a body, that the fractions of `Randomisation` scale."""


def with_matrices(model: Model, given: Randomisation) -> Model:
    """Return the same mechanism with shape-based added mass converted to matrices, which a factor can scale."""
    if not given.added_mass:
        return model
    density, bodies = model.world.water_density, []
    for body in model.bodies:
        if isinstance(body.hydro, Hydro) and body.hydro.added_mass:
            plain = [
                e if isinstance(e, kinds.Matrix | kinds.Diagonal) else kinds.Matrix(matrix=_rows(added_mass_matrix(e, density)))
                for e in body.hydro.added_mass
            ]
            body = replace(body, hydro=replace(body.hydro, added_mass=tuple(plain)))
        bodies.append(body)
    return replace(model, bodies=tuple(bodies))


def _rows(matrix: Array) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(x) for x in row) for row in 0.5 * (matrix + matrix.T))


def opened(plant: Plant, given: Randomisation) -> dict[str, tuple[str, float, float]]:
    """Return a mapping from open parameter paths to the name and range of the applied factor."""
    model, out = plant.model, dict[str, tuple[str, float, float]]()
    for name in given.bodies:
        model.body_index(name)
    for kind, paths in SCALED.items():
        share, found = getattr(given, kind), False
        for body in (given.bodies or model.body_names) if share else ():
            for path in (f"{body}.{rest}" for rest in paths):
                if _is_set(plant, path):
                    out[path], found = (f"{body} {kind}", 1.0 - share, 1.0 + share), True
        if share and not found:
            raise ValueError(f"Randomisation.{kind} is {share:g}, but no body of {model.name} has this parameter; set it to 0")
    for path, (low, high) in given.parameters:
        registry.value(plant, path)  # raises a KeyError that lists the known ones
        out[path] = (path, float(low), float(high))
    return out


def _is_set(plant: Plant, path: str) -> bool:
    try:
        places = registry.located(plant, path)
    except KeyError:
        return False
    return any(np.any(registry.follow(plant, keys)) for keys in places)


def drawn_parameters(
    names: Mapping[str, tuple[str, float, float]], own: Mapping[str, Array], random: Sequence[np.random.Generator]
) -> dict[str, Array]:
    """Return values of open parameters, shape (len(random), ...) each; equal factor names share one draw."""
    ranges = {factor: (low, high) for factor, low, high in names.values()}
    low, high = (np.array([r[k] for r in ranges.values()]) for k in (0, 1))
    drawn = np.stack([low + (high - low) * g.random(len(ranges)) for g in random]) if ranges else np.zeros((len(random), 0))
    column = {factor: k for k, factor in enumerate(ranges)}
    return {
        name: own[name] * drawn[:, column[factor]].reshape(-1, *(1,) * np.ndim(own[name]))
        for name, (factor, _, _) in names.items()
    }


Source = str | os.PathLike | Scenario
"""Source of a scenario: name of a library vehicle or scenario, path of a scenario file, or a scenario."""
LIMIT = 10.0
"""Limit at which observations, such as distances to goals, are clipped [SI units]."""
OF_SENSOR = "sensor."
"""Prefix of sensor names in kinds of observations."""
LIMIT_OF_READINGS = 1000.0
"""Limit at which sensor readings are clipped [SI units]; large enough for depths."""


def mission(source: Source) -> Scenario:
    """Return the scenario of a task, given a `Source`; controller and events are ignored."""
    if isinstance(source, Scenario):
        return source
    if not isinstance(source, str | os.PathLike):
        raise TypeError(f"scenario is {source!r}; pass a library name, a scenario file path, or a Scenario")
    if not is_path(source) and source in plant_names():
        return load_vehicle(str(source))
    if not is_path(source) and source in names():
        raise ValueError(
            f"model {source!r} has no actuators in the library; use a vehicle with actuators: {', '.join(plant_names())}"
        )
    return load_scenario(source)


class Arena:
    """Worlds of a task, with actions, observations and episodes.

    Args:
        task: Task of the agent; the arena uses a copy.
        scenario: Source of the scenario, see `mission`.
        worlds: Number of worlds.
        period: Action period [s], an integer multiple of the step.
        duration: Duration of an episode [s].
        threads: Number of threads that share the worlds.

    Other arguments are those of `ArenaOptions`.
    """

    def __init__(
        self,
        task: Task,
        scenario: Source,
        worlds: int,
        *,
        period: float,
        duration: float,
        randomisation: Randomisation | None = None,
        ranges: Mapping[str, tuple[float, float]] | None = None,
        step: float | None = None,
        method: str | Integrator | None = None,
        threads: int = 1,
        sensors: Sequence[str] = (),
    ) -> None:
        self.scenario = mission(scenario)
        self.varied = randomisation or self.scenario.randomisation or Randomisation()
        if not isinstance(self.varied, Randomisation):
            raise TypeError(
                f"randomisation is {randomisation!r}, not a Randomisation; pass hydromechs.learning.Randomisation(...)"
            )
        step_size = positive(self.scenario.step if step is None else step, "step")
        self.period, self.substeps = positive(period, "period"), whole_steps(period, step_size, "period")
        self.most_steps = whole_steps(positive(duration, "duration"), self.period, "duration")
        plant = _plant(self.scenario, self.varied)
        self._open = opened(plant, self.varied)
        self.plant = replace(plant, parameters=(*plant.parameters, *self._open)) if self._open else plant
        task = task.copy()
        chosen = task.commands(self.plant)
        self.actions = Actions(self.plant, chosen, {} if ranges is None else ranges, self.period)
        self.worlds = Worlds(
            self.plant,
            worlds,
            start=self.scenario.start,
            step=step_size,
            method=self.scenario.integrator if method is None else method,
            threads=threads,
            sensors=_sensors(self.scenario, sensors),
            ground=self.scenario.parts(Terrain),
        )
        self.worlds.start_commands.update(self.scenario.commands)
        self.n = self.worlds.worlds
        self.home_q, self.home_v = self.worlds.start_q[0].copy(), self.worlds.start_v[0].copy()
        self.base = _base(self.plant)
        self._home = {name: np.array(x, dtype=float) for name, x in self.worlds.source.parameters.items()}
        self._most_delay = whole_steps(self.varied.delay, step_size, "delay") if self.varied.delay else 0
        self._delay = np.zeros(self.n, dtype=int)
        periods = -(-self._most_delay // self.substeps) + 1
        self._history = np.zeros((self.n, periods, len(self.plant.layout.commands)))
        self.count = np.zeros(self.n, dtype=int)
        """Number of actions since the start of each episode, shape (n,)."""
        self.last = np.zeros((self.n, len(self.actions) + task.extra))
        """Actions of the last period, shape (n, na)."""
        self.random: list[np.random.Generator] = []
        """Random generator of each world."""
        self.task = task
        task.join(self)
        kinds = [(kind, np.shape(x)[1]) for kind, x in self._parts()]
        sigma = [np.full(width, getattr(self.varied.noise, kind, 0.0)) for kind, width in kinds]
        self._sigma = np.concatenate(sigma)
        names = {OF_SENSOR + name: [f"{name}.{x}" for x in labels] for name, labels in self.worlds.reading_labels.items()}
        own = {
            **names,
            "attitude": [f"down.{x}" for x in "xyz"],
            "velocity": [f"velocity.{x}" for x in "uvw"],
            "rate": [f"rate.{x}" for x in "pqr"],
            **{kind: [f"{kind}.{p.name}" for p in observed_joints(self.plant)] for kind in ("joint", "joint_rate")},
            "command": [f"action.{x}" for x in (*self.actions.names, *range(task.extra))],
        }
        of_task = [f"{kind}.{k}" for kind, x in task.observe() for k in range(np.shape(x)[1])]
        seen = [label for kind, _ in kinds[len(task.observe()) :] for label in own[kind]]
        self.labels = (*(task.labels if len(task.labels) == len(of_task) else of_task), *seen)
        """Label of each observed value, such as "velocity.u", or "imu.wx" for a sensor."""
        widths = [np.full(width, LIMIT_OF_READINGS if kind in names else LIMIT) for kind, width in kinds]
        self.limits = np.concatenate(widths).astype(np.float32)
        """Limit of each observed value, shape (no,)."""

    # -- data for the task ---------------------------------------------------------------------------------------------------

    @property
    def position(self) -> Array:
        """Positions of the vehicle in world axes [m], shape (n, 3)."""
        at = self.base[0].start
        return self.worlds.q[:, at : at + 3]

    @property
    def wxyz(self) -> Array:
        """Orientations of the vehicle, body to world, shape (n, 4)."""
        at = self.base[0].start
        return self.worlds.q[:, at + 3 : at + 7]

    @property
    def velocity(self) -> Array:
        """Velocities of the vehicle in vehicle axes, linear first [m/s, rad/s], shape (n, 6)."""
        return self.worlds.v[:, self.base[1]]

    @property
    def down(self) -> Array:
        """Downward unit vectors in vehicle axes, shape (n, 3)."""
        return rotate_back(self.wxyz, np.broadcast_to(np.array(self.plant.model.world.down, dtype=float), (self.n, 3)))

    @cached_property
    def _dynamics(self) -> Any:
        return equations.compile(self.plant.model)

    def place(self, name: str) -> Array:
        """Return positions of a frame or body in world axes [m], shape (n, 3)."""
        where = self.plant.model.locate(name)
        if where.body < 0:
            return np.tile(where.p, (self.n, 1))
        X = self.poses()[:, where.body]
        return X[:, :3, 3] + X[:, :3, :3] @ where.p

    def poses(self) -> Array:
        """Poses of all bodies, shape (n, nb, 4, 4)."""
        model = self.plant.model
        return np.asarray(self._dynamics.kinematics(self.worlds.q, np.zeros((self.n, model.nv)))[0])

    @cached_property
    def _joints(self) -> tuple[Array, Array]:
        parts = observed_joints(self.plant)
        q, v = ([i for p in parts for i in range(s(p).start, s(p).stop)] for s in (lambda p: p.q, lambda p: p.v))
        return np.array(q, dtype=int), np.array(v, dtype=int)

    def _parts(self) -> list[tuple[str, Array]]:
        readings = self.worlds.readings
        if readings:
            measured = [(OF_SENSOR + name, values) for name, values in readings.items()]
            return [*self.task.observe(), *measured, ("command", self.last)]
        q, v = self._joints
        V = self.velocity
        own = [("attitude", self.down), ("velocity", V[:, :3]), ("rate", V[:, 3:])]
        own += [("joint", self.worlds.q[:, q]), ("joint_rate", self.worlds.v[:, v]), ("command", self.last)]
        return [*self.task.observe(), *own]

    def observe(self) -> Array:
        """Return noisy observations, shape (n, no), float32."""
        return self.seen(np.arange(self.n))

    def seen(self, which: Array) -> Array:
        """Return observations of all worlds, with noise drawn only for the worlds `which`, shape (n, no), float32."""
        x = np.concatenate([part for _, part in self._parts()], axis=1)
        if self._sigma.any():
            for k in which:
                x[k] += self._sigma * self.random[k].standard_normal(len(self._sigma))
        return np.clip(np.nan_to_num(x), -self.limits, self.limits).astype(np.float32)

    # -- episodes -------------------------------------------------------------------------------------------------------------

    def reset(self, which: Array) -> None:
        """Start new episodes of the worlds with indices `which`, shape (k,)."""
        if not len(which):
            return
        worlds, random = self.worlds, [self.random[k] for k in which]
        worlds.start_q[which], worlds.start_v[which] = self.home_q, self.home_v
        self.task.draw(which, random)
        for name, values in drawn_parameters(self._open, self._home, random).items():
            worlds.parameters[name][which] = values
        if self.varied.current:
            drawn = np.array([g.random(2) for g in random])
            angle, speed = 2.0 * np.pi * drawn[:, 0], self.varied.current * drawn[:, 1]
            worlds.add_current(np.stack([speed * np.cos(angle), speed * np.sin(angle), 0.0 * speed], axis=1), which)
        if self._most_delay:
            self._delay[which] = [int(g.integers(self._most_delay + 1)) for g in random]
        seeds = None
        if self.plant.environment.gusts is not None or self.plant.environment.waves or worlds.reading_labels:
            seeds = worlds.seeds.copy()
            seeds[which] = [int(g.integers(2**62)) for g in random]
        worlds.reset(which, seed=None if seeds is None else list(seeds))
        self._history[which] = worlds.command[which][:, None]
        self.count[which], self.last[which] = 0, 0.0
        self.task.begin(which)

    def act(self, actions: Array) -> None:
        """Advance by one period with actions, shape (n, na), which are clipped to [-1, 1]."""
        actions = np.clip(np.asarray(actions, dtype=float), -1.0, 1.0)
        na = len(self.actions)
        before = self._history[:, 0]
        now = self.actions.commands(actions[:, :na], before)
        self._history = np.concatenate([now[:, None], self._history[:, :-1]], axis=1)
        self.task.act(actions[:, na:])
        if self._most_delay:
            late = np.arange(self.substeps) - self._delay[:, None]
            given = self._history[np.arange(self.n)[:, None], -np.floor_divide(late, self.substeps)]
            self.worlds.step(given, self.substeps)
        else:
            self.worlds.command[:] = now
            self.worlds.step(None, self.substeps)
        self.last = actions
        self.count += 1

    def direction(self, x: Array) -> Array:
        """Return vectors in vehicle axes, shape (n, 3), given vectors in world axes."""
        return rotate_back(self.wxyz, x)


def _plant(scenario: Scenario, varied: Randomisation) -> Plant:
    """Return the plant of a scenario with components required by the randomised parameters."""
    plant = scenario.plant
    water = plant.environment
    if varied.current and water.current is None:
        water = replace(water, current=Current())
    model = with_matrices(plant.model, varied)
    return plant if model is plant.model and water is plant.environment else replace(plant, model=model, environment=water)


def _sensors(scenario: Scenario, names: Sequence[str]) -> list[Sensor]:
    known = {s.name: s for s in scenario.sensors}
    for name in names:
        if name not in known:
            hint = nearest(name, known) if known else "; add sensors to the scenario"
            raise ValueError(f"scenario {scenario.name!r} has no sensor named {name!r}{hint}")
    return [known[name] for name in names]


def _base(plant: Plant) -> tuple[slice, slice]:
    """Return the pose and velocity slices of the vehicle, which is the first free body."""
    for part in plant.model.joint_parts.values():
        if isinstance(part.joint, joints.Free):
            return part.q, part.v
    raise ValueError(f"{plant.model.name} has no free body; use a model of a vehicle or walker")


def generators(seeds: Sequence[int | None]) -> list[np.random.Generator]:
    """Return a Gymnasium-compatible generator for each seed; a seed of None is drawn at random."""
    return [np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed))) for seed in seeds]


SIZE = (480, 360)
"""Width and height of rendered pictures [pixels]."""
GOAL = (0.95, 0.35, 0.15)
"""Colour of the goal in pictures."""


class Picture:
    """Renderer of worlds of an arena, with goals."""

    def __init__(self, arena: Arena) -> None:
        self.arena = arena
        self._page: LivePage | None = None

    def _bodies(self, world: int) -> tuple[Array, Array]:
        X = self.arena.poses()[world]
        return X[:, :3, 3], quaternion_from_matrix(X[:, :3, :3])

    def _scene(self, world: int) -> Scene:
        arena = self.arena
        position, wxyz = self._bodies(world)
        water = arena.plant.environment
        ends = water.surface is not None or water.waves  # otherwise the water is unbounded
        shown = water if ends else None
        scene = live_scene(arena.plant.model, position, wxyz, terrain=arena.scenario.parts(Terrain), environment=shown)
        low, high = scene.bounds(0)
        ball = _octahedron(0.04 * float(np.linalg.norm(high - low)))
        goal = MovingFrame(name="goal", position=arena.task.goals()[world][None], wxyz=np.array([[1.0, 0.0, 0.0, 0.0]]))
        mark = SceneSolid(name="goal/mark", frame="goal", triangles=ball, color=GOAL)
        return replace(scene, frames=(*scene.frames, goal), solids=(*scene.solids, mark), arrows=())

    def rgb(self, world: int) -> Array:
        """Return a picture of a world, shape (height, width, 3), integers from 0 to 255."""
        scene = self._scene(world)
        names = [f.name for f in scene.frames]
        low, high = scene.bounds(0, frames=names)
        seen: Camera = camera_for(low, high, aspect=SIZE[0] / SIZE[1])
        picture = np.asarray(raster(scene, size=SIZE, camera=seen))[..., :3]
        return picture if picture.dtype == np.uint8 else (255.0 * np.clip(picture, 0.0, 1.0)).round().astype(np.uint8)

    def show(self, world: int) -> None:
        """Show a world in a browser; the first call starts the page and prints the URL."""
        arena, model = self.arena, self.arena.plant.model
        if self._page is None:
            self._page = LivePage(
                model, self._scene(world), environment=arena.plant.environment, actuators=arena.worlds.commands
            )
            self._page.open()
            print(f"open {self._page.url} to see the world")
        t, command = float(arena.worlds.t[world]), np.asarray(arena.worlds.command[world])
        self._page.pose(t, *self._bodies(world), command, np.zeros(3))

    @property
    def url(self) -> str | None:
        """URL of the page; None before the first call of `show`."""
        return None if self._page is None else self._page.url

    def close(self) -> None:
        """Close the page in the browser."""
        if self._page is not None:
            self._page.close()
            self._page = None


def _octahedron(radius: float) -> Triangles:
    corners = radius * np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], dtype=float)
    faces = np.array([[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]])
    return Triangles(corners, faces)
