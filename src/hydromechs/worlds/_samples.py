"""Samples of watched quantities in all worlds, and evaluation of the checks of a scenario in each world."""

from collections.abc import Iterable, Mapping

import numpy as np

from hydromechs.recording import STORED_ENERGIES, Check, CheckResult, find_terms, source_of, values_of
from hydromechs.simulation import Plant, coordinates, quantities
from hydromechs.values import Array

AUDIT = "energy_residual"
"""Quantity that depends on the start of a run in addition to the current instant."""


class Quantities:
    """Named quantities, computed from recorded variables. `signals`: units of the signals of blocks, keyed by signal."""

    def __init__(self, plant: Plant, signals: Mapping[str, str], names: Iterable[str]) -> None:
        variables, labels = quantities(plant, signals), coordinates(plant, signals)
        self._terms = {name: find_terms(name, variables, labels) for name in names}
        heads = {source_of(head) for head, _ in self._terms.values()}
        audit = {*STORED_ENERGIES, "work"} & variables.keys() if AUDIT in heads else set()
        self.sources = sorted(heads - {"time", AUDIT} | audit)
        """Names of the variables from which the quantities are computed."""
        self.audited = AUDIT in heads

    def values(self, found: Mapping[str, Array], t: Array) -> dict[str, Array]:
        """Return the values of all quantities, shape (worlds, rows) each.

        `found`: values of the variables `sources`, shape (worlds, rows, ...) each. `t`: times [s], shape (worlds, rows).
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
    """Samples of quantities of all worlds, in memory. Work and energy residual are relative to the first sample."""

    def __init__(self, plant: Plant, signals: Mapping[str, str], names: Iterable[str], worlds: int) -> None:
        super().__init__(plant, signals, names)
        self._worlds, self._times = worlds, [np.zeros((worlds, 0))]
        self._rows = {name: [np.zeros((worlds, 0))] for name in self._terms}
        since_start = {name for name, (head, _) in self._terms.items() if head in ("work", AUDIT)}
        self._final = False
        self._first = {name: np.full((worlds, 1), np.nan) for name in since_start}

    def keep(self, t: Array, found: Mapping[str, Array], *, final: bool = False) -> None:
        """Append rows of samples.

        `t`: times [s], shape (worlds, rows); NaN marks a missing sample. `found`: as in `values`. `final`: True for the
        sample at the end of a run, which the next row replaces.
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
        """Delete the samples of the worlds `which`."""
        self._final = False
        for rows in (self._times, *self._rows.values()):
            rows[:] = [np.concatenate(rows, axis=1)[:, : 0 if len(which) == self._worlds else None]]
            rows[0][which] = np.nan
        for first in self._first.values():
            first[which] = np.nan

    @property
    def times(self) -> Array:
        """Times of the samples [s], shape (worlds, n); NaN marks a missing sample."""
        return np.concatenate(self._times, axis=1)

    def of(self, name: str) -> Array:
        """Return the samples of a quantity, shape (worlds, n)."""
        if name not in self._rows:
            raise KeyError(f"quantity {name!r} was not sampled; add the quantity to watch=[...]")
        return np.concatenate(self._rows[name], axis=1)

    def judge(self, checks: Iterable[Check]) -> list[list[CheckResult]]:
        """Return the results of checks, one list per world."""
        checks, times = list(checks), self.times
        samples = {check.quantity: self.of(check.quantity) for check in checks}
        out = []
        for k, there in enumerate(~np.isnan(times)):
            out.append([check.judge_samples(times[k, there], samples[check.quantity][k, there]) for check in checks])
        return out
