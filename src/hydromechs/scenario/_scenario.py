"""The class `Scenario`: models in water, components, blocks, run settings and checks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, fields, replace
from functools import cached_property
from types import FunctionType
from typing import Annotated, Any, TypeVar

import numpy as np

from hydromechs.contact import Terrain
from hydromechs.errors import REJECTED, FieldError, ScenarioError, UnsupportedFeature, rejections
from hydromechs.hybrid import Hybrid
from hydromechs.hydro import Environment
from hydromechs.integrators import Integrator, method_named, slack, whole_steps
from hydromechs.model import Fault, Model, State
from hydromechs.model.component import Component
from hydromechs.navigation import Navigation
from hydromechs.recording import WARNING_KINDS, Check, find_quantity, find_terms
from hydromechs.registry import Described, Item, reference_to
from hydromechs.sensors import Sensor
from hydromechs.simulation import (
    BLOCKS,
    SWITCH,
    Block,
    Event,
    Plant,
    PythonBlock,
    Run,
    Setup,
    Simulation,
    SimulationSource,
    components_of,
    coordinates,
    mission_of,
    quantities,
    watchable,
)
from hydromechs.values import Bound, Positive, instances, nearest, number, positive, whole

from ._assemble import ModelStart, WorldSettings, assemble, axes_faults, pairs, start_faults
from ._judge import environment_faults, placed_faults, plant_faults, sensor_faults, time_faults
from ._randomisation import Randomisation, randomisation_faults

__all__ = ["Scenario"]

OF_MODEL = {"body", "coordinate", "dof", "xyz", "wxyz", "six", "nu", "misfit"}
"""Dimensions of a recording that depend only on the model."""
LISTS: dict[str, tuple[Any, str]] = {
    "models": (ModelStart, "models with initial states, such as ModelStart(model=...)"),
    "components": (Component, "components, such as Thruster(...)"),
    "blocks": (Block, BLOCKS),
    "events": (Event, "events, such as Event(...)"),
    "checks": (Check, "checks, such as Check(...)"),
    "expected_warnings": (str, "kinds of warnings"),
}
"""Classes of the listed objects of a scenario, with their names in messages."""

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Scenario(SimulationSource):
    """Complete simulation as data. The constructor reports all errors in one `ScenarioError`.

    scenario = hydromechs.load_scenario("sinking_chain")
    run = scenario.run()
    results = [check.judge(run.recording) for check in scenario.checks]
    """

    name: str
    """Name of the scenario."""
    title: str = ""
    """Description of the mission in one line."""
    description: str = ""
    """Detailed description of the mission and its purpose."""
    models: tuple[ModelStart, ...]
    """Models with their initial states."""
    world: WorldSettings | None = None
    """Gravity and water density of the scenario. If omitted, all models must have the same values."""
    environment: Environment = field(default_factory=Environment)
    """Environment: water surface, current, gusts and waves."""
    components: tuple[Component, ...] = ()
    """Thrusters, drives, joint friction and stops, terrain, grasps, tethers and custom components, in any order.

    Contacts are derived from terrain. Joint friction and stops that are not listed are derived from the models.
    """
    commands: tuple[tuple[str, float], ...] = ()
    """Initial commands [unit of the actuator], keyed by actuator."""
    blocks: tuple[Block, ...] = ()
    """Sensors, a navigation filter and controllers.

    Without a filter, controllers use the true state, and encoder readings for joints that have encoders.
    """
    events: tuple[Event, ...] = ()
    """Events to detect."""
    integrator: str | Integrator = "rk4"
    """Integrator, or the name of an integrator."""
    randomisation: Randomisation | None = None
    """Random variation between learning episodes; single runs ignore it."""
    engine: Hybrid | None = None
    """Optional third-party physics engine, which replaces the built-in equations and the integrator."""
    step: Positive = 1e-3
    """Step of the integrator or engine [s]."""
    record: Positive = 0.02
    """Time between two samples of the recording, an integer multiple of the step [s]."""
    duration: Positive = 60.0
    """Duration of the simulation [s]."""
    seed: Annotated[int, Bound(least=0, whole=True)] = 0
    """Seed of gusts, waves and sensors."""
    checks: tuple[Check, ...] = ()
    """Checks evaluated on the recording."""
    expected_warnings: tuple[str, ...] = ()
    """Kinds of warnings that the mission expects, for example "joint_stop" if a joint is meant to reach its stop."""
    like: InitVar[Scenario | None] = None
    """Scenario from which this one is derived (see `with_fields`); objects that depend only on unchanged fields are reused.
    """

    def __post_init__(self, like: Scenario | None) -> None:
        if not isinstance(self.name, str):
            raise FieldError("Scenario.name", self.name, "must be text")
        for name, (kind, what) in LISTS.items():
            object.__setattr__(self, name, instances(getattr(self, name), kind, name, what))
        object.__setattr__(self, "commands", pairs(self.commands, "commands"))
        if self.world is not None and not isinstance(self.world, WorldSettings):
            raise FieldError("world", self.world, "must be a hydromechs.scenario.WorldSettings(...) or None")
        if not isinstance(self.environment, Environment):
            raise FieldError("environment", self.environment, "must be a hydromechs.Environment(...)")
        object.__setattr__(self, "commands", tuple((k, number(x, f"commands.{k}")) for k, x in self.commands))
        object.__setattr__(self, "integrator", method_named(self.integrator))
        for name in ("step", "record", "duration"):
            object.__setattr__(self, name, positive(getattr(self, name), name))
        object.__setattr__(self, "seed", whole(self.seed, "seed"))
        if self.randomisation is not None and not isinstance(self.randomisation, Randomisation):
            raise FieldError("randomisation", self.randomisation, "must be a hydromechs.scenario.Randomisation(...) or None")
        if self.engine is not None and not isinstance(self.engine, Hybrid):
            raise TypeError(f"engine is {self.engine!r}, must be a hydromechs.hybrid.Hybrid(engine='mujoco') or None")
        if like is not None:
            self._share(like)
        faults = scenario_faults(self)
        if faults:
            raise ScenarioError(self.name, faults)

    def _share(self, like: Scenario) -> None:
        """Reuse the assembled model and the plant of another scenario if they depend on the same objects."""
        if self.world is like.world and _same(self.models, like.models):
            self.__dict__["_assembled"] = like._assembled
            same = self.environment is like.environment and self.seed == like.seed
            if same and _same(self.components, like.components):
                self.__dict__["plant"] = like.plant

    def with_fields(self, **fields: Any) -> Scenario:
        """Return a copy with new field values; the model and the plant are shared if these fields do not affect them."""
        return replace(self, **fields, like=self)

    @cached_property
    def _assembled(self) -> tuple[Model, State]:
        return assemble(self.models_in_world)

    @cached_property
    def models_in_world(self) -> tuple[ModelStart, ...]:
        """Models with the gravity and water density of the scenario, if set."""
        return self.models if self.world is None else tuple(map(self.world.applied_to, self.models))

    def parts(self, kind: type[T]) -> tuple[T, ...]:
        """Return the components and blocks of a class, such as `Thruster` or `contact.Terrain`, in order."""
        return tuple(part for part in (*self.components, *self.blocks) if isinstance(part, kind))

    def path_items(self) -> list[Item]:
        """Return the items at which parameter paths start, such as "vehicle" in "vehicle.inertia.mass"."""
        return scenario_items(self)

    @property
    def sensors(self) -> tuple[Sensor, ...]:
        """Sensor blocks."""
        return tuple(block for block in self.blocks if isinstance(block, Sensor))

    @property
    def navigation(self) -> Navigation | None:
        """Navigation filter block, or None."""
        return next(iter(self.parts(Navigation)), None)

    @property
    def controllers(self) -> tuple[PythonBlock, ...]:
        """Controller blocks."""
        return self.parts(PythonBlock)

    def with_parts(self, *parts: Component | Block) -> Scenario:
        """Return a copy with new components and blocks; each part replaces the part with the same name or is added."""
        lists: dict[str, list[Any]] = {"components": list(self.components), "blocks": list(self.blocks)}
        for part in parts:
            items = lists["blocks" if isinstance(part, Block) else "components"]
            names = [item.name for item in items]
            at = names.index(part.name) if part.name in names else len(items)
            items[at : at + 1] = [part]
        return self.with_fields(**lists)

    def controlled_by(self, *controllers: PythonBlock) -> Scenario:
        """Return a copy with these controllers instead of the existing ones; without arguments, remove all controllers."""
        others = [block for block in self.blocks if not isinstance(block, PythonBlock)]
        return self.with_fields(blocks=(*others, *controllers))

    @property
    def model(self) -> Model:
        """Single model assembled from all models."""
        return self._assembled[0]

    @property
    def start(self) -> State:
        """Configuration and velocity at time 0; joints with a prescribed motion have its initial values."""
        return self.plant.on_motions(self._assembled[1])

    @property
    def code(self) -> tuple[str, ...]:
        """Import paths of custom classes and functions in the scenario; empty if all of its code is from this package."""
        blocks = [block.controller if isinstance(block, PythonBlock) else block for block in self.blocks]
        joints = [part for start in self.models for body in start.model.bodies for part in body.joint.parts]
        kinds = [part if isinstance(part, FunctionType) else type(part) for part in (*self.components, *blocks, *joints)]
        return tuple(dict.fromkeys(_reference(kind) for kind in kinds if not kind.__module__.startswith("hydromechs.")))

    @cached_property
    def plant_components(self) -> tuple[Component, ...]:
        """Components of the plant, including those derived from other components and from the models."""
        return components_of(self.model, self.components)

    @cached_property
    def plant(self) -> Plant:
        """Plant to simulate."""
        return Plant(model=self.model, environment=self.environment, components=self.plant_components, seed=self.seed)

    def simulation(self, *, parameters: Mapping[str, Any] | None = None, **how: Any) -> Simulation:
        """Return the simulation in its initial state; raise `ScenarioError` if a part is invalid.

        Args:
            parameters: Values of open parameters, keyed by path such as "vehicle.inertia.mass"; they can change without
                compilation.
            how: Options `lanes` and `target` of `Simulation`.
        """
        try:
            sim = Simulation(self, events=(), parameters=parameters or {}, **how)
            faults = _quantity_faults(self, self.plant, lambda dims: True, sim.signals)  # signal names are now known
            if not faults:
                sim.watch(self.events)
                return sim
        except REJECTED as e:
            if getattr(e, "__notes__", None):  # in custom code: keep its traceback
                raise
            raise ScenarioError(self.name, placed_faults(self, e)) from e
        raise ScenarioError(self.name, faults)

    def run(self, duration: float | None = None, **options: Any) -> Run:
        """Simulate the scenario from its start and return the run with its recording.

        Args:
            duration: Duration [s]. Defaults to the duration of the scenario.
            options: Options of `Simulation.run`, such as `path` or `progress`.
        """
        return self.simulation().run(self.duration if duration is None else duration, **options)

    def setup(self, parameters: Iterable[str] = ()) -> Setup:
        """Return the plant and its simulation settings. `parameters`: paths of open parameters. This runs custom code."""
        plant = replace(self.plant, parameters=tuple(parameters)) if parameters else self.plant
        plant, method = (plant, self.integrator) if self.engine is None else self.engine.on(plant, self.start)
        return Setup(
            plant=plant,
            mission=mission_of(self.blocks, self.components),
            events=self.events,
            integrator=method,
            engine="" if self.engine is None else self.engine.name,
            step=self.step,
            record=self.record,
            state=self.start,
            commands=dict(self.commands),
        )


def _same(a: Sequence[object], b: Sequence[object]) -> bool:
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))


def _reference(kind: Any) -> str:
    """Return the import path of a class or function, or its qualified name if it cannot be imported."""
    try:
        return reference_to(kind, None)
    except UnsupportedFeature:
        return f"{kind.__module__}:{kind.__qualname__}"


def scenario_faults(scenario: Scenario) -> list[Fault]:
    """Return the problems of a scenario whose fields have the right types: unknown names, inconsistent times."""
    if not scenario.models:
        return [Fault(("models",), "models is empty; add at least one model")]
    out = _time_faults(scenario)
    faults = start_faults(scenario.models_in_world)
    faults += [] if scenario.world is None else axes_faults(scenario.world, scenario.models)
    if faults:
        return [*faults, *out]
    model = scenario.model
    named = [*_name_faults(scenario, model), *environment_faults(scenario), *sensor_faults(scenario, model)]
    out += randomisation_faults(scenario, model)
    if named:  # quantities with unknown names cannot be checked
        return [*out, *named, *_quantity_faults(scenario, Plant(model=model), lambda dims: OF_MODEL.issuperset(dims or "?"))]
    try:
        plant = scenario.plant
        out += plant_faults(scenario, plant)
        if scenario.engine is not None:
            out += [Fault(("engine",), f"engine: {text}") for text in scenario.engine.faults(plant, scenario.start)]
    except REJECTED as e:
        return [*out, *placed_faults(scenario, e)]
    return [*out, *_quantity_faults(scenario, plant, lambda dims: True)]


def _time_faults(scenario: Scenario) -> list[Fault]:
    """Return the problems of times that must be integer multiples of the step."""
    times: dict[tuple[str | int, ...], tuple[str, float]] = {("record",): ("record", scenario.record)}
    for i, block in enumerate(scenario.blocks):
        if isinstance(block, PythonBlock):
            times["blocks", i, "period"] = f"{block.name}.period", block.make().period
    if scenario.environment.gusts is not None:
        times["environment", "gusts", "interval"] = "environment.gusts.interval", scenario.environment.gusts.interval
    out = []
    if scenario.record > scenario.duration:
        text = f"record is {scenario.record:g} s, must not exceed the duration of {scenario.duration:g} s"
        out.append(Fault(("record",), text))
    if scenario.engine is not None or not method_named(scenario.integrator).adaptive:
        for path, (what, value) in times.items():
            out += rejections(path, whole_steps, value, scenario.step, what)
    return out + time_faults(scenario)


def _name_faults(scenario: Scenario, model: Model) -> list[Fault]:
    """Return the problems of names and components: unknown names, duplicate names, incompatible components."""
    out, acting = _component_faults(scenario, model)

    def look(path: tuple[Any, ...], what: str, name: Any, known: Any, whose: str) -> None:
        if name not in known:
            out.append(Fault(path, f"{what}: {model.name} has no {whose} {name!r}{nearest(str(name), known)}"))

    named: tuple[tuple[str, str, Sequence[Check | Event]], ...]
    named = (("checks", "check", scenario.checks), ("events", "event", scenario.events))
    for key, what, items in named:
        for i, item in enumerate(items):
            if item.name in [other.name for other in items[:i]]:
                text = f"{what} {item.name!r}: another {what} has the same name; rename one of them"
                out.append(Fault((key, i, "name"), text))
    inputs = [(c, slot) for c in acting for slot in c.inputs(model)]
    out += _command_faults(scenario, model, [slot.full_name(c.name) for c, slot in inputs if not slot.setting])
    for name, value in scenario.commands:
        if not np.isfinite(value):
            out.append(Fault(("commands", name), f"commands.{name} is {value}, must be finite"))
    for i, kind in enumerate(scenario.expected_warnings):
        if kind not in WARNING_KINDS:
            text = f"expected_warnings: unknown kind {kind!r}{nearest(kind, WARNING_KINDS)}"
            out.append(Fault(("expected_warnings", i), text))
    if not scenario.name or scenario.name.startswith(".") or any(c in scenario.name for c in "/\\\0"):
        out.append(
            Fault(
                ("name",),
                f"name is {scenario.name!r}, must be a folder name: not empty, without slashes and without a leading '.'",
            )
        )
    for i, event in enumerate(scenario.events):
        early = event.level <= slack(0.0, scenario.step)
        if event.quantity == "time" and (early or event.level >= scenario.duration):
            text = f"event {event.name!r}: time never crosses {event.level:g} s in a run from 0 to {scenario.duration:g} s"
            remedy = "set initial commands with 'commands'" if early else "set an earlier time or extend the run"
            out.append(Fault(("events", i, "level"), f"{text}; {remedy}"))
        if event.quantity == "time" and event.direction == "falling":
            text = f"event {event.name!r}: direction is falling, but time only increases; remove direction"
            out.append(Fault(("events", i, "direction"), text))
    grasps = [c.name for c, slot in inputs if slot.name == SWITCH and slot.setting]
    external = [c.external_body for c in acting if c.external_body is not None]
    for i, event in enumerate(scenario.events):
        for key in ("grasp", "release"):
            for k, name in enumerate(getattr(event, key)):
                look(("events", i, key, k), f"event {event.name!r}", name, grasps, "grasp")
        for name, _ in event.wrench:
            if name not in external:
                hint = nearest(name, external)
                text = f"event {event.name!r}: 'external' does not contain {name!r}{hint}; add {name!r} to 'external'"
                out.append(Fault(("events", i, "wrench", name), text))
    return out


def _component_faults(scenario: Scenario, model: Model) -> tuple[list[Fault], list[Component]]:
    """Return the problems of components that are incompatible with the model or each other, and the valid components."""
    out, good = [], []
    names: dict[tuple[str, bool], int] = {}
    for i, part in enumerate(scenario.components):
        faults = [Fault(("components", i, key), text) for key, text in part.unknown_names(model)]
        if names.setdefault((part.name, part.acts), i) != i:
            text = f"{type(part).__name__} {part.name!r}: another component has the same name; rename one of them"
            faults.append(Fault(("components", i, "name"), text))
        faults = faults or rejections(("components", i), part.check, model)
        faults = faults or rejections(("components", i), part.check_beside, list(scenario.components))
        out += faults
        good += [] if faults else [part]
    return out, good


def _command_faults(scenario: Scenario, model: Model, actuators: Collection[str]) -> list[Fault]:
    """Return the problems of initial and event commands for unknown actuators."""
    given: list[tuple[tuple[str | int, ...], str, str]]
    given = [(("commands", name), "commands", name) for name, _ in scenario.commands]
    for i, event in enumerate(scenario.events):
        given += [(("events", i, "command", name), f"event {event.name!r}", name) for name, _ in event.command]
    return [
        Fault(path, f"{what}: {model.name} has no actuator {name!r}{nearest(name, actuators)}")
        for path, what, name in given
        if name not in actuators
    ]


def _quantity_faults(
    scenario: Scenario, plant: Plant, judged: Callable[[tuple[str, ...] | None], bool], signals: Mapping[str, str] | None = None
) -> list[Fault]:
    """Return the problems of unknown quantities in events and checks.

    Only quantities whose dimensions (None if unknown) satisfy `judged` are checked. Signals of controllers and sensors are
    checked only if `signals` is given, because their names are known only when the simulation is built.
    """
    labels, out = coordinates(plant, signals), []
    both = (
        ("events", "event", watchable(plant, signals), find_quantity),
        ("checks", "check", quantities(plant, signals), find_terms),
    )
    for key, kind, variables, find in both:
        for i, item in enumerate(getattr(scenario, key)):
            head = item.quantity.partition(".")[0]
            later = head == "signal" and scenario.blocks and signals is None
            if later or not judged(variables.get(head)):
                continue
            prefix = f"{kind} {item.name!r}: quantity: "
            out += rejections((key, i, "quantity"), find, item.quantity, variables, labels, prefix=prefix)
    return out


def scenario_items(scenario: Scenario) -> list[Item]:
    """List bodies, models and their initial states, the world, components, terrain, blocks, environment and run.

    Bodies have the names of the assembled model: if there are several models, the model name and a dot prefix each name.
    """
    out = []
    for i, start in enumerate(scenario.models):
        before = f"{start.name}." if len(scenario.models) > 1 else ""
        out += [
            Item("models", before + b, (("models", i, "model", "bodies", j),)) for j, b in enumerate(start.model.body_names)
        ]
    for key in ("gravity", "water_density"):
        given = scenario.world is not None and getattr(scenario.world, key) is not None
        each = tuple(("models", i, "model", "world", key) for i in range(len(scenario.models)))
        out.append(Item("models", f"world.{key}", (("world", key),) if given else each))
    out += [Item("models", start.name, (("models", i),)) for i, start in enumerate(scenario.models)]
    for k, part in enumerate(scenario.components):
        own = getattr(part, "name", None)
        if isinstance(own, str):
            out.append(Item("terrain" if isinstance(part, Terrain) else "components", own, (("components", k),)))
    for k, block in enumerate(scenario.blocks):
        described = isinstance(block, PythonBlock) and isinstance(block.controller, Described)
        out.append(Item("blocks", block.name, (("blocks", k, "controller") if described else ("blocks", k),)))
        out += [Item("blocks", f"{block.name}.phase", (("blocks", k, "phase"),))] if described else []
    out += [Item("environment", f.name, (("environment", f.name),)) for f in fields(scenario.environment)]
    return out + [Item("run", f.name, ((f.name,),)) for f in fields(scenario)]
