"""Files changed at random, as text and as data: what people, editors and programs do to them, and worse."""

from __future__ import annotations

import copy
import json
import math
import re
from random import Random
from typing import Any

__all__ = ["block_yaml", "flow_yaml", "mistaken_data", "mutated_bytes", "mutated_data", "mutated_text", "repeated_key"]

NUMBERS = (0, 1, -1, 2, 3, 0.5, -1.5, -0.0, 1e-3, 100.0, 1e6, 1e-12, 1e18, 5e-324, 1e-160, 1e160, 1e308, -1e308)
HUGE = (10**18, -(10**400), 2**1024, 0x7FFFFFFF, math.nan, math.inf, -math.inf)
WORDS = ("", " ", "none", "free", "world", "time", "x", "1e3", "a:b", "./x.yaml", "/", ".", "\0", "é", "rk4", "b4pc5", "Y|r|v")
LISTS: tuple[Any, ...] = ([], {}, [0.0] * 3, [1.0] * 6, [[0.0] * 6] * 6, [[[[[]]]]], [None], {"x": 1}, None, True, False)
SIGNS = (*"[]{},:-?#&*!|>'\"%@`\t\n\0 0.9e~", "\x85", "\u2028", "\ufeff", "*a", "&a ", "!!int ", "!!x ", "<<: *a", "\\", "é")
STARTS = (" ", "  ", "\t", "- ", "? ", "# ", "---\n", "%", "&a ", "!t ")


def places(data: Any, path: tuple = ()) -> list[tuple]:
    """Paths of everything inside `data`."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [found for key, value in items for found in ((*path, key), *places(value, (*path, key)))]


def at(data: Any, path: tuple) -> Any:
    """Return the value at a path."""
    for step in path:
        data = data[step]
    return data


def mutated_data(data: dict, others: list[dict], rng: Random) -> dict:
    """A copy with one to three changes: something removed, renamed, doubled, nested, replaced, or taken from another file.

    Args:
        data: A file as data.
        others: Files from which parts may be taken.
        rng: The choice.
    """
    data = copy.deepcopy(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        found = places(data)
        if found:
            *path, key = rng.choice(found)
            _change(at(data, tuple(path)), key, others, rng)
    return data


def _change(holder: Any, key: Any, others: list[dict], rng: Random) -> None:
    """Change what is at `key` of a mapping or a list."""
    value = holder[key]
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match rng.choice(
        ("delete", "rename", "double", "nest", *["replace"] * 2, *["take"] * 2, *["scale"] * (15 if number else 0))
    ):
        case "delete":
            del holder[key]
        case "rename" if isinstance(holder, dict):
            del holder[key]
            holder[_key(others, rng)] = value
        case "double" if isinstance(holder, dict):
            holder[_key(others, rng)] = copy.deepcopy(value)
        case "double" | "rename":
            holder.insert(key, copy.deepcopy(value))
        case "nest":
            holder[key] = rng.choice(([value], {"x": value}, [value, value]))
        case "scale":
            factor = rng.choice((-1, 0, 0.1, 0.999, 1.1, 1.5, 3, 10, 1e3, 1e-3, 1e9))
            huge = isinstance(value, int) and value.bit_length() > 1000  # more than a float can be
            holder[key] = value * (round(factor) if huge else factor)
        case "take":
            other = rng.choice(others)
            same = [path for path in places(other) if path[-1] == key] or places(other)
            holder[key] = copy.deepcopy(at(other, rng.choice(same)))
        case _:
            holder[key] = copy.deepcopy(rng.choice(rng.choice((NUMBERS, NUMBERS, HUGE, WORDS, LISTS))))


def _key(others: list[dict], rng: Random) -> str:
    """A key of any file, or none."""
    keys = [path[-1] for path in places(rng.choice(others)) if isinstance(path[-1], str)]
    return rng.choice((*keys, *WORDS, "<<", "[key]"))


def mutated_text(text: str, rng: Random) -> str:
    """A copy with one to three lines removed, doubled, swapped, moved or changed.

    Args:
        text: Text of a file.
        rng: The choice.
    """
    lines = text.splitlines(keepends=True)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
        a = rng.randint(0, len(lines[i]))
        match rng.choice(("delete", "double", "swap", "indent", "cut", "exchange", "insert", "insert", *["digit"] * 4)):
            case "delete":
                lines[i : i + rng.randint(1, 4)] = [""]
            case "double":
                lines.insert(j, lines[i])
            case "swap":
                lines[i], lines[j] = lines[j], lines[i]
            case "indent":
                lines[i] = rng.choice(STARTS) + lines[i]
            case "cut":
                lines[i] = lines[i][:a] + lines[i][a + rng.randint(1, 8) :]
            case "exchange":
                letters = list(lines[i])
                b = rng.randint(0, max(len(letters) - 1, 0))
                letters[a : a + 1], letters[b : b + 1] = letters[b : b + 1], letters[a : a + 1]
                lines[i] = "".join(letters)
            case "digit":
                digits = [k for k, c in enumerate(lines[i]) if c.isdigit()]
                if digits:
                    k = rng.choice(digits)
                    lines[i] = lines[i][:k] + rng.choice("0123456789e.-") + lines[i][k + 1 :]
            case _:
                lines[i] = lines[i][:a] + rng.choice(SIGNS) + lines[i][a:]
    return "".join(lines)


def mutated_bytes(raw: bytes, rng: Random) -> bytes:
    """A copy with one to four places overwritten.

    Args:
        raw: Bytes of a file.
        rng: The choice.
    """
    out = bytearray(raw)
    for _ in range(rng.randint(1, 4)):
        i = rng.randrange(len(out))
        out[i : i + rng.randint(0, 3)] = rng.randbytes(rng.randint(0, 3))
    return bytes(out)


def flow_yaml(value: Any) -> str:
    """YAML of anything on one line, also of values that our own writer rejects."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow_yaml(k)}: {flow_yaml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow_yaml(v) for v in value) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    return "~" if value is None else repr(value).lower()


# -- mistakes that people make ----------------------------------------------------------------------------------------------

BAD_NUMBERS = (math.nan, math.inf, 0, -1, 1e300, 10**18, "3 m", "none", True, None, [1.0], {"x": 1.0})
FACTORS = (-1.0, 57.29577951308232, 0.017453292519943295, 1e3, 1e-3, 1e6)
"""Factors on numbers: a wrong sign, degrees for radians and back, millimetres for metres and back."""


def mistaken_data(data: dict, rng: Random) -> dict:
    """Return a copy with one to three mistakes: keys, names, types and numbers that are wrong.

    Args:
        data: A file as data.
        rng: The choice.
    """
    data = copy.deepcopy(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        found = places(data)
        if found:
            *path, key = rng.choice(found)
            _mistake(at(data, tuple(path)), key, rng)
    return data


def _mistake(holder: Any, key: Any, rng: Random) -> None:
    """Make a mistake at `key` of a mapping or a list."""
    value = holder[key]
    mistakes = ["delete", "retype"] + ["rename", "extra"] * isinstance(holder, dict)
    if isinstance(value, int | float) and not isinstance(value, bool):
        mistakes += ["number"] * 4 + ["unit"] * 3
    elif isinstance(value, str):
        mistakes += ["name"] * 4
    elif isinstance(value, list):
        mistakes += ["mapping", "shorten", "lengthen"]
    elif isinstance(value, dict):
        mistakes += ["list"]
    match rng.choice(mistakes):
        case "delete":
            del holder[key]
        case "rename":
            del holder[key]
            holder[_misspelled(key, rng)] = value
        case "extra":
            holder[_misspelled(key, rng)] = copy.deepcopy(value)
        case "retype":
            holder[key] = copy.deepcopy(rng.choice((*BAD_NUMBERS, "", [], {})))
        case "number":
            holder[key] = copy.deepcopy(rng.choice(BAD_NUMBERS))
        case "unit":
            holder[key] = value * rng.choice(FACTORS)
        case "name":
            holder[key] = _misspelled(value, rng)
        case "mapping":
            holder[key] = {f"x{k}": item for k, item in enumerate(value)}
        case "shorten":
            holder[key] = value[:-1]
        case "lengthen":
            holder[key] = [*value, copy.deepcopy(value[-1]) if value else 0]
        case "list":
            holder[key] = list(value.values())


def _misspelled(word: str, rng: Random) -> str:
    """A word with a letter doubled, dropped or exchanged, or with its unit added or removed."""
    word = str(word)
    if not word:
        return "x"
    k = rng.randrange(len(word))
    unit = word.removesuffix("_deg") if word.endswith("_deg") else f"{word}_deg"
    return rng.choice((word[:k] + word[k] + word[k:], word[:k] + word[k + 1 :], word[:k] + "q" + word[k + 1 :], unit))


def repeated_key(text: str, rng: Random) -> str:
    """Return a text in which one line with a key occurs twice.

    Args:
        text: YAML, in blocks.
        rng: The choice.
    """
    lines = text.splitlines(keepends=True)
    whole = [k for k, line in enumerate(lines) if not line.rstrip().endswith(":") and not line.lstrip().startswith("-")]
    if whole:
        k = rng.choice(whole)
        lines.insert(k, lines[k])
    return "".join(lines)


def block_yaml(data: dict, indent: str = "") -> str:
    """Return YAML with a line for each key of three levels, so that places have lines.

    Args:
        data: A mapping.
        indent: Spaces before each line.
    """
    out = []
    for key, value in data.items():
        if isinstance(value, dict) and value and len(indent) < 6:
            out.append(f"{indent}{_key_yaml(key)}:\n{block_yaml(value, indent + '  ')}")
        elif isinstance(value, list) and len(indent) < 4 and any(isinstance(item, dict | list) for item in value):
            items = "".join(f"{indent}  - {flow_yaml(item)}\n" for item in value)
            out.append(f"{indent}{_key_yaml(key)}:\n{items}")
        else:
            out.append(f"{indent}{_key_yaml(key)}: {flow_yaml(value)}\n")
    return "".join(out)


def _key_yaml(key: str) -> str:
    """A key without quotes, if it needs none."""
    return key if re.fullmatch(r"[A-Za-z]\w*", key) and key.lower() not in ("null", "true", "false") else flow_yaml(key)
