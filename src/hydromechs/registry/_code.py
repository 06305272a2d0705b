"""Python code referenced by files: modules in files, classes by import path, parts of installed packages."""

import hashlib
import importlib
import importlib.util
import os
import sys
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from hydromechs import files
from hydromechs.errors import UnsupportedFeature, message_of

from ._members import suggestion

PREFIX = "hydromechs_code_"
"""Name prefix of modules loaded from files."""
GROUP = "hydromechs.parts"
"""Entry-point group through which installed packages provide parts."""


def module_kept(path: str) -> Any:
    """Return the module loaded from a file. An unchanged file yields the same module, so all references share its classes."""
    found = hashlib.sha256(f"{path}\0{files.read_text(path)}".encode()).hexdigest()[:12]
    return sys.modules.get(f"{PREFIX}{found}") or _module(path, found)


def _module(path: str, key: str) -> Any:
    name = f"{PREFIX}{key}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None:
        raise ImportError(f"{path} is not a Python file; set the path of a .py file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look up their module by name
    try:  # the bytecode cache may be stale: Python compares only size and modification time in seconds
        exec(compile(files.read_bytes(path), path, "exec", dont_inherit=True), module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def loaded_files() -> tuple[str, ...]:
    """Return the paths of loaded modules. Another process must load them before it can unpickle objects of their classes."""
    return tuple(str(module.__file__) for name, module in list(sys.modules.items()) if name.startswith(PREFIX))


def is_ours(reference: str) -> bool:
    """True if a reference names code of this package, which needs no permission."""
    module = reference.rpartition(":")[0]
    return not module.endswith(".py") and module.partition(".")[0] == "hydromechs"


@cache
def installed_parts() -> dict[str, EntryPoint]:
    """Return the parts that installed packages provide, keyed by name, without importing them."""
    return {point.name: point for point in entry_points(group=GROUP)}


def imported(reference: str, folder: Path | None, functions: bool = False) -> Any:
    """Import the class of a reference in a file; raise `ValueError` if this fails. The user must allow this code to run.

    A reference is "package.module:Name", "path/file.py:Name", or the name of an installed part. Paths are relative to
    `folder`. If `functions` is True, a reference may also name a function.
    """
    if reference in installed_parts():
        reference = installed_parts()[reference].value
    module, _, name = reference.rpartition(":")
    path = str(((folder or Path()) / module).absolute())
    try:
        found = module_kept(path) if module.endswith(".py") else importlib.import_module(module)
    except FileNotFoundError:
        raise ValueError(f"file {path!r} does not exist; write the path relative to this file") from None
    except Exception as e:  # third-party code
        raise ValueError(f"{module!r} cannot be imported: {type(e).__name__}: {message_of(e)}; correct the code") from e
    target: Any = getattr(found, name, None)
    if not (isinstance(target, type) or (functions and callable(target))):
        own = [n for n, x in vars(found).items() if isinstance(x, type) and x.__module__ == found.__name__]
        raise ValueError(f"{module!r} has no class {name!r}{suggestion(name, own)}; its classes are {', '.join(own) or 'none'}")
    return target


def reference_to(cls: Any, folder: Path | None) -> str:
    """Return the import path of a class or function for a file; the public path if a package exports the name.

    File paths are relative to `folder`, or absolute if `folder` is None. Raises `UnsupportedFeature` if the class or
    function cannot be imported.
    """
    module, name = sys.modules.get(cls.__module__), cls.__name__
    if cls.__module__ == "__main__" or "<locals>" in cls.__qualname__ or getattr(module, name, None) is not cls:
        raise UnsupportedFeature(
            f"{name} cannot be imported by name; move the class to the top level of a module before saving"
        )
    source = cls.__module__
    if source.startswith(PREFIX):
        source = str(getattr(module, "__file__", source))
        source = source if folder is None else os.path.relpath(source, folder.absolute())
        return f"{source}:{name}"
    package, _, last = source.rpartition(".")
    while last.startswith("_"):  # private modules may move, but files must stay valid
        if getattr(sys.modules.get(package), name, None) is cls:
            return f"{package}:{name}"
        package, _, last = package.rpartition(".")
    return f"{source}:{name}"
