"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

CODE = Annotated[bool, typer.Option("--code", help="Allow the Python code that the file names to run.")]
"""Permission to run code that a file names: custom controllers, components and joints."""
