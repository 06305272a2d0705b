"""Worlds of a campaign that are simulated together: compiled programs, memory and results."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hydromechs import compiler
from hydromechs.registry import loaded_files
from hydromechs.worlds import Worlds, seeds_of

from ._campaign_store import MESSAGES, PER_QUANTITY, REASON, TEXT, Rows, blank, digest
from ._fingerprint import fingerprint_of_scenario
from ._runner import Task, sent

if TYPE_CHECKING:
    from ._campaign import MissionCampaign

MAX_CHUNK = {"cpu": 512, "cuda": 2**17}
"""Maximum number of worlds in an automatic chunk, keyed by target; an interrupted campaign loses the current chunk."""
SHARE = 0.25
"""Maximum fraction of free memory for the worlds of a chunk [-]."""
VECTOR = 8
"""Maximum number of worlds per vector operation."""
COPIES = 4
"""Maximum number of copies of the state of a world, including final states and states of worlds with reports."""
RESULTS = 16 * 1024
"""Memory for the results and messages of one world [bytes]."""


class Fleet:
    """Simulator of the worlds of a campaign. Pickles contain the campaign, but not the compiled programs.

    `threads`: number of threads that share the worlds. `device`: number of the GPU, if the target is a GPU. `note`:
    function called with notes for the user.
    """

    def __init__(
        self, campaign: MissionCampaign, threads: int = 1, device: int = 0, note: Callable[[str], None] = lambda text: None
    ) -> None:
        self.campaign, self.threads, self.device, self.note = campaign, threads, device, note
        self.limit = math.inf
        """Number of worlds that fit into memory; infinite if unknown."""

    def __reduce__(self) -> tuple[Any, ...]:
        return sent, (loaded_files(), Fleet, pickle.dumps((self.campaign, self.threads, self.device)))

    @property
    def identity(self) -> str:
        """Identifier of the campaign; see `Work.identity`."""
        c = self.campaign
        rest = c.worlds, c.seed, c.duration, c.quantities, c.target
        return compiler.fingerprint(fingerprint_of_scenario(c.scenario), repr(rest))[:32]

    def __call__(self, task: Task) -> list[Rows]:
        """Simulate the worlds of a task; see `Work`."""
        return [self.fly(task.seeds)]

    @cached_property
    def worlds(self) -> Any:
        """Compiled worlds."""
        c = self.campaign
        if c.target != compiler.NATIVE.target:
            compiler.use_gpu(self.device)
        return Worlds(c.scenario, 1, watch=c.watch, samples=False, lanes=c.lanes, threads=self.threads, target=c.target)

    def compile(self) -> None:
        """Compile the worlds before the first run."""
        self.worlds.target.march.code.compile()

    @property
    def world_memory(self) -> float:
        """Estimated memory of one world [bytes]."""
        routine = self.worlds.target.march.code.routine
        return 8.0 * COPIES * sum((*routine.state.values(), *routine.work.values())) + RESULTS

    def chunk_size(self) -> int:
        """Return the number of worlds in a chunk, limited by free memory; if possible, full vectors on all threads."""
        free, target = self._free(), self.campaign.target
        most = MAX_CHUNK[target]
        fitting = most if free is None else int(min(most, SHARE * free // self.world_memory))
        group = VECTOR * self.threads
        return max(1, fitting if fitting < group else fitting // group * group)

    def _free(self) -> int | None:
        return free_memory() if self.campaign.target == compiler.NATIVE.target else compiler.free_gpu_memory()

    def fly(self, seeds: Sequence[int], progress: Callable[[float], None] = lambda share: None) -> Rows:
        """Simulate one mission per seed; return arrays with one row per world. If memory is insufficient, halve the batch.

        `progress`: function called with the completed fraction of the work, 0 to 1.
        """
        parts: list[Rows] = []
        at, n = 0, len(seeds)
        while at < n:
            count = int(min(n - at, self.limit))
            try:
                some = seeds_of(list(seeds[at : at + count]), count)
                parts.append(self._flown(some, partial(_scaled, progress, at / n, count / n)))
                at += count
                continue
            except Exception as error:
                if not _is_out_of_memory(error):
                    raise
                self.__dict__.pop("worlds", None)
                self.limit = count // 2
                if count == 1:
                    raise MemoryError(
                        f"one world of {self.campaign.scenario.name!r} does not fit into memory; free some memory"
                    ) from error
            self.note(f"out of memory with {count} worlds at a time; the campaign continues with {self.limit}")
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _flown(self, seeds: Any, progress: Callable[[float], None]) -> Rows:
        campaign, worlds, n = self.campaign, self.worlds, len(seeds)
        worlds.restart(seeds)
        progress(0.0)
        worlds.run(campaign.span, lambda t: progress(t / campaign.span))
        reduction, totals = worlds.target.march.reduction, worlds.target.state["totals"]
        values = reduction.values(totals)
        ended, failed = worlds.ended, np.isin(np.arange(n), list(worlds.failed))
        values[failed] = np.nan  # as in `Worlds.judge`
        said: list[list[str]] = [[] for _ in range(n)]
        for m in sorted(worlds.messages, key=lambda m: (m.world, m.t)):
            said[m.world].append(f"t = {m.t:.6g} s: {m.text}")
        passed = np.array([c.passes(x) for c, x in zip(reduction.checks, values.T, strict=True)], dtype=bool).reshape(-1, n).T
        found = [worlds.statistics(name) for name in campaign.quantities]
        statistics = {name: np.array([getattr(row, name) for row in found]).reshape(-1, n).T for name in PER_QUANTITY}
        return {
            "seed": np.array(seeds, dtype=np.uint64),
            "success": passed.all(axis=1) & ~failed,
            "failed": failed,
            "capsized": worlds.capsized & ("capsized" not in campaign.scenario.expected_warnings),
            "end_time": worlds.target.get(worlds.t),
            "reason": np.array([_line(ended[k], REASON) if k in ended else "" for k in range(n)], dtype=f"<U{REASON}"),
            "digest": np.array([digest(y) for y in worlds.target.state["y"]], dtype=np.uint64),
            "passed": passed,
            "value": values,
            **statistics,
            "messages": np.array([len(texts) for texts in said]),
            "message": np.array(
                [[_line(x, TEXT) if x else "" for x in [*texts, "", "", ""][:MESSAGES]] for texts in said], f"<U{TEXT}"
            ),
        }

    def lost(self, seed: int, reason: str) -> Rows:
        """Return the row of a world that could not be simulated; the row contains the reason."""
        rows = blank(1, len(self.campaign.scenario.checks), len(self.campaign.quantities))
        known = {
            "seed": np.array([seed], dtype=np.uint64),
            "failed": np.array([True]),
            "reason": np.array([_line(reason, REASON)]),
        }
        return rows | known


def _scaled(progress: Callable[[float], None], start: float, part: float, share: float) -> None:
    progress(start + share * part)


def _line(text: str, letters: int) -> str:
    return " ".join(text.split())[:letters]


def _is_out_of_memory(error: Exception) -> bool:
    """True if an error reports insufficient memory; CuPy errors on a GPU do not derive from `MemoryError`."""
    on_gpu = type(error).__module__.partition(".")[0] in ("cupy", "cupy_backends")
    return isinstance(error, MemoryError) or (on_gpu and "out of memory" in str(error).lower().replace("_", " "))


def free_memory() -> int | None:
    """Return the memory available to this process [bytes]; None if unknown."""
    free = []
    try:
        found = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines())
        free.append(int(found["MemAvailable"].split()[0]) * 1024)
    except (OSError, KeyError, ValueError):
        pass
    try:  # of a container
        limit, used = (Path(f"/sys/fs/cgroup/memory.{name}").read_text(encoding="ascii") for name in ("max", "current"))
        free.append(int(limit) - int(used))
    except (OSError, ValueError):
        pass
    return max(0, min(free)) if free else None
