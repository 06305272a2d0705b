"""Command `hydromechs check`: report errors and warnings about model, scenario, sweep and validation files."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rich.text import Text

from hydromechs.errors import CodeNotAllowed, ModelError, ScenarioError, SweepError, ValidationStudyError, message_of

from ._console import Console
from ._kinds import kinds_of
from ._settings import SettingError, with_settings


def check_file(
    file: str, console: Console, settings: Mapping[str, Any] = MappingProxyType({}), *, code: bool = False, **options: Any
) -> bool:
    """Print errors and warnings about a file or library item to stderr; return True if there are no errors."""
    from hydromechs.formats import is_robot_file

    errors = Console(stderr=True, soft_wrap=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            good = checked_file(file, settings, code, options if is_robot_file(file) else {})
        except CodeNotAllowed as error:
            listed = "".join(f"\n  - {item}" for item in error.items)
            good = f"{file}: no errors found, but Python code and parts that depend on it are checked only with --code:{listed}"
        except (ModelError, ScenarioError, SweepError, ValidationStudyError, SettingError, OSError) as error:
            errors.print(Text(str(error), "red"))
            return False
        except ValueError as error:  # found by the simulation of a model, so without a line
            errors.print(Text(f"{file}: {message_of(error)}", "red"))
            return False
    for text in dict.fromkeys(str(w.message) for w in caught):
        errors.print(Text(f"{file}: warning: {text}", "yellow"))
    console.print(Text(good))
    return True


def checked_file(file: str, settings: Mapping[str, Any], code: bool, options: dict[str, Any]) -> str:
    """Return a one-line description of a valid file; raise an error that lists the problems of an invalid one."""
    from hydromechs.contact import contact_cost
    from hydromechs.formats import FILE_KINDS, is_robot_file, is_scenario_file, located
    from hydromechs.library import load, load_scenario, scenario_names
    from hydromechs.scenario import buoyancy_mistakes, contact_warnings, trial_faults, unit_mistakes
    from hydromechs.simulation import Simulation
    from hydromechs.viewer import drawing_notes

    kinds = kinds_of(file)
    if kinds == {"sweep"}:
        from hydromechs.sweeps import load_sweep

        sweep = load_sweep(file, code=code)
        sweep = replace(sweep, scenario=with_settings(sweep.scenario, settings))
        return f"{file}: no errors, a sweep of {sweep.runs} runs"
    if kinds == {"validation"}:
        from hydromechs.identification.validation import load_validation_study

        load_validation_study(file)
        return f"{file}: no errors; only `hydromechs validate` reads the logs of the study"
    if not kinds and Path(file).suffix.lower() in (".yaml", ".yml") and Path(file).is_file():
        firsts = ", ".join(f"'{kind.first}'" for kind in FILE_KINDS.values())
        raise ModelError(file, [f"line 1: the file has no key that states its kind; add one of {firsts} as the first line"])
    if file not in scenario_names() and not is_scenario_file(file):
        model = with_settings(load(file, code=code, **options), settings)
        for text in (*buoyancy_mistakes(model, dry=is_robot_file(file)), *drawing_notes(model)):
            warnings.warn(text, stacklevel=2)
        Simulation(model)
        return f"{file}: no errors"
    scenario = with_settings(load_scenario(file, code=code), settings)
    faults = trial_faults(scenario)
    if faults:
        raise ScenarioError(file, located(faults, scenario))
    unseen = [text for start in scenario.models for text in drawing_notes(start.model)]
    for text in (*unit_mistakes(scenario), *contact_warnings(scenario), *unseen):
        warnings.warn(text, stacklevel=2)
    pairs, operations = contact_cost(scenario.plant.model, scenario.plant.components)
    listed = f"{pairs} contact {'pair' if pairs == 1 else 'pairs'}"
    contacts = f"; {listed}, {operations:,} operations per evaluation of the dynamics if all pairs are in contact"
    return f"{file}: no errors{contacts if pairs else ''}"
