"""Model and scenario files in YAML, without loss, and their JSON Schemas; third-party robot descriptions."""

from hydromechs._lazy import lazy_names as _lazy_names

from ._file_kinds import FILE_KINDS
from ._fossen import from_fossen
from ._read import load_file, loads, model_json_schema
from ._write import dumps, save
from ._yaml import is_scenario_file

__getattr__, __dir__, _later = _lazy_names(
    __name__,
    {  # these import the simulation, which is slow and not needed for models
        "._convert_file": ("check_target", "convert_file", "with_relative_meshes"),
        "._drawing": ("drawing_attrs", "drawn_files", "drawn_scenario"),
        "._imported": ("UNLIMITED", "ImportOptions", "Imported", "Note"),
        "._read": ("read_document",),
        "._robots": (
            "FORMATS",
            "dumps_robot",
            "import_file",
            "is_robot_file",
            "loads_robot",
            "reject_options",
            "robot_text",
            "warned",
        ),
        "._scenario_read": ("load_scenario_file", "loads_scenario", "located", "scenario_json_schema", "scenario_text"),
        "._scenario_write": ("dumps_scenario", "robot_plant", "save_scenario"),
        "._yaml": ("parse as parse_yaml",),
    },
)

__all__ = ["FILE_KINDS", "dumps", "from_fossen", "is_scenario_file", "load_file", "loads", "model_json_schema", "save", *_later]
