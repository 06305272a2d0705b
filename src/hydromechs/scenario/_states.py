"""States of a run on disk: saved now and then, found again, and whether another run can go on from one."""

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
    """Save a state of a simulation, with what a run that goes on from it should have in common.

    Args:
        sim: The simulation.
        state: The state.
        path: The file.
    """
    run = {"seed": sim.plant.seed, "engine": _engine(sim), "integrator": sim.method.name, "step": sim.step_size}
    save_state(state, path, sim.layout_names, run | {"plant": _fingerprint(sim)})


def _fingerprint(sim: Simulation) -> str:
    """Of the numbers of the mechanism and of what acts on it; empty with code of a user's own."""
    identity = sim.plant.identity
    return "" if identity is None else hashlib.sha256(identity.encode()).hexdigest()[:16]


def _engine(sim: Simulation) -> str:
    """Name of the engine of a simulation, as --engine has it."""
    return sim.method.hybrid.engine if isinstance(sim.method, EngineMethod) else "hydromechs"


class Checkpoints:
    """Saves the state of a run now and then.

    Args:
        path: File for the state.
        sim: What runs, at its start.
        interval: Wall time between two checkpoints [s].
    """

    def __init__(self, path: Path, sim: Simulation, interval: float) -> None:
        self.path, self.simulation, self.interval = path, sim, interval
        self.state = sim.state
        """The last state that a run can resume from."""
        self._saved = time.perf_counter()

    def take(self, state: State) -> None:
        """Take a state that the run can resume from; save it if it is time."""
        self.state = state
        if time.perf_counter() - self._saved >= self.interval:
            save_state_of(self.simulation, state, self.path)
            self._saved = time.perf_counter()


@dataclass(frozen=True, kw_only=True)
class SavedState:
    """A state on disk, and what it says of its run."""

    path: Path
    """The file."""
    state: State
    """The state."""
    layout: str = ""
    """Names of what its numbers are; empty where it does not say."""
    run: Mapping[str, str | int | float] = field(default_factory=dict)
    """Seed, engine, integrator, step [s] and fingerprint of the plant of the run that it is of; empty where it does not say."""

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> SavedState:
        """Read a state to go on from.

        Args:
            path: A state.json, or the folder of a run that holds one.
        """
        file = _state_file(path)
        state = load_state(file)
        content = files.read_json(file)
        run = content.get("run") or {}
        if not isinstance(run, dict) or not all(isinstance(value, str | int | float) for value in run.values()):
            raise ValueError(f"{file} is not a state of a simulation: its 'run' must map names to texts or numbers")
        return cls(path=file, state=state, layout=str(content.get("layout") or ""), run=run)

    def others(self, sim: Simulation) -> tuple[str, ...]:
        """Refuse a simulation that cannot go on from the state; what of its method is another, in words.

        Args:
            sim: What is to go on.
        """
        seed, engine = sim.plant.seed, _engine(sim)
        if self.run.get("engine", engine) != engine:
            raise ValueError(
                f"{self.path} is of a run on the engine {self.run['engine']}, this run is on {engine}, whose states are "
                f"others; say --engine {self.run['engine']}"
            )
        if self.layout and self.layout != sim.layout_names:
            raise ValueError(
                f"{self.path} is a state of another scenario: its joints, actuators or contacts have other names or another "
                "order, or its controller or the scheme of its engine is another; resume with the scenario of its run"
            )
        if self.run.get("seed", seed) != seed:
            raise ValueError(
                f"{self.path} is of a run that has seed {self.run['seed']}, this run {seed}: gusts, waves and noise would "
                f"change at t = {self.state.t:g} s; leave --seed out (in Python, give the scenario seed={self.run['seed']}), "
                "or start a run with the other seed from the beginning"
            )
        now = {"integrator": sim.method.name, "step": sim.step_size}
        units = {"integrator": "", "step": " s"}
        before, after = self.run.get("plant"), _fingerprint(sim)
        changed = bool(before and after and before != after)
        words = "the mechanism, or what acts on it, has other numbers from here on than in the run that is resumed"
        return (words,) * changed + tuple(
            f"{what} is {x}{units[what]} from here on; it was {self.run[what]}{units[what]} in the run that is resumed"
            for what, x in now.items()
            if self.run.get(what, x) != x
        )


def _state_file(path: str | os.PathLike[str]) -> Path:
    """The file of a state to resume from, given itself or the folder of its run.

    Args:
        path: A state.json, or a folder.
    """
    given = Path(path)
    if given.is_file():
        return given
    if not given.exists():
        raise ValueError(f"cannot resume from {given}: there is no such file; a run leaves state.json in its folder")
    folder = RunFolder(given)
    if folder.state.is_file():
        return folder.state
    if folder.last_finite_state.exists():
        raise ValueError(
            f"cannot resume from {given}: the run in it diverged; {folder.last_finite_state} is its last finite state"
        )
    if folder.has_run():
        raise ValueError(f"cannot resume from {given}: the run in it was killed before its first checkpoint")
    raise ValueError(f"cannot resume from {given}: it is not the folder of a run, there is no state.json in it")
