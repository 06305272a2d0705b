"""Roll, pitch, heading and tilt as quantities of checks, events, plots and tables; angles that wrap around."""

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.model import joints
from hydromechs.recording import Check, attitude, attitude_of, samples_of, statistic_of, to_pandas
from hydromechs.simulation import Event
from hydromechs.spatial import matrix_from_rpy, quaternion_from_matrix


def spinner(axis: int, rate: float, angles=(0.0, 0.0, 0.0), events=()) -> hm.Simulation:
    """A body in space that turns about one of its axes, at a constant rate [rad/s]."""
    inertia = hm.Inertia(mass=2.0, com=(0, 0, 0), tensor=(0.3, 0.4, 0.5, 0, 0, 0))
    body = hm.Body(name="craft", joint=joints.Free(), inertia=inertia)
    quaternion = quaternion_from_matrix(np.array(matrix_from_rpy(np.radians(angles)), dtype=float))
    start = hm.State(q=np.concatenate([np.zeros(3), quaternion]), v=np.eye(6)[3 + axis] * rate)
    model = hm.Model(name="craft", bodies=[body], world=hm.World(gravity=0.0))
    return hm.Simulation(model, state=start, events=events, step=0.01, record=0.05)


@pytest.mark.parametrize("seed", range(20))
def test_angles_are_those_of_the_rotation(seed):
    rng = np.random.default_rng(seed)
    rpy = rng.uniform([-np.pi, -np.pi / 2, -np.pi], [np.pi, np.pi / 2, np.pi])
    R = np.array(matrix_from_rpy(rpy), dtype=float)
    q = quaternion_from_matrix(R)
    assert [attitude(n, q) for n in ("roll", "pitch", "heading")] == pytest.approx(rpy, abs=1e-12)
    assert attitude("tilt", q) == pytest.approx(np.arccos(R[2, 2]), abs=1e-7)
    assert attitude("tilt_deg", -q) == pytest.approx(np.degrees(attitude("tilt", q)), rel=1e-15)


def test_tilt_is_accurate_where_the_arc_cosine_is_not():
    for angle in (1e-9, np.pi - 1e-9):
        q = np.array([np.cos(angle / 2), 0.6 * np.sin(angle / 2), 0.8 * np.sin(angle / 2), 0.0])
        assert attitude("tilt", q) == pytest.approx(angle, rel=1e-15, abs=1e-24)


def test_differences_of_headings_go_the_shorter_way_round():
    time = np.arange(4.0)
    heading = np.array([179.0, -179.0, 178.0, -178.0])  # within 2 degrees of south
    for statistic, expected in (("max_abs", 2.0), ("mean", 0.0), ("last", 2.0), ("rms", np.sqrt(2.5))):
        value, _ = statistic_of(time, heading, statistic, target=180.0, period=360.0)
        assert value == pytest.approx(expected, abs=1e-12)
    assert statistic_of(time, heading, "max_abs", target=180.0)[0] == 359.0  # of a quantity that does not wrap
    value, x = statistic_of(time, heading, "last", mean_of=(0.0, 2.0), period=360.0)
    assert value == pytest.approx(2.0) and np.abs(x).max() < 2.01
    value, _ = statistic_of(time, heading, "last", target=1.0, mean_of=(0.0, 2.0), period=360.0)
    assert value == pytest.approx(1.0)
    value, _ = statistic_of(time, np.arange(4.0), "last", target=-5.0, mean_of=(0.0, 2.0))
    assert value == pytest.approx(3.0 - 0.5 + 5.0)


@pytest.mark.parametrize("unit", ["", "_deg"])
def test_a_check_of_the_heading_wraps(unit):
    recording = spinner(2, 0.5, (0.0, 0.0, 170.0)).run(1.0).recording  # to 198.6 degrees
    one = 1.0 if unit else np.pi / 180.0
    past = Check(
        name="south", quantity=f"heading{unit}.craft", target=180.0 * one, statistic="last", above=18 * one, below=19 * one
    )
    result = past.judge(recording)
    assert result.passed, result
    assert result.value == pytest.approx(one * (170.0 + np.degrees(0.5) - 180.0), rel=1e-9)


def test_an_event_watches_an_angle_and_ignores_its_jump():
    events = [
        Event(name="over", quantity="tilt_deg.craft", level=90.0, direction="rising"),
        Event(name="half", quantity="roll_deg.craft", level=170.0, direction="either"),
    ]
    run = spinner(0, 1.0, events=events).run(4.0)  # rolls by 229 degrees, through ±180
    times = [float(m.split()[2]) for m in run.messages]
    assert times == pytest.approx([np.pi / 2, np.radians(170.0)], abs=1e-6), run.messages


def test_an_unknown_angle_is_rejected_with_the_nearest():
    with pytest.raises(KeyError, match="heading_deg"):
        spinner(0, 1.0, events=[Event(name="x", quantity="hedding_deg.craft", level=1.0)]).run(0.1)


def test_tables_and_arrays_have_the_angles_that_are_named(tmp_path):
    recording = spinner(1, 0.4).run(1.0).recording
    frame = to_pandas(recording, ["pitch_deg", "tilt.craft"])
    assert [*frame.columns] == ["pitch_deg.craft", "tilt.craft"]
    assert frame.attrs["units"]["pitch_deg.craft"] == "deg"
    assert frame["pitch_deg.craft"].iloc[-1] == pytest.approx(np.degrees(0.4), rel=1e-9)
    assert "pitch_deg.craft" not in to_pandas(recording)
    array = attitude_of(recording, "tilt")
    assert array.dims == ("time", "body") and array.attrs["units"] == "rad"
    np.testing.assert_array_equal(array.sel(body="craft"), samples_of(recording, "tilt.craft"))


def test_a_plot_of_the_heading_has_no_jumps(tmp_path, monkeypatch):
    from hydromechs.viewer import _plots

    drawn = {}
    monkeypatch.setattr(_plots, "curves", lambda ax, time, series, **more: drawn.update(series))
    recording = spinner(2, 1.0).run(5.0).recording
    assert _plots.plot_variable(recording, "heading_deg", tmp_path / "heading.png").exists()
    assert drawn["craft"][-1] == pytest.approx(np.degrees(5.0), rel=1e-9)
