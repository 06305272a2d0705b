"""Reader of model files; one `ModelError` lists all errors of a file."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from hydromechs import files
from hydromechs.errors import Fault, ModelError
from hydromechs.geometry import Mesh
from hydromechs.model import FAMILIES, Body, BodyShape, Model, World, body_faults, flexible, joints, tree_faults, world_faults
from hydromechs.registry import BROKEN, Family, Reader, dotted, show

from ._file_kinds import FILE_KINDS, misplaced_file
from ._robots import import_file, is_robot_file, reject_options, warned
from ._yaml import Document, UnreadableText, collector_paused, parse, read_text

MODEL_KEY, MODEL_VERSION = FILE_KINDS["model"].key, FILE_KINDS["model"].version
"""First key of a model file, and the supported version."""


@files.one_load()
def load_file(path: str | Path, *, code: bool = False, **options: Any) -> Model:
    """Read a model file, or a third-party robot description (see `import_file`).

    `path`: path of the file; paths of meshes and classes are relative to its folder. `code`: True to allow Python code of
    custom joints that the file refers to; otherwise such a file raises `CodeNotAllowed`. `options`: options of
    `import_file` for a robot description. Returns the model. One `ModelError` lists all errors of the file.
    """
    path = Path(path)
    if is_robot_file(path):
        return warned(import_file(path, **options)).model
    reject_options(path, options)
    text = read_text(path, "model", ModelError)
    return loads(text, str(path), path.parent, code=code)


def loads(text: str, source: str = "<text>", folder: str | Path | None = None, *, code: bool = False) -> Model:
    """Read a model from the text of a model file.

    `text`: YAML text. `source`: name of the text in messages. `folder`: base folder of relative mesh paths; None skips the
    check that meshes exist. `code`: True to allow Python code of custom joints that the text refers to; otherwise such a
    text raises `CodeNotAllowed`. Returns the model. One `ModelError` lists all errors of the text.
    """
    with collector_paused():
        document = parsed(text, source, "model", ModelError)
        return _ModelReader(document, source, None if folder is None else Path(folder), code).model()


def model_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of the model file, for editors and other programs."""
    return FILE_KINDS["model"].json_schema(Model, FAMILIES)


def read_document(path: str | Path, kind: str, error: Callable[[str, list], Exception]) -> Document:
    """Return the document of a file, a mapping with the line of each part; raise `error` for a file of another kind."""
    return parsed(read_text(Path(path), kind, error), str(path), kind, error)


def parsed(text: str, source: str, kind: str, error: Callable[[str, list], Exception]) -> Document:
    """Return the document of a text, a mapping; raise `error` for a text of another kind than, for example, "model"."""
    first = FILE_KINDS[kind].first
    try:
        document = parse(text)
    except UnreadableText as e:
        raise error(source, [Fault((), str(e), line=e.line)]) from None
    if document.root is None:
        raise error(source, [Fault((), f"the file is empty; start a {kind} file with '{first}'", line=1)])
    if not isinstance(document.data, dict):
        must = f"must be a mapping that starts with '{first}'"
        words = f"the file contains {show(document.data)}, {must}"
        raise error(source, [Fault((), words, document.data, must, line=document.line(()))])
    misplaced = misplaced_file(document.data, kind, source)
    if misplaced is not None:
        raise error(source, [replace(misplaced, line=document.line(misplaced.path))])
    return document


class _ModelReader(Reader):
    """Reader of a model file. Bodies are checked one by one, so that the errors of all bodies are found.

    The existence of meshes is not checked if the folder is None.
    """

    def __init__(self, document: Document, source: str, folder: Path | None, code: bool) -> None:
        self.data: dict[str, Any] = document.data
        super().__init__(FAMILIES, document.line, document.problems, source=source, folder=folder, code=code)

    def label(self, path: tuple) -> str:
        if path[:1] != ("bodies",) or len(path) < 2:
            return dotted(path)
        inner = dotted(path[2:])
        return f"body {path[1]!r}" + (f": {inner}" if inner else "")

    def model(self) -> Model:
        """Return the model; raise `ModelError` with all errors of the file."""
        bodies = self.data.get("bodies")
        if isinstance(bodies, dict):
            for fault in tree_faults(*_links(bodies)):
                self._model_fault(fault)
        return self.checked(self.file(Model, self.data, MODEL_KEY, MODEL_VERSION), ModelError)

    def make(self, cls: Any, values: dict[str, Any], path: tuple) -> Any:
        """Build an object; bodies and the world are checked immediately."""
        if cls is Model:
            return self._made_model(values)
        if cls in (Mesh, flexible.ModalLink) and self.folder is not None:
            values = values | {"folder": str(self.folder)}
        out = super().make(cls, values, path)
        solid = isinstance(out, BodyShape) and out.roles != ("appearance",)
        if solid and isinstance(out.shape, Mesh) and self.folder is not None:
            self._check_mesh(out.shape.file, self.folder, (*path, "file"))
        if cls is Body and out is not BROKEN:
            self._check_body(out, path, set())
        if cls is World and out is not BROKEN:
            for fault in world_faults(out):
                self.add_fault(fault)
        return out

    def unmade(self, cls: Any, values: dict[str, Any], path: tuple) -> Any:
        if cls is not Body:
            return super().unmade(cls, values, path)
        broken = {name for name, value in values.items() if value is BROKEN}
        body = Body(**({"joint": joints.Fixed()} | {k: v for k, v in values.items() if v is not BROKEN}))
        self._check_body(body, path, broken)
        return BROKEN

    def custom(self, word: str, data: dict[str, Any], family: Family, path: tuple, **given: Any) -> Any:
        """Read a joint of a class in a Python file; joints with one coordinate accept a single number."""
        rows = {key: [x] for key in ("position", "velocity") if type(x := data.get(key)) in (int, float)}
        return super().custom(word, data | rows, family, path, **given)

    def _made_model(self, values: dict[str, Any]) -> Any:
        if self.problems or self.locked:  # otherwise the model would report them again, or without rejected joints
            return BROKEN
        try:
            return Model(**values)
        except ModelError as e:  # a mechanism that cannot be simulated
            for fault in e.faults:
                self._model_fault(fault)
        return BROKEN

    def _model_fault(self, fault: Fault) -> None:
        """Add an error that a model found, with its body index converted to the name in the file."""
        path = fault.path
        if path[:1] == ("bodies",) and len(path) > 1 and isinstance(path[1], int):
            path = ("bodies", list(self.data["bodies"])[path[1]], *path[2:])
        self.add_fault(replace(fault, path=path))

    def _check_body(self, body: Body, path: tuple, broken: set[str]) -> None:
        """Add the errors of a body, except errors of unreadable fields and of fields that depend on them."""
        for fault in body_faults(0, body):
            inner = fault.path[2:]
            needs_inertia = inner == ("hydro", "added_mass")
            if inner[0] not in broken and not (needs_inertia and broken & {"inertia", "hydro"}):
                self.add_fault(replace(fault, path=(*path, *inner)))

    def _check_mesh(self, file: str, folder: Path, path: tuple) -> None:
        """Add an error for a missing file of a shape; a box replaces a missing visual."""
        if file.strip() and not os.path.isfile(folder / file):
            words = f"{self.label(path)} is {show(file)}, but the file does not exist in {str(folder)!r}"
            self.add(path, words, file, remedy="correct the path, relative to the model file")


def _links(bodies: dict[str, Any]) -> tuple[list[tuple], list[list[str]]]:
    """Return (name, parent) and frame names of each body that can be read."""
    links, frames = [], []
    for name, data in bodies.items():
        data = data if isinstance(data, dict) else {}
        parent, inner = data.get("parent"), data.get("frames")
        links.append((name, parent if isinstance(parent, str) and parent != "world" else None))
        frames.append(list(inner) if isinstance(inner, dict) else [])
        if "flexible" in data:
            links.append((f"{name}.tip", name))
            frames.append([])
    return links, frames
