"""Python code that a scenario names, found and called when the scenario is run.

A reference is "package.module:Name", or "path/file.py:Name". A scenario with such a reference is a program: running it runs
that code, with the rights of whoever runs it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from hydromechs.errors import ScenarioError
from hydromechs.model.code import COMPONENT, CONTROLLER, FUNCTION, CodeError, called, is_foreign, kind_of, named_code
from hydromechs.model.component import Component
from hydromechs.simulation import Block, Controller, FunctionController, Phase
from hydromechs.values import Positive, positive

from ._assemble import pairs
from ._controllers import CONTROLLERS

__all__ = ["ComponentSpec", "ControllerSpec"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spec:
    """Something made by code that is named."""

    type: str
    """What makes it: a name of the library, "package.module:Name", or "path/file.py:Name"."""
    parameters: Mapping[str, object] = field(default_factory=dict)
    """What it is called with, by name."""
    locked: str = field(default="", compare=False, repr=False)
    """Location in a file, for example "mission.yaml, line 6", if the file's code is not allowed to run; otherwise empty."""

    _what: ClassVar[str]
    """What it makes, in a word."""

    def _wrong(self, where: tuple[str | int, ...], words: str) -> ScenarioError:
        key = ".".join([getattr(self, "name", f"{where[0]}.{where[1]}"), *map(str, where[2:])])
        return ScenarioError(key, [f"{key}: {words}"], [where])

    @property
    def runs_code(self) -> bool:
        """True if it runs third-party Python code that is named by a path or a module."""
        return self.type not in CONTROLLERS and is_foreign(self.type)

    @property
    def is_locked(self) -> bool:
        """True if it names third-party code that is not allowed to run."""
        return bool(self.locked) and self.runs_code

    def _found(self, known: Mapping[str, Callable[..., Any]], where: tuple[str | int, ...]) -> Callable[..., Any]:
        """The class or function; `where` it stands in a scenario, for messages."""
        try:
            return named_code(self.type, self._what, known, "the scenario file", locked=self.locked)
        except CodeError as e:
            raise self._wrong((*where, "type"), str(e)) from e.__cause__

    def _called(self, target: Callable[..., Any], arguments: Mapping[str, object], where: tuple[str | int, ...]) -> Any:
        try:
            return called(self.type, target, arguments)
        except CodeError as e:
            raise self._wrong((*where, "parameters"), str(e)) from e.__cause__


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSpec(_Spec, Block):
    """A controller by name, with what it is made from: a block."""

    _what = "controller"

    period: Positive
    """Time between two of its calls, a whole number of steps [s]."""
    name: str = "controller"
    """Name, unique among the blocks; it is put before its signals if there are several controllers."""
    phase: Phase = field(default_factory=Phase)
    """Time in which it runs."""

    def __post_init__(self) -> None:
        if not isinstance(self.type, str):
            raise ValueError(f"controller.type is {self.type!r}, must be a text")
        object.__setattr__(self, "period", positive(self.period, "controller.period"))
        object.__setattr__(self, "parameters", dict(pairs(self.parameters, "controller.parameters")))

    def make(self, number: int = 0) -> Controller:
        """Return a new controller; raises `ScenarioError` that names the key.

        Args:
            number: Its place among the blocks of the scenario, from 0.
        """
        where = ("blocks", number)
        target = self._found(CONTROLLERS, where)
        trusted = inspect.isclass(target) and issubclass(target, Controller)
        if self.locked and not trusted:  # a file must not call arbitrary classes and functions of this package
            raise self._wrong((*where, "type"), CONTROLLER.format(self.type, kind_of(target)))
        if not inspect.isclass(target):
            if self.parameters:
                raise self._wrong((*where, "parameters"), FUNCTION.format(self.type))
            return FunctionController(target, self.period)
        made = self._called(target, {**self.parameters, "period": self.period}, where)
        if not isinstance(made, Controller):
            raise self._wrong((*where, "type"), CONTROLLER.format(self.type, kind_of(target)))
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
            raise self._wrong((*where, "type"), COMPONENT.format(self.type, kind_of(target)))
        return self._called(target, self.parameters, where)
