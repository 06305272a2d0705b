"""A `Model` to a model file, without loss: what equals a default is left out, floats are written by their shortest text."""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hydromechs.errors import UnsupportedFeature
from hydromechs.model import Body, Model, joints
from hydromechs.model.code import JointSpec

from . import _model_entries  # noqa: F401 how a file writes the classes of a model
from ._convert import written
from ._emit import Block, Rows, emit
from ._robots import WRITTEN, is_robot_file, robot_text

__all__ = ["dumps", "save"]


def save(model: Model, path: str | Path) -> tuple[str, ...]:
    """Write a model file; a file that is there is replaced at once or, if anything fails, not at all.

    Args:
        model: The model.
        path: The file: YAML, or by its ending the format of another program (".urdf"), in whose first comment stands what it
            does not carry. Meshes are named in it as the model names them, and not copied.

    Returns:
        What the file does not carry, a line each; nothing where it is YAML.
    """
    if is_robot_file(path):
        text, lost = robot_text(model, Path(path).suffix)
        replace_file(text, path)
        return lost
    check_suffix(path, "model", WRITTEN)
    replace_file(dumps(model, Path(path).parent), path)
    return ()


def check_suffix(path: str | Path, kind: str, others: Sequence[str] = ()) -> None:
    """Raise `UnsupportedFeature` where the name of a file says that it is not YAML.

    Args:
        path: The file.
        kind: What is to be written.
        others: Endings of other formats in which it can be written.
    """
    suffix = Path(path).suffix
    if suffix.lower() not in ("", ".yaml", ".yml"):
        words = f"the file name {str(path)!r} ends in {suffix!r}, but a {kind} is written as YAML"
        endings = " or ".join(repr(x) for x in (".yaml", *others))
        raise UnsupportedFeature(f"{words}; give a name that ends in {endings}")


def replace_file(text: str, path: str | Path) -> None:
    """Write a text file; one that is there is replaced at once or, if anything fails, not at all.

    Args:
        text: What to write.
        path: The file.
    """
    path = Path(os.path.realpath(path))
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(path.parent)!r} for {path.name!r}; make it first")
    temporary = path.with_name(f".{path.name[:100]}.{uuid.uuid4().hex}")
    try:
        with open(temporary, "x", encoding="utf-8", newline="\n") as f:
            f.write(text)
        if path.exists():
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
    except OSError as error:  # it names the temporary file
        raise type(error)(f"{str(path)!r} cannot be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def dumps(model: Model, folder: str | Path | None = None) -> str:
    """The text of a model file, which `loads` turns back into an equal model.

    Args:
        model: The model; a body with hydrodynamics of your own class cannot be written, a joint by the name of its class.
        folder: Where the file will be: what it names by paths is relative to it; None for paths as they are.
    """
    top = Block(hydromechs=1, **written(model))
    if model.sources:
        top["sources"] = Block(model.sources)
    top["bodies"] = Rows(_body(body, folder) for body in model.bodies)
    return emit(top)


def _body(body: Body, folder: str | Path | None) -> dict:
    try:
        return written(_named(body, folder))
    except UnsupportedFeature as e:
        raise UnsupportedFeature(f"body {body.name!r}: its {e}") from None


def _named(body: Body, folder: str | Path | None) -> Body:
    """The body with the names of classes in place of joints of the user's own."""
    parts: list[Any] = [_spec(part, folder) if type(part) not in joints.TYPES.values() else part for part in body.joint.parts]
    if all(a is b for a, b in zip(parts, body.joint.parts, strict=True)):
        return body
    composed = isinstance(body.joint, joints.Composite)
    return replace(body, joint=joints.Composite(parts=tuple(parts)) if composed else parts[0])


def _spec(joint: joints.Joint, folder: str | Path | None) -> JointSpec:
    """What names a joint, its file relative to a folder."""
    try:
        spec = JointSpec.of(joint)
    except UnsupportedFeature as e:
        raise UnsupportedFeature(f"joint is of a class that a file cannot name: {e}") from None
    file, _, name = spec.type.rpartition(":")
    if folder is None or not file.endswith(".py") or not Path(file).is_absolute():
        return spec
    return replace(spec, type=f"{os.path.relpath(file, Path(folder).absolute())}:{name}")
