"""Every Python block of the documentation runs, every model in it loads, every example keeps its promise, its tables are true."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

from hydromechs.formats import loads

ROOT = Path(__file__).parents[2]
PICTURES = ("png", "jpg", "gif", "ipynb")  # the source distribution comes without them
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NOTES = sorted((ROOT / "docs" / "notes").glob("*.md"))
sys.path[:0] = FOLDERS = [str(ROOT / "docs" / "site"), str(ROOT / "docs")]
try:
    import key_pages
finally:
    del sys.path[: len(FOLDERS)]
GENERATED = {"keys.md": key_pages.page()}
"""Pages that the site generates, and others link to."""
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list:
    """(page, number, text) of the code blocks in one language; those marked `fragment` are omitted."""
    return [
        pytest.param(match[3], id=f"{'notes-' * (page in NOTES)}{page.name}-{number}")
        for page in PAGES + NOTES
        for number, match in enumerate(BLOCK.finditer(page.read_text()))
        if match[1] == language and "fragment" not in match[2]
    ]


SHAPE = re.compile(r"^(\w+) = .*  # (\(\d+,[\d, ]*\)).*$", re.MULTILINE)
"""An assignment whose comment starts with the shape of the array, as (6,), not with the number of an equation, as (6)."""


@pytest.mark.parametrize("code", blocks("python"))
def test_python_blocks_run(code, tmp_path, monkeypatch):
    """Each block runs, and shapes in its comments are those of the arrays."""
    monkeypatch.chdir(tmp_path)
    code = SHAPE.sub(r"\g<0>\nassert \1.shape == \2, '\1: ' + str(\1.shape)", code)
    exec(compile(code, "<documentation>", "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("text", blocks("yaml"))
def test_model_blocks_load(text):
    assert loads(text).nb > 0


NEEDS = {"train_station_keeping": ("gymnasium", "stable_baselines3"), "train_on_gpu": ("torch",)}
"""Packages that examples import and tests do not need."""


@pytest.mark.parametrize("file", sorted((ROOT / "examples").glob("*.py")), ids=lambda f: f.name)
def test_examples_keep_their_promise(file):
    for name in NEEDS.get(file.stem, ()):
        pytest.importorskip(name, reason="needs pip install 'hydromechs[learn]'")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    example.check(example.run())


def anchors(text: str) -> set[str]:
    """Anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", BLOCK.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES + NOTES, ids=lambda p: f"{p.parent.name}-{p.name}" if p in NOTES else p.name)
def test_links_between_pages_lead_somewhere(page):
    for target, anchor in re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", page.read_text()):
        if "://" not in target and (
            target.rpartition(".")[2] not in PICTURES or (ROOT / "docs" / "pictures" / "library.jpg").exists()
        ):
            file = page.parent / target if target else page
            assert file.exists() or target in GENERATED, f"{page.name} links to {target}"
            assert not anchor or anchor in anchors(GENERATED.get(target) or file.read_text()), (
                f"{page.name} links to {target}#{anchor}"
            )


def architecture():
    """The module `test_architecture` of this folder."""
    spec = importlib.util.spec_from_file_location("architecture", Path(__file__).with_name("test_architecture.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_package_table_is_that_of_the_architecture():
    """Each package of docs/architecture.md may import the named ones and what these may, as in MAY_IMPORT; no package is missing."""
    allowed = architecture().MAY_IMPORT
    text = (ROOT / "docs" / "architecture.md").read_text()
    section = text[text.index("## Packages") : text.index("## From file to report")]
    rows = [line.strip("| ").split("|") for line in section.splitlines() if line.startswith("| `")]
    said = {row[0].strip().strip("`"): re.findall(r"`(\w+)`", row[-1]) if len(row) == 3 else [] for row in rows}
    assert set(said) == set(allowed) - {"errors", "files", "values", "_lazy"}
    for package, names in said.items():
        reached = set(names).union(*(allowed[name] for name in names))
        assert reached - {package} == allowed[package] - {package}, package


def test_files_that_the_architecture_names_exist():
    text = "".join((ROOT / "docs" / folder / "architecture.md").read_text() for folder in ("", "notes"))
    folders = (ROOT, ROOT / "src" / "hydromechs")
    named = set(re.findall(r"`((?:[a-z_]+/)+\w+\.\w+)`", text))
    missing = {name for name in named if not any((folder / name).is_file() for folder in folders)}
    assert len(named) > 15 and not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_pages_use_public_names_and_cite_by_author(page):
    text = page.read_text()
    private = re.findall(r"^(?:from|import) hydromechs[\w.]*\._\w+.*|^from hydromechs[\w.]* import _\w+.*", text, re.MULTILINE)
    assert not private
    assert not re.findall(r"\bseeds? 00\d", text)


def test_texts_stay_short():
    """README, the pages of the site together, and the newest section of the changelog have limits; notes have none."""
    newest = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[1]
    words = {page.name: len(page.read_text().split()) for page in (ROOT / "docs").glob("*.md")}
    longest = sorted(words, key=words.get)[-5:]
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120
    assert sum(words.values()) <= 60_000, f"shorten a page or move details to docs/notes; the longest are {longest}"
    assert len(newest.splitlines()) <= 60, "CHANGELOG.md: state what users gain, and join lines"
