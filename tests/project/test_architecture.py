"""The structure that DESIGN fixes: who may import whom, file sizes, light imports, documented names."""

import ast
import dataclasses
import functools
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import hydromechs

SOURCE = Path(hydromechs.__file__).parent

EVERYONE = {"errors", "files", "values", "_lazy"}
"""Packages that every package may import."""
MODEL = {"registry", "spatial", "geometry", "model"}
DYNAMICS = {*MODEL, "dynamics"}
EQUATIONS = {*DYNAMICS, "hydro", "compiler", "equations"}
SIMULATION = {*EQUATIONS, "contact", "actuation", "lines", "integrators", "recording", "simulation"}
SCENARIO = {*SIMULATION, "sensors", "navigation", "control", "walking", "hybrid", "scenario"}
MAY_IMPORT = {
    "errors": set(),
    "files": set(),
    "values": set(),
    "_lazy": set(),
    "registry": set(),
    "spatial": set(),
    "geometry": {"registry", "spatial"},
    "model": {"registry", "spatial", "geometry"},
    "dynamics": MODEL,
    "hydro": MODEL,
    "contact": {*DYNAMICS, "compiler"},
    "actuation": MODEL,
    "lines": {*DYNAMICS, "compiler", "contact", "hydro"},
    "naval": {*DYNAMICS, "hydro"},
    "compiler": {"spatial"},
    "equations": EQUATIONS,
    "integrators": {*DYNAMICS, "compiler"},
    "recording": MODEL,
    "simulation": SIMULATION,
    "sensors": SIMULATION,
    "navigation": {*SIMULATION, "sensors"},
    "control": SIMULATION,
    "walking": {*SIMULATION, "control"},
    "hybrid": SIMULATION,
    "scenario": SCENARIO,
    "worlds": SCENARIO,
    "formats": SCENARIO,
    "bridges": {*SCENARIO, "formats"},
    "library": {*SCENARIO, "formats"},
    "projects": {*SCENARIO, "formats", "naval"},
    "viewer": {"recording", "hydro", "contact", "compiler", *DYNAMICS},
    "learning": {*SCENARIO, "formats", "library", "worlds", "viewer"},
    "station": {*SCENARIO, "worlds", "viewer"},
    "browser": {*SCENARIO, "formats", "library", "worlds", "viewer", "station"},
    "sweeps": {*SCENARIO, "formats", "library", "worlds"},
    "identification": {*SCENARIO, "formats", "bridges", "library", "worlds", "viewer", "sweeps", "bench"},
    "bench": {*SCENARIO, "formats", "bridges", "library", "worlds", "viewer"},
    "cli": {
        *SCENARIO,
        "formats",
        "bridges",
        "library",
        "worlds",
        "viewer",
        "station",
        "browser",
        "sweeps",
        "identification",
        "bench",
        "naval",
        "projects",
    },
}
"""DESIGN section 3: which packages a package may import, besides `EVERYONE` and itself."""


def package_of(file: Path) -> str:
    return file.relative_to(SOURCE).parts[0].removesuffix(".py")


@functools.cache
def nodes(file: Path) -> list[ast.AST]:
    """Imports and texts of a file, anywhere in it."""
    kinds = (ast.Import, ast.ImportFrom, ast.Constant)
    return [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, kinds)]


def imported_packages(file: Path) -> set[str]:
    """Packages of hydromechs that a file imports, anywhere in it."""
    out = set()
    here = ["hydromechs", *file.relative_to(SOURCE).with_suffix("").parts]
    for node in nodes(file):
        if isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = (
                ".".join([*here[: len(here) - node.level], *([node.module] if node.module else [])])
                if node.level
                else node.module
            )
            names = [f"{base}.{a.name}" for a in node.names]
        else:
            continue
        out |= {n.split(".")[1] for n in names if n.startswith("hydromechs.") and len(n.split(".")) > 1}
    return out


FILES = [f for f in sorted(SOURCE.rglob("*.py")) if f.relative_to(SOURCE).parts not in (("__init__.py",), ("__main__.py",))]


def together(things, name=str):
    """One test of many things that names all that fail: a thousand of their own would take longer to start than to run."""

    def of_one(test):
        def test_all():
            failed = []
            for thing in things:
                try:
                    test(thing)
                except AssertionError as error:
                    failed.append(f"{name(thing)}: {error}")
            assert not failed, "\n".join(failed)

        test_all.__doc__ = test.__doc__
        return test_all

    return of_one


each_file = together(FILES, lambda file: str(file.relative_to(SOURCE)))


@each_file
def test_imports_follow_the_package_table(file):
    package = package_of(file)
    assert imported_packages(file) <= MAY_IMPORT[package] | EVERYONE | {package, "__version__"}


@each_file
def test_private_names_stay_in_their_package(file):
    """No `from hydromechs.x import _y`, no `hydromechs.x._y`, outside of x."""
    package, out = package_of(file), []
    for node in nodes(file):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and (node.module or "").startswith("hydromechs"):
            path = [*node.module.split(".")[1:], *(a.name for a in node.names)]
            if path[0] not in {package, *EVERYONE} and any(p.startswith("_") and not p.startswith("__") for p in path):
                out.append(f"{node.module}: {', '.join(a.name for a in node.names)}")
    assert not out


@each_file
def test_no_string_names_a_package_above(file):
    """A module named in a string is an import too."""
    package = package_of(file)
    allowed = MAY_IMPORT[package] | EVERYONE | {package}
    texts = [n.value for n in nodes(file) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    named = {m for text in texts for m in re.findall(r"^\W*hydromechs\.(\w+)[.:\w]*$", text)}
    assert not (named & set(MAY_IMPORT)) - allowed


@each_file
def test_files_are_short(file):
    assert len(file.read_text().splitlines()) <= 600


def test_import_is_light_and_silent():
    """No viewer, plotting, peer, compiler or file-format package comes along, and nothing is printed."""
    code = "import hydromechs, sys; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(result.stdout.split())
    heavy = {
        "viser",
        "matplotlib",
        "mujoco",
        "pinocchio",
        "dartpy",
        "casadi",
        "llvmlite",
        "pydantic",
        "yaml",
        "scipy",
        "typer",
        "rich",
        "xarray",
    }
    assert not loaded & heavy
    assert result.stderr == ""


def modules():
    return [m.name for m in pkgutil.walk_packages([str(SOURCE)], "hydromechs.")]


@together(modules())
def test_public_names_exist_and_are_documented(name):
    module = importlib.import_module(name)
    assert module.__doc__ or name.endswith("__main__")
    defined = {n for n, thing in vars(module).items() if not n.startswith("_") and getattr(thing, "__module__", "") == name}
    for public in {*defined, *getattr(module, "__all__", [])}:
        thing = getattr(module, public)
        if inspect.isfunction(thing) or inspect.isclass(thing):
            assert thing.__doc__, f"{name}.{public} has no docstring"


def test_public_names_are_few_and_documented():
    """Completion of `hm.` shows: at most 90 names, each documented and none repeated."""
    shown = dir(hydromechs)
    assert shown == sorted(hydromechs.__all__) and len(set(shown)) == len(shown) <= 90
    assert [name for name in shown if not inspect.getdoc(getattr(hydromechs, name))] == []


def test_no_two_public_classes_share_a_name():
    found = {}
    for name in modules():
        if any(part.startswith("_") for part in name.split(".")):
            continue
        module = importlib.import_module(name)
        for public_name in getattr(module, "__all__", []):
            thing = getattr(module, public_name)
            if inspect.isclass(thing):
                found.setdefault(public_name, {})[id(thing)] = f"{thing.__module__}.{thing.__qualname__}"
    twice = {name: sorted(things.values()) for name, things in found.items() if len(things) > 1}
    assert twice == {}


EQUATIONS = [
    "BodyMotion",
    "ClosedForm",
    "Energy",
    "bias_acceleration",
    "closed_form",
    "closed_form_dynamics",
    "coriolis_matrix_lagrange",
    "damping_force",
    "damping_matrix",
    "flow_force",
    "momentum",
    "operation_count",
    "restoring_force",
]
"""Names of `hydromechs.equations` that users call as they call those of `hydromechs`."""


def public(kind):
    """Names of a kind that users call, with what they name."""
    found = {name: getattr(hydromechs, name) for name in hydromechs.__all__}
    found |= {name: getattr(hydromechs.equations, name) for name in EQUATIONS}
    return {name: thing for name, thing in found.items() if kind(thing)}


@together(public(inspect.isfunction))
def test_docstrings_of_public_functions_name_their_arguments(name):
    function = public(inspect.isfunction)[name]
    for argument in inspect.signature(function).parameters:
        assert f"{argument}:" in function.__doc__ or f"`{argument}`" in function.__doc__, (
            f"{name}: {argument} is not documented"
        )


@together(public(dataclasses.is_dataclass))
def test_dataclass_fields_are_documented(name):
    thing = public(dataclasses.is_dataclass)[name]
    tree = ast.parse(inspect.getsource(thing)).body[0]
    for field, follower in zip(tree.body, [*tree.body[1:], None], strict=True):
        if isinstance(field, ast.AnnAssign):
            documented = isinstance(follower, ast.Expr) and isinstance(follower.value, ast.Constant)
            assert documented, f"{name}.{field.target.id} has no description"
