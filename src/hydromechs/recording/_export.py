"""Export of recordings: selection, tables and MATLAB files."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hydromechs.values import nearest

from ._quantities import ATTITUDE, attitude_of
from ._stored import structured

if TYPE_CHECKING:
    import pandas
    import xarray


MAT_NAME = 63
"""Maximum length of a variable name in MATLAB [characters]."""


def select_recording(
    recording: xarray.Dataset,
    *,
    variables: Iterable[str] = (),
    entries: Mapping[str, Sequence[str]] | None = None,
    begin: float | None = None,
    end: float | None = None,
) -> xarray.Dataset:
    """Return part of a recording: selected variables, selected entries of dimensions, an interval of time.

    `variables`: names of variables, such as "position", or of body angles, such as "tilt_deg". Defaults to all recorded
    variables. `entries`: names to keep along dimensions, such as {"body": ["vehicle"]}. Defaults to all. `begin`: time of
    the first sample to keep [s]. Defaults to the start. `end`: time of the last sample to keep [s]. Defaults to the end.
    """
    names = [str(name) for name in recording.data_vars]
    angles = [name for name in ATTITUDE if name not in names] if "orientation" in names else []
    wanted = list(dict.fromkeys(variables))
    for name in wanted:
        if name not in (*names, *angles):
            raise KeyError(f"the recording has no variable {name!r}{nearest(name, [*names, *angles])}")
    recording = recording.assign({name: attitude_of(recording, name) for name in angles if name in wanted})
    part = recording[wanted] if wanted else recording
    for dim, chosen in (entries or {}).items():
        if dim not in part.coords or dim == "time":
            raise KeyError(
                f"the recording has no dimension {dim!r}{nearest(dim, [str(d) for d in part.coords if d != 'time'])}"
            )
        there = [str(x) for x in part[dim].values]
        for entry in chosen:
            if entry not in there:
                raise KeyError(f"the recording has no {dim} {entry!r}{nearest(entry, there)}")
        part = part.isel({dim: [there.index(entry) for entry in chosen]})
    if begin is None and end is None:
        return part
    time = recording["time"].values
    first, last = (float(time[0]), float(time[-1])) if len(time) else (0.0, 0.0)
    low, high = first if begin is None else begin, last if end is None else end
    keep = np.flatnonzero((time >= low - 1e-9) & (time <= high + 1e-9))
    if not len(keep):
        raise ValueError(f"there is no sample from {low:g} to {high:g} s; choose {first:g} to {last:g} s ({len(time)} samples)")
    return part.isel(time=keep)


def save_csv(ds: xarray.Dataset, path: Path) -> None:
    """Write a CSV file with one row per sample and one column per entry, in full precision."""
    to_pandas(ds).reset_index().to_csv(path, index=False)


def save_parquet(ds: xarray.Dataset, path: Path) -> None:
    """Write the table of `save_csv` as Parquet, with the unit of each column and the attributes as metadata."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "Parquet files need pyarrow, which is not installed; run pip install 'hydromechs[parquet]', or save as .csv",
            name="pyarrow",
        ) from None

    frame = to_pandas(ds)
    units = frame.attrs["units"]
    frame = frame.reset_index()
    fields = [
        pyarrow.field(name, pyarrow.from_numpy_dtype(frame[name].dtype), metadata={"units": units.get(name, "")})
        for name in frame.columns
    ]
    attrs = {str(key): value if isinstance(value, str) else json.dumps(value) for key, value in ds.attrs.items()}
    columns = [pyarrow.array(frame[name].to_numpy()) for name in frame.columns]
    parquet.write_table(pyarrow.Table.from_arrays(columns, schema=pyarrow.schema(fields, metadata=attrs)), path)


def save_mat(ds: xarray.Dataset, path: Path) -> None:
    """Write a MATLAB file (version 5) with each variable as an array whose first dimension is time.

    The structs `dims`, `units` and `long_name` describe the variables. `entries` contains the names along each dimension as
    a cell array, and `attributes` contains the attributes of the recording. Characters that are invalid in MATLAB names
    become "_".
    """
    from scipy.io import savemat

    used: set[str] = set()
    content: dict[str, Any] = {}
    dims: dict[str, Any] = {}
    units: dict[str, str] = {}
    titles: dict[str, str] = {}
    for original in ("time", *ds.data_vars):
        variable, name = ds[original], _mat_name(str(original), used)
        values = variable.values
        # MATLAB has no arrays with one dimension: samples of a scalar are a column.
        content[name] = values[:, None] if values.ndim == 1 else values
        dims[name] = _cells([str(dim) for dim in variable.dims])
        units[name] = str(variable.attrs.get("units", ""))
        titles[name] = str(variable.attrs.get("long_name", ""))
    entries = {str(dim): _cells([str(x) for x in ds[dim].values]) for dim in ds.coords if dim != "time"}
    attributes = {_mat_name(str(key), set()): value for key, value in ds.attrs.items()}
    described = {"dims": dims, "units": units, "long_name": titles, "entries": entries, "attributes": attributes}
    content |= {_mat_name(key, used): value for key, value in described.items() if value}
    with open(path, "wb") as file:  # savemat would add .mat to the name
        savemat(file, content, format="5", long_field_names=True, do_compression=True)


def _cells(texts: Sequence[str]) -> Any:
    cells = np.empty((len(texts), 1), dtype=object)
    cells[:, 0] = texts
    return cells


def _mat_name(name: str, used: set[str]) -> str:
    """Return a valid, unused MATLAB name and add it to `used`."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)
    plain = (plain if plain[:1].isalpha() else f"x{plain}")[:MAT_NAME]
    found, k = plain, 2
    while found in used:
        suffix = f"_{k}"
        found, k = plain[: MAT_NAME - len(suffix)] + suffix, k + 1
    used.add(found)
    return found


UNITS_OF = {"command": "command_units", "signal": "signal_units"}
"""Attributes of a recording that list the units of entries, keyed by variable."""


def to_pandas(recording: xarray.Dataset, quantities: Iterable[str] = ()) -> pandas.DataFrame:
    """Return a recording as a `pandas.DataFrame`: one row per sample, one column per quantity, the time [s] as index.

    Column names are the quantity names of checks and plots, such as `position.vehicle.z`. `frame.attrs["units"]` contains
    the known units, keyed by column. Variables without a time dimension are omitted. Angles of bodies, such as "roll_deg"
    or "tilt.vehicle", are included only if named.

    Args:
        recording: Recording of a run: `run.recording` or `hm.load_recording(folder)`.
        quantities: Names of variables, or prefixes of quantities up to a dot, such as "position" or "position.vehicle".
            Defaults to all.
    """
    import pandas

    wanted = (quantities,) if isinstance(quantities, str) else tuple(quantities)
    columns: dict[str, Any] = {}
    units: dict[str, str] = {}
    angles = [name for name in ATTITUDE if any(_begins(start, name) for start in wanted) and "orientation" in recording]
    for name, variable in (*recording.data_vars.items(), *((name, attitude_of(recording, name)) for name in angles)):
        if variable.dims[:1] != ("time",):
            continue
        names = ["".join(f".{x}" for x in entry) for entry in itertools.product(*_labels(recording, variable.dims[1:]))]
        values = variable.values.reshape(recording.sizes["time"], len(names))
        own = structured(recording, UNITS_OF.get(str(name), "")) or {}
        for k, entry in enumerate(names):
            columns[f"{name}{entry}"] = values[:, k]
            unit = own.get(entry[1:], "") if own else variable.attrs.get("units", "")
            units |= {f"{name}{entry}": unit} if unit else {}
    for start in wanted:
        if not any(_begins(column, start) for column in columns):
            known = [*columns, *map(str, recording.data_vars), *ATTITUDE]
            raise KeyError(f"the recording has no quantity {start!r}{nearest(start, known)}")
    if wanted:
        columns = {column: x for column, x in columns.items() if any(_begins(column, start) for start in wanted)}
    frame = pandas.DataFrame(columns, index=pandas.Index(recording["time"].values, name="time"))
    frame.attrs["units"] = {"time": "s"} | {column: unit for column, unit in units.items() if column in columns}
    return frame


def _begins(column: str, start: str) -> bool:
    return column == start or column.startswith(f"{start}.")


def _labels(recording: xarray.Dataset, dims: Iterable[Any]) -> list[list[str]]:
    """Return the names of the entries along each dimension; indices for a dimension without names."""
    return [
        [str(x) for x in recording[d].values] if d in recording.coords else [str(k) for k in range(recording.sizes[d])]
        for d in dims
    ]
