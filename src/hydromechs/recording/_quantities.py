"""Quantities of a recording by name: "position.gripper.z"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hydromechs.values import nearest

__all__ = ["place"]


def place(
    name: str, variables: Mapping[str, Sequence[str]], labels: Mapping[str, Sequence[str]]
) -> tuple[str, tuple[int, ...]]:
    """The variable and the indices that the name of a quantity means: "position.gripper.z" is ("position", (5, 2)).

    Args:
        name: A variable and the names of its coordinates, joined by dots; names may have dots in them.
        variables: Dimensions of each variable, without time.
        labels: Names along each dimension.
    """
    head, _, rest = name.partition(".")
    if head not in variables:
        raise KeyError(f"no quantity {head!r}{nearest(head, variables)}")
    left: list[tuple[int, str]] = []

    def indices(rest: str, dims: Sequence[str]) -> tuple[int, ...] | None:
        left.append((len(dims), rest))
        if not dims:
            return None if rest else ()
        names = labels[dims[0]]
        for label in sorted((n for n in names if rest == n or rest.startswith(f"{n}.")), key=len, reverse=True):
            inner = indices(rest[len(label) + 1 :], dims[1:])
            if inner is not None:
                return (list(names).index(label), *inner)
        return None

    dims = tuple(variables[head])
    found = indices(rest, dims)
    if found is not None:
        return head, found
    missing, rest = min(left)
    if not missing:
        raise KeyError(f"{name!r}: {rest!r} at its end is too much")
    before = name.removesuffix(rest).removesuffix(".")
    raise KeyError(f"{name!r}: no {rest!r} after {before!r}{nearest(rest, labels[dims[len(dims) - missing]])}")
