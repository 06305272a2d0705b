"""Studies: the papers' tables, benchmarks, comparisons with other codes. They measure and return data; `cli` prints it."""

from hydromechs._lazy import lazy_names as _lazy_names

_LATER = {
    "ALGORITHMS": "._count",
    "Agreement": "._backends",
    "BackendComparison": "._backends",
    "CROSSCHECK_TOLERANCE": "._crosscheck:TOLERANCE",
    "ClosedFormCount": "._count_tables",
    "Comparison": "._count",
    "Crosscheck": "._crosscheck",
    "DecoupledCases": "._decoupled",
    "Difference": "._crosscheck",
    "FULL_DECOUPLED": "._decoupled",
    "FULL_HYBRID": "._hybrid_study",
    "FileStudy": "._file_study",
    "HybridCases": "._hybrid_study",
    "KINDS": "._count",
    "QUICK_DECOUPLED": "._decoupled",
    "QUICK_HYBRID": "._hybrid_study",
    "StarCount": "._count_tables",
    "closed_form_counts": "._count_tables",
    "compare_all_backends": "._backends",
    "compare_backends": "._backends",
    "compare_with_papers": "._count",
    "crosscheck": "._crosscheck",
    "decoupled_parts": "._decoupled",
    "error_text": "._decoupled",
    "measure_blocks": "._block_study",
    "measure_decoupled": "._decoupled",
    "measure_dynamics": "._bench",
    "measure_gpu": "._bench_gpu",
    "measure_hybrid": "._hybrid_study",
    "measure_papers": "._papers",
    "measure_simulation": "._bench_simulation",
    "measure_trees": "._bench_trees",
    "model_counts": "._count",
    "papers_pair": "._count",
    "peers": ".peers:",
    "plot_blocks": "._block_study",
    "plot_decoupled": "._decoupled",
    "plot_hybrid": "._hybrid_study",
    "star_counts": "._count_tables",
    "study_files": "._file_study",
    "try_file": "._file_study",
}

__all__ = sorted(_LATER)

__getattr__, __dir__ = _lazy_names(__name__, _LATER)
