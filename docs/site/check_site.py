"""Check the built site: `python docs/site/check_site.py [FOLDER]`.

Every link inside of it leads to a file, and to a place in it where it names one; nothing that a page needs comes from a
network; every task of tasks.html is two clicks away from the home page, by links that a reader sees.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
NEEDED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"), ("video", "src")}
DEEPEST = 2
"""Clicks from the home page to a task."""


@dataclass
class Links:
    """What one page says of other places."""

    ids: set[str] = field(default_factory=set)
    """Places in it that can be linked to."""
    all: list[str] = field(default_factory=list)
    """Every address in it."""
    needed: list[str] = field(default_factory=list)
    """Addresses that a browser loads."""
    text: list[str] = field(default_factory=list)
    """Links in its text."""
    tabs: list[str] = field(default_factory=list)
    """Links in the tabs at its top."""
    section: list[str] = field(default_factory=list)
    """Links beside it: the pages of its own section."""


class Reader(HTMLParser):
    """Collects the links of a page, with where a reader sees them."""

    def __init__(self) -> None:
        super().__init__()
        self.links = Links()
        self.open: list[tuple[str, str]] = []
        """Elements that are open, with their classes."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Enter what a tag says."""
        given = {name: value or "" for name, value in attrs}
        if given.get("id"):
            self.links.ids.add(given["id"])
        for name in ("href", "src"):
            if name in given:
                self.links.all.append(given[name])
                if (tag, name) in NEEDED and given.get("rel") not in ("canonical", "next", "prev"):
                    self.links.needed.append(given[name])
        if tag == "a" and "href" in given:
            self._place(given["href"])
        if tag not in VOID:
            self.open.append((tag, given.get("class", "")))

    def handle_endtag(self, tag: str) -> None:
        """Close the innermost element of that kind, and what is open in it."""
        tags = [name for name, _ in self.open]
        if tag in tags:
            del self.open[len(tags) - 1 - tags[::-1].index(tag) :]

    def _place(self, href: str) -> None:
        kinds = [set(classes.split()) for _, classes in self.open]
        if any("md-tabs" in kind for kind in kinds):
            self.links.tabs.append(href)
        elif any("md-content" in kind for kind in kinds):
            self.links.text.append(href)
        elif any({"md-nav__item--section", "md-nav__item--active"} <= kind for kind in kinds):
            self.links.section.append(href)


def read(folder: Path) -> dict[Path, Links]:
    """Links of all pages of a site.

    Args:
        folder: The site.
    """
    out = {}
    for page in sorted(folder.rglob("*.html")):
        reader = Reader()
        reader.feed(page.read_text(encoding="utf-8"))
        out[page] = reader.links
    return out


def target(page: Path, address: str) -> tuple[Path, str] | None:
    """File and place that an address on a page leads to; None where it leads out of the site.

    Args:
        page: The page.
        address: Of a link on it.
    """
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return None
    path = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    return (path / "index.html" if path.is_dir() else path), unquote(parts.fragment)


def broken(site: dict[Path, Links], folder: Path) -> list[str]:
    """Links that lead nowhere, and what would come from a network.

    Args:
        site: What `read` gives.
        folder: The site.
    """
    out = []
    for page, links in site.items():
        if page.name == "404.html":
            continue  # its addresses begin at the root of the server
        name = page.relative_to(folder)
        out += [f"{name} needs {address} from a network" for address in links.needed if target(page, address) is None]
        for address in dict.fromkeys(links.all):
            found = target(page, address)
            if found is None:
                continue
            file, place = found
            if not file.exists():
                out.append(f"{name} links to {address}, which is not there")
            elif place and file in site and place not in site[file].ids and not place.startswith("__"):
                out.append(f"{name} links to {address}; there is no such place")
    return out


def far(site: dict[Path, Links], folder: Path) -> list[str]:
    """Tasks that are more than two clicks away from the home page, the list of tasks itself not used.

    The first click is on a link in the text of the home page or on a tab, the second on a link in the text of the page that it
    leads to, or on one in the navigation of its section.

    Args:
        site: What `read` gives.
        folder: The site.
    """
    home, tasks = folder / "index.html", folder / "tasks.html"
    reached = {home}
    edge = {home}
    for click in range(DEEPEST):
        seen = set()
        for page in edge - {tasks}:
            links = site[page]
            for address in [*links.text, *(links.section if click else links.tabs)]:
                found = target(page, address)
                if found is not None and found[0] in site:
                    seen.add(found[0])
        edge = seen - reached
        reached |= seen
    led = {address: found[0] for address in site[tasks].text if (found := target(tasks, address)) is not None}
    wanted = {address: file for address, file in led.items() if file not in (home, tasks)}
    out = [f"task {address} is more than {DEEPEST} clicks from home" for address, file in wanted.items() if file not in reached]
    print(f"{len(wanted)} tasks, {len(wanted) - len(out)} of them within {DEEPEST} clicks from home")
    return out


def main() -> int:
    """Print what is wrong; status 1 if anything is."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "site").resolve()
    site = read(folder)
    faults = broken(site, folder) + far(site, folder)
    print(f"{len(site)} pages, {sum(len(links.all) for links in site.values())} links, {len(faults)} problems")
    print(*faults, sep="\n")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
