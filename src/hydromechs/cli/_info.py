"""Tables that describe a model or scenario: tree of bodies, totals, centres of mass and buoyancy, commands."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from hydromechs import hydro, registry
from hydromechs.hybrid import added_masses
from hydromechs.model import Hydro, HydroModel, Model, element_word
from hydromechs.naval import Hydrostatics, WaterReport, add_water, hydrostatics
from hydromechs.simulation import InitialInstant, Plant

from ._console import Console
from ._convert import print_notes
from ._tables import table_of

SHOWN = 36
"""Maximum number of array entries that are printed."""
NEUTRAL = 1e-9
"""Ratio of net weight to weight below which a vehicle counts as neutral."""


def info(
    source: str,
    console: Console,
    *,
    sources: bool = False,
    water: bool = False,
    parameters: bool = False,
    code: bool = False,
    **options: Any,
) -> None:
    """Print a description of a model or scenario.

    Args:
        source: Library name or file path.
        console: Console to print on.
        sources: Also list the sources of the numbers.
        water: First estimate hydrodynamics with `add_water`.
        parameters: Instead, list all numbers by path.
        code: Allow execution of Python code named in the file.
        options: Options of `import_file` for robot descriptions.
    """
    from hydromechs.formats import import_file, is_robot_file, is_scenario_file
    from hydromechs.library import load, load_scenario, names, scenario_names

    if source not in names() and (source in scenario_names() or is_scenario_file(source)):
        scenario = load_scenario(source, code=code)
        if parameters:
            print_numbers(scenario, console)
            return
        parts = {start.name: start.model for start in scenario.models}
        print_info(scenario.model, parts, console, q=scenario.start.q, sources=sources)
        print_commands(scenario.plant, scenario.start.q, console)
        return
    imported = import_file(source, **options) if is_robot_file(source) else None
    model = load(source, code=code, **options) if imported is None else imported.model
    if water:
        model, report = add_water(model, folder=Path(source).parent)
        print_water(report, console)
    if parameters:
        print_numbers(model, console)
        return
    headlines = () if imported is None else imported.headlines
    print_info(model, {model.name: model}, console, sources=sources, headlines=headlines)
    if imported is not None:
        print_notes(imported, console)


def print_numbers(thing: Any, console: Console) -> None:
    """Print the path, value and unit of each number in a model or scenario, one per line."""
    for number in registry.paths(thing):
        shown = json.dumps(number.value) if np.size(number.value) <= SHOWN else f"{np.shape(number.value)} numbers"
        console.print(Text(f"{number.path} = {shown}{f' {number.unit}' if number.unit else ''}"), soft_wrap=True)


def print_info(
    model: Model,
    parts: Mapping[str, Model],
    console: Console,
    *,
    q: np.ndarray | None = None,
    sources: bool = False,
    headlines: Iterable[str] = (),
) -> None:
    """Print warnings, the tree of bodies, the totals of each part and, on request, the sources of the numbers.

    User text is printed as `Text`, so that `[m]` or `:x:` is not interpreted as markup.

    Args:
        model: The assembled model.
        parts: Models that were assembled, keyed by name; bodies of several models are named `name.body`.
        console: Console to print on.
        q: Configuration, shape (nq,). Defaults to the initial configuration of the model.
        sources: Also list the sources of the numbers.
        headlines: Additional warnings, printed first.
    """
    several = len(parts) > 1
    summary = Table(show_header=False, box=None, pad_edge=False)
    summary.add_row("degrees of freedom", f"{model.nv} (nq = {model.nq}, {model.nb} bodies)")
    warnings = list(headlines)
    for name in parts:
        own = [i for i, body in enumerate(model.body_names) if not several or body.startswith(f"{name}.")]
        if several:
            summary.add_row(Text(name, "bold"))
        floats = hydrostatics(model, q, own)
        _add_totals(summary, model, floats)
        warnings += [f"{name}: {text}" if several else text for text in floats.warnings]
    when = "at the initial configuration" if q is None else "at the start of the scenario"
    summary.add_row("", f"(in world axes, {model.world.axes}, {when})")
    if model.frames:
        summary.add_row("frames", Text(", ".join(model.frames)))
    description = model.description.strip()
    console.print(Text.assemble((model.name, "bold"), f"  {description}" if description else ""))
    for text in warnings:
        console.print(Text.assemble(("warning: ", "yellow"), text))
    _print_tree(model, console)
    console.print(summary, highlight=False)
    for part in parts.values() if sources else ():
        console.print(table_of("number", "source", rows=part.sources))


def print_water(report: WaterReport, console: Console) -> None:
    """Print the estimates of `add_water` as a table."""
    rows = [(estimate.body, estimate.quantity, estimate.numbers, estimate.how) for estimate in report.estimates]
    console.print(table_of("body", "estimated", "value", "how", rows=rows))
    if report.kept:
        console.print(Text(f"unchanged: {', '.join(report.kept)}"))
    if report.dry:
        console.print(Text(f"still without hydrodynamics, because these bodies have no shapes: {', '.join(report.dry)}"))
    for note in report.notes:
        console.print(Text(f"note: {note}"))


def _print_tree(model: Model, console: Console) -> None:
    rows = []
    for body, A in zip(model.bodies, added_masses(model), strict=True):
        added = displaced = "–"
        if body.hydro is not None:
            added = " ".join(f"{x:.0f}" if x >= 1000 else f"{x:.3g}" for x in np.diag(A)[:3])
            displaced = f"{hydro.displaced_mass(body, model.world.water_density)[0]:.4g}"
        mass, joint = f"{body.inertia.mass:.4g}", "+".join(part.kind for part in body.joint.parts)
        rows.append((body.name, body.parent or "world", joint, mass, displaced, added, _drag(body.hydro)))
    columns = ("body", "parent", "joint", ">mass\nkg", ">displaced\nkg", ">added mass\nx, y, z  kg", "drag")
    console.print(table_of(*columns, rows=rows))


def _add_totals(summary: Table, model: Model, t: Hydrostatics) -> None:
    summary.add_row("mass", f"{t.mass:.6g} kg")
    summary.add_row("displaced water", f"{t.displaced_mass:.6g} kg at {model.world.water_density:g} kg/m³")
    weight, net, share = t.mass * model.world.gravity, t.net_weight, ""
    if weight and t.displaced_mass:
        part = abs(net) / weight
        share = f" ({part:.2%} of the weight, {'sinks' if net > 0.0 else 'floats'})" if part > NEUTRAL else " (neutral)"
    summary.add_row("net weight", f"{0.0 if share == ' (neutral)' else net:.5g} N{share}")
    summary.add_row("centre of mass", _vector(t.com))
    if t.displaced_mass:
        summary.add_row(
            "centre of buoyancy",
            f"{_vector(t.cob)}, {abs(t.stability):.3g} m {'below' if t.stability < 0.0 else 'above'} the centre of mass",
        )


def print_commands(plant: Plant, q: np.ndarray, console: Console) -> None:
    """Print the commands of a plant with unit, range and initial value; `q` is the configuration, shape (nq,)."""
    layout = plant.layout
    slots = layout.input_slots[: len(layout.commands)]
    table = table_of("command of", "unit", ">minimum", ">initial", ">maximum")
    values = layout.start(slots, InitialInstant(plant, 0.0, q, np.zeros(plant.model.nv), {}))
    for name, slot, value in zip(layout.commands, slots, values, strict=True):
        lowest, highest = ("–" if np.isinf(x) else f"{x:g}" for x in slot.limits)
        table.add_row(*map(Text, (name, slot.unit, lowest, f"{value:g}", highest)))
    if slots:
        console.print(table)


def _drag(data: Hydro | HydroModel | None) -> str:
    if data is None:
        return "–"
    if not isinstance(data, Hydro):
        return type(data).__name__
    names = [element_word(element) for element in data.drag]
    return ", ".join(f"{names.count(n)} {n}" if names.count(n) > 1 else n for n in dict.fromkeys(names)) or "none"


def _vector(a: np.ndarray) -> str:
    return "–" if np.isnan(a).any() else "(" + ", ".join(f"{x:.4g}" for x in a + 0.0) + ") m"


def print_models(console: Console) -> None:
    """Print a table of the models in the library."""
    from hydromechs.library import load, names

    rows = ((m.name, m.nb, m.nv, m.description.split(". ")[0].strip()) for m in map(load, names()))
    console.print(table_of("model", ">bodies", ">dof", "description", rows=rows))
