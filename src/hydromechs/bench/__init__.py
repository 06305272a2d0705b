"""Benchmarks and comparisons that users run: speed beside peers, operation counts, the papers' tables, cross-checks."""

from hydromechs._lazy import lazy_names as _lazy_names

__getattr__, __dir__, _later = _lazy_names(
    __name__,
    {
        "._count": ("ALGORITHMS", "Comparison", "KINDS", "compare_with_papers", "model_counts"),
        "._crosscheck": ("Crosscheck", "Difference", "TOLERANCE as CROSSCHECK_TOLERANCE", "crosscheck"),
        "._dynamics": ("measure_dynamics",),
        "._machine": ("machine",),
        "._papers": ("measure_blocks", "measure_papers"),
        "._worlds": ("measure_worlds",),
    },
    ("peers",),
)

__all__ = ["peers", *_later]
