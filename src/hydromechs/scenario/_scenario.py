"""A scenario: models in water with all that acts on them, how long to simulate, and what must come true."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hydromechs import contact
from hydromechs.actuation import Thruster
from hydromechs.errors import ScenarioError
from hydromechs.hydro import Environment
from hydromechs.integrators import method_named
from hydromechs.model import Fault, Model, State, joints
from hydromechs.recording import Check, place
from hydromechs.simulation import Controller, Event, Plant, Simulation, coordinates, joint_actuation, schema, watchable
from hydromechs.values import nearest, positive

from ._assemble import ModelStart, assemble, pairs, start_faults

if TYPE_CHECKING:
    pass

__all__ = ["CONTROLLERS", "ControllerSpec", "Scenario"]

CONTROLLERS = {
    "hold_pose": "hydromechs.gnc:HoldPose",
    "follow_path": "hydromechs.gnc:FollowPath",
    "joint_motion": "hydromechs.gnc:JointMotion",
    "carry_load": "hydromechs.gnc:CarryLoad",
}
"""Controllers of the library, as module and name."""

OF_MODEL = {"body", "coordinate", "dof", "xyz", "wxyz", "six", "nu", "misfit"}
"""Dimensions of a recording that the model alone decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSpec:
    """A controller by name, with what it is made from."""

    type: str
    """A name of the library (see `CONTROLLERS`), "package.module:Name", or "path/file.py:Name"."""
    period: float
    """Time between two of its calls [s]."""
    parameters: Mapping[str, object] = field(default_factory=dict)
    """What the class is called with, by name, besides `period`."""

    def __post_init__(self):
        if not isinstance(self.type, str):
            raise ValueError(f"controller.type is {self.type!r}, must be a text")
        object.__setattr__(self, "period", positive(self.period, "controller.period"))
        object.__setattr__(self, "parameters", dict(pairs(self.parameters, "controller.parameters")))

    def make(self) -> Controller:
        """The controller: a new object of the class, or the function; raises `ScenarioError` that names the key."""
        target = self._find()
        if not inspect.isclass(target):
            if self.parameters:
                raise _wrong("parameters", f"{self.type!r} is a function, which takes none; leave them out, or name a class")
            return target
        arguments = {**self.parameters, "period": self.period}
        try:
            signature = inspect.signature(target)
            signature.bind(**arguments)
        except TypeError as e:
            takes = ", ".join(p for p in signature.parameters)
            raise _wrong("parameters", f"{self.type} does not take them: {e}; it takes {takes or 'none'}") from None
        try:
            return target(**arguments)
        except (TypeError, ValueError, KeyError) as e:
            raise _wrong("parameters", f"{self.type} does not take them: {_words(e)}") from e

    def _find(self):
        """The class or function."""
        module, colon, name = CONTROLLERS.get(self.type, self.type).rpartition(":")
        if not colon:
            hint = nearest(self.type, CONTROLLERS)
            raise _wrong("type", f"no controller {self.type!r}{hint}; or write 'package.module:Name' or 'file.py:Name'")
        try:
            found = _module_of_file(module) if module.endswith(".py") else importlib.import_module(module)
        except FileNotFoundError:
            raise _wrong("type", f"there is no file {module!r}; its path is relative to the scenario file") from None
        except Exception as e:  # code of a user's own
            raise _wrong("type", f"{module!r} cannot be imported: {type(e).__name__}: {_words(e)}") from e
        target = getattr(found, name, None)
        if not callable(target):
            known = [n for n, x in vars(found).items() if callable(x) and not n.startswith("_")]
            raise _wrong("type", f"{module!r} has no class or function {name!r}{nearest(name, known)}")
        return target


def _wrong(key: str, words: str) -> ScenarioError:
    return ScenarioError("controller", [f"controller.{key}: {words}"], [("controller", key)])


def _words(error: Exception) -> str:
    """What an error says; a KeyError would put it in quotes."""
    return str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)


def _module_of_file(path: str):
    """The module in a file, run afresh."""
    name = f"hydromechs_controller_{hashlib.sha256(path.encode()).hexdigest()[:12]}"
    if not Path(path).is_file():
        raise FileNotFoundError(path)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """All of a simulation as data. Faults are found when it is built, and listed in one `ScenarioError`.

    scenario = hydromechs.library.load_scenario("sinking_chain")
    run = scenario.simulation().run(scenario.duration)
    results = [check.judge(run.recording) for check in scenario.checks]
    """

    name: str
    """Name of the scenario."""
    title: str = ""
    """What happens, in one line."""
    description: str = ""
    """What it shows, for people."""
    models: tuple[ModelStart, ...]
    """The models, and how they start."""
    environment: Environment = field(default_factory=Environment)
    """The water."""
    terrain: tuple[contact.terrain.Terrain, ...] = ()
    """What stands still and can be touched."""
    touching: tuple[str, ...] = ()
    """Names of frames that touch terrain at their origin."""
    collisions: tuple[tuple[str, str], ...] = ()
    """Pairs of names of bodies that can touch each other."""
    material: contact.Material | None = None
    """How bodies meet each other."""
    thrusters: tuple[Thruster, ...] = ()
    """Thrusters."""
    drives: tuple[tuple[str, object], ...] = ()
    """Drive of each driven joint, by the name of the body that it carries; a mapping may be given."""
    friction: tuple[tuple[str, object], ...] = ()
    """Friction of joints by name; what the model says for those not named."""
    stops: tuple[tuple[str, object], ...] = ()
    """Stops of joints by name; soft ones at the model's limits for those not named; None for a joint without."""
    grasps: tuple[contact.Grasp, ...] = ()
    """What is held together, or can be."""
    external: tuple[str, ...] = ()
    """Names of bodies on which wrenches act."""
    commands: tuple[tuple[str, float], ...] = ()
    """Commands from the start, by actuator."""
    controller: ControllerSpec | Controller | None = None
    """What gives commands; a `ControllerSpec`, or a controller of your own."""
    events: tuple[Event, ...] = ()
    """Things to watch for."""
    integrator: object = "rk4"
    """A method of integration, or its name."""
    step: float = 1e-3
    """Step of the integrator [s]."""
    record: float = 0.02
    """Time between two samples of the recording [s]."""
    duration: float = 60.0
    """How long to simulate [s]."""
    seed: int = 0
    """Of gusts and waves."""
    checks: tuple[Check, ...] = ()
    """What must be true of the recording."""

    def __post_init__(self):
        for name in ("models", "terrain", "touching", "thrusters", "grasps", "external", "events", "checks"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "collisions", tuple((a, b) for a, b in self.collisions))
        for name in ("drives", "friction", "stops", "commands"):
            object.__setattr__(self, name, pairs(getattr(self, name), name))
        object.__setattr__(self, "integrator", method_named(self.integrator))
        for name in ("step", "record", "duration"):
            object.__setattr__(self, name, positive(getattr(self, name), name))
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise ValueError(f"seed is {self.seed!r}, must be a whole number of 0 or more")
        faults = scenario_faults(self)
        if faults:
            raise ScenarioError(self.name, [f.text for f in faults], [f.path for f in faults])

    @cached_property
    def _assembled(self) -> tuple[Model, State]:
        return assemble(self.models)

    @property
    def model(self) -> Model:
        """The models as one."""
        return self._assembled[0]

    @property
    def start(self) -> State:
        """Configuration and velocity at time 0."""
        return self._assembled[1]

    def control(self) -> Controller | None:
        """The controller, made anew where it is given by name; None where there is none."""
        return self.controller.make() if isinstance(self.controller, ControllerSpec) else self.controller

    def simulation(self) -> Simulation:
        """The simulation, at its start."""
        sim = Simulation(
            self.model,
            environment=self.environment,
            thrusters=self.thrusters,
            drives=dict(self.drives),
            friction=dict(self.friction),
            stops=dict(self.stops),
            terrain=self.terrain,
            touching=self.touching,
            collisions=self.collisions,
            material=self.material,
            grasps=self.grasps,
            external=self.external,
            controller=self.control(),
            period=self.controller.period if isinstance(self.controller, ControllerSpec) else None,
            events=self.events,
            integrator=self.integrator,
            step=self.step,
            record=self.record,
            seed=self.seed,
            state=self.start,
        )
        sim.command = dict(self.commands)
        return sim


def scenario_faults(scenario: Scenario) -> list[Fault]:
    """What is wrong with a scenario: names that nothing has, times that do not fit together.

    Args:
        scenario: Its fields are of the right types.
    """
    if not scenario.models:
        return [Fault(("models",), "models is empty; give at least one")]
    out = _time_faults(scenario)
    faults = start_faults(scenario.models)
    if faults:
        return [*faults, *out]
    model = scenario.model
    named = _name_faults(scenario, model)
    if named:  # quantities of what is not named rightly cannot be judged
        return [*out, *named, *_quantity_faults(scenario, Plant(model=model), lambda dims: OF_MODEL.issuperset(dims or "?"))]
    try:
        plant = _plant(scenario, model)
    except (ValueError, KeyError, ArithmeticError) as e:
        return [*out, Fault((), _words(e))]
    return [*out, *_quantity_faults(scenario, plant, lambda dims: True)]


def _plant(scenario: Scenario, model: Model) -> Plant:
    acting = joint_actuation(model, dict(scenario.drives), dict(scenario.friction), dict(scenario.stops), scenario.start)
    touching = dict(points=scenario.touching, bodies=scenario.collisions, material=scenario.material)
    return Plant(
        model=model,
        environment=scenario.environment,
        seed=scenario.seed,
        thrusters=scenario.thrusters,
        joints=acting,
        contacts=contact.contact_pairs(model, scenario.terrain, **touching),
        grasps=scenario.grasps,
        external=scenario.external,
    )


def _time_faults(scenario: Scenario) -> list[Fault]:
    """Times that must be whole numbers of steps, as `Simulation` wants them."""
    times = {("record",): scenario.record}
    if isinstance(scenario.controller, ControllerSpec):
        times["controller", "period"] = scenario.controller.period
    if scenario.environment.gusts is not None:
        times["environment", "gusts", "interval"] = scenario.environment.gusts.interval
    out = []
    if scenario.record > scenario.duration:
        text = f"record is {scenario.record:g} s, must not be longer than the duration of {scenario.duration:g} s"
        out.append(Fault(("record",), text))
    for path, value in times.items():
        ratio = value / scenario.step
        if scenario.integrator.name != "dormand_prince" and abs(ratio - max(1, round(ratio))) > 1e-6 * ratio:
            near = f"{max(1, round(ratio)) * scenario.step:g}"
            must = f"must be a whole number of steps of {scenario.step:g} s: try {near} s, or another step"
            out.append(Fault(path, f"{'.'.join(path)} is {value:g} s, {must}"))
    return out


def _name_faults(scenario: Scenario, model: Model) -> list[Fault]:
    """Names that nothing in the model has, names that occur twice."""
    out = []
    one_axis = [b.name for b in model.bodies if isinstance(b.joint, joints.Revolute | joints.Prismatic)]

    def look(path: tuple, what: str, name, known, whose: str) -> None:
        if name not in known:
            out.append(Fault(path, f"{what}: no {whose} {name!r} in {model.name}{nearest(str(name), known)}"))

    for i, thruster in enumerate(scenario.thrusters):
        look(("thrusters", i, "frame"), f"thruster {thruster.name!r}", thruster.frame, model.frames, "frame")
        if thruster.name in [t.name for t in scenario.thrusters[:i]]:
            text = f"thruster {thruster.name!r}: another thruster has this name, too; names must differ"
            out.append(Fault(("thrusters", i, "name"), text))
    for key in ("drives", "friction", "stops"):
        for name, _ in getattr(scenario, key):
            look((key, name), "joints", name, one_axis, "revolute or prismatic joint")
    for i, name in enumerate(scenario.touching):
        look(("touching", i), "contact points", name, model.frames, "frame")
    for i, pair in enumerate(scenario.collisions):
        for name in pair:
            look(("collisions", i), "contact of bodies", name, model.body_names, "body")
    for i, name in enumerate(scenario.external):
        look(("external", i), "external", name, model.body_names, "body")
    actuators = [*(t.name for t in scenario.thrusters), *(name for name, _ in scenario.drives)]
    for name, value in scenario.commands:
        look(("commands", name), "commands", name, actuators, "actuator")
        if not np.isfinite(value):
            out.append(Fault(("commands", name), f"commands.{name} is {value}, must be finite"))
    if not scenario.name or scenario.name.startswith(".") or any(c in scenario.name for c in "/\\\0"):
        out.append(Fault(("name",), f"name is {scenario.name!r}; it names a folder: no empty one, no '/', no '.' at its start"))
    spec = scenario.controller
    if isinstance(spec, ControllerSpec) and ":" not in spec.type and spec.type not in CONTROLLERS:
        text = f"controller.type: no controller {spec.type!r}{nearest(spec.type, CONTROLLERS)}"
        out.append(
            Fault(("controller", "type"), f"{text}; name one of {', '.join(CONTROLLERS)}, or 'module:Name', 'file.py:Name'")
        )
    for i, event in enumerate(scenario.events):
        if event.quantity == "time" and not 0.0 < event.level < scenario.duration:
            text = f"event {event.name!r}: time never crosses {event.level:g} s in a run from 0 to {scenario.duration:g} s"
            out.append(Fault(("events", i, "level"), f"{text}; for something at the start use commands"))
    held = [grasp.name for grasp in scenario.grasps]
    for i, grasp in enumerate(scenario.grasps):
        for key in ("holder", "held"):
            known = [*model.frames, *model.body_names]
            look(("grasps", i, key), f"grasp {grasp.name!r}", getattr(grasp, key), known, "frame or body")
    for i, event in enumerate(scenario.events):
        for key in ("grasp", "release"):
            for k, name in enumerate(getattr(event, key)):
                look(("events", i, key, k), f"event {event.name!r}", name, held, "grasp")
        for name, _ in event.command:
            look(("events", i, "command", name), f"event {event.name!r}", name, actuators, "actuator")
        for name, _ in event.wrench:
            if name not in scenario.external:
                known = nearest(name, scenario.external)
                text = f"event {event.name!r}: wrench on {name!r}, which is not named in external{known}; add it there"
                out.append(Fault(("events", i, "wrench", name), text))
    return out


def _quantity_faults(scenario: Scenario, plant: Plant, judged: Callable) -> list[Fault]:
    """Quantities of events and checks that are not there, of those whose dimensions (None if unknown) can be `judged`."""
    labels, out = coordinates(plant), []
    recorded = {"time": (), **{v.name: v.dims[1:] for v in schema(plant)}}
    for key, kind, variables in (("events", "event", watchable(plant)), ("checks", "check", recorded)):
        for i, item in enumerate(getattr(scenario, key)):
            if not judged(variables.get(item.quantity.partition(".")[0])):
                continue
            try:
                place(item.quantity, variables, labels)
            except KeyError as e:
                out.append(Fault((key, i, "quantity"), f"{kind} {item.name!r}: quantity: {e.args[0]}"))
    return out
