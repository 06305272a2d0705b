"""Whatever happens to a model file, reading it gives a model or a `ModelError`, and nothing else.

2,000 examples: 900 with a changed structure, 900 with changed characters and lines, 200 with changed bytes.
"""

from __future__ import annotations

import copy
import json
import math
import warnings
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hydromechs.errors import ModelError
from hydromechs.formats import dumps, load_file, loads
from hydromechs.formats._yaml import parse
from hydromechs.model import Model

TEXT = (Path(__file__).parents[1] / "formats" / "rich.yaml").read_text()
LINES = TEXT.splitlines(keepends=True)
DATA = parse(TEXT).data


def profile(examples: int) -> settings:
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]
    return settings(derandomize=True, deadline=None, database=None, max_examples=examples, suppress_health_check=slow)


def check(read, *arguments) -> None:
    """Call `read`: a model, which can be written and read again, or an error with lines."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = read(*arguments)
        except ModelError as e:
            assert e.problems
            assert all(problem.startswith("line ") for problem in e.problems)
            return
        assert isinstance(model, Model)
        assert loads(dumps(model)) == model


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.sampled_from([10**18, -(10**400), 10**900, 2**1024, 0x7FFFFFFF]),
    st.sampled_from([math.nan, math.inf, -math.inf, -0.0, 1e308, -1e308, 5e-324, 1e-160, 1e160, 1e99, -1.5, 0.5]),
    st.sampled_from(
        ["", " ", "world", "vehicle", "shoulder", "free", "revolute", "composite", "box", "cylinder", "x", "Y|r|v", "1e3"]
    ),
    st.text(max_size=8),
    st.lists(st.floats(-3, 3), max_size=7),
    st.just([[0.0] * 6] * 6),
    st.just([[[[[]]]]]),
    st.just({}),
    st.dictionaries(
        st.sampled_from(["shape", "type", "mass", "xyz", "axis", "from", "linear", "é"]), st.integers(-1, 1), max_size=3
    ),
)
KEYS = st.one_of(
    st.sampled_from(
        [
            "name",
            "joint",
            "shape",
            "type",
            "mass",
            "axis",
            "start",
            "from",
            "to",
            "origin",
            "mdh",
            "limits",
            "linear",
            "<<",
            "[key]",
        ]
    ),
    st.text(max_size=4),
)


def places(data, path=()) -> list[tuple]:
    """Paths of everything inside `data`."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [found for key, value in items for found in ((*path, key), *places(value, (*path, key)))]


PLACES = places(DATA)


@st.composite
def mutated_data(draw):
    data = copy.deepcopy(DATA)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(PLACES))
        holder = data
        for step in path[:-1]:
            known = (
                step in holder
                if isinstance(holder, dict)
                else isinstance(holder, list) and isinstance(step, int) and step < len(holder)
            )
            if not known:
                break
            holder = holder[step]
        mutate(holder, path[-1], draw)
    return data


def mutate(holder, key, draw) -> None:
    """Delete, rename, duplicate, replace, nest or move what is at `key`, if it is still there."""
    what = draw(st.sampled_from(["delete", "rename", "add", "replace", "replace", "replace", "nest", "take"]))
    if isinstance(holder, dict) and key in holder:
        value = holder.pop(key)
        if what == "rename":
            holder[draw(KEYS)] = value
        elif what == "add":
            holder |= {key: value, draw(KEYS): copy.deepcopy(value)}
        elif what != "delete":
            holder[key] = changed(value, what, draw)
    elif isinstance(holder, list) and isinstance(key, int) and key < len(holder):
        value = holder.pop(key)
        if what in ("add", "rename"):
            holder[key:key] = [value, copy.deepcopy(value)]
        elif what != "delete":
            holder.insert(key, changed(value, what, draw))


def changed(value, what: str, draw):
    if what == "nest":
        return draw(st.sampled_from([[value], {"x": value}, [value, value]]))
    if what == "take":
        path = draw(st.sampled_from(PLACES))
        other = DATA
        for step in path:
            other = other[step]
        return copy.deepcopy(other)
    return draw(ODD)


def flow(value) -> str:
    """YAML of anything on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow(k)}: {flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow(v) for v in value) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    return repr(value).lower() if value is not None else "~"


@profile(900)
@given(mutated_data())
def test_changed_structure(data):
    check(loads, "".join(f"{flow(key)}: {flow(value)}\n" for key, value in data.items()))


@st.composite
def mutated_text(draw):
    lines = list(LINES)
    for _ in range(draw(st.integers(1, 3))):
        i = draw(st.integers(0, len(lines) - 1)) if lines else 0
        match draw(st.sampled_from(["delete", "double", "swap", "indent", "cut", "insert", "exchange", "insert"])):
            case "delete":
                del lines[i : i + draw(st.integers(1, 4))]
            case "double":
                lines[i:i] = lines[i : i + 1]
            case "swap" if lines:
                j = draw(st.integers(0, len(lines) - 1))
                lines[i], lines[j] = lines[j], lines[i]
            case "indent" if lines:
                lines[i] = draw(st.sampled_from([" ", "  ", "\t", "- ", "? ", "# ", "---\n", "%", "&a ", "!t "])) + lines[i]
            case "cut" if lines:
                a = draw(st.integers(0, len(lines[i])))
                lines[i] = lines[i][:a] + lines[i][a + draw(st.integers(1, 8)) :]
            case "exchange" if lines:
                a, b = draw(st.integers(0, len(lines[i]) - 1)) if lines[i] else 0, draw(st.integers(0, 100))
                letters = list(lines[i])
                if letters:
                    b %= len(letters)
                    letters[a], letters[b] = letters[b], letters[a]
                lines[i] = "".join(letters)
            case "insert" if lines:
                a = draw(st.integers(0, len(lines[i])))
                signs = st.sampled_from(
                    [
                        *"[]{},:-?#&*!|>'\"%@`\t\n\0 0.9e~",
                        "\x85",
                        "\u2028",
                        "\ufeff",
                        "*a",
                        "&a ",
                        "!!int ",
                        "!!x ",
                        "<<: *a",
                        "'",
                        "\\",
                    ]
                )
                lines[i] = lines[i][:a] + draw(st.one_of(signs, st.text(max_size=5))) + lines[i][a:]
    return "".join(lines)


@profile(900)
@given(mutated_text())
def test_changed_text(text):
    check(loads, text)


@st.composite
def mutated_bytes(draw):
    raw = bytearray(TEXT.encode())
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(raw) - 1))
        raw[at : at + draw(st.integers(0, 3))] = draw(st.binary(max_size=3))
    return bytes(raw)


@profile(200)
@given(mutated_bytes())
def test_changed_bytes(tmp_path, raw):
    path = tmp_path / "model.yaml"
    path.write_bytes(raw)
    (tmp_path / "hull.stl").touch()
    check(load_file, path)
