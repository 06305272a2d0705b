"""Campaigns: complete missions of a scenario, each with its own seed, simulated in chunks of worlds and stored in a folder."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from hydromechs import compiler
from hydromechs.errors import FieldError
from hydromechs.scenario import Scenario
from hydromechs.values import positive, whole
from hydromechs.worlds import seeds_of

from ._campaign_results import CampaignResults, load_campaign
from ._campaign_store import CampaignStore, Rows
from ._executors import ATTEMPTS, Executor, Workers
from ._fleet import VECTOR, Fleet
from ._runner import Task

MOST_WORLDS = 10_000_000
"""Maximum number of worlds of a campaign, because all seeds are drawn before the first mission, 15 µs each."""
PER_WORKER = 4
"""Minimum number of chunks per worker of an executor, so that all workers are busy until the end."""


@dataclass(frozen=True, kw_only=True)
class MissionCampaign:
    """Missions of a scenario, one world per seed. The seed of a world does not depend on the size of the campaign."""

    scenario: Scenario
    """Scenario of the missions."""
    worlds: int
    """Number of worlds."""
    seed: int | None = None
    """Seed from which the seeds of all worlds are derived. Defaults to the seed of the scenario."""
    duration: float | None = None
    """Duration of each mission [s]. Defaults to the duration of the scenario."""
    source: str = ""
    """Library name or path of the scenario file, from which worlds can be replayed."""
    text: str = ""
    """Text of the scenario file."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """New values of numbers of the scenario, keyed by path."""
    watch: Sequence[str] = ()
    """Quantities whose statistics are stored, in addition to the quantities of checks."""
    target: str = compiler.NATIVE.target
    """Target of the compiled code, one of `compiler.TARGETS`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "worlds", whole(self.worlds, "worlds", 1))
        if self.worlds > MOST_WORLDS:
            must = f"must be at most {MOST_WORLDS:,}; run several campaigns with different seeds"
            raise FieldError("worlds", self.worlds, must)
        object.__setattr__(self, "seed", whole(self.scenario.seed if self.seed is None else self.seed, "seed"))
        duration = self.scenario.duration if self.duration is None else positive(self.duration, "duration")
        object.__setattr__(self, "duration", duration)
        object.__setattr__(self, "watch", tuple(self.watch))
        if self.target not in compiler.TARGETS:
            raise ValueError(f"target is {self.target!r}, must be one of {', '.join(compiler.TARGETS)}")
        if self.scenario.record > duration:
            raise ValueError(
                f"record is {self.scenario.record:g} s, must not exceed the duration of {duration:g} s; set a longer duration"
            )

    @property
    def span(self) -> float:
        """Duration of each mission [s]."""
        assert self.duration is not None
        return self.duration

    @property
    def lanes(self) -> int:
        """Number of worlds per vector operation; it changes the last bits of results."""
        return compiler.native_lanes() if self.target == compiler.NATIVE.target else 1

    @property
    def quantities(self) -> tuple[str, ...]:
        """Quantities whose statistics are stored."""
        return tuple(dict.fromkeys([*(check.quantity for check in self.scenario.checks), *self.watch]))


@dataclass(frozen=True, kw_only=True)
class CampaignProgress:
    """Progress of a campaign."""

    phase: str
    """Phase: "compiling", "starting workers", "flying" or "stopping workers"."""
    done: float
    """Number of completed worlds; a running world counts as the completed fraction of its duration."""
    worlds: int
    """Total number of worlds."""
    stored: int
    """Number of worlds stored in the folder."""
    passed: int
    """Number of stored worlds that passed all checks."""
    remaining: float | None = None
    """Estimated remaining wall time [s]; None if unknown."""
    note: str = ""
    """Note for the user, for example about insufficient memory."""


def run_campaign(
    campaign: MissionCampaign,
    folder: str | os.PathLike[str],
    *,
    threads: int | None = None,
    chunk: int | None = None,
    executor: Executor | None = None,
    device: int = 0,
    progress: Callable[[CampaignProgress], None] | None = None,
) -> CampaignResults:
    """Simulate the worlds of a campaign whose results are not yet in its folder.

    The results of a world depend only on its seed, not on chunks, threads, workers or interruptions. If a campaign is
    stopped by an exception such as `KeyboardInterrupt` or by a kill, all finished chunks remain; the same call resumes it.

    Args:
        campaign: Campaign to run. If the folder contains the same campaign with fewer worlds, the missing worlds are added.
        folder: Empty or new folder, or the folder of the campaign.
        threads: Number of threads that share the worlds of a chunk. Defaults to the number of processor cores, or 1 in
            workers.
        chunk: Number of worlds that run together and are stored in one file. Defaults to a number that fits into free
            memory.
        executor: Workers that simulate chunks, such as `Dask()`. Defaults to this process.
        device: Number of the GPU, if the target is a GPU.
        progress: Function called regularly with the progress.
    """
    threads = (_cores() if executor is None else 1) if threads is None else whole(threads, "threads", 1)
    reports = _Reports(campaign, progress)
    store, fleet = CampaignStore(folder, campaign), Fleet(campaign, threads, device, reports.note)
    with store.opened():
        reports.stored, reports.passed = store.finished()
        reports.show("compiling")
        size = 1 if chunk is None else whole(chunk, "chunk", 1)
        if not store.missing(size):
            return load_campaign(folder)
        fleet.compile()
        size = fleet.chunk_size() if chunk is None else size
        if executor is None:
            _store(store, reports, store.missing(size), lambda tasks: _alone(fleet, tasks, reports))
        else:
            reports.show("starting workers")
            with executor.started(fleet) as workers:
                share = -(-campaign.worlds // (PER_WORKER * VECTOR * workers.count)) * VECTOR
                size = min(size, share) if chunk is None else size
                try:
                    _store(store, reports, store.missing(size), lambda tasks: _spread(fleet, tasks, workers))
                except KeyboardInterrupt:
                    reports.show("stopping workers")
                    raise
    return load_campaign(folder)


def _store(
    store: CampaignStore,
    reports: _Reports,
    missing: Sequence[range],
    flown: Callable[[list[Task]], Iterable[tuple[Task, Rows]]],
) -> None:
    seeds = seeds_of(store.campaign.seed or 0, store.campaign.worlds)
    tasks = [Task(tuple(worlds), (), tuple(int(x) for x in seeds[worlds.start : worlds.stop])) for worlds in missing]
    reports.left = sum(map(len, missing))
    for task, rows in flown(tasks):
        store.write(range(task.runs[0], task.runs[-1] + 1), rows)
        reports.add(len(task.runs), int(rows["success"].sum()))


def _alone(fleet: Fleet, tasks: Sequence[Task], reports: _Reports) -> Iterator[tuple[Task, Rows]]:
    for task in tasks:
        yield task, fleet.fly(task.seeds, partial(reports.under_way, len(task.runs)))


def _spread(fleet: Fleet, tasks: Sequence[Task], workers: Workers) -> Iterator[tuple[Task, Rows]]:
    """Yield chunks as workers finish them. A chunk that kills its workers is halved; a single world that does so fails."""
    while tasks:
        deadly = []
        for task, rows in workers.outcomes(tasks):
            if rows is not None:
                yield task, rows[0]
            elif len(task.runs) == 1:
                reason = f"the worker died {ATTEMPTS} times; check free memory, and custom code for crashes"
                yield task, fleet.lost(task.seeds[0], reason)
            else:
                half = len(task.runs) // 2
                deadly += [Task(task.runs[at], (), task.seeds[at]) for at in (slice(half), slice(half, None))]
        tasks = deadly


class _Reports:
    """Reporter of the progress of a campaign to its caller."""

    def __init__(self, campaign: MissionCampaign, progress: Callable[[CampaignProgress], None] | None) -> None:
        self.worlds, self.progress = campaign.worlds, progress
        self.stored = self.passed = self.left = self.new = 0
        self._share = 0.0
        self._first: tuple[float, float] | None = None
        """Time of the first report about running worlds [s], and the number of completed worlds at that time."""

    def add(self, worlds: int, passed: int) -> None:
        """Add newly stored worlds and report the progress."""
        self.stored, self.passed, self.new, self._share = self.stored + worlds, self.passed + passed, self.new + worlds, 0.0
        self.show("flying")

    def show(self, phase: str, share: float = 0.0, note: str = "") -> None:
        """Report a phase, and the completed share of the running worlds, as a number of worlds."""
        self._share = max(share, self._share)
        done, now, remaining = self.new + self._share, time.perf_counter(), None
        if self._first is None and (done > 0.0 or phase == "flying"):
            self._first = now, done
        if self._first is not None and done > self._first[1]:
            remaining = (now - self._first[0]) * (self.left - done) / (done - self._first[1])
        if self.progress is not None:
            counts = dict(worlds=self.worlds, stored=self.stored, passed=self.passed, note=note)
            self.progress(
                CampaignProgress(phase=phase, done=self.stored + self._share, remaining=remaining, **counts)  # type: ignore[arg-type]
            )

    def under_way(self, worlds: int, share: float) -> None:
        """Report the completed fraction `share` of the work on `worlds` worlds."""
        self.show("flying", share * worlds)

    def note(self, text: str) -> None:
        """Report a note for the user."""
        self.show("flying", note=text)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
