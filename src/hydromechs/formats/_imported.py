"""Result of an import: the model, its actuators, and notes on everything that was ignored, assumed or repaired."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from hydromechs.errors import Fault, ModelError
from hydromechs.model import Model
from hydromechs.model.component import Component

from ._xml import Element

Kind = Literal["ignored", "assumed", "repaired"]
"""Kind of a note."""


MANY = frozenset(
    (
        *("link", "joint", "material", "visual", "collision", "model", "frame", "plugin", "include", "enable", "world"),
        *("inertial", "gazebo"),
    )
)
"""Elements that may occur repeatedly, or whose readers note duplicates themselves."""


@dataclass(frozen=True, slots=True)
class Note:
    """Difference between a file and the model read from it."""

    kind: Kind
    """Kind: ignored if the model cannot represent the content, assumed if the file omits it, repaired if its value is
    impossible."""
    element: str
    """Element of the file, such as "joint 'elbow'"."""
    value: str
    """Content of the file, such as "mimic of 'knee'"; empty if missing."""
    done: str
    """Action taken, for example "the joint moves independently"."""
    line: int | None = None
    """Line of the file, from 1."""
    file: str = ""
    """Name of the file if it is not the imported file."""

    def __str__(self) -> str:
        where = "" if self.line is None else f"line {self.line}: "
        value = f": {self.value}" if self.value else ""
        return f"{self.file + ', ' if self.file else ''}{where}{self.element}{value}; {self.kind}: {self.done}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """Robot read from a third-party file."""

    model: Model
    notes: tuple[Note, ...] = ()
    """Notes on everything that was ignored, assumed or repaired, in file order."""
    components: tuple[Component, ...] = ()
    """Actuators, springs and armature of the file."""
    format: str = ""
    """Format of the file: "URDF", "SDF", "MJCF" or "DynaMechs"."""
    source: str = ""
    """Path of the file."""
    joint_bodies: Mapping[str, str] = field(default_factory=dict)
    """Body carried by each joint of the file, keyed by joint name; in the model, a joint has the name of its body."""
    headlines: tuple[str, ...] = ()
    """Warnings to show first, for example that nothing moves or that included models are missing."""
    written: tuple[str, ...] = ()
    """Files written by a conversion: the model, and the plant if the source has actuators."""

    def summary(self) -> str:
        """Return the number of notes of each kind as text; empty without notes."""
        counts = {kind: sum(n.kind == kind for n in self.notes) for kind in ("ignored", "assumed", "repaired")}
        return ", ".join(f"{n} {kind}" for kind, n in counts.items() if n)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """Options of an import."""

    packages: Mapping[str, str] = field(default_factory=dict)
    """Folder of each package, keyed by the name in `package://name/` or `model://name/`."""
    folders: tuple[str, ...] = ()
    """Additional folders that are searched, and from which meshes and other files may be read."""
    base: Literal["auto", "free", "fixed"] = "auto"
    """Joint of the root if the file does not specify it; "auto" is "free" for a root with mass, and "fixed" otherwise."""
    placeholders: bool = False
    """True to ignore shapes whose meshes are missing, with a note; otherwise they are errors."""
    arguments: Mapping[str, str] = field(default_factory=dict)
    """Values of xacro arguments, keyed by name."""


UNLIMITED = "no thrust limits"
"""Value in the note on a thruster that has no limits in the file."""
MAX_FAULTS = 200
"""Maximum number of errors; an import with more errors stops."""


class Findings:
    """Collector of errors and notes of one import."""

    def __init__(self, source: str, options: ImportOptions | None = None) -> None:
        self.source, self.options = source, options or ImportOptions()
        self.faults: list[Fault] = []
        self.notes: list[Note] = []
        self.headlines: list[str] = []

    def fault(self, at: Element | None, text: str, value: object = None, remedy: str = "") -> None:
        """Add an error at an element: one sentence with name and value, and the remedy."""
        words = f"{text}; {remedy}" if remedy else text
        if at is not None and at.file and at.file != self.source:
            words = f"{at.file}: {words}"
        self.faults.append(Fault((), words, value, remedy=remedy, line=None if at is None else at.line))
        if len(self.faults) >= MAX_FAULTS:
            self.raise_faults()

    def note(self, kind: Kind, at: Element | None, element: str, value: str, done: str) -> None:
        """Add a note on an element, such as "joint 'elbow'", with the value in the file and the action taken; see `Note`."""
        file = "" if at is None or at.file == self.source else at.file
        self.notes.append(Note(kind, element, value, done, None if at is None else at.line, file))

    def left_out(self, at: Element, element: str, value: str, done: str = "a model cannot represent this content") -> None:
        """Add a note on content that the model cannot represent."""
        self.note("ignored", at, element, value, done)

    def unknown(self, parent: Element, known: Iterable[str], owner: str) -> None:
        """Add notes on unknown children of an element, and on duplicate children if only one is read."""
        known, seen = set(known), set()
        for child in parent.children:
            if child.tag not in known:
                self.left_out(child, owner, f"<{child.tag}>{_short(child)}")
            elif child.tag in seen and child.tag not in MANY:
                self.left_out(child, owner, f"a second <{child.tag}>{_short(child)}", "the first element is used")
            seen.add(child.tag)

    def unknown_attributes(self, element: Element, known: Iterable[str], owner: str) -> None:
        """Add notes on unknown attributes of an element."""
        for name in element.attributes.keys() - set(known):
            self.left_out(element, owner, f"{name}={element.attributes[name]!r} of <{element.tag}>")

    def numbers(self, text: str | None, n: int, at: Element, label: str, default: tuple[float, ...]) -> tuple[float, ...]:
        """Return n finite numbers from a text, or the default for None; an example of a label is "joint 'elbow': origin"."""
        if text is None:
            return default
        words = text.replace(",", " ").split() if n > 1 else [text]
        try:
            row = tuple(map(_float, words))
        except ValueError:
            row = ()
        must = "a finite number" if n == 1 else f"{n} finite numbers"
        if len(row) != n or not all(map(math.isfinite, row)):
            xacro = "use the suffix .xacro to expand the file" if "${" in text or "$(" in text else ""
            self.fault(at, f"{label} is {text[:80]!r}, must be {must}", text, xacro)
            return default
        return row

    def number(self, text: str | None, at: Element, label: str, default: float) -> float:
        """Return one finite number; see `numbers`."""
        return self.numbers(text, 1, at, label, (default,))[0]

    def child_number(self, parent: Element, tag: str, owner: str, default: float, label: str = "") -> float:
        """Return one finite number from a child of an element, or the default if the child is missing.

        The label defaults to the tag.
        """
        child = parent.first(tag)
        return default if child is None else self.number(child.text, child, f"{owner}: {label or tag}", default)

    def raise_faults(self) -> None:
        """Raise `ModelError` if there are errors."""
        if self.faults:
            ordered = sorted(self.faults, key=lambda fault: fault.line or 0)
            raise ModelError(self.source, {str(fault): fault for fault in ordered}.values())

    def finish(self, model: Model, **fields: Any) -> Imported:
        """Return the import with model and notes, in file order."""
        notes = sorted(self.notes, key=lambda note: note.line or 0)
        lines = [*self.headlines, *_still(model)]
        return Imported(model=model, notes=tuple(dict.fromkeys(notes)), source=self.source, headlines=tuple(lines), **fields)


def _still(model: Model) -> list[str]:
    mass = sum(body.inertia.mass for body in model.bodies)
    if model.nv:
        return []
    why = "no link has a mass; add <inertial>" if not mass else "all links are fixed; use base='free' for a free root"
    return [f"nothing moves: the model has 0 degrees of freedom and a mass of {mass:g} kg; {why}"]


def _float(text: str) -> float:
    """Parse a number as in C; Python would also accept `1_000` and digits of other scripts."""
    text = text.strip()
    if "_" in text or not text.isascii():
        raise ValueError(text)
    return float(text)


def _short(element: Element) -> str:
    parts = [f"{k}={v!r}" for k, v in element.attributes.items()]
    parts += [repr(element.text)] if element.text else []
    text = ", ".join(parts)
    return f" {text[:100]}{' ...' if len(text) > 100 else ''}" if text else ""
