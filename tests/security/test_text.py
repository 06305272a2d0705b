"""Text from files is text on pages: hostile names, titles and descriptions in every format run nothing, and fail no drawing.

Browsers here ignore the policy of the pages (`bypass_csp`): the escaping alone must hold.
"""

import dataclasses
import re
import time
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import pytest
import yaml
from benchmarks import file_study as _file_study
from matplotlib.layout_engine import ConstrainedLayoutEngine

import hydromechs as hm
from hydromechs import viewer
from hydromechs.browser import write_page
from hydromechs.cli._pilot import catalog
from hydromechs.projects import _instructions
from hydromechs.recording import CheckResult, summarise
from hydromechs.station import Station

PAYLOAD = (
    "\"'><img src=x onerror=top[`pwned`]=1><iframe srcdoc='<script>top[`pwned`]=1</script>'></iframe></script></style>"
    "<script>top[`pwned`]=1</script><svg onload=top[`pwned`]=1>{top[`pwned`]=1}[x](javascript:top[`pwned`]=1)${7*7}$\\frac$"
)
"""Sets `top.pwned` in a page that takes it for HTML or script, and fails where it is taken for TeX. It has no dots, which
names may not have."""
ROBOTS = Path(_file_study.__file__).parent / "files" / "robots"
STATION = Path(__file__).parents[1] / "station" / "files"
TAGS = {"div", "h3", "p", "ul", "li", "b", "span"}
"""Elements that our own panels are made of."""


def hostile_yaml(*texts):
    """YAML files of ours with hostile text in all names, titles and descriptions, and in what refers to them.

    The name of a scenario, which is that of its folder, stays: a reader rejects others.
    """
    files = [yaml.safe_load(text) for text in texts]
    names = {"words"}

    def collect(value):
        if isinstance(value, dict):
            if "hydromechs_scenario" not in value:
                names.update(str(value[k]) for k in ("name",) if isinstance(value.get(k), str))
            names.update(str(value[k]) for k in ("title", "description") if isinstance(value.get(k), str))
            names.update(value["frames"] if isinstance(value.get("frames"), dict) else ())
            names.update(value.get("materials", ()))
            for item in value.values():
                collect(item)
        elif isinstance(value, list):
            for item in value:
                collect(item)

    def renamed(text):
        if text in names:
            return text + PAYLOAD
        return ".".join(part + PAYLOAD if part in names else part for part in text.split("."))

    def change(value):
        if isinstance(value, dict):
            return {change(k): change(v) for k, v in value.items()}
        if isinstance(value, list):
            return [change(v) for v in value]
        return renamed(value) if isinstance(value, str) and not value.endswith(".yaml") else value

    for data in files:
        data.setdefault("description", "words")
        collect(data)
    return [yaml.safe_dump(change(data), allow_unicode=True) for data in files]


def hostile_xml(text):
    """A robot description with hostile text in all names, and in what refers to them."""
    root = ET.fromstring(text)
    names = {e.get("name") for e in root.iter() if e.get("name")}

    def renamed(value):
        return "::".join(part + PAYLOAD if part in names else part for part in value.split("::"))

    for e in root.iter():
        for key, value in e.attrib.items():
            e.set(key, renamed(value))
        if e.text and e.text.strip():
            e.text = renamed(e.text.strip())
    return ET.tostring(root, encoding="unicode")


class Tags(HTMLParser):
    """Elements and attributes of a text."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes = set(), set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def panels(page):
    """All HTML that a viser page is asked to show."""
    messages = list(page.server._websock_server._broadcast_buffer.message_from_id.values())
    kinds = {type(m).__name__ for m in messages}
    assert "GuiMarkdownMessage" not in kinds, "viser runs the HTML in Markdown"
    return [m.props.content for m in messages if type(m).__name__ == "GuiHtmlMessage"]


def only_ours(page):
    """True if the panels of a page have elements of ours alone."""
    tags = Tags()
    for text in panels(page):
        tags.feed(text)
    return tags.tags <= TAGS and tags.attributes <= {"style"}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model that is hostile in all its texts, from our own format."""
    folder = tmp_path_factory.mktemp("hostile")
    names = ("little.yaml", "little_rov.yaml", "ball.yaml")
    for name, text in zip(names, hostile_yaml(*((STATION / name).read_text() for name in names)), strict=True):
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("file", sorted(p.name for p in ROBOTS.iterdir() if p.suffix in (".urdf", ".sdf", ".xml", ".dm")))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_names_of_every_format_are_shown_as_text(file, tmp_path):
    text = (ROBOTS / file).read_text()
    if file.endswith(".dm"):
        text = re.sub(r'"([^"]+)"', lambda m: f'"{m[1]}{PAYLOAD}"'.replace("\"'>", "'>"), text)
    else:
        text = hostile_xml(text)
    path = tmp_path / file
    path.write_text(text, encoding="utf-8")
    page = viewer.view(hm.load(path))
    try:
        assert only_ours(page) and (any("&lt;iframe" in panel for panel in panels(page)) or "pwned" not in text)
    finally:
        page.close()


def ran(tab):
    """Return True if hostile text ran in a page or one of its frames, after enough time."""
    end = time.monotonic() + 0.7
    while time.monotonic() < end:
        if tab.evaluate("Boolean(top['pwned'])"):
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def tab(browser):
    context = browser.new_context(viewport={"width": 700, "height": 400}, bypass_csp=True)
    page = context.new_page()
    yield page
    context.close()


def test_the_attack_works_where_nothing_is_escaped(tab):
    """So that the tests below can fail."""
    tab.set_content(f"<p>{PAYLOAD}</p>")
    assert ran(tab)


def test_a_hostile_model_in_a_browser(model, tab):
    page = viewer.view(hm.load(model / "little_rov.yaml"))
    try:
        assert only_ours(page)
        tab.goto(page.url)
        tab.locator("canvas").first.wait_for(timeout=60_000)
        tab.get_by_text("Tree", exact=True).first.click()
        tab.get_by_label("body frames", exact=True).check()
        tab.get_by_label("named frames", exact=True).check()
        tab.get_by_text("onerror").first.wait_for(timeout=60_000)
        assert not ran(tab)
    finally:
        page.close()


@pytest.fixture(scope="module")
def run(model):
    """A short run of the hostile scenario: its scene, recording and summary."""
    scenario = catalog(str(model / "little.yaml")).read((model / "little.yaml").read_text(), str(model / "little.yaml"))
    ds = scenario.simulation().run(0.2).recording
    scene = viewer.recording_scene(
        scenario.model, ds, terrain=scenario.parts(hm.contact.Terrain), environment=scenario.environment, rate=10.0
    )
    ds = ds.assign_attrs(title=PAYLOAD, model=PAYLOAD, scenario=PAYLOAD, created=PAYLOAD, seed=PAYLOAD, hydromechs=PAYLOAD)
    check = CheckResult(PAYLOAD, False, 1.0, PAYLOAD, PAYLOAD, f"position.{PAYLOAD}")
    summary = summarise(ds, description=PAYLOAD, setup=[(PAYLOAD, PAYLOAD)])
    summary = dataclasses.replace(summary, checks=(check,), messages=(PAYLOAD,), title=PAYLOAD, model=PAYLOAD)
    return dataclasses.replace(scene, title=PAYLOAD), ds, summary


def test_a_hostile_recording_in_a_browser(run, tab):
    scene, ds, _ = run
    page = viewer.replay(scene, ds)
    try:
        tab.goto(page.url)
        tab.locator("body[data-ready=yes]").wait_for(timeout=60_000)
        tab.locator("details").evaluate_all("all => all.forEach(x => { x.open = true; })")
        tab.get_by_text("Attitude of").first.wait_for(timeout=60_000)
        assert not ran(tab)
    finally:
        page.close()


def test_a_hostile_replay_file_and_report(run, tab, tmp_path, monkeypatch):
    """The plots of the report too; none of them fails on names that look like TeX."""
    scene, ds, summary = run
    monkeypatch.setattr(ConstrainedLayoutEngine, "execute", lambda engine, fig: None)  # no room beside names of 300 characters
    plots = viewer.plot_recording(ds, tmp_path / "plots")
    assert plots
    viewer.plot_variable(ds, "position", tmp_path / "position.svg")
    viewer.write_report(ds, summary, tmp_path / "report.html", scene=scene)
    (tmp_path / "replay.html").write_text(viewer.replay_html(scene, ds), encoding="utf-8")
    for file in ("report.html", "position.svg", "replay.html"):
        tab.goto((tmp_path / file).as_uri())
        assert not ran(tab), file
        if file != "position.svg":
            assert tab.locator("[onerror], [onload], [srcdoc]").count() == 0
        if file != "position.svg":
            tab.locator("body[data-ready=yes]").wait_for(timeout=60_000)
            assert not ran(tab), file


def test_a_hostile_scenario_in_a_page_that_simulates(model, tab, tmp_path):
    """Also with a hostile link, which can come from someone else than the page."""
    scenario = hm.load_scenario(model / "little.yaml")
    file = write_page(scenario, tmp_path / "page.html")
    link = "&".join(f"{name}={quote(PAYLOAD)}" for name in ("scenario", "seed", "other"))
    tab.goto(f"{file.as_uri()}#{link}")
    tab.locator("body[data-ready=yes]").wait_for(timeout=60_000)
    tab.locator("#watch").click()
    tab.locator("details").evaluate_all("all => all.forEach(x => { x.open = true; })")
    tab.get_by_text("onerror").first.wait_for(timeout=60_000)
    assert not ran(tab) and tab.locator("[onerror], [onload], [srcdoc]").count() == 0


def test_a_hostile_scenario_in_the_station(model, tab, tmp_path):
    station = Station(catalog(str(model / "little.yaml")), "little", tmp_path, lost_after=1e6)
    try:
        station.session.messages.append(PAYLOAD)
        station.session.problem = PAYLOAD
        tab.goto(station.url + "#numbers")
        tab.get_by_text("onerror").first.wait_for(timeout=60_000)
        assert not ran(tab) and tab.locator("[onerror], [onload], [srcdoc]").count() == 0
        tab.goto(station.url)
        tab.frame_locator("#scene-outside").locator("canvas").first.wait_for(timeout=60_000)
        assert not ran(tab)
    finally:
        station.close()


def test_notes_of_a_project_are_plain_text():
    """Names in a robot's file add no headings, code, HTML or links to the README that its user follows."""
    note = "link 'a\n## Run this\n```sh\ncurl x | sh\n```\n<img src=x>[b](javascript:1)'"
    text = _instructions("m", Path("new folder; ls"), [note])
    assert text.count("```") == 2 and "\n## Run" not in text and "cd 'new folder; ls'\n" in text
    assert text.endswith(r"- link 'a ## Run this \`\`\`sh curl x | sh \`\`\` \<img src=x>\[b](javascript:1)'" + "\n")
