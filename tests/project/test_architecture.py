"""The structure that DESIGN fixes: who may import whom, file sizes, light imports, documented names."""

import ast
import dataclasses
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import hydromechs

SOURCE = Path(hydromechs.__file__).parent

BELOW_SIMULATION = {"errors", "spatial", "model", "dynamics", "hydro", "contact", "actuation", "compiler"}
SIMULATION_AND_BELOW = BELOW_SIMULATION | {"simulation"}
MAY_IMPORT = {
    "errors": set(),
    "spatial": {"errors"},
    "model": {"spatial"},
    "formats": {"model", "hydro", "contact", "actuation", "simulation"},
    "library": {"formats"},
    "dynamics": {"model", "spatial"},
    "hydro": {"model", "spatial"},
    "contact": {"model", "spatial", "dynamics"},
    "actuation": {"model", "spatial"},
    "compiler": {"spatial"},
    "simulation": BELOW_SIMULATION,
    "gnc": SIMULATION_AND_BELOW,
    "hybrid": SIMULATION_AND_BELOW,
    "studies": SIMULATION_AND_BELOW,
    "viewer": {"simulation", "model"},
}
"""The package table. Everyone may import `errors`; a package that builds models may import what it builds them from."""
EVERYONE = {"errors"}
THROUGH = {"library": {"model", "simulation"}, "formats": {"spatial"}}
"""What a package reaches through one that it may import: the library returns Models and Scenarios."""


def package_of(file: Path) -> str:
    return file.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_packages(file: Path) -> set[str]:
    """Packages of hydromechs that a file imports, anywhere in it."""
    out = set()
    here = ["hydromechs", *file.relative_to(SOURCE).with_suffix("").parts]
    for node in ast.walk(ast.parse(file.read_text())):
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


FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("file", [f for f in FILES if package_of(f) in MAY_IMPORT], ids=lambda f: str(f.relative_to(SOURCE)))
def test_imports_follow_the_package_table(file):
    package = package_of(file)
    allowed = MAY_IMPORT[package] | EVERYONE | THROUGH.get(package, set()) | {package}
    assert imported_packages(file) <= allowed


def test_every_package_is_in_the_table():
    packages = {package_of(f) for f in FILES} - {"__init__"}
    assert packages <= set(MAY_IMPORT) | {"cli"}


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(SOURCE)))
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


@pytest.mark.parametrize("name", modules())
def test_public_names_exist_and_are_documented(name):
    module = importlib.import_module(name)
    assert module.__doc__ or name.endswith("__main__")
    for public in getattr(module, "__all__", []):
        thing = getattr(module, public)
        if inspect.isfunction(thing) or inspect.isclass(thing):
            assert thing.__doc__, f"{name}.{public} has no docstring"


@pytest.mark.parametrize("name", [n for n in hydromechs.__all__ if inspect.isfunction(getattr(hydromechs, n))])
def test_docstrings_of_public_functions_name_their_arguments(name):
    function = getattr(hydromechs, name)
    for argument in inspect.signature(function).parameters:
        assert f"{argument}:" in function.__doc__ or f"`{argument}`" in function.__doc__, (
            f"{name}: {argument} is not documented"
        )


@pytest.mark.parametrize("name", [n for n in hydromechs.__all__ if dataclasses.is_dataclass(getattr(hydromechs, n))])
def test_dataclass_fields_are_documented(name):
    thing = getattr(hydromechs, name)
    tree = ast.parse(inspect.getsource(thing)).body[0]
    for field, follower in zip(tree.body, [*tree.body[1:], None], strict=True):
        if isinstance(field, ast.AnnAssign):
            documented = isinstance(follower, ast.Expr) and isinstance(follower.value, ast.Constant)
            assert documented, f"{name}.{field.target.id} has no description"
