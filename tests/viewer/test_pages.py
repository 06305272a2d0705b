"""The pages in a browser without a window: no error on the console, a canvas with something on it, and it moves."""

import base64
import dataclasses
import io
import time

import matplotlib.image
import numpy as np
import pytest

import hydromechs as hm
from hydromechs import viewer

SIZE = {"width": 640, "height": 300}
CANVAS = """() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() =>
  done(document.querySelector('canvas[data-engine]').toDataURL('image/png')))))"""
"""Gives the picture on the canvas, right after it is drawn."""


class Tab:
    """A page with the errors of its console."""

    def __init__(self, browser, address, height=SIZE["height"], **options):
        self.context = browser.new_context(viewport={**SIZE, "height": height}, **options)
        self.page = self.context.new_page()
        self.errors = []
        self.page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        self.page.on("pageerror", lambda e: self.errors.append(str(e)))
        self.page.goto(address)
        self.page.add_style_tag(content="[class*=mantine-Notif] {display: none}")
        self.page.locator("canvas").first.wait_for(timeout=20000)

    def picture(self):
        """Picture of the canvas, shape (height, width, 3); screenshots of a page wait long without a graphics card."""
        data = self.page.evaluate(CANVAS).partition(",")[2]
        return matplotlib.image.imread(io.BytesIO(base64.b64decode(data)))[..., :3]

    def until(self, condition, seconds=20.0):
        """The first picture for which a condition holds, or the last one."""
        end = time.monotonic() + seconds
        image = self.picture()
        while not condition(image) and time.monotonic() < end:
            time.sleep(0.2)
            image = self.picture()
        return image

    def close(self):
        self.context.close()
        assert self.errors == []


def middle(image):
    """The canvas without its rim."""
    return image[10:-10, 10:-10]


def drawn(image):
    """Return True if there are objects in front of the background, whose rows have one colour each."""
    return float(middle(image).std(axis=1).max()) > 0.05


def changed(before):
    """Return True if something moved; a slow browser may draw with another resolution than before, and is then looked at coarsely."""

    def moved(image):
        if image.shape == before.shape:
            return float(np.abs(middle(image) - middle(before)).max()) > 0.1
        return float(np.abs(coarse(image) - coarse(before)).max()) > 0.1

    return moved


def coarse(image, shape=(12, 48)):
    """Means of a grid of parts of the canvas, shape (12, 48, 3)."""
    rows, columns = (np.linspace(0, n, k, endpoint=False).astype(int) for n, k in zip(middle(image).shape, shape, strict=False))
    sums = np.add.reduceat(np.add.reduceat(middle(image), rows, axis=0), columns, axis=1)
    ones = np.add.reduceat(np.add.reduceat(np.ones_like(middle(image)), rows, axis=0), columns, axis=1)
    return sums / ones


def test_a_slider_moves_the_model(browser):
    page = viewer.view(hm.load("puma560"))
    try:
        tab = Tab(browser, page.url)
        before = tab.until(drawn)
        assert drawn(before)
        tab.page.get_by_role("slider").first.press("End")
        after = tab.until(changed(before))
        assert changed(before)(after) and page.q[0] == pytest.approx(np.pi)
        for layer in ("inertia", "centres of mass"):
            tab.page.get_by_label(layer, exact=True).check()
        tab.until(lambda image: page.shown["centres of mass"])
        assert page.shown["inertia"] and page.shown["centres of mass"] and not page.shown["contact shapes"]
        tab.close()
    finally:
        page.close()


def test_joints_of_all_kinds_and_odd_names():
    """Ball joints, free bodies, and a name with a slash; no browser needed."""
    model = hm.load("sinking_chain")
    bodies = [
        dataclasses.replace(b, name=b.name.replace("_", "/"), parent=b.parent and b.parent.replace("_", "/"))
        for b in model.bodies
    ]
    page = viewer.view(dataclasses.replace(model, bodies=bodies))
    try:
        q = page.q.copy()
        q[:3] += 1.0
        page.configure(q)
        handle = page.server.scene.get_handle_by_name(page.paths["link/1"])
        assert handle.position == pytest.approx(q[:3]) and page.paths["link/1"] == "/world/link 1"
    finally:
        page.close()


def test_a_port_in_use_is_passed_over():
    """The page listens on this machine only, at the next free port."""
    first = viewer.view(hm.load("held_load"), port=8970)
    second = viewer.view(hm.load("held_load"), port=first.gate.port)
    try:
        assert first.url.startswith("http://127.0.0.1:") and first.url != second.url
        assert first.server.get_host() == "127.0.0.1"
    finally:
        first.close()
        second.close()
