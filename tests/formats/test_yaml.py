"""Scalars follow the core schema of YAML 1.2, and lines are known."""

from __future__ import annotations

import math

import pytest

from hydromechs.formats._yaml import UnreadableText, parse

SCALARS = {
    "1e3": 1000.0,
    "1E+3": 1000.0,
    "-1.5e-3": -0.0015,
    ".5": 0.5,
    "5.": 5.0,
    "12": 12,
    "-12": -12,
    "+12": 12,
    "010": 10,
    "0o10": 8,
    "0xFf": 255,
    "-.inf": -math.inf,
    ".INF": math.inf,
    "true": True,
    "False": False,
    "null": None,
    "~": None,
    "''": "",
    "on": "on",
    "off": "off",
    "yes": "yes",
    "No": "No",
    "y": "y",
    "1:30": "1:30",
    "190:20:30": "190:20:30",
    "2026-01-31": "2026-01-31",
    "1_000": "1_000",
    "0b101": "0b101",
    "nan": "nan",
    "inf": "inf",
    "'12'": "12",
    '"1e3"': "1e3",
    "=": "=",
    "<<": "<<",
    "!!str 12": "12",
    "!!float 12": 12.0,
    "!!float 0x10": 16.0,
    "!!int 12": 12,
    "!!bool true": True,
    "!!null null": None,
}


@pytest.mark.parametrize("text", SCALARS)
def test_scalar(text):
    document = parse(f"[{text}]")
    (value,) = document.data
    assert document.problems == ()
    assert value == SCALARS[text]
    assert type(value) is type(SCALARS[text])


def test_nan():
    assert math.isnan(parse(".nan").data)


def test_empty_value_is_null():
    assert parse("a:\nb: 1").data == {"a": None, "b": 1}


def test_merge_key_is_a_plain_key():
    assert parse("<<: {a: 1}").data == {"<<": {"a": 1}}


def test_aliases_share_their_value():
    assert parse("a: &x [1, 2]\nb: *x").data == {"a": [1, 2], "b": [1, 2]}


def test_lines():
    document = parse("a: 1\nb:\n  - c: 2\n    d:\n      [1,\n       2]\n")
    assert document.line(()) == 1
    assert document.line(("b",)) == 2
    assert document.line(("b", 0)) == 3
    assert document.line(("b", 0, "d")) == 4
    assert document.line(("b", 0, "d", 1)) == 6
    assert document.line(("b", 0, "nothing", "there")) == 3
    assert document.line(("b", 7)) == 2
    assert document.line(("a", "x")) == 1


def test_line_of_a_key_in_degrees_and_of_one_element():
    document = parse("placement:\n  rpy_deg: [1, 2, 3]\ndrag:\n  radius: 0\n")
    assert document.line(("placement", "rpy")) == 2
    assert document.line(("drag", 0, "radius")) == 4


def test_unreadable():
    with pytest.raises(UnreadableText) as caught:
        parse("a: 1\nb: [")
    assert caught.value.line == 2


def test_a_decimal_comma_is_named():
    """In a flow mapping, `1,5` is a number and a second key."""
    (problem,) = parse("fly: {frequency: 1,5}").problems
    assert "the key 5 is not text" in problem.text and "with a point, such as 1.5" in problem.text
