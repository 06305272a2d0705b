"""Quantities of a recording by name: "position.gripper.z"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from hydromechs.values import Array, nearest

if TYPE_CHECKING:
    import xarray

__all__ = ["find_quantity", "samples_of"]


def samples_of(dataset: xarray.Dataset, name: str) -> Array:
    """Samples of a quantity, shape (time,).

    Args:
        dataset: The recording.
        name: As of `find_quantity`, or "time".
    """
    variables: dict[str, tuple[str, ...]] = {"time": ()}
    variables |= {str(key): tuple(map(str, v.dims[1:])) for key, v in dataset.data_vars.items()}
    labels = {str(dim): [str(x) for x in dataset[dim].values] for dim in dataset.dims if dim != "time"}
    head, index = find_quantity(name, variables, labels)
    samples = np.asarray(dataset[head].values, dtype=float)
    for i in index:
        samples = samples[:, i]
    return samples


def find_quantity(
    name: str, variables: Mapping[str, Sequence[str]], labels: Mapping[str, Sequence[str]]
) -> tuple[str, tuple[int, ...]]:
    """The variable and the indices that the name of a quantity means: "position.gripper.z" is ("position", (5, 2)).

    Args:
        name: A variable and the names of its coordinates, joined by dots; names may have dots in them.
        variables: Dimensions of each variable, without time.
        labels: Names along each dimension.
    """
    variable, _, entry = name.partition(".")
    if variable not in variables:
        raise KeyError(f"no quantity {variable!r}{nearest(variable, variables)}")
    tried: list[tuple[int, str]] = []  # what was left to be found of the name: number of dimensions, text

    def indices(text: str, dims: Sequence[str]) -> tuple[int, ...] | None:
        tried.append((len(dims), text))
        if not dims:
            return None if text else ()
        names = labels[dims[0]]
        for label in sorted((n for n in names if text == n or text.startswith(f"{n}.")), key=len, reverse=True):
            inner = indices(text[len(label) + 1 :], dims[1:])
            if inner is not None:
                return (list(names).index(label), *inner)
        return None

    dims = tuple(variables[variable])
    found = indices(entry, dims)
    if found is not None:
        return variable, found
    missing, text = min(tried)
    if not missing:
        raise KeyError(f"{name!r}: {text!r} at its end is too much")
    before = name.removesuffix(text).removesuffix(".")
    raise KeyError(f"{name!r}: no {text!r} after {before!r}{nearest(text, labels[dims[len(dims) - missing]])}")
