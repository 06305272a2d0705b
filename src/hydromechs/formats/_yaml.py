"""Parser of YAML text into plain data with line numbers, with YAML 1.2 core scalars and without duplicate keys.

PyYAML composes the nodes. This module interprets them, so that `1e3` is a number, `on` and `2026-01-01` are texts, and a
duplicate key is an error.
"""

import gc
import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from yaml.composer import Composer
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.parser import Parser
from yaml.reader import Reader, ReaderError
from yaml.resolver import BaseResolver
from yaml.scanner import Scanner

from hydromechs import files
from hydromechs.errors import Fault
from hydromechs.registry import show

from ._file_kinds import FILE_KINDS

MAX_DEPTH = 64
"""Maximum nesting depth; a model file needs at most 9 levels."""
MAX_EXPANSION = 100_000
"""Maximum number of values that aliases may add."""
LONG = 1_000_000
"""Text length above which the Python parser takes more than several seconds [characters]."""
TAG = "tag:yaml.org,2002:"
"""Prefix of the tags of the core schema."""


class UnreadableText(ValueError):
    """Error about text that is not YAML, with its `line`."""

    def __init__(self, line: int, text: str) -> None:
        self.line = line
        super().__init__(text)


class _Composer(Composer, BaseResolver):
    """Composer of events into nodes, with scalars of the core schema."""

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Node | None:
        """Compose one node, within the limits of depth and number."""
        try:
            files.count("values", 1)
        except files.UnreadableFile as error:
            raise UnreadableText(1, str(error)) from None
        if self.depth > MAX_DEPTH:
            line: int = self.peek_event().start_mark.line + 1  # type: ignore[attr-defined]
            raise UnreadableText(line, f"more than {MAX_DEPTH} levels of nesting; reduce the nesting")
        self.depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1


class _Loader(_Composer, Reader, Scanner, Parser):
    """Composer in Python: slow, with better messages."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        for part in (Scanner, Parser, Composer, BaseResolver):
            part.__init__(self)


if yaml.__with_libyaml__:
    from yaml.cyaml import CParser  # type: ignore[attr-defined]

    class _FastLoader(_Composer, CParser):
        """Composer in C."""

        def __init__(self, text: str) -> None:
            CParser.__init__(self, text)
            Composer.__init__(self)
            BaseResolver.__init__(self)


_SCALARS = (
    ("null", r"null|Null|NULL|~|", [*"nN~", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", [*"tTfF"]),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", [*"-+0123456789"]),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", [*"-+.0123456789"]),
)
_PATTERNS = {kind: re.compile(pattern, re.ASCII) for kind, pattern, _ in _SCALARS}
for _kind, _pattern, _first in _SCALARS:
    _Composer.add_implicit_resolver(TAG + _kind, re.compile(rf"(?:{_pattern})\Z", re.ASCII), _first)


@dataclass(frozen=True, slots=True)
class Document:
    """Contents of a text."""

    data: Any
    """Dictionaries, lists, texts, numbers, Booleans or None."""
    problems: tuple[Fault, ...]
    """Errors of keys, tags and aliases."""
    root: Node | None
    """Composed nodes; None for an empty text."""

    def line(self, path: tuple) -> int:
        """Return the line of `path`, or of its deepest existing part."""
        node, line = self.root, 1 if self.root is None else self.root.start_mark.line + 1
        for step in path:
            if isinstance(node, MappingNode):
                if isinstance(step, int):  # a single element in place of a list
                    continue
                names = (step, f"{step}_deg")
                found = [(k, v) for name in names for k, v in node.value if isinstance(k, ScalarNode) and k.value == name]
                if not found:
                    break
                line, node = found[0][0].start_mark.line + 1, found[0][1]
            elif isinstance(node, SequenceNode) and isinstance(step, int) and step < len(node.value):
                node = node.value[step]
                line = node.start_mark.line + 1
            else:
                break
        return line


@contextmanager
def collector_paused() -> Iterator[None]:
    """Suspend garbage collection, which would repeatedly scan millions of new nodes without freeing memory."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _root(text: str) -> Node | None:
    """Return the nodes of a text. If the C parser rejects a short text, it is parsed in Python, which gives better messages."""
    if yaml.__with_libyaml__:
        try:
            return _FastLoader(text).get_single_node()
        except UnreadableText:
            raise
        except (yaml.YAMLError, ValueError):
            if len(text) > LONG:
                raise
    return _Loader(text).get_single_node()


@files.one_load()
def parse(text: str) -> Document:
    """Return the data in `text`; raise `UnreadableText` if it is not YAML."""
    try:
        root = _root(text)
    except ReaderError as e:
        line = text.count("\n", 0, e.position) + 1
        code = e.character if isinstance(e.character, int) else ord(e.character)
        raise UnreadableText(line, f"the character U+{code:04X} is not allowed in YAML; delete it or escape it") from None
    except yaml.MarkedYAMLError as e:
        mark = e.problem_mark or e.context_mark
        context = f"{e.context}: " if e.context else ""
        words = f"not YAML: {context}{e.problem}; check indentation, quotes, brackets and colons"
        raise UnreadableText(mark.line + 1 if mark else 1, words) from None
    except UnreadableText:
        raise
    except (yaml.YAMLError, ValueError, OverflowError) as e:  # invalid escapes, numbers beyond Python's limit
        raise UnreadableText(1, f"not YAML: {e}") from None
    if root is None:
        return Document(None, (), None)
    builder = _Builder()
    data = builder.build(root, ())
    written, meant = len(builder.size), builder.size[id(root)]
    if meant - written > MAX_EXPANSION:
        raise UnreadableText(1, f"the aliases in the file expand to more than {MAX_EXPANSION} values; write the values in full")
    return Document(data, tuple(builder.problems), root)


class _Builder:
    """Converter of nodes to data; each node is built once, so that aliases share data."""

    def __init__(self) -> None:
        self.problems: list[Fault] = []
        self.size: dict[int, int] = {}
        self._built: dict[int, object] = {}
        self._open: set[int] = set()

    def build(self, node: Node, path: tuple) -> Any:
        """Return the data of `node`; errors are collected."""
        key = id(node)
        if key in self._built:
            return self._built[key]
        if key in self._open:
            raise UnreadableText(
                node.start_mark.line + 1, "an alias refers to a value that contains the alias; write the value in full"
            )
        self._open.add(key)
        self.size[key] = 1
        data: Any
        if isinstance(node, MappingNode):
            data = self._mapping(node, path)
        elif isinstance(node, SequenceNode):
            self._expect(node, path, "seq")
            data = []
            for i, item in enumerate(node.value):
                data.append(self.build(item, (*path, i)))
                self.size[key] += self.size[id(item)]
        elif isinstance(node, ScalarNode):
            data = self._scalar(node, path)
        self._open.discard(key)
        self._built[key] = data
        return data

    def _add(self, node: Node, path: tuple, text: str) -> None:
        self.problems.append(Fault(path, text, line=node.start_mark.line + 1))

    def _expect(self, node: Node, path: tuple, kind: str) -> None:
        if node.tag != TAG + kind:
            self._add(node, path, f"has the tag {_tag(node)}, which is not supported; delete the tag")

    def _mapping(self, node: MappingNode, path: tuple) -> dict:
        self._expect(node, path, "map")
        data: dict[str, object] = {}
        lines: dict[str, int] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, ScalarNode):
                self._add(key_node, path, "a list or mapping is used as a key; keys must be text")
                continue
            key = self._scalar(key_node, path)
            if not isinstance(key, str):
                comma = "; write decimal numbers with a point, such as 1.5" if isinstance(key, int | float) else ""
                self._add(key_node, path, f"the key {show(key)} is not text; put it in quotes{comma}")
                continue
            if key in data:
                self._add(key_node, (*path, key), f"the key {key!r} appears twice, first in line {lines[key]}; keep one")
                continue
            data[key] = self.build(value_node, (*path, key))
            lines[key] = key_node.start_mark.line + 1
            self.size[id(node)] += self.size[id(value_node)]
        return data

    def _scalar(self, node: ScalarNode, path: tuple) -> Any:
        kind, text = node.tag.removeprefix(TAG), node.value
        if kind == "str":
            if any("\ud800" <= c <= "\udfff" for c in text):
                self._add(node, path, f"the text {text!r} has half of a surrogate pair, which is not a character; delete it")
                return ascii(text)
            if files.CONTROL.search(text):
                self._add(node, path, f"the text {text[:80]!r} has control characters, which terminals execute; delete them")
                return ascii(text)
            return text
        if kind not in _PATTERNS or not node.tag.startswith(TAG):
            self._add(node, path, f"{show(text)} has the tag {_tag(node)}, which is not supported; delete the tag")
            return text
        if not (_PATTERNS[kind].fullmatch(text) or (kind == "float" and _PATTERNS["int"].fullmatch(text))):
            self._add(
                node,
                path,
                f"{show(text)} has the tag {_tag(node)} but is not of this type; delete the tag or correct the value",
            )
            return text
        if kind == "null":
            return None
        if kind == "bool":
            return text.lower() == "true"
        return _float(text) if kind == "float" else _int(text)


def _tag(node: Node) -> str:
    return "!!" + node.tag.removeprefix(TAG) if node.tag.startswith(TAG) else node.tag


def _int(text: str) -> int | float:
    """Return an integer, or infinity above the maximum float, as for `1e999`."""
    base = {"0o": 8, "0x": 16}.get(text[:2], 10)
    digits = text[2:] if base != 10 else text
    value = int(digits, base) if len(digits) < 1000 else 2**1024
    return value if abs(value) < 2**1023 else -math.inf if text[0] == "-" else math.inf


def _float(text: str) -> float:
    lower = text.lower()
    if lower.endswith((".inf", ".nan")):
        return float(lower.replace(".", ""))
    return float(text) if text[:2] not in ("0o", "0x") else float(_int(text))


OTHER_FILES = {
    "robot": "a URDF file",
    "sdf": "an SDF file",
    "mujoco": "an MJCF file (MuJoCo)",
    "COLLADA": "a COLLADA mesh",
    "svg": "a drawing (SVG)",
    "html": "a web page",
}
"""Kinds of XML files, keyed by root element."""


def foreign_format(text: str) -> str:
    """Return the apparent kind of a text that is not YAML, such as "a URDF file"; empty if it may be YAML."""
    if not text.lstrip().startswith("<"):
        if text.startswith("solid "):
            return "a mesh (STL)"
        return "a JSON file of a glTF scene" if text.lstrip().startswith("{") and '"asset"' in text[:2000] else ""
    found = re.search(r"<([A-Za-z][\w.-]*)", re.sub(r"<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)", "", text[:100_000], flags=re.DOTALL))
    return OTHER_FILES.get(found[1], "an XML file") if found else "an XML file"


def _is_ours(raw: bytes) -> bool:
    """True if the first key identifies a HydroMechs file; messages do not quote other files, which may contain secrets."""
    return re.search(rb"^[^\w\n]*hydromechs", raw.replace(b"\0", b""), re.MULTILINE) is not None


def is_scenario_file(path: str | Path) -> bool:
    """True if a file exists and identifies itself as a scenario; the file may have errors."""
    try:
        raw = files.read_bytes(path)
    except OSError:
        return False
    return re.search(rb"^[^\w\n]*hydromechs_scenario\b", raw.replace(b"\0", b""), re.MULTILINE) is not None


def read_text(path: Path, kind: str, fault: Callable[[str, list[str]], Exception]) -> str:
    """Return the UTF-8 text of a file; `fault` creates the error of an unreadable file from its name and errors."""
    try:
        raw = files.read_bytes(path)
    except FileNotFoundError:
        raise FileNotFoundError(f"{kind} file {str(path)!r} does not exist; correct the path") from None
    except OSError as e:  # for example no permission, a path through a file, a device, a large file
        raise fault(str(path), [f"the file cannot be read: {e}"]) from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        line = raw.count(b"\n", 0, e.start) + 1
        if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
            words = "the file is UTF-16; save it as UTF-8 (in most editors: Save with Encoding)"
        elif b"\0" in raw[:1000]:
            words = f"this is not a text file; use a {kind} file in YAML"
        else:
            byte = f"byte 0x{raw[e.start]:02x}" if _is_ours(raw) else "a byte"
            words = f"{byte} is not UTF-8; save the file as UTF-8 (in most editors: Save with Encoding)"
        raise fault(str(path), [f"line {line}: {words}"]) from None
    first = f"'{FILE_KINDS[kind].first}'"
    other = foreign_format(text)
    if other:
        words = f"this is {other}, not a HydroMechs {kind} file, which is YAML and starts with"
        raise fault(str(path), [f"line 1: {words} {first}"])
    if text.strip() and not _is_ours(raw):
        raise fault(str(path), [f"line 1: this is not a HydroMechs {kind} file; start {kind} files with {first}"])
    return text
