"""`hydromechs check`: errors and warnings of model, scenario and study files."""

from __future__ import annotations

import warnings
from typing import Any

from rich.console import Console
from rich.text import Text

from hydromechs.errors import ModelError, ScenarioError, StudyError
from hydromechs.values import is_path

from ._kinds import kinds_of


def check_file(file: str, console: Console, **options: Any) -> bool:
    """Print the errors and warnings of a file or library name, or that it has none. Return True if it can be run.

    Errors and warnings go to stderr.
    """
    from hydromechs.formats import is_robot_file

    errors = Console(stderr=True, soft_wrap=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            good = _good(file, options if is_robot_file(file) else {})
        except (ModelError, ScenarioError, StudyError, OSError) as error:
            errors.print(Text(str(error), "red"))
            return False
    for text in dict.fromkeys(str(w.message) for w in caught):
        errors.print(Text(f"{file}: warning: {text}", "yellow"))
    console.print(Text(good))
    return True


def _good(file: str, options: dict[str, Any]) -> str:
    """Describe a file without errors."""
    from hydromechs.formats import is_robot_file, is_scenario_file, load_file, with_lines
    from hydromechs.library import load, load_scenario, load_vehicle, scenario_file, scenario_names
    from hydromechs.model.code import joint_code_faults, named_joints
    from hydromechs.scenario import buoyancy_mistakes, code_faults, contact_warnings, trial_faults, unit_mistakes
    from hydromechs.viewer import drawing_notes

    kinds = kinds_of(file)
    if kinds == {"sweep"}:
        return _good_sweep(file)
    if kinds == {"validation study"}:
        return _good_validation(file)
    if file not in scenario_names() and not is_scenario_file(file):
        model = load_file(file, **options) if is_path(file) else load(file)
        faults = joint_code_faults(model)
        if faults:
            raise ModelError(file, with_lines(faults, file))
        runs = ", ".join(named_joints(model))
        for text in (*buoyancy_mistakes(model, dry=is_robot_file(file)), *drawing_notes(model)):
            warnings.warn(text, stacklevel=2)
        return f"{file}: good{'; loading it runs ' if runs else ''}{runs}"
    scenario = load_scenario(file)
    faults = code_faults(scenario) or trial_faults(scenario)
    if faults:
        raise ScenarioError(file, with_lines(faults, scenario_file(file), load, load_vehicle))
    unseen = [text for start in scenario.models for text in drawing_notes(start.model)]
    for text in (*unit_mistakes(scenario), *contact_warnings(scenario), *unseen):
        warnings.warn(text, stacklevel=2)
    runs = f"; running it runs {', '.join(scenario.code)}" if scenario.code else ""
    return f"{file}: good{runs}"


def _good_sweep(file: str) -> str:
    """Describe a sweep file without errors."""
    from hydromechs.sweeps import load_study

    study = load_study(file)
    runs = f"; running it executes {', '.join(study.scenario.code)}" if study.scenario.code else ""
    return f"{file}: good, a study of {study.runs} runs{runs}"


def _good_validation(file: str) -> str:
    """Describe a validation study without errors."""
    from hydromechs.identification import validation

    try:
        validation.load_study(file)
    except ValueError as error:
        raise StudyError(file, [str(error).removeprefix(f"{file}: ")]) from None
    return f"{file}: good; only `hydromechs validate` reads its logs"
