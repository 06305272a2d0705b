"""Model files and scenario files: native YAML, read and written without loss, and their JSON Schemas."""

from hydromechs._lazy import lazy_names as _lazy_names

from ._fossen import from_fossen
from ._model_entries import json_schema
from ._read import load_file, loads
from ._write import dumps, save
from ._yaml import is_scenario_file

_LATER = {  # need the simulation, which takes longer to import than a model needs
    "documentation_table": "._documentation",
    "dumps_scenario": "._scenario_write",
    "load_scenario_file": "._scenario_read",
    "loads_scenario": "._scenario_read",
    "save_scenario": "._scenario_write",
    "scenario_json_schema": "._scenario_entries",
    "with_lines": "._scenario_read",
}

__all__ = [
    "documentation_table",
    "dumps",
    "dumps_scenario",
    "from_fossen",
    "is_scenario_file",
    "json_schema",
    "load_file",
    "load_scenario_file",
    "loads",
    "loads_scenario",
    "save",
    "save_scenario",
    "scenario_json_schema",
    "with_lines",
]

__getattr__, __dir__ = _lazy_names(__name__, _LATER)
