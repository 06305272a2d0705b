"""Operation counts for the documentation: composite and articulated bodies on stars, articulated bodies and the closed form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import hydromechs as hm
from hydromechs.compiler import trace
from hydromechs.equations import FLUID, operation_count, shape_of
from hydromechs.library import load, serial_chain, star
from hydromechs.model import Model

Pair = tuple[int, int]


class StarCount(NamedTuple):
    """[M, A] of forward dynamics of a dry vehicle with six chains."""

    joints: int
    """Joints of each chain."""
    composite: Pair
    """By composite bodies."""
    articulated: Pair
    """By articulated bodies."""


def star_counts(sizes: Sequence[int] = (2, 3, 4, 5, 6)) -> list[StarCount]:
    """Composite against articulated bodies for a dry vehicle with six chains."""
    models = [(n, star(6, n, wet=False)) for n in sizes]
    return [StarCount(n, operation_count(m, "star").papers, operation_count(m, "articulated_body").papers) for n, m in models]


class ClosedFormCount(NamedTuple):
    """[M, A] of forward dynamics by articulated bodies and in closed form, and of the Coriolis matrices alone."""

    model: str
    """What the mechanism is."""
    articulated: Pair
    """Forward dynamics by articulated bodies."""
    closed_form: Pair
    """Forward dynamics by the matrices in closed form."""
    coriolis: Pair
    """The Coriolis matrix with skew Ṁ − 2C alone."""
    lagrange: Pair | None
    """The Coriolis matrix from Lagrange's equations alone; None where it was not counted."""


def closed_form_counts() -> list[ClosedFormCount]:
    """Articulated bodies against the closed form, in water that moves and accelerates where wet."""
    cases: tuple[tuple[str, Model, bool], ...] = (
        ("vehicle + 6R, general, wet", serial_chain(6), True),
        ("vehicle + 6R, general, dry", serial_chain(6, wet=False), True),
        ("vehicle + 3R, general, wet", serial_chain(3), True),
        ("vehicle + 6 legs of 3R, wet", star(6, 3), False),
        ("`tiburon_titan2`", load("tiburon_titan2"), True),
    )
    out = []
    for name, model, with_lagrange in cases:
        out.append(
            ClosedFormCount(
                name,
                operation_count(model, "articulated_body").papers,
                _count(hm.equations.closed_form_dynamics, model, ("q", "v", "tau", *(FLUID if model.wet else ()))),
                _count(hm.coriolis_matrix, model, ("q", "v")),
                _count(hm.equations.coriolis_matrix_lagrange, model, ("q", "v")) if with_lagrange else None,
            )
        )
    return out


def _count(function: Callable, model: Model, inputs: Sequence[str]) -> Pair:
    shapes = {name: shape_of(name, model) for name in inputs}
    return trace(lambda **arrays: function(model, **arrays), shapes).count().papers
