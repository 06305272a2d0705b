"""Packages of others, where they are installed."""

from __future__ import annotations

import importlib
from types import ModuleType


def import_extra(module: str, extra: str, wanted: str) -> ModuleType:
    """A module that an extra of this package brings, or an error that names the extra and what is `wanted`."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise ModuleNotFoundError(
            f"{wanted} needs {module}, which is not installed: pip install 'hydromechs[{extra}]'", name=module
        ) from None
