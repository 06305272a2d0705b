"""Tables of operation counts: made anew each time, ours beside the papers'."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from hydromechs import bench

from ._common import pair, table

__all__ = ["TABLES", "comparisons"]


@cache
def comparisons() -> tuple[bench.Comparison, ...]:
    """Our counts beside the papers'."""
    return tuple(bench.compare_with_papers())


def _beside(found: Iterable[bench.Comparison]) -> str:
    heads = ("what", "where", "papers", "ours", "ours / papers")
    rows = [(c.what, c.source, pair(c.papers), pair(c.ours), ", ".join(f"{x:.2f}" for x in c.ratio or ())) for c in found]
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
    """Composite against articulated bodies."""
    rows = [(c.joints, pair(c.composite), pair(c.articulated)) for c in bench.star_counts()]
    return table(("N", "composite bodies", "articulated bodies"), rows)


def counts_closed_form() -> str:
    """Closed form against articulated bodies."""
    heads = ("model", "`forward_dynamics`", "`closed_form_dynamics`", "`coriolis_matrix`", "`coriolis_matrix_lagrange`")
    return table(heads, [(c.model, *map(pair, c[1:])) for c in bench.closed_form_counts()])


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
