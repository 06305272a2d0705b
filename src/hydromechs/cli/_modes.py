"""Command `hydromechs modes`: frequencies, damping ratios and mode shapes about an operating point."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.text import Text

from ._console import Console
from ._options import CODE
from ._tables import print_report, table_of

if TYPE_CHECKING:
    from hydromechs.simulation import Mode, Modes, Simulation

UNDAMPED = 1e-6
"""Damping ratio below which a mode counts as undamped, and no time constant is printed."""


def modes(
    source: Annotated[
        str,
        typer.Argument(
            help="Name of a library scenario, path of a scenario file, or name of a library vehicle (in still water)."
        ),
    ],
    at: Annotated[
        float,
        typer.Option(
            help="Time of the operating point [s], reached by simulation with the controller; then hold its commands."
        ),
    ] = 0.0,
    trim: Annotated[bool, typer.Option("--trim", help="Find commands that give equilibrium, and linearise about it.")] = False,
    free: Annotated[
        list[str] | None, typer.Option(help="Coordinate that --trim may change, such as vehicle.q; repeatable.")
    ] = None,
    tolerance: Annotated[
        float, typer.Option(help="Maximum rate of change of the state at equilibrium [SI units per second].")
    ] = 1e-6,
    run: Annotated[
        str, typer.Option(help="Run folder; print the Reynolds and Strouhal numbers in this run, and warn of possible lock-in.")
    ] = "",
    out: Annotated[str, typer.Option(help="File for a plot of the oscillatory modes, such as modes.png.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    code: CODE = False,
) -> None:
    """Print frequencies, damping ratios and shapes of modes.

    The equations are linearised about an operating point, with commands held constant.
    """
    from hydromechs.simulation import modes as modes_of
    from hydromechs.viewer import plot_modes

    if free and not trim:
        raise typer.BadParameter("--free requires --trim")
    sim = _simulation(source, code)
    if at:
        sim.run(at)
    if trim:
        _balance(sim, free or [], tolerance)
    found = modes_of(sim, tolerance=tolerance)
    print_report([_row(mode) for mode in found.modes], lambda _, console: _print(found, console), as_json)
    if run and not as_json:
        _print_flow(found, run)
    if out and not found.oscillating:
        raise ValueError(f"--out {out}: no mode oscillates, so there is nothing to plot; omit --out")
    if out:
        plot_modes(sim.model, sim.state.q, found.oscillating, out)
        Console(stderr=True).print(Text(f"drawn: {Path(out)}"))


def _print_flow(found: Modes, folder: str) -> None:
    from hydromechs.recording import load_recording
    from hydromechs.simulation import flow_numbers

    flow = flow_numbers(found.linearization.model, load_recording(folder))
    table = table_of("body", "shape", ">speed [m/s]", ">Reynolds", ">Strouhal", ">vortices [Hz]")
    for n in flow:
        row = (f"{np.nanmax(n.speed):.3g}", f"{n.reynolds:.3g}", f"{n.strouhal:.3g}", f"{n.frequency:.3g}")
        table.add_row(Text(n.body), n.shape, *row)
    console = Console()
    console.print(table)
    for text in found.lock_in(flow):
        console.print(Text(f"warning: {text}"))


def _simulation(source: str, code: bool) -> Simulation:
    """Return the simulation of a scenario, or of a library vehicle with its actuators."""
    from hydromechs.formats import is_scenario_file
    from hydromechs.library import load_plant, load_scenario, plant_names, scenario_names
    from hydromechs.simulation import Simulation
    from hydromechs.values import nearest

    if source in plant_names() and source not in scenario_names():
        return Simulation(load_plant(source))
    if source not in scenario_names() and Path(source).exists() and not is_scenario_file(source):
        raise ValueError(f"{source} is not a scenario file; write a scenario that contains this model and its actuators")
    known = [*scenario_names(), *plant_names()]
    if source not in known and not Path(source).exists():
        raise ValueError(
            f"there is no library scenario or vehicle {source!r}{nearest(source, known)}; or set the path of a scenario file"
        )
    return load_scenario(source, code=code).simulation()


def _balance(sim: Simulation, free: list[str], tolerance: float) -> None:
    from hydromechs.actuation.drives import Drive
    from hydromechs.simulation import trim

    state = sim.state
    targets = {f"{c.name}.rate" for c in sim.plant.components if isinstance(c, Drive)}  # targets of servos may move
    held = np.where([name in targets for name in sim.plant.layout.held], 0.0, state.held)
    found = trim(sim.plant, state=replace(state, v=np.zeros(sim.model.nv), held=held), free=free)
    if not found.converged and max(map(abs, found.residual.values())) > tolerance:
        raise ValueError(f"--trim: {found.message}; free coordinates with --free, or change the time with --at")
    sim.reset(replace(found.state, memory=state.memory, signal=state.signal))


def _row(mode: Mode) -> dict[str, Any]:
    return {
        "who": list(mode.who),
        "natural_frequency_hz": mode.natural_frequency,
        "damping_ratio": None if math.isnan(mode.damping_ratio) else mode.damping_ratio,
        "time_constant_s": mode.time_constant if math.isfinite(mode.time_constant) else None,
        "eigenvalue": [mode.eigenvalue.real, mode.eigenvalue.imag],
    }


def _print(found: Modes, console: Console) -> None:
    system = found.linearization
    console.print(Text(f"{system.model.name} at t = {system.state.t:g} s: {len(system.A)} states, commands held"))
    table = table_of("coordinates", ">natural frequency [Hz]", ">damping ratio", ">time constant [s]", "")
    for mode in found.modes:
        if not mode.neutral:
            names = [name for name in mode.who if name in system.model.coordinate_names[1]] or mode.who
            time = f"{mode.time_constant:.3g}" if mode.grows or mode.damping_ratio > UNDAMPED else "–"
            note = "grows" if mode.grows else ""
            table.add_row(Text(", ".join(names)), f"{mode.natural_frequency:.4g}", f"{mode.damping_ratio:.3g}", time, note)
    console.print(table)
    drifting = dict.fromkeys(name for mode in found.modes if mode.neutral for name in mode.who)
    if drifting:
        console.print(Text(f"neutral (no restoring force): {', '.join(drifting)}"))
