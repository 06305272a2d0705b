"""Conversion of the argument of a caller to a source of worlds."""

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from hydromechs import equations
from hydromechs.contact import Terrain
from hydromechs.equations import Dynamics
from hydromechs.errors import UnsupportedFeature
from hydromechs.integrators import Integrator
from hydromechs.model import Model, State
from hydromechs.scenario import Scenario
from hydromechs.sensors import Sensor, SensorSuite
from hydromechs.simulation import BlockPart, Mission, Plant, Simulation, TracedBlock

from ._mechanism import Mechanism
from ._plant import PlantSource, lanes_of
from ._source import Source


def source_of(
    what: Any,
    method: Integrator,
    inputs: Iterable[str],
    parameters: Iterable[str] | Mapping[str, Any],
    lanes: int | None,
    threads: int | None,
) -> Source:
    """Return the compiled source of worlds for a model, compiled model or plant."""
    if isinstance(what, Plant):
        if tuple(inputs):
            raise ValueError(
                "inputs applies only to a model, because a plant has commands and held inputs instead; omit inputs"
            )
        for name in () if isinstance(parameters, Mapping) else parameters:
            if name not in what.parameters:
                raise ValueError(f"parameter {name!r} is not open in the plant; list the parameter in Plant(parameters=[...])")
        return PlantSource(what, method, lanes, threads)
    if isinstance(what, Model):
        what = equations.compile(what, lanes=lanes, threads=1 if threads is None else threads, parameters=list(parameters))
    elif not isinstance(what, Dynamics):
        kind = type(what).__name__
        raise TypeError(f"worlds are of type {kind}; pass a Model, a compiled model, a Plant or a Scenario")
    elif lanes is not None or threads is not None:
        raise ValueError(
            "lanes and threads apply only to models and plants; for a compiled model, use hm.compile(model, lanes=8)"
        )
    return Mechanism(what, method, inputs)


def simulation_of(
    what: Any,
    controller: TracedBlock | None,
    sensors: tuple[Sensor, ...],
    ground: tuple[Terrain, ...],
    parameters: tuple[str, ...],
    start: State | None,
    compiled: bool,
    lanes: int | None,
    how: Mapping[str, Any],
) -> Simulation | None:
    """Return a simulation of one world if the worlds need the mission loop; None otherwise.

    `compiled`: True if scenarios without blocks and events also use this loop. `lanes`: see `lanes_of`. `how`: step,
    integrator and time between samples, as in `Simulation`.
    """
    if isinstance(what, Scenario):
        if controller is not None or sensors:
            raise ValueError("controller and sensors apply only to a plant; add them to the blocks of the scenario")
        if what.engine is not None:
            raise UnsupportedFeature(
                f"engine {what.engine.name!r} of scenario {what.name!r} supports only one world; remove the engine"
            )
        if not compiled and not what.blocks and not what.events and not _opens(what.plant):
            return None
        own = lanes_of(lanes)
        return (
            Simulation(what.setup(parameters), lanes=own, **how) if parameters else replace(what, **how).simulation(lanes=own)
        )
    for name, given in (("sensors", sensors), ("controller", controller)):
        if given and not isinstance(what, Plant):
            raise ValueError(f"{name} applies only to a plant; build a plant with hm.Plant(model=..., components=...)")
    if controller is not None and not isinstance(controller, TracedBlock):
        raise TypeError(f"controller is {controller!r}, must be a TracedBlock; write the controller in NumPy operations")
    if controller is None and not sensors and not (isinstance(what, Plant) and _opens(what)):
        return None
    suite = SensorSuite(tuple(sensors), tuple(ground)) if sensors else None
    parts = [] if controller is None else [BlockPart(controller)]
    mission = Mission(parts, suite) if parts or suite else None
    same = start is not None and all(np.ndim(getattr(start, f.name)) <= 1 for f in fields(start))
    return Simulation(what, controller=mission, state=start if same else None, lanes=lanes_of(lanes), **how)


def _opens(plant: Plant) -> bool:
    """True if a component of the plant can open automatically, which is an event."""
    return any(c.opens_at for c in plant.components)
