"""Results of a campaign: dataset, success rates with confidence intervals, worst worlds, early ends."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from hydromechs.scenario import Scenario
from hydromechs.values import Array

from ._campaign_store import PER_CHECK, PER_QUANTITY, PER_WORLD, Rows, blank, chunks, read_about, read_chunk
from ._fingerprint import fingerprint_of_scenario

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True)
class Rate:
    """Fraction of worlds that satisfy a condition."""

    count: int
    """Number of worlds that satisfy the condition."""
    worlds: int
    """Total number of worlds."""

    @property
    def share(self) -> float:
        """Fraction, 0 to 1; NaN without worlds."""
        return self.count / self.worlds if self.worlds else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Confidence interval of the fraction at 95 %; see `wilson_interval`."""
        return wilson_interval(self.count, self.worlds)


def wilson_interval(count: int, worlds: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the confidence interval of a probability p from `count` successes in n independent worlds (Wilson, 1927).

        (p̂ + z²/2n ± z √(p̂(1 − p̂)/n + z²/4n²)) / (1 + z²/n),  p̂ = count/n

    The interval is also valid for few worlds and for rates near 0 and 1, unlike p̂ ± z √(p̂(1 − p̂)/n).

    `count`: number of successes. `worlds`: number of worlds. `confidence`: probability that the interval contains p.
    """
    if not 0 <= count <= worlds:
        raise ValueError(f"count is {count}, must be from 0 to the number of worlds ({worlds})")
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence is {confidence}, must be between 0 and 1")
    if worlds == 0:
        return 0.0, 1.0
    z, n, p = NormalDist().inv_cdf(0.5 + 0.5 * confidence), float(worlds), count / worlds
    middle, half = p + z * z / (2.0 * n), z * math.sqrt(p * (1.0 - p) / n + (z / (2.0 * n)) ** 2)
    low, high = (middle - half) / (1.0 + z * z / n), (middle + half) / (1.0 + z * z / n)
    return 0.0 if count == 0 else max(0.0, low), 1.0 if count == worlds else min(1.0, high)


@dataclass(frozen=True)
class CheckOutcome:
    """Result of a check in all worlds."""

    name: str
    """Name of the check."""
    quantity: str
    """Quantity of the check."""
    text: str
    """Description of the statistic and quantity."""
    limit: str
    """Description of the limits."""
    below: float | None
    """Upper limit [unit of the quantity], or None."""
    above: float | None
    """Lower limit [unit of the quantity], or None."""
    rate: Rate
    """Fraction of worlds that passed the check."""
    worlds: Array
    """Indices of the worlds, shape (n,)."""
    values: Array
    """Value in each world [unit of the quantity], shape (n,); NaN if missing."""

    @property
    def margins(self) -> Array:
        """Distance of each value from the nearer limit, negative outside, shape (n,); −∞ for missing values."""
        upper, lower = math.inf if self.below is None else self.below, -math.inf if self.above is None else self.above
        margins = np.minimum(upper - self.values, self.values - lower)
        return np.where(np.isnan(self.values), -np.inf, margins)

    def worst(self, count: int) -> list[tuple[int, float]]:
        """Return the worlds with the smallest margins and their values, in ascending order of margin.

        `count`: maximum number of worlds.
        """
        order = np.argsort(self.margins, kind="stable")[:count]
        return [(int(self.worlds[k]), float(self.values[k])) for k in order]


@dataclass(frozen=True)
class CampaignResults:
    """Results of the finished worlds of a campaign."""

    folder: Path
    """Folder of the campaign."""
    about: dict[str, Any]
    """Content of campaign.json."""
    rows: Rows
    """Arrays of all results, keyed by name, one row per world."""

    @cached_property
    def dataset(self) -> xarray.Dataset:
        """All results as a dataset, with the names of checks and quantities as coordinates and settings as attributes."""
        import xarray  # slow to import, and unnecessary for rates

        dims = dict.fromkeys(PER_WORLD, ("world",)) | dict.fromkeys(PER_CHECK, ("world", "check"))
        dims |= dict.fromkeys(PER_QUANTITY, ("world", "quantity")) | {"message": ("world", "which")}
        names = {"check": [check["name"] for check in self.about["checks"]], "quantity": self.about["quantities"]}
        coords = {"world": self.rows["world"]} | {dim: np.array(texts, dtype=str) for dim, texts in names.items()}
        data = {name: (dims[name], values) for name, values in self.rows.items() if name != "world"}
        attrs = {key: self.about[key] for key in ("scenario", "worlds", "seed", "duration", "hydromechs")}
        return xarray.Dataset(data, coords=coords, attrs=attrs).set_coords("seed")

    @property
    def planned(self) -> int:
        """Number of worlds of the campaign, including unfinished worlds."""
        return int(self.about["worlds"])

    @property
    def identical(self) -> bool:
        """True if there are several worlds and all have the same results, so that seeds have no effect."""
        results = [x for name, x in self.rows.items() if name not in ("world", "seed")]
        same = (np.array_equal(x, np.broadcast_to(x[:1], x.shape), equal_nan=x.dtype.kind == "f") for x in results)
        return len(self.rows["world"]) > 1 and all(same)

    @property
    def success(self) -> Rate:
        """Fraction of worlds that did not fail and passed all checks."""
        return Rate(int(self.rows["success"].sum()), len(self.rows["world"]))

    @property
    def capsized(self) -> list[int]:
        """Indices of worlds in which a vehicle capsized; empty if the scenario expects capsizing."""
        return self.rows["world"][self.rows["capsized"]].tolist()

    @cached_property
    def checks(self) -> tuple[CheckOutcome, ...]:
        """Result of each check."""
        worlds, passed, values = (self.rows[name] for name in ("world", "passed", "value"))
        return tuple(
            CheckOutcome(
                name=check["name"],
                quantity=check["quantity"],
                text=check["text"],
                limit=check["limit"],
                below=check["below"],
                above=check["above"],
                rate=Rate(int(passed[:, k].sum()), len(worlds)),
                worlds=worlds,
                values=values[:, k],
            )
            for k, check in enumerate(self.about["checks"])
        )

    @cached_property
    def ended(self) -> dict[str, list[int]]:
        """Worlds that ended early, keyed by reason in order of frequency; "…" replaces times and numbers in reasons."""
        rows = zip(self.rows["reason"], self.rows["world"], strict=True)
        found = [(_kind(str(reason)), int(world)) for reason, world in rows if reason]
        order = [kind for kind, _ in Counter(kind for kind, _ in found).most_common()]
        return {kind: [world for k, world in found if k == kind] for kind in order}


def _kind(reason: str) -> str:
    text = re.sub(r"^t = \S+ s: | at t = \S+ s", "", reason)
    return re.sub(r"(?<![\w.])[-+−]?\d+\.?\d*(e[-+]?\d+)?(?![\w.])", "…", text.partition(";")[0])


def world_of(results: CampaignResults, world: int) -> tuple[int, int, dict[str, float]]:
    """Return the seed of a finished world, the digest of its final state, and the values of its checks, keyed by name.

    `world`: number of the world.
    """
    rows = results.rows
    there = np.flatnonzero(rows["world"] == world)
    if not there.size and not 0 <= world < results.planned:
        raise ValueError(f"world is {world}, must be from 0 to {results.planned - 1}, the worlds of {results.folder}")
    if not there.size:
        raise ValueError(f"world {world} of {results.folder} is not finished; run the campaign again to resume it")
    k = int(there[0])
    names = [check["name"] for check in results.about["checks"]]
    return int(rows["seed"][k]), int(rows["digest"][k]), dict(zip(names, rows["value"][k].tolist(), strict=True))


def same_scenario(results: CampaignResults, scenario: Scenario) -> bool:
    """True if a scenario with the settings of a campaign equals the scenario of the campaign."""
    return bool(results.about["fingerprint"] == fingerprint_of_scenario(scenario))


def load_campaign(folder: str | os.PathLike[str]) -> CampaignResults:
    """Load the available results of a campaign. `folder`: folder of the campaign."""
    folder = Path(folder)
    about = read_about(folder)
    parts: list[Rows] = []
    none = blank(0, len(about["checks"]), len(about["quantities"])) | {"world": np.zeros(0, dtype=int)}
    at = 0
    for worlds, path in sorted(chunks(folder).items(), key=lambda item: item[0].start):
        rows = read_chunk(path, worlds, about)  # checks `worlds` before memory is allocated for their numbers
        numbers = np.arange(worlds.start, worlds.stop)
        rows |= {"world": numbers}
        new = numbers >= at  # files of two chunk sizes can overlap
        at = max(at, worlds.stop)
        parts.append({name: values[new] for name, values in rows.items()})
    return CampaignResults(folder, about, {name: np.concatenate([x[name] for x in parts or [none]]) for name in none})
