"""Write a `Model` as a model file without loss: defaults are omitted, floats have their shortest exact text."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydromechs import files
from hydromechs.errors import UnsupportedFeature
from hydromechs.model import FAMILIES, Hydro, Model
from hydromechs.registry import Writer, dotted

from ._emit import Block, emit
from ._read import MODEL_KEY, MODEL_VERSION
from ._robots import WRITTEN, is_robot_file, robot_text


def save(model: Model, path: str | Path) -> tuple[str, ...]:
    """Write a model file; an existing file is replaced atomically, or not at all if writing fails.

    Args:
        model: The model.
        path: The file: YAML, or a third-party format selected by the suffix (".urdf"), whose first comment lists what
            it cannot store. Mesh paths are written as in the model; meshes are not copied.

    Returns:
        Lines that list what the file cannot store; empty for YAML.
    """
    if is_robot_file(path):
        text, lost = robot_text(model, Path(path).suffix)
        replace_file(text, path)
        return lost
    check_suffix(path, "model", WRITTEN)
    replace_file(dumps(model, Path(path).parent), path)
    return ()


def check_suffix(path: str | Path, kind: str, others: Sequence[str] = ()) -> None:
    """Raise `UnsupportedFeature` if the suffix of a file is neither a YAML suffix nor one of `others`."""
    suffix = Path(path).suffix
    if suffix.lower() not in ("", ".yaml", ".yml"):
        words = f"the file name {str(path)!r} ends in {suffix!r}, but a {kind} is written as YAML"
        endings = " or ".join(repr(x) for x in (".yaml", *others))
        raise UnsupportedFeature(f"{words}; give a name that ends in {endings}")


def replace_file(text: str, path: str | Path) -> None:
    """Write a text file; an existing one is replaced atomically, or not at all if writing fails."""
    path = Path(os.path.realpath(path))  # a link of the user stays
    if not path.parent.is_dir():
        raise FileNotFoundError(f"folder {str(path.parent)!r} for {path.name!r} does not exist; create it first")
    try:
        files.write_text(path, text)
    except OSError as error:
        raise type(error)(f"{str(path)!r} cannot be written: {error.strerror or error}") from error


def dumps(model: Model, folder: str | Path | None = None) -> str:
    """Return the text of a model file; custom joints by import path, paths relative to `folder` (None: unchanged)."""
    return model_text(model, ModelWriter(FAMILIES, None if folder is None else Path(folder)))


def model_text(model: Model, writer: Writer) -> str:
    """Return the text of a model file."""
    data = writer.fields(model)
    bodies = Block((name, Block(body)) for name, body in data.pop("bodies").items())
    for key in data.keys() & {"sources"}:
        data[key] = Block(data[key])
    return emit(Block({MODEL_KEY: MODEL_VERSION, **data, "bodies": bodies}))


class ModelWriter(Writer):
    """Writes models."""

    def label(self, path: tuple) -> str:
        return f"body {path[1]!r}: {dotted(path[2:])}" if path[:1] == ("bodies",) and len(path) > 2 else dotted(path)

    def fields(self, thing: Any, path: tuple = (), skip: tuple[str, ...] = ()) -> dict[str, Any]:
        """Return the mapping of an object, without a volume that is derived from shapes."""
        derived = ("volume", "buoyancy_center") if isinstance(thing, Hydro) and thing.derived else ()
        return super().fields(thing, path, (*skip, *derived))
