"""The walker over dataclass fields: reader, writer, schema and table agree, and every problem is reported once."""

from __future__ import annotations

import abc
import dataclasses
import math
import sys
import types
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Annotated, Any, Literal

import jsonschema
import pytest
from docs.key_tables import key_table

from hydromechs.errors import FieldError, FieldErrors, UnsupportedFeature
from hydromechs.registry import (
    BROKEN,
    Degrees,
    Families,
    Family,
    Hidden,
    Inline,
    Pattern,
    Reader,
    Ref,
    Required,
    Writer,
    json_schema,
)
from hydromechs.registry import _code as code
from hydromechs.values import NotNegative, Positive, Row, Vector3, check_fields

MARK = "ran"


class Part(abc.ABC):
    """A part of a machine."""

    name: str


@dataclass(frozen=True, kw_only=True)
class Place:
    """A place."""

    xyz: Vector3 = (0.0, 0.0, 0.0)
    """Position [m]."""
    rpy: Annotated[Vector3, Degrees()] = (0.0, 0.0, 0.0)
    """Angles [rad]."""


@dataclass(frozen=True, kw_only=True)
class Spring(Part):
    """A spring."""

    name: str
    """Name."""
    frame: Annotated[str, Ref("frame")]
    """Frame on which it acts."""
    stiffness: Positive
    """Stiffness [N/m]."""
    damping: NotNegative = 0.0
    """Damping [N·s/m]."""
    origin: Annotated[Place, Inline()] = dataclasses.field(default_factory=Place)
    """Place of its end."""

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, kw_only=True)
class Table(Part):
    """A table of numbers."""

    name: str
    """Name."""
    values: Row = ()
    """Values [-]."""
    terms: tuple[tuple[Annotated[str, Pattern("[a-z]+", "write it in small letters")], float], ...] = ()
    """Terms by name [-]."""
    kind: Literal["linear", "cubic"] = "linear"
    """Interpolation."""
    cache: Annotated[int, Hidden()] = 0
    """Not in files."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A machine."""

    title: Annotated[str, Required()] = "machine"
    """Title."""
    parts: tuple[Part, ...] = ()
    """Parts by name."""
    drive: Spring | None = None
    """One spring without a type; none if omitted."""


PARTS = Family(name="part", base=Part, table={"spring": Spring, "table": Table}, open_to_users=True)
FAMILIES = Families([PARTS])
SPRING = {"type": "spring", "frame": "tip", "stiffness": 3, "xyz": [1, 2, 3], "rpy_deg": [0, 90, 0]}


def read(data: dict[str, Any], **options: Any) -> tuple[Any, Reader]:
    reader = Reader(FAMILIES, **options)
    return reader.file(Machine, {"machine": 1, **data}, "machine", 1), reader


def texts(data: dict[str, Any], **options: Any) -> list[str]:
    return [fault.text for fault in read(data, **options)[1].problems]


def test_what_is_read_is_written_and_valid():
    data = {"title": "m", "parts": {"a": SPRING, "b": "table", "c": {"type": "table", "values": [1, 2], "terms": {"x": 2}}}}
    machine, reader = read(data)
    assert reader.problems == []
    assert machine.parts[0] == Spring(name="a", frame="tip", stiffness=3, origin=Place(xyz=(1, 2, 3), rpy=(0, math.pi / 2, 0)))
    written = Writer(FAMILIES).fields(machine)
    assert written["parts"]["a"] == SPRING and written["parts"]["b"] == "table"
    assert read(written)[0] == machine
    schema = json_schema(Machine, FAMILIES, key="machine", version=1, title="Machine")
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    assert list(validator.iter_errors({"machine": 1, **data})) == []
    for bad in ({"title": 5}, {"parts": {"a": "sprng"}}, {"parts": {"a": SPRING | {"rpy": [0, 0, 0]}}}, {"parts": [SPRING]}):
        assert not validator.is_valid({"machine": 1, **data, **bad}), bad
        assert texts({**data, **bad}), bad
    table = key_table([schema["$defs"]["part.spring"], schema["$defs"]["part.table"]])
    assert "| `stiffness` | `spring` | number > 0 | required | Stiffness [N/m]. |" in table
    assert "| `rpy_deg` | `spring` | 3 numbers | – | Angles [°]. |" in table
    assert "cache" not in table and "`name`" not in table


def test_angles_that_degrees_do_not_give_back_are_written_in_radians():
    spring = Spring(name="a", frame="f", stiffness=1, origin=Place(rpy=(0.1, 0, 0)))
    assert Writer(FAMILIES).fields(spring)["rpy"] == [0.1, 0.0, 0.0]


def test_all_problems_at_once_each_of_them_once():
    data = {
        "titel": "m",
        "parts": {
            "a": {"type": "sprng"},
            "b": {"type": "spring", "frme": "tip", "stiffness": -1, "damping": -2},
            "c": {"type": "spring", "frame": "tip", "stiffness": -3, "damping": -4, "xyz": [1, 2]},
            "d": {"type": "spring", "frame": "tip", "stiffness": -5, "damping": math.nan},
            "e": {"type": "spring", "frame": "tip", "stiffness": -6, "damping": -7},
            "f": {"type": "table", "kind": "square", "terms": {"X": 1}, "cache": 3},
            "g": 5,
        },
        "drive": None,
    }
    found = texts(data)
    for words in (
        "unknown key 'titel' with the value 'm' (did you mean 'title'?)",
        "parts.a.type is 'sprng' (did you mean 'spring'?), must be one of spring, table, or 'file.py:Name' for a custom type",
        "parts.b: unknown key 'frme' with the value 'tip' (did you mean 'frame'?)",
        "parts.b.stiffness is -1.0, must be finite and > 0",
        "parts.b.damping is -2.0",
        "parts.c.xyz is [1, 2], must be a list of 3 numbers, not 2",
        "parts.c.stiffness is -3.0",
        "parts.c.damping is -4.0",
        "parts.d.stiffness is -5.0",
        "parts.d.damping is nan, must be a finite number",
        "parts.e.stiffness is -6, must be finite and > 0",
        "parts.e.damping is -7, must be finite and at least 0",
        "parts.f.kind is 'square', must be 'linear' or 'cubic'",
        "parts.f.terms.X is 'X', write it in small letters",
        "parts.f: unknown key 'cache'",
        "parts.g is 5, must be a mapping whose 'type' must be one of spring, table",
        "drive is null (empty), must be a mapping with the keys name, frame",
    ):
        assert sum(text.startswith(words) for text in found) == 1, (words, found)
    assert len(found) == 17, found


def test_a_problem_that_a_shorthand_repeats_is_reported_once():
    reader = Reader(FAMILIES)
    item = {"stiffness": 1, "frame": "tip", "colour": "red"}
    made = [reader.part(item, PARTS, ("springs",), "spring", name=f"spring_{k}") for k in range(8)]
    assert [part.name for part in made] == [f"spring_{k}" for k in range(8)]
    assert len(reader.problems) == 1


def test_a_section_is_shorthand_for_a_type():
    reader = Reader(FAMILIES)
    springs = reader.named({"a": {"stiffness": 1, "frame": "tip"}, "b": {"frame": "tip"}}, Part, ("springs",), "spring")
    assert springs is BROKEN
    assert [fault.path for fault in reader.problems] == [("springs", "b", "stiffness")]


def test_names_that_do_not_exist():
    _, reader = read({"title": "m", "parts": {"a": SPRING, "b": SPRING | {"frame": "tool"}}})
    reader.check_names({"frame": ["tool", "tipp"]})
    assert [(f.path, f.value) for f in reader.problems] == [(("parts", "a", "frame"), "tip")]
    assert "did you mean 'tipp'" in reader.problems[0].text


OWN = """
from dataclasses import dataclass
open({mark!r}, "w").close()
import test_registry_base as base

@dataclass(frozen=True, kw_only=True)
class Weight(base.Part):
    '''A weight.'''
    name: str
    mass: float = 1.0

class Other:
    pass
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    base = types.ModuleType("test_registry_base")
    base.Part = Part
    monkeypatch.setitem(sys.modules, "test_registry_base", base)
    (tmp_path / "own.py").write_text(OWN.format(mark=str(tmp_path / MARK)))
    return tmp_path


def test_custom_classes_need_consent(own):
    data = {"title": "m", "parts": {"w": {"type": "own.py:Weight", "mass": 2}}}
    machine, reader = read(data, folder=own, source="m.yaml", line=lambda path: 7)
    assert machine is BROKEN and reader.problems == [] and not (own / MARK).exists()
    assert reader.locked == ["parts.w.type 'own.py:Weight' in m.yaml, line 7"]
    machine, reader = read(data, folder=own, code=True)
    assert reader.problems == [] and (own / MARK).exists() and machine.parts[0].mass == 2
    assert Writer(FAMILIES, own).fields(machine)["parts"] == data["parts"]
    assert read(data, folder=own, code=True)[0] == machine  # the same class as long as the file is the same
    for word, words in (
        ("own.py:Wait", "has no class 'Wait'"),
        ("gone.py:Weight", "does not exist; write the path"),
        ("own.py:Other", "must be a class derived from Part"),
    ):
        (text,) = texts({"title": "m", "parts": {"w": {"type": word}}}, folder=own, code=True)
        assert words in text, text
    (text,) = texts({"title": "m", "parts": {"w": {"type": "own.py:Weight", "mas": 2}}}, folder=own, code=True)
    assert "did you mean 'mass'" in text


def test_parts_of_installed_packages_need_the_same_consent(own, monkeypatch):
    monkeypatch.syspath_prepend(own)
    point = EntryPoint("weight", "own:Weight", code.GROUP)
    monkeypatch.setattr(code, "entry_points", lambda group: [point] if group == "hydromechs.parts" else [])
    code.installed_parts.cache_clear()
    try:
        data = {"title": "m", "parts": {"w": {"type": "weight", "mass": 2}}}
        machine, reader = read(data, line=lambda path: 7)
        assert machine is BROKEN and not (own / MARK).exists() and "parts.w.type 'weight'" in reader.locked[0]
        machine, reader = read(data, code=True)
        assert reader.problems == [] and machine.parts[0].mass == 2
        assert read(Writer(FAMILIES).fields(machine), code=True)[0] == machine
        assert "did you mean 'weight'" in texts({"title": "m", "parts": {"w": "weigt"}})[0]
    finally:
        code.installed_parts.cache_clear()
        sys.modules.pop("own", None)


def test_classes_that_cannot_be_imported_cannot_be_written():
    @dataclass(frozen=True, kw_only=True)
    class Local(Part):
        name: str

    with pytest.raises(UnsupportedFeature, match="Local cannot be imported"):
        Writer(FAMILIES).fields(Machine(parts=(Local(name="x"),)))
    with pytest.raises(UnsupportedFeature, match="parts.x: the name is used twice"):
        Writer(FAMILIES).fields(Machine(parts=(Table(name="x"), Table(name="x"))))


def test_long_rows_are_read_as_arrays(monkeypatch):
    """10⁶ numbers, one by one, would take half a second."""
    values = [0.5] * 1000
    with monkeypatch.context() as patch:
        patch.delattr(Reader, "_number")
        machine, _ = read({"title": "m", "parts": {"t": {"type": "table", "values": values}}})
    assert machine.parts[0].values == tuple(values)
    for bad in ("x", True, math.inf):
        (text,) = texts({"title": "m", "parts": {"t": {"type": "table", "values": [*values[:100], bad, bad]}}})
        assert text.startswith("parts.t.values.100 is ")


def test_an_object_reports_all_its_fields():
    with pytest.raises(FieldErrors) as caught:
        Spring(name="a", frame="f", stiffness="soft", damping=-1)
    assert [e.field for e in caught.value.errors] == ["stiffness", "damping"]
    assert (
        str(caught.value) == "Spring.stiffness is 'soft', must be a number; Spring.damping is -1, must be finite and at least 0"
    )
    with pytest.raises(FieldError) as one:
        Spring(name="a", frame="f", stiffness=0)
    assert type(one.value) is FieldError
