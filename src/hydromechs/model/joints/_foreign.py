"""Joints in third-party formats and engines: one table per format or engine, from joint class to counterpart."""

from collections.abc import Mapping
from typing import Any, TypeVar

from hydromechs.errors import UnsupportedFeature

from ._joint import Joint

T = TypeVar("T")


def missing(table: Mapping[type[Joint], Any], joint: Joint, where: str, remedy: str, kind: str = "") -> str:
    """Return a message if the class of a joint is missing from the table of a third-party format or engine; otherwise "".

    `where` names the format or engine with its article. The remedy is an imperative. `kind` defaults to the kind of the
    joint.
    """
    if type(joint) in table:
        return ""
    known = ", ".join(cls.kind for cls in table)
    return f"{where} has no {kind or joint.kind} joint, only {known}; {remedy}"


def foreign(table: Mapping[type[Joint], T], joint: Joint, name: str, where: str, remedy: str) -> T:
    """Return the entry of a joint's class in the table of a format or engine; raise `UnsupportedFeature` if it is missing."""
    if text := missing(table, joint, where, remedy):
        raise UnsupportedFeature(f"{name}: {text}")
    return table[type(joint)]
