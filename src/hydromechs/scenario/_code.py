"""Python code that a scenario names: looked at without running it, and found when the scenario is run.

A reference is "package.module:Name", or "path/file.py:Name". A scenario with such a reference is a program: running it runs
that code, with the rights of whoever runs it.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.machinery
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
from hydromechs.values import nearest, positive

from ._assemble import pairs

__all__ = ["CONTROLLERS", "ComponentSpec", "ControllerSpec", "code_fault"]

CONTROLLERS = gnc.CONTROLLERS
"""Controllers of the library by name."""


# -- looking without running ------------------------------------------------------------------------------------------------


def _origin_of(module: str) -> str | None:
    """The file of a module, or what it is built into, found without importing anything; None where there is no such module."""
    if module in sys.builtin_module_names:
        return "built-in"
    path: Any = None
    origin = None
    names = module.split(".")
    for k in range(len(names)):
        spec = importlib.machinery.PathFinder.find_spec(".".join(names[: k + 1]), path)
        if spec is None:
            return None
        path, origin = spec.submodule_search_locations, spec.origin or "namespace"
    return origin


def code_fault(reference: str, what: str, known: Mapping[str, Any] | None = None) -> str | None:
    """What is wrong with a reference to code, without running any of it; None if nothing can be seen.

    Args:
        reference: "package.module:Name" or "path/file.py:Name", or a name of the library.
        what: What it should be, as "controller".
        known: Names of the library.
    """
    known = known or {}
    if reference in known:
        return None
    module, colon, name = reference.rpartition(":")
    if not colon or not module or not name:
        hint = nearest(reference, known) if known else ""
        return f"no {what} {reference!r}{hint}; or write 'package.module:Name' or 'file.py:Name'"
    if module.endswith(".py"):
        source = Path(module)
        if not source.is_file():
            return f"there is no file {module!r}; its path is relative to the scenario file"
    else:
        origin = _origin_of(module)
        if origin is None:
            return f"there is no module {module!r}; is it installed?"
        source = Path(origin)
        if source.suffix != ".py":
            return None  # compiled: nothing to read
    try:
        tree = ast.parse(source.read_text(encoding="utf-8"), str(source))
    except (SyntaxError, UnicodeDecodeError) as e:
        return f"{module!r} cannot be read as Python: {e}"
    defined = {n.name for n in tree.body if isinstance(n, ast.ClassDef | ast.FunctionDef)}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            defined |= {t.id for t in node.targets if isinstance(t, ast.Name)}
        elif isinstance(node, ast.Import | ast.ImportFrom):
            defined |= {(a.asname or a.name).split(".")[0] for a in node.names}
    dynamic = any(isinstance(n, ast.If | ast.Try | ast.With | ast.For) for n in tree.body) or "__getattr__" in defined
    if name not in defined and "*" not in defined and not dynamic:
        return f"{module!r} has no class or function {name!r}{nearest(name, defined)}"
    return None


# -- running it ---------------------------------------------------------------------------------------------------------------


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
            names = [n for n, x in vars(found).items() if callable(x) and not n.startswith("_")]
            raise self._wrong(at, f"{module!r} has no class or function {name!r}{nearest(name, names)}")
        return target

    def _called(self, target: Callable[..., Any], arguments: Mapping[str, object], where: tuple[str | int, ...]) -> Any:
        at, takes = (*where, "parameters"), inspect.signature(target).parameters
        wants = [n for n, p in takes.items() if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        more = any(p.kind is p.VAR_KEYWORD for p in takes.values())
        for name in [n for n in arguments if n not in takes and not more]:
            raise self._wrong(at, f"{self.type} does not take {name!r}{nearest(name, takes)}")
        for name in [n for n in wants if n not in arguments]:
            raise self._wrong(at, f"{self.type} needs {name!r}; it takes {', '.join(takes)}")
        try:
            return target(**arguments)
        except (TypeError, ValueError, KeyError) as e:
            raise self._wrong(at, f"{self.type} does not take them: {words_of(e)}") from e


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSpec(_Spec):
    """A controller by name, with what it is made from."""

    _what = "controller"

    period: float
    """Time between two of its calls [s]."""

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
                words = f"{self.type!r} is a function, which takes none; leave them out, or name a class"
                raise self._wrong((*where, "parameters"), words)
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
            raise self._wrong((*where, "type"), f"{self.type} is {target!r}, must be a class derived from hydromechs.Component")
        return self._called(target, self.parameters, where)
