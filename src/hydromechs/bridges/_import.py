"""Packages of others, where they are installed."""

from __future__ import annotations

import importlib
from types import ModuleType


def import_extra(module: str, extra: str, wanted: str) -> ModuleType:
    """A module of an extra, or an error that names the extra.

    Args:
        module: Name of the module.
        extra: The extra of this package that brings it.
        wanted: The function that needs it, for the message.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise ModuleNotFoundError(
            f"{wanted} needs {module}, which is not installed: pip install 'hydromechs[{extra}]'", name=module
        ) from None
