"""Robustness to damaged files: each model or scenario file is simulated, or rejected with an error of ours, and nothing else.

Files are changed at random, written, read, written and read again, built and run for a moment, in processes of their own with
limits on time and memory.
"""

from __future__ import annotations

import contextlib
import linecache
import math
import multiprocessing
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from multiprocessing.connection import Connection, wait
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import yaml

import hydromechs
from hydromechs import formats, library
from hydromechs.errors import CodeNotAllowed, ModelError, ScenarioError, SimulationDiverged
from hydromechs.model import Model
from hydromechs.scenario import Scenario
from hydromechs.simulation import Simulation

from .mutations import flow_yaml, mutated_bytes, mutated_data, mutated_text

__all__ = ["OWN_FILES", "Changed", "FileStudy", "Outcome", "mutant", "raised_on_purpose", "study_files", "try_file"]

MOMENT = 0.2
"""Simulated duration of a file that loads [s]."""
STEPS = 1000
"""Steps, samples or ticks after which it is enough."""
LIMIT = 300.0
"""Wall time after which a file counts as one that hangs [s]."""
MEMORY = 4 << 30
"""Memory that a process may take [bytes]."""
EVERY = 20
"""One file in so many is one of the library's, which are large; the others are small."""
ROOT = Path(hydromechs.__file__).parent


class Outcome(NamedTuple):
    """Outcome of a file."""

    number: int
    """Number of the file in its study."""
    kind: str
    """Kind of outcome, as "simulated" or "refused by the reader"."""
    failure: str = ""
    """Traceback, or why it is a failure; empty where it is none."""


class Changed(NamedTuple):
    """Files that are changed at random, and what is tried with each; functions of a module, which other processes find."""

    mutant: Callable[[int, int], tuple[str, bytes]]
    """Ending and content of a changed file, from the seed of the study and the number of the file."""
    attempt: Callable[[Path], tuple[str, str]]
    """Return the outcome of a file: a kind, and a traceback if it is a failure."""
    beside: Callable[[], list[Path]]
    """Files that must lie in the same folder."""


class FileStudy(NamedTuple):
    """Outcomes of many files."""

    kinds: dict[str, int]
    """Number of files by what happened."""
    failures: dict[Path, str]
    """Files that were kept, with the last line of their traceback."""

    @property
    def passed(self) -> bool:
        """True if every file was simulated or rejected with an error of ours."""
        return not self.failures


@cache
def _bases() -> tuple[list[Path], list[Path]]:
    """Small files, and files of the library."""
    small = sorted(Path(str(files(__package__) / "files")).glob("*.yaml"))
    large = [library.model_path(n) for n in library.names()] + [library.scenario_path(n) for n in library.scenario_names()]
    return small, [Path(p) for p in large]


@cache
def _data(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def mutant(seed: int, number: int) -> bytes:
    """A changed file; the same for the same numbers.

    Args:
        seed: Of the study.
        number: Of the file.
    """
    rng = Random(f"{seed}/{number}")
    small, large = _bases()
    path = rng.choice(large if number % EVERY == EVERY - 1 else small)
    text = path.read_text(encoding="utf-8")
    match rng.choices(("data", "text", "bytes"), (12, 5, 1))[0]:
        case "text":
            return mutated_text(text, rng).encode()
        case "bytes":
            return mutated_bytes(text.encode(), rng)
    data = mutated_data(_data(path), [_data(p) for p in small], rng)
    return "".join(f"{flow_yaml(key)}: {flow_yaml(value)}\n" for key, value in data.items()).encode()


def try_file(path: Path, *, simulate: bool = True) -> tuple[str, str]:
    """Return the outcome of a file: a kind, and a traceback if it is a failure.

    Args:
        path: The file.
        simulate: Whether a file that loads is built and run.
    """
    stage = "read"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            thing: Model | Scenario = (library.load_scenario if formats.is_scenario_file(path) else library.load)(path)
            stage = "written and read again"
            again = _again(thing, path.parent)
            if again != thing and _text(again, path.parent) != _text(thing, path.parent):  # NaN differs from itself
                return "differs when written and read again", "what is written is not what was read"
            if not simulate:
                return "read", ""
            stage = "built"
            sim = thing.simulation() if isinstance(thing, Scenario) else Simulation(thing)
            stage = "run"
            state = sim.run(_moment(thing, sim)).state
    except Exception as error:
        kind = "diverged" if isinstance(error, SimulationDiverged) else f"refused when {stage}"
        return (kind, "") if _ours(error, stage) else (f"{type(error).__name__} when {stage}", traceback.format_exc())
    if all(np.isfinite(x).all() for x in (state.q, state.v, state.internal)):
        return "simulated", ""
    return "not finite at the end", "a run ended with numbers that are not finite, without an error"


def _again(thing: Model | Scenario, folder: Path) -> Model | Scenario:
    """Read the written file again."""
    text = _text(thing, folder)
    if isinstance(thing, Model):
        return formats.loads(text)
    return formats.loads_scenario(text, thing.name, folder, library.load, library.load_vehicle)


def _text(thing: Model | Scenario, folder: Path) -> str:
    """Written file."""
    return formats.dumps(thing) if isinstance(thing, Model) else formats.dumps_scenario(thing, folder)


def _moment(thing: Model | Scenario, sim: Simulation) -> float:
    """Duration of a run that computes quickly [s]."""
    if isinstance(thing, Model):
        return MOMENT
    longest = thing.integrator.largest if sim.method.adaptive else thing.step  # type: ignore[union-attr]
    return min(MOMENT, thing.duration, STEPS * min(longest, thing.record, sim.period or math.inf))


def _ours(error: BaseException, stage: str) -> bool:
    """True if an error is one of ours: of our classes, or raised on purpose."""
    if isinstance(error, ModelError | ScenarioError):
        placed = all(p.startswith("line ") or "not checked, because its Python code" in p for p in error.problems)
        return bool(error.problems) and (stage != "read" or placed)
    if stage == "read":
        return isinstance(error, CodeNotAllowed)
    return isinstance(error, SimulationDiverged) or raised_on_purpose(error)


def raised_on_purpose(error: BaseException) -> bool:
    """True if an error is a ValueError or KeyError of a `raise` in our files.

    Args:
        error: The error.
    """
    last = traceback.extract_tb(error.__traceback__)[-1]
    raised = (linecache.getline(last.filename, last.lineno or 0)).strip().startswith("raise ")
    return isinstance(error, ValueError | KeyError) and ROOT in Path(last.filename).parents and raised


def _own_mutant(seed: int, number: int) -> tuple[str, bytes]:
    return ".yaml", mutant(seed, number)


def _all_bases() -> list[Path]:
    return [path for bases in _bases() for path in bases]


OWN_FILES = Changed(_own_mutant, try_file, _all_bases)
"""Model and scenario files."""


# -- many files in processes of their own -----------------------------------------------------------------------------------


def _work(changed: Changed, seed: int, folder: Path, ask: Connection) -> None:
    """Try files whose numbers come through a connection, and send back what became of them."""
    with contextlib.suppress(ImportError):  # Windows
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    while True:
        number = ask.recv()
        if number is None:
            return
        suffix, content = changed.mutant(seed, number)
        path = folder / f"{seed}_{number}{suffix}"
        path.write_bytes(content)
        ask.send(Outcome(number, *changed.attempt(path)))
        path.unlink()


class _Worker:
    """A process that tries one file at a time."""

    def __init__(self, changed: Changed, seed: int, folder: Path) -> None:
        context = multiprocessing.get_context("spawn")
        self.ask, other = context.Pipe()
        self.process = context.Process(target=_work, args=(changed, seed, folder, other), daemon=True)
        self.process.start()
        other.close()
        self.number, self.since = -1, math.inf

    def give(self, number: int) -> None:
        """Give it a file."""
        self.number, self.since = number, time.monotonic()
        self.ask.send(number)

    def answer(self) -> Outcome | None:
        """Return the outcome of its file, or that it died or hangs; None if it is still at work."""
        try:
            if self.ask.poll():
                return self.ask.recv()
        except (EOFError, OSError):
            self.process.join()
            return Outcome(self.number, "crashed", f"the process ended with status {self.process.exitcode}")
        if time.monotonic() - self.since > LIMIT:
            return Outcome(self.number, "hangs", f"it took more than {LIMIT:g} s")
        return None

    def end(self) -> None:
        """Stop it."""
        self.process.kill()
        self.process.join()


def _outcomes(changed: Changed, count: int, seed: int, processes: int, folder: Path) -> Iterator[Outcome]:
    """Yield the outcome of each file, in order of completion."""
    left = iter(range(count))
    workers = [_Worker(changed, seed, folder) for _ in range(min(processes, count))]
    try:
        busy = dict.fromkeys(workers)
        for worker in workers:
            worker.give(next(left))
        while busy:
            wait([w.ask for w in busy], timeout=1.0)
            for worker in list(busy):
                outcome = worker.answer()
                if outcome is None:
                    continue
                yield outcome
                del busy[worker]
                number = next(left, None)
                if outcome.kind in ("crashed", "hangs") or number is None:
                    worker.end()
                    workers.remove(worker)
                    if number is None:
                        continue
                    worker = _Worker(changed, seed, folder)
                    workers.append(worker)
                worker.give(number)
                busy[worker] = None
    finally:
        for worker in workers:
            worker.end()


def study_files(
    count: int,
    seed: int,
    keep: Path,
    *,
    changed: Changed = OWN_FILES,
    processes: int = 2,
    progress: Callable[[int], object] = lambda done: None,
) -> FileStudy:
    """Change files at random and try each.

    Args:
        count: How many.
        seed: Of the changes.
        keep: Folder for files that fail, with their traceback; made when there is one.
        changed: Which files, and what is tried with them.
        processes: How many are tried at the same time.
        progress: Called with the number of files that are done.
    """
    kinds: Counter[str] = Counter()
    failures: dict[Path, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        for base in changed.beside():
            (Path(folder) / base.name).write_bytes(base.read_bytes())
        for outcome in _outcomes(changed, count, seed, processes, Path(folder)):
            kinds[outcome.kind] += 1
            if outcome.failure:
                keep.mkdir(parents=True, exist_ok=True)
                suffix, content = changed.mutant(seed, outcome.number)
                file = keep / f"{seed}_{outcome.number}{suffix}"
                file.write_bytes(content)
                file.with_suffix(".txt").write_text(outcome.failure, encoding="utf-8")
                failures[file] = f"{outcome.kind}: {outcome.failure.strip().splitlines()[-1]}"
            progress(sum(kinds.values()))
    return FileStudy(dict(kinds.most_common()), failures)
