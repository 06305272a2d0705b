"""Setup of a simulation from a model, a plant, or a complete source such as a scenario."""

import abc
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hydromechs.hydro import Environment
from hydromechs.integrators import Integrator
from hydromechs.model import Model, State
from hydromechs.model.component import Component
from hydromechs.values import instances

from ._block import BLOCKS, Block, PythonBlock
from ._build import components_of
from ._events import Event
from ._mission import BlockPart, Mission, SensingSource
from ._plant import COMPONENTS, Plant


@dataclass(frozen=True, kw_only=True)
class Setup:
    """Plant with the settings of its simulation; see `Simulation`."""

    plant: Plant
    """Simulated plant."""
    mission: Mission | None = None
    """Sensors, filter and controllers; optional."""
    events: tuple[Event, ...] = ()
    """Events to detect."""
    integrator: str | Integrator = "rk4"
    """Integrator, or the name of an integrator."""
    engine: str = ""
    """Name of the third-party engine that `integrator` drives; empty for the built-in equations."""
    step: float = 1e-3
    """Step of the integrator [s]."""
    record: float = 0.02
    """Time between two samples [s]."""
    state: State | None = None
    """Initial state. Defaults to the initial state of the plant."""
    commands: Mapping[str, float] = field(default_factory=dict)
    """Initial commands [unit of the actuator], keyed by actuator."""


class SimulationSource(abc.ABC):
    """Source of a `Simulation` other than a model or a plant, such as a `Scenario`."""

    @abc.abstractmethod
    def setup(self, parameters: Iterable[str] = ()) -> Setup:
        """Return the plant and the settings of its simulation. `parameters`: paths of numbers that remain open."""


def setup_of(
    what: Model | Plant | Setup | SimulationSource,
    environment: Environment | None,
    components: Iterable[Component],
    parameters: Iterable[str] | Mapping[str, Any],
    seed: int | None,
    blocks: Iterable[Block] = (),
) -> Setup:
    """Return the plant to simulate with the settings of its simulation.

    `what`: a model, a plant, or a complete source. `components`: components of a model. `parameters`: names or values of open
    parameters. `seed`: seed of gusts and waves for a model or a source. `blocks`: sensors, filter and controllers for a model
    or a plant.
    """
    blocks = instances(blocks, Block, "blocks", BLOCKS)
    kind, parts = type(what).__name__, instances(components, Component, "components", COMPONENTS)
    named = () if isinstance(parameters, Mapping) else tuple(parameters)
    if isinstance(what, Model):
        plant = Plant(
            model=what,
            environment=Environment() if environment is None else environment,
            components=components_of(what, parts),
            seed=0 if seed is None else seed,
            parameters=instances(list(parameters), str, "parameters", "paths of numbers"),
        )
        return Setup(plant=plant, mission=mission_of(blocks, parts))
    if not isinstance(what, Plant | Setup | SimulationSource):
        raise TypeError(f"a simulation requires a Model, a Plant or a Scenario, got {kind}; load a model with hm.load")
    given = {"environment": environment is not None, "components": bool(parts)}
    if not isinstance(what, SimulationSource):
        given |= {"parameters": bool(named), "seed": seed is not None}
    if not isinstance(what, Plant):
        given["blocks"] = bool(blocks)
    for name in (name for name, is_given in given.items() if is_given):
        raise TypeError(
            f"{name} is given, but the {kind} already contains this setting; change the {kind} with dataclasses.replace"
        )
    if isinstance(what, Plant):
        return Setup(plant=what, mission=mission_of(blocks, what.components))
    setup = what.setup(tuple(parameters)) if isinstance(what, SimulationSource) else what
    return setup if seed is None else replace(setup, plant=replace(setup.plant, seed=seed))


def mission_of(blocks: Iterable[Block], components: Sequence[Component]) -> Mission | None:
    """Return the mission of a simulation: sensors and navigation filter, followed by all controllers; None without blocks.

    `components`: components of the simulation, including terrain.
    """
    blocks = instances(blocks, Block, "blocks", BLOCKS)
    names = [block.name for block in blocks]
    for name in (name for k, name in enumerate(names) if name in names[:k]):
        raise ValueError(f"blocks: two blocks are named {name!r}; rename one of them")
    named = [block for block in blocks if isinstance(block, PythonBlock)]
    several = sum(block.name != "" for block in named) > 1
    parts = [BlockPart(block.make(), block.name if several else "", block.phase) for block in named]
    source: SensingSource | None = None
    for block in blocks:
        source = block.sensing(source, blocks, components)
    return Mission(parts, source) if parts or source is not None else None
