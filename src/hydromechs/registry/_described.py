"""Objects that keep their constructor arguments, so that files can store them."""

import functools
import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np


class Described:
    """Base of stateful parts with a constructor: keeps its arguments, which decide if two objects of one class are equal."""

    arguments: Mapping[str, Any] = MappingProxyType({})
    """Values by argument, including defaults; lists are stored as tuples."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        init = vars(cls).get("__init__")
        if init is None:
            return

        @functools.wraps(init)
        def kept(self: Any, *values: Any, **named: Any) -> None:
            if "arguments" not in vars(self):  # the most derived class, not its bases
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
    except TypeError:  # the constructor raises the error
        return MappingProxyType({})
    bound.apply_defaults()
    given = dict(list(bound.arguments.items())[1:])
    for name, parameter in inspect.signature(init).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            given |= given.pop(name)
    return {name: _frozen(value) for name, value in given.items()}


def _frozen(value: Any) -> Any:
    """Return lists, arrays and mappings as tuples and new dictionaries, so that stored values cannot change."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if type(value) in (list, tuple):
        return tuple(map(_frozen, value))
    return {key: _frozen(x) for key, x in value.items()} if isinstance(value, Mapping) else value
