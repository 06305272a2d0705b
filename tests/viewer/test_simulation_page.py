"""Pages that simulate: a flight by keys, its recording in Python, links, many missions, fallbacks; without a network."""

import time
import zlib
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import hydromechs as hm
from hydromechs import browser as pages
from hydromechs.cli._main import app
from hydromechs.recording import Check

LITTLE = Path(__file__).parents[1] / "station" / "files" / "little.yaml"
MASS = "rov.vehicle.inertia.mass"


@pytest.fixture(scope="module")
def scenario():
    """A little vehicle, to be flown half a metre ahead and turned."""
    checks = (
        Check(name="ahead", quantity="position.rov.vehicle.x", statistic="max", above=0.4),
        Check(name="turned", quantity="heading_deg.rov.vehicle", statistic="max_abs", above=5.0),
        Check(name="arm moved", quantity="q.rov.upper", statistic="max_abs", above=0.05),
    )
    return hm.load_scenario(LITTLE).with_fields(checks=checks, duration=30.0, events=())


@pytest.fixture(scope="module")
def file(scenario, tmp_path_factory):
    return pages.write_page(scenario, tmp_path_factory.mktemp("page") / "little.html")


class Tab:
    """A page without a network; its console must stay free of errors."""

    def __init__(self, browser, file, part="", script="", **how):
        self.context = browser.new_context(viewport={"width": 640, "height": 360}, offline=True, accept_downloads=True, **how)
        self.page, self.errors = self.context.new_page(), []
        self.page.set_default_timeout(60_000)
        self.page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        self.page.on("pageerror", lambda e: self.errors.append(str(e)))
        if script:
            self.page.add_init_script(script)
        self.page.goto(file.as_uri() + part)
        self.until("document.body.dataset.ready")

    def until(self, condition):
        """Wait for a condition; the page's policy forbids the waiting of the driver, which evaluates text."""
        end = time.monotonic() + 60
        while not (value := self.page.evaluate(condition)):
            assert time.monotonic() < end, condition
            self.page.wait_for_timeout(30)
        return value

    def hold(self, key, condition):
        self.page.keyboard.down(key)
        self.until(condition)
        self.page.keyboard.up(key)

    def text(self, selector):
        return self.page.locator(selector).inner_text()

    def close(self):
        self.context.close()
        assert self.errors == []


@pytest.fixture
def tab(browser, file):
    opened = Tab(browser, file)
    yield opened
    opened.close()


def test_a_flight_by_keys_passes_its_checks_in_python(tab, scenario, tmp_path):
    """A newcomer presses what the first screen says; the recording opens, replays, and is the same flight in Python."""
    page = tab.page
    assert {"W", "A", "S", "D"} <= set(page.locator("#card kbd").all_inner_texts())
    page.keyboard.press("Tab")
    page.locator("#fly").focus()
    page.keyboard.press("Enter")
    tab.until("hydromechs.mode === 'hold'")
    assert page.evaluate("hydromechs.view.layers.get('bodies').on && hydromechs.view.extent('rov.vehicle').reach") != 1
    page.keyboard.press("b")
    assert page.evaluate("hydromechs.view.mounted.name") == "rov.vehicle"
    page.keyboard.press("b")
    tab.hold("w", "hydromechs.state.values.position[0] > 0.5")
    tab.hold("e", "Math.abs(hydromechs.state.values.orientation[3]) > 0.06")
    tab.hold("j", "hydromechs.state.t > 0 && Math.abs(hydromechs.steering.deflections(JOINTS).arm[0]) === 1")
    page.keyboard.down("i")
    page.keyboard.down("l")
    page.wait_for_timeout(800)
    page.keyboard.up("i")
    page.keyboard.up("l")
    page.keyboard.press("p")
    with page.expect_download() as download:
        page.locator("#download").click()
    kept = tmp_path / "flight.nc"
    download.value.save_as(kept)
    recording = hm.load_recording(kept)
    run = pages.fly_again(kept)
    assert run.recording.sizes["time"] == recording.sizes["time"] > 20
    for name in ("q", "v", "actuator_force"):
        np.testing.assert_allclose(run.recording[name].values, recording[name].values, rtol=0.0, atol=1e-8, err_msg=name)
    assert [check.judge(run.recording).passed for check in scenario.checks] == [True, True, True]
    result = CliRunner().invoke(app, ["replay", str(kept), "--html", str(tmp_path / "replay.html")])
    assert result.exit_code == 0 and (tmp_path / "replay.html").stat().st_size > 5e5


def test_links_many_missions_and_looking_back(browser, file):
    """A link sets seed and parameters; what it cannot set is named. Missions fly beside the shown one."""
    tab = Tab(browser, file, f"#scenario=other&seed=7&speed=10&{MASS}=1000&mass=3")
    page = tab.page
    assert page.locator("#seed").input_value() == "7" and page.locator("#speed").input_value() == "10"
    said = " ".join(tab.until("hydromechs.notes.length >= 3 && hydromechs.notes"))
    assert all(text in said for text in ("scenario other", f"{MASS} to 1000, outside the range", "sets mass, which"))
    page.locator(".slider input").first.evaluate("x => { x.value = x.max; x.oninput(); }")
    link = page.evaluate("hydromechs.linkText()")
    assert f"seed=7&{MASS}=" in link and link.startswith(file.as_uri())
    page.evaluate("hydromechs.scatter.begin(3, 0.02)")
    tab.until("document.querySelector('#scattered').textContent.startsWith('3 of 3 flown')")
    assert page.evaluate("hydromechs.scatter.flights.map(f => f.poses.length / 7)") == [301] * 3
    page.keyboard.press("p")
    tab.until("hydromechs.state.t > 3")
    page.keyboard.press(".")
    at = tab.until("hydromechs.state.playing ? 0 : hydromechs.state.t")
    page.evaluate("hydromechs.plots.seek(1)")
    tab.until("hydromechs.state.t === 1")
    tab.until("document.querySelector('#hud').innerText.startsWith('Earlier time')")  # drawn with the next frame
    assert page.evaluate("hydromechs.state.now") >= at - 1e-9
    tab.close()


NO_WEBGL = (
    "const get = HTMLCanvasElement.prototype.getContext; HTMLCanvasElement.prototype.getContext = function (kind, ...more) "
    "{ return /webgl/.test(kind) ? null : get.call(this, kind, ...more); };"
)


NO_WORKER = (
    "globalThis.Worker = class { constructor() { setTimeout(() => this.onerror({ message: 'none' })); } postMessage() {} };"
)


def test_without_webgl_workers_or_webassembly(browser, file):
    tab = Tab(browser, file, script=NO_WEBGL + NO_WORKER)
    assert "requires WebGL" in tab.text("#failed")
    tab.page.locator("#watch").click()
    tab.until("hydromechs.state.t > 0.5 && hydromechs.store.time.length > 5")
    assert "speed" in tab.text("#hud")
    tab.errors = [text for text in tab.errors if "WebGL" not in text]  # three.js reports it too
    tab.close()
    tab = Tab(browser, file, script="delete globalThis.WebAssembly;")
    assert "does not run WebAssembly" in tab.text("#failed") and tab.page.evaluate("document.body.dataset.ready") == "failed"
    tab.close()


def test_touch_on_a_phone(browser, file):
    """Sticks fly the vehicle; nothing is wider than the screen."""
    tab = Tab(browser, file, has_touch=True, is_mobile=True)
    page = tab.page
    page.set_viewport_size({"width": 390, "height": 760})
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.locator("#fly").tap()
    stick = page.locator(".stick").first.bounding_box()
    page.mouse.move(stick["x"] + 58, stick["y"] + 58)
    page.mouse.down()
    page.mouse.move(stick["x"] + 58, stick["y"] + 4)
    tab.until("hydromechs.state.values.velocity[0] > 0.1")
    page.mouse.up()
    assert page.evaluate("hydromechs.steering.sticks") == [0] * 6
    tab.close()


def test_notebooks_show_the_page_in_a_closed_frame(browser, scenario, file):
    """`hm.show` returns a frame without access to the notebook; the page runs in it."""
    frame = pages.ShownPage(file.read_text(), 400)._repr_html_()
    assert 'sandbox="allow-scripts allow-downloads"' in frame
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.set_content(f"<h1>notebook</h1>{frame}")
    page.frame_locator("iframe").locator("#watch").click(timeout=60_000)
    shown = page.frames[1]
    end = time.monotonic() + 60
    while not shown.evaluate("hydromechs.state && hydromechs.state.t > 0.2"):
        assert time.monotonic() < end
        page.wait_for_timeout(50)
    context.close()


def test_policy_and_size(file):
    text = file.read_text()
    policy = text.split('http-equiv="Content-Security-Policy" content="')[1].split('"')[0]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'" and rules["worker-src"] == "blob:" and "connect-src" not in rules
    sources = rules["script-src"].split()
    assert "'wasm-unsafe-eval'" in sources and all(s == "'wasm-unsafe-eval'" or s.startswith("'sha256-") for s in sources)
    assert len(text) < 5e6 and len(zlib.compress(text.encode())) < 2e6


def test_page_in_firefox(firefox, file):
    """It starts, keeps real time, and answers to keys."""
    firefox.send("browsingContext.setViewport", context=firefox.context, viewport={"width": 640, "height": 360})
    firefox.send("browsingContext.navigate", context=firefox.context, url=file.as_uri(), wait="complete")

    def until(condition):
        end = time.monotonic() + 60
        while not firefox.evaluate(condition):
            assert time.monotonic() < end, condition
            time.sleep(0.05)

    until("document.body.dataset.ready === 'yes'")
    firefox.evaluate("document.querySelector('#watch').click()")
    until("hydromechs.state.t > 1")
    firefox.evaluate("dispatchEvent(new KeyboardEvent('keydown', { code: 'KeyW' }))")
    until("hydromechs.mode === 'hold' && hydromechs.state.values.velocity[0] > 0.1")
    firefox.evaluate("hydromechs.send({ recording: true })")
    until("[...document.querySelectorAll('#messages div')].some(x => /Saved little/.test(x.textContent))")


def test_scenarios_that_cannot_become_a_page_are_named(tmp_path):
    def page(*words):
        result = CliRunner().invoke(app, ["page", "--no-browser", "--out", str(tmp_path / "a.html"), *words])
        assert result.exit_code
        return " ".join(f"{result.exception} {result.output}".replace("│", " ").split())

    assert "'dormand_prince' is adaptive" in page("free_decay")
    assert "has no 'mas'" in page(str(LITTLE), "--parameter", f"{MASS[:-1]}")
    assert "is not of the form PATH or PATH=LOW:HIGH" in page(str(LITTLE), "--parameter", f"{MASS}=3")
    assert "HTML files" in page(str(LITTLE), "--out", str(tmp_path / "a.txt"))
