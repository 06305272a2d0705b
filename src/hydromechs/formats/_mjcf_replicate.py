"""Expand `<replicate>` of MJCF: copies of its contents, with suffixed names."""

from __future__ import annotations

from dataclasses import replace

from ._imported import Findings
from ._xml import MOST_ELEMENTS, Element

REFERENCES = ("joint", "jointinparent", "site", "refsite", "body", "cranksite", "slidersite")
"""Elements that an actuator may name."""


def replicate(root: Element, findings: Findings) -> None:
    """Put copies into every `<replicate>` of a document as elements `<replica>`, in order.

    Actuators of copies are also copied.
    """
    _Copies(findings).expand(root)


class _Copies:
    """Expands one document."""

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.made = 0
        self.names: dict[str, list[str]] = {}
        """Names of the copies of a name."""
        self.was: dict[str, str] = {}
        """Return the name of a copy's original in the file."""

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
        elif self.made + count * size > MOST_ELEMENTS:
            text = f"<replicate>: {words[:20]} copies make more than {MOST_ELEMENTS} elements"
            self.findings.fault(element, text, words, "reduce the count")
        if len(self.findings.faults) > before:
            element.children = []
            return
        n = int(count)
        self.made += n * size
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
        """Return the copies of an actuator, one for each copy of its target; itself if the target is not copied."""
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
    """Return an element and its descendants with suffixed names."""
    attributes = dict(element.attributes)
    if "name" in attributes:
        attributes["name"] += suffix
    return replace(element, attributes=attributes, children=[_copy(child, suffix) for child in element.children])
