"""Options shared by commands, and options for robot descriptions: mesh folders, packages, motion of the root link."""

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

CODE = Annotated[bool, typer.Option("--code", help="Allow execution of Python code named in the file.")]
"""Option that allows execution of custom controllers, components and joints named in a file."""
SET = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="PATH=VALUE", help="Replace a number in the file, such as vehicle.inertia.mass=12; repeatable."
    ),
]
"""Option that replaces numbers by path."""
JSON = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
PORT = Annotated[int, typer.Option(help="TCP port on this machine; if it is in use, the next free port is used.")]
BROWSER = Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser if there is a display.")]


def robot_command(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of robot descriptions to a command, which receives them as keyword arguments of `import_file`."""
    added = inspect.signature(_robot_options, eval_str=True).parameters
    own = inspect.signature(command, eval_str=True).parameters.values()

    @functools.wraps(command)
    def wrapper(**values: Any) -> None:
        options = _robot_options(**{name: values.pop(name) for name in added})
        command(**values, **options)

    parameters = [p for p in own if p.kind is not p.VAR_KEYWORD]
    wrapper.__signature__ = inspect.Signature([*parameters, *added.values()])  # type: ignore[attr-defined]
    return wrapper


def _robot_options(
    package: Annotated[
        list[str] | None,
        typer.Option("--package", help="Folder of a ROS package, as NAME=FOLDER, for package://NAME; repeatable."),
    ] = None,
    folder: Annotated[
        list[str] | None, typer.Option("--folder", help="Additional folder to search for meshes; repeatable.")
    ] = None,
    base: Annotated[
        str, typer.Option("--base", help="Motion of the root link if the file does not specify it: auto, free or fixed.")
    ] = "auto",
    placeholders: Annotated[
        bool, typer.Option("--placeholders", help="Ignore collision shapes whose mesh files are missing.")
    ] = False,
    arg: Annotated[
        list[str] | None, typer.Option("--arg", help="Value of a xacro argument, as NAME=VALUE; repeatable.")
    ] = None,
) -> dict[str, Any]:
    """Return the options that the user has set, as keyword arguments of `import_file`."""
    options: dict[str, Any] = {
        "packages": dict(_pair(text, "--package", "FOLDER") for text in package or []),
        "folders": folder or [],
        "base": "" if base == "auto" else base,
        "placeholders": placeholders,
        "arguments": dict(_pair(text, "--arg", "VALUE") for text in arg or []),
    }
    return {name: value for name, value in options.items() if value}


def _pair(text: str, option: str, what: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name or (what == "FOLDER" and not value):
        raise typer.BadParameter(f"{text!r} is not of the form NAME={what}; write NAME={what}", param_hint=option)
    return name, value
