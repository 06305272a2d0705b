"""Names of a package that are loaded when first used, so that importing stays light."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["lazy_names"]


def lazy_names(package: str, later: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose other names live in modules that are loaded when first used.

    Args:
        package: Name of the package.
        later: Module of each name, absolute or relative to the package, and its name there after a colon where it differs;
            ":" alone stands for the module itself.
    """

    def get(name: str) -> Any:
        if name not in later:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, colon, other = later[name].partition(":")
        found = import_module(module, package)
        return found if colon and not other else getattr(found, other or name)

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *later})

    return get, names
