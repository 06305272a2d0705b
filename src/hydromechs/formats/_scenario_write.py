"""A `Scenario` to a scenario file: what equals a default is left out, floats are written by their shortest text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hydromechs.errors import UnsupportedFeature
from hydromechs.hybrid import Exact, Filtered, Hybrid
from hydromechs.scenario import ModelStart, Scenario
from hydromechs.values import is_path

from . import _scenario_entries  # noqa: F401 how a file writes the classes of a scenario
from ._convert import written
from ._emit import Block, Rows, emit
from ._relative import relative
from ._scenario_sections import grouped
from ._write import check_suffix, replace_file

__all__ = ["dumps_scenario", "save_scenario"]


def save_scenario(scenario: Scenario, path: str | Path) -> None:
    """Write a scenario file; a file that is there is replaced at once or, if anything fails, not at all.

    Args:
        scenario: The scenario. Its models and controllers are named in the file, by paths relative to it, and not copied.
        path: The file.
    """
    check_suffix(path, "scenario")
    replace_file(dumps_scenario(scenario, Path(path).absolute().parent), path)


def dumps_scenario(scenario: Scenario, folder: str | Path | None = None) -> str:
    """The text of a scenario file, which `loads_scenario` turns back into an equal scenario.

    Angles are written in degrees; those that no number of degrees gives exactly change in their last digit.

    Args:
        scenario: The scenario; its models must have a `source`, its controller must be a `ControllerSpec`.
        folder: Where the file will be; paths are written relative to it. As they are unless given.
    """
    sections = grouped(scenario, folder)
    out = Block(hydromechs_scenario=1, name=scenario.name, title=scenario.title, description=scenario.description)
    out["models"] = Rows(_start(i, start, folder) for i, start in enumerate(scenario.models))
    out["world"] = None if scenario.world is None else written(scenario.world)
    out["environment"] = written(scenario.environment)
    for key in ("materials", "terrain", "contact", "thrusters", "joints", "grasps", "tethers", "external", "components"):
        out[key] = sections[key]
    out["commands"] = dict(scenario.commands)
    for key in ("controller", "sensors", "navigation"):
        out[key] = sections[key]
    out["events"] = Rows(written(event) for event in scenario.events)
    out["randomisation"] = None if scenario.randomisation is None else written(scenario.randomisation)
    out["integrator"] = _integrator(scenario.integrator)
    out["engine"] = None if scenario.engine is None else _engine(scenario.engine)
    for key in ("step", "record", "duration", "seed"):
        out[key] = getattr(scenario, key)
    out["checks"] = Rows(written(check) for check in scenario.checks)
    out["expected_warnings"] = list(scenario.expected_warnings)
    return emit(Block((key, value) for key, value in out.items() if value not in ("", None, {}, [])))


def _integrator(method: Any) -> Any:
    values = written(method) if method.name == "dormand_prince" else {}
    return {method.name: values} if values else method.name


def _engine(hybrid: Hybrid) -> Any:
    out: dict[str, Any] = {"name": hybrid.engine}
    if hybrid.scheme != Exact():
        values = written(hybrid.scheme) if isinstance(hybrid.scheme, Filtered) else {}
        out["scheme"] = {hybrid.scheme.name: values} if values else hybrid.scheme.name
    if hybrid.accept_unstable:
        out["accept_unstable"] = True
    return hybrid.engine if len(out) == 1 else out


def _start(i: int, start: ModelStart, folder: str | Path | None) -> dict[str, Any]:
    if start.source is None:
        raise UnsupportedFeature(
            f"models.{i}: model {start.model.name!r} has no source; write it with hydromechs.save and give its path as source"
        )
    named = not is_path(start.source)
    return Block(written(start), model=start.source if named else relative(start.source, folder))
