"""Plots and reports: what is drawn, what is said, and that a report is one safe file."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from PIL import Image  # comes with matplotlib

from hydromechs.recording import CheckResult, Summary, structured
from hydromechs.viewer import plot_recording, plot_variable, write_report
from hydromechs.viewer._report import _number, _percent, _seconds
from hydromechs.viewer._series import depth, plot_groups, roll_pitch_yaw
from hydromechs.viewer._style import thinned

VOID = {"meta", "img", "br", "hr"}


class Page(HTMLParser):
    """Contents of a page: tags in order, text, attributes that load or lead somewhere."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words, self.targets, self.open = [], [], [], []
        self.feed(text)
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.targets += [value for name, value in attrs if name in ("src", "href", "action", "data", "srcset")]
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


# plots


def test_pictures_of_a_vehicle_with_an_arm(tmp_path, make_recording):
    files = plot_recording(make_recording(samples=301, joints=2, thrusters=2), tmp_path / "plots")
    assert [f.stem for f in files] == [
        "path",
        "attitude",
        "velocity",
        "forces",
        "actuators",
        "energy",
        "water",
        "joints",
        "commands",
    ]
    for file in files:
        image = Image.open(file)
        assert image.width == 1140 and 350 < image.height < 1500
        assert len(np.unique(np.asarray(image.convert("L")))) > 10  # something is drawn


def test_pictures_with_nothing_to_show_are_omitted(tmp_path, make_recording, undrawn):
    arm = plot_recording(make_recording(samples=11, free=False, thrusters=0, joints=1), tmp_path / "arm")
    assert {"attitude", "velocity", "forces", "contact"}.isdisjoint(f.stem for f in arm)
    walker = plot_recording(make_recording(samples=11, contacts=2, joints=0, thrusters=0), tmp_path / "walker")
    assert "contact" in [f.stem for f in walker] and "joints" not in [f.stem for f in walker]


def test_a_single_contact_is_named(make_recording):
    """One curve has no legend, so its pair is in the title."""
    panels = plot_groups(make_recording(samples=101, contacts=1))["contact"].panels
    assert panels[0].title == "Normal force of foot_1 on floor"


def test_a_continuous_turn_has_no_jumps(make_recording):
    ds = make_recording(samples=1201)
    yaw = np.linspace(0.0, 4.0 * np.pi, 1201)
    zero = np.zeros_like(yaw)
    ds["orientation"][:] = np.stack([np.cos(yaw / 2), zero, zero, np.sin(yaw / 2)], axis=-1)[:, None]
    shown = plot_groups(ds)["attitude"].panels[0].series["yaw"]
    assert np.abs(np.diff(shown)).max() < 10.0 and np.isclose(np.ptp(shown), 720.0)


def test_one_sample_gives_no_plots(make_recording, tmp_path):
    assert plot_recording(make_recording(samples=101).isel(time=slice(1)), tmp_path / "one") == []


def test_a_diverged_run_can_be_drawn(tmp_path, make_recording):
    """The last samples are not finite: that is when one needs the pictures."""
    ds = make_recording(samples=21, joints=1, thrusters=1)
    for name in ds.data_vars:
        if ds[name].dtype == float and ds[name].size:
            ds[name].values[-1] = np.inf if "energy" in name else np.nan
    assert len(plot_recording(ds, tmp_path)) >= 8


def test_a_recording_of_part_of_the_variables_can_be_drawn(tmp_path, make_recording):
    ds = make_recording(samples=101)
    assert [f.stem for f in plot_recording(ds[["position", "q"]], tmp_path)] == ["path"]
    assert plot_recording(ds[["energy_residual"]], tmp_path) == []


@pytest.mark.parametrize("axes, sign", [("NED", 1.0), ("ENU", -1.0)])
def test_depth_counts_downwards_in_both_worlds(make_recording, axes, sign):
    ds = make_recording(samples=11, axes=axes)
    np.testing.assert_array_equal(depth(ds, "vehicle"), sign * ds["position"].values[:, 0, 2])
    assert (depth(ds, "vehicle") > 0).all()


def test_attitude_for_display():
    """Roll, pitch and yaw of R_z(yaw) R_y(pitch) R_x(roll), composed by quaternion products; yaw runs on past π."""
    yaw = np.linspace(0.0, 9.0, 50)
    roll, pitch = 0.3, -0.7
    cr, sr, cp, sp = np.cos(roll / 2), np.sin(roll / 2), np.cos(pitch / 2), np.sin(pitch / 2)
    w, x, y, z = cp * cr, cp * sr, sp * cr, -sp * sr  # y then x
    cy, sy = np.cos(yaw / 2), np.sin(yaw / 2)
    quaternion = np.stack([cy * w - sy * z, cy * x - sy * y, cy * y + sy * x, cy * z + sy * w], axis=1)
    expected = np.stack([np.full(50, roll), np.full(50, pitch), yaw], axis=1)
    np.testing.assert_allclose(roll_pitch_yaw(quaternion), expected, atol=1e-14)


def test_thinning_keeps_peaks_and_ends():
    time = np.arange(100_003) * 1e-3
    values = np.sin(time)
    values[54_321], values[54_322] = 7.0, -8.0
    t, y = thinned(time, values)
    assert len(t) < 5000 and (np.diff(t) > 0).all()
    assert (t[0], t[-1], y.max(), y.min()) == (time[0], time[-1], 7.0, -8.0)
    values[70_000] = np.nan
    assert np.isnan(thinned(time, values)[1]).sum() == 1


def test_one_variable(tmp_path, make_recording):
    ds = make_recording(samples=101)
    for name, out, select in [
        ("position", "a.png", {"body": "vehicle", "xyz": ["x", "z"]}),
        ("position", "b.svg", {"body": "vehicle"}),
        ("energy_residual", "c.pdf", None),
        ("saturated", "d.png", {"actuator": "thruster_1"}),
    ]:
        assert plot_variable(ds, name, tmp_path / out, select=select).stat().st_size > 1000


@pytest.mark.parametrize(
    "name, select, message",
    [
        ("speed", None, "variable 'speed' is not in the recording; available: q, v,"),
        ("position", {"leg": "a"}, "no dimension 'leg'; available: body, xyz"),
        ("position", {"body": "boat"}, "body 'boat' is not in the recording; available: vehicle, link_1"),
        ("contact_force", None, "no entries"),
        ("energy_residual", {"body": "vehicle"}, "no dimension 'body'; available: none"),
    ],
)
def test_one_variable_that_is_not_there(tmp_path, make_recording, name, select, message):
    with pytest.raises(ValueError, match=message):
        plot_variable(make_recording(samples=11), name, tmp_path / "a.png", select=select)


def test_plots_leave_matplotlib_as_it_was(tmp_path, make_recording):
    import matplotlib

    before = dict(matplotlib.rcParams)
    plot_variable(make_recording(samples=11), "energy_residual", tmp_path / "a.png")
    assert dict(matplotlib.rcParams) == before


def test_the_viewer_imports_lightly():
    code = "import hydromechs.viewer, sys; print(*{m.split('.')[0] for m in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"matplotlib", "xarray", "pandas", "PIL", "zarr"}.isdisjoint(loaded)


# reports


def test_a_report_tells_the_run(tmp_path, make_recording, make_summary):
    ds = make_recording(samples=101)
    path = write_report(ds, make_summary(ds), tmp_path / "new" / "report.html")
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    for words in (
        "Station keeping in a current",
        "1 of 3 checks failed",
        "60 s of tiburon_titan2 in 0.21 s of wall-clock time (286 times real time).",
        "Check outside its limit: heading error.",
        "Position error 0.183 m must be below 0.25 m",
        "✗ failed heading error maximum |heading error| after 20 s [rad] 0.121 below 0.1",
        "thruster_3 was at its limit for 4.2 s (7 % of the time).",
        "Sum of all work",
        "Maximum residual",
        "Integrator RK4, step 1 ms",
        "hydromechs_scenario: 2",
        "Created by HydroMechs",
    ):
        assert words in page.text, words
    assert "Missed deadlines" not in page.text
    assert page.tags.count("h1") == 1 and {"path", "energy"} <= set(re.findall(r'data-group="(\w+)"', text))


def test_a_report_is_one_file_that_loads_nothing(tmp_path, make_recording, make_summary):
    ds = make_recording(samples=101)
    text = write_report(ds, make_summary(ds), tmp_path / "r.html").read_text(encoding="utf-8")
    page = Page(text)
    assert set(page.targets) == {"#checks"} and {"link", "iframe", "object", "form"}.isdisjoint(page.tags)
    assert not re.search(r"url\(|@import", text.partition("</style>")[0])
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert "default-src 'none'" in policy and "connect-src" not in policy and "unsafe-eval" not in policy
    scripts = re.findall(r'<script id="[^"]*">(.*?)</script>', text, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    assert len(scripts) == 5 and all(f"'sha256-{h}'" in policy for h in hashes) and 'name="viewport"' in text


def test_all_text_is_escaped(tmp_path, make_recording, make_summary):
    """Hostile names in every place where text comes from outside."""
    bad = "<script>alert('x')</script><img src=x onerror=y>&\"'"
    ds = make_recording(samples=11)
    ds.attrs |= {"scenario": f"name: {bad}</pre>", "hydromechs": bad, "created": bad, "seed": bad}
    summary = make_summary(
        ds, title=bad, description=f"{bad}\n\n{bad}", model=bad, setup=((bad, bad),), messages=(bad,),
        checks=(CheckResult(bad, False, 0.1, bad, bad), CheckResult(f"position {bad}", False, 0.1, bad, bad, "position.a.x")),
        work={bad: 1.0}, stored={bad: 1.0},
    )  # fmt: skip
    page = Page(write_report(ds, summary, tmp_path / "r.html").read_text(encoding="utf-8"))
    assert page.tags.count("script") == 7 and "img" not in page.tags  # ours, of which two hold data
    assert page.text.count("alert('x')") >= 12


def test_messages_of_any_kind_are_drawn(tmp_path, make_recording, make_summary):
    """A name may have tabs; the attributes of a foreign recording may be anything."""
    ds = make_recording(samples=11)
    ds.attrs["messages"] = json.dumps(["t = 1 s: a\tb", f"t = {'1' * 400} s: late", ["x"], None, 7, {"a": "b"}])
    messages = tuple(structured(ds, "messages"))
    assert all(isinstance(text, str) for text in messages) and len(messages) == 6
    page = Page(write_report(ds, make_summary(ds, messages=messages), tmp_path / "r.html").read_text(encoding="utf-8"))
    assert "1 s a b" in page.text and "s: late" in page.text


def test_a_card_shows_a_position_and_not_what_is_called_one(tmp_path, make_recording, make_summary):
    ds = make_recording(samples=11)
    checks = (
        CheckResult("servo position of the elbow", True, 0.5, "below 1", "last value of q.elbow", "q.elbow", "rad"),
        CheckResult("final depth", True, 2.0, "above 1", "last value of position.vehicle.z", "position.vehicle.z", "m"),
    )
    page = Page(write_report(ds, make_summary(ds, checks=checks), tmp_path / "r.html").read_text(encoding="utf-8"))
    assert "Final depth 2 m must be above 1 m" in page.text and "0.5 m" not in page.text


def test_a_report_of_little(tmp_path, make_recording):
    """Unknown values are not shown; there is no empty heading."""
    ds = make_recording(samples=11).drop_attrs()
    page = Page(write_report(ds, Summary(), tmp_path / "r.html").read_text(encoding="utf-8"))
    assert "no checks are defined" in page.text and page.tags.count("h2") == 1 and "None" not in page.text


def test_a_run_that_stopped_is_said_to_have(tmp_path, make_recording, make_summary):
    ds = make_recording(samples=11)
    ds.attrs["finished"] = 0
    nan = float("nan")
    summary = make_summary(ds, residual=nan, residual_relative=nan, work={"drag": nan}, late_steps=3)
    page = Page(write_report(ds, summary, tmp_path / "r.html").read_text(encoding="utf-8"))
    assert "Run is incomplete" in page.text and "the part that was recorded" in page.text
    assert "not finite" in page.text and "nan" not in page.text.lower() and "Missed deadlines 3" in page.text


@pytest.mark.parametrize(
    "value, text",
    [
        (0, "0"), (60.0, "60"), (-3312.4, "−3\u202f312"), (0.1, "0.1"), (0.99999, "1"), (123456.0, "123\u202f456"), (1e-3, "0.001"),
        (2.2e-5, "2.2\u202f×\u202f10<sup>−5</sup>"), (-1.5e9, "−1.5\u202f×\u202f10<sup>9</sup>"), (9.99999e-5, "1\u202f×\u202f10<sup>−4</sup>"),
        (float("inf"), "∞"), (float("nan"), "not finite"), (5e-324, "4.941\u202f×\u202f10<sup>−324</sup>"), (True, "1"),
    ],
)  # fmt: skip
def test_numbers_for_people(value, text):
    assert _number(value) == text


def test_ratios_and_times_for_people():
    assert _percent(0.0123) == "1.2 %" and _percent(0) == "0 %" and "10<sup>−9</sup>" in _percent(3e-9)
    assert (_seconds(0.2134), _seconds(60), _seconds(900), _seconds(10800)) == ("0.213 s", "60 s", "15 min", "3 h")


CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"


@pytest.mark.skipif(
    not Path(CHROMIUM).exists(), reason="no chromium here: the layout of the report in a browser is not checked"
)
@pytest.mark.parametrize("width", [1280, 390])
def test_the_report_fits_the_window(tmp_path, make_recording, make_summary, width):
    """In a browser, nothing sticks out sideways: a frame of the given width sees a page no wider than itself."""
    ds = make_recording(samples=101)
    report = write_report(ds, make_summary(ds), tmp_path / "report.html").read_text(encoding="utf-8")
    (tmp_path / "inner.html").write_text(re.sub(r"<meta http-equiv=[^>]*>", "", report), encoding="utf-8")
    (tmp_path / "outer.html").write_text(
        f'<iframe id="f" src="inner.html" style="width:{width}px;height:900px;border:0"></iframe><p id="p">?</p><script>'
        'document.getElementById("f").onload = e => { const r = e.target.contentDocument.documentElement;'
        'const out = [...r.querySelectorAll(".card *")].filter(x => x.scrollWidth > x.clientWidth + 1 && x.clientWidth).length;'
        'document.getElementById("p").textContent = `width ${r.scrollWidth} cut ${out}`; }</script>'
    )
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
        "--allow-file-access-from-files", "--hide-scrollbars", f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1400,1000",
        "--virtual-time-budget=3000", "--dump-dom", f"file://{tmp_path / 'outer.html'}",
    ]  # fmt: skip
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    found = re.search(r"width (\d+) cut (\d+)", result.stdout)
    assert found, result.stderr[-2000:]
    assert (int(found[1]), int(found[2])) == (width, 0)
