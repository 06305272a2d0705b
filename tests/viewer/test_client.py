"""The interactive pages: data arrive unchanged, scene and plots share one timeline, without a network, in two browsers."""

import base64
import json
import time
import zlib

import matplotlib.image
import numpy as np
import pytest

import hydromechs as hm
from hydromechs import contact, geometry, viewer
from hydromechs.hydro import RegularWave
from hydromechs.recording import Summary, compare_recordings
from hydromechs.viewer._client import PageContent, time_marks
from hydromechs.viewer._style import kept_points


@pytest.fixture(scope="module")
def run():
    """A pipe that sinks in waves towards the bed: recording and scene."""
    model = hm.load("hand_pipe")
    bed = contact.Terrain(
        name="bed",
        material=contact.Material(law=contact.LinearContact(stiffness=1e4)),
        shape=geometry.Plane.through((0, 0, 6), (0, 0, -1)),
    )
    water = hm.Environment(waves=(RegularWave(height=0.3, period=3.0),), current=hm.hydro.Current(velocity=(0.2, 0.1, 0.0)))
    start = hm.State(q=np.array([0, 0, 2.0, 1, 0, 0, 0]), v=np.array([1.0, 0, 0, 0.5, 0, 0.5]))
    ds = hm.Simulation(model, environment=water, state=start, step=0.005).run(3.0).recording
    return ds, viewer.recording_scene(model, ds, terrain=(bed,), environment=water, rate=10.0)


@pytest.fixture
def tab(browser):
    """Opens a page of this machine without a network; its console must stay free of errors."""
    context = browser.new_context(viewport={"width": 1100, "height": 500}, offline=True, reduced_motion="reduce")
    page, errors = context.new_page(), []
    page.set_default_timeout(60_000)  # drawing without a graphics card is slow
    page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda e: errors.append(str(e)))
    yield page
    context.close()
    assert errors == []


def opened(tab, file):
    tab.goto(file.as_uri())
    tab.locator("body[data-ready=yes]").wait_for(timeout=60_000)
    return tab


def until(tab, condition):
    """Wait for a condition; the page's policy forbids the waiting of the driver, which evaluates text."""
    end = time.monotonic() + 60
    while not tab.evaluate(condition):
        assert time.monotonic() < end, condition
        tab.wait_for_timeout(50)


def unpacked(content):
    """The data of a page, and a function that returns an array of it."""
    data, block = content.packed()
    block = zlib.decompress(base64.b64decode(block))
    return json.loads(data), lambda ref: np.frombuffer(block, dtype=f"<{ref['type']}", count=ref["n"], offset=ref["at"])


def test_messages_with_a_time_are_marks():
    marks, others = time_marks(["t = 12.000000 s: grip (time crosses 12)", "thruster at its limit", "at t = 3 s it rained"])
    assert [tuple(mark) for mark in marks] == [(12.0, "grip (time crosses 12)")]
    assert others == ["thruster at its limit", "at t = 3 s it rained"]


def test_scene_and_curves_arrive_in_the_page(run):
    ds, scene = run
    data, array = unpacked(PageContent(scene=scene, recordings=[("", ds)]))
    frame = next(f for f in data["scene"]["frames"] if f["name"] == "pipe")
    np.testing.assert_allclose(array(frame["position"]).reshape(-1, 3), scene.frames[0].position, rtol=1e-6)
    np.testing.assert_array_equal(array(data["scene"]["times"]), scene.times)
    depth = data["plots"]["path"]["panels"][0]["tables"][0]
    at = np.searchsorted(ds["time"].values, array(depth["t"]))
    np.testing.assert_allclose(array(depth["curves"][0]["values"]), ds["depth"].values[at, 0], rtol=1e-6)


def test_thinned_curves_keep_their_peaks():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 100_003))
    a[31_234], b[71_001] = 50.0, np.nan
    kept = kept_points([a, b], 1000)
    assert len(kept) < 2100 and {0, 31_234, 71_001, 100_002} <= set(kept.tolist())
    assert b[kept][np.isfinite(b[kept])].max() == np.nanmax(b) and kept_points([a[:900]], 1000).tolist() == list(range(900))


def test_report_links_scene_plots_and_timeline(tab, run, tmp_path):
    """A click on a plot moves the scene; the timeline moves all markers; a zoom applies to all plots."""
    ds, scene = run
    summary = Summary(title="A pipe sinks", messages=("t = 1.5 s: it turned", "unrelated"))
    page = opened(tab, viewer.write_report(ds, summary, tmp_path / "report.html", scene=scene))
    picture = "() => { const v = hydromechs.view; v.dirty = true; v.draw(); return v.canvas.toDataURL(); }"
    before = page.evaluate(picture)
    page.locator(".plot").first.scroll_into_view_if_needed()  # plots are made when they come into view
    over = page.locator(".u-over").first
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    over.click(position={"x": 0.54 * box["width"], "y": 40})
    assert page.evaluate("hydromechs.time") == pytest.approx(1.62, abs=0.03)
    assert "it turned" in page.locator("#event").inner_text()
    assert page.evaluate(picture) != before
    page.locator("#marks button").click()
    assert page.evaluate("hydromechs.time") == 1.5 and float(page.locator("#time").input_value()) == 1.5
    assert (
        page.locator("#moments img").count() == 6
        and len(set(page.locator("#moments img").evaluate_all("x => x.map(i => i.src)"))) > 3
    )
    page.locator("#layers summary").click()
    page.get_by_label("bodies").uncheck()
    assert page.evaluate("hydromechs.view.layers.get('bodies').on") is False
    page.evaluate("hydromechs.plots.plots[0].setScale('x', {min: 1, max: 2})")
    until(page, "hydromechs.plots.plots.every(p => p.scales.x.min === 1 && p.scales.x.max === 2)")
    assert "unrelated" in page.locator(".messages").inner_text() and "it turned" not in page.locator(".messages").inner_text()


def test_close_values_have_different_labels(tab, make_recording, tmp_path):
    ds = make_recording(samples=61)
    ds["position"].loc[{"xyz": "z"}] = 20.0 + 0.001 * np.linspace(0.0, 1.0, 61)[:, None]
    page = opened(tab, viewer.write_report(ds, Summary(), tmp_path / "r.html"))
    assert page.evaluate("[20, 20.0005, 20.001].map(x => fixed(x, 0.0005))") == ["20.0000", "20.0005", "20.0010"]
    assert page.evaluate("[0, 2.5, 5].map(x => fixed(x, 2.5))") == ["0", "2.5", "5.0"]
    assert len(set(page.evaluate("[1e-7, 2e-7, 3e-7].map(x => fixed(x, 1e-7))"))) == 3


def test_replay_plays_and_stops(tab, run, tmp_path):
    """It fills the window without overlap, and plays with the clock."""
    ds, scene = run
    file = tmp_path / "replay.html"
    file.write_text(viewer.replay_html(scene, ds))
    assert file.stat().st_size < 3e6
    page = opened(tab, file)
    stage, aside = (page.locator(name).bounding_box() for name in (".stage", "aside"))
    assert stage["x"] + stage["width"] <= aside["x"] + 1 and aside["x"] + aside["width"] <= 1101
    page.locator("#play").click()
    until(page, "hydromechs.time > 0.3")
    page.locator("#play").click()
    stopped = page.evaluate("hydromechs.time")
    page.wait_for_timeout(200)
    assert page.evaluate("hydromechs.time") == stopped
    page.keyboard.press("End")
    assert page.evaluate("hydromechs.time") == pytest.approx(float(scene.times[-1]))


def test_comparison_page_shows_both_runs(tab, run, tmp_path):
    ds, scene = run
    other = ds.copy(deep=True)
    other["position"].values[..., 2] += 0.25
    other["depth"].values[:] += 0.25
    found = compare_recordings(ds, other)
    page = opened(tab, viewer.write_comparison(ds, other, found, tmp_path / "c.html", labels=("a", "b<i>"), scene=scene))
    assert page.locator("h1").inner_text() == "a and b<i>" and "0.25 m" in page.locator("section table").last.inner_text()
    labels = page.evaluate("hydromechs.plots.plots[0].series.map(s => s.label)")
    assert labels == ["time", "pipe · a", "pipe · b<i>"]


def test_report_in_firefox(run, firefox, tmp_path):
    """The scene is drawn, plots and scene share the time, and a picture shows the curves."""
    ds, scene = run
    page = viewer.write_report(ds, Summary(title="A pipe sinks"), tmp_path / "report.html", scene=scene)
    firefox.send("browsingContext.setViewport", context=firefox.context, viewport={"width": 1200, "height": 1400})
    firefox.send("browsingContext.navigate", context=firefox.context, url=page.as_uri(), wait="complete")
    end = time.monotonic() + 60
    while firefox.evaluate("document.body.dataset.ready") != "yes":
        assert time.monotonic() < end
        time.sleep(0.1)
    firefox.evaluate("document.querySelector('.plot').scrollIntoView(), hydromechs.seek(1.5)")
    time.sleep(1.0)  # the next pictures of scene and plots
    assert firefox.evaluate("document.querySelector('#now').textContent") == "1.50 / 3.00 s"
    shot = base64.b64decode(firefox.send("browsingContext.captureScreenshot", context=firefox.context)["data"])
    (tmp_path / "report.png").write_bytes(shot)
    without = firefox.evaluate("document.querySelector('#failed').hidden") is False
    image = (255 * matplotlib.image.imread(tmp_path / "report.png")[..., :3]).round().astype(int)
    blue = np.abs(image - [0, 114, 178]).max(axis=-1) < 12  # the first curve
    assert blue[:, 640:].sum() > 100
    assert without or image[100:300, 100:500].std(axis=(0, 1)).max() > 8  # some machines offer Firefox no WebGL
