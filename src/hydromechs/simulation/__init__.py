"""Simulation in time: plant, components, evaluation of one instant, simulations, events."""

from hydromechs._lazy import lazy_names as _lazy_names

from ._state_file import load_state, save_state

__getattr__, __dir__, _later = _lazy_names(
    __name__,
    {
        "._block": (
            "BLOCKS",
            "Block",
            "Phase",
            "PythonBlock",
        ),
        "._build": ("components_of",),
        "._closing": (
            "closed",
            "constraints_change",
            "switched_off",
        ),
        "._controller": (
            "Controller",
            "FunctionController",
            "Measured",
            "as_controller",
            "check_free_in_world",
        ),
        "._evaluate": (
            "Evaluation",
            "derivative",
            "evaluate",
        ),
        "._events": (
            "Event",
            "SWITCH",
            "Watched",
            "first_crossings",
            "inputs_after",
            "watchable",
        ),
        "._external_terms": (
            "ExternalTerms",
            "external_program",
            "external_terms",
        ),
        "._initial_instant": ("InitialInstant",),
        "._linearize": (
            "Linearization",
            "linearize",
        ),
        "._live": (
            "LiveRun",
            "sigterm_interrupts",
            "size_faults",
        ),
        "._mission": (
            "BlockPart",
            "Mission",
            "SensingPlaces",
            "SensingSource",
        ),
        "._mission_march": (
            "ANSWERED",
            "ASKS",
            "GridTime",
            "MissionMarch",
            "SAMPLED",
            "SNAP",
            "put_rows",
            "rows_of",
        ),
        "._one_world": (
            "OneWorld",
            "SEEDS",
        ),
        "._modes": (
            "Mode",
            "Modes",
            "modes",
        ),
        "._observe": (
            "body_poses",
            "coordinates",
            "quantities",
            "schema",
        ),
        "._plant": ("Plant",),
        "._portable": ("Portable", "portable"),
        "._programs": ("PlantPrograms",),
        "._ranges": (
            "CommandRanges",
            "HeldRanges",
        ),
        "._reduction": (
            "Guards",
            "Reduction",
            "Statistics",
        ),
        "._rollout_cost": (
            "CostGradient",
            "RolloutCost",
            "check_derivable",
        ),
        "._run_warnings": (
            "CAPSIZED",
            "run_warnings",
            "tilt_from_start",
            "vehicles",
        ),
        "._setup": (
            "Setup",
            "SimulationSource",
            "mission_of",
            "setup_of",
        ),
        "._simulation": ("Simulation",),
        "._start": ("check_time",),
        "._state_file": (
            "Run",
            "RunLog",
        ),
        "._stiffness": (
            "divergence_hint",
            "step_faults",
            "step_limit",
            "stiff_modes",
            "stiff_parts",
        ),
        "._traced_block": (
            "Pack",
            "Site",
            "Tick",
            "TracedBlock",
            "Update",
        ),
        "._trim": (
            "Trim",
            "trim",
        ),
        "._vortices": (
            "FlowNumbers",
            "flow_numbers",
            "strouhal_number",
        ),
        "._water": ("below_the_bed",),
    },
)

__all__ = ["load_state", "save_state", *_later]
