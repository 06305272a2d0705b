"""Missions for a runner in another language: routines, programs, and plain data.

The runner (`browser/engine.js`) reproduces `LiveRun`, `OneWorld` and `Watched` step by step, with identical results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hydromechs import dynamics
from hydromechs.compiler import Argument, Recipe, Routine
from hydromechs.contact import Grip
from hydromechs.errors import UnsupportedFeature
from hydromechs.hydro import RegularWave, wave_components
from hydromechs.integrators import FixedStep
from hydromechs.recording import ATTITUDE, find_terms, period_of
from hydromechs.values import Array

from ._closing import closing_recipe, closing_texts
from ._events import Event, inputs_after, switch_places, wrench_places
from ._mission_march import REPORT
from ._observe import coordinates, schema
from ._one_world import OneWorld
from ._simulation import Simulation
from ._watches import SoftStops

HORIZON = 3600.0
"""Time to which time-dependent inputs are written [s]."""
SEAS = 32
"""Number of seeds whose random waves are written."""


@dataclass(frozen=True)
class Portable:
    """Mission for another runner."""

    routines: Mapping[str, Routine]
    """Routines, keyed by name: `mission` is the loop, `bare` only takes steps with a separate state, and `look` runs only
    sensors at the end of a run."""
    programs: Mapping[str, Recipe]
    """Programs, keyed by name: `observe` computes recorded quantities, `turns` orientations, and `closing` and `apart` are for
    constraints and grips that close."""
    values: Mapping[str, Array]
    """Initial values of the arrays of the routines, keyed by name."""
    data: Mapping[str, Any]
    """All other data, as plain data."""


def portable(simulation: Simulation) -> Portable:
    """Return the mission of a simulation in its initial state; raise `UnsupportedFeature` if a runner cannot execute it."""
    sim, plant = simulation, simulation.plant
    _check(sim)
    world = OneWorld(sim, sim.march)
    world._begin()
    routines = sim.march.routines()
    values = {name: x[0].copy() for name, x in world.state.items()}
    values |= {name: x[0] for name, x in sim.march.given.items()}
    programs = {"observe": sim._programs.observer.recipe}
    turns = _turns(sim)
    if turns is not None:
        programs["turns"] = turns
    grips = [c for c in plant.components if isinstance(c, Grip)]
    switches = switch_places(plant)
    names = {plant.components[k].name for k in plant.constraining}
    if names & switches.keys():
        programs["closing"] = closing_recipe(plant)
    if grips:
        programs["apart"] = _apart(sim, grips)
    data = {
        "sizes": _sizes(sim),
        "steps": {"sensing": sim.march.sensing_every, "ticking": sim.march.ticking},
        "commands": _inputs(sim, commands=True),
        "held": _inputs(sim, commands=False),
        "signals": [{"name": name, "unit": unit} for name, unit in sim.signals.items()],
        "variables": _variables(sim),
        "coords": coordinates(plant, sim.signals),
        "data": _data(sim),
        "events": [_event(sim, e) for e in sim.events],
        "guards": [] if sim.march.guards is None else [sim.events.index(e) for e in sim.march.guards.events],
        "looks": [x for x in (sim.period, sim.record) if x],
        "servos": _servos(sim),
        "texts": _texts(sim),
        "constraints": closing_texts(plant) if "closing" in programs else [],
        "switches": switches,
        "firm": sorted(names),
        "grips": [{"name": c.name, "held": c.held, "reach": c.reach} for c in grips],
        "wrenches": wrench_places(plant),
        "stops": _stops(sim),
        "notes": sim._plant_notes(),
    }
    return Portable(routines, programs, values, data)


def _check(sim: Simulation) -> None:
    """Raise `UnsupportedFeature` for features that a compiled loop does not support."""
    if not isinstance(sim.method, FixedStep):
        raise UnsupportedFeature(
            f"integrator {sim.method.name!r} is adaptive or a third-party engine, but a compiled mission requires fixed steps; "
            "set 'integrator: rk4' and a step"
        )
    for part in () if sim.mission is None else sim.mission.python:
        name = f"{part.name!r} ({type(part.block).__name__})" if part.name else type(part.block).__name__
        raise UnsupportedFeature(
            f"block {name} runs in Python, but a compiled mission requires traced blocks; derive its class from TracedBlock, "
            "or remove the block"
        )


def _sizes(sim: Simulation) -> dict[str, int]:
    layout, model = sim.plant.layout, sim.model
    sizes = {"nq": model.nq, "nv": model.nv, "nz": layout.nz, "nb": model.nb, "na": len(layout.commands)}
    return sizes | {"nh": len(layout.held), "nu": layout.size, "causes": len(layout.causes)}


def _finite(x: float) -> float | None:
    return float(x) if math.isfinite(x) else None


def _inputs(sim: Simulation, commands: bool) -> list[dict[str, Any]]:
    layout, na = sim.plant.layout, len(sim.plant.layout.commands)
    names = layout.commands if commands else layout.held
    slots = layout.input_slots[:na] if commands else layout.input_slots[na : na + len(names)]
    starts = sim.command if commands else sim.held
    out = []
    for k, (name, slot, start) in enumerate(zip(names, slots, starts.tolist(), strict=True)):
        low, high = map(_finite, slot.limits)
        row = {"name": name, "unit": slot.unit, "low": low, "high": high, "start": start}
        if commands:
            row["rest"] = None if callable(slot.start) else slot.start
        else:
            row["switch"] = bool(sim._held_ranges.switches[k])
        out.append(row)
    return out


def _variables(sim: Simulation) -> list[dict[str, Any]]:
    names = coordinates(sim.plant, sim.signals)
    return [
        {
            "name": v.name,
            "dims": list(v.dims[1:]),
            "shape": [len(names[d]) for d in v.dims[1:]],
            "units": v.units,
            "long_name": v.long_name,
            "dtype": v.dtype,
        }
        for v in schema(sim.plant, sim.signals)
    ]


def _data(sim: Simulation) -> dict[str, Any]:
    """Return the run data among the inputs: locations, and values over time."""
    plant, layout = sim.plant, sim.plant.layout
    places = {name: [at.start, at.stop - at.start] for name, (at, _) in layout.data.items()}
    timed = []
    for c in plant.components:
        if not c.timed:
            continue
        rows, t = [], 0.0
        while t < HORIZON:
            values, end = c.timed_values(t)
            rows.append([t, list(map(float, values))])
            t = end
        timed.append({"name": f"timed.{c.name}", "rows": rows})
    seas = None
    if plant.waves is not None and any(not isinstance(w, RegularWave) for w in plant.environment.waves):
        seas = {}
        for seed in range(plant.seed, plant.seed + SEAS):
            w = wave_components(plant.environment, plant.model.world.gravity, seed)
            numbers, at = plant.data(plant.flow(), 0.0, {}, waves=w)[0], layout.data["waves"][0]
            before = layout.size - len(numbers)
            seas[str(seed)] = numbers[at.start - before : at.stop - before].tolist()
    flow = plant.flow().described() if plant.streams else None
    return {"places": places, "flow": flow, "timed": timed, "seas": seas, "seed": plant.seed}


def _event(sim: Simulation, e: Event) -> dict[str, Any]:
    plant, layout = sim.plant, sim.plant.layout
    variables: dict[str, Sequence[str]] = {"time": (), **{v.name: v.dims[1:] for v in schema(plant, sim.signals)}, **ATTITUDE}
    head, terms = find_terms(e.quantity, variables, coordinates(plant, sim.signals))
    nothing = np.full(layout.size, np.nan)
    na, nh = len(layout.commands), len(layout.held)
    nothing[na : na + nh] = 0.0  # rates of servos, which the runner computes
    changed = inputs_after(e, plant, nothing, 0.0)
    edits = [[int(k), float(changed[k])] for k in np.flatnonzero(~np.isnan(changed)) if changed[k] != nothing[k]]
    edits += [[na + k, 0.0] for name, k in switch_places(plant).items() if name in e.release]
    for body, wrench in e.wrench:
        edits += [[na + k, float(x)] for k, x in zip(wrench_places(plant)[body], wrench, strict=True)]
    return {
        "name": e.name,
        "quantity": e.quantity,
        "terms": [head, [list(row) for row in terms]],
        "period": period_of(e.quantity),
        "level": e.level,
        "direction": e.direction,
        "stop": e.stop,
        "acts": e.acts,
        "control": e.control,
        "edits": edits,
        "grasp": list(e.grasp),
        "message": e.message,
    }


def _servos(sim: Simulation) -> list[list[int]]:
    """Return the indices of target, rate and time of each servo in the inputs."""
    layout, na = sim.plant.layout, len(sim.plant.layout.commands)
    held = {name: na + k for k, name in enumerate(layout.held)}
    return [[k, held[f"{name}.rate"], held[f"{name}.at"]] for k, name in enumerate(layout.commands) if f"{name}.rate" in held]


class _Number(float):
    """Number in a text, which is formatted as a field of the template."""

    place: int

    def __format__(self, spec: str) -> str:
        return f"{{{self.place}:{spec}}}"


def template(text: Callable[..., str]) -> str:
    """Return the template of a message, with fields such as "{0:.3g}" for its numbers."""
    numbers = [_Number() for _ in range(REPORT - 1)]
    for k, x in enumerate(numbers):
        x.place = k
    try:
        return text(*numbers)
    except (TypeError, ValueError, IndexError, ArithmeticError):
        return "a block reports {0:g}, {1:g}, {2:g}, {3:g}"


def _texts(sim: Simulation) -> list[dict[str, Any]]:
    """Return the texts of reports in order."""
    mission = sim.mission
    if mission is None:
        return []
    rows = [] if mission.sensing is None else [(template(text), False) for text in mission.sensing.texts]
    for block in (part.traced for part in mission.parts if part.traced is not None):
        rows += [(template(text), False) for text in block.message_texts.values()]
        rows += [(template(text), True) for text in block.stop_texts.values()]
    return [{"text": text, "stop": stop} for text, stop in rows]


def _stops(sim: Simulation) -> list[dict[str, Any]]:
    """Return the joints whose default stops are monitored."""
    return SoftStops(sim.plant).described()


def _turns(sim: Simulation) -> Recipe | None:
    """Return the orientations of the bodies as a program of q; None if the quaternion of a joint is unknown."""
    model, orientations = sim.model, sim.plant.orientations
    if not orientations.smooth:
        return None

    def turns(q: Array) -> Array:
        return orientations.signed(np.zeros((1, model.nb, 3, 3)), q[None])[0]

    return Recipe("turns", turns, (Argument("q", (model.nq,)),), (Argument("turns", (model.nb, 4)),), None, rarely_called=True)


def _apart(sim: Simulation, grips: Sequence[Grip]) -> Recipe:
    """Return the distances between the frames of grips, relative to their reach, as a program of q."""
    model = sim.model

    def apart(q: Array) -> Array:
        kin = dynamics.kinematics(model, q, np.zeros(model.nv))
        return np.array([c.apart(model, kin) for c in grips])

    return Recipe("apart", apart, (Argument("q", (model.nq,)),), (Argument("apart", (len(grips),)),), None, rarely_called=True)
