"""Run a campaign: whole missions of a scenario with a seed each, in chunks of worlds, into a folder."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from hydromechs.scenario import Scenario
from hydromechs.values import Array, positive, whole
from hydromechs.worlds import Worlds, seeds_of

from ._campaign_results import CampaignResults, load_campaign
from ._campaign_store import MESSAGES, REASON, TEXT, CampaignStore

MAX_CHUNK = 512
"""Largest number of worlds in a chunk that is chosen: a campaign that is stopped loses the worlds of one chunk."""
BUDGET = 256 * 2**20
"""Memory for the worlds of a chunk [bytes]."""
SHARE = 0.25
"""Share of the free memory that they may take."""
VECTOR = 8
"""Worlds per vector operation, at most."""


@dataclass(frozen=True, kw_only=True)
class MissionCampaign:
    """Missions of a scenario, one world per seed. World k has the same seed in campaigns of any size."""

    scenario: Scenario
    """The scenario."""
    worlds: int
    """Number of worlds."""
    seed: int | None = None
    """Seed from which world k derives its own. Defaults to the scenario's."""
    duration: float | None = None
    """Duration of each mission [s]. Defaults to the scenario's."""
    source: str = ""
    """Library name or path of the scenario file, to replay worlds."""
    text: str = ""
    """Text of the scenario file."""
    settings: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """Numbers that were replaced in the scenario, by path."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "worlds", whole(self.worlds, "worlds", 1))
        object.__setattr__(self, "seed", whole(self.scenario.seed if self.seed is None else self.seed, "seed"))
        duration = self.scenario.duration if self.duration is None else positive(self.duration, "duration")
        object.__setattr__(self, "duration", duration)
        if self.scenario.record > duration:
            raise ValueError(
                f"record is {self.scenario.record:g} s, must not be longer than the duration of {duration:g} s; "
                "set a longer duration"
            )

    @property
    def span(self) -> float:
        """Duration of each mission [s]."""
        assert self.duration is not None
        return self.duration

    @property
    def quantities(self) -> tuple[str, ...]:
        """Quantities of the checks."""
        return tuple(dict.fromkeys(check.quantity for check in self.scenario.checks))


@dataclass(frozen=True, kw_only=True)
class CampaignProgress:
    """Progress of a campaign."""

    phase: str
    """"compiling" or "flying"."""
    done: float
    """Worlds that were flown; those under way count by the share of their time."""
    worlds: int
    """Worlds of the campaign."""
    stored: int
    """Worlds in the folder."""
    passed: int
    """Worlds in the folder that passed all checks."""
    remaining: float | None = None
    """Estimated time until the end [s]; None while nothing is known."""


def run_campaign(
    campaign: MissionCampaign,
    folder: str | os.PathLike[str],
    *,
    threads: int | None = None,
    chunk: int | None = None,
    progress: Callable[[CampaignProgress], None] | None = None,
) -> CampaignResults:
    """Fly the worlds of a campaign that are not in its folder yet.

    The results of a world depend on its seed alone, not on chunks, threads and interruptions. A campaign that was stopped, by
    an exception such as `KeyboardInterrupt` or by a kill, keeps all finished chunks; the same call flies the others.

    Args:
        campaign: The campaign. A folder of the same campaign with fewer worlds is extended.
        folder: An empty or new folder, or that of the campaign.
        threads: Threads that share the worlds of a chunk. Defaults to the processor cores.
        chunk: Worlds that fly together and are stored in one file. Defaults to what fits the free memory, at most 512.
        progress: Called now and then.
    """
    threads = _cores() if threads is None else whole(threads, "threads", 1)
    size = chunk_size(campaign, threads) if chunk is None else whole(chunk, "chunk", 1)
    store = CampaignStore(folder, campaign)
    with store.opened():
        missing = store.missing(size)
        have, passed = store.finished()
        new, left = 0, sum(map(len, missing))
        first: tuple[float, float] | None = None
        """Time of the first report after compilation [s], and worlds that were done then."""

        def report(phase: str, share: float = 0.0) -> None:
            nonlocal first
            done, now, remaining = new + share, time.perf_counter(), None
            if first is None and done > 0.0:
                first = now, done
            if first is not None and done > first[1]:
                remaining = (now - first[0]) * (left - done) / (done - first[1])
            if progress is not None:
                counts = dict(worlds=campaign.worlds, stored=have + new, passed=passed)
                progress(CampaignProgress(phase=phase, done=have + done, remaining=remaining, **counts))

        report("compiling")
        seeds = seeds_of(campaign.seed or 0, campaign.worlds)
        for worlds in missing:

            def flown(share: float, count: int = len(worlds)) -> None:
                report("flying" if share > 0.0 else "compiling", share * count)

            rows = fly(campaign, seeds[worlds.start : worlds.stop], threads, flown)
            store.write(worlds, rows)
            new, passed = new + len(worlds), passed + int(rows["success"].sum())
            report("flying")
    return load_campaign(folder)


def fly(
    campaign: MissionCampaign,
    seeds: Sequence[int] | Array,
    threads: int,
    progress: Callable[[float], None] = lambda share: None,
) -> dict[str, Array]:
    """Fly a mission for each seed; return arrays with a row per world. Where memory is short, half of them fly at a time.

    Args:
        campaign: The campaign.
        seeds: The seeds.
        threads: Threads that share the worlds.
        progress: Called with the share of the work that is done, 0 to 1.
    """
    n = len(seeds)
    try:
        return _flown(campaign, seeds, threads, progress)
    except MemoryError:
        if n == 1:
            raise
    half = n // 2
    first = fly(campaign, seeds[:half], threads, lambda share: progress(share * half / n))
    second = fly(campaign, seeds[half:], threads, lambda share: progress((half + share * (n - half)) / n))
    return {name: np.concatenate([x, second[name]]) for name, x in first.items()}


def _flown(
    campaign: MissionCampaign, seeds: Sequence[int] | Array, threads: int, progress: Callable[[float], None]
) -> dict[str, Array]:
    worlds: Any = Worlds(campaign.scenario, len(seeds), seed=list(seeds), threads=threads, watch=())
    progress(0.0)
    worlds.run(campaign.span, lambda t: progress(t / campaign.span))
    judged, n = worlds.judge(), len(seeds)
    failed = np.array([k in worlds.failed for k in range(n)])
    passed = np.array([[r.passed for r in row] for row in judged], dtype=bool).reshape(n, -1)
    value = np.array([[r.value for r in row] for row in judged], dtype=float).reshape(n, -1)
    said: list[list[str]] = [[] for _ in range(n)]
    for m in sorted(worlds.messages, key=lambda m: (m.world, m.t)):
        said[m.world].append(f"t = {m.t:.6g} s: {m.text}")
    statistics = [_statistics(worlds, name) for name in campaign.quantities]
    columns = {
        name: np.array([row[k] for row in statistics]).reshape(-1, n).T for k, name in enumerate(("final", "min", "max"))
    }
    return {
        "seed": np.array([int(seed) for seed in seeds], dtype=np.uint64),
        "success": passed.all(axis=1) & ~failed,
        "failed": failed,
        "end_time": worlds.reached,
        "reason": np.array([_line(worlds.ended.get(k, ""), REASON) for k in range(n)], dtype=f"<U{REASON}"),
        "passed": passed,
        "value": value,
        **columns,
        "messages": np.array([len(texts) for texts in said]),
        "message": np.array([[_line(x, TEXT) for x in [*texts, *[""] * MESSAGES][:MESSAGES]] for texts in said], f"<U{TEXT}"),
    }


def _line(text: str, letters: int) -> str:
    """A text on one line, cut to some letters."""
    return " ".join(text.split())[:letters]


def _statistics(worlds: Any, quantity: str) -> tuple[Array, Array, Array]:
    """Final, minimum and maximum value of a quantity in each world; samples that are not numbers are ignored."""
    times = worlds.times
    samples = times if quantity == "time" else worlds.samples(quantity)
    there = np.isfinite(times)
    last = there.shape[1] - 1 - there[:, ::-1].argmax(axis=1)
    final = np.where(there.any(axis=1), samples[np.arange(len(samples)), last], math.nan)
    good = there & ~np.isnan(samples)
    none = ~good.any(axis=1)
    low, high = (reduce(np.where(good, samples, off), axis=1) for reduce, off in ((np.min, math.inf), (np.max, -math.inf)))
    return final, np.where(none, math.nan, low), np.where(none, math.nan, high)


# -- chunks -------------------------------------------------------------------------------------------------------------------


def chunk_size(campaign: MissionCampaign, threads: int) -> int:
    """Return how many worlds fly together: as many as fit the free memory, in equal vectors for all threads."""
    free = free_memory()
    budget = BUDGET if free is None else min(BUDGET, SHARE * free)
    fitting = int(min(MAX_CHUNK, budget // world_memory(campaign)))
    group = VECTOR * threads
    return max(1, fitting if fitting < group else fitting // group * group)


def world_memory(campaign: MissionCampaign) -> float:
    """Return an estimate of the memory of one world [bytes]: its samples, and the states and forces of one stretch."""
    scenario = campaign.scenario
    kept = (
        3.0 * (campaign.span / scenario.record + 2.0) * (len(campaign.quantities) + 1)
    )  # samples, their joining, one statistic
    plant = scenario.plant
    state = plant.model.nq + plant.model.nv + plant.layout.nz + plant.layout.size
    bodies = len(plant.model.bodies) * (8 + 6 * len(plant.layout.causes))
    return 8.0 * (kept + 64 * (4 * state + bodies))


def free_memory() -> int | None:
    """Return the memory that is free on this machine [bytes]; None if it is unknown."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            found = dict(line.split(":", 1) for line in file)
        return int(found["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None


def _cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
