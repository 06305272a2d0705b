"""Live pages of the library's scenarios: each simulates in the browser, and is loaded when a reader asks for it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import cache

import hydromechs as hm
from hydromechs.browser import scenario_page
from hydromechs.integrators import FixedStep
from hydromechs.library import scenario_names

CHOSEN = "HYDROMECHS_LIVE"
"""Environment variable with the names of the scenarios to build, for fast builds; all if it is not set."""
PICTURE = re.compile(r"!\[([^\]]*)\]\(gallery/(\w+)\.(?:png|gif)\)")


@cache
def names() -> tuple[str, ...]:
    """Scenarios with a live page: those with fixed steps."""
    chosen = os.environ.get(CHOSEN)
    known = [name for name in scenario_names() if chosen is None or name in chosen.split(",")]
    return tuple(name for name in known if isinstance(hm.load_scenario(name).integrator, FixedStep))


def pages() -> Iterator[tuple[str, str]]:
    """Yield address and text of each live page."""
    for name in names():
        yield f"live/{name}.html", scenario_page(hm.load_scenario(name))


def with_links(markdown: str, live: Sequence[str], *, embed: bool = False) -> str:
    """Add a link to its live page to each picture of a scenario; `embed` shows the first page in place of its picture."""
    first = embed

    def linked(match: re.Match[str]) -> str:
        nonlocal first
        name = match[2]
        if name not in live:
            return match[0]
        link = f"[▶ Simulate it here](live/{name}.html){{ .live }}"
        if first:
            first = False
            frame = f'<iframe class="live" src="live/{name}.html" loading="lazy" title="{match[1]}" allow="gamepad *"></iframe>'
            return f"{frame}\n\n{link}"
        return f"{match[0]}{link}"

    return PICTURE.sub(linked, markdown)
