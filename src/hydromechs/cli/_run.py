"""`hydromechs run`: a scenario from file to recording, plots and report."""

from __future__ import annotations

import json
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from hydromechs import __version__
from hydromechs.errors import SimulationDiverged
from hydromechs.recording import RecordingWriter, load_recording
from hydromechs.simulation import Simulation, load_state, save_state

__all__ = ["plot", "print_scenarios", "run"]

OURS = ("recording.zarr", "report.html", "state.json", "last_finite_state.json", "summary.json", "plots")
"""What a run leaves in its folder."""


def run(
    source: str,
    console: Console,
    *,
    out: str = "",
    duration: float | None = None,
    seed: int | None = None,
    resume: str = "",
    real_time: float | None = None,
    pictures: bool = True,
) -> bool:
    """Run a scenario and write its folder; whether it went to its end and all checks passed.

    Args:
        source: Name of a library scenario or path of a file.
        console: Where to print.
        out: Folder; runs/NAME unless given.
        duration: Duration in place of the scenario's [s].
        seed: Seed in place of the scenario's.
        resume: A state.json to go on from.
        real_time: Pace of a run in real time.
        pictures: Whether to draw plots and write the report.
    """
    from hydromechs.library import load_scenario, scenario_path

    scenario = load_scenario(source)
    changes = {"duration": duration, "seed": seed}
    scenario = replace(scenario, **{k: v for k, v in changes.items() if v is not None})
    folder = Path(out or Path("runs") / scenario.name)
    state = load_state(resume) if resume else None
    _check_folder(folder)
    console.print(Text(scenario.title or scenario.name, "bold"))
    started = time.perf_counter()
    with console.status("compiling (cached afterwards)"):
        sim = scenario.simulation()
        if state is not None:
            _check_layout(resume, sim)
            sim.reset(state)
        sim.compile()
    folder.mkdir(parents=True, exist_ok=True)
    for name in OURS[1:5]:
        (folder / name).unlink(missing_ok=True)
    compiled = time.perf_counter() - started
    attrs = {"title": scenario.title or scenario.name, "hydromechs": __version__, "created": time.strftime("%Y-%m-%d %H:%M:%S")}
    file = Path(source if Path(source).is_file() else scenario_path(source))
    text = file.read_text()

    def recorder(schema, coords, own):
        return RecordingWriter(folder / "recording.zarr", schema, coords, own | attrs | {"scenario": text}, overwrite=True)

    error = outcome = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            outcome = _with_progress(sim, scenario.duration, recorder, real_time, console)
        except SimulationDiverged as diverged:
            error = diverged
            save_state(getattr(error, "state", sim.state), folder / "last_finite_state.json")
        except KeyboardInterrupt:
            save_state(sim.state, folder / "state.json", _layout(sim))
            samples = load_recording(folder / "recording.zarr").time.size
            text = f"interrupted at t = {sim.state.t:g} s; {samples} samples are in {folder / 'recording.zarr'}; "
            console.print(Text(f"{text}go on with --resume {folder / 'state.json'}", "yellow"))
            raise
    for warning in caught:
        console.print(Text(f"warning: {warning.message}", "yellow"))
    ds = load_recording(folder / "recording.zarr")
    if error is None:
        save_state(sim.state, folder / "state.json", _layout(sim))
    summary = summarise(scenario, sim, ds, outcome, error, compiled, real_time)
    (folder / "summary.json").write_text(json.dumps(summary, indent=2, ensure_ascii=False, default=str))
    _print_summary(summary, console)
    if pictures:
        from hydromechs.viewer import plot_recording, write_report

        with console.status("drawing"):
            plots = plot_recording(ds, folder / "plots")
            report = write_report(ds, summary, plots, folder / "report.html")
        console.print(Text(f"report: {report}", "bold"))
    console.print(Text(f"recording: {folder / 'recording.zarr'}"))
    if error is not None:
        console.print(Text(f"error: {error}\nlast finite state: {folder / 'last_finite_state.json'}", "red"))
    return error is None and all(c["passed"] for c in summary["checks"])


def _check_folder(folder: Path) -> None:
    """A folder for a run: new, empty, or that of an earlier run, which is replaced."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; --out names a folder")
    there = [p.name for p in folder.iterdir()] if folder.exists() else []
    if there and not (folder / "recording.zarr" / ".zattrs").exists():
        raise ValueError(f"{folder} has other things in it ({', '.join(sorted(there)[:3])}); give another folder with --out")


def _layout(sim: Simulation) -> str:
    """Names of all that a state holds, so that it is not taken for another's."""
    return sim.layout_names


def _check_layout(path: str, sim: Simulation) -> None:
    """That a state was left by a simulation with the same joints, actuators and internal states."""
    layout = json.loads(Path(path).read_text()).get("layout")
    if layout and layout != _layout(sim):
        raise ValueError(
            f"{path} is a state of another scenario: its joints, actuators or contacts have other names or another order"
        )


def _with_progress(sim: Simulation, duration: float, recorder, real_time: float | None, console: Console):
    """The run, with a bar that shows the time reached and the real-time factor."""
    t_start, clock = sim.state.t, time.perf_counter()
    columns = (TextColumn("simulating"), BarColumn(), TextColumn("{task.fields[reached]}"), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=duration, reached="")

        def tell(t: float) -> None:
            factor = (t - t_start) / (time.perf_counter() - clock)
            bar.update(task, completed=t - t_start, reached=f"{t - t_start:.1f} of {duration:g} s, {factor:.3g} x real time")

        return sim.run(duration, recorder=recorder, progress=tell, real_time=real_time)


def summarise(scenario, sim: Simulation, ds, outcome, error, compiled: float, real_time: float | None) -> dict:
    """What the report says, as plain data.

    Args:
        scenario: The scenario.
        sim: Its simulation, after the run.
        ds: The recording.
        outcome: The `Run`, or None if it diverged.
        error: Why it diverged, or None.
        compiled: Seconds of compiling.
        real_time: Pace of a run in real time, or None.
    """
    span = float(sim.state.t - ds.time[0]) if ds.time.size else 0.0
    wall = float(ds.attrs.get("wall_time", 0.0))
    checks = [c._asdict() for c in (check.judge(ds) for check in scenario.checks)] if ds.time.size else []
    audit = {str(c): float(ds.work.sel(cause=c)[-1]) for c in ds.cause.values} if "work" in ds and ds.time.size else {}
    energies = ("kinetic_energy_body", "kinetic_energy_fluid", "potential_energy", "elastic_energy")
    change = (
        {f"change of {name.replace('_', ' ')}": float(ds[name][-1] - ds[name][0]) for name in energies} if ds.time.size else {}
    )
    residual = float(np.abs(ds.energy_residual).max()) if ds.time.size else float("nan")
    turnover = sum(abs(x) for x in (*audit.values(), *change.values())) or 1.0
    plant = sim.plant
    setup = [
        ("Model", f"{plant.model.name}: {plant.model.nb} bodies, {plant.model.nv} degrees of freedom"),
        ("Water", _water_text(plant)),
        ("Actuators", ", ".join(plant.actuator_names) or "none"),
        ("Components", ", ".join(_counted(plant)) or "none"),
        ("Controller", f"{type(sim.controller).__name__}, every {sim.period:g} s" if sim.controller else "none"),
        ("Integrator", f"{sim.method.name}, step {sim.step_size:g} s"),
        ("Seed", str(plant.seed)),
    ]
    return {
        "title": scenario.title or scenario.name,
        "description": scenario.description,
        "model": plant.model.name,
        "duration": span,
        "wall_time": wall,
        "compile_time": compiled,
        "real_time_factor": span / wall if wall else 0.0,
        "late_steps": outcome.late if outcome is not None and real_time is not None else None,
        "stopped": None if outcome is None else outcome.stopped,
        "checks": checks,
        "audit": audit | change,
        "residual": residual,
        "residual_relative": residual / turnover,
        "setup": setup,
        "messages": list(ds.attrs.get("messages", [])) + ([f"The run stopped: {error}"] if error else []),
    }


def _counted(plant) -> list[str]:
    """How many components of each kind there are."""
    kinds = [c.kind for c in plant.components]
    return [f"{kinds.count(kind)} {kind.replace('_', ' ')}" for kind in dict.fromkeys(kinds)]


def _water_text(plant) -> str:
    e = plant.environment
    parts = []
    if e.current is not None:
        parts.append(
            f"current {np.round(e.current.velocity, 3).tolist()} m/s" if not e.current.times else "current that changes"
        )
    if e.gusts is not None:
        parts.append(f"gusts {list(e.gusts.sigma)} m/s")
    parts += [type(w).__name__ for w in e.waves]
    if e.surface is not None:
        parts.append("free surface")
    return ", ".join(parts) or ("still" if plant.wet else "none")


def _print_summary(summary: dict, console: Console) -> None:
    table = Table(box=None, show_header=False)
    table.add_row("simulated", f"{summary['duration']:g} s in {summary['wall_time']:.3g} s")
    table.add_row("real-time factor", f"{summary['real_time_factor']:.3g}")
    if summary["stopped"]:
        table.add_row("stopped by", Text(summary["stopped"]))
    if summary["late_steps"] is not None:
        table.add_row("late looks at the clock", str(summary["late_steps"]))
    table.add_row(
        "energy residual", f"{summary['residual']:.3g} J, {summary['residual_relative']:.2g} of the energy turned over"
    )
    for check in summary["checks"]:
        mark = Text("passed", "green") if check["passed"] else Text("FAILED", "bold red")
        table.add_row(mark, Text(f"{check['name']}: {check['value']:.3g}, {check['limit']} ({check['text']})"))
    for message in summary["messages"]:
        table.add_row("note", Text(message))
    console.print(table)


def print_scenarios(console: Console) -> None:
    """List the scenarios of the library.

    Args:
        console: Where to print.
    """
    from hydromechs.library import load_scenario, scenario_names

    table = Table(box=None)
    for column in ("scenario", "time", "what happens"):
        table.add_column(column, overflow="fold")
    for name in scenario_names():
        scenario = load_scenario(name)
        table.add_row(name, f"{scenario.duration:g} s", Text(scenario.title))
    console.print(table)
    console.print("run one with: hydromechs run NAME")


def plot(recording: str, variable: str, out: str, select: list[str], console: Console) -> None:
    """Plots of a recording: one variable, or all that a report has.

    Args:
        recording: Path of a recording or of the folder of a run.
        variable: Name of a variable; all plots if empty.
        out: File for one variable, folder for all.
        select: Entries to show, as body=vehicle or xyz=x,z.
        console: Where to print.
    """
    from hydromechs.viewer import plot_recording, plot_variable

    ds = load_recording(recording)
    if variable:
        chosen: dict = {}
        for item in select:
            dim, equals, names = item.partition("=")
            if not equals:
                raise ValueError(f"--select {item!r}: write it as body=vehicle or xyz=x,z")
            chosen[dim] = names.split(",")
        paths = [plot_variable(ds, variable, Path(out or f"{variable}.png"), chosen or None)]
    else:
        paths = plot_recording(ds, Path(out or "plots"))
    for path in paths:
        console.print(Text(str(path)))
