"""Joints in third-party formats and engines: one table each, from class to its counterpart there."""

from collections.abc import Mapping
from typing import Any, TypeVar

from hydromechs.errors import UnsupportedFeature

from ._joint import Joint

T = TypeVar("T")


def missing(table: Mapping[type[Joint], Any], joint: Joint, where: str, remedy: str, kind: str = "") -> str:
    """The message about a joint whose class has no row in the table of a third-party format or engine; empty if it has one.

    `where` names the format or engine with its article; the remedy is an imperative; `kind` defaults to that of the joint.
    """
    if type(joint) in table:
        return ""
    known = ", ".join(cls.kind for cls in table)
    return f"{where} has no {kind or joint.kind} joint, only {known}; {remedy}"


def foreign(table: Mapping[type[Joint], T], joint: Joint, name: str, where: str, remedy: str) -> T:
    """The row of a joint's class in the table of a format or engine; `UnsupportedFeature` naming the owner if there is none."""
    if text := missing(table, joint, where, remedy):
        raise UnsupportedFeature(f"{name}: {text}")
    return table[type(joint)]
