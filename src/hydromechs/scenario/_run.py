"""Runs of scenarios in folders: recording, checkpoints, final state and summary, without printing or drawing."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from signal import SIGINT, Signals
from typing import TYPE_CHECKING, Any

import numpy as np

from hydromechs import __version__, files
from hydromechs.errors import ScenarioError, SimulationDiverged, SimulationInterrupted
from hydromechs.model import State
from hydromechs.recording import DESIGN, RunFolder, Summary, load_recording, summarise
from hydromechs.simulation import Plant, Run, Simulation, run_warnings, sigterm_interrupts
from hydromechs.values import positive

from ._judge import stiff_faults
from ._scenario import Scenario
from ._states import Checkpoints, SavedState, save_state_of
from ._unit_mistakes import unit_mistakes

if TYPE_CHECKING:
    import xarray

__all__ = ["RunInterrupted", "RunResult", "conclude_run", "recording_attrs", "run_scenario"]

CHECKPOINT = 10.0
"""Default wall time between two checkpoints of a run [s]."""


@dataclass(frozen=True, kw_only=True, repr=False)
class RunResult:
    """Result of a run in a folder."""

    folder: RunFolder
    recording: xarray.Dataset
    """Recording up to the last sample."""
    state: State
    """Final state; the last finite state if the run diverged."""
    summary: Summary
    """Times, check results and energy audit."""
    warnings: tuple[str, ...] = ()
    """Warnings that the summary does not contain."""

    @property
    def passed(self) -> bool:
        """True if the run completed and all checks passed."""
        return self.summary.passed

    def __repr__(self) -> str:
        return f"RunResult({str(self.folder.path)!r}, {self.summary!r})"


class RunInterrupted(KeyboardInterrupt):
    """Interruption of a run by Ctrl-C or SIGTERM; its folder contains the recording and a state from which to resume."""

    def __init__(self, folder: RunFolder, state: State, samples: int, remaining: float, signal: Signals = SIGINT) -> None:
        super().__init__(f"interrupted; {folder.state} contains the state at t = {state.t:g} s")
        self.folder = folder
        """Folder of the run."""
        self.state = state
        """Saved state."""
        self.samples = samples
        """Number of samples in the recording."""
        self.remaining = remaining
        """Remaining simulated time [s]."""
        self.signal = signal
        """Signal that stopped the run: SIGINT (Ctrl-C) or SIGTERM."""


def run_scenario(
    scenario: Scenario,
    folder: str | os.PathLike[str] | RunFolder,
    *,
    text: str = "",
    file: str | os.PathLike[str] = "",
    duration: float | None = None,
    resume: str | os.PathLike[str] | None = None,
    real_time: float | None = None,
    replace: bool = False,
    progress: Callable[[str, float], None] | None = None,
    checkpoint: float = CHECKPOINT,
    attrs: Mapping[str, str] | None = None,
    **how: Any,
) -> RunResult:
    """Run a scenario and write recording.zarr, state.json and summary.json to a folder.

    During the run, state.json contains the last checkpoint, from which a killed run can resume. A run that diverges writes
    last_finite_state.json instead. Ctrl-C or SIGTERM stops the run at the next sample; `RunInterrupted` is raised after
    everything is saved. A second signal stops the run immediately; the state of the last written samples remains.

    Args:
        scenario: The scenario to simulate.
        folder: An empty or new folder, or a `RunFolder` that the caller has claimed.
        text: Text of the scenario file, stored with the recording.
        file: Path of the scenario file, against which relative paths are resolved.
        duration: Duration [s]. Defaults to the duration of the scenario. Events after the end do not occur.
        resume: State from which to resume: a state.json, or the folder of a run that contains one. Seed and engine must
            match; a different integrator or step causes a warning in the result.
        real_time: Simulated time per wall time [-]. Defaults to as fast as possible.
        replace: Replace an earlier run in the folder.
        progress: Function called with the phase ("compiling" or "simulating") and the simulated time since the start [s].
        checkpoint: Wall time between two checkpoints [s].
        attrs: Additional attributes of the recording, such as `formats.drawing_attrs(scenario)` for drawing it.
        how: Options `lanes` and `target` of `Simulation`.
    """
    report = progress or (lambda phase, t: None)
    duration = scenario.duration if duration is None else positive(duration, "duration")
    if scenario.record > duration:
        raise ValueError(f"record is {scenario.record:g} s, must not exceed the duration of {duration:g} s")
    saved = None if resume is None else SavedState.read(resume)
    with contextlib.ExitStack() as stack:
        if not isinstance(folder, RunFolder):
            folder = stack.enter_context(RunFolder(folder).claimed(replace=replace))
        report("compiling", 0.0)
        started = time.perf_counter()
        sim = scenario.simulation(**how)
        others = () if saved is None else saved.others(sim)
        if saved is not None:
            sim.reset(saved.state)
        faults = stiff_faults(scenario, sim)
        if faults:
            raise ScenarioError(scenario.name, faults)
        sim.compile()
        compile_time = time.perf_counter() - started
        folder.clear()
        stored = recording_attrs(scenario, text, file) | dict(attrs or {})
        result = _simulate(scenario, sim, duration, folder, stored, real_time, report, checkpoint, compile_time)
        reported = dict.fromkeys((*others, *unit_mistakes(scenario), *result.warnings))
        return dataclasses.replace(result, warnings=tuple(reported))


def recording_attrs(scenario: Scenario, text: str, file: str | os.PathLike[str]) -> dict[str, str]:
    """Return the attributes of a scenario's recording: title, version, creation time, text and path of the file."""
    return {
        "title": scenario.title or scenario.name,
        "hydromechs": __version__,
        "created": time.strftime("%Y-%m-%d %H:%M:%S"),
        "scenario": text,
        "scenario_file": str(Path(file).absolute()) if file else "",
    }


def _simulate(
    scenario: Scenario,
    sim: Simulation,
    duration: float,
    folder: RunFolder,
    attrs: dict[str, str],
    real_time: float | None,
    report: Callable[[str, float], None],
    checkpoint: float,
    compile_time: float,
) -> RunResult:
    saved = Checkpoints(folder.state, sim, checkpoint)
    t_start, outcome, diverged = sim.state.t, None, None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with sigterm_interrupts():  # not while compiling, which cannot be interrupted and has nothing to save
                outcome = sim.run(
                    duration,
                    path=folder.recording,
                    progress=lambda t: report("simulating", t - t_start),
                    saved=saved.take,
                    real_time=real_time,
                    attrs=attrs,
                )
        except SimulationDiverged as error:
            diverged = error
        except KeyboardInterrupt as stop:
            if not folder.has_run():
                raise  # before the first sample
            state, number = (stop.state, stop.signal) if isinstance(stop, SimulationInterrupted) else (saved.state, SIGINT)
            save_state_of(sim, state, folder.state)
            samples = load_recording(folder.recording).sizes["time"]
            raise RunInterrupted(folder, state, samples, t_start + duration - state.t, number) from None
    result = conclude_run(
        scenario,
        sim,
        folder,
        outcome,
        diverged,
        compile_time=compile_time,
        late=outcome.late if outcome is not None and real_time is not None else None,
    )
    texts = dict.fromkeys(str(warning.message) for warning in caught)
    others = tuple(w for w in texts if not any(w in message for message in result.summary.messages))
    return dataclasses.replace(result, warnings=others)


def conclude_run(
    scenario: Scenario,
    sim: Simulation,
    folder: RunFolder,
    outcome: Run | None,
    diverged: SimulationDiverged | None,
    *,
    compile_time: float | None = None,
    late: int | None = None,
) -> RunResult:
    """Save the final state of a run whose recording is closed, evaluate the checks, and save the summary.

    `outcome` is None if the run diverged, and `diverged` is the error. `late` counts missed deadlines of a real-time run.
    """
    state = sim.state if diverged is None else diverged.state
    if diverged is None:
        save_state_of(sim, state, folder.state)
    else:
        folder.state.unlink(missing_ok=True)
        save_state_of(sim, state, folder.last_finite_state)
    dataset = load_recording(folder.recording)
    summary = summarise(
        dataset,
        title=scenario.title or scenario.name,
        description=scenario.description,
        checks=scenario.checks,
        warnings=run_warnings(sim.plant, dataset, scenario.expected_warnings, scenario.start),
        setup=_setup(sim),
        compile_time=compile_time,
        late_steps=late,
        stopped=None if outcome is None else outcome.stopped,
        diverged=None if diverged is None else str(diverged),
        end_time=state.t,
        notes=_left_out(scenario, state.t) if outcome is not None and outcome.stopped is None else (),
    )
    files.write_json(folder.summary, summary.to_dict(), indent=2)
    return RunResult(folder=folder, recording=dataset, state=state, summary=summary)


def _left_out(scenario: Scenario, t_end: float) -> list[str]:
    """Return warnings about timed events after the end of a shortened run."""
    late = [
        f"{event.name!r} ({event.level:g} s)"
        for event in scenario.events
        if event.quantity == "time" and event.level > t_end + 1e-9
    ]
    if not late:
        return []
    which = f"event {late[0]}" if len(late) == 1 else f"events {', '.join(late)}"
    return [f"the run ends at {t_end:g} s, so the {which} will not occur"]


# -- set-up ---------------------------------------------------------------------------------------------------------------


def _setup(sim: Simulation) -> list[tuple[str, str]]:
    plant = sim.plant
    return [
        ("Model", f"{plant.model.name}: {plant.model.nb} bodies, {plant.model.nv} degrees of freedom"),
        ("Water", _water(plant)),
        ("Actuators", ", ".join(plant.layout.commands) or "none"),
        ("Components", ", ".join(_counted(plant)) or "none"),
        ("Controller", sim.mission.description if sim.mission else "none"),
        *((DESIGN, note) for note in (sim.mission.notes if sim.mission else ())),
        ("Integrator", f"{sim.method.name}, step {sim.step_size:g} s"),
        ("Seed", str(plant.seed)),
    ]


def _counted(plant: Plant) -> list[str]:
    kinds = [c.kind for c in plant.components]
    return [f"{kinds.count(kind)} {kind.replace('_', ' ')}" for kind in dict.fromkeys(kinds)]


def _water(plant: Plant) -> str:
    environment = plant.environment
    parts = []
    if environment.current is not None:
        varies = bool(environment.current.times)
        velocity = np.round(environment.current.velocity, 3).tolist()
        parts.append("varying current" if varies else f"current {velocity} m/s")
    if environment.gusts is not None:
        parts.append(f"gusts {list(environment.gusts.sigma)} m/s")
    parts += [type(wave).__name__ for wave in environment.waves]
    if environment.surface is not None:
        parts.append("free surface")
    return ", ".join(parts) or ("still" if plant.wet else "none")
