"""The station in a browser without a window: fly by keys, pause, reset, hand over, close a page in the middle."""

import io
import sys
import time
from types import SimpleNamespace

import matplotlib.image
import numpy as np
import pytest

from hydromechs.cli import _pilot, main
from hydromechs.recording import load_recording
from hydromechs.station import Station

SIZE = {"width": 640, "height": 320}


@pytest.fixture(scope="module")
def station(catalog, tmp_path_factory):
    made = Station(catalog, "little", tmp_path_factory.mktemp("runs"), lost_after=4.0)
    yield made
    made.close()


def wait(page, condition, seconds=120.0):
    """Wait for a condition; the page's policy lets nothing evaluate text, so it cannot be asked to wait itself."""
    end = time.monotonic() + seconds
    while not page.evaluate(condition):
        assert time.monotonic() < end, f"not so after {seconds:g} s: {condition}"
        time.sleep(0.05)


class Tab:
    """A page of the station, with the errors of its console."""

    def __init__(self, browser, station, part="#numbers", size=SIZE):
        self.context = browser.new_context(viewport=size)
        self.context.set_default_timeout(120_000)  # on a machine with much else to do
        self.page = self.context.new_page()
        self.errors = []
        self.page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        self.page.on("pageerror", lambda e: self.errors.append(str(e)))
        self.page.goto(station.url + part)
        self.wait("frame !== null")

    def wait(self, condition):
        """Wait for a condition."""
        wait(self.page, condition)

    def hold(self, key, condition):
        """Keep a key down until something is so."""
        self.page.keyboard.down(key)
        self.wait(condition)
        self.page.keyboard.up(key)

    def scene(self, view):
        """Picture of one of the scenes, shape (height, width, 3)."""
        clip = self.page.locator(f"#scene-{view}").bounding_box()
        return matplotlib.image.imread(io.BytesIO(self.page.screenshot(clip=clip)))[..., :3]

    def close(self):
        self.context.close()
        assert self.errors == []


def test_a_short_mission_by_keys(browser, station, until):
    tab = Tab(browser, station, part="")
    for view in ("outside", "onboard"):
        tab.page.frame_locator(f"#scene-{view}").locator("canvas").first.wait_for(timeout=120_000)
    assert until(lambda: float(tab.scene("outside")[120:, :].std(axis=1).max()) > 0.05, 60.0), "something stands in the water"
    before = tab.scene("onboard")
    tab.page.keyboard.press("p")
    tab.wait("frame.status.running")
    tab.page.keyboard.press("2")
    tab.wait("frame.operator.mode === 'speed'")
    tab.hold("w", "frame.hud.position[0] > 0.3")
    tab.page.keyboard.press("3")
    tab.page.mouse.click(30, 250)  # into the scene, which then has the keys
    tab.hold("e", "frame.hud.heading > 8")
    tab.page.keyboard.press("4")
    tab.hold("i", "frame.operator.arm_axes[1] === 1")
    tab.wait("frame.operator.arm_axes[1] === 0 && frame.operator.mode === 'hold'")
    assert until(lambda: float(np.abs(tab.scene("onboard") - before).max()) > 0.1, 60.0), "the camera moves along"
    tab.page.locator("#pause").click()
    tab.wait("!frame.status.running")
    tab.page.locator("#picture").click()
    pictures = station.session.run_folder.path / "camera"
    assert until(lambda: any(pictures.glob("*.png")), 60.0), "the browser of the pilot draws what the camera sees"
    t = station.session.snapshot.t
    tab.page.keyboard.press(".")
    tab.wait(f"frame.t > {t}")
    assert station.session.snapshot.t == pytest.approx(t + 0.04)
    tab.page.keyboard.press("9")
    tab.wait("frame.ghost !== null && frame.status.link.delay === 2")
    tab.page.keyboard.press("8")
    tab.wait("frame.ahead !== null && frame.ahead.ways.length === 3")
    tab.page.keyboard.press("9")
    tab.wait("frame.ghost === null")
    tab.page.keyboard.press("Backspace")
    tab.wait("frame.t === 0 && frame.status.run === 'little-2'")
    tab.close()


def test_two_pages_hand_over_and_a_closed_page_leaves_a_vehicle_that_holds(browser, station, until):
    first, second = Tab(browser, station), Tab(browser, station)
    first.wait("frame.steers && frame.seats === 2")
    second.page.keyboard.press("2")
    second.page.locator("#ask").click()
    first.wait("frame.asking.length === 1")
    assert station.session.inputs.now.mode == "hold", "who watches is not heard"
    first.page.locator("#give").click()
    second.wait("frame.steers")
    first.wait("!frame.steers")
    second.page.keyboard.press("p")
    second.page.keyboard.press("2")
    second.page.keyboard.down("w")
    second.wait("frame.operator.mode === 'speed' && frame.operator.axes[0] === 1 && frame.status.running")
    second.close()
    assert until(lambda: station.session.lost)
    assert station.session.inputs.now.mode == "hold" and not any(station.session.inputs.now.axes)
    t = station.session.snapshot.t
    assert until(lambda: station.session.snapshot.t > t + 0.2), "the run goes on"
    first.page.locator("#ask").click()
    first.wait("frame.steers")
    first.close()


def test_a_page_that_is_busy_drawing_still_steers(browser, station):
    """On a slow machine the page may be busy for seconds; who holds a key meanwhile is not lost."""
    tab = Tab(browser, station)
    tab.wait("frame.steers && !frame.status.lost")
    tab.page.keyboard.press("2")
    tab.wait("frame.operator.mode === 'speed'")
    tab.page.keyboard.down("w")
    tab.wait("frame.operator.axes[0] === 1")
    tab.page.evaluate("{ const end = performance.now() + 4500; while (performance.now() < end); }")  # lost_after is 4 s
    assert not station.session.lost and station.session.inputs.now.axes[0] == 1.0
    tab.page.keyboard.up("w")
    tab.wait("frame.operator.axes[0] === 0")
    tab.close()


def test_a_phone_shows_the_start_button(browser, station):
    tab = Tab(browser, station, size={"width": 390, "height": 844})
    tab.page.locator("#start").scroll_into_view_if_needed()
    hud, start = (tab.page.locator(name).bounding_box() for name in ("#hud", "#start"))
    assert hud["y"] + hud["height"] <= start["y"] and start["x"] + start["width"] <= 390
    tape = tab.page.locator("#heading").bounding_box()
    assert tape["y"] + tape["height"] <= hud["y"]
    tab.page.locator("#swap").click()
    tab.page.evaluate("scrollTo(0, 0)")
    box = tab.page.locator("#onboard").bounding_box()
    seen = f"document.elementFromPoint({box['x'] + 195}, {box['y'] + 40}).id"
    assert tab.page.evaluate(seen) == "scene-outside", "the swapped view is in the place of the camera"
    tab.page.locator("#swap").click()
    tab.page.locator("#start").click()
    tab.wait("frame.status.running")
    tab.page.locator("#pause").click()
    tab.wait("!frame.status.running")
    tab.close()


def test_views_swap_and_objective(browser, station, until):
    """A view moves the outside camera of this page, the large camera is one click, the mission's checks are the objective."""
    tab = Tab(browser, station, part="", size={"width": 1280, "height": 720})
    assert tab.page.locator("#objective li").all_text_contents() == list(station.session.configured.objective) != []
    outside = station.scenes.outside.server
    assert until(lambda: len(outside.get_clients()) == 1)
    (client,) = outside.get_clients().values()
    tab.page.locator("[data-view=top]").click()
    away = lambda: client.camera.position - client.camera.look_at  # noqa: E731
    assert until(lambda: away()[2] > 0.95 * np.linalg.norm(away()))
    onboard = station.scenes.onboard.server
    assert until(lambda: len(onboard.get_clients()) == 1)
    (eye,) = onboard.get_clients().values()
    line = lambda: eye.camera.look_at - eye.camera.position  # noqa: E731
    assert until(lambda: np.linalg.norm(line()) == pytest.approx(1.0, abs=1e-3))
    right = np.cross(line(), [0.0, 0.0, 1.0])
    right = right / np.linalg.norm(right)
    tab.page.locator("#gimbal [data-pan='15']").click()
    assert until(lambda: line() @ right == pytest.approx(np.sin(np.radians(15)), abs=0.02))
    low = line()[2]
    tab.page.locator("#gimbal [data-tilt='15']").click()
    assert until(lambda: line()[2] > low + 0.1)
    tab.page.locator("#swap").click()
    assert tab.page.locator("#scene-onboard").bounding_box()["width"] == 880
    assert tab.page.locator("#thrust line, #thrust circle").count() >= len(station.session.pilot.vehicle.thrusters)
    assert tab.page.locator("#depth .now").text_content().endswith(" m")
    tab.close()


def test_messages_are_seen_without_scrolling_and_headings_do_not_jump(browser, station):
    tab = Tab(browser, station, size={"width": 1280, "height": 720})
    station.session.messages.append("the gripper is closed")
    tab.wait("document.getElementById('messages').textContent.includes('gripper')")
    box = tab.page.locator("#messages").bounding_box()
    assert box["y"] >= 0 and box["y"] + box["height"] <= 720
    turned = """() => { history.length = 0; const at = frame.t; for (const [k, h] of [350, 358, 6, 14, 3, 352].entries()) {
        frame.t = at + k; frame.hud.heading = h; show(); } return history.map((row) => row[3]); }"""
    assert tab.page.evaluate(turned) == [350, 358, 366, 374, 363, 352]
    # on the right of the tape are the headings after a turn to starboard: larger in NED, smaller in ENU
    marks = """(axes) => [...headingTape(30, axes).matchAll(/<text x="([-.0-9]+)" y="24">(15|NE)</g)]
        .map((m) => [m[2], m[1] > 0])"""
    assert tab.page.evaluate(marks, "NED") == [["15", False], ["NE", True]]
    assert tab.page.evaluate(marks, "ENU") == [["15", True], ["NE", False]]
    assert tab.page.evaluate("[degrees(359.96, 1), degrees(359.94, 1), decimals(-0.001)]") == ["0.0", "359.9", "0.00"]
    tab.close()


@pytest.fixture(scope="module")
def numbers(browser):
    """A page for one station after the other, with the errors of its console; drawing scenes would take most of the time."""
    context = browser.new_context(viewport=SIZE)
    context.set_default_timeout(120_000)
    page, errors = context.new_page(), []
    page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda e: errors.append(str(e)))
    yield page, errors
    context.close()


@pytest.mark.parametrize("name", _pilot.catalog().offered)
@pytest.mark.usefixtures("default_signals")
def test_the_command_flies_every_library_scenario_with_a_vehicle(name, numbers, tmp_path, monkeypatch, capsys):
    """The page shows the scenario, time runs, and Ctrl-C saves the run."""
    page, errors = numbers
    stations = []

    def station(*arguments, **options):
        stations.append(Station(*arguments, **options))
        return stations[-1]

    def fly(seconds):
        """In place of the wait for Ctrl-C."""
        page.goto(stations[0].url + "#numbers")
        wait(page, "frame !== null && frame.t === 0 && frame.steers")
        page.locator("#start").click()
        wait(page, "frame.status.running && frame.t > 0")
        shown = page.locator("#title").inner_text(), page.locator("#hud").inner_text()
        page.goto("about:blank")
        assert shown[0] == stations[0].session.configured.scenario.title and "depth" in shown[1]
        raise KeyboardInterrupt

    monkeypatch.setattr(_pilot, "Station", station)
    monkeypatch.setattr(_pilot, "time", SimpleNamespace(sleep=fly))
    monkeypatch.setattr(sys, "argv", ["hydromechs", "pilot", name, "--no-browser", "--port", "0", "--out", str(tmp_path)])
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code and "recording:" in capsys.readouterr().out and errors == []
    recording = load_recording(tmp_path / name)
    assert recording.attrs["finished"] == 1 and np.isfinite(recording["position"]).all()
