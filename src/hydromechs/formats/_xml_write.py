"""Writer of XML: indented elements, shortest exact numbers, and a first comment that lists features that are lost."""

from __future__ import annotations

import abc
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from hydromechs.model import Body, Hydro, Mdh, Model, Origin, element_word

from ._pose import Pose


@dataclass(slots=True)
class Tag:
    """An XML element."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Tag] = field(default_factory=list)
    text: str = ""
    """Text of an element without children."""

    def add(self, tag: str, text: str = "", /, **attributes: str) -> Tag:
        """Add a child element and return it; a trailing underscore of attribute names is removed."""
        child = Tag(tag, {k.rstrip("_"): v for k, v in attributes.items()}, text=text)
        self.children.append(child)
        return child


def numbers(values: Iterable[Any]) -> str:
    """Return numbers in a row, as the shortest texts that reproduce them."""
    return " ".join(repr(float(x) + 0.0) for x in values)


class RobotText(NamedTuple):
    """Model as text in a third-party format."""

    text: str
    lost: tuple[str, ...]
    """Features that the file cannot store, one per line; the first comment of the file repeats these lines."""


NED_IN_ENU = Origin(rpy=(math.pi, 0.0, math.pi / 2.0))
"""Rotation from NED to ENU axes."""


class RobotWriter(abc.ABC):
    """Base class of writers of third-party formats."""

    loops: ClassVar[bool] = False
    """True if the writer supports loops."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.lost: list[str] = [] if self.loops else [f"loop {x.name!r}: the loop is open in the file" for x in model.loops]
        """Features that the file cannot store, one per line."""

    @abc.abstractmethod
    def text(self, notes: Iterable[str]) -> RobotText:
        """Return the text of the file, with further notes in its first comment."""

    def without_water(self, body: Body) -> None:
        """Record that the hydrodynamics of a body is lost."""
        h = body.hydro
        if isinstance(h, Hydro):
            elements = ", ".join(map(element_word, (*h.added_mass, *h.drag))) or "no elements"
            what = f"volume {h.volume:g} m^3, centre of buoyancy {h.buoyancy_center}, {elements}"
            self.lost.append(f"body {body.name!r}: hydrodynamics ({what})")
        elif h is not None:
            self.lost.append(f"body {body.name!r}: hydrodynamics ({type(h).__name__})")


def file_text(model: Model, root: Tag, form: str, lost: Iterable[str], notes: Iterable[str]) -> RobotText:
    """Return the text of a file, with lost features and notes in the first comment. `form` is, for example, "a URDF"."""
    lost = tuple(dict.fromkeys(lost))
    comment = [
        f"{model.name}, written by HydroMechs",
        *([model.description.strip()] if model.description.strip() else []),
        f"What {form} cannot store:",
        *(f"  {line}" for line in lost),
        *notes,
    ]
    shown = (one_line(line).replace("--", "- -").rstrip("-") for line in comment)
    lines = ['<?xml version="1.0"?>', "<!--", *(f"  {line}" for line in shown), "-->"]
    _write(root, lines)
    return RobotText("\n".join(lines) + "\n", lost)


def one_line(text: str) -> str:
    """Return the text on one line, for a comment."""
    return "".join(c if c.isprintable() else " " for c in text)


def _write(root: Tag, lines: list[str]) -> None:
    waiting: list[tuple[int, Tag | str]] = [(0, root)]
    while waiting:
        level, tag = waiting.pop()
        indent = "  " * level
        if isinstance(tag, str):
            lines.append(f"{indent}</{tag}>")
            continue
        start = f"{indent}<{tag.name}" + "".join(f" {k}={quoteattr(v)}" for k, v in tag.attributes.items())
        if tag.children:
            lines.append(start + ">")
            waiting.append((level, tag.name))
            waiting += ((level + 1, child) for child in reversed(tag.children))
        else:
            lines.append(f"{start}>{escape(tag.text)}</{tag.name}>" if tag.text else start + "/>")


def lost_details(model: Model, *, shape_colors: bool) -> list[str]:
    """Return features that no XML format can store: sources of numbers and details of visuals."""
    out = ["the sources of the numbers"] if model.sources else []
    for body in model.bodies:
        styles = sorted({shape.style for shape in body.shapes if shape.style != "hull"})
        what = [f"styles of the shapes ({', '.join(styles)}), and the colours of these styles"] if styles else []
        if any(getattr(shape.shape, "rounding", 0.0) or getattr(shape.shape, "bore", 0.0) for shape in body.shapes):
            what.append("rounding and bores of the shapes")
        if not shape_colors and any(shape.color is not None for shape in body.shapes if not shape.appearance):
            what.append("colours of the shapes")
        out += [f"body {body.name!r}: {'; '.join(what)}"] if what else []
    return out


def plain_origin(placement: Origin | Mdh) -> Origin:
    """Return a placement as position and angles."""
    if isinstance(placement, Origin):
        return placement
    p, R = np.zeros(3), np.eye(3)
    for axis, distance, angle in (
        (2, placement.branch_d, placement.branch_theta),
        (0, placement.a, placement.alpha),
        (2, placement.d, placement.theta),
    ):
        p = p + R @ (distance * np.eye(3)[axis])
        turn = [0.0, 0.0, 0.0]
        turn[axis] = angle
        R = R @ Origin(rpy=(turn[0], turn[1], turn[2])).R
    return Pose(p, R).origin


def origin_after(first: Origin, second: Origin) -> Origin:
    """Return the pose of frame `second` relative to frame `first`."""
    return Pose(np.array(first.xyz) + first.R @ np.array(second.xyz), first.R @ second.R).origin
