"""Studies: the papers' tables, benchmarks, comparisons with other codes."""

from hydromechs._lazy import lazy_names as _lazy_names

_LATER = {
    "QUICK": "._decoupled",
    "compare_with_papers": "._count",
    "measure_decoupled": "._decoupled",
    "measure_dynamics": "._bench",
    "measure_gpu": "._bench_gpu",
    "measure_papers": "._papers",
    "measure_simulation": "._bench_simulation",
    "model_counts": "._count",
    "plot_decoupled": "._decoupled",
    "print_backends": "._backends",
    "print_counts": "._count",
    "print_crosscheck": "._crosscheck",
    "print_decoupled": "._decoupled",
    "print_dynamics": "._bench",
    "print_gpu": "._bench_gpu",
    "print_papers": "._count",
    "print_papers_tables": "._papers",
    "print_simulation": "._bench_simulation",
}

__all__ = sorted(_LATER)

__getattr__, __dir__ = _lazy_names(__name__, _LATER)
