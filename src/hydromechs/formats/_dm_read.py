"""Reader of DynaMechs `.dm` files, to the extent that the papers describe the format.

The papers (McMillan 1994, chapter 8; McMillan, Orin and McGhee 1996, section 5) name the objects and their data, and state
that one file contains all objects in the order of the hierarchy. The papers do not print a file.

A `System` contains one reference member (`FixedBase` or `MobileBase`) and any number of `SerialChain` and `Tree`. Links are
`RevoluteLink`, `PrismaticLink` or `BallnSocketLink`. Data have the names in the printed classes. The braces are an
assumption of this reader. See docs/your_robot.md.

The assumed syntax is words followed by values, and blocks in braces:

    System {
        MobileBase { mass 120   cgPos 0 0 0.05 }   # a comment to the end of the line; // also starts one
    }

A value is a number, or a text in double quotes; any other word starts the next entry or block. Because files are untrusted,
the number of words and the nesting depth are limited.

Conventions of the papers: inertia and added mass are about the origin of the body frame, and 6-vectors have the angular part
first. Orientations of bodies are Z-Y-X Euler angles, the inertial z axis points down, and a drag cylinder starts at the
origin.
"""

import re
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from hydromechs.errors import Fault, ModelError
from hydromechs.files import printable
from hydromechs.geometry import Cylinder
from hydromechs.model import Body, Hydro, Mdh, Origin, World, added_mass, drag, joints
from hydromechs.model.joints import Joint
from hydromechs.spatial import matrix_from_rpy, quaternion_from_matrix
from hydromechs.values import nearest, plain

from ._imported import Findings, Imported
from ._robot_files import RobotFiles
from ._robot_parts import Link, assembled, inertia_of, tensor_of, units_note
from ._xml import Element

FIRST = "System"
"""First word of a file."""
MOST_TOKENS = 1_000_000
"""Maximum number of words, numbers and braces in a file."""
DEEPEST = 20
"""Maximum nesting depth of braces; the hierarchy in the papers has four levels."""
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

    Raises `ModelError` with the line if the text cannot be read.
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
    """Parser that builds the blocks of one text."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.line = 1
        self.root: Element | None = None
        self.open: list[Element] = []
        self.entry: Element | None = None
        """Entry that receives the next value."""
        self.values: list[str] = []
        """Values of the entry so far."""

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
        if self.entry is not None:
            self.entry.text = printable(" ".join(self.values))
        self.values = []

    def _word(self, token: str) -> None:
        self._finish()
        if len(token) > LONGEST:
            self._refuse(f"a word has {len(token)} characters, {token[:20]!r} ...; shorten it to at most {LONGEST}")
        element = Element(token, self.line, file=self.source)
        if self.open:
            self.open[-1].children.append(element)
        elif self.root is None:
            self.root = element
        else:
            self._refuse(f"{token!r} appears after the end of {self.root.tag}; keep one outer block")
        self.entry = element

    def _value(self, token: str) -> None:
        if self.entry is None:
            self._refuse(f"the value {token[:80]} has no keyword before it; add one")
        self.values.append(token)

    def _opened(self) -> None:
        if self.entry is None:
            self._refuse("a { has no block name before it; add a name, as in MobileBase {")
        if self.values:
            self._refuse(
                f"{self.entry.tag} has the values {' '.join(self.values[:6])} before the {{; put these values into the block"
            )
        if len(self.open) >= DEEPEST:
            self._refuse(f"{self.entry.tag} is nested more than {DEEPEST} levels deep; use at most four levels")
        self.open.append(self.entry)
        self.entry = None

    def _closed(self) -> None:
        self._finish()
        if not self.open:
            self._refuse("a } has no matching {; delete the }, or add the {")
        self.open.pop()
        self.entry = None

    def _refuse(self, text: str) -> NoReturn:
        raise ModelError(self.source, [Fault((), text, line=self.line)])


RIGID_BODY = {
    "mass": 1,
    "cgPos": 3,
    "Ibar": 9,
    "axis": 1,
    "Cd": 1,
    "length": 1,
    "radius": 1,
    "dispFluidVol": 1,
    "cbPos": 3,
    "AddedMass": 36,
}
"""Data of a rigid body, with the number of values per entry (McMillan 1994, Fig. 27)."""
DERIVED = ("h", "SpatialInertia", "HydrodynamicInertia", "dispFluidMass", "acc", "refAcc", "jointAcc")
"""Derived data and results, which are ignored."""
BASE = {"pos": 3, "pose": 3}
"""Data of a reference member, with the number of values per entry (Fig. 29)."""
MDH = {"aMDH": 1, "alphaMDH": 1, "dMDH": 1, "thetaMDH": 1, "d_branch": 1, "theta_branch": 1, "jointPos": 1, "jointVel": 1}
"""Data of a link with one coordinate (Fig. 30; 1996, Fig. 7) and its state (Fig. 33), with the number of values per entry."""
BALL = {"q": 3, "p": 3, "jointPos": 3, "jointVel": 3}
"""Data of a link on a ball joint (1996, Fig. 7) and its state, with the number of values per entry."""
BASES = ("FixedBase", "MobileBase")
STRUCTURES = ("SerialChain", "Tree")
LINKS = ("RevoluteLink", "PrismaticLink", "BallnSocketLink")
ZERO = (0.0, 0.0, 0.0)
ANGULAR_FIRST = [3, 4, 5, 0, 1, 2]
"""Indices that reorder the 6-vectors of the papers to linear first."""


def read_dm(root: Element, findings: Findings, files: RobotFiles) -> Imported:
    """Return the robot of a `.dm` file with the root block `System`. Such a file does not refer to other files."""
    return _Dm(root, findings).imported()


class _Dm:
    def __init__(self, root: Element, findings: Findings) -> None:
        self.root, self.findings = root, findings
        self.links: list[Link] = []
        self.at: dict[str, Element] = {}
        """Element of each name, for line numbers."""

    def imported(self) -> Imported:
        """Return the import; raise `ModelError` if the file has errors."""
        f, root = self.findings, self.root
        bases = [c for c in root.children if _kind(c, BASES)]
        if len(bases) != 1:
            at = bases[1] if bases else root
            f.fault(at, f"{root.tag} has {len(bases)} reference members; keep exactly one, {' or '.join(BASES)}", len(bases))
            f.raise_faults()
        base = self._base(bases[0])
        counts = dict.fromkeys(STRUCTURES, 0)
        for child in root.children:
            kind = _kind(child, STRUCTURES)
            if kind:
                counts[kind] += 1
                self._structure(child, kind, base, f"{'chain' if kind == 'SerialChain' else 'tree'}{counts[kind]}")
            elif not _kind(child, (*BASES, "name")):
                self._unknown(child, "System", (*BASES, *STRUCTURES))
        f.raise_faults()
        title = self._name(root, "")
        what = "the file does not specify axes, gravity and water"
        world = World(axes="NED")
        done = f"z down as in the papers, {plain(world.gravity)} m/s², {plain(world.water_density)} kg/m³"
        f.note("assumed", root, "System", what, done)
        model = assembled(f, self.links, at=root, name=title or "system", world=world)
        units_note(f, model, root)
        return f.finish(model, format="DynaMechs", joint_bodies={k.body.name: k.body.name for k in self.links[1:]})

    # -- bodies ---------------------------------------------------------------------------------------------------------

    def _base(self, element: Element) -> str:
        name = self._name(element, "base")
        mobile = _kind(element, BASES) == "MobileBase"
        owner = f"{element.tag} {name!r}"
        known = RIGID_BODY | BASE | {"vel": 6} if mobile else BASE
        row = self._entries(element, known, owner)
        xyz, rpy = row.get("pos", ZERO), row.get("pose", ZERO)
        if not mobile:
            self._enter(Body(name=name, joint=joints.Fixed(placement=Origin(xyz, rpy))), element)  # type: ignore[arg-type]
            return name
        velocity = tuple(row.get("vel", (0.0,) * 6)[k] for k in ANGULAR_FIRST)  # converted to linear first
        joint = joints.Free(position=xyz, orientation=_quaternion(rpy), velocity=velocity)  # type: ignore[arg-type]
        self._enter(self._body(element, owner, name, None, joint, row), element)
        return name

    def _structure(self, element: Element, kind: str, base: str, label: str) -> None:
        f = self.findings
        names: list[str] = [base]
        for child in element.children:
            link = _kind(child, LINKS)
            if not link:
                if not words_match(child.tag, "name"):
                    self._unknown(child, label, LINKS)
                continue
            number = len(names)
            name = self._name(child, f"{label}_link{number}")
            owner = f"{child.tag} {name!r}"
            known = RIGID_BODY | (BALL if link == "BallnSocketLink" else MDH) | ({"predecessor": 1} if kind == "Tree" else {})
            row = self._entries(child, known, owner)
            before = row.get("predecessor", (number - 1.0,))[0]
            if before not in range(number):
                words = f"{owner}: predecessor is {plain(before)}, must be an integer from 0 (the reference member) to"
                f.fault(child, f"{words} {number - 1}: list each link after its predecessor", before)
                before = 0.0
            joint = self._ball(child, owner, row) if link == "BallnSocketLink" else self._one(child, owner, link, row)
            self._enter(self._body(child, owner, name, names[int(before)], joint, row), child)
            names.append(name)
        if len(names) == 1:
            f.left_out(element, label, "no links", "nothing to move")

    def _enter(self, body: Body, element: Element) -> None:
        if body.name in self.at:
            first = self.at[body.name].line
            words = f"the name {body.name!r} appears twice, first in line {first}"
            self.findings.fault(element, words, body.name, "rename one of them")
            body = replace(body, name=f"{body.name}, line {element.line}")
        self.at[body.name] = element
        self.links.append(Link(body, element))

    def _body(self, at: Element, owner: str, name: str, parent: str | None, joint: Joint, row: dict[str, Any]) -> Body:
        f = self.findings
        if "mass" not in row:
            others = ", ".join(c.tag for c in at.children if not _kind(c, (*RIGID_BODY, *BASE, *MDH, *BALL, "name", "vel")))
            words = f"{owner} has no mass" + (f", but {others}, which is unknown" if others else "")
            f.fault(at, words[:300], remedy="add mass, cgPos and Ibar")
            return Body(name=name, parent=parent, joint=joint)
        (mass,), c = row["mass"], np.array(row.get("cgPos", ZERO))
        I = np.array(row.get("Ibar", (0.0,) * 9)).reshape(3, 3)
        if not np.allclose(I, I.T, rtol=1e-9, atol=0.0):
            f.fault(at, f"{owner}: Ibar is {plain(row['Ibar'])}, must be symmetric: 3 rows of 3 [kg·m²]", row["Ibar"])
        if mass and "Ibar" not in row:
            f.note("repaired", at, owner, "no Ibar", "treated as a point mass")
            I = mass * (c @ c * np.eye(3) - np.outer(c, c))
        about_com = I - mass * (c @ c * np.eye(3) - np.outer(c, c))
        inertia = inertia_of(f, at, owner, mass, tuple(map(float, c)), tensor_of(about_com), ZERO)  # type: ignore[arg-type]
        return Body(name=name, parent=parent, joint=joint, inertia=inertia, hydro=self._hydro(at, owner, row))

    def _hydro(self, at: Element, owner: str, row: dict[str, Any]) -> Hydro | None:
        f = self.findings
        given = [word for word in ("dispFluidVol", "cbPos", "AddedMass", "axis", "Cd", "length", "radius") if word in row]
        if not given:
            return None
        (volume,) = row.get("dispFluidVol", (0.0,))
        if volume < 0.0:
            f.fault(at, f"{owner}: dispFluidVol is {plain(volume)} m³, must be at least 0", volume)
            volume = 0.0
        fields: dict[str, Any] = {"volume": volume, "buoyancy_center": row.get("cbPos", ZERO)}
        if any(row.get("AddedMass", ())):
            M = np.array(row["AddedMass"]).reshape(6, 6)[np.ix_(ANGULAR_FIRST, ANGULAR_FIRST)]
            if not np.allclose(M, M.T, rtol=1e-9, atol=0.0):
                f.fault(at, f"{owner}: AddedMass is not symmetric; use 6 rows of 6, angular first", row["AddedMass"])
            else:
                fields["added_mass"] = (added_mass.Matrix(tuple(map(tuple, (0.5 * (M + M.T)).tolist()))),)
        fields["drag"] = self._drag(at, owner, row)
        return Hydro(**fields)

    def _drag(self, at: Element, owner: str, row: dict[str, Any]) -> tuple[drag.ShapeDrag, ...]:
        """Return the drag cylinder along a body axis, starting at the body origin (McMillan 1994, eqs. 6.24-6.30)."""
        f, words = self.findings, ("axis", "Cd", "length", "radius")
        given = [word for word in words if word in row]
        if not given:
            return ()
        if missing := [word for word in words if word not in row]:
            f.fault(
                at,
                f"{owner} has {', '.join(given)}, but no {', '.join(missing)}",
                remedy="set axis, Cd, length and radius, or omit all four",
            )
            return ()
        axis, coefficient, length, radius = (row[word][0] for word in words)
        if axis not in (0.0, 1.0, 2.0):
            f.fault(at, f"{owner}: axis is {plain(axis)}, must be 0, 1 or 2 for x, y or z", axis)
            return ()
        if coefficient == 0.0 or length == 0.0 or radius == 0.0:
            return ()
        if coefficient < 0.0 or radius < 0.0:
            f.fault(at, f"{owner}: Cd is {plain(coefficient)} and radius {plain(radius)} m, must be at least 0", radius)
            return ()
        return (drag.ShapeDrag(shape=Cylinder.along("xyz"[int(axis)], 0.0, length, radius=radius), coefficient=coefficient),)

    # -- joints ---------------------------------------------------------------------------------------------------------

    def _one(self, at: Element, owner: str, kind: str, row: dict[str, Any]) -> Joint:
        """Return a joint with one coordinate, theta or d, from modified Denavit-Hartenberg parameters."""
        missing = [word for word in ("aMDH", "alphaMDH", "dMDH", "thetaMDH") if word not in row]
        if missing:
            self.findings.note("assumed", at, owner, f"no {', '.join(missing)}", "assumed to be 0")
        value = {word: row.get(word, (0.0,))[0] for word in MDH}
        turns = kind == "RevoluteLink"
        own = "thetaMDH" if turns else "dMDH"
        start = value["jointPos"] if "jointPos" in row else value[own]
        if "jointPos" in row and own in row and value[own] != start:
            what = f"{own} {plain(value[own])} differs from jointPos {plain(start)}"
            self.findings.note("assumed", at, owner, what, "jointPos is used, because both keywords set the joint position")
        placement = Mdh(
            a=value["aMDH"],
            alpha=value["alphaMDH"],
            d=value["dMDH"] if turns else 0.0,
            theta=0.0 if turns else value["thetaMDH"],
            branch_d=value["d_branch"],
            branch_theta=value["theta_branch"],
        )
        joint = joints.Revolute if turns else joints.Prismatic
        return joint(placement=placement, position=start, velocity=value["jointVel"])

    def _ball(self, at: Element, owner: str, row: dict[str, Any]) -> Joint:
        """Return a ball joint from a position in the previous link and Euler angles."""
        if "p" not in row:
            self.findings.note("assumed", at, owner, "no p", "placed at the origin of the previous link")
        angles = row.get("jointPos", row.get("q", ZERO))
        velocity = row.get("jointVel", ZERO)
        return joints.Ball(placement=Origin(row.get("p", ZERO)), orientation=_quaternion(angles), velocity=velocity)  # type: ignore[arg-type]

    # -- words ----------------------------------------------------------------------------------------------------------

    def _entries(self, element: Element, known: dict[str, int], owner: str) -> dict[str, tuple[float, ...]]:
        """Return the values of the known entries of a block; other entries are noted as ignored."""
        f = self.findings
        out: dict[str, tuple[float, ...]] = {}
        lines: dict[str, int] = {}
        for child in element.children:
            word = _kind(child, tuple(known))
            if not word:
                if not words_match(child.tag, "name"):
                    self._unknown(child, owner, tuple(known))
            elif child.children:
                f.fault(child, f"{owner}: {child.tag} is a block, must be {known[word]} numbers")
            elif word in lines:
                f.fault(child, f"{owner}: {child.tag} appears twice, first in line {lines[word]}", remedy="delete one")
            else:
                lines[word] = child.line
                n = known[word]
                out[word] = f.numbers(child.text, n, child, f"{owner}: {child.tag}", (0.0,) * n)
        return out

    def _unknown(self, child: Element, owner: str, known: tuple[str, ...]) -> None:
        """Note that an entry or block is ignored, with its contents."""
        derived = _kind(child, DERIVED)
        guess = "" if derived or child.children else nearest(child.tag, known).partition(";")[0]
        why = (
            "this entry is a result, or is derived from other entries"
            if derived
            else "a model cannot represent this content" + guess
        )
        for element in child.walk():
            inside = "" if element is child else f" of {child.tag}"
            values = f" {element.text[:80]}{' ...' if len(element.text) > 80 else ''}" if element.text else ""
            self.findings.left_out(element, owner, f"{element.tag}{inside}{values}", why)

    def _name(self, element: Element, default: str) -> str:
        """Return the name of a block; the keyword `name` is an extension, because the papers do not specify names."""
        for child in element.children:
            if words_match(child.tag, "name"):
                name = child.text.strip('"').strip()
                if name:
                    return name
                self.findings.fault(child, f'{element.tag}: name is empty; add a text in double quotes, such as name "arm"')
        return default


def _kind(element: Element, words: tuple[str, ...]) -> str:
    """Return the word that matches the tag of an element; empty if none matches."""
    return next((word for word in words if words_match(element.tag, word)), "")


def _quaternion(rpy: tuple[float, ...]) -> tuple[float, ...]:
    """Return the unit quaternion of Z-Y-X Euler angles φ, θ, ψ [rad], shape (4,)."""
    return tuple(map(float, quaternion_from_matrix(matrix_from_rpy(rpy))))
