"""Names and parents of bodies: errors, and an order with parents first."""

from __future__ import annotations

from hydromechs.errors import Fault

MANY = 40
"""Maximum number of names in a message."""


def tree_faults(links: list[tuple], frames: list[list[str]]) -> list[Fault]:
    """Return the errors of names and parents.

    Links are (name, parent) of each body; None for unreadable values and for the world as parent; `frames` are names by body.
    """
    out = []
    if not links:
        out.append(Fault(("bodies",), "the model has no bodies; give at least one"))
    names = [name for name, _ in links if isinstance(name, str)]
    known = ", ".join(map(repr, names[:MANY])) + (", ..." if len(names) > MANY else "")
    there = set(names)
    seen: set[str] = set()
    for i, (name, parent) in enumerate(links):
        if not isinstance(name, str):
            continue
        if name in seen:
            out.append(Fault(("bodies", i, "name"), f"body {name!r}: the name is used twice; names must be unique"))
        seen.add(name)
        if parent is not None and parent not in there:
            text = f"body {name!r}: its parent {parent!r} does not exist; bodies are {known}"
            out.append(Fault(("bodies", i, "parent"), text))
    frame_names: set[str] = set()
    for i, body_frames in enumerate(frames):
        for frame in body_frames:
            if frame in seen or frame in frame_names:
                text = f"body {links[i][0]!r}: frame {frame!r} has the name of a body or another frame; names must be unique"
                out.append(Fault(("bodies", i, "frames"), text))
            frame_names.add(frame)
    return out + _rings(links)


def _rings(links: list[tuple]) -> list[Fault]:
    """Return one error for each loop of bodies that are their own ancestors."""
    place = {name: i for i, (name, _) in reversed(list(enumerate(links))) if isinstance(name, str)}
    out, done = [], set()
    for at, _ in links:
        walk: dict[str, None] = {}  # keeps its order
        while isinstance(at, str) and at in place and at not in done:
            done.add(at)
            walk[at] = None
            at = links[place[at]][1]
        if isinstance(at, str) and at in walk:
            names = list(walk)
            ring = " → ".join([*names[names.index(at) :], at])
            text = f"body {at!r}: its parents form a loop ({ring}); attach one of them to the world"
            out.append(Fault(("bodies", place[at], "parent"), text))
    return out


def topological_order(links: list[tuple[str, str | None]]) -> list[int]:
    """Return the indices of the bodies with parents first, otherwise in order."""
    index = {name: i for i, (name, _) in enumerate(links)}
    order: list[int] = []
    done: set[int] = set()
    for start in range(len(links)):
        chain, i = [], start
        while i not in done:
            chain.append(i)
            done.add(i)
            parent = links[i][1]
            if parent is None:
                break
            i = index[parent]
        order += reversed(chain)
    return order
