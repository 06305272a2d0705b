"""Commands `hydromechs run` and `hydromechs scenarios`: running and printing."""

import sysconfig
import time
import traceback
import warnings
import webbrowser
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from hydromechs import files
from hydromechs.errors import ScenarioError, grouped
from hydromechs.hybrid import Hybrid
from hydromechs.recording import DESIGN, RunFolder, Summary
from hydromechs.scenario import RunInterrupted, RunResult, SavedState, Scenario, run_scenario, unit_mistakes

from ._console import Console
from ._settings import recorded, settings_of_run, with_settings
from ._show import has_display, own_command, scenario_scene
from ._tables import table_of

Drawn = TypeVar("Drawn")
LIBRARIES = (Path(__file__).parents[1], Path(np.__file__).parent)
"""Folders whose frames are omitted from tracebacks: this package and NumPy."""
PYTHON = Path(sysconfig.get_path("stdlib"))
"""Folder of the Python standard library."""
REPORTED_AFTER = 0.1
"""Wall-clock time from the start of a simulation to its first progress report [s]."""


def run(
    source: str,
    console: Console,
    *,
    out: str = "",
    duration: float | None = None,
    seed: int | None = None,
    engine: str = "",
    resume: str = "",
    real_time: float | None = None,
    pictures: bool = True,
    show: bool = False,
    force: bool = False,
    settings: Mapping[str, Any] = MappingProxyType({}),
    code: bool = False,
    name: str = "",
    **how: Any,
) -> RunResult:
    """Run a scenario, write the run folder, print the result and return it.

    Args:
        source: Library name or path of the scenario.
        console: Console to print on.
        out: Run folder. Defaults to the first unused one of runs/NAME, runs/NAME-2, ...
        duration: Duration to simulate [s]. Defaults to the value in the scenario.
        seed: Seed. Defaults to the seed of the resumed run, otherwise of the scenario.
        engine: Physics engine: "hydromechs", or the name of a third-party engine, which uses the exact scheme.
        resume: Folder or state.json of a run to continue.
        real_time: Ratio of simulated to wall-clock time. Defaults to no limit.
        pictures: Write a report.
        show: Open the report in a browser.
        force: Replace an earlier run in the folder.
        settings: Numbers to replace in the scenario, keyed by path.
        code: Allow execution of Python code named in the scenario.
        name: NAME of the default folder. Defaults to the name of the scenario.
        how: Arguments `lanes` and `target` of `Simulation`.
    """
    from hydromechs.formats import drawing_attrs, located
    from hydromechs.library import load_scenario, scenario_file

    scenario = loaded = load_scenario(source, code=code)
    saved = SavedState.read(resume) if resume else None
    settings = {**(settings_of_run(resume) if resume else {}), **settings}
    attrs = recorded(scenario := with_settings(scenario, settings), settings)
    planned = scenario.seed
    if seed is None and saved is not None and "seed" in saved.run:
        seed = int(saved.run["seed"])
    if seed not in (None, scenario.seed):
        scenario = scenario.with_fields(seed=seed)
    if engine:
        scenario = scenario.with_fields(engine=None if engine == "hydromechs" else Hybrid(engine=engine))
    console.print(Text(scenario.title or scenario.name, "bold"))
    simulated = scenario.duration if duration is None else duration
    if saved is not None:
        as_before = (
            f", with seed {seed} of the earlier run (the scenario has seed {planned})"
            if saved.run.get("seed") == seed != planned
            else ""
        )
        console.print(Text(f"continuing from t = {saved.state.t:.12g} s for {simulated:g} s{as_before}"))
    for path, value in settings.items():
        console.print(Text(f"{path} = {value}"))
    mistakes = unit_mistakes(scenario)
    for text in mistakes:
        console.print(Text(f"warning: {text}", "yellow"))
    with _claimed(name or scenario.name, out, force) as folder, _ProgressBar(console, simulated) as bar:
        try:
            result = run_scenario(
                scenario,
                folder,
                text=files.read_text(scenario_file(source)),
                file=Path(scenario_file(source)),
                duration=duration,
                resume=resume or None,
                real_time=real_time,
                progress=bar.show,
                attrs=drawing_attrs(scenario) | attrs,
                **how,
            )
        except ScenarioError as e:
            raise ScenarioError(source, located(e.faults, loaded)) from e
        except RunInterrupted as stopped:
            bar.stop()
            _print_interrupted(stopped, source, console, code)
            raise
        try:
            notes: list[str] = []
            if pictures:
                bar.show("writing the report", simulated)
                notes += draw(result, scenario)
            warned = [w for w in result.warnings if w not in mistakes]  # already printed before the run
            result = replace(result, warnings=(*warned, *dict.fromkeys(notes)))
        finally:  # Ctrl-C during drawing
            bar.stop()
            _print_result(result, console)
    if show and has_display() and result.folder.report.exists():
        webbrowser.open(result.folder.report.absolute().as_uri())
    return result


def own_lines(error: Exception) -> str:
    """Return an error in custom code as text, with a traceback that shows only lines of the custom code."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_users(frame.filename)]
    lines = traceback.format_list(frames) + traceback.format_exception_only(error)
    return "".join(lines) + "use --traceback to see the full traceback"


def _is_users(file: str) -> bool:
    if file.startswith("<frozen"):
        return False
    path = Path(file)
    python = path.is_relative_to(PYTHON) and "site-packages" not in path.parts
    return not python and not any(path.is_relative_to(folder) for folder in LIBRARIES)


def _claimed(name: str, out: str, force: bool) -> AbstractContextManager[RunFolder]:
    """Return a context manager that locks the run folder: the given one, or the first unused one in runs/."""
    if out or force:
        return RunFolder(out or Path("runs") / name).claimed(replace=force)
    return RunFolder.numbered(Path("runs") / name)


def draw(result: RunResult, scenario: Scenario) -> list[str]:
    """Write the report of a run, without the scene if drawing it fails; return notes, which the report also lists."""
    from hydromechs.viewer import SCENE_SAMPLES, write_report

    notes: list[str] = []
    ds = result.recording
    scene = _attempt("the scene", notes, lambda: scenario_scene(scenario, ds, most=SCENE_SAMPLES))
    summary = replace(result.summary, messages=(*result.summary.messages, *notes))
    _attempt("the report", notes, lambda: write_report(ds, summary, result.folder.report, scene=scene))
    return notes


def _attempt(what: str, notes: list[str], work: Callable[[], Drawn]) -> Drawn | None:
    """Return the result of `work`, or None after adding a note if it fails: a drawing error must not abort a run."""
    from hydromechs.viewer import DrawingWarning

    out = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DrawingWarning)
        try:
            out = work()
        except Exception as error:  # meshes, fonts, disks and matplotlib can raise anything
            notes.append(f"{what} could not be drawn ({type(error).__name__}: {error}); the recording and checks are complete")
    for warning in caught:
        if not issubclass(warning.category, DrawingWarning):
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        elif str(warning.message) not in notes:
            notes.append(str(warning.message))
    return out


class _ProgressBar(Progress):
    """Progress bar that shows the phases of a run and, while simulating, the simulated time and the remaining time."""

    def __init__(self, console: Console, duration: float) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[reached]}"), TimeRemainingColumn())
        super().__init__(*columns, console=console, transient=True)
        self.duration, self.phase, self.started = duration, "", 0.0
        self.task = self.add_task("", total=None, reached="")

    def show(self, phase: str, t: float) -> None:
        """Show the phase and, while simulating, the simulated time `t` [s]."""
        simulating = phase == "simulating"
        if phase != self.phase:
            self.phase, self.started = phase, time.perf_counter() - REPORTED_AFTER
            text = "compiling (cached afterwards)" if phase == "compiling" else phase
            self.remove_task(self.task)
            self.task = self.add_task(text, total=self.duration if simulating else None, reached="")
        if simulating:
            factor = t / (time.perf_counter() - self.started)
            self.update(self.task, completed=t, reached=f"{t:.1f} of {self.duration:g} s, {factor:.3g} x real time")


def _print_interrupted(stopped: RunInterrupted, source: str, console: Console, code: bool) -> None:
    folder = stopped.folder
    console.print(
        Text(
            f"interrupted; {stopped.samples} samples were written to {folder.recording}\n"
            f"to continue from t = {stopped.state.t:.12g} s in a new folder: "
            f"hydromechs run {source} --resume {folder.path} --duration {stopped.remaining:.12g}"
            f"{' --code' if code else ''}",
            "yellow",
        ),
        soft_wrap=True,
    )


def _print_result(result: RunResult, console: Console) -> None:
    """Print the warnings, the summary and the folder of a run, and the reason if it diverged."""
    for warning in result.warnings:
        console.print(Text(f"warning: {warning}", "yellow"))
    print_summary(result.summary, console)
    folder = result.folder
    if folder.report.exists():
        address = folder.report.absolute().as_uri()
        console.print(Text(f"report with replay and plots: {folder.report} ({address})", "bold"), soft_wrap=True)
    console.print(Text(f"recording: {folder.recording}"), soft_wrap=True)
    console.print(Text(f"to replay the run in a full window: {own_command()} replay {folder.path}"), soft_wrap=True)
    if result.summary.diverged is not None:
        console.print(Text(f"error: {result.summary.diverged}", "red"))
        console.print(Text(f"last finite state: {folder.last_finite_state}", "red"), soft_wrap=True)


def print_summary(summary: Summary, console: Console) -> None:
    """Print the summary of a run as a table, without the reason if it diverged."""
    table = Table(box=None, show_header=False)
    if summary.duration is not None and summary.wall_time is not None:
        table.add_row("simulated", f"{summary.duration:g} s in {summary.wall_time:.3g} s of wall-clock time")
    if summary.real_time_factor is not None:
        table.add_row("real-time factor", f"{summary.real_time_factor:.3g}")
    if summary.stopped:
        table.add_row("stopped by", Text(summary.stopped))
    if summary.late_steps is not None:
        table.add_row("missed deadlines", str(summary.late_steps))
    if summary.diverged is None and summary.residual is not None and summary.residual_relative is not None:
        relative = f"{summary.residual_relative:.2g} of the exchanged energy"
        part = "" if summary.residual_before is None else f" since the resume; {summary.residual_before:.3g} J before it"
        table.add_row("energy residual", f"{summary.residual:.3g} J{part}, {relative}")
    for check in summary.checks:
        mark = Text("passed", "green") if check.passed else Text("FAILED", "bold red")
        unit = f" {'°' if check.unit == 'deg' else check.unit}" if check.unit else ""
        table.add_row(mark, Text(f"{check.name}: {check.value:.3g}{unit}, {check.limit}{unit} ({check.text})"))
    for warning in summary.warnings:
        mark = Text("expected", "dim") if warning.expected else Text("WARNING", "bold yellow")
        table.add_row(mark, Text(warning.text))
    for label, text in summary.setup:
        if label == DESIGN:
            table.add_row(label.lower(), Text(text))
    for message in grouped(text for text in summary.messages if text != summary.diverged):
        table.add_row("note", Text(message))
    console.print(table)


def print_scenarios(console: Console) -> None:
    """Print a table of the scenarios in the library."""
    from hydromechs.formats import read_document
    from hydromechs.library import scenario_names, scenario_path

    # only the displayed keys: building all scenarios takes seconds
    found = {name: read_document(scenario_path(name), "scenario", ScenarioError).data for name in scenario_names()}
    rows = ((name, f"{data['run']['duration']:g} s", data["title"]) for name, data in found.items())
    console.print(table_of("scenario", ">duration", "description", rows=rows))
    console.print("to run a scenario: hydromechs run NAME")
