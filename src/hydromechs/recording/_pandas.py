"""A recording as a table: a row per sample, a column per quantity."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from hydromechs.values import nearest

from ._attitude import ATTITUDE, attitude_of
from ._attributes import structured

if TYPE_CHECKING:
    import pandas
    import xarray

UNITS_OF = {"command": "command_units", "signal": "signal_units"}
"""Variables whose entries have units of their own, and the attribute of the recording that has them."""


def to_pandas(recording: xarray.Dataset, quantities: Iterable[str] = ()) -> pandas.DataFrame:
    """Return a recording as a `pandas.DataFrame`: a row per sample, a column per quantity, the time in seconds as index.

    Columns are named as checks and plots name quantities, `position.vehicle.z`; `frame.attrs["units"]` has the unit of each
    where it is known. Variables without a time dimension are omitted. Angles of bodies, such as "roll_deg" or "tilt.vehicle",
    are included only if named.

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
            raise KeyError(f"no quantity {start!r}{nearest(start, [*columns, *map(str, recording.data_vars), *ATTITUDE])}")
    if wanted:
        columns = {column: x for column, x in columns.items() if any(_begins(column, start) for start in wanted)}
    frame = pandas.DataFrame(columns, index=pandas.Index(recording["time"].values, name="time"))
    frame.attrs["units"] = {"time": "s"} | {column: unit for column, unit in units.items() if column in columns}
    return frame


def _begins(column: str, start: str) -> bool:
    return column == start or column.startswith(f"{start}.")


def _labels(recording: xarray.Dataset, dims: Iterable[Any]) -> list[list[str]]:
    """Names of the entries along each dimension; numbers where there are none."""
    return [
        [str(x) for x in recording[d].values] if d in recording.coords else [str(k) for k in range(recording.sizes[d])]
        for d in dims
    ]
