"""Options of commands that read robot descriptions of other programs: where meshes and packages are, how the root moves."""

from __future__ import annotations

from typing import Annotated, Any

import typer

__all__ = ["ARGUMENT", "BASE", "FOLDER", "PACKAGE", "PLACEHOLDERS", "robot_options"]

PACKAGE = Annotated[
    list[str] | None,
    typer.Option("--package", help="NAME=FOLDER of a package that package://NAME stands for; may be repeated."),
]
FOLDER = Annotated[
    list[str] | None,
    typer.Option("--folder", help="Folder outside that of a robot description that meshes may come from; may be repeated."),
]
BASE = Annotated[str, typer.Option("--base", help="How the root moves where the file does not say: auto, free or fixed.")]
PLACEHOLDERS = Annotated[bool, typer.Option("--placeholders", help="Leave out shapes whose meshes are missing.")]
ARGUMENT = Annotated[
    list[str] | None, typer.Option("--arg", help="NAME=VALUE of an argument of a xacro file; may be repeated.")
]


def robot_options(
    package: list[str] | None, folder: list[str] | None, base: str, placeholders: bool, argument: list[str] | None
) -> dict[str, Any]:
    """Return the options of `import_file` that a user has given.

    Args:
        package: NAME=FOLDER of packages.
        folder: Folders that meshes may come from.
        base: How the root moves.
        placeholders: True to leave out shapes whose meshes are missing.
        argument: NAME=VALUE of arguments of a xacro file.
    """
    options: dict[str, Any] = {
        "packages": dict(_pair(text, "--package", "FOLDER") for text in package or []),
        "folders": folder or [],
        "base": "" if base == "auto" else base,
        "placeholders": placeholders,
        "arguments": dict(_pair(text, "--arg", "VALUE") for text in argument or []),
    }
    return {name: value for name, value in options.items() if value}


def _pair(text: str, option: str, what: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name or (what == "FOLDER" and not value):
        raise typer.BadParameter(f"{text!r} must be NAME={what}", param_hint=option)
    return name, value
