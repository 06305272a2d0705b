"""Checks before a run starts: commands out of range, too many samples, breaking waves, impossible initial poses."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hydromechs import dynamics
from hydromechs.actuation import JointMotion, JointStops
from hydromechs.contact import Pair
from hydromechs.errors import REJECTED, faults_of, rejections
from hydromechs.hydro import Environment, wave_components
from hydromechs.integrators import method_named, whole_steps
from hydromechs.model import Fault, Model
from hydromechs.model.component import Component, Now, StillWater
from hydromechs.navigation import Navigation, vehicle_of
from hydromechs.sensors import Sensor, common_period, whole_periods
from hydromechs.simulation import CommandRanges, InitialInstant, Plant, PythonBlock, Simulation, size_faults, stiff_parts
from hydromechs.spatial import rotation_between

if TYPE_CHECKING:
    from ._scenario import Scenario

__all__ = [
    "check_faults",
    "environment_faults",
    "owner_of",
    "place_of",
    "placed_faults",
    "plant_faults",
    "sensor_faults",
    "stiff_faults",
    "time_faults",
    "trial_faults",
]

MAX_REPORTED = 5
"""Maximum number of excessively stiff parts that are reported individually."""
WEIGHTS = 10.0
"""Limit of the initial contact force, as a multiple of the weight of all bodies [-]; more indicates overlapping bodies."""
MAX_EJECTION_SPEED = 1.0
"""Limit of the speed that the initial contact energy can cause [m/s]; more indicates overlapping bodies."""


def owner_of(scenario: Scenario, name: str) -> tuple[int, str]:
    """Return the index of the model that contains a body or joint, and the name of the body or joint in that model."""
    if len(scenario.models) > 1:
        for i, start in enumerate(scenario.models):
            if name.startswith(f"{start.name}."):
                return i, name.removeprefix(f"{start.name}.")
    return 0, name


def place_of(scenario: Scenario, component: Component) -> tuple[Any, ...]:
    """Return the path of the scenario or model part from which a component of the plant is derived."""
    for i, part in enumerate(scenario.components):
        if part.owns(scenario.model, component):
            return "components", i
    joint = getattr(component, "joint", None)
    return () if joint is None else ("models", owner_of(scenario, joint)[0])


def placed_faults(scenario: Scenario, error: Exception) -> list[Fault]:
    """Return the problems reported by an error of the model, the plant or a controller, with paths in the scenario."""

    def moved(fault: Fault) -> Fault:
        match fault.path:
            case ("components", int(k), *_):
                return replace(fault, path=place_of(scenario, scenario.plant_components[k]))
            case ("bodies", int(k), *_):
                return replace(fault, path=("models", owner_of(scenario, scenario.model.bodies[k].name)[0]))
            case ("rotors", str(joint)):
                there = [("components", i) for i, part in enumerate(scenario.components) if joint in part.rotors]
                return replace(fault, path=(*there, ("models", owner_of(scenario, joint)[0]))[0])
            case ("controller", *names):
                named = [block for block in scenario.controllers if block.name in names]
                block = (*named, *scenario.controllers, *scenario.blocks)[0]
                return replace(fault, path=("blocks", scenario.blocks.index(block)), text=f"{block.name}: {fault.text}")
        return fault

    return [moved(fault) for fault in faults_of(error)]


def time_faults(scenario: Scenario) -> list[Fault]:
    """Return the problems of a run with too many steps or samples; all times of the scenario must be positive."""
    return [Fault((key,), text) for key, text in size_faults(scenario.duration, scenario.step, scenario.record)]


def environment_faults(scenario: Scenario) -> list[Fault]:
    """Return the problems of waves that exceed the limit of steepness; the models of the scenario must be valid."""
    out, environment = [], scenario.environment
    for i, wave in enumerate(environment.waves):
        alone = Environment(waves=(wave,), water_depth=environment.water_depth)
        given = wave_components, alone, scenario.model.world.gravity, scenario.seed
        out += rejections(("environment", "waves", i), *given, prefix=f"environment.waves.{i}: ")
    return out


def sensor_faults(scenario: Scenario, model: Model) -> list[Fault]:
    """Return the problems of blocks: unknown names, incompatible rates, and sensors that the filter cannot use."""
    out: list[Fault] = []
    sensors = scenario.sensors
    for i, block in enumerate(scenario.blocks):
        kind = "sensor" if isinstance(block, Sensor) else "block"
        if isinstance(block, Navigation) and not sensors:
            text = f"{block.name} has no sensors; add an imu and other sensors, or remove {block.name}"
            out.append(Fault(("blocks", i), text))
        if isinstance(block, Sensor):
            out += rejections(("blocks", i), block.check, model)
            out += rejections(("blocks", i), block.check_beside, scenario.components)
        if block.name in [other.name for other in scenario.blocks[:i]]:
            out.append(Fault(("blocks", i), f"{kind} {block.name!r}: another {kind} has the same name; rename one of them"))
    if not out and sensors:
        out = rejections(("blocks",), common_period, sensors)
    if out or not sensors:
        return out
    period = common_period(sensors)
    if not method_named(scenario.integrator).adaptive:
        out += rejections(("blocks",), whole_steps, period, scenario.step, "sensors: 1/rate of the fastest")
    for i, block in enumerate(scenario.blocks):
        if isinstance(block, PythonBlock):
            out += rejections(("blocks", i, "period"), whole_periods, block.make().period, period, f"{block.name}.period")
    return out if scenario.navigation is None else out + rejections(("blocks",), vehicle_of, model, sensors)


@np.errstate(all="ignore")
def plant_faults(scenario: Scenario, plant: Plant) -> list[Fault]:
    """Return the problems of commands out of range, joints beyond their stops, and overlapping bodies."""
    out = _command_faults(scenario, plant)
    out += [*_stop_faults(scenario, plant), *_motion_faults(scenario, plant), *_contact_faults(scenario, plant)]
    start = scenario.start
    try:
        InitialInstant(plant, start.t, start.q, start.v, {}).check()
    except REJECTED as e:
        out += placed_faults(scenario, e)
    return out


def check_faults(scenario: Scenario) -> list[Fault]:
    """Return the problems of checks that start after the end of the run."""
    out, end = [], scenario.duration
    for i, check in enumerate(scenario.checks):
        times = {"after": check.after, "mean_of": 0.0 if check.mean_of is None else check.mean_of[0]}
        for key, time in times.items():
            if time > end * (1.0 + 1e-9):
                text = f"check {check.name!r}: {key} starts at {time:g} s, but the run ends at {end:g} s"
                out.append(Fault(("checks", i, key), f"{text}; set an earlier time or extend the run"))
    return out


def trial_faults(scenario: Scenario) -> list[Fault]:
    """Return the errors of building the simulation, and parts that are too stiff for the step."""
    try:
        return stiff_faults(scenario, scenario.simulation())
    except REJECTED as e:
        return faults_of(e)


def stiff_faults(scenario: Scenario, sim: Simulation) -> list[Fault]:
    """Return the problems of parts that are too stiff for the step at the present state of a simulation."""
    usual = scenario.step == type(scenario).step  # as if a file omits it
    stiff = stiff_parts(sim.plant, sim.state.q, sim.method, scenario.step)
    out = [Fault(place_of(scenario, c) if usual else ("step",), text) for c, text in stiff[:MAX_REPORTED]]
    more = f"{len(stiff) - MAX_REPORTED} more parts are too stiff for the step of {scenario.step:g} s; reduce the step"
    return [*out, *([Fault(out[0].path, more)] if len(stiff) > MAX_REPORTED else [])]


def _command_faults(scenario: Scenario, plant: Plant) -> list[Fault]:
    ranges = CommandRanges(plant.layout)
    faults = ranges.faults(dict(scenario.commands))
    out = [Fault(("commands", name), f"commands: {text}") for name, text in faults.items()]
    for i, event in enumerate(scenario.events):
        for name, text in ranges.faults(dict(event.command)).items():
            out.append(Fault(("events", i, "command", name), f"event {event.name!r}: {text}"))
    return out


def _stop_faults(scenario: Scenario, plant: Plant) -> list[Fault]:
    out, q = [], scenario.start.q
    for c in plant.components:
        if not isinstance(c, JointStops):
            continue
        at = q[plant.model.joint_part(c.joint).q]
        ball = len(at) == 4
        x = float(np.linalg.norm(rotation_between(np.array([1.0, 0.0, 0.0, 0.0]), at))) if ball else float(at[0])
        lower, upper = (0.0 if ball else c.lower), c.upper
        if lower - 1e-9 <= x <= upper + 1e-9:
            continue
        i, joint = owner_of(scenario, c.joint)
        given = joint in dict(scenario.models[i].joints)
        path: tuple[Any, ...] = ("models", i, "joints", joint) if given else ("models", i)
        within = f"rotations up to {upper:g} rad" if ball else f"{lower:g} to {upper:g}"
        remedy = "change the initial position or the stops ('stops: none' removes them)"
        out.append(Fault(path, f"models.{i}: joint {joint!r} starts at {x:g}, but the stops allow {within}; {remedy}"))
    return out


def _motion_faults(scenario: Scenario, plant: Plant) -> list[Fault]:
    """Return the problems of joints whose initial position differs from their prescribed motion."""
    out = []
    for c in plant.components:
        if not isinstance(c, JointMotion):
            continue
        i, joint = owner_of(scenario, c.joint)
        given = dict(scenario.models[i].joints)
        begins = float(c.motion.now(scenario.start.t).position)
        if joint in given and not np.allclose(given[joint], begins, rtol=0.0, atol=1e-9):
            text = f"models.{i}: joint {joint!r} starts at {given[joint]:g}, but the prescribed motion starts at {begins:g}"
            out.append(Fault(("models", i, "joints", joint), f"{text}; remove the position or change the motion"))
    return out


def _contact_faults(scenario: Scenario, plant: Plant) -> list[Fault]:
    """Return the problems of contacts that would eject bodies, because they initially overlap the seabed or each other.

    A body resting on the ground penetrates it slightly, so the contact force alone does not indicate an error.
    """
    pairs = [c for c in plant.components if isinstance(c, Pair)]
    if not pairs:
        return []
    model, start = plant.model, scenario.start
    at_rest = dynamics.kinematics(model, start.q, np.zeros(model.nv))
    now = Now(model, 0.0, start.q, start.v, at_rest, StillWater(None))
    found = []
    for c in pairs:
        action = c.act(now, {s.name: 0.0 for s in c.states(model)}, {})
        found.append(
            (float(action.record["contact_force"]), float(action.record["contact_gap"]), float(action.energy or 0.0), c)
        )
    force, mass = sum(row[0] for row in found), sum(b.inertia.mass for b in model.bodies)
    speed = math.sqrt(2.0 * max(sum(row[2] for row in found), 0.0) / mass) if mass else 0.0
    if not (force > WEIGHTS * mass * model.world.gravity and speed > MAX_EJECTION_SPEED):
        return []
    _, gap, _, deepest = min(found, key=lambda row: row[1])
    i, _ = owner_of(scenario, model.body_names[deepest.body])
    text = (
        f"models.{i} starts {-gap:.3g} m inside another body or the ground: contact {deepest.name!r} "
        f"would eject the model with {force:.3g} N, at about {speed:.3g} m/s; change the initial position (down is +z in NED, "
        "−z in ENU) or the terrain"
    )
    return [Fault(("models", i), text)]
