"""Model files and scenario files: native YAML, read and written without loss, their JSON Schemas; robots of other programs."""

from hydromechs._lazy import lazy_names as _lazy_names

from ._fossen import from_fossen
from ._read import load_file, loads, model_json_schema
from ._write import dumps, save
from ._yaml import is_scenario_file

_LATER = {  # need the simulation, which takes longer to import than a model needs
    "FORMATS": "._robots",
    "ImportOptions": "._imported",
    "Imported": "._imported",
    "Note": "._imported",
    "check_target": "._convert_file",
    "convert_file": "._convert_file",
    "documentation_table": "._documentation",
    "drawing_attrs": "._drawing",
    "drawn_scenario": "._drawing",
    "document_faults": "._messages:faults_of",
    "dumps_robot": "._robots",
    "dumps_scenario": "._scenario_write",
    "import_file": "._robots",
    "is_robot_file": "._robots",
    "load_scenario_file": "._scenario_read",
    "loads_robot": "._robots",
    "loads_scenario": "._scenario_read",
    "save_scenario": "._scenario_write",
    "read_document": "._read",
    "reject_options": "._robots",
    "robot_plant": "._robot_plant",
    "robot_text": "._robots",
    "scenario_json_schema": "._scenario_entries",
    "scenario_text": "._scenario_read",
    "warned": "._robots",
    "with_lines": "._scenario_read",
}

__all__ = [
    "FORMATS",
    "ImportOptions",
    "Imported",
    "Note",
    "check_target",
    "convert_file",
    "document_faults",
    "documentation_table",
    "drawing_attrs",
    "drawn_scenario",
    "dumps",
    "dumps_robot",
    "dumps_scenario",
    "from_fossen",
    "import_file",
    "is_robot_file",
    "is_scenario_file",
    "load_file",
    "load_scenario_file",
    "loads",
    "loads_robot",
    "loads_scenario",
    "model_json_schema",
    "read_document",
    "reject_options",
    "robot_plant",
    "robot_text",
    "save",
    "save_scenario",
    "scenario_json_schema",
    "scenario_text",
    "warned",
    "with_lines",
]

__getattr__, __dir__ = _lazy_names(__name__, _LATER)
