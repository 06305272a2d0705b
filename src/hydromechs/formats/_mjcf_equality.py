"""Conversion of MJCF equalities to loops: `connect` to a ball joint, `weld` to a rigid joint, `joint` to a coupling.

Equalities in MuJoCo are soft; loops are rigid. Ends that the file does not specify follow from its zero position.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from hydromechs.model import Coupling, Loop
from hydromechs.spatial import quaternion_matrix

from ._mjcf_document import Document, Item, free_name
from ._pose import Pose

KINDS = ("connect", "weld", "joint")
STATIC = "world"
"""Name of the world in a file."""


class Place(NamedTuple):
    """Body or site at the zero position of the file."""

    body: str
    """Name of the body in the model."""
    inner: Pose
    """Frame in the file, relative to the body of the model."""
    world: Pose
    """Frame of the model body in the world."""


class Equalities:
    """Reader of all equalities of a document.

    `bodies` and `sites` are keyed by name in the file. `joints` contains the names in the model and the zero positions of
    joints with one coordinate, keyed by name in the file. `add` adds a frame to a body of the model, and returns the frame
    name.
    """

    def __init__(
        self,
        document: Document,
        bodies: Mapping[str, Place],
        sites: Mapping[str, Place],
        joints: Mapping[str, tuple[str, float]],
        add: Callable[[str, str, Pose], str],
    ) -> None:
        self.document, self.bodies, self.sites, self.joints, self.add = document, bodies, sites, joints, add
        self.taken: set[str] = set()

    def read(self) -> list[Loop | Coupling]:
        """Return the loops of the model."""
        found = [e for section in self.document.section("equality") for e in section.children if e.tag in KINDS]
        out: list[Loop | Coupling] = []
        for element in found:
            item = self.document.item(element, plain=True)
            if not item.flag("active", True):
                item.left_out("active='false'", "the loop is open")
                item.pass_over()
                continue
            for name in ("solref", "solimp"):
                if item.text(name):
                    item.left_out(f"{name}={item.text(name)!r}", "loops are rigid")
            made = self._coupling(item) if element.tag == "joint" else self._loop(item)
            out += [] if made is None else [made]
        return out

    def _name(self, item: Item, ends: tuple[str, str]) -> str:
        wanted = item.element.attributes.get("name") or " to ".join(ends)
        return free_name(wanted, self.taken, " ")

    def _end(self, item: Item, key: str, known: Mapping[str, Place], default: str = "") -> Place | None:
        name = item.text(key, default)
        if name not in known:
            what = "site" if key.startswith("site") else "body"
            remedy = f"use the name of a {what} in the file"
            item.fault(f"{key} is {name!r}, but this {what} does not exist", name, remedy, of=key)
            return None
        return known[name]

    def _loop(self, item: Item) -> Loop | None:
        by_sites = "site1" in item
        keys, known = (("site1", "site2"), self.sites) if by_sites else (("body1", "body2"), self.bodies)
        a, b = self._end(item, keys[0], known), self._end(item, keys[1], known, "" if by_sites else STATIC)
        if a is None or b is None:
            return None
        name = self._name(item, (item.text(keys[0]), item.text(keys[1], STATIC)))
        on_a, on_b = a.inner, b.inner
        if not by_sites:
            apart = (a.world @ on_a).inverse @ b.world @ on_b  # at the zero position
            if item.tag == "connect":
                here = Pose(np.array(item.numbers("anchor", 3, (0.0, 0.0, 0.0))), np.eye(3))
                on_a, on_b = on_a @ here, on_b @ apart.inverse @ here
            else:
                here = Pose(np.array(item.numbers("anchor", 3, (0.0, 0.0, 0.0))), np.eye(3))
                x = np.array(item.numbers("relpose", 7, (0.0,) * 7))
                turned = x[3:].any()  # with a quaternion of 0, the zero position counts
                apart = Pose(x[:3], quaternion_matrix(x[3:] / np.linalg.norm(x[3:]))) if turned else apart @ here
                on_a, on_b = on_a @ apart, on_b @ here
                if item.number("torquescale", 1.0) != 1.0:
                    item.left_out(f"torquescale {item.number('torquescale', 1.0):g}", "the loop is rigid in all directions")
        frames = [self.add(x.body, f"{name}.{k}", pose) for k, x, pose in ((1, a, on_a), (2, b, on_b))]
        return Loop(name=name, holder=frames[0], held=frames[1], free=("rx", "ry", "rz") if item.tag == "connect" else ())

    def _coupling(self, item: Item) -> Coupling | None:
        names = item.text("joint1"), item.text("joint2")
        row = item.row("polycoef", 1, 5) or (0.0, 1.0, 0.0, 0.0, 0.0)
        for key, name in zip(("joint1", "joint2"), names, strict=True):
            if name and name not in self.joints:
                words = f"{key} is {name!r}, but this joint does not exist or has several coordinates"
                item.fault(words, name, "use the name of a hinge or slide joint", of=key)
                return None
        if not names[0]:
            item.fault(f"joint1 is missing, but joint2 is {names[1]!r}", "", "set joint1 to the dependent joint")
            return None
        if not names[1]:
            item.left_out("a joint fixed by an equality", "the joint moves freely; delete the joint to fix it")
            return None
        (joint, zero), (of, zero_of) = self.joints[names[0]], self.joints[names[1]]
        # y − y_0 = Σ a_k (x − x_0)^k
        shifted = np.polynomial.Polynomial(row)(np.polynomial.Polynomial([-zero_of, 1.0]))
        c = shifted.coef + np.array([zero] + [0.0] * (len(shifted.coef) - 1))
        return Coupling(name=self._name(item, names), joint=joint, of=of, coefficients=tuple(map(float, np.trim_zeros(c, "b"))))
