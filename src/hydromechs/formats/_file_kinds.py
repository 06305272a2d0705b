"""Kinds of YAML files: their keys and versions, and advice for files of a wrong kind or version."""

from typing import Any, NamedTuple

from hydromechs.errors import Fault
from hydromechs.registry import Families, json_schema, show


class FileKind(NamedTuple):
    """Kind of YAML file."""

    name: str
    """Name in messages, such as "a sweep file"."""
    key: str
    """First key of the file, whose value is the version."""
    version: int
    """Supported version."""
    use: str
    """Advice for a file of this kind; {0} is the file name."""
    page: str
    """Documentation page of the file."""
    old_key: str = ""
    """First key of version 1, if it differs."""

    @property
    def first(self) -> str:
        """First line of a file of this kind."""
        return f"{self.key}: {self.version}"

    def json_schema(self, cls: Any, families: Families) -> dict[str, Any]:
        """Return the JSON Schema (2020-12) of a file of this kind that contains an object of a class."""
        title = f"HydroMechs {self.name.removeprefix('a ')}, version {self.version}"
        return json_schema(cls, families, key=self.key, version=self.version, title=title)


FILE_KINDS = {
    "model": FileKind(
        "a model file",
        "hydromechs_model",
        2,
        "show it with `hydromechs view {0}`, or refer to it under models: in a scenario file",
        "docs/model_file.md",
        "hydromechs",
    ),
    "scenario": FileKind(
        "a scenario file",
        "hydromechs_scenario",
        2,
        "simulate it with `hydromechs run {0}`; then show the run with `hydromechs replay`",
        "docs/scenario_file.md",
    ),
    "sweep": FileKind("a sweep file", "hydromechs_sweep", 2, "run it with `hydromechs sweep {0}`", "docs/sweeps.md"),
    "validation": FileKind(
        "a validation file",
        "hydromechs_validation",
        2,
        "run it with `hydromechs validate {0}`",
        "docs/validation.md",
        "hydromechs_study",
    ),
}
"""All kinds of files, keyed by name in readers and commands."""


def misplaced_file(data: dict[str, Any], wanted: str, source: str) -> Fault | None:
    """Return the error of a file of another kind or an older version; None if the file can be of the wanted kind."""
    kind = FILE_KINDS[wanted]
    version = data.get(kind.key, data.get(kind.old_key))
    if (kind.key not in data and kind.old_key in data) or (type(version) is int and 0 < version < kind.version):
        key = kind.key if kind.key in data else kind.old_key
        if version == kind.version:
            remedy = f"write {kind.key}: {version}"
            return Fault((key,), f"the key {key!r} is now {kind.key!r}; {remedy}", version, f"must be {kind.key}", remedy)
        remedy = f"rewrite it according to {kind.page}"
        words = f"this is {kind.name} of version {show(version)}, but HydroMechs reads version {kind.version}; {remedy}"
        return Fault((key,), words, version, f"must be {kind.version}", remedy)
    others = [(key, other) for other in FILE_KINDS.values() for key in (other.key, other.old_key) if key and key in data]
    if kind.key in data or not others:
        return None
    key, other = others[0]
    remedy = other.use.format(source)
    words = f"the file is {other.name}, not {kind.name}, which starts with '{kind.first}'; {remedy}"
    return Fault((key,), words, data[key], remedy=remedy)
