"""Python code that a scenario names, looked at without running it: is it there, and does it take what it is given?"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import importlib.machinery
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hydromechs import files
from hydromechs.values import nearest

from . import joints

__all__ = [
    "COMPONENT",
    "CONTROLLER",
    "DERIVED",
    "FUNCTION",
    "JOINT",
    "NOTHING",
    "call_faults",
    "class_constants",
    "code_fault",
    "component_fault",
    "controller_fault",
    "joint_fault",
    "parameter_faults",
]

COMPONENT = "{} is {}, must be a class derived from hydromechs.Component"
"""What to say of a component that is something else."""

CONTROLLER = "{} is {}, must be a function or a class derived from hydromechs.Controller, so that a run can be resumed"
"""What to say of a controller that is something else."""

DERIVED, NOTHING = "a class derived from {}", "nothing"
"""What to call a class, and the base of one that has none."""

FUNCTION = "{!r} is a function, which takes none; leave them out, or name a class"
"""What to say of a function that is given parameters."""

JOINT = "{} is {}, must be a class derived from hydromechs.joints.Joint"
"""What to say of a joint that is something else."""

BASES: dict[str, dict[str, bool]] = {
    "Component": {},
    "Controller": {},
    "CustomJoint": {f.name: False for f in dataclasses.fields(joints.CustomJoint)},
    "Joint": {f.name: False for f in dataclasses.fields(joints.Joint)},
}
"""Arguments of the library's classes that users derive theirs from, and whether each is needed."""


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


def _read(module: str) -> ast.Module | str | None:
    """The code of "package.module" or "path/file.py"; what is wrong with it, in words; None where it is compiled."""
    if module.endswith(".py"):
        source = Path(module)
        if not source.is_file():
            return f"there is no file {module!r}; its path is relative to the file that names it"
    else:
        origin = _origin_of(module)
        if origin is None:
            return f"there is no module {module!r}; is it installed?"
        source = Path(origin)
        if source.suffix != ".py":
            return None
    try:
        return ast.parse(files.read_text(source), str(source))
    except (RecursionError, MemoryError):
        return f"{module!r} is nested too deeply to be read"
    except (SyntaxError, ValueError, OSError) as e:
        return f"{module!r} cannot be read as Python: {e}"


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
    tree = _read(module)
    if not isinstance(tree, ast.Module):
        return tree
    own = [n.name for n in tree.body if isinstance(n, ast.ClassDef | ast.FunctionDef)]
    others = _imported(tree) | _assigned(tree.body)
    dynamic = any(isinstance(n, ast.If | ast.Try | ast.With | ast.For) for n in tree.body) or "__getattr__" in own
    if name not in own and not others & {name, "*"} and not dynamic:
        return f"{module!r} has no class or function {name!r}{nearest(name, [n for n in own if not n.startswith('_')])}"
    return None


def component_fault(reference: str) -> str | None:
    """What is wrong with a reference to a component, as `code_fault` says it; a function is none.

    Args:
        reference: "package.module:Name" or "path/file.py:Name".
    """
    missing = code_fault(reference, "component")
    return missing or _function_fault(reference, COMPONENT) or _base_fault(reference, "Component", COMPONENT)


def joint_fault(reference: str) -> str | None:
    """What is wrong with a reference to a type of joint, as `code_fault` says it; a function is none.

    Args:
        reference: "package.module:Name" or "path/file.py:Name".
    """
    missing = code_fault(reference, "joint")
    return missing or _function_fault(reference, JOINT) or _base_fault(reference, "Joint", JOINT)


def controller_fault(reference: str, known: Mapping[str, Any]) -> str | None:
    """What is wrong with a reference to a controller, as `code_fault` says it.

    Args:
        reference: "package.module:Name" or "path/file.py:Name", or a name of the library.
        known: Names of the library.
    """
    return code_fault(reference, "controller", known) or _base_fault(reference, "Controller", CONTROLLER)


def _function_fault(reference: str, words: str) -> str | None:
    """That a reference names a function where a class must be."""
    module, _, name = reference.rpartition(":")
    tree = _read(module)
    found = _found(tree, name) if isinstance(tree, ast.Module) else None
    function = isinstance(found, ast.FunctionDef) and not found.decorator_list
    return words.format(reference, "a function") if function else None


def _base_fault(reference: str, base: str, words: str) -> str | None:
    """That a class does not derive from a class of the library, where the bases of all its bases can be seen."""
    module, _, name = reference.rpartition(":")
    tree = _read(module) if module else None
    found = _found(tree, name) if isinstance(tree, ast.Module) else None
    if not isinstance(tree, ast.Module) or not isinstance(found, ast.ClassDef) or _may_derive(tree, found, base):
        return None
    bases = ", ".join(text for text in map(ast.unparse, found.bases) if text != "object")
    return words.format(reference, DERIVED.format(bases or NOTHING))


def _may_derive(tree: ast.Module, kind: ast.ClassDef, base: str) -> bool:
    """Whether a class derives from a class of the library, or could, as far as can be seen."""
    if kind.keywords or not all(map(_dataclass, kind.decorator_list)):
        return True
    for other in kind.bases:
        found = _found(tree, other.id) if isinstance(other, ast.Name) and other.id not in _imported(tree) else None
        if isinstance(found, ast.ClassDef):
            if found.lineno >= kind.lineno or _may_derive(tree, found, base):
                return True
        elif ast.unparse(other) != "object" and _library_class(tree, other) in (base, f"Custom{base}", None):
            return True
    return False


def _imported(tree: ast.Module) -> set[str]:
    imports = (n for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom))
    return {(a.asname or a.name).split(".")[0] for n in imports for a in n.names}


def _assigned(body: Iterable[ast.stmt]) -> set[str]:
    return {t.id for n in body if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)}


# -- what it takes ----------------------------------------------------------------------------------------------------------


def call_faults(name: str, takes: Mapping[str, bool], given: Iterable[str], more: bool = False) -> list[str]:
    """What is wrong with the names of arguments, in words.

    Args:
        name: What is called.
        takes: Names of its arguments, and whether each is needed.
        given: Names of what it is called with.
        more: Whether it takes arguments of any name.
    """
    given = list(given)
    unknown = [] if more else [n for n in given if n not in takes]
    missing = [n for n, needed in takes.items() if needed and n not in given]
    return [
        *(f"{name} does not take {n!r}{nearest(n, takes)}" for n in unknown),
        *(f"{name} needs {n!r}; it takes {', '.join(takes)}" for n in missing),
    ]


def parameter_faults(reference: str, parameters: Iterable[str], always: Iterable[str] = ()) -> list[str]:
    """What is wrong with the names of a class's arguments, without running it; nothing where its signature is not plain.

    Args:
        reference: "package.module:Name" or "path/file.py:Name".
        parameters: Names of what the scenario gives it.
        always: Names of what a class is given besides.
    """
    module, _, name = reference.rpartition(":")
    tree, parameters = _read(module) if module else None, list(parameters)
    found = _found(tree, name) if isinstance(tree, ast.Module) else None
    if isinstance(found, ast.FunctionDef):
        return [FUNCTION.format(reference)] if parameters and not found.decorator_list else []
    takes = _taken(tree, name) if isinstance(tree, ast.Module) else None
    return [] if takes is None else call_faults(reference, takes, [*parameters, *always])


def class_constants(reference: str, names: Iterable[str]) -> dict[str, Any]:
    """Attributes that a class, or a base of it in the same file, writes as constants, without running it.

    Args:
        reference: "package.module:Name" or "path/file.py:Name".
        names: Names of the attributes.
    """
    module, _, name = reference.rpartition(":")
    tree = _read(module) if module else None
    out: dict[str, Any] = {}
    found = _found(tree, name) if isinstance(tree, ast.Module) else None
    while isinstance(tree, ast.Module) and isinstance(found, ast.ClassDef):
        for n in found.body:
            target = n.targets[0] if isinstance(n, ast.Assign) else n.target if isinstance(n, ast.AnnAssign) else None
            if isinstance(target, ast.Name) and target.id in names and n.value is not None:  # type: ignore[attr-defined]
                with contextlib.suppress(ValueError):
                    out.setdefault(target.id, ast.literal_eval(n.value))  # type: ignore[attr-defined]
        base = found.bases[0] if len(found.bases) == 1 else None
        found = _found(tree, base.id) if isinstance(base, ast.Name) else None
    return out


def _found(tree: ast.Module, name: str) -> ast.ClassDef | ast.FunctionDef | None:
    """The only class or function of a name."""
    found = [n for n in tree.body if isinstance(n, ast.ClassDef | ast.FunctionDef) and n.name == name]
    return found[0] if len(found) == 1 and name not in _assigned(tree.body) else None


def _taken(tree: ast.Module, name: str) -> dict[str, bool] | None:
    """Arguments of a class and whether each is needed; None where that cannot be read off."""
    kind = _found(tree, name)
    if not isinstance(kind, ast.ClassDef) or kind.keywords:
        return None
    methods = {n.name: n for n in kind.body if isinstance(n, ast.FunctionDef)}
    marks = [_dataclass(mark) for mark in kind.decorator_list]
    if "__new__" in methods or not all(marks):
        return None
    if "__init__" in methods:
        return _arguments(methods["__init__"])
    if len(kind.bases) > 1:
        return None
    takes = _inherited(tree, kind.bases[0]) if kind.bases else {}
    if takes is None or not marks:
        return takes
    for n in kind.body:
        if isinstance(n, ast.If | ast.For | ast.Try | ast.With):
            return None
        if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name):
            words = ast.unparse(n.annotation)
            needed = _needed(n.value)
            if not any(x in words for x in ("ClassVar", "KW_ONLY")) and needed is not None:
                takes[n.target.id] = needed
    return takes


def _inherited(tree: ast.Module, base: ast.expr) -> dict[str, bool] | None:
    """Arguments of a base: of a class of the file, or one of the library's."""
    if isinstance(base, ast.Name) and base.id not in _imported(tree):
        return _taken(tree, base.id)
    found = _library_class(tree, base)
    return None if found is None else dict(BASES[found])


def _library_class(tree: ast.Module, base: ast.expr) -> str | None:
    """Which class of the library, of those that users derive theirs from, a base is; None for others."""
    library = {a.asname or a.name for n in tree.body for a in _from_library(n)}
    first, _, last = ast.unparse(base).rpartition(".")
    return last if last in BASES and (first or last).partition(".")[0] in library else None


def _from_library(n: ast.stmt) -> list[ast.alias]:
    if isinstance(n, ast.ImportFrom):
        return n.names if (n.module or "").partition(".")[0] == "hydromechs" else []
    return [a for a in n.names if a.name.partition(".")[0] == "hydromechs"] if isinstance(n, ast.Import) else []


def _dataclass(mark: ast.expr) -> bool:
    """Whether a decorator is a plain `dataclass`, which writes the constructor."""
    call = mark if isinstance(mark, ast.Call) else None
    plain = call is None or all(k.arg not in (None, "init") for k in call.keywords)
    return plain and ast.unparse(mark if call is None else call.func) in ("dataclass", "dataclasses.dataclass")


def _needed(value: ast.expr | None) -> bool | None:
    """Whether a field with this default must be given; None where it is not an argument."""
    if isinstance(value, ast.Call) and ast.unparse(value.func) in ("field", "dataclasses.field"):
        options = {k.arg: k.value for k in value.keywords}
        if "init" in options:
            return None if ast.unparse(options["init"]) == "False" else False
        return not {"default", "default_factory", None} & set(options)
    return value is None


def _arguments(made: ast.FunctionDef) -> dict[str, bool] | None:
    """Arguments of a constructor that can be given by name; None where it takes any, or some by place only."""
    a = made.args
    if a.kwarg is not None or a.posonlyargs or not a.args or made.decorator_list:
        return None
    optional = [*[False] * (len(a.args) - len(a.defaults)), *[True] * len(a.defaults)]
    both = [*zip(a.args, optional, strict=True), *zip(a.kwonlyargs, [d is not None for d in a.kw_defaults], strict=True)]
    return {x.arg: not given for x, given in both[1:]}
