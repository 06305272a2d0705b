"""From a real run to its report: what the pages and pictures say is what the run did."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from PIL import Image  # comes with matplotlib

from hydromechs.library import load_scenario
from hydromechs.recording import MemoryRecorder, Variable
from hydromechs.scenario import run_scenario
from hydromechs.viewer import plot_recording, write_report
from hydromechs.viewer._style import COLOURS


class Rows(HTMLParser):
    """Rows of all tables, as lists of texts."""

    def __init__(self, page):
        super().__init__()
        self.rows = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


def table(page, name):
    """The table of a class: last cell of each row by its first."""
    body = re.search(rf'<table class="{name}">.*?</table>', page, re.DOTALL)[0]
    return {row[0]: row[-1] for row in Rows(body).rows if row}


def number(text):
    """A number as the report prints it."""
    mantissa, _, power = text.replace("\u202f", "").replace("−", "-").partition("×10")
    return float(mantissa) * 10.0 ** int(power or 0)


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """Two seconds of the shipped scenario with thrusters, drives, friction, gusts and a controller."""
    scenario = replace(load_scenario("station_keeping"), duration=2.0)
    result = run_scenario(scenario, tmp_path_factory.mktemp("real") / "run")
    write_report(result.recording, result.summary, result.folder.report)
    return result


def test_the_audit_of_the_report_adds_up(result):
    """Verify that the printed rows give the printed sum, and that this is the printed change of stored energy."""
    rows = table(result.folder.report.read_text(), "audit")
    causes = [str(c) for c in result.recording.cause.values]
    assert "thrusters" in causes and "water" in causes
    work = {c: number(rows[c.capitalize()]) for c in causes}
    total, stored = number(rows["Sum of all work"]), number(rows["Change of stored energy"])
    # each printed number is rounded to four figures
    assert total == pytest.approx(sum(work.values()), abs=1e-3 * sum(abs(w) for w in work.values()))
    assert abs(total) > 1e-3 and stored == pytest.approx(total, rel=2e-3)
    ds = result.recording
    assert result.summary.stored_change - result.summary.total_work == pytest.approx(float(ds.energy_residual[-1]), abs=1e-9)
    changes = [number(text) for label, text in rows.items() if label.startswith("Change of") and "stored" not in label]
    assert sum(changes) == pytest.approx(stored, abs=1e-3 * sum(map(abs, changes)))


def test_the_report_tells_what_the_run_did(result):
    page = result.folder.report.read_text()
    assert re.search(r"The energy audit closes to within .* of the exchanged energy", page)
    assert f"{sum(c.passed for c in result.summary.checks)} of {len(result.summary.checks)}" in page
    rows = table(page, "setup")
    assert rows["Model"] == "tiburon_titan2: 7 bodies, 12 degrees of freedom"
    assert rows["Seed"] == str(result.recording.attrs["seed"]) and "gusts" in rows["Water"]


def test_every_variable_that_a_picture_reads_is_in_a_real_recording(result):
    """Verify that no picture of a vehicle with an arm is omitted because a variable has another name by now."""
    drawn = set(re.findall(r'data-group="(\w+)"', result.folder.report.read_text()))
    assert drawn == {"path", "attitude", "velocity", "joints", "actuators", "commands", "forces", "energy", "water"}


def test_each_cause_has_a_colour_of_its_own(tmp_path):
    """Verify that colours of thin curves survive in the file, where most curves lie on each other at zero."""
    causes = ["thrusters", "drives", "drag", "friction", "contact", "water", "grasps", "external"]
    schema = [Variable(name="work", dims=("time", "cause"), units="J", long_name="work")]
    recorder = MemoryRecorder(schema, {"cause": causes}, {})
    t = np.linspace(0.0, 20.0, 200)
    work = 1e-6 * np.sin(t[:, None] + np.arange(8.0))
    work[:, 2], work[:, 5] = -2e3 * t, 2e3 * t
    recorder.append({"time": t, "work": work})
    (file,) = plot_recording(recorder.dataset(), tmp_path)
    image = Image.open(file).convert("RGB")
    pixels = {tuple(p) for p in np.asarray(image).reshape(-1, 3).tolist()}
    shown = [tuple(int(c[k : k + 2], 16) for k in (1, 3, 5)) for c in COLOURS]
    near = [any(max(abs(a - b) for a, b in zip(p, c, strict=True)) <= 2 for p in pixels) for c in shown]
    assert near[: len(causes)] == [True] * len(causes)
