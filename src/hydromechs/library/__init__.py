"""Library models with their sources, generated models, and library scenarios."""

from __future__ import annotations

import os
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from hydromechs.errors import ModelError, ScenarioError, SweepError
from hydromechs.formats import import_file, is_robot_file, load_file, reject_options, warned
from hydromechs.model import Model
from hydromechs.values import is_path, nearest

from ._generators import random_tree, serial_chain, snake, star, umbilical

if TYPE_CHECKING:
    from hydromechs.scenario import Scenario
    from hydromechs.simulation import Plant

__all__ = [
    "load",
    "load_plant",
    "load_scenario",
    "load_vehicle",
    "model_path",
    "names",
    "plant_names",
    "random_tree",
    "scenario_file",
    "scenario_names",
    "scenario_path",
    "serial_chain",
    "snake",
    "star",
    "sweep_file",
    "sweep_names",
    "umbilical",
]


def _names(folder: str) -> tuple[str, ...]:
    found = [f.name for f in (files(__package__) / folder).iterdir()]
    return tuple(sorted(name.removesuffix(".yaml") for name in found if name.endswith(".yaml")))


def _unknown(what: str, name: str, known: tuple[str, ...]) -> str:
    here = os.path.exists(name)
    hint = f"; to load the file with this name, write './{name}'" if here else "; or use the path of a .yaml file"
    return f"there is no library {what} {name!r}{nearest(name, known)}{hint}"


def names() -> tuple[str, ...]:
    """Return the names of the library models."""
    return _names("models")


def model_path(name: str) -> str:
    """Return the path of the file of a library model, for example to copy the file."""
    if name not in names():
        raise ModelError(str(name), [_unknown("model", name, names())])
    return str(files(__package__) / "models" / f"{name}.yaml")


def load(source: str | os.PathLike, *, code: bool = False, **options: Any) -> Model:
    """Load a library model by name, or a model from a file.

    Args:
        source: Name such as "tiburon_titan2", or path of a file. A path has a folder or a suffix.
        code: True to allow Python code of custom joints that the file refers to. Otherwise such a file raises
            `CodeNotAllowed`. Library models are part of this package and need no permission.
        options: Options of `hydromechs.import_file` for a robot description: packages, folders, base, placeholders, arguments.
    """
    if not is_path(source):
        return load_file(model_path(str(source)), code=True, **options) if options else _library_model(str(source))
    return load_file(os.fspath(source), code=code, **options)


@cache
def _library_model(name: str) -> Model:
    """Return a library model; models do not change, and scenarios load the same ones repeatedly."""
    return load_file(model_path(name), code=True)


def scenario_names() -> tuple[str, ...]:
    """Return the names of the library scenarios."""
    return _names("scenarios")


def scenario_path(name: str) -> str:
    """Return the path of the file of a library scenario, for example to copy the file."""
    if name not in scenario_names():
        raise ScenarioError(str(name), [_unknown("scenario", name, scenario_names())])
    return str(files(__package__) / "scenarios" / f"{name}.yaml")


def scenario_file(source: str | os.PathLike) -> str:
    """Return the path of a scenario file, given the argument of `load_scenario`."""
    return os.fspath(source) if is_path(source) else scenario_path(str(source))


def load_scenario(source: str | os.PathLike, *, code: bool = False) -> Scenario:
    """Load a library scenario by name, or a scenario from a file.

    Args:
        source: Name such as "sinking_chain", or path of a file. A path has a folder or a suffix.
        code: True to allow Python code of controllers, components and joints that the file and its models refer to. Otherwise
            such a file raises `CodeNotAllowed`.
    """
    from hydromechs.formats import load_scenario_file  # needs the simulation

    return load_scenario_file(scenario_file(source), load, load_vehicle, code=code or not is_path(source))


def sweep_names() -> tuple[str, ...]:
    """Return the names of the library sweeps."""
    return _names("sweeps")


def sweep_file(source: str | os.PathLike) -> str:
    """Return the path of the file of a library sweep; a path is returned unchanged."""
    if is_path(source):
        return os.fspath(source)
    if source not in sweep_names():
        raise SweepError(str(source), [_unknown("sweep", str(source), sweep_names())])
    return str(files(__package__) / "sweeps" / f"{source}.yaml")


def plant_names() -> tuple[str, ...]:
    """Return the names of the library vehicles with actuators."""
    return _names("vehicles")


def load_vehicle(name: str) -> Scenario:
    """Return a scenario without a mission that contains a vehicle of `plant_names()` with its actuators."""
    from hydromechs.formats import load_scenario_file

    if name in names() and name not in plant_names():
        raise ScenarioError(name, [f"the library model {name!r} has no actuators; load it as a model, in a file model: {name}"])
    if name not in plant_names():
        raise ScenarioError(name, [_unknown("vehicle", name, plant_names())])
    return load_scenario_file(str(files(__package__) / "vehicles" / f"{name}.yaml"), load, load_vehicle, code=True)


def load_plant(source: str | os.PathLike, *, code: bool = False, **options: Any) -> Plant:
    """Load a vehicle with its actuators in still water, for example for `hydromechs.Simulation(load_plant("tiburon_titan2"))`.

    Args:
        source: One of `plant_names()`, path of a scenario file, or path of a third-party robot description. The plant of the
            scenario, or the robot with its actuators, is returned.
        code: True to allow Python code that a scenario file refers to; otherwise such a file raises `CodeNotAllowed`.
        options: Options of `hydromechs.import_file` for a robot description: packages, folders, base, placeholders, arguments.
    """
    if is_path(source) and is_robot_file(source):
        from hydromechs.formats import robot_plant

        imported = warned(import_file(os.fspath(source), **options), plant=True)
        return robot_plant(imported.model, imported.components).plant
    reject_options(source, options)
    return (load_scenario(source, code=code) if is_path(source) else load_vehicle(str(source))).plant
