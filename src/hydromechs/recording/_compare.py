"""Comparison of two recordings: the largest difference of each variable."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import xarray


class VariableDifference(NamedTuple):
    """Largest difference of one variable between two recordings."""

    name: str
    units: str
    entry: tuple[str, ...]
    """Names of the entry with the largest difference, one per dimension; empty for a scalar."""
    time: float
    """Time of the maximum [s]."""
    maximum: float
    """Maximum |second − first| [unit of the variable]."""
    scale: float
    """Maximum |first| over all entries [unit of the variable]."""

    @property
    def relative(self) -> float:
        """Ratio of the maximum difference to the scale, or to 1 if the first recording is zero throughout [-]."""
        return self.maximum / (self.scale or 1.0)

    @property
    def quantity(self) -> str:
        """Name of the quantity, such as "position.vehicle.x"."""
        return ".".join((self.name, *self.entry))


class RecordingComparison(NamedTuple):
    """Differences between the common contents of two recordings."""

    differences: tuple[VariableDifference, ...]
    """Largest difference of each common variable, in order."""
    begin: float
    """Start of the common time range [s]."""
    end: float
    """End of the common time range [s]."""
    samples: int
    """Number of compared samples, at times of the first recording."""
    interpolated: bool
    """True if the second recording has different times and was interpolated."""
    only_first: tuple[str, ...]
    """Variables and entries of dimensions that exist only in the first recording."""
    only_second: tuple[str, ...]
    """Variables and entries of dimensions that exist only in the second recording."""
    unlike: tuple[str, ...] = ()
    """Variables whose dimensions or units differ between the recordings; these variables were not compared."""
    spans: tuple[tuple[float, float], tuple[float, float]] = ((0.0, 0.0), (0.0, 0.0))
    """Start and end times of the first and the second recording [s]."""

    @property
    def largest(self) -> float:
        """Maximum relative difference of all variables [-], except the energy residual, which is itself an error."""
        return max((d.relative for d in self.differences if d.name != "energy_residual"), default=0.0)

    @property
    def equal(self) -> bool:
        """True if the common contents are identical to the last bit."""
        return all(d.maximum == 0.0 for d in self.differences)


def compare_recordings(first: xarray.Dataset, second: xarray.Dataset) -> RecordingComparison:
    """Compare the common contents of two recordings over their common time range.

    If the times differ, the second recording is interpolated linearly at the times of the first recording. Raises
    `ValueError` if the recordings have no time range or no variable in common.
    """
    spans = _span(first, "first"), _span(second, "second")
    (a, b), only, unlike = _common(first, second)
    t_a, t_b = a["time"].values, b["time"].values
    if max(t_a[0], t_b[0]) > min(t_a[-1], t_b[-1]):
        from_to = ", the second ".join(f"{begin:g} to {end:g} s" for begin, end in spans)
        raise ValueError(
            f"the recordings have no time in common: the first covers {from_to}; compare recordings of the same time"
        )
    begin, end = max(t_a[0], t_b[0]), min(t_a[-1], t_b[-1])
    at_a, at_b = ((t >= begin) & (t <= end) for t in (t_a, t_b))
    times = t_a[at_a]
    interpolated = not np.array_equal(times, t_b[at_b])
    differences = []
    for name in a.data_vars:
        x = np.asarray(a[name].values, dtype=float)[at_a]
        y = np.asarray(b[name].values, dtype=float)
        y = _interpolated(times, t_b, y) if interpolated else y[at_b]
        if x.size:
            differences.append(_largest(a[name], times, x, y))
    return RecordingComparison(tuple(differences), float(begin), float(end), times.size, interpolated, *only, unlike, spans)


def _span(dataset: xarray.Dataset, which: str) -> tuple[float, float]:
    times = dataset["time"].values if "time" in dataset else np.zeros(0)
    if not times.size:
        raise ValueError(f"the {which} recording has no samples; check whether its run ended before the first sample")
    return float(times[0]), float(times[-1])


def _common(
    first: xarray.Dataset, second: xarray.Dataset
) -> tuple[tuple[xarray.Dataset, xarray.Dataset], tuple[tuple[str, ...], tuple[str, ...]], tuple[str, ...]]:
    """Return both recordings reduced to common variables and entries, the other contents of each, incompatible variables."""
    variables = [
        {str(n): v for n, v in ds.data_vars.items() if v.dims[:1] == ("time",) and v.dtype.kind in "fiub"}
        for ds in (first, second)
    ]
    unlike = _unlike(first, second)
    names = [n for n in variables[0] if n in variables[1] and n not in unlike]
    if not names:
        has = "; the second has ".join(", ".join(v) or "none" for v in variables)
        raise ValueError(
            f"the recordings have no variable in common: the first has {has}; compare recordings of the same model"
        )
    labels = [
        {str(d): [str(x) for x in ds[d].values] for d in ds.dims if d != "time" and d in ds.coords} for ds in (first, second)
    ]
    shared = {d: [x for x in labels[0][d] if x in set(labels[1][d])] for d in labels[0] if d in labels[1]}
    only = []
    for mine, other in ((0, 1), (1, 0)):
        missing = [n for n in variables[mine] if n not in variables[other] and n not in unlike]
        here, there = labels[mine], labels[other]
        entries = [f"{d} {x}" for d in here if d in there for x in here[d] if x not in set(there[d])]
        only.append((*missing, *entries))
    pair = tuple(ds[names].sel({d: x for d, x in shared.items() if d in ds[names].dims}) for ds in (first, second))
    return (pair[0], pair[1]), (only[0], only[1]), tuple(unlike.values())


def _unlike(first: xarray.Dataset, second: xarray.Dataset) -> dict[str, str]:
    """Return the common variables with different dimensions or units: descriptions for messages, keyed by name."""
    out = {}
    for name in (str(n) for n in first.data_vars if n in second.data_vars):
        a, b = first[name], second[name]
        units = [str(x.attrs.get("units", "")) for x in (a, b)]
        if a.dims != b.dims:
            out[name] = name
        elif not set(units[0].split(", ")) & set(units[1].split(", ")):  # several units are separated by commas
            out[name] = f"{name} [{', '.join(units)}]"
    return out


def _interpolated(times: np.ndarray, t: np.ndarray, values: np.ndarray) -> np.ndarray:
    flat = values.reshape(len(t), -1)
    columns = [np.interp(times, t, flat[:, k]) for k in range(flat.shape[1])]
    return np.stack(columns, axis=1).reshape(len(times), *values.shape[1:]) if columns else values[: len(times)]


def _largest(variable: xarray.DataArray, times: np.ndarray, x: np.ndarray, y: np.ndarray) -> VariableDifference:
    """Return the largest difference of two arrays and its location; a NaN in only one array counts as infinite."""
    with np.errstate(invalid="ignore"):
        size = np.abs(y - x)
    size[(x == y) | (np.isnan(x) & np.isnan(y))] = 0.0
    size[np.isnan(size)] = np.inf
    index = np.unravel_index(int(np.argmax(size)), size.shape)
    entry = tuple(str(variable[d].values[k]) for d, k in zip(variable.dims[1:], index[1:], strict=True))
    finite = np.abs(x[np.isfinite(x)])
    return VariableDifference(
        name=str(variable.name),
        units=str(variable.attrs.get("units", "1")),
        entry=entry,
        time=float(times[index[0]]),
        maximum=float(size[index]),
        scale=float(finite.max(initial=0.0)),
    )
