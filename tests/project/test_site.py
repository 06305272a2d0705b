"""The documentation site: its navigation and API reference forget nothing, its notebooks are their programs, its checks see errors."""

import importlib.util
import inspect
import json
import re
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import yaml

import hydromechs as hm

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def module(path: Path):
    """A program of the documentation."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    found = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = found  # dataclasses look their module up
    spec.loader.exec_module(found)
    return found


api_pages = module(DOCS / "site" / "api_pages.py")
check_site = module(DOCS / "site" / "check_site.py")
make_notebooks = module(DOCS / "notebooks" / "make_notebooks.py")


def navigation() -> list[str]:
    """Pages in the navigation of the site."""

    class Loader(yaml.SafeLoader):
        """Reads what is said in Python as nothing."""

    Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: None)
    entries = yaml.load((ROOT / "mkdocs.yml").read_text(), Loader)["nav"]
    pages = []
    while entries:
        entry = entries.pop()
        if isinstance(entry, dict):
            entries += [page for value in entry.values() for page in (value if isinstance(value, list) else [value])]
        else:
            pages.append(entry)
    return pages


def test_every_page_is_in_the_navigation():
    made = {"contributing.md", "changelog.md", "keys.md"}
    made |= {f"api/{topic}.md" for topic in api_pages.TOPICS}
    made |= {f"notebooks/{program.stem}.md" for program in make_notebooks.programs()}
    pages = {page.name for page in DOCS.glob("*.md")} | made
    listed = navigation()
    assert sorted(listed) == sorted(set(listed)), "a page is there twice"
    assert pages - set(listed) == set(), "add these pages to nav in mkdocs.yml"
    assert set(listed) - pages == set(), "nav in mkdocs.yml has pages that are not there"


def test_api_reference_has_every_public_name():
    shown = {name.shown for parts in api_pages.names().values() for _, found in parts for name in found}
    modules = {module for _, parts in api_pages.TOPICS.values() for module in parts}
    for name in hm.__all__:
        thing = getattr(hm, name)
        assert thing.__name__.removeprefix("hydromechs.") in modules if inspect.ismodule(thing) else f"hm.{name}" in shown, name
    assert set(hm._PACKAGES) <= modules


@pytest.mark.parametrize("names, page", [(hm.library.names, "models"), (hm.library.scenario_names, "gallery")])
def test_galleries_show_everything(names, page):
    text = (DOCS / f"{page}.md").read_text()
    folder, ending = ("gallery/models", "jpg") if page == "models" else ("gallery", "png")
    assert set(re.findall(rf"\]\({folder}/(\w+)\.{ending}\)", text)) == set(names())


@pytest.mark.parametrize("program", make_notebooks.programs(), ids=lambda path: path.stem)
def test_notebook_is_its_program_and_was_run(program):
    file = program.with_suffix(".ipynb")
    if not file.exists():
        pytest.skip("the source distribution comes without notebooks")
    notebook = json.loads(file.read_text())
    cells = [(cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]]
    assert cells == make_notebooks.cells(program.read_text()), f"{program.name} has changed: make notebooks"
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert not [output for output in outputs if output["output_type"] == "error"]
    assert any("image/png" in output.get("data", {}) for output in outputs)


@pytest.mark.parametrize("program", make_notebooks.programs(), ids=lambda path: path.stem)
def test_notebooks_run(program, tmp_path, monkeypatch):
    """With the shorter values that they have for it."""
    monkeypatch.chdir(tmp_path)
    text = program.read_text()
    assert make_notebooks.short(text) != text
    with plt.rc_context():
        plt.switch_backend("agg")
        exec(compile(make_notebooks.short(text), str(program), "exec"), {"__name__": "__main__"})
        plt.close("all")


def page(*links: str, body: str = "") -> str:
    """A page of the site as the theme lays it out."""
    text = "".join(f'<a href="{link}">there</a><br>' for link in links)
    return f'<html><body><nav class="md-tabs"><a href="index.html">home</a></nav><div class="md-content">{body}{text}</div></body></html>'


def test_site_check_sees_broken_links_and_far_tasks(tmp_path, capsys):
    files = {
        "index": page("tasks.html", "near.html"),
        "near": page("next.html#here"),
        "next": page("far.html", body='<h2 id="here">Here</h2>'),
        "far": page("index.html"),
        "tasks": page("next.html", "far.html"),
    }
    for name, text in files.items():
        (tmp_path / f"{name}.html").write_text(text)
    site = check_site.read(tmp_path)
    assert check_site.broken(site, tmp_path) == []
    assert check_site.far(site, tmp_path) == ["task far.html is more than 2 clicks from home"]
    (tmp_path / "near.html").write_text(
        page("nowhere.html", "next.html#there", body='<script src="https://cdn.example/x.js"></script>')
    )
    found = check_site.broken(check_site.read(tmp_path), tmp_path)
    assert [problem.split()[0:2] for problem in found] == [
        ["near.html", "needs"],
        ["near.html", "links"],
        ["near.html", "links"],
    ]
    assert "nowhere.html" in found[1] and "next.html#there" in found[2]
