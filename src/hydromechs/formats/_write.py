"""Writer of a `Model` as a model file without loss: defaults are omitted, floats have the shortest exact text."""

import copy
import math
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hydromechs import files
from hydromechs.errors import UnsupportedFeature
from hydromechs.model import FAMILIES, Hydro, Model
from hydromechs.registry import Writer, dotted

from ._read import MODEL_KEY, MODEL_VERSION
from ._robots import WRITTEN, is_robot_file, robot_text

WIDTH = 120
"""Target line length in columns."""
PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./+-]*( [A-Za-z0-9_./+(-][A-Za-z0-9_./+()-]*)*")
"""Pattern of texts that need no quotes, unless YAML gives them another meaning."""
WORDS = {"null", "true", "false", "yes", "no", "on", "off"}
"""Words with another meaning in YAML 1.2 or 1.1."""
LITERAL_LINE = re.compile(r"[^\x00-\x1f\x7f-\xa0\ufeff\u2028\u2029\ud800-\udfff\ufffe\uffff]*")
"""Pattern of lines that a literal block can contain unchanged."""


class Block(dict[str, Any]):
    """Mapping that is written with one key per line."""


class Rows(list[Any]):
    """List that is written with one item per line."""


def emit(data: Block) -> str:
    """Return the YAML text of `data`."""
    return "".join(line + "\n" for line in _mapping(data, 0))


def _mapping(data: dict[str, Any], indent: int) -> list[str]:
    lines = []
    for key, value in data.items():
        head = " " * indent + f"{_text(key)}:"
        if len(head) > 1000:
            raise UnsupportedFeature(f"the name {key[:40]!r}... is too long for a key of a YAML file; shorten it")
        inline = _inline(value, WIDTH - len(head) - 1)
        if inline is not None:
            lines.append(f"{head} {inline}")
        elif isinstance(value, str):
            body = value.removesuffix("\n")
            lines.append(f"{head} |" if value.endswith("\n") else f"{head} |-")
            lines += [" " * (indent + 2) + line if line else "" for line in body.split("\n")]
        else:
            lines += [head, *(_mapping(value, indent + 2) if isinstance(value, dict) else _items(value, indent + 2))]
    return lines


def _items(data: list[Any], indent: int) -> list[str]:
    lines = []
    for item in data:
        inline = _inline(item, WIDTH - indent - 2)
        if inline is not None:
            lines.append(" " * indent + f"- {inline}")
        else:
            inner = _mapping(item, indent + 2) if isinstance(item, dict) else _items(item, indent + 2)
            lines += [" " * indent + "- " + inner[0].lstrip(" "), *inner[1:]]
    return lines


def _inline(value: Any, room: int) -> str | None:
    """Return `value` for the rest of a line; None if the value requires a block."""
    if isinstance(value, str):
        return None if _is_literal(value) else _text(value)
    if value and (isinstance(value, Block | Rows) or (isinstance(value, list | dict) and _has_block(value))):
        return None
    text = _flow(value)
    numbers_only = isinstance(value, list) and not any(isinstance(v, list | dict) for v in value)
    return text if len(text) <= room or numbers_only or not isinstance(value, list | dict) else None


def _has_block(value: Any) -> bool:
    items = value.values() if isinstance(value, dict) else value
    return any(isinstance(v, list | dict) and (isinstance(v, Block | Rows) or _has_block(v)) for v in items)


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(k)}: {_flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_flow(v) for v in value) + "]"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if value is None:
        return "null"
    return _number(float(value)) if isinstance(value, float | np.floating) else str(int(value))


def _number(x: float) -> str:
    """Return the shortest text that reproduces the float, also in YAML 1.1."""
    if not math.isfinite(x):
        return ".nan" if math.isnan(x) else ".inf" if x > 0.0 else "-.inf"
    text = repr(x)
    if text.endswith(".0") and text != "-0.0":
        return text[:-2]
    return text.replace("e", ".0e") if "e" in text and "." not in text else text


def _is_literal(text: str) -> bool:
    lines = text.removesuffix("\n").split("\n")
    edges = (lines[0], lines[-1])
    if len(lines) < 2 or not all(edges) or lines[0].startswith(" "):
        return False
    return all(LITERAL_LINE.fullmatch(line) for line in lines)


def _text(text: str) -> str:
    if PLAIN.fullmatch(text) and text.lower() not in WORDS:
        return text
    out = []
    for c in text:
        if "\ud800" <= c <= "\udfff":
            raise UnsupportedFeature(f"the text {text!r} has half of a surrogate pair, which a file cannot store; delete it")
        out.append(_ESCAPES.get(c) or (c if LITERAL_LINE.fullmatch(c) else _escape(ord(c))))
    return '"' + "".join(out) + '"'


_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def _escape(code: int) -> str:
    return f"\\x{code:02X}" if code < 0x100 else f"\\u{code:04X}"


def save(model: Model, path: str | Path) -> tuple[str, ...]:
    """Write a model file; an existing file is replaced atomically, and kept if writing fails.

    Args:
        model: The model.
        path: Path of the file: YAML, or a third-party format selected by the suffix (".urdf"). The first
            comment of such a file lists features that the format cannot store. Mesh paths are written as in the model;
            meshes are not copied.

    Returns:
        Lines that list features that the file cannot store; empty for YAML.
    """
    if is_robot_file(path):
        text, lost = robot_text(model, Path(path).suffix)
        replace_file(text, path)
        return lost
    check_suffix(path, "model", WRITTEN)
    replace_file(dumps(model, Path(path).parent), path)
    return ()


def check_suffix(path: str | Path, kind: str, others: Sequence[str] = ()) -> None:
    """Raise `UnsupportedFeature` if the suffix of a file is neither a YAML suffix nor one of `others`."""
    suffix = Path(path).suffix
    if suffix.lower() not in ("", ".yaml", ".yml"):
        words = f"the file name {str(path)!r} ends in {suffix!r}, but a {kind} is written as YAML"
        endings = " or ".join(repr(x) for x in (".yaml", *others))
        raise UnsupportedFeature(f"{words}; use a name that ends in {endings}")


def replace_file(text: str, path: str | Path) -> None:
    """Write a text file; an existing file is replaced atomically, and kept if writing fails."""
    path = Path(os.path.realpath(path))  # a symbolic link of the user remains
    if not path.parent.is_dir():
        raise FileNotFoundError(f"folder {str(path.parent)!r} for {path.name!r} does not exist; create it first")
    try:
        files.write_text(path, text)
    except OSError as error:
        raise type(error)(f"{str(path)!r} cannot be written: {error.strerror or error}") from error


def dumps(model: Model, folder: str | Path | None = None) -> str:
    """Return the text of a model file, with import paths of custom joints; paths are relative to `folder` (None: unchanged)."""
    return model_text(model, ModelWriter(FAMILIES, None if folder is None else Path(folder)))


def model_text(model: Model, writer: Writer) -> str:
    """Return the text of a model file."""
    data = writer.fields(model)
    bodies = Block((name, Block(body)) for name, body in data.pop("bodies").items())
    for key in data.keys() & {"sources"}:
        data[key] = Block(data[key])
    loops = {"loops": Block(data.pop("loops"))} if "loops" in data else {}
    return emit(Block({MODEL_KEY: MODEL_VERSION, **data, "bodies": bodies, **loops}))


class ModelWriter(Writer):
    """Writer of models."""

    def label(self, path: tuple) -> str:
        return f"body {path[1]!r}: {dotted(path[2:])}" if path[:1] == ("bodies",) and len(path) > 2 else dotted(path)

    def fields(self, thing: Any, path: tuple = (), skip: tuple[str, ...] = ()) -> dict[str, Any]:
        """Return the mapping of an object, without a volume that is derived from shapes."""
        if isinstance(thing, Model):  # sections of flexible links follow from their data
            thing, bodies = copy.copy(thing), thing.own_bodies
            object.__setattr__(thing, "bodies", bodies)
        derived = ("volume", "buoyancy_center") if isinstance(thing, Hydro) and thing.derived else ()
        return super().fields(thing, path, (*skip, *derived))
