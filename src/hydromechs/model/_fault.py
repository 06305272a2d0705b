"""One fault of a model description."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Fault"]


class Fault(NamedTuple):
    """One fault of a description."""

    path: tuple
    """Where it stands, as keys and indices of the model file, e.g. ("bodies", 2, "inertia", "mass")."""
    text: str
    """Body or joint, value and remedy."""
