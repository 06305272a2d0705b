"""Sweeps: a study of many runs of a scenario, on processes or a Dask cluster, into one store."""

from hydromechs._lazy import lazy_names as _lazy_names

_LATER = {
    "Choices": "._sampling",
    "Dask": "._dask",
    "Engine": "._engines",
    "Grid": "._sampling",
    "LatinHypercube": "._sampling",
    "Local": "._engines",
    "LogRange": "._sampling",
    "MonteCarlo": "._sampling",
    "Normal": "._sampling",
    "Parameter": "._study",
    "Progress": "._sweep",
    "Range": "._sampling",
    "Result": "._study",
    "Sampling": "._sampling",
    "Serial": "._engines",
    "Sobol": "._sampling",
    "Spread": "._sampling",
    "Study": "._study",
    "SweepResult": "._sweep",
    "each": "._each",
    "load_study": "._study_file",
    "load_sweep": "._store",
    "on_grid": "._store",
    "run_sweep": "._sweep",
}

__all__ = sorted(_LATER)

__getattr__, __dir__ = _lazy_names(__name__, _LATER)
