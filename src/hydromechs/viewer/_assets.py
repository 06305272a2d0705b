"""Style sheets, scripts and templates of pages, which are files in `page`."""

from functools import cache
from importlib.resources import files


@cache
def asset(name: str) -> str:
    """Return the text of a file in `page`."""
    return (files(__package__) / "page" / name).read_text(encoding="utf-8")
