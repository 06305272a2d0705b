"""Joints in third-party formats and engines: one table for each, from class to counterpart."""

from collections.abc import Mapping
from typing import Any, TypeVar

from hydromechs.errors import UnsupportedFeature

from ._joint import Joint

T = TypeVar("T")


def missing(table: Mapping[type[Joint], Any], joint: Joint, where: str, remedy: str, kind: str = "") -> str:
    """Return the message about a joint whose class is missing from the table of a third-party format or engine, else "".

    `where` names the format or engine with its article; the remedy is an imperative; `kind` defaults to that of the joint.
    """
    if type(joint) in table:
        return ""
    known = ", ".join(cls.kind for cls in table)
    return f"{where} has no {kind or joint.kind} joint, only {known}; {remedy}"


def foreign(table: Mapping[type[Joint], T], joint: Joint, name: str, where: str, remedy: str) -> T:
    """Return the row of a joint's class in the table of a format or engine; `UnsupportedFeature` names the owner otherwise."""
    if text := missing(table, joint, where, remedy):
        raise UnsupportedFeature(f"{name}: {text}")
    return table[type(joint)]
