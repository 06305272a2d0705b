"""States of a run on disk: checkpoints, and checks that a run can resume from one."""

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
    """Save a state of a simulation in a file, with the properties that a resumed run must share."""
    run = {"seed": sim.plant.seed, "engine": _engine(sim), "integrator": sim.method.name, "step": sim.step_size}
    save_state(state, path, sim.layout_names, run | {"plant": _fingerprint(sim)})


def _fingerprint(sim: Simulation) -> str:
    """Return a fingerprint of the numbers of the plant; empty with custom code."""
    identity = sim.plant.identity
    return "" if identity is None else hashlib.sha256(identity.encode()).hexdigest()[:16]


def _engine(sim: Simulation) -> str:
    """Return the engine name of a simulation, as --engine takes it."""
    return sim.method.hybrid.name if isinstance(sim.method, EngineMethod) else "hydromechs"


class Checkpoints:
    """Saves checkpoints of a run to a file at an interval of wall time [s]; `sim` is in its initial state."""

    def __init__(self, path: Path, sim: Simulation, interval: float) -> None:
        self.path, self.simulation, self.interval = path, sim, interval
        self.state = sim.state
        """The last state that a run can resume from."""
        self._saved = time.perf_counter()

    def take(self, state: State) -> None:
        """Keep a state from which the run can resume; save it if a checkpoint is due."""
        self.state = state
        if time.perf_counter() - self._saved >= self.interval:
            save_state_of(self.simulation, state, self.path)
            self._saved = time.perf_counter()


@dataclass(frozen=True, kw_only=True)
class SavedState:
    """A state on disk, with properties of its run."""

    path: Path
    state: State
    layout: str = ""
    """Names of its numbers; empty if unknown."""
    run: Mapping[str, str | int | float] = field(default_factory=dict)
    """Seed, engine, integrator, step [s] and fingerprint of the plant of its run; empty if unknown."""

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> SavedState:
        """Read a state from which to resume, from a state.json or the folder of a run that holds one."""
        file = _state_file(path)
        state = load_state(file)
        content = files.read_json(file)
        run = content.get("run") or {}
        if not isinstance(run, dict) or not all(type(value) in (str, int, float) for value in run.values()):
            raise ValueError(f"{file} is not a state of a simulation: its 'run' must map names to texts or numbers")
        return cls(path=file, state=state, layout=str(content.get("layout") or ""), run=run)

    def others(self, sim: Simulation) -> tuple[str, ...]:
        """Reject a simulation that cannot resume from the state; return warnings about other differences."""
        seed, engine = sim.plant.seed, _engine(sim)
        if self.run.get("engine", engine) != engine:
            raise ValueError(
                f"{self.path} is of a run on the engine {self.run['engine']}, this run is on {engine}, whose states "
                f"differ; use --engine {self.run['engine']}"
            )
        if self.layout and self.layout != sim.layout_names:
            raise ValueError(
                f"{self.path} is a state of a different scenario: names or order of its joints, actuators or contacts differ, "
                "or its controller or the scheme of its engine; resume with the scenario of its run"
            )
        if self.run.get("seed", seed) != seed:
            raise ValueError(
                f"{self.path} is of a run that has seed {self.run['seed']}, this run has {seed}: gusts, waves and noise would "
                f"change at t = {self.state.t:g} s; omit --seed (in Python, set the scenario's seed={self.run['seed']}), "
                "or start a new run with the other seed"
            )
        now = {"integrator": sim.method.name, "step": sim.step_size}
        units = {"integrator": "", "step": " s"}
        before, after = self.run.get("plant"), _fingerprint(sim)
        changed = bool(before and after and before != after)
        words = "the numbers of the plant differ from those of the resumed run"
        return (words,) * changed + tuple(
            f"{what} is {x}{units[what]} from here on; the resumed run had {self.run[what]}{units[what]}"
            for what, x in now.items()
            if self.run.get(what, x) != x
        )


def _state_file(path: str | os.PathLike[str]) -> Path:
    """Return the state file to resume from: a state.json, or the one in the folder of its run."""
    given = Path(path)
    if given.is_file():
        return given
    if not given.exists():
        raise ValueError(f"cannot resume from {given}: it does not exist; runs save state.json in their folder")
    folder = RunFolder(given)
    if folder.state.is_file():
        return folder.state
    if folder.last_finite_state.exists():
        raise ValueError(f"cannot resume from {given}: its run diverged; {folder.last_finite_state} is its last finite state")
    if folder.has_run():
        raise ValueError(f"cannot resume from {given}: the run in it was killed before its first checkpoint")
    raise ValueError(f"cannot resume from {given}: it is not the folder of a run, there is no state.json in it")
