"""Lazy loading of names in packages, which keeps imports fast, and of modules in extras."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any


def lazy_names(
    package: str, later: Mapping[str, Iterable[str]], modules: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and names for lazily loaded names by module ("there as here") and `modules`."""
    homes = {name.rpartition(" as ")[2]: (module, name.partition(" as ")[0]) for module in later for name in later[module]}
    modules = set(modules)

    def get(name: str) -> Any:
        if name in modules:
            return import_module(f".{name}", package)
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, there = homes[name]
        return getattr(import_module(module, package), there)

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes, *modules})

    return get, names, list(homes)


def import_extra(module: str, extra: str, wanted: str, more: str = "") -> ModuleType:
    """Import a module of an extra, or raise an error that names the extra and the `wanted` feature, followed by `more`."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        install = f"pip install 'hydromechs[{extra}]'"
        raise ModuleNotFoundError(f"{wanted} requires {module}, which is not installed: {install}{more}", name=module) from None
