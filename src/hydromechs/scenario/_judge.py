"""What makes a scenario impossible before it starts: commands out of range, too many samples, waves that break, bad places."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from hydromechs import dynamics
from hydromechs.actuation import JointStops
from hydromechs.contact import Pair
from hydromechs.errors import ModelError, ScenarioError, words_of
from hydromechs.hydro import Environment, wave_components
from hydromechs.integrators import method_named
from hydromechs.model import Fault
from hydromechs.model.code import named_joints
from hydromechs.model.component import Now, StillWater
from hydromechs.simulation import CommandRanges, Plant, size_faults, step_faults
from hydromechs.spatial import rotation_between

from ._assemble import start_names
from ._code import ComponentSpec

if TYPE_CHECKING:
    from ._scenario import Scenario

__all__ = ["environment_faults", "plant_faults", "time_faults", "trial_faults"]

WEIGHTS = 10.0
"""Contact force at the start, in weights of all bodies, above which a start is inside of something."""
THROWN = 1.0
"""Speed to which the contacts' energy at the start would bring all bodies, above which a start is inside of something [m/s]."""


def time_faults(scenario: Scenario) -> list[Fault]:
    """More steps or samples than a run can have.

    Args:
        scenario: The scenario; its times are positive.
    """
    return [Fault((key,), text) for key, text in size_faults(scenario.duration, scenario.step, scenario.record)]


def environment_faults(scenario: Scenario) -> list[Fault]:
    """Waves and seas that are steeper than they can be.

    Args:
        scenario: The scenario; its models are good.
    """
    out, environment = [], scenario.environment
    for i, wave in enumerate(environment.waves):
        try:
            alone = Environment(waves=(wave,), water_depth=environment.water_depth)
            wave_components(alone, scenario.known_model.world.gravity, scenario.seed)
        except (ValueError, ArithmeticError) as e:
            out.append(Fault(("environment", "waves", i), f"environment.waves.{i}: {e}"))
    return out


@np.errstate(all="ignore")
def plant_faults(scenario: Scenario, plant: Plant) -> list[Fault]:
    """Commands outside of their ranges, joints beyond their stops, bodies inside of what they can touch.

    Args:
        scenario: The scenario.
        plant: What it simulates, as far as that is known without running code.
    """
    out = _command_faults(scenario, plant)
    if any(named_joints(start.model) for start in scenario.models):
        return out  # where its bodies are is not known yet
    out += [*_stop_faults(scenario, plant), *_contact_faults(scenario, plant)]
    return [*out, *_tether_faults(scenario, plant)]


def trial_faults(scenario: Scenario) -> list[Fault]:
    """What else a simulation of it refuses, a controller of the library too; nothing where that would run code of others.

    Args:
        scenario: The scenario.
    """
    try:
        if scenario.code:
            foreign = any(isinstance(c, ComponentSpec) for c in scenario.components)
            foreign = foreign or any(named_joints(start.model) for start in scenario.models)
            plant = None if foreign else scenario.plant
        else:
            plant = scenario.simulation().plant
        if plant is None or scenario.engine is not None:
            return []
        stiff = step_faults(plant, scenario.start.q, method_named(scenario.integrator), scenario.step)
        return [Fault(("step",), text) for text in stiff]
    except (ModelError, ScenarioError) as e:
        return list(e.faults)
    except (ValueError, KeyError, TypeError, ArithmeticError) as e:
        return [Fault((), words_of(e))]


def _command_faults(scenario: Scenario, plant: Plant) -> list[Fault]:
    ranges = CommandRanges(plant.layout)
    faults = ranges.faults(dict(scenario.commands))
    out = [Fault(("commands", name), f"commands: {text}") for name, text in faults.items()]
    for i, event in enumerate(scenario.events):
        for name, text in ranges.faults(dict(event.command)).items():
            out.append(Fault(("events", i, "command", name), f"event {event.name!r}: {text}"))
    return out


def _owner(scenario: Scenario, name: str) -> tuple[int, str]:
    """Number of the model that a body or joint belongs to, and its name there."""
    if len(scenario.models) > 1:
        for i, model in enumerate(start_names(scenario.models)):
            if name.startswith(f"{model}."):
                return i, name.removeprefix(f"{model}.")
    return 0, name


def _stop_faults(scenario: Scenario, plant: Plant) -> list[Fault]:
    out, q = [], scenario.start.q
    for c in plant.components:
        if not isinstance(c, JointStops):
            continue
        at = q[plant.model.joint_part(c.joint).q]
        ball = len(at) == 4
        x = float(np.linalg.norm(rotation_between(np.array([1.0, 0.0, 0.0, 0.0]), at))) if ball else float(at[0])
        lower, upper = (0.0 if ball else c.stops.lower), c.stops.upper
        if lower - 1e-9 <= x <= upper + 1e-9:
            continue
        i, joint = _owner(scenario, c.joint)
        given = joint in dict(scenario.models[i].joints)
        path: tuple[Any, ...] = ("models", i, "joints", joint) if given else ("models", i)
        within = f"turned by at most {upper:g} rad" if ball else f"from {lower:g} to {upper:g}"
        remedy = "start it inside, or give the joint 'stops: none' or stops of its own"
        out.append(Fault(path, f"models.{i}: joint {joint!r} starts at {x:g}, but its stops allow it {within}; {remedy}"))
    return out


def _tether_faults(scenario: Scenario, plant: Plant) -> list[Fault]:
    """Lines that do not reach from end to end at the start."""
    out = []
    for i, tether in enumerate(scenario.tethers):
        try:
            tether.check_start(plant.model, scenario.start.q)
        except ValueError as e:
            out.append(Fault(("tethers", i, "length"), str(e)))
    return out


def _contact_faults(scenario: Scenario, plant: Plant) -> list[Fault]:
    """Contacts that would throw the bodies away: they start inside of the seabed, or of each other.

    A body that rests on the ground is in it by a little, so that the force alone says nothing against a start.
    """
    pairs = [c for c in plant.components if isinstance(c, Pair)]
    if not pairs:
        return []
    model, start = plant.model, scenario.start
    now = Now(model, 0.0, start.q, start.v, dynamics.kinematics(model, start.q, np.zeros(model.nv)), StillWater(None))
    found = []
    for c in pairs:
        action = c.act(now, {s.name: 0.0 for s in c.states(model)}, {})
        found.append(
            (float(action.record["contact_force"]), float(action.record["contact_gap"]), float(action.energy or 0.0), c)
        )
    force, mass = sum(row[0] for row in found), sum(b.inertia.mass for b in model.bodies)
    speed = math.sqrt(2.0 * max(sum(row[2] for row in found), 0.0) / mass) if mass else 0.0
    if not (force > WEIGHTS * mass * model.world.gravity and speed > THROWN):
        return []
    _, gap, _, deepest = min(found, key=lambda row: row[1])
    i, _ = _owner(scenario, model.body_names[deepest.body])
    text = (
        f"models.{i} starts {-gap:.3g} m inside: contact {deepest.name!r} would throw it out with {force:.3g} N, "
        f"at about {speed:.3g} m/s; change its position (down is +z in NED, −z in ENU) or the terrain"
    )
    return [Fault(("models", i), text)]
