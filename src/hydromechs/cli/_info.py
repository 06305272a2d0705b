"""What a model is, as tables: its tree, totals, centres."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hydromechs import dynamics, hydro
from hydromechs.model import Hydro, HydroModel, Model, joints
from hydromechs.simulation import Plant

from ._tables import table_of

__all__ = ["Totals", "print_commands", "print_info", "totals"]


class Totals(NamedTuple):
    """Sums over all bodies at the initial configuration, in world axes."""

    mass: float
    """Mass [kg]."""
    displaced_mass: float
    """Mass of the displaced water [kg]."""
    com: np.ndarray
    """Centre of mass [m], shape (3,); NaN without mass."""
    cob: np.ndarray
    """Centre of buoyancy [m], shape (3,); NaN without volume."""
    net_weight: float
    """Weight in water, positive down [N]."""


def totals(model: Model) -> Totals:
    """Masses and centres of a model at its initial configuration."""
    state = model.initial()
    kin = dynamics.kinematics(model, state.q, state.v)
    mass = displaced = 0.0
    moment, buoyancy_moment = np.zeros(3), np.zeros(3)
    for body, R, p in zip(model.bodies, kin.R_WB, kin.p_WB, strict=True):
        mass += body.inertia.mass
        moment += body.inertia.mass * (p + R @ np.array(body.inertia.com))
        m_f, h_f = hydro.displaced_mass(body, model.world.water_density)
        displaced += m_f
        buoyancy_moment += m_f * p + R @ h_f
    with np.errstate(invalid="ignore", divide="ignore"):
        return Totals(
            mass,
            displaced,
            moment / np.float64(mass),
            buoyancy_moment / np.float64(displaced),
            (mass - displaced) * model.world.gravity,
        )


def print_info(model: Model, console: Console, *, sources: bool = False) -> None:
    """Print the tree of a model as a table, then totals and, if asked for, the sources of its numbers.

    What the user wrote is printed as `Text`, which takes `[m]` or `:x:` as it stands.
    """
    description = model.description.strip()
    console.print(Text.assemble((model.name, "bold"), f"  {description}" if description else ""))
    table = table_of("body", "parent", "joint", ">mass\nkg", ">displaced\nkg", ">added mass\nx, y, z  kg", "drag")
    rest = np.zeros(6)
    for body in model.bodies:
        added = displaced = "–"
        if body.hydro is not None:
            motion = hydro.Motion(rest, np.zeros(3), np.eye(3), np.zeros(3), 0.0, model.world.water_density)
            added = " ".join(f"{x:.0f}" if x >= 1000 else f"{x:.3g}" for x in np.diag(hydro.added_mass(body, motion))[:3])
            displaced = f"{hydro.displaced_mass(body, model.world.water_density)[0]:.4g}"
        mass = f"{body.inertia.mass:.4g}"
        cells = (body.name, body.parent or "world", _joint(body.joint), mass, displaced, added, _drag(body.hydro))
        table.add_row(*map(Text, cells))
    console.print(table)
    t = totals(model)
    summary = Table(show_header=False, box=None, pad_edge=False)
    summary.add_row("degrees of freedom", f"{model.nv} (nq = {model.nq}, {model.nb} bodies)")
    summary.add_row("mass", f"{t.mass:.6g} kg")
    summary.add_row("displaced water", f"{t.displaced_mass:.6g} kg at {model.world.water_density:g} kg/m³")
    sense = "sinks" if t.net_weight > 0 else "floats"
    share = (
        f", {abs(t.net_weight) / (t.mass * model.world.gravity):.2%} of the weight, it {sense}"
        if t.mass * model.world.gravity and t.displaced_mass
        else ""
    )
    summary.add_row("net weight", f"{t.net_weight:.5g} N{share}")
    summary.add_row("centre of mass", _vector(t.com))
    if t.displaced_mass:
        summary.add_row(
            "centre of buoyancy",
            f"{_vector(t.cob)}, {float((t.com - t.cob) @ model.world.down):.3g} m above the centre of mass",
        )
    summary.add_row("", f"(in world axes, {model.world.axes}, at the initial configuration)")
    if model.frames:
        summary.add_row("frames", Text(", ".join(model.frames)))
    console.print(summary, highlight=False)
    if sources:
        table = Table(header_style="bold", box=None, pad_edge=False)
        table.add_column("number")
        table.add_column("source", overflow="fold")
        for what, source in model.sources:
            table.add_row(Text(what), Text(source))
        console.print(table)


def print_commands(plant: Plant, console: Console) -> None:
    """Print the commands of a plant: unit, range, and what each is at rest.

    Args:
        plant: What is simulated.
        console: Where to print.
    """
    layout, q = plant.layout, plant.model.initial().q
    slots = layout.input_slots[: len(layout.commands)]
    table = table_of("command of", "unit", ">lowest", ">at rest", ">highest")
    for name, slot, rest in zip(layout.commands, slots, layout.start(slots, q), strict=True):
        lowest, highest = ("–" if np.isinf(x) else f"{x:g}" for x in slot.limits)
        table.add_row(*map(Text, (name, slot.unit, lowest, f"{rest:g}", highest)))
    if slots:
        console.print(table)


def _joint(joint: joints.Joint | joints.Composite) -> str:
    parts = joint.parts if isinstance(joint, joints.Composite) else (joint,)
    return "+".join(part.kind for part in parts)


def _drag(data: Hydro | HydroModel | None) -> str:
    if data is None:
        return "–"
    if not isinstance(data, Hydro):
        return type(data).__name__
    names = [type(element).__name__.lower() for element in data.drag]
    return ", ".join(f"{names.count(n)} {n}" if names.count(n) > 1 else n for n in dict.fromkeys(names)) or "none"


def _vector(a: np.ndarray) -> str:
    return "–" if np.isnan(a).any() else "(" + ", ".join(f"{x:.4g}" for x in a + 0.0) + ") m"
