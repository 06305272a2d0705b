"""Python code that a file names, imported and called.

A reference is "package.module:Name", or "path/file.py:Name". A file with such a reference is a program: running it runs that
code, with the rights of whoever runs it.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from hydromechs.errors import CodeNotAllowed, message_of
from hydromechs.registry import module_afresh
from hydromechs.values import nearest

from ._code_look import DERIVED, NOTHING, call_faults, code_fault

__all__ = ["CodeError", "called", "is_foreign", "kind_of", "named_code"]


def is_foreign(reference: str) -> bool:
    """True if a reference names code outside this package.

    Args:
        reference: "package.module:Name" or "path/file.py:Name".
    """
    module = reference.rpartition(":")[0]
    return module.endswith(".py") or module.partition(".")[0] != "hydromechs"


class CodeError(ValueError):
    """What is wrong with code that is named, in words."""


def named_code(
    reference: str,
    what: str,
    known: Mapping[str, Callable[..., Any]],
    file: str,
    module_of: Callable[[str], Any] = module_afresh,
    locked: str = "",
) -> Callable[..., Any]:
    """Import the class or function that a reference names; raise `CodeError`, or `CodeNotAllowed` for locked code.

    This is the only function that imports code named by a file.

    Args:
        reference: "package.module:Name" or "path/file.py:Name", or a name of the library.
        what: What it should be, for example "controller".
        known: Library names.
        file: The file to which paths are relative, for messages.
        module_of: Returns the module in a file.
        locked: Location of the reference in a file whose code is not allowed; only code of this package is then imported.
    """
    if reference in known:
        return known[reference]
    if locked and is_foreign(reference):
        raise CodeNotAllowed([f"{what} {reference!r} in {locked}"])
    module, colon, name = reference.rpartition(":")
    if not colon:
        raise CodeError(code_fault(reference, what, known) or "cannot be found")
    try:
        found = module_of(module) if module.endswith(".py") else importlib.import_module(module)
    except FileNotFoundError:
        raise CodeError(f"there is no file {module!r}; its path is relative to {file}") from None
    except Exception as e:  # code of a user's own
        raise CodeError(f"{module!r} cannot be imported: {type(e).__name__}: {message_of(e)}") from e
    target = getattr(found, name, None)
    if not callable(target):
        own = {n: x for n, x in vars(found).items() if callable(x) and not n.startswith("_")}
        names = [n for n, x in own.items() if getattr(x, "__module__", None) == found.__name__]
        raise CodeError(f"{module!r} has no class or function {name!r}{nearest(name, names)}")
    return target


def kind_of(target: object) -> str:
    """What something is that code names, in words: "a class derived from A", "a function".

    Args:
        target: What was found under the name.
    """
    if inspect.isclass(target):
        return DERIVED.format(", ".join(base.__name__ for base in target.__bases__ if base is not object) or NOTHING)
    return "a function" if inspect.isfunction(target) else f"an object of the type {type(target).__name__}"


def called(reference: str, target: Callable[..., Any], arguments: Mapping[str, object]) -> Any:
    """What a class or function gives for arguments by name; raises `CodeError`.

    Args:
        reference: What names it, for messages.
        target: The class or function.
        arguments: What it is called with.
    """
    takes = inspect.signature(target).parameters
    named = {n: p for n, p in takes.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    more = any(p.kind is p.VAR_KEYWORD for p in takes.values())
    for words in call_faults(reference, {n: p.default is p.empty for n, p in named.items()}, arguments, more):
        raise CodeError(words)
    try:
        return target(**arguments)
    except (TypeError, ValueError, KeyError) as e:
        raise CodeError(f"{reference} does not take them: {message_of(e)}") from e
