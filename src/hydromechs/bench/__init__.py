"""Benchmarks and comparisons that users run: speed beside peers, operation counts, the papers' tables, cross-checks."""

from hydromechs._lazy import lazy_names as _lazy_names

_LATER = {
    "ALGORITHMS": "._count",
    "CROSSCHECK_TOLERANCE": "._crosscheck:TOLERANCE",
    "ClosedFormCount": "._count_tables",
    "Comparison": "._count",
    "Crosscheck": "._crosscheck",
    "Difference": "._crosscheck",
    "KINDS": "._count",
    "StarCount": "._count_tables",
    "closed_form_counts": "._count_tables",
    "compare_with_papers": "._count",
    "crosscheck": "._crosscheck",
    "measure_blocks": "._blocks",
    "machine": "._machine",
    "measure_dynamics": "._dynamics",
    "measure_gpu": "._gpu",
    "measure_papers": "._papers",
    "measure_simulation": "._simulation",
    "measure_trees": "._trees",
    "measure_worlds": "._worlds",
    "model_counts": "._count",
    "papers_pair": "._count",
    "peers": ".peers:",
    "plot_blocks": "._blocks",
    "star_counts": "._count_tables",
}

__all__ = sorted(_LATER)

__getattr__, __dir__ = _lazy_names(__name__, _LATER)
