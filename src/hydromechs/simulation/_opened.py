"""Checks of open parameters: the programs of a plant must depend on them, but must not need their values to be built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from hydromechs import compiler
from hydromechs.errors import UnsupportedFeature
from hydromechs.values import Array, Scalar

from ._evaluate import Evaluation, evaluate
from ._initial_instant import InitialInstant
from ._plant import Plant

NEEDED = (TypeError, ValueError, AttributeError, UnsupportedFeature)
"""Exceptions raised by equations that need the value of a symbol."""
TIME = 0.37
"""Time of the examined instant [s]."""


def opened_faults(plant: Plant) -> dict[str, str]:
    """Return messages about open parameters of a plant that are unused or cannot be symbols, keyed by parameter."""
    read: dict[str, bool]
    out: dict[str, str]
    try:
        read, out = _read(plant, plant.parameters), {}
    except NEEDED:
        if not _evaluates(plant):
            return {}  # custom code that cannot be traced reports its own error later
        alone = {name: _alone(plant, name) for name in plant.parameters}
        read = {name: found for name, found in alone.items() if isinstance(found, bool)}
        out = {name: found for name, found in alone.items() if isinstance(found, str)}
    unread = [name for name, there in read.items() if not there]
    if not unread:
        return out
    try:
        whole = _read(plant, unread, state=True)  # other instants than the examined one
    except NEEDED:
        return out  # as above
    words = "has no effect on the programs of the plant; replace the number before building the plant, or remove the path"
    return out | {name: f"parameter {name!r} {words}" for name in unread if not whole[name]}


def _evaluates(plant: Plant) -> bool:
    """True if the equations can be traced with all parameters as numbers."""
    try:
        _read(plant, ())
    except NEEDED:
        return False
    return True


def _alone(plant: Plant, name: str) -> bool | str:
    """Return True if a parameter has an effect when it is the only symbol, or a message if it cannot be a symbol."""
    try:
        return _read(plant, [name])[name]
    except NEEDED:
        return (
            f"parameter {name!r} cannot stay open, because the programs of the plant require its value; replace the "
            "number before building the plant"
        )


def _read(plant: Plant, names: Sequence[str], *, state: bool = False) -> dict[str, bool]:
    """Return True for each open parameter that affects any quantity at one instant, keyed by name.

    `names`: parameters to check; other parameters have their values in the model. `state`: True to make time, state and all
    other inputs symbols as well, which is slow but complete.
    """
    plant = _with_open(plant, names)
    start, layout, nv = plant.start, plant.layout, plant.model.nv
    now = InitialInstant(plant, 0.0, start.q, start.v, {})
    z = np.concatenate([now.states(), np.zeros(len(layout.causes))])
    data, _ = plant.data(plant.flow(), TIME, {})
    u = np.concatenate([now.inputs(), data])
    v = 0.1 * np.random.default_rng(0).normal(size=nv)  # no zeros, which would hide their factors
    shapes: dict[str, tuple[int, ...]] = {name: layout.data[f"parameter.{name}"][1] for name in names}
    if state:
        shapes |= {" t": (), " q": start.q.shape, " v": v.shape, " z": z.shape, " u": u.shape}

    def instant(**given: Array) -> tuple[Any, ...]:
        inputs = np.array(given[" u"] if state else [compiler.Symbol(x) for x in u], dtype=object)  # NumPy needs one type
        for name in names:
            inputs[layout.data[f"parameter.{name}"][0]] = np.ravel(given[name])
        t: Scalar = np.asarray(given[" t"])[()] if state else TIME
        return _all_of(evaluate(plant, t, given.get(" q", start.q), given.get(" v", v), given.get(" z", z), inputs))

    return compiler.read_by(instant, shapes)


def _with_open(plant: Plant, names: Sequence[str]) -> Plant:
    """Return an unchecked copy of a plant in which only some parameters are open."""
    new = object.__new__(Plant)
    new.__dict__.update({f.name: getattr(plant, f.name) for f in fields(plant)}, parameters=tuple(names))
    return new


def _all_of(e: Evaluation) -> tuple[Any, ...]:
    energies = (e.elastic_energy, e.kinetic_energy_body, e.kinetic_energy_fluid, e.potential_energy)
    recorded = [x for out in e.outputs for x in out.values()]
    return (e.vdot, e.zdot, e.tau, *e.forces.values(), e.added_mass, e.now.p_WB, e.now.R_WB, *energies, *recorded)
