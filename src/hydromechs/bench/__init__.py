"""Benchmarks and comparisons that users run: speed beside peers, operation counts, the papers' tables, cross-checks."""

from hydromechs._lazy import lazy_names as _lazy_names

__getattr__, __dir__, _later = _lazy_names(
    __name__,
    {
        "._count": (
            "ALGORITHMS",
            "Comparison",
            "Crosscheck",
            "Difference",
            "KINDS",
            "TOLERANCE as CROSSCHECK_TOLERANCE",
            "compare_with_papers",
            "crosscheck",
            "model_counts",
        ),
        "._dynamics": ("measure_dynamics",),
        "._machine": ("machine",),
        "._papers": (
            "measure_blocks",
            "measure_papers",
        ),
        "._worlds": ("measure_worlds",),
    },
    ("peers",),
)

__all__ = ["peers", *_later]
