"""Format values, paths and suggestions for messages."""

from collections.abc import Iterable
from typing import Any

from hydromechs.values import closest


def show(value: Any, limit: int = 60) -> str:
    """Return `value` as a file would write it, cut to about `limit` characters."""
    text = _shown(value, 3)
    return text if len(text) <= limit else text[: limit - 4] + " ..."


def _shown(value: Any, levels: int) -> str:
    if value is None:
        return "null (empty)"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return repr(value if len(value) <= 200 else value[:200])
    if isinstance(value, int) and abs(value) > 10**18:
        return repr(float(value))
    if isinstance(value, list):
        return "[" + ", ".join(_shown(v, levels - 1) for v in value[:40]) + "]" if levels else "[...]"
    if isinstance(value, dict):
        items = list(value.items())[:40]
        return "{" + ", ".join(f"{k}: {_shown(v, levels - 1)}" for k, v in items) + "}" if levels else "{...}"
    return repr(value)


def suggestion(word: Any, known: Iterable[str]) -> str:
    """Return a suggestion of the nearest known word: " (did you mean 'mass'?)"; empty if none is near."""
    close = closest(word, known) if isinstance(word, str) else []
    return f" (did you mean {close[0]!r}?)" if close else ""


def dotted(path: tuple) -> str:
    """Return a path as a user writes it: "bodies.arm.inertia"."""
    return ".".join(str(step) for step in path)
