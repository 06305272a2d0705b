"""Sweeps: a study of many runs of a scenario, on processes or a Dask cluster, into one store."""

from hydromechs._lazy import lazy_names as _lazy_names

__getattr__, __dir__, _later = _lazy_names(
    __name__,
    {
        "._dask": ("Dask",),
        "._each": ("each",),
        "._engines": ("SweepEngine", "Local", "Serial"),
        "._sampling": (
            "Choices",
            "Grid",
            "LatinHypercube",
            "LogRange",
            "MonteCarlo",
            "Normal",
            "Range",
            "Sampling",
            "Sobol",
            "Spread",
        ),
        "._store": ("load_sweep", "on_grid"),
        "._study": ("Parameter", "Result", "Study"),
        "._study_file": ("load_study",),
        "._sweep": ("Progress", "SweepResult", "run_sweep"),
    },
)

__all__ = _later
