"""Python code that a scenario names, found and called when the scenario is run.

A reference is "package.module:Name", or "path/file.py:Name". A scenario with such a reference is a program: running it runs
that code, with the rights of whoever runs it.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from hydromechs import gnc
from hydromechs.errors import ScenarioError, words_of
from hydromechs.model.component import Component
from hydromechs.simulation import Controller
from hydromechs.values import Positive, nearest, positive

from ._assemble import pairs
from ._look import COMPONENT, FUNCTION, call_faults, code_fault

__all__ = ["CONTROLLERS", "ComponentSpec", "ControllerSpec"]

CONTROLLERS = gnc.CONTROLLERS
"""Controllers of the library by name."""


def _module_of_file(path: str) -> Any:
    """The module in a file, run afresh."""
    name = f"hydromechs_code_{hashlib.sha256(path.encode()).hexdigest()[:12]}"
    if not Path(path).is_file():
        raise FileNotFoundError(path)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look up their module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spec:
    """Something made by code that is named."""

    type: str
    """What makes it: a name of the library, "package.module:Name", or "path/file.py:Name"."""
    parameters: Mapping[str, object] = field(default_factory=dict)
    """What it is called with, by name."""

    _what: ClassVar[str]
    """What it makes, in a word."""

    def _wrong(self, where: tuple[str | int, ...], words: str) -> ScenarioError:
        key = ".".join(map(str, where))
        return ScenarioError(key, [f"{key}: {words}"], [where])

    @property
    def runs_code(self) -> bool:
        """Whether it runs Python code that is named by a path or a module: all but the controllers of the library."""
        return self.type not in CONTROLLERS

    def _found(self, known: Mapping[str, Callable[..., Any]], where: tuple[str | int, ...]) -> Callable[..., Any]:
        """The class or function; `where` it stands in a scenario, for messages."""
        at = (*where, "type")
        if self.type in known:
            return known[self.type]
        module, colon, name = self.type.rpartition(":")
        if not colon:
            raise self._wrong(at, code_fault(self.type, self._what, known) or "cannot be found")
        try:
            found = _module_of_file(module) if module.endswith(".py") else importlib.import_module(module)
        except FileNotFoundError:
            raise self._wrong(at, f"there is no file {module!r}; its path is relative to the scenario file") from None
        except Exception as e:  # code of a user's own
            raise self._wrong(at, f"{module!r} cannot be imported: {type(e).__name__}: {words_of(e)}") from e
        target = getattr(found, name, None)
        if not callable(target):
            own = {n: x for n, x in vars(found).items() if callable(x) and not n.startswith("_")}
            names = [n for n, x in own.items() if getattr(x, "__module__", None) == found.__name__]
            raise self._wrong(at, f"{module!r} has no class or function {name!r}{nearest(name, names)}")
        return target

    def _called(self, target: Callable[..., Any], arguments: Mapping[str, object], where: tuple[str | int, ...]) -> Any:
        at, takes = (*where, "parameters"), inspect.signature(target).parameters
        named = {n: p for n, p in takes.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
        more = any(p.kind is p.VAR_KEYWORD for p in takes.values())
        for words in call_faults(self.type, {n: p.default is p.empty for n, p in named.items()}, arguments, more):
            raise self._wrong(at, words)
        try:
            return target(**arguments)
        except (TypeError, ValueError, KeyError) as e:
            raise self._wrong(at, f"{self.type} does not take them: {words_of(e)}") from e


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSpec(_Spec):
    """A controller by name, with what it is made from."""

    _what = "controller"

    period: Positive
    """Time between two of its calls, a whole number of steps [s]."""

    def __post_init__(self) -> None:
        if not isinstance(self.type, str):
            raise ValueError(f"controller.type is {self.type!r}, must be a text")
        object.__setattr__(self, "period", positive(self.period, "controller.period"))
        object.__setattr__(self, "parameters", dict(pairs(self.parameters, "controller.parameters")))

    def make(self) -> Controller | Callable[..., Any]:
        """The controller: a new object of the class, or the function; raises `ScenarioError` that names the key."""
        where = ("controller",)
        target = self._found(CONTROLLERS, where)
        if not inspect.isclass(target):
            if self.parameters:
                raise self._wrong((*where, "parameters"), FUNCTION.format(self.type))
            return target
        made = self._called(target, {**self.parameters, "period": self.period}, where)
        if not isinstance(made, Controller):
            words = f"{self.type} must derive from hydromechs.Controller, so that a run can be resumed"
            raise self._wrong((*where, "type"), words)
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentSpec(_Spec):
    """A component by the name of its class, with what it is made from."""

    _what = "component"

    def __post_init__(self) -> None:
        if not isinstance(self.type, str):
            raise ValueError(f"components.type is {self.type!r}, must be a text")
        object.__setattr__(self, "parameters", dict(pairs(self.parameters, "components.parameters")))

    def make(self, number: int = 0) -> Component:
        """The component; raises `ScenarioError` that names the key.

        Args:
            number: Its place among the components of the scenario, from 0.
        """
        where = ("components", number)
        target = self._found({}, where)
        if not (inspect.isclass(target) and issubclass(target, Component)):
            raise self._wrong((*where, "type"), COMPONENT.format(self.type, repr(target)))
        return self._called(target, self.parameters, where)
