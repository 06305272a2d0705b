"""Shared options of commands, and options for robot descriptions: meshes, packages, motion of the root."""

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

CODE = Annotated[bool, typer.Option("--code", help="Allow execution of the Python code named in the file.")]
"""Permission to run code that a file names: custom controllers, components and joints."""
SET = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Replace a number, such as vehicle.inertia.mass=12; repeatable."),
]
"""Replacements of numbers by path."""
JSON = Annotated[bool, typer.Option("--json", help="Print JSON.")]
PORT = Annotated[int, typer.Option(help="Port on this machine; if it is in use, the next free one.")]
BROWSER = Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser if there is a display.")]


def robot_command(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of robot descriptions to a command. It receives them as `**options`, in the form of `import_file`."""
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
    package: Annotated[list[str] | None, typer.Option("--package", help="NAME=FOLDER for package://NAME; repeatable.")] = None,
    folder: Annotated[list[str] | None, typer.Option("--folder", help="Additional folder of meshes; repeatable.")] = None,
    base: Annotated[str, typer.Option("--base", help="Motion of an unspecified root: auto, free or fixed.")] = "auto",
    placeholders: Annotated[
        bool, typer.Option("--placeholders", help="Ignore collision shapes whose mesh files are missing.")
    ] = False,
    arg: Annotated[list[str] | None, typer.Option("--arg", help="NAME=VALUE: value of a xacro argument; repeatable.")] = None,
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
        raise typer.BadParameter(f"{text!r} must be NAME={what}", param_hint=option)
    return name, value
