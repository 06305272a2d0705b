"""Parser of untrusted XML text into elements with line numbers: no document types, no entities, limits of size and depth."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat

from hydromechs import files
from hydromechs.errors import Fault, ModelError

ROOTS = ("robot", "sdf", "mujoco")
"""Root elements of robot descriptions; messages do not quote files with other root elements."""
DEEPEST = 100
"""Maximum nesting depth; MJCF nests each body of a chain in the previous body."""


@dataclass(slots=True)
class Element:
    """Element of an XML file."""

    tag: str
    """Tag of the element, without a namespace prefix."""
    line: int
    """Line in the file, from 1."""
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Element] = field(default_factory=list)
    text: str = ""
    """Text of the element, without the text of its children."""
    file: str = ""
    """File that contains the element."""

    def all(self, *tags: str) -> list[Element]:
        """Return the children with given names."""
        return [child for child in self.children if child.tag in tags]

    def first(self, tag: str) -> Element | None:
        """Return the first child with a name, or None."""
        return next((child for child in self.children if child.tag == tag), None)

    def text_of(self, tag: str) -> str:
        """Return the text of the first child with a name; empty without such a child."""
        child = self.first(tag)
        return "" if child is None else child.text

    def walk(self) -> Iterator[Element]:
        """Yield the element and all its descendants, in file order."""
        waiting = [self]
        while waiting:
            element = waiting.pop()
            yield element
            waiting += reversed(element.children)


def is_true(text: str) -> bool:
    """Return the Boolean value of a text in URDF or SDF."""
    return text.strip().lower() in ("1", "true")


def read_bytes(path: str | os.PathLike) -> bytes:
    """Return the bytes of a robot description, within the size limit."""
    try:
        return files.read_bytes(path)
    except FileNotFoundError:
        raise FileNotFoundError(f"model file {os.fspath(path)!r} does not exist; correct the path") from None
    except OSError as error:  # no permission, a device, a large file
        raise ModelError(os.fspath(path), [f"the file cannot be read: {error}"]) from None


def parse_xml(raw: str | bytes, source: str) -> Element:
    """Return the root element of XML text or encoded bytes; raise `ModelError` with the line if it is invalid or unsafe."""
    with files.one_load():
        return _Parser(source).parsed(raw)


class _Parser:
    def __init__(self, source: str) -> None:
        self.source = source
        self.root: Element | None = None
        self.open: list[Element] = []
        self.texts: list[list[str]] = []
        self.expat = expat.ParserCreate()
        self.expat.buffer_text = True
        self.expat.StartElementHandler = self._start
        self.expat.EndElementHandler = self._end
        self.expat.CharacterDataHandler = self._characters
        self.expat.StartDoctypeDeclHandler = self._doctype
        self.expat.EntityDeclHandler = self._entity
        self.expat.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)

    def parsed(self, raw: str | bytes) -> Element:
        try:
            self.expat.Parse(raw, True)
        except expat.ExpatError as error:
            what = expat.ErrorString(error.code)
            where = f"in column {error.offset + 1}: {what}"
            if self.open and self.open[0].tag in ROOTS and "tag" in what:
                where += f"; <{self.open[-1].tag}> of line {self.open[-1].line} is still open"
            self._refuse(error.lineno, f"the text is not XML, {where}; correct it at or before this position")
        except ModelError:
            raise
        except (ValueError, LookupError, UnicodeError) as error:  # an unknown encoding
            self._refuse(1, f"the text cannot be read: {error}; save the file as UTF-8")
        if self.root is None:
            self._refuse(1, "the file is empty; add a root element")
        return self.root

    def _refuse(self, line: int, text: str) -> NoReturn:
        raise ModelError(self.source, [Fault((), text, line=line)])

    def _doctype(self, name: str, *_: object) -> None:
        remedy = "delete the <!DOCTYPE ...> and write its contents in full"
        self._refuse(self.expat.CurrentLineNumber, f"the file declares a document type, {name!r}, not supported; {remedy}")

    def _entity(self, name: str, *_: object) -> None:
        self._refuse(
            self.expat.CurrentLineNumber,
            f"the file declares the entity {name!r}, not supported; write its contents where it is used",
        )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        line = self.expat.CurrentLineNumber
        if len(self.open) >= DEEPEST:
            self._refuse(line, f"<{name}> is nested more than {DEEPEST} levels deep; reduce the nesting")
        try:
            files.count("values", 3 + len(attributes))
        except files.UnreadableFile as error:
            self._refuse(line, str(error))
        # as in YAML, no text controls a terminal; a reference cannot put a line break into an attribute
        plain = {key: files.printable(" ".join(x.splitlines())) for key, x in attributes.items()}
        element = Element(name.rpartition(":")[2], line, plain, file=self.source)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)
        self.texts.append([])

    def _end(self, name: str) -> None:
        self.open.pop().text = files.printable("".join(self.texts.pop()).strip())

    def _characters(self, text: str) -> None:
        if self.texts:
            self.texts[-1].append(text)
