"""Ready models with their sources, and generated ones."""

from __future__ import annotations

import os
from importlib.resources import files

from hydromechs.errors import ModelError
from hydromechs.formats import load_file
from hydromechs.model import Model

from ._generators import random_tree, serial_chain, star

__all__ = ["load", "model_path", "names", "random_tree", "serial_chain", "star"]


def names() -> tuple[str, ...]:
    """Names of the library's models."""
    return tuple(
        sorted(f.name.removesuffix(".yaml") for f in (files(__package__) / "models").iterdir() if f.name.endswith(".yaml"))
    )


def model_path(name: str) -> str:
    """Path of the file of a library model, to copy from."""
    if name not in names():
        raise ModelError(str(name), [f"there is no library model {name!r}; there are {', '.join(names())}"])
    return str(files(__package__) / "models" / f"{name}.yaml")


def load(source: str | os.PathLike) -> Model:
    """The model of a library name or of a file.

    Args:
        source: A name such as "tiburon_titan2", or the path of a file (it has a folder or an ending in it).
    """
    if isinstance(source, str) and not any(c in source for c in "./\\"):
        if source not in names():
            hint = (
                f"; to load the file of that name, write './{source}'"
                if os.path.exists(source)
                else ", or give the path of a .yaml file"
            )
            raise ModelError(source, [f"there is no library model {source!r}; there are {', '.join(names())}{hint}"])
        return load_file(model_path(source))
    return load_file(source)
