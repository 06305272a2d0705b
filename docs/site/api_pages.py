"""Pages of the API reference: every public name of `hydromechs`, by topic, for mkdocstrings to fill in."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

import hydromechs as hm

TOPICS = {
    "models": ("Models", ("model", "model.joints", "geometry", "model.added_mass", "model.drag")),
    "files": ("Files and the library", ("library", "formats")),
    "simulation": ("Simulations, scenarios, many worlds", ("simulation", "scenario", "worlds")),
    "recording": ("Recordings", ("recording",)),
    "components": ("Components and actuators", ("model.component", "actuation", "actuation.drives")),
    "water": ("Water and lines", ("hydro", "naval", "lines")),
    "contact": ("Contact, terrain and grasps", ("contact",)),
    "control": (
        "Controllers, sensors, navigation",
        ("control", "sensors", "navigation", "walking"),
    ),
    "equations": ("Equations of motion", ("equations", "dynamics", "spatial")),
    "integrators": ("Integrators and other engines", ("integrators", "hybrid")),
    "learning": ("Learning", ("learning",)),
    "bridges": ("Bridges to other programs", ("bridges",)),
    "viewer": ("Viewer and operator station", ("viewer", "station")),
    "compiler": ("Compiler", ("compiler",)),
    "sweeps": ("Sweeps", ("sweeps",)),
    "identification": ("Identification and validation", ("identification", "identification.validation")),
    "bench": ("Benchmarks", ("bench", "bench.peers")),
    "errors": ("Errors", ("errors",)),
}
"""Title and modules of each topic; the order is that of the pages."""


class Name(NamedTuple):
    """A public name."""

    shown: str
    """As a user writes it, with `hm` for the package."""
    path: str
    """Where it is defined."""
    summary: str
    """First line of its docstring; empty for values."""


def _home(module: ModuleType, name: str) -> str:
    """Path of the assignment of a value: in the module itself or in one of its files, there perhaps by another name."""
    value = getattr(module, name)
    parts = pkgutil.walk_packages(getattr(module, "__path__", []), f"{module.__name__}.")
    files = [importlib.import_module(part.name) for part in parts]
    for known_as in (lambda other: other == name, name.endswith):
        for file in (module, *files):
            for other, held in vars(file).items():
                if (
                    held is value
                    and known_as(other)
                    and re.search(rf"^(\w+, )*{other}\b.* = ", inspect.getsource(file), re.MULTILINE)
                ):
                    return f"{file.__name__}.{other}"
    raise LookupError(f"where is {module.__name__}.{name} assigned?")


def _path(module: ModuleType, name: str) -> str:
    """Where a public name of a module is defined."""
    thing = getattr(module, name)
    if _documented(thing):
        return f"{thing.__module__}.{thing.__qualname__}"
    return _home(module, name)


def _documented(thing: Any) -> bool:
    """Whether it has a docstring of its own, as values do not."""
    return inspect.isclass(thing) or (callable(thing) and inspect.isfunction(inspect.unwrap(thing)))


def _summary(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ") if _documented(thing) else ""


@cache
def names() -> dict[str, list[tuple[ModuleType, list[Name]]]]:
    """Modules of each topic with their public names; a name that several modules have is listed once, where it comes first."""
    top = {id(getattr(hm, name)): name for name in hm.__all__}
    listed: set[str] = set()
    out: dict[str, list[tuple[ModuleType, list[Name]]]] = {}
    for topic, (_, parts) in TOPICS.items():
        out[topic] = []
        for part in parts:
            module = importlib.import_module(f"hydromechs.{part}")
            found = []
            for name in module.__all__:
                thing = getattr(module, name)
                if inspect.ismodule(thing) or (path := _path(module, name)) in listed:
                    continue
                listed.add(path)
                above = top.get(id(thing)) if _documented(thing) else None
                shown = f"hm.{above}" if above else f"hm.{_seen(part)}.{name}"
                found.append(Name(shown, path, _summary(thing)))
            found.sort(key=lambda name: name.shown.count("."))  # what `hm` itself has comes first
            out[topic].append((module, found))
    return out


def _seen(part: str) -> str:
    """A module as a user reaches it: `hm.joints` for `hydromechs.model.joints`."""
    last = part.rpartition(".")[2]
    return last if last in hm.__all__ else part


def page(topic: str) -> str:
    """Markdown of a topic's page.

    Args:
        topic: One of TOPICS.
    """
    lines = [f"# {TOPICS[topic][0]}", ""]
    for module, found in names()[topic]:
        if not found:
            continue
        lines += [f"## `{module.__name__}`", "", _summary_of_module(module), ""]
        for name in found:
            lines += [
                f"::: {name.path}",
                "    options:",
                f"      heading: {name.shown}",
                f"      toc_label: {name.shown.rpartition('.')[2]}",
                "      heading_level: 3",
                "",
            ]
    return "\n".join(lines)


def _summary_of_module(module: ModuleType) -> str:
    return (module.__doc__ or "").strip().split("\n\n")[0].replace("\n", " ")


def index() -> str:
    """Markdown of all topics: what `import hydromechs as hm` brings of each."""
    lines = []
    for topic, (title, parts) in TOPICS.items():
        lines += [f"## [{title}](api/{topic}.md)", "", "Packages: " + ", ".join(f"`{p}`" for p in parts) + ".", ""]
        rows = [n for _, found in names()[topic] for n in found if n.shown.count(".") == 1]
        if rows:
            lines += ["| name | what it is |", "|---|---|"]
            lines += [f"| [`{n.shown}`][{n.path}] | {n.summary.replace('|', chr(92) + '|')} |" for n in rows]
            lines.append("")
    return "\n".join(lines)
