"""Can pick_and_release be flown by keys? A browser that presses them, with what docs/station.md says and the page shows.

    python tests/station/fly_pick_and_release.py [FOLDER]

It takes about 90 s of real time on a machine with little else to do, and prints what happened.
"""

import sys
import tempfile
import time

from playwright.sync_api import sync_playwright

from hydromechs.cli._pilot import catalog
from hydromechs.recording import load_recording
from hydromechs.station import Station
from hydromechs.viewer._pictures import FLAGS, chromium

PADEYE = (2.5, 0.0, 48.9643)
"""Position of the padeye of the frame [m]; an operator sees it in the pictures."""


class Hands:
    """Presses keys of a page until what the page shows is as wanted."""

    def __init__(self, page):
        self.page = page

    def value(self, text):
        return self.page.evaluate(text)

    def press(self, key):
        self.page.keyboard.press(key)
        time.sleep(0.2)

    def bring(self, what, wanted, plus, minus, *, rate, within):
        """Press one of two keys, each time about as long as it takes, until a number is near enough."""
        for _ in range(60):
            off = wanted - self.value(what)
            if abs(off) < within:
                return
            key = plus if off > 0 else minus
            self.page.keyboard.down(key)
            time.sleep(min(max(abs(off) / rate * 0.8, 0.08), 3.0))
            self.page.keyboard.up(key)
            time.sleep(1.2)
        raise SystemExit(f"{what} did not come to {wanted}: {self.value(what)}")


def until(page, condition):
    """Wait for a condition of the page, whose policy lets nothing evaluate text on its own."""
    while not page.evaluate(condition):
        time.sleep(0.1)


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()
    station = Station(catalog(), "pick_and_release", folder, lost_after=10.0)
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=chromium(), args=list(FLAGS[1:]))
        page = browser.new_context(viewport={"width": 640, "height": 360}).new_page()
        page.set_default_timeout(120_000)
        page.goto(station.url + "#numbers")  # the hands go by the numbers of the display
        until(page, "frame !== null")
        hands = Hands(page)
        hands.press("p")
        heading = "((frame.hud.heading + 180) % 360) - 180"
        hands.bring(heading, 0.0, "e", "q", rate=17.0, within=1.5)
        hands.bring("frame.hud.position[0]", 0.0, "w", "s", rate=0.6, within=0.05)
        hands.bring("frame.hud.position[1]", 0.0, "d", "a", rate=0.4, within=0.05)
        hands.bring("frame.hud.depth", 48.36, "f", "r", rate=0.3, within=0.05)
        hands.press("5")
        tool = "frame.hud.tools[0]"
        for k, (plus, minus) in enumerate((("i", "k"), ("l", "j"), ("o", "u"))):
            hands.bring(f"{tool}[{k + 1}]", PADEYE[k], plus, minus, rate=0.15, within=0.05)
        hands.press("c")
        until(page, "frame.hud.grips[0][1]")
        hands.bring("frame.hud.depth", 47.7, "f", "r", rate=0.3, within=0.1)
        lifted = station.session.snapshot.position[-1][2]
        hands.press("v")
        until(page, "!frame.hud.grips[0][1]")
        time.sleep(4.0)
        browser.close()
    station.close()
    run = station.session.run_folder
    depth = load_recording(run.recording)["depth"].sel(body="cargo.frame").values
    print(
        f"{run.path}: {load_recording(run.recording)['time'].values[-1]:.1f} s, {station.session.status['factor']} x real time"
    )
    print(
        f"the frame was lifted from {depth[0]:.2f} m to {depth.min():.2f} m (at release {lifted:.2f} m) and is at {depth[-1]:.2f} m"
    )
    if not (depth.min() < depth[0] - 0.4 and abs(depth[-1] - depth[0]) < 0.05):
        raise SystemExit("the frame was not lifted by 0.4 m and put down")


if __name__ == "__main__":
    main()
