"""Simulation in time: the plant, its components, the evaluation of one instant, simulations, events."""

from hydromechs._lazy import lazy_names as _lazy_names

from ._state_file import load_state, save_state

__getattr__, __dir__, _later = _lazy_names(
    __name__,
    {  # compile with CasADi and LLVM
        "._initial_instant": ("InitialInstant",),
        "._block": ("BLOCKS", "Block", "Phase", "PythonBlock"),
        "._build": ("components_of",),
        "._clock": ("size_faults",),
        "._closing": ("closed", "switched_off"),
        "._controller": ("Controller", "FunctionController", "Measured", "as_controller"),
        "._derivable": ("check_derivable",),
        "._evaluate": ("Evaluation", "derivative", "evaluate"),
        "._events": ("Event", "Watched", "first_crossings", "watchable"),
        "._free_root": ("check_free_in_world",),
        "._guards": ("Guards",),
        "._held": ("SWITCH", "settled_targets", "switch_places", "wrench_places"),
        "._interrupt": ("sigterm_interrupts",),
        "._linearize": ("Linearization", "linearize"),
        "._live": ("LiveRun",),
        "._mission": ("BlockPart", "Mission", "SensingPlaces", "SensingSource"),
        "._mission_march": ("ASKS", "SAMPLED", "SNAP", "GridTime", "MissionMarch"),
        "._mission_of": ("mission_of",),
        "._mission_run": ("SEEDS", "MissionRun"),
        "._modes": ("Mode", "Modes", "modes"),
        "._observe": ("body_poses", "coordinates", "quantities", "schema"),
        "._external_terms": ("ExternalTerms", "external_terms", "external_program"),
        "._pack": ("Pack",),
        "._plant": ("Plant",),
        "._programs": ("PlantPrograms",),
        "._ranges": ("CommandRanges", "HeldRanges"),
        "._reduction": ("Reduction", "Statistics"),
        "._results": ("RunLog", "Run"),
        "._rollout_cost": ("CostGradient", "RolloutCost"),
        "._run_warnings": ("run_warnings",),
        "._setup": ("Setup", "SimulationSource", "setup_of"),
        "._simulation": ("Simulation",),
        "._start": ("check_time",),
        "._stiffness": ("divergence_hint", "step_faults", "step_limit", "stiff_modes", "stiff_parts"),
        "._traced_block": ("Site", "Tick", "TracedBlock", "Update"),
        "._trim": ("Trim", "trim"),
        "._water": ("below_the_bed",),
    },
)

__all__ = ["load_state", "save_state", *_later]
