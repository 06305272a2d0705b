"""Other codes, where they are installed."""

from __future__ import annotations

import importlib
from types import ModuleType


def import_peer(name: str) -> ModuleType:
    """The module `name` of another code, or an error that says how to get it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise ModuleNotFoundError("crosscheck needs DART, Pinocchio and MuJoCo: pip install 'hydromechs[dev]'") from None
