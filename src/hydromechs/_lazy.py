"""What is loaded when first used: names of a package, so that importing stays light, and packages of an extra."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any


def lazy_names(
    package: str, later: Mapping[str, Iterable[str]], modules: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__` and `__dir__` of a package with names that are loaded when first used, and these names.

    Args:
        package: Name of the package.
        later: Names by module, absolute or relative to the package; "there as here" if a name differs.
        modules: Names of modules of the package, which are loaded when first used, too; not among the names.
    """
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
    """A module that an extra of this package brings, or an error that names the extra, what is `wanted`, and more."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        install = f"pip install 'hydromechs[{extra}]'"
        raise ModuleNotFoundError(f"{wanted} needs {module}, which is not installed: {install}{more}", name=module) from None
