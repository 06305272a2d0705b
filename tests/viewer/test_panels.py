"""Curves beside a replay: axes that can be read, and angles without jumps."""

import re

import numpy as np

from hydromechs.viewer._panels import Panel, distinct, panels, panels_html


def test_the_axes_tell_close_values_apart_and_have_times(make_recording):
    ds = make_recording(samples=61)
    ds["position"].loc[{"xyz": "z"}] = 20.0 + 0.001 * np.linspace(0.0, 1.0, 61)[:, None]
    text = panels_html(ds).partition("Depth")[2].partition("</svg>")[0]
    written = re.findall(r"<text[^>]*>([^<]*)</text>", text)
    assert written[:2] == ["20", "20.001"] and written[2:] == ["0", "20", "40", "60 s"]
    assert distinct(5.0, 5.0) == ["5", "5"] and distinct(1.0, 2.5) == ["1", "2.5"]


def test_a_heading_that_turns_on_does_not_jump(make_recording):
    ds = make_recording(samples=1201)
    yaw = np.linspace(0.0, 4.0 * np.pi, 1201)
    zero = np.zeros_like(yaw)
    turned = np.stack([np.cos(yaw / 2), zero, zero, np.sin(yaw / 2)], axis=-1)
    ds["orientation"][:] = turned[:, None]
    shown = next(p for p in panels(ds) if p.title.startswith("Attitude"))
    assert isinstance(shown, Panel)
    assert np.abs(np.diff(shown.curves["yaw"])).max() < 10.0 and np.isclose(np.ptp(shown.curves["yaw"]), 720.0)
