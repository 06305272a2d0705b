"""Objects that keep the arguments of which they were made, so that files can hold them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np


class Described:
    """Object that keeps its arguments. Objects of one class with equal arguments are equal.

    The base of classes that have a constructor of their own, because they change while they run; other parts are dataclasses.
    """

    arguments: Mapping[str, Any] = MappingProxyType({})
    """Values by argument, with defaults; lists are tuples."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        init = vars(cls).get("__init__")
        if init is None:
            return

        @functools.wraps(init)
        def kept(self: Any, *values: Any, **named: Any) -> None:
            if "arguments" not in vars(self):  # the outermost class, not its bases
                vars(self)["arguments"] = _bound(init, (self, *values), named)
            init(self, *values, **named)

        cls.__init__ = kept  # type: ignore[method-assign]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in self.arguments.items())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Described) and type(self) is type(other) and self.arguments == other.arguments

    def __hash__(self) -> int:
        return hash((type(self), repr(self.arguments)))


def _bound(init: Any, values: tuple, named: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        bound = inspect.signature(init).bind(*values, **named)
    except TypeError:  # the constructor raises it
        return MappingProxyType({})
    bound.apply_defaults()
    given = dict(list(bound.arguments.items())[1:])
    for name, parameter in inspect.signature(init).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            given |= given.pop(name)
    return {name: _frozen(value) for name, value in given.items()}


def _frozen(value: Any) -> Any:
    """Lists, arrays and mappings as tuples and new dictionaries, so that what is kept does not change."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if type(value) in (list, tuple):
        return tuple(map(_frozen, value))
    return {key: _frozen(x) for key, x in value.items()} if isinstance(value, Mapping) else value
