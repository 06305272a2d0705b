"""Samples of watched quantities in all worlds, and the checks of a scenario in each."""

from collections.abc import Iterable, Mapping

import numpy as np

from hydromechs.recording import STORED_ENERGIES, Check, CheckResult, find_terms, source_of, values_of
from hydromechs.simulation import Plant, coordinates, quantities
from hydromechs.values import Array

AUDIT = "energy_residual"
"""Quantity that depends on the start of a run, not only on the current instant."""


class Quantities:
    """Quantities by name, from variables of a recording. `signals`: signals of the blocks, name to unit."""

    def __init__(self, plant: Plant, signals: Mapping[str, str], names: Iterable[str]) -> None:
        variables, labels = quantities(plant, signals), coordinates(plant, signals)
        self._terms = {name: find_terms(name, variables, labels) for name in names}
        heads = {source_of(head) for head, _ in self._terms.values()}
        audit = {*STORED_ENERGIES, "work"} & variables.keys() if AUDIT in heads else set()
        self.sources = sorted(heads - {"time", AUDIT} | audit)
        """Names of the variables from which they are computed."""
        self.audited = AUDIT in heads

    def values(self, found: Mapping[str, Array], t: Array) -> dict[str, Array]:
        """Return the values of all quantities, shape (worlds, rows) each.

        `found`: values of `sources`, shape (worlds, rows, ...) each; `t`: times [s], shape (worlds, rows).
        """
        found = dict(found) | {"time": t}
        if self.audited:
            found[AUDIT] = sum(found[name] for name in STORED_ENERGIES) - np.sum(found.get("work", 0.0), axis=-1)
        out = {}
        for name, (head, terms) in self._terms.items():
            x = np.asarray(found[source_of(head)], dtype=float)
            out[name] = values_of(head, x.reshape(t.size, *x.shape[2:]), terms).reshape(t.shape)
        return out


class Samples(Quantities):
    """Samples of quantities in all worlds, kept in memory. Work and energy residual count from the first sample."""

    def __init__(self, plant: Plant, signals: Mapping[str, str], names: Iterable[str], worlds: int) -> None:
        super().__init__(plant, signals, names)
        self._worlds, self._times = worlds, [np.zeros((worlds, 0))]
        self._rows = {name: [np.zeros((worlds, 0))] for name in self._terms}
        since_start = {name for name, (head, _) in self._terms.items() if head in ("work", AUDIT)}
        self._final = False
        self._first = {name: np.full((worlds, 1), np.nan) for name in since_start}

    def keep(self, t: Array, found: Mapping[str, Array], *, final: bool = False) -> None:
        """Append rows; their times are NaN if a world has none.

        `t`: times [s], shape (worlds, rows); `found`: as in `values`; `final`: True for the end of a run, which the next row
        replaces.
        """
        if self._final:
            for rows in (self._times, *self._rows.values()):
                rows.pop()
        self._final = final
        there = ~np.isnan(t)
        self._times.append(np.array(t))
        with np.errstate(all="ignore"):
            for name, x in self.values(found, t).items():
                values = np.where(there, x, np.nan)
                if name in self._first:
                    first = self._first[name]
                    first[:] = np.where(np.isnan(first), values[:, :1], first)
                    values = values - first
                self._rows[name].append(values)

    def clear(self, which: Array) -> None:
        """Drop the samples of some worlds, which restart."""
        self._final = False
        for rows in (self._times, *self._rows.values()):
            rows[:] = [np.concatenate(rows, axis=1)[:, : 0 if len(which) == self._worlds else None]]
            rows[0][which] = np.nan
        for first in self._first.values():
            first[which] = np.nan

    @property
    def times(self) -> Array:
        """Times of the samples [s], shape (worlds, n); NaN for none."""
        return np.concatenate(self._times, axis=1)

    def of(self, name: str) -> Array:
        """Return the samples of a quantity, shape (worlds, n)."""
        if name not in self._rows:
            raise KeyError(f"no samples of {name!r}; name it in watch=[...]")
        return np.concatenate(self._rows[name], axis=1)

    def judge(self, checks: Iterable[Check]) -> list[list[CheckResult]]:
        """Return the results of checks in each world."""
        checks, times = list(checks), self.times
        samples = {check.quantity: self.of(check.quantity) for check in checks}
        out = []
        for k, there in enumerate(~np.isnan(times)):
            out.append([check.judge_samples(times[k, there], samples[check.quantity][k, there]) for check in checks])
        return out
