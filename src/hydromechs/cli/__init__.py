"""The command `hydromechs`."""

from ._main import main

__all__ = ["main"]
