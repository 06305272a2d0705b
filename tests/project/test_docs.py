"""Every Python block of the documentation runs, every model in it loads, every example keeps its promise."""

import importlib.util
import re
from pathlib import Path

import pytest

from hydromechs.formats import loads

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list:
    """(page, number, text) of the code blocks in one language; those marked `fragment` are left out."""
    return [
        pytest.param(match[3], id=f"{page.name}-{number}")
        for page in PAGES
        for number, match in enumerate(BLOCK.finditer(page.read_text()))
        if match[1] == language and "fragment" not in match[2]
    ]


@pytest.mark.parametrize("code", blocks("python"))
def test_python_blocks_run(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "<documentation>", "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("text", blocks("yaml"))
def test_model_blocks_load(text):
    assert loads(text).nb > 0


@pytest.mark.parametrize("file", sorted((ROOT / "examples").glob("*.py")), ids=lambda f: f.name)
def test_examples_keep_their_promise(file):
    spec = importlib.util.spec_from_file_location(file.stem, file)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    example.check(example.run())


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
