"""Named quantities of a recording, such as "position.gripper.z", and sums of quantities, such as "contact_force.*".

The angles "roll", "pitch", "heading" and "tilt" of a body, in radians or, with "_deg", in degrees, are computed from its
recorded orientation. Checks, events, plots, tables and sweeps accept them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hydromechs.values import Array, Scalar, nearest

from ._stored import structured

if TYPE_CHECKING:
    import xarray


ALL = "*"
"""Wildcard for the sum over all names."""


def samples_of(dataset: xarray.Dataset, name: str) -> Array:
    """Return the samples of a quantity, shape (time,). `name` is "time" or a name for `find_terms`."""
    variables: dict[str, tuple[str, ...]] = {"time": ()}
    own = dataset.variables  # not dataset[...], which takes a hundred times as long
    variables |= {str(key): tuple(map(str, own[key].dims[1:])) for key in dataset.data_vars}
    variables |= ATTITUDE if "orientation" in variables else {}
    used = variables.get(name.partition(".")[0], ())
    labels = {dim: [str(x) for x in own[dim].values] for dim in used}
    head, terms = find_terms(name, variables, labels)
    return values_of(head, np.asarray(own[source_of(head)].values, dtype=float), terms)


OF_JOINT: dict[str, dict[str, str]] = {
    "q": {"rad": "rad", "m": "m"},
    "v": {"rad": "rad/s", "m": "m/s"},
    **{head: {"rad": "N m", "m": "N"} for head in ("tau", "actuator_force")},
}
"""Units of variables with one entry per joint, keyed by variable and by the unit of the joint coordinate."""


def unit_of(dataset: xarray.Dataset, name: str) -> str:
    """Return the unit of a quantity; empty if the quantity is dimensionless or its unit is unknown."""
    head, _, entry = name.partition(".")
    if head in ATTITUDE:
        return "deg" if head.endswith("_deg") else "rad"
    units = (structured(dataset, f"{head}_units") or {}).get(entry)
    if units is None and (joint := (structured(dataset, "joint_units") or {}).get(entry)):
        units = OF_JOINT.get(head, {}).get(joint)
    if units is None and head in dataset:
        units = str(dataset[head].attrs.get("units", ""))
        last, two = str(dataset[head].dims[-1]), units.split(", ")
        if last in ("nu", "six") and len(two) == 2:  # along axes, then about them
            units = two[dataset[last].values.tolist().index(entry.rpartition(".")[2]) // 3] if "*" not in entry else ""
    return "" if units is None or units == "1" or "," in units else units


def source_of(head: str) -> str:
    """Return the recorded variable from which a quantity is computed: "orientation" for attitude angles, otherwise `head`."""
    return "orientation" if head in ATTITUDE else head


def values_of(head: str, samples: Array, terms: Sequence[tuple[int, ...]]) -> Array:
    """Return the values of a quantity, shape (n,), from the first part of its name and the indices of `find_terms`.

    `samples` are the values of the variable `source_of(head)`, shape (n, ...).
    """
    if head not in ATTITUDE:
        return summed(samples, terms)
    return sum((attitude(head, samples[:, i]) for (i,) in terms), np.zeros(len(samples)))


def summed(samples: Array, terms: Sequence[tuple[int, ...]]) -> Array:
    """Return the sum of the entries `terms` of each sample, shape (n,). `find_terms` returns the indices of the entries."""
    total = np.zeros(len(samples))
    for index in terms:
        column = samples
        for i in index:
            column = column[:, i]
        total = total + column
    return total


def find_quantity(
    name: str, variables: Mapping[str, Sequence[str]], labels: Mapping[str, Sequence[str]]
) -> tuple[str, tuple[int, ...]]:
    """Return the variable and indices of a named quantity, such as ("position", (5, 2)) for "position.gripper.z".

    `name`: a variable and the names of its coordinates, joined by dots; names may contain dots. `variables`: dimensions of
    each variable, without time. `labels`: names along each dimension.
    """
    head, terms = find_terms(name, variables, labels)
    if len(terms) != 1:
        raise KeyError(f"{name!r} is a sum, which only checks accept; name one of its terms")
    return head, terms[0]


def find_terms(
    name: str, variables: Mapping[str, Sequence[str]], labels: Mapping[str, Sequence[str]]
) -> tuple[str, list[tuple[int, ...]]]:
    """Return the variable and the indices of all terms of a sum, in which "*" selects all names; see `find_quantity`."""
    variable, _, entry = name.partition(".")
    if variable not in variables:
        raise KeyError(f"unknown quantity {variable!r}{nearest(variable, variables)}")
    tried: list[tuple[int, str]] = []  # remainder of the name that was not found: number of dimensions, text

    def indices(text: str, dims: Sequence[str]) -> list[tuple[int, ...]]:
        tried.append((len(dims), text))
        if not dims:
            return [] if text else [()]
        names = list(labels[dims[0]])
        if text == ALL or text.startswith(f"{ALL}."):
            rest = indices(text[len(ALL) + 1 :], dims[1:])
            return [(i, *more) for i in range(len(names)) for more in rest]
        for label in sorted((n for n in names if text == n or text.startswith(f"{n}.")), key=len, reverse=True):
            rest = indices(text[len(label) + 1 :], dims[1:])
            if rest:
                return [(names.index(label), *more) for more in rest]
        return []

    dims = tuple(variables[variable])
    found = indices(entry, dims)
    if found:
        return variable, found
    missing, text = min(tried)
    if not missing:
        raise KeyError(f"{name!r}: remove {text!r} from the end")
    dim = dims[len(dims) - missing]
    before = name.removesuffix(text).removesuffix(".")
    what = (
        f"unknown name {text!r} after {before!r}" if text else f"add one name of the dimension {dim!r} after {before + '.'!r}"
    )
    raise KeyError(f"{name!r}: {what}{nearest(text, labels[dim])}")


ANGLES = {
    "roll": "angle about the x axis of the body",
    "pitch": "angle between the x axis of the body and the horizontal plane",
    "heading": "angle about the z axis of the world",
    "tilt": "angle between the z axes of the body and the world",
}
"""Descriptions of the angles: rotations about z (heading), then y (pitch), then x (roll), and the tilt."""
ATTITUDE: dict[str, tuple[str, ...]] = {f"{name}{unit}": ("body",) for name in ANGLES for unit in ("", "_deg")}
"""Dimensions, without time, of the quantities computed from "orientation", keyed by quantity."""
FULL_TURN = 2.0 * math.pi


def attitude(name: str, quaternion: Array) -> Array:
    """Return the attitude angle `name` [rad, or ° with "_deg"], shape (...), of quaternions body to world, shape (..., 4).

    Roll and heading are in (−π, π], pitch in [−π/2, π/2], tilt in [0, π]: R_WB = R_z(heading) R_y(pitch) R_x(roll), and
    cos(tilt) = (R_WB)_zz. Roll and heading are not defined at a pitch of ±90°; the tilt is accurate at every angle.
    """
    w, x, y, z = np.moveaxis(np.asarray(quaternion, dtype=float), -1, 0)
    angle = name.removesuffix("_deg")
    if angle == "roll":
        out = np.arctan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
    elif angle == "pitch":
        out = np.arcsin(np.clip(2.0 * (w * y - z * x), -1.0, 1.0))
    elif angle == "heading":
        out = np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    else:
        out = 2.0 * np.arctan2(np.hypot(x, y), np.hypot(w, z))
    return np.degrees(out) if name.endswith("_deg") else out


def attitude_of(recording: xarray.Dataset, name: str) -> xarray.DataArray:
    """Return the attitude angle `name` of every body, shape (time, body), in the format of a recorded variable."""
    q = recording["orientation"]
    unit, words = "deg" if name.endswith("_deg") else "rad", ANGLES[name.removesuffix("_deg")]
    return q.isel(wxyz=0, drop=True).copy(data=attitude(name, q.values)).rename(name).assign_attrs(units=unit, long_name=words)


def period_of(quantity: str) -> float | None:
    """Return the period of a quantity that wraps around, such as 360 for "heading_deg.vehicle"; None for other quantities."""
    head = quantity.partition(".")[0]
    if head not in ATTITUDE or head.startswith(("pitch", "tilt")):
        return None
    return 360.0 if head.endswith("_deg") else FULL_TURN


def angle_difference(difference: Scalar | Array, period: float | None) -> Any:
    """Wrap differences of a quantity, any shape, to [−period/2, period/2); return them unchanged if `period` is None."""
    return difference if period is None else (difference + 0.5 * period) % period - 0.5 * period
