"""What MkDocs does besides: pages that are made while the site is built, and links that lead out of docs/.

The API reference comes from `api_pages`, the keys of all files from `key_pages`, the notebooks from `docs/notebooks/*.ipynb`,
two pages from files at the root, the live pages of scenarios from `live_pages`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import hydromechs

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent)]  # its neighbours

import api_pages  # noqa: E402
import key_pages  # noqa: E402
import live_pages  # noqa: E402
import notebook_pages  # noqa: E402

AT_THE_ROOT = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
LINK_OUT = re.compile(r"\[([^\]]*)\]\(\.\./([^)#]*)\)")
FENCE = re.compile(r"^```(\w+) (?:fragment ?)?(\S*)$", re.MULTILINE)  # what the tests read: `fragment`, the name of a file
NOTEBOOK = re.compile(r"\]\((notebooks/\w+)\.ipynb\)")
LINK_INTO_DOCS = re.compile(r"\]\(docs/([^)]*)\)")


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Add the pages that are made here."""

    def add(uri: str, content: str | bytes) -> None:
        if (placeholder := files.get_file_from_path(uri)) is not None:
            files.remove(placeholder)
        files.append(File.generated(config, uri, content=content))

    for topic in api_pages.TOPICS:
        add(f"api/{topic}.md", api_pages.page(topic))
    add("keys.md", key_pages.page())
    for source, uri in AT_THE_ROOT.items():
        add(uri, LINK_INTO_DOCS.sub(r"](\1)", (ROOT / source).read_text(encoding="utf-8")))
    for notebook in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        page = notebook_pages.render(notebook)
        add(f"notebooks/{notebook.stem}.md", page.text)
        for name, picture in page.pictures.items():
            add(f"notebooks/{name}", picture)
    for address, text in live_pages.pages():
        add(address, text)
    for page in (ROOT / "docs").glob("*.md"):
        for _text, target in LINK_OUT.findall(page.read_text(encoding="utf-8")):
            if target not in AT_THE_ROOT and (ROOT / target).is_file():
                add(f"files/{target}.txt", (ROOT / target).read_bytes())
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Lead links out of docs/ to their pages here, and leave out what only the tests read.

    A folder of the repository is named, not linked. Links to notebooks lead to their pages.
    """
    if "/" in page.file.src_uri:  # made here
        return markdown

    def here(match: re.Match[str]) -> str:
        text, target = match.groups()
        if target in AT_THE_ROOT:
            return f"[{text}]({AT_THE_ROOT[target]})"
        return f"[{text}](files/{target}.txt)" if (ROOT / target).is_file() else f"{text} (`{target}`)"

    def fence(match: re.Match[str]) -> str:
        return f"```{match[1]}" + (f' title="{match[2]}"' if match[2] else "")

    markdown = live_pages.with_links(markdown, live_pages.names(), embed=page.file.src_uri == "simulator.md")
    if page.is_homepage:
        page.meta["hide"] = ["navigation", "toc"]
        markdown += f"\nVersion {hydromechs.__version__} · [Changelog](changelog.md) · [Contributing](contributing.md)\n"
    if page.file.src_uri == "api.md":
        markdown += "\n" + api_pages.index()
    return FENCE.sub(fence, NOTEBOOK.sub(r"](\1.md)", LINK_OUT.sub(here, markdown)))
