"""Benchmarks and comparisons that users run: speed beside peers, operation counts, the papers' tables, cross-checks."""

from hydromechs._lazy import lazy_names as _lazy_names

__getattr__, __dir__, _later = _lazy_names(
    __name__,
    {
        "._blocks": ("measure_blocks",),
        "._count": ("ALGORITHMS", "KINDS", "Comparison", "compare_with_papers", "model_counts"),
        "._crosscheck": ("TOLERANCE as CROSSCHECK_TOLERANCE", "Crosscheck", "Difference", "crosscheck"),
        "._dynamics": ("measure_dynamics",),
        "._machine": ("machine",),
        "._papers": ("measure_papers",),
        "._worlds": ("measure_worlds",),
    },
    ("peers",),
)

__all__ = ["peers", *_later]
