"""Benchmarks and comparisons for users: speed, operation counts, tables of the papers, and cross-checks with other codes."""

from hydromechs._lazy import lazy_names as _lazy_names

__getattr__, __dir__, _later = _lazy_names(
    __name__,
    {
        "._count": (
            "ALGORITHMS",
            "Crosscheck",
            "Difference",
            "KINDS",
            "TOLERANCE as CROSSCHECK_TOLERANCE",
            "crosscheck",
            "model_counts",
        ),
        "._contact": ("measure_contact",),
        "._dynamics": ("measure_dynamics",),
        "._machine": ("machine",),
        "._index": ("STATUSES", "Shown", "tables_and_figures"),
        "._paper_counts": ("Claim", "Comparison", "claims", "compare_with_papers", "long_arms"),
        "._paper_lines": ("CountLine", "lines as paper_lines"),
        "._printed_tables": ("MISPRINTS",),
        "._papers": ("lift_columns", "measure_lift", "plot_lift"),
        "._worlds": ("measure_worlds",),
    },
    ("peers",),
)

__all__ = ["peers", *_later]
