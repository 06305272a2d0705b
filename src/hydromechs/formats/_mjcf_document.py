"""An MJCF document: expansion of includes and `<replicate>`, default classes, and a record of the parts that are read.

Every attribute that is read is marked. Unmarked attributes cannot be represented by the model, and are listed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from hydromechs import files

from ._imported import Findings, Kind
from ._robot_files import Missing, RobotFiles
from ._xml import Element, parse_xml, read_bytes

ACTUATORS = (
    "general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle", "adhesion", "dcmotor", "plugin",
)  # fmt: skip
"""Elements of <actuator>: shorthand forms of one element, which share default values."""
ORIENTATIONS = ("quat", "axisangle", "euler", "xyaxes", "zaxis")
"""Attributes of which each replaces all others of outer default classes."""
WHY = {
    "asset": "visual only",
    "camera": "models have no cameras; add a sensor on a frame",
    "composite": "not expanded; write the bodies in full",
    "contact": "contact pairs are part of a scenario",
    "custom": "custom numbers have no meaning in a model",
    "deformable": "deformable bodies are not supported",
    "equality": "loops of tendons and flexible bodies are not supported; the loop is open",
    "exclude": "contact pairs are part of a scenario",
    "flexcomp": "deformable bodies are not supported",
    "keyframe": "the initial state is the zero position of the file; set joint positions to change it",
    "light": "visual only",
    "material": "visual only",
    "attach": "not expanded; write the bodies in full",
    "sensor": "add sensors of hydromechs.sensors on frames",
    "size": "memory sizes of MuJoCo",
    "skin": "visual only",
    "statistic": "visual only",
    "tendon": "models have no tendons; the coupled joints move freely",
    "texture": "visual only",
    "visual": "visual only",
}  # fmt: skip
"""Consequence of ignoring an element, keyed by tag."""


class _Given(NamedTuple):
    value: str
    element: Element


class Item:
    """Element with its own attributes and those of its default class."""

    def __init__(self, document: Document, element: Element, given: dict[str, _Given]) -> None:
        self.document, self.element, self.given = document, element, given
        self.findings = document.findings
        document.see(element)

    def __contains__(self, name: str) -> bool:
        return name in self.given

    @property
    def tag(self) -> str:
        """Name of the element; empty without a name."""
        return self.element.tag

    @property
    def label(self) -> str:
        """Name in messages, such as "joint 'elbow'"."""
        name = self.element.attributes.get("name")
        return f"{self.tag} {name!r}" if name else f"<{self.tag}>"

    def fault(self, text: str, value: object = None, remedy: str = "", *, of: str = "") -> None:
        """Add an error of the item at the line of one of its attributes; see `Findings.fault`."""
        self.findings.fault(self.place(of), f"{self.label}: {text}", value, remedy)

    def note(self, kind: Kind, value: str, done: str, *, of: str = "") -> None:
        """Add a note on the item at the line of one of its attributes; see `Findings.note`."""
        self.findings.note(kind, self.place(of), self.label, value, done)

    def left_out(self, value: str, done: str = "a model cannot represent this element", *, of: str = "") -> None:
        """Add a note on content that the model cannot represent."""
        self.note("ignored", value, done, of=of)

    def text(self, name: str, default: str = "") -> str:
        """Return the text of an attribute, and mark the attribute as used."""
        self.document.asked.add((_group(self.tag), name))
        given = self.given.get(name)
        if given is None:
            return default
        self.document.use(given.element, name)
        return given.value.strip()

    def pass_over(self) -> None:
        """Mark all attributes of the element as used, because one note lists the whole element."""
        for name in self.element.attributes:
            self.document.use(self.element, name)

    def place(self, name: str) -> Element:
        """Return the element that contains an attribute, for its line; the element of the item if the attribute is missing."""
        given = self.given.get(name)
        return self.element if given is None else given.element

    def word(self, name: str, words: Iterable[str], default: str) -> str:
        """Return an attribute whose value must be one of several words."""
        value, words = self.text(name, default), tuple(words)
        if value not in words:
            self.fault(f"{name} is {value[:80]!r}, must be one of {', '.join(words)}", value, of=name)
            return default
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        """Return a Boolean attribute."""
        return self.word(name, ("true", "false"), "true" if default else "false") == "true"

    def row(self, name: str, least: int, most: int) -> tuple[float, ...] | None:
        """Return an attribute with `least` to `most` numbers; None if the attribute is missing or invalid."""
        text = self.text(name)
        if name not in self.given:
            return None
        n = len(text.replace(",", " ").split())
        before = len(self.findings.faults)
        row = self.findings.numbers(text, n if least <= n <= most else least, self.place(name), f"{self.label}: {name}", ())
        return row if len(self.findings.faults) == before else None

    def numbers(self, name: str, n: int, default: tuple[float, ...]) -> tuple[float, ...]:
        """Return an attribute with n numbers."""
        found = self.row(name, n, n)
        return default if found is None else found

    def number(self, name: str, default: float) -> float:
        """Return the first number of an attribute."""
        found = self.row(name, 1, 1)
        return default if found is None else found[0]


class Document:
    """Elements of a file and its included files."""

    def __init__(self, root: Element, findings: Findings, files: RobotFiles) -> None:
        self.root, self.findings, self.files = root, findings, files
        self.asked: set[tuple[str, str]] = set()
        self._used: dict[int, set[str]] = {}
        self._included: list[str] = []
        self.see(root)
        self.use(root, "model")
        self._include(root, 0)
        replicate(root, findings)
        self.classes: dict[str, dict[str, dict[str, _Given]]] = {"main": {}}
        for element in self.section("default"):
            self._default(element, None)

    # -- reading --------------------------------------------------------------------------------------------------------------

    def section(self, tag: str) -> list[Element]:
        """Return all sections with a name, and mark the sections as read; a file may have several."""
        found = self.root.all(tag)
        for element in found:
            self.see(element)
        return found

    def item(self, element: Element, childclass: str = "main", *, plain: bool = False) -> Item:
        """Return an element with its defaults, given the enclosing default class; elements in `plain` have no defaults."""
        own = {name: _Given(value, element) for name, value in element.attributes.items()}
        self.use(element, "name")
        if plain:
            return Item(self, element, own)
        name = element.attributes.get("class", childclass)
        self.use(element, "class")
        if name not in self.classes:
            known = ", ".join(self.classes)
            self.findings.fault(
                element, f"<{element.tag}>: there is no default class {name!r}; available: {known}", name, "add it in <default>"
            )
            name = "main"
        return Item(self, element, _overridden(self.classes[name].get(_group(element.tag), {}), own))

    def see(self, element: Element) -> None:
        """Mark an element as read, so that its unused attributes are listed individually."""
        self._used.setdefault(id(element), set())

    def use(self, element: Element, name: str) -> None:
        """Mark an attribute as used."""
        self._used.setdefault(id(element), set()).add(name)

    def _include(self, parent: Element, depth: int) -> None:
        out: list[Element] = []
        for child in parent.children:
            if child.tag != "include":
                self._include(child, depth)
                out.append(child)
                continue
            self.see(child)
            self.use(child, "file")
            written = child.attributes.get("file", "")
            try:
                path = str(self.files.find(written))
            except Missing as missing:
                self.findings.fault(child, f"<include>: {missing}", written)
                continue
            if path in self._included or depth > 20:
                self.findings.fault(child, f"<include>: {written!r} is included twice, or includes itself", written, "keep one")
                continue
            self._included.append(path)
            inner = parse_xml(read_bytes(path), path)
            self.see(inner)
            self.use(inner, "model")
            self._include(inner, depth + 1)
            out += inner.children
        parent.children = out

    def _default(self, element: Element, parent: str | None) -> None:
        """Read a default class and its nested classes, whose initial values are copies of its values."""
        self.see(element)
        self.use(element, "class")
        name = element.attributes.get("class", "main" if parent is None else "")
        if not name:
            self.findings.fault(element, "<default>: a nested class has no name", remedy="add class='...'")
            return
        if parent is None and name != "main":
            words = f"<default>: the outermost class is {name!r}, must be 'main'"
            self.findings.fault(element, words, name, "remove the class, or move it into another <default>")
            return
        table = self.classes.setdefault(name, {k: dict(v) for k, v in self.classes.get(parent or "", {}).items()})
        for child in element.children:
            if child.tag != "default":
                self.see(child)
                given = {key: _Given(value, child) for key, value in child.attributes.items()}
                table[_group(child.tag)] = _overridden(table.get(_group(child.tag), {}), given)
        for child in element.all("default"):
            self._default(child, name)

    # -- what is left ---------------------------------------------------------------------------------------------------------

    def list_the_rest(self) -> None:
        """Add notes on all unused elements and attributes; similar items share one note at the line of the first."""
        elements: dict[tuple[str, str, str], list[Element]] = {}
        attributes: dict[tuple[str, str, str], list[Element]] = {}
        waiting = [(self.root, self.root)]
        while waiting:
            element, parent = waiting.pop()
            used = self._used.get(id(element))
            if used is None:
                elements.setdefault((element.file, parent.tag, element.tag), []).append(element)
                continue
            for name in element.attributes:
                # a default that all elements override, or that no element uses, is not ignored
                if name not in used and not (parent.tag == "default" and (_group(element.tag), name) in self.asked):
                    attributes.setdefault((element.file, element.tag, name), []).append(element)
            waiting += [(child, element) for child in reversed(element.children)]
        for (_, parent_tag, tag), found in elements.items():
            why = WHY.get(tag, WHY.get(parent_tag, "a model cannot represent this element"))
            self.findings.left_out(found[0], f"<{tag}> in <{parent_tag}>", _counted(found), why)
        for (_, tag, name), found in attributes.items():
            found.sort(key=lambda e: e.line)
            values = list(dict.fromkeys(e.attributes[name] for e in found))
            shown = ", ".join(v[:40] for v in values[:3]) + (", ..." if len(values) > 3 else "")
            times = f" ({len(found)} times)" if len(found) > 1 else ""
            self.findings.left_out(found[0], f"<{tag}>", f"{name}={shown!r}{times}")


def free_name(wanted: str, taken: set[str], joint: str) -> str:
    """Return an unused name, with a numeric suffix after `joint` if necessary, and reserve the name."""
    name, k = wanted, 1
    while name in taken:
        k += 1
        name = f"{wanted}{joint}{k}"
    taken.add(name)
    return name


def _counted(found: list[Element]) -> str:
    """Return the number of occurrences of an element, and its contents."""
    inside = Counter(child.tag for element in found for child in element.children)
    names = [e.attributes["name"] for e in found if "name" in e.attributes]
    parts = [f"{len(found)} times"] if len(found) > 1 else []
    parts += [", ".join(map(repr, names[:4])) + (", ..." if len(names) > 4 else "")] if names else []
    parts += ["with " + ", ".join(f"{n} {tag}" for tag, n in inside.items())] if inside else []
    return "; ".join(parts)


def _overridden(outer: dict[str, _Given], inner: dict[str, _Given]) -> dict[str, _Given]:
    """Return the attributes of a default class with those of an inner class or an element."""
    hidden = ORIENTATIONS if any(name in inner for name in ORIENTATIONS) else ()
    return {name: given for name, given in outer.items() if name not in hidden} | inner


def _group(tag: str) -> str:
    return "actuator" if tag in ACTUATORS else tag


REFERENCES = ("joint", "jointinparent", "site", "refsite", "body", "cranksite", "slidersite")
"""Attributes of an actuator that refer to other elements."""


def replicate(root: Element, findings: Findings) -> None:
    """Replace the contents of every `<replicate>` by copies in elements `<replica>`, in order; also copy actuators."""
    _Copies(findings).expand(root)


class _Copies:
    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.names: dict[str, list[str]] = {}
        """Names of the copies of each name."""
        self.was: dict[str, str] = {}
        """Name in the file of the original of each copy."""

    def expand(self, root: Element) -> None:
        self._inside(root)
        for section in root.all("actuator"):
            section.children = [copy for child in section.children for copy in self._actuators(child)]

    def _inside(self, parent: Element) -> None:
        for child in parent.children:
            self._inside(child)
            if child.tag == "replicate":
                self._fill(child)

    def _fill(self, element: Element) -> None:
        words = element.attributes.get("count", "")
        before = len(self.findings.faults)
        count = self.findings.number(words, element, "<replicate>: count", 0.0)
        size = sum(1 for _ in element.walk())
        if len(self.findings.faults) == before and not (count >= 1.0 and count == int(count)):
            self.findings.fault(element, f"<replicate>: count is {words[:20]!r}, must be an integer from 1", words)
        else:
            try:
                files.count("values", 4 * size * int(count))
            except files.UnreadableFile as error:
                self.findings.fault(element, f"<replicate>: {words[:20]} copies: {error}", words, "reduce the count")
        if len(self.findings.faults) > before:
            element.children = []
            return
        n = int(count)
        separator, width = element.attributes.get("sep", ""), len(str(n))
        suffixes = [f"{separator}{k:0{width}d}" for k in range(n)]
        for name in dict.fromkeys(e.attributes["name"] for c in element.children for e in c.walk() if "name" in e.attributes):
            known = self.was.get(name, name)
            inner = self.names.get(known, [known])
            if name == inner[0]:  # other names of a nested one follow
                self.names[known] = [f"{own}{suffix}" for suffix in suffixes for own in inner]
                self.was |= dict.fromkeys(self.names[known], known)
        element.children = [
            Element("replica", element.line, {}, [_copy(c, suffix) for c in element.children], file=element.file)
            for suffix in suffixes
        ]

    def _actuators(self, element: Element) -> list[Element]:
        """Return the copies of an actuator, one per copy of its target; the actuator itself if the target is not copied."""
        found = [key for key in REFERENCES if element.attributes.get(key) in self.names]
        if not found:
            return [element]
        old = element.attributes[found[0]]
        out = []
        for k, new in enumerate(self.names[old]):
            suffix = new.removeprefix(old)
            copy = replace(element, attributes=dict(element.attributes), children=list(element.children))
            for key in found:
                names = self.names[element.attributes[key]]
                copy.attributes[key] = names[k] if k < len(names) else element.attributes[key]
            if "name" in copy.attributes:
                copy.attributes["name"] += suffix
            out.append(copy)
        return out


def _copy(element: Element, suffix: str) -> Element:
    attributes = dict(element.attributes)
    if "name" in attributes:
        attributes["name"] += suffix
    return replace(element, attributes=attributes, children=[_copy(child, suffix) for child in element.children])
