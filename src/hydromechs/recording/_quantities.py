"""Quantities of a recording by name: "position.gripper.z"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hydromechs.values import nearest

__all__ = ["find_quantity"]


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
