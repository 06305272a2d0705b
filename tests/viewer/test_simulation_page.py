"""Pages that simulate: a flight by keys, its recording in Python, links, many missions, fallbacks; without a network."""

import time
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
