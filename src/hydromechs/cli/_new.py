"""Command `hydromechs new`: create a project folder with model, mission and instructions from a robot."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from ._console import Console
from ._kinds import expect
from ._options import CODE, robot_command


@robot_command
def new(
    robot: Annotated[
        str, typer.Argument(help="Robot description (URDF, SDF, MJCF, .dm), model file or name of a library model.")
    ],
    project: Annotated[str, typer.Argument(help="Folder to create. Defaults to the name of the robot.")] = "",
    code: CODE = False,
    **options: Any,
) -> None:
    """Create a project folder from a robot.

    The folder contains a model in water with thrusters and drives, a mission that holds the pose, and instructions. A
    dry robot receives hydrodynamics estimated from its shapes, and ballast that makes it neutral and level. A robot with a free
    base and no thrusters receives eight thrusters. README.md in the folder lists all assumptions; replace them by measured
    values.
    """
    from hydromechs.errors import ModelError, ScenarioError
    from hydromechs.formats import import_file, is_robot_file
    from hydromechs.library import load
    from hydromechs.projects import create_project, file_name

    expect(robot, "new", "model")
    found = import_file(robot, **options) if is_robot_file(robot) else load(robot, code=code, **options)
    place = Path(project or file_name(found))
    if place.exists():
        raise FileExistsError(f"folder {place} exists; choose another folder: hydromechs new {robot} PROJECT")
    console, made = Console(), create_project(found, place)
    text = f"created {place}: {made.name}.yaml, mission.yaml, README.md with {len(made.notes)} assumptions"
    console.print(Text(text, "bold"), soft_wrap=True)
    for text in made.headlines:
        console.print(Text(f"  {text}"), soft_wrap=True)
    for text in made.warnings:
        console.print(Text(f"  warning: {text}", "yellow"), soft_wrap=True)
    try:
        made.scenario.simulation()
    except (ModelError, ScenarioError) as error:
        console.print(Text(f"  the mission needs changes: {error}", "yellow"), soft_wrap=True)
    mission = shlex.quote(str(place / "mission.yaml"))
    for command in (f"check {mission}", f"run {mission} --show", f"pilot {mission}"):
        if made.floats or not command.startswith("pilot"):
            console.print(Text(f"  hydromechs {command}"), soft_wrap=True)
