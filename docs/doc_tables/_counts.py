"""Tables of operation counts: made anew each time, ours beside the papers'."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache

import hydromechs as hm
from hydromechs import bench, library
from hydromechs.compiler import trace
from hydromechs.equations import FLUID, operation_count, shape_of

from ._common import pair, table

__all__ = ["TABLES", "comparisons"]


@cache
def comparisons() -> tuple[bench.Comparison, ...]:
    """Our counts beside the papers'."""
    return tuple(bench.compare_with_papers())


def _beside(found: Iterable[bench.Comparison]) -> str:
    heads = ("what", "where", "papers", "ours")
    rows = [(c.what, c.source, pair(c.papers), pair(c.ours)) for c in found]
    return table(heads, rows)


def counts_papers() -> str:
    """All comparisons but those of real mechanisms, a table for each section."""
    sections = dict.fromkeys(c.section for c in comparisons() if not c.section.startswith("Real"))
    return "\n".join(f"**{s}**\n\n{_beside(c for c in comparisons() if c.section == s)}" for s in sections)


def counts_real() -> str:
    """Real mechanisms."""
    return _beside(c for c in comparisons() if c.section.startswith("Real"))


def _thesis(rows: Sequence[tuple[str, str, str]]) -> str:
    """Rows (label, section, what) of the comparisons with the thesis."""
    found = []
    for label, section, what in rows:
        (c,) = [c for c in comparisons() if c.section.startswith(section) and c.what == what and c.source.startswith("thesis")]
        found.append((label, pair(c.papers), pair(c.ours)))
    return table(("", "thesis", "ours"), found)


def counts_closed_chains() -> str:
    """Arms on one load."""
    return _thesis(
        [
            ("four arms of six joints, dry", "Closed chains", "m = 4 arms of N = 6"),
            ("two arms, Method I", "Closed chains", "two arms, load only, method I"),
            ("two arms, Method II", "Closed chains", "two arms, load only, method II, also singular"),
        ]
    )


def counts_star_steps() -> str:
    """What the star's steps give elsewhere."""
    return _thesis(
        [
            ("star of 6 × 3, forward dynamics", "Articulated bodies, vehicle", "m = 6, N = 3, on land, by composite bodies"),
            ("chain of 6, inverse dynamics", "Fixed-base", "inverse dynamics"),
            ("chain of 6, mass matrix", "Fixed-base", "mass matrix"),
            ("rigid inertia across one joint", "Transformations", "rigid inertia"),
        ]
    )


def counts_star_sizes() -> str:
    """Forward dynamics by composite and by articulated bodies, of a dry vehicle with six chains of N joints."""
    models = {n: library.star(6, n, wet=False) for n in range(2, 7)}
    ways = ("star", "articulated_body")
    rows = [(n, *(pair(operation_count(model, way).papers) for way in ways)) for n, model in models.items()]
    return table(("N", "composite bodies", "articulated bodies"), rows)


def counts_closed_form() -> str:
    """Closed form against articulated bodies, in water that moves and accelerates where wet, and Coriolis matrices alone."""
    heads = ("model", "`forward_dynamics`", "`closed_form_dynamics`", "`coriolis_matrix`", "`coriolis_matrix_lagrange`")
    cases = {
        "vehicle + 6R, general, wet": library.serial_chain(6),
        "vehicle + 6R, general, dry": library.serial_chain(6, wet=False),
        "vehicle + 3R, general, wet": library.serial_chain(3),
        "vehicle + 6 legs of 3R, wet": library.star(6, 3),
        "`tiburon_titan2`": hm.load("tiburon_titan2"),
    }
    rows = []
    for name, model in cases.items():
        lagrange = "legs" not in name  # of six legs it was not counted
        found = (
            operation_count(model, "articulated_body").papers,
            _traced(hm.equations.closed_form_dynamics, model, ("q", "v", "tau", *(FLUID if model.wet else ()))),
            _traced(hm.coriolis_matrix, model, ("q", "v")),
            _traced(hm.equations.coriolis_matrix_lagrange, model, ("q", "v")) if lagrange else None,
        )
        rows.append((name, *map(pair, found)))
    return table(heads, rows)


def _traced(function: Callable, model: hm.Model, inputs: Sequence[str]) -> tuple[int, int]:
    """[M, A] of a function of a model and of arrays."""
    shapes = {name: shape_of(name, model) for name in inputs}
    return trace(lambda **arrays: function(model, **arrays), shapes).count().papers


def counts_decoupled() -> str:
    """With the base's acceleration given."""
    return _thesis(
        [
            ("full dynamics", "Articulated bodies, general", "mobile base, with hydrodynamics"),
            ("`arm_dynamics`", "Articulated bodies, general", "the same, acceleration of the base given"),
        ]
    )


TABLES = (
    counts_papers,
    counts_real,
    counts_closed_chains,
    counts_star_steps,
    counts_star_sizes,
    counts_closed_form,
    counts_decoupled,
)
"""What makes each table; its name in the documents follows from that of the function."""
