"""States of a run on disk: checkpoints, and compatibility checks before a run resumes."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hydromechs import files
from hydromechs.hybrid import EngineMethod
from hydromechs.model import State
from hydromechs.recording import RunFolder
from hydromechs.simulation import Simulation, load_state, save_state

__all__ = ["Checkpoints", "SavedState", "save_state_of"]


def save_state_of(sim: Simulation, state: State, path: Path) -> None:
    """Save a state of a simulation to a file, with the properties that a resumed run must match."""
    run = {"seed": sim.plant.seed, "engine": _engine(sim), "integrator": sim.method.name, "step": sim.step_size}
    save_state(state, path, sim.layout_names, run | {"plant": _fingerprint(sim)})


def _fingerprint(sim: Simulation) -> str:
    """Return a fingerprint of the parameters of the plant; empty if the plant contains custom code."""
    identity = sim.plant.identity
    return "" if identity is None else hashlib.sha256(identity.encode()).hexdigest()[:16]


def _engine(sim: Simulation) -> str:
    """Return the engine name of a simulation, as in the option --engine."""
    return sim.method.hybrid.name if isinstance(sim.method, EngineMethod) else "hydromechs"


class Checkpoints:
    """Checkpoints of a run, saved to a file at an interval of wall time [s]; `sim` is in its initial state."""

    def __init__(self, path: Path, sim: Simulation, interval: float) -> None:
        self.path, self.simulation, self.interval = path, sim, interval
        self.state = sim.state
        """Last state from which the run can resume."""
        self._saved = time.perf_counter()

    def take(self, state: State) -> None:
        """Store a state from which the run can resume; write it to disk if a checkpoint is due."""
        self.state = state
        if time.perf_counter() - self._saved >= self.interval:
            save_state_of(self.simulation, state, self.path)
            self._saved = time.perf_counter()


@dataclass(frozen=True, kw_only=True)
class SavedState:
    """State on disk, with the properties of its run."""

    path: Path
    state: State
    layout: str = ""
    """Names of the state variables; empty if unknown."""
    run: Mapping[str, str | int | float] = field(default_factory=dict)
    """Seed, engine, integrator, step [s] and plant fingerprint of the run; empty if unknown."""

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> SavedState:
        """Read the state from which to resume: a state.json, or the folder of a run that contains one."""
        file = _state_file(path)
        state = load_state(file)
        content = files.read_json(file)
        run = content.get("run") or {}
        if not isinstance(run, dict) or not all(type(value) in (str, int, float) for value in run.values()):
            raise ValueError(f"{file} is not a valid simulation state: 'run' must map names to strings or numbers")
        return cls(path=file, state=state, layout=str(content.get("layout") or ""), run=run)

    def others(self, sim: Simulation) -> tuple[str, ...]:
        """Reject a simulation that cannot resume from the state; return warnings about other differences."""
        seed, engine = sim.plant.seed, _engine(sim)
        if self.run.get("engine", engine) != engine:
            raise ValueError(
                f"{self.path} was saved by the engine {self.run['engine']}, but this run uses {engine}, whose states "
                f"differ; use --engine {self.run['engine']}"
            )
        if self.layout and self.layout != sim.layout_names:
            raise ValueError(
                f"{self.path} was saved by a different scenario: joints, actuators, contacts, controllers or the engine "
                "scheme differ in name or order; resume with the scenario of the saved run"
            )
        if self.run.get("seed", seed) != seed:
            raise ValueError(
                f"{self.path} was saved by a run with seed {self.run['seed']}, but this run has seed {seed}: gusts, waves "
                f"and noise would change at t = {self.state.t:g} s; omit --seed (in Python, set the scenario's "
                f"seed={self.run['seed']}), or start a new run with the other seed"
            )
        now = {"integrator": sim.method.name, "step": sim.step_size}
        units = {"integrator": "", "step": " s"}
        before, after = self.run.get("plant"), _fingerprint(sim)
        changed = bool(before and after and before != after)
        words = "the parameters of the plant differ from those of the resumed run"
        return (words,) * changed + tuple(
            f"{what} is now {x}{units[what]}; the resumed run used {self.run[what]}{units[what]}"
            for what, x in now.items()
            if self.run.get(what, x) != x
        )


def _state_file(path: str | os.PathLike[str]) -> Path:
    """Return the path of the state file: the given state.json, or the state file in the given run folder."""
    given = Path(path)
    if given.is_file():
        return given
    if not given.exists():
        raise ValueError(
            f"cannot resume from {given}: this path does not exist; set the path of a state.json or of the folder of a run"
        )
    folder = RunFolder(given)
    if folder.state.is_file():
        return folder.state
    if folder.last_finite_state.exists():
        raise ValueError(
            f"cannot resume from {given}: the run diverged; {folder.last_finite_state} contains the last finite state"
        )
    if folder.has_run():
        raise ValueError(f"cannot resume from {given}: the run was killed before its first checkpoint; start the run again")
    raise ValueError(f"cannot resume from {given}: this path is not the folder of a run; choose another folder")
