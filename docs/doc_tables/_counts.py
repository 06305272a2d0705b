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
    rows = [(c.what, c.source, pair(c.papers), pair(c.ours), f"{pair(c.before)} {c.before_source}".strip()) for c in found]
    columns = ("what", "where", "papers", "ours", "before the papers")
    used = len(columns) if any(row[-1] for row in rows) else len(columns) - 1
    return table(columns[:used], [row[:used] for row in rows])


@cache
def _lengths() -> tuple:
    return tuple(bench.long_arms())


def counts_long_arms() -> str:
    """Two arms of many joints on a load."""
    heads = ("N", "Lilly and Orin", "thesis", "ours, mass matrix", "ours, recursion")
    return table(heads, [(N, *map(pair, found)) for N, *found in _lengths()])


def counts_claims() -> str:
    """Savings and increases that the papers state."""
    rows = [
        (c.what, c.source, c.stated, *(f"{x:.0f}" if "N" in c.stated else f"{x:.1f} %" for x in (c.papers, c.ours)))
        for c in bench.claims(comparisons(), _lengths())
    ]
    return table(("claim", "where", "stated", "by the papers' counts", "by ours"), rows)


def counts_misprints() -> str:
    """Numbers of the papers that contradict others of theirs."""
    return "".join(f"- {where}: {what}.\n" for where, what in bench.MISPRINTS.items())


def counts_lines() -> str:
    """Lines of the papers' tables."""
    found = list(bench.paper_lines())
    out = []
    for source, column in dict.fromkeys((line.table, line.column) for line in found):
        rows = [(f"`{x.name}`", pair(x.papers), pair(x.ours)) for x in found if (x.table, x.column) == (source, column)]
        out.append(f"**{source}: {column}**\n\n{table(('line', 'papers', 'ours'), rows)}")
    return "\n".join(out)


PIECES = ("Transformations", "Symmetric", "Velocity")
"""Sections about single operations."""


def _sections(kept: Callable[[str], bool]) -> str:
    sections = dict.fromkeys(c.section for c in comparisons() if kept(c.section))
    return "\n".join(f"**{s}**\n\n{_beside(c for c in comparisons() if c.section == s)}" for s in sections)


def counts_papers() -> str:
    """Comparisons of algorithms but those of real mechanisms, a table for each section."""
    return _sections(lambda section: not section.startswith(("Real", *PIECES)))


def counts_pieces() -> str:
    """Comparisons of single operations."""
    return _sections(lambda section: section.startswith(PIECES))


def counts_real() -> str:
    """Real mechanisms."""
    return _beside(c for c in comparisons() if c.section.startswith("Real"))


def _thesis(rows: Sequence[tuple[str, str, str]]) -> str:
    """Rows (label, section, what) of the comparisons with the thesis."""
    found = []
    for label, section, what in rows:
        c = next(c for c in comparisons() if c.section.startswith(section) and c.what == what and "thesis" in c.source)
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
            ("chain of 6, inverse dynamics", "Dry chain", "inverse dynamics, fixed base"),
            ("chain of 6, mass matrix", "Dry chain", "mass matrix, fixed base"),
            ("rigid inertia across one joint", "Transformations", "rigid inertia, θ moves"),
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
            ("`arm_dynamics`", "Articulated bodies, general", "mobile base, base acceleration prescribed"),
        ]
    )


TABLES = (
    counts_papers,
    counts_pieces,
    counts_long_arms,
    counts_claims,
    counts_misprints,
    counts_lines,
    counts_real,
    counts_closed_chains,
    counts_star_steps,
    counts_star_sizes,
    counts_closed_form,
    counts_decoupled,
)
"""What makes each table; its name in the documents follows from that of the function."""
