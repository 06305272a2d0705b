"""A model file to a `Model`, with every fault of the file in one `ModelError`."""

from __future__ import annotations

import contextlib
import copy
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ValidationError

from hydromechs.errors import ModelError
from hydromechs.model import (
    Body,
    Frame,
    Hydro,
    Inertia,
    Mdh,
    Model,
    Origin,
    World,
    added_mass,
    body_faults,
    drag,
    joints,
    shapes,
    tree_faults,
    world_faults,
)

from . import _schema as schema
from ._messages import dotted, nearest, sentences
from ._yaml import Document, Problem, UnreadableText, parse, read_text, show

__all__ = ["load_file", "loads"]

JOINTS = {c.kind: c for c in (joints.Free, joints.Fixed, joints.Revolute, joints.Prismatic, joints.Ball)}
ADDED_MASS = {
    "sphere": added_mass.Sphere,
    "ellipsoid": added_mass.Ellipsoid,
    "cylinder": added_mass.Cylinder,
    "box": added_mass.Box,
}
DRAG = {
    "cylinder": drag.Cylinder,
    "box": drag.Box,
    "sphere": drag.Sphere,
    "ellipsoid": drag.Ellipsoid,
    "foil": drag.Foil,
}
SHAPES = {c.kind: c for c in (shapes.Box, shapes.Cylinder, shapes.Sphere, shapes.Capsule, shapes.Mesh)}


def load_file(path: str | Path) -> Model:
    """Read a model file.

    Args:
        path: The file; meshes that it names are looked for relative to its folder.

    Returns:
        The model; every fault of the file is listed in one `ModelError`.
    """
    path = Path(path)
    text = read_text(path, "model", ModelError)
    return loads(text, str(path), path.parent)


def loads(text: str, source: str = "<text>", folder: str | Path | None = None) -> Model:
    """Read a model from the text of a model file.

    Args:
        text: YAML.
        source: Name of the text in messages.
        folder: Where relative paths of meshes start; with None it is not checked that they exist.

    Returns:
        The model; every fault of the text is listed in one `ModelError`.
    """
    try:
        document = parse(text)
    except UnreadableText as e:
        raise ModelError(source, [f"line {e.line}: {e}"]) from None
    if document.root is None:
        raise ModelError(source, ["line 1: the file is empty; a model file begins with 'hydromechs: 1'"])
    if not isinstance(document.data, dict):
        words = f"the file holds {show(document.data)}, must be a mapping that begins with 'hydromechs: 1'"
        raise ModelError(source, [f"line {document.line(())}: {words}"])
    return _Reader(document, source, None if folder is None else Path(folder)).model()


class _Named(NamedTuple):
    """What the checks of names and parents need of a body, None where it cannot be read."""

    name: str | None
    parent: str | None
    frames: list[str]


class _Reader:
    """Collects the faults of one document on the way to its model."""

    def __init__(self, document: Document, source: str, folder: Path | None):
        self.document, self.source, self.folder = document, source, folder
        self.data: dict = document.data
        listed = self.data.get("bodies")
        self.bodies: list = listed if isinstance(listed, list) else []
        self.named = [_named(entry) for entry in self.bodies]
        self.problems: list[Problem] = []
        self.reported = {p.path for p in document.problems}
        for line, path, words in document.problems:
            self.problems.append(Problem(line, path, self._owner(path) + words))

    def model(self) -> Model:
        """The model, or `ModelError`."""
        header, world = self._header()
        bodies = [self._body(i, entry) for i, entry in enumerate(self.bodies)]
        if isinstance(self.data.get("bodies"), list):
            for fault in tree_faults([(n.name, n.parent) for n in self.named], [n.frames for n in self.named]):
                self._add(fault.path, fault.text)
        if self.problems:
            raise self._error()
        try:
            return Model(
                name=header.name,
                description=header.description,
                world=world,
                sources=tuple(header.sources.items()),
                bodies=tuple(bodies),
            )
        except ModelError as e:  # a mechanism that cannot be simulated
            for words in e.problems:
                self._add(self._place(words), words)
            raise self._error() from None

    def _error(self) -> ModelError:
        ordered = sorted(self.problems, key=lambda p: p.line)
        return ModelError(self.source, list(dict.fromkeys(f"line {p.line}: {p.text}" for p in ordered)))

    def _add(self, path: tuple, words: str) -> None:
        self.problems.append(Problem(self.document.line(path), path, words))

    def _owner(self, path: tuple) -> str:
        """Whom a fault at `path` belongs to, and the key there, as the beginning of a sentence."""
        if len(path) < 2 or path[0] != "bodies":
            return f"{path[-1]}: " if path else ""
        i = path[1]
        name = self.named[i].name if isinstance(i, int) and i < len(self.named) else None
        inner = dotted(path[2:])
        return (f"body {name!r}: " if name is not None else f"bodies.{i}: ") + (f"{inner}: " if inner else "")

    def _place(self, words: str) -> tuple:
        """Path of the body that a sentence begins with."""
        for i, named in enumerate(self.named):
            if words.startswith(f"body {named.name!r}:"):
                return ("bodies", i, "inertia" if "inertia" in self.bodies[i] else "joint")
        return ("name",) if words.startswith("the name of the model") else ()

    def _check(self, kind: type[BaseModel], data, path: tuple) -> tuple[BaseModel | None, set]:
        """`data` as `kind`, None with faults collected; and the keys of `data` that have faults."""
        try:
            return kind.model_validate(data), set()
        except ValidationError as e:
            owner = self._owner(path) if path else ""
            bad = set()
            for inner, words in sentences(e, kind):
                bad.add(inner[0] if inner else None)
                at = (*path, *inner)
                if at not in self.reported:
                    self._add(at, owner + words)
            return None, bad

    def _header(self) -> tuple[schema.Header | None, World]:
        data = {key: value for key, value in self.data.items() if key != "bodies"}
        header, _ = self._check(schema.Header, data, ())
        if "bodies" not in self.data:
            close = nearest("bodies", self.data.keys() - schema.Header.model_fields.keys())
            self._add((), f"the key 'bodies' is missing{close}; add the list of bodies")
        elif not isinstance(self.data["bodies"], list):
            self._add(("bodies",), f"bodies is {show(self.data['bodies'])}, must be a list of bodies, each as '- name: ...'")
        try:
            entry = schema.WorldEntry.model_validate(data.get("world", {}))
        except ValidationError:  # told with the header
            return header, World()
        world = World(**_given(entry))
        for fault in world_faults(world):
            self._add(*fault)
        return header, world

    def _body(self, i: int, data) -> Body | None:
        """Body i. Where a part of it cannot be read, the others are built all the same, so that their faults are found too."""
        path = ("bodies", i)
        if not isinstance(data, dict):
            self._add(path, f"bodies.{i} is {show(data)}, must be a mapping with the keys name, joint, ...")
            return None
        self._both_placements(path, data.get("joint"))
        entry, bad = self._check(schema.BodyEntry, data, path)
        if entry is None:
            data = _without_unknown_keys(schema.BodyEntry, data)
            bad = set(_bad_keys(schema.BodyEntry, data))
            stand_in = {"name": self.named[i].name or "?", "joint": {"type": "fixed"}}
            entry = schema.BodyEntry.model_validate(stand_in | {k: v for k, v in data.items() if k not in bad})
        body = _body(entry)
        for fault in body_faults(i, body):
            needs_inertia = fault.path[2:] == ("hydro", "added_mass")
            if fault.path[2] not in bad and not (needs_inertia and bad & {"inertia", "hydro"}):
                self._add(*fault)
        if self.folder is not None:
            self._meshes(path, body)
        return body

    def _both_placements(self, path: tuple, joint) -> None:
        parts = joint.get("parts") if isinstance(joint, dict) else None
        places = [("joint",), *(("joint", "parts", k) for k in range(len(parts) if isinstance(parts, list) else 0))]
        for place, item in zip(places, [joint, *(parts if isinstance(parts, list) else [])], strict=True):
            if isinstance(item, dict) and "origin" in item and "mdh" in item:
                both = f"origin {show(item['origin'])} and mdh {show(item['mdh'])}"
                self._add((*path, *place, "mdh"), f"{self._owner(path)}{dotted(place)} has both {both}; keep one of them")

    def _meshes(self, path: tuple, body: Body) -> None:
        for k, shape in enumerate(body.shapes):
            if isinstance(shape, shapes.Mesh) and shape.file.strip() and not _is_file(self.folder / shape.file):
                words = f"shapes.{k}.file is {show(shape.file)}, but there is no such file in {str(self.folder)!r}"
                self._add((*path, "shapes", k, "file"), f"{self._owner(path)}{words}; paths are relative to the model file")


def _bad_keys(kind: type[BaseModel], data: dict) -> list:
    """Keys of `data` whose values cannot be read as `kind` wants them."""
    try:
        kind.model_validate(data)
    except ValidationError as e:
        return [inner[0] if inner else None for inner, _ in sentences(e, kind)]
    return []


def _without_unknown_keys(kind: type[BaseModel], data: dict) -> dict:
    """A copy of `data` less the keys, at any depth, that `kind` does not know; their faults are told already."""
    data = copy.deepcopy(data)
    try:
        kind.model_validate(data)
    except ValidationError as e:
        for error, (path, _) in zip(e.errors(), sentences(e, kind), strict=False):
            if error["type"] == "extra_forbidden":
                inside = data
                with contextlib.suppress(KeyError, IndexError, TypeError, AttributeError):  # a key with the name of a variant
                    for key in path[:-1]:
                        inside = inside[key]
                    inside.pop(path[-1], None)
    return data


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _named(entry) -> _Named:
    if not isinstance(entry, dict):
        return _Named(None, None, [])
    name, parent, frames = (entry.get(key) for key in ("name", "parent", "frames"))
    return _Named(
        name if isinstance(name, str) else None,
        parent if isinstance(parent, str) and parent != "world" else None,
        list(frames) if isinstance(frames, dict) else [],
    )


def _given(entry: BaseModel | None, *without: str) -> dict:
    """Values that the file gives, by field, with origins built; what is left out takes the default of the dataclass."""
    if entry is None:
        return {}
    values = {name: getattr(entry, name) for name in sorted(entry.model_fields_set - {"shape", "type", *without})}
    if values.get("origin") is not None:
        values["origin"] = _origin(values["origin"])
    return values


def _origin(entry: schema.OriginEntry) -> Origin:
    return Origin(**_given(entry))


def _body(entry: schema.BodyEntry) -> Body:
    fields = {}
    if entry.inertia is not None:
        fields["inertia"] = Inertia(**_given(entry.inertia))
    if entry.hydro is not None:
        fields["hydro"] = _hydro(entry.hydro)
    return Body(
        name=entry.name,
        parent=None if entry.parent == "world" else entry.parent,
        joint=_joint(entry.joint),
        frames=tuple(Frame(name, _origin(origin)) for name, origin in entry.frames.items()),
        shapes=tuple(SHAPES[s.shape](**_given(s)) for s in entry.shapes),
        **fields,
    )


def _joint(entry) -> joints.Joint | joints.Composite:
    if entry.type == "composite":
        return joints.Composite(parts=tuple(_joint(part) for part in entry.parts))
    fields = _given(entry, "origin", "mdh")
    if entry.mdh is not None:
        branch = {f"branch_{name}": value for name, value in _given(entry.mdh.branch).items()}
        fields["placement"] = Mdh(**_given(entry.mdh, "branch"), **branch)
    elif entry.origin is not None:
        fields["placement"] = _origin(entry.origin)
    return JOINTS[entry.type](**fields)


def _hydro(entry: schema.HydroEntry) -> Hydro:
    elements = {"added_mass": _added_mass, "drag": _drag}
    fields = _given(entry)
    for name, build in elements.items():
        value = fields.get(name, [])
        fields[name] = tuple(build(e) for e in (value if isinstance(value, list) else [value]))
    return Hydro(**fields)


def _added_mass(entry):
    if isinstance(entry, schema.AddedMatrixEntry):
        return added_mass.Matrix(entry.matrix)
    if isinstance(entry, schema.AddedDiagonalEntry):
        return added_mass.Diagonal(entry.diagonal)
    return ADDED_MASS[entry.shape](**_with_ends(entry))


def _drag(entry):
    if isinstance(entry, schema.DampingEntry):
        return drag.Damping(**_given(entry))
    return DRAG[entry.shape](**_with_ends(entry))


def _with_ends(entry) -> dict:
    """Fields of an element; a cylinder on a body axis gets its two ends."""
    if not isinstance(entry, schema.AlongEntry):
        return _given(entry)
    ends = (tuple(at if axis == entry.axis else 0.0 for axis in "xyz") for at in (entry.from_, entry.to))
    return {**_given(entry, "axis", "from_", "to"), **dict(zip(("start", "end"), ends, strict=True))}
