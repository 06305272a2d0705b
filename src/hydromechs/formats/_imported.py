"""Result of an import: the model, its actuators, and notes on everything that was ignored, assumed or repaired."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from hydromechs.errors import Fault, ModelError
from hydromechs.model import Model

from ._xml import Element

if TYPE_CHECKING:
    from hydromechs.model.component import Component

Kind = Literal["ignored", "assumed", "repaired"]
"""Kinds of notes."""


MANY = frozenset(
    (
        *("link", "joint", "material", "visual", "collision", "model", "frame", "plugin", "include", "enable", "world"),
        *("inertial", "gazebo"),
    )
)
"""Elements that may stand several times in one, or whose readers say themselves that the first one counts."""


@dataclass(frozen=True, slots=True)
class Note:
    """A difference between a file and the model that was read from it."""

    kind: Kind
    """Ignored: the model does not have it. Assumed: the file does not specify it. Repaired: the file's value is impossible."""
    element: str
    """What it is about, as "joint 'elbow'"."""
    value: str
    """What the file has there, as "mimic of 'knee'"; empty where it has nothing."""
    done: str
    """The action taken, for example "the joint moves independently"."""
    line: int | None = None
    """Line of the file, from 1."""
    file: str = ""
    """The file, where it is not the one that was asked for."""

    def __str__(self) -> str:
        where = "" if self.line is None else f"line {self.line}: "
        value = f": {self.value}" if self.value else ""
        return f"{self.file + ', ' if self.file else ''}{where}{self.element}{value}; {self.kind}: {self.done}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A robot that was read from a file of another program."""

    model: Model
    """The mechanism."""
    notes: tuple[Note, ...] = ()
    """Everything that was ignored, assumed or repaired, in the order of the file."""
    components: tuple[Component, ...] = ()
    """Actuators that the file has."""
    format: str = ""
    """Format of the file: "URDF", "SDF", "MJCF", "DynaMechs"."""
    source: str = ""
    """The file."""
    joint_bodies: Mapping[str, str] = field(default_factory=dict)
    """Joints of the file by name, and the body that each carries: the name of the joint here."""
    headlines: tuple[str, ...] = ()
    """Warnings to show first, for example that nothing moves or that included models are missing."""
    written: tuple[str, ...] = ()
    """Files that a conversion has written: the model, and the plant if the source has actuators."""

    def summary(self) -> str:
        """How many notes there are of each kind, in words; empty where there is none."""
        counts = {kind: sum(n.kind == kind for n in self.notes) for kind in ("ignored", "assumed", "repaired")}
        return ", ".join(f"{n} {kind}" for kind, n in counts.items() if n)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """What a user says about a file besides the file."""

    packages: Mapping[str, str] = field(default_factory=dict)
    """Folder of each package that `package://name/` or `model://name/` stands for."""
    folders: tuple[str, ...] = ()
    """Additional folders from which meshes and further files may be read; they are also searched."""
    base: Literal["auto", "free", "fixed"] = "auto"
    """Motion of the root if the file does not specify it; "auto": free if it has mass."""
    placeholders: bool = False
    """True to ignore shapes whose meshes are missing, with a note; otherwise they are errors."""
    arguments: Mapping[str, str] = field(default_factory=dict)
    """Values of xacro arguments."""


class Findings:
    """Collects the faults and the notes of one file on the way to its model."""

    def __init__(self, source: str, options: ImportOptions | None = None) -> None:
        self.source, self.options = source, options or ImportOptions()
        self.faults: list[Fault] = []
        self.notes: list[Note] = []
        self.headlines: list[str] = []

    def fault(self, at: Element | None, text: str, value: object = None, remedy: str = "") -> None:
        """Add an error at an element: what is wrong in one sentence with the names and the value, and what to do."""
        words = f"{text}; {remedy}" if remedy else text
        if at is not None and at.file and at.file != self.source:
            words = f"{at.file}: {words}"
        self.faults.append(Fault((), words, value, remedy=remedy, line=None if at is None else at.line))

    def note(self, kind: Kind, at: Element | None, element: str, value: str, done: str) -> None:
        """Add a note on an element, named as "joint 'elbow'", with the value of the file and what was done; see `Note`."""
        file = "" if at is None or at.file == self.source else at.file
        self.notes.append(Note(kind, element, value, done, None if at is None else at.line, file))

    def left_out(self, at: Element, element: str, value: str, done: str = "not represented here") -> None:
        """Note something that the model does not have."""
        self.note("ignored", at, element, value, done)

    def unknown(self, parent: Element, known: Iterable[str], owner: str) -> None:
        """Note the children of an element that a reader does not know, and a second one of those of which it reads one."""
        known, seen = set(known), set()
        for child in parent.children:
            if child.tag not in known:
                self.left_out(child, owner, f"<{child.tag}>{_short(child)}")
            elif child.tag in seen and child.tag not in MANY:
                self.left_out(child, owner, f"a second <{child.tag}>{_short(child)}", "the first one counts")
            seen.add(child.tag)

    def unknown_attributes(self, element: Element, known: Iterable[str], owner: str) -> None:
        """Note the attributes of an element that a reader does not know."""
        for name in element.attributes.keys() - set(known):
            self.left_out(element, owner, f"{name}={element.attributes[name]!r} of <{element.tag}>")

    def numbers(self, text: str | None, n: int, at: Element, label: str, default: tuple[float, ...]) -> tuple[float, ...]:
        """Return a row of n finite numbers in a text, or the default if it is None; an error if it is no such row.

        The label in messages is, for example, "joint 'elbow': origin xyz".
        """
        if text is None:
            return default
        words = text.replace(",", " ").split() if n > 1 else [text]
        try:
            row = tuple(map(_float, words))
        except ValueError:
            row = ()
        must = "a finite number" if n == 1 else f"{n} finite numbers"
        if len(row) != n or not all(map(math.isfinite, row)):
            xacro = "name the file .xacro to expand it" if "${" in text or "$(" in text else ""
            self.fault(at, f"{label} is {text[:80]!r}, must be {must}", text, xacro)
            return default
        return row

    def number(self, text: str | None, at: Element, label: str, default: float) -> float:
        """One finite number; see `numbers`."""
        return self.numbers(text, 1, at, label, (default,))[0]

    def child_number(self, parent: Element, tag: str, owner: str, default: float, label: str = "") -> float:
        """One finite number in a child of an element, or the default if there is none; the label defaults to the tag."""
        child = parent.first(tag)
        return default if child is None else self.number(child.text, child, f"{owner}: {label or tag}", default)

    def raise_faults(self) -> None:
        """Raise `ModelError` where there are faults."""
        if self.faults:
            ordered = sorted(self.faults, key=lambda fault: fault.line or 0)
            raise ModelError(self.source, {str(fault): fault for fault in ordered}.values())

    def finish(self, model: Model, **fields: Any) -> Imported:
        """What was imported: a model and the notes, in the order of the file."""
        notes = sorted(self.notes, key=lambda note: note.line or 0)
        lines = [*self.headlines, *_still(model)]
        return Imported(model=model, notes=tuple(dict.fromkeys(notes)), source=self.source, headlines=tuple(lines), **fields)


def _still(model: Model) -> list[str]:
    """Headline for a model in which nothing moves."""
    mass = sum(body.inertia.mass for body in model.bodies)
    if model.nv:
        return []
    why = "no link has a mass; add <inertial>" if not mass else "all links are fixed; use base='free' for a free root"
    return [f"nothing moves: the model has 0 degrees of freedom and {mass:g} kg; {why}"]


def _float(text: str) -> float:
    """A number as C reads one; Python would take `1_000` and other scripts' digits, too."""
    text = text.strip()
    if "_" in text or not text.isascii():
        raise ValueError(text)
    return float(text)


def _short(element: Element) -> str:
    """What an element has, cut to a line."""
    parts = [f"{k}={v!r}" for k, v in element.attributes.items()]
    parts += [repr(element.text)] if element.text else []
    text = ", ".join(parts)
    return f" {text[:100]}{' ...' if len(text) > 100 else ''}" if text else ""
