"""Model files: the native YAML format, read and written without loss, and its JSON Schema."""

from ._read import load_file, loads
from ._schema import json_schema
from ._write import dumps, save

__all__ = ["dumps", "json_schema", "load_file", "loads", "save"]
