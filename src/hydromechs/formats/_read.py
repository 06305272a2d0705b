"""A model file to a `Model`, with every fault of the file in one `ModelError`."""

from __future__ import annotations

import contextlib
import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError

from hydromechs.errors import Fault, ModelError, ScenarioError, StudyError
from hydromechs.model import Body, Model, World, body_faults, joints, shapes, tree_faults, visual, world_faults
from hydromechs.model.code import JointSpec

from ._convert import build, fields_of
from ._entries import Entry
from ._messages import dotted, faults_of, nearest
from ._model_entries import BodyEntry, Header, WorldEntry
from ._robots import import_file, is_robot_file, reject_options, warned
from ._yaml import Document, UnreadableText, collector_paused, parse, read_text, show

__all__ = ["load_file", "loads", "read_document"]

AnEntry = TypeVar("AnEntry", bound=Entry)


def load_file(path: str | Path, *, code: bool = False, **options: Any) -> Model:
    """Read a model file, or a robot description of another program (see `import_file`).

    Joints whose classes a model file names are stand-ins (`scenario.JointSpec`): reading runs no code.

    Args:
        path: The file; meshes and classes that it names are looked for relative to its folder.
        code: True if the Python code that it names may run later, when the stand-ins become joints.
        options: Options of `import_file` for a robot description.

    Returns:
        The model. All errors of the file are listed in one `ModelError`.
    """
    path = Path(path)
    if is_robot_file(path):
        return warned(import_file(path, **options)).model
    reject_options(path, options)
    text = read_text(path, "model", ModelError)
    return loads(text, str(path), path.parent, code=code)


def loads(text: str, source: str = "<text>", folder: str | Path | None = None, *, code: bool = False) -> Model:
    """Read a model from the text of a model file.

    Args:
        text: YAML.
        source: Name of the text in messages.
        folder: Base folder of relative mesh paths; if None, their existence is not checked.
        code: True if the Python code that it names may run later, when the stand-ins become joints.

    Returns:
        The model. All errors of the text are listed in one `ModelError`.
    """
    with collector_paused():
        document = parsed(text, source, "model", "hydromechs: 1", ModelError)
        return _Reader(document, source, None if folder is None else Path(folder), code).model()


def read_document(path: str | Path, kind: str, first: str, error: type[StudyError]) -> Document:
    """The document of a file that holds a mapping: its data, and the line of each part.

    Args:
        path: The file.
        kind: What it should be, as "sweep".
        first: What such a file begins with.
        error: The class of the error where it does not.
    """
    return parsed(read_text(Path(path), kind, error), str(path), kind, first, error)


def parsed(text: str, source: str, kind: str, first: str, error: type[ModelError | ScenarioError | StudyError]) -> Document:
    """The document of a text that holds a mapping.

    Args:
        text: YAML.
        source: Name of the text in messages.
        kind: What it should be, "model" or "scenario".
        first: What such a file begins with.
        error: The class of the error where it does not.
    """
    try:
        document = parse(text)
    except UnreadableText as e:
        raise error(source, [Fault((), str(e), line=e.line)]) from None
    if document.root is None:
        raise error(source, [Fault((), f"the file is empty; a {kind} file begins with '{first}'", line=1)])
    if not isinstance(document.data, dict):
        must = f"must be a mapping that begins with '{first}'"
        words = f"the file holds {show(document.data)}, {must}"
        raise error(source, [Fault((), words, document.data, must, line=document.line(()))])
    return document


class _Named(NamedTuple):
    """What the checks of names and parents need of a body, None where it cannot be read."""

    name: str | None
    parent: str | None
    frames: list[str]


class _Reader:
    """Collects the faults of one document on the way to its model."""

    def __init__(self, document: Document, source: str, folder: Path | None, code: bool) -> None:
        self.document, self.source, self.folder, self.code = document, source, folder, code
        self.data: dict[str, Any] = document.data
        listed = self.data.get("bodies")
        self.bodies: list[Any] = listed if isinstance(listed, list) else []
        self.named = [_named(entry) for entry in self.bodies]
        self.reported = {p.path for p in document.problems}
        self.faults = [replace(p, text=self._owner(p.path) + p.text) for p in document.problems]

    def model(self) -> Model:
        """The model, or `ModelError`."""
        header, world = self._header()
        bodies = [self._body(i, entry) for i, entry in enumerate(self.bodies)]
        if isinstance(self.data.get("bodies"), list):
            for fault in tree_faults([(n.name, n.parent) for n in self.named], [n.frames for n in self.named]):
                self._add(fault)
        if self.faults or header is None:
            raise self._error()
        try:
            fields = fields_of(header) | {"world": world, "bodies": [b for b in bodies if b is not None]}
            del fields["hydromechs"]
            return Model(**fields)
        except ModelError as e:  # a mechanism that cannot be simulated
            for fault in e.faults:
                self._add(fault)
            raise self._error() from None

    def _error(self) -> ModelError:
        ordered = sorted(self.faults, key=lambda f: f.line or 0)
        return ModelError(self.source, {str(f): f for f in ordered}.values())

    def _add(self, fault: Fault) -> None:
        self.faults.append(replace(fault, line=self.document.line(fault.path)))

    def _owner(self, path: tuple) -> str:
        """Whom a fault at `path` belongs to, and the key there, as the beginning of a sentence."""
        if len(path) < 2 or path[0] != "bodies":
            return f"{path[-1]}: " if path else ""
        i = path[1]
        name = self.named[i].name if isinstance(i, int) and i < len(self.named) else None
        inner = dotted(path[2:])
        return (f"body {name!r}: " if name is not None else f"bodies.{i}: ") + (f"{inner}: " if inner else "")

    def _check(self, kind: type[AnEntry], data: Any, path: tuple) -> AnEntry | None:
        """`data` as `kind`; None with faults collected."""
        try:
            return kind.model_validate(data)
        except ValidationError as e:
            owner = self._owner(path) if path else ""
            for fault in faults_of(e, kind):
                at = (*path, *fault.path)
                if at not in self.reported:
                    self._add(replace(fault, path=at, text=owner + fault.text))
            return None

    def _header(self) -> tuple[Entry | None, World]:
        data = {key: value for key, value in self.data.items() if key != "bodies"}
        header = self._check(Header, data, ())
        if "bodies" not in self.data:
            close = nearest("bodies", self.data.keys() - Header.model_fields.keys())
            self._add(Fault((), f"the key 'bodies' is missing{close}; add the list of bodies", remedy="add the list of bodies"))
        elif not isinstance(self.data["bodies"], list):
            value, must = self.data["bodies"], "must be a list of bodies, each as '- name: ...'"
            self._add(Fault(("bodies",), f"bodies is {show(value)}, {must}", value, must))
        try:
            world = build(WorldEntry.model_validate(data.get("world", {})))
        except ValidationError:  # told with the header
            return header, World()
        for fault in world_faults(world):
            self._add(fault)
        return header, world

    def _body(self, i: int, data: Any) -> Body | None:
        """Body i. Where a part of it cannot be read, the others are built all the same, so that their faults are found too."""
        path = ("bodies", i)
        if not isinstance(data, dict):
            must = "must be a mapping with the keys name, joint, ..."
            self._add(Fault(path, f"bodies.{i} is {show(data)}, {must}", data, must))
            return None
        self._both_placements(path, data.get("joint"))
        entry, bad = self._check(BodyEntry, data, path), set()
        if entry is None:
            data = _without_unknown_keys(BodyEntry, data)
            bad = _bad_keys(BodyEntry, data)
            stand_in = {"name": self.named[i].name or "?", "joint": {"type": "fixed"}}
            entry = BodyEntry.model_validate(stand_in | {k: v for k, v in data.items() if k not in bad})
        body = self._located(path, build(entry))
        for fault in body_faults(i, body):
            needs_inertia = fault.path[2:] == ("hydro", "added_mass")
            if fault.path[2] not in bad and not (needs_inertia and bad & {"inertia", "hydro"}):
                self._add(fault)
        return body if self.folder is None else self._meshes(path, body, self.folder)

    def _located(self, path: tuple, body: Body) -> Body:
        """Return the body with absolute paths, and with the lines of this file at which its joint names classes."""

        def located(joint: Any, *at: str | int) -> Any:
            if not isinstance(joint, JointSpec):
                return joint
            file, _, name = joint.type.rpartition(":")
            line = self.document.line((*path, "joint", *at, "type"))
            joint = replace(joint, locked="" if self.code else f"{self.source}, line {line}")
            if self.folder is None or not file.endswith(".py"):
                return joint
            return replace(joint, type=f"{(self.folder / file).absolute()}:{name}")

        if isinstance(body.joint, joints.Composite):
            parts = tuple(located(part, "parts", k) for k, part in enumerate(body.joint.parts))
            return replace(body, joint=joints.Composite(parts=parts))
        return replace(body, joint=located(body.joint)) if isinstance(body.joint, JointSpec) else body

    def _both_placements(self, path: tuple, joint: Any) -> None:
        parts = joint.get("parts") if isinstance(joint, dict) else None
        listed = parts if isinstance(parts, list) else []
        places: dict[tuple, Any] = {("joint",): joint, **{("joint", "parts", k): part for k, part in enumerate(listed)}}
        for place, item in places.items():
            if isinstance(item, dict) and "origin" in item and "mdh" in item:
                both = f"origin {show(item['origin'])} and mdh {show(item['mdh'])}"
                text = f"{self._owner(path)}{dotted(place)} has both {both}; keep one of them"
                self._add(Fault((*path, *place, "mdh"), text, remedy="keep one of them"))

    def _meshes(self, path: tuple, body: Body, folder: Path) -> Body:
        """Return the body with the folder of its visual meshes. A missing shape is an error; a missing visual becomes a box."""
        for k, shape in enumerate(body.shapes):
            if isinstance(shape, shapes.Mesh) and shape.file.strip() and not _is_file(folder / shape.file):
                remedy = "paths are relative to the model file"
                words = f"shapes.{k}.file is {show(shape.file)}, but there is no such file in {str(folder)!r}; {remedy}"
                self._add(Fault((*path, "shapes", k, "file"), self._owner(path) + words, shape.file, remedy=remedy))
        if not any(isinstance(look, visual.Mesh) for look in body.visual):
            return body
        looks = tuple(replace(v, folder=str(folder)) if isinstance(v, visual.Mesh) else v for v in body.visual)
        return replace(body, visual=looks)


def _bad_keys(kind: type[Entry], data: dict[str, Any]) -> set[str | None]:
    """Keys of `data` whose values cannot be read as `kind` wants them."""
    try:
        kind.model_validate(data)
    except ValidationError as e:
        return {fault.path[0] if fault.path else None for fault in faults_of(e, kind)}
    return set()


def _without_unknown_keys(kind: type[Entry], data: dict[str, Any]) -> dict[str, Any]:
    """A copy of `data` less the keys, at any depth, that `kind` does not know; their faults are told already."""
    data = copy.deepcopy(data)
    try:
        kind.model_validate(data)
    except ValidationError as e:
        for error, fault in zip(e.errors(), faults_of(e, kind), strict=True):
            if error["type"] == "extra_forbidden":
                inside: Any = data
                with contextlib.suppress(KeyError, IndexError, TypeError, AttributeError):  # a key with the name of a variant
                    for key in fault.path[:-1]:
                        inside = inside[key]
                    inside.pop(fault.path[-1], None)
    return data


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _named(entry: Any) -> _Named:
    if not isinstance(entry, dict):
        return _Named(None, None, [])
    name, parent, frames = (entry.get(key) for key in ("name", "parent", "frames"))
    return _Named(
        name if isinstance(name, str) else None,
        parent if isinstance(parent, str) and parent != "world" else None,
        list(frames) if isinstance(frames, dict) else [],
    )
