"""Sweeps: many runs of a scenario with different parameters, in processes or on a Dask cluster, stored together."""

from hydromechs._lazy import lazy_names as _lazy_names

__getattr__, __dir__, _later = _lazy_names(
    __name__,
    {
        "._campaign": (
            "CampaignProgress",
            "MissionCampaign",
            "run_campaign",
        ),
        "._campaign_results": (
            "CampaignResults",
            "CheckOutcome",
            "Rate",
            "load_campaign",
            "same_scenario",
            "wilson_interval",
            "world_of",
        ),
        "._campaign_store": ("digest",),
        "._dask": ("Dask",),
        "._definition": (
            "ParameterSweep",
            "Result",
        ),
        "._executors": (
            "Local",
            "Serial",
            "Executor",
        ),
        "._file": (
            "load_sweep",
            "sweep_json_schema",
        ),
        "._parameters": (
            "Choices",
            "Grid",
            "LatinHypercube",
            "LogRange",
            "MonteCarlo",
            "Normal",
            "Parameter",
            "Range",
            "Sampling",
            "Sobol",
        ),
        "._store": (
            "load_results",
            "on_grid",
        ),
        "._sweep": (
            "Progress",
            "SweepResult",
            "run_sweep",
        ),
    },
)

__all__ = _later
