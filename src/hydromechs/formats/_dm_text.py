"""Parse the text of a DynaMechs `.dm` file into elements with line numbers.

Files are untrusted: words and depth are limited.
The papers describe the contents of such files, but print none. The assumed syntax is words followed by values, and
blocks in braces:

    System {
        MobileBase { mass 120   cgPos 0 0 0.05 }   # a comment to the end of the line; // also starts one
    }

A value is a number, or a text in double quotes; any other word starts the next entry or block.
"""

from __future__ import annotations

import re
from typing import NoReturn

from hydromechs.errors import Fault, ModelError

from ._xml import Element

FIRST = "System"
"""First word of a file."""
MOST_TOKENS = 1_000_000
"""Maximum number of words, numbers and braces in a file."""
DEEPEST = 20
"""Maximum levels of braces; the papers' hierarchy has four."""
LONGEST = 200
"""Maximum length of a word [characters]."""
TOKEN = re.compile(
    r'(?P<space>[ \t\r\f\v]+|(?:#|//)[^\n]*)|(?P<line>\n)|(?P<text>"[^"\n]*")|(?P<brace>[{}])|(?P<word>[^\s{}"#]+)|(?P<bad>.)'
)
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?(nan|inf)", re.ASCII)


def words_match(a: str, b: str) -> bool:
    """True if two words are equivalent: the papers write both `cgPos` and `cg_pos`."""
    return a.replace("_", "").lower() == b.replace("_", "").lower()


def parse_dm(raw: str | bytes, source: str) -> Element:
    """Return the outer block of a text in UTF-8; the values of an entry are the `text` of its element.

    A text that cannot be read raises `ModelError` with the line.
    """
    return _Parser(source).parsed(_decoded(raw, source))


def _decoded(raw: str | bytes, source: str) -> str:
    if isinstance(raw, str):
        return raw
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        text = f"the file has the byte 0x{raw[error.start]:02x}, which is not UTF-8; save it as UTF-8 text"
        raise ModelError(source, [Fault((), text, line=line)]) from None


class _Parser:
    """Builds the blocks of one text."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.line = 1
        self.root: Element | None = None
        self.open: list[Element] = []
        self.entry: Element | None = None
        """Entry that receives the next value."""
        self.values: list[str] = []
        """Its values so far."""

    def parsed(self, text: str) -> Element:
        count = 0
        for match in TOKEN.finditer(text):
            kind, token = match.lastgroup, match.group()
            if kind == "line":
                self.line += 1
                continue
            if kind == "space":
                continue
            count += 1
            if count > MOST_TOKENS:
                self._refuse(f"the file has more than {MOST_TOKENS} words; split it")
            if self.root is None and not words_match(token, FIRST):  # quote nothing from files of other kinds
                self._refuse(f"the file is not a DynaMechs description; such files start with {FIRST} {{")
            if kind == "bad":
                self._refuse(f"{token!r} is not a word, a number or a text in double quotes; correct it")
            elif kind == "brace":
                self._opened() if token == "{" else self._closed()
            elif kind == "text" or NUMBER.fullmatch(token):
                self._value(token)
            else:
                self._word(token)
        self._finish()
        if self.open:
            last = self.open[-1]
            self._refuse(f"the block {last.tag} of line {last.line} is not closed; add a }}")
        if self.root is None:
            self._refuse("the file has no block; start it with System {")
        return self.root

    def _finish(self) -> None:
        """Store the collected values in the entry."""
        if self.entry is not None:
            self.entry.text = " ".join(self.values)
        self.values = []

    def _word(self, token: str) -> None:
        self._finish()
        if len(token) > LONGEST:
            self._refuse(f"a word has {len(token)} characters, {token[:20]!r} ...; at most {LONGEST}")
        element = Element(token, self.line, file=self.source)
        if self.open:
            self.open[-1].children.append(element)
        elif self.root is None:
            self.root = element
        else:
            self._refuse(f"{token!r} appears after the end of {self.root.tag}; a file has one outer block")
        self.entry = element

    def _value(self, token: str) -> None:
        if self.entry is None:
            self._refuse(f"the value {token[:80]} has no keyword before it; add one")
        self.values.append(token)

    def _opened(self) -> None:
        if self.entry is None:
            self._refuse("a { has no block name before it; add one, as in MobileBase {")
        if self.values:
            self._refuse(f"{self.entry.tag} has the values {' '.join(self.values[:6])} before its {{; put them into the block")
        if len(self.open) >= DEEPEST:
            self._refuse(f"{self.entry.tag} is nested more than {DEEPEST} levels deep; a robot needs four")
        self.open.append(self.entry)
        self.entry = None

    def _closed(self) -> None:
        self._finish()
        if not self.open:
            self._refuse("a } closes nothing; delete it, or add the { that it belongs to")
        self.open.pop()
        self.entry = None

    def _refuse(self, text: str) -> NoReturn:
        raise ModelError(self.source, [Fault((), text, line=self.line)])
