"""Signals of logs: units that cannot be, clocks that differ, rates that are too high, and what is said of all that."""

import math
from dataclasses import replace

import numpy as np
import pytest

from hydromechs.identification import validation
from hydromechs.identification.validation._signals import aligned, check_units, far_off, hanging, resampled

T = np.arange(0.0, 20.0, 0.05)
ROLL = 0.1 * np.sin(1.3 * T) + 0.03 * np.sin(3.1 * T)
RATE = np.gradient(ROLL, T)


def log_of(name="a.csv", **columns):
    return validation.LogFile(name, T, columns)


@pytest.mark.parametrize(
    ("quantity", "values", "said"),
    [
        ("roll", np.degrees(ROLL) * 10.0, "a.csv: c is .* rad; set units: {c: deg}"),
        ("roll", 5.0 + np.degrees(ROLL), "c is .* rad; set units: {c: deg}"),
        ("joint elbow", np.full(len(T), 90.0), "rad; set units: {c: deg}"),
        (
            "joint elbow",
            5.0 * np.sin(T),
            r"c turns at 4.9\d rad/s; set units: {c: deg} .*{c: rad} to confirm",
        ),
        (
            "joint hand",
            3.0 * np.sin(0.5 * T),
            r"c ranges from -3 to 3 rad, but the joint limits are -1.5 to 1.5 rad; set units: {c: deg}",
        ),
        ("x", 1e3 * 0.2 * np.sin(T), "a.csv: c moves at .* m/s; if it is in mm, set units: {c: mm}"),
        ("p", np.degrees(RATE), "c is 57.3 times the attitude rate; if it is in deg/s, set units"),
    ],
)
def test_columns_of_the_wrong_unit_are_named(quantity, values, said):
    """And the same columns in the right unit pass."""
    attitude = {"roll": ROLL}
    with pytest.raises(ValueError, match=said):
        check_units(log_of(c=values), {quantity: "c"}, attitude, {"joint hand": (-1.5, 1.5)})
    factor = 1e-3 if quantity == "x" else math.radians(1.0)
    check_units(log_of(c=factor * values), {quantity: "c"}, attitude)


def test_angles_in_degrees_are_seen_by_their_rates():
    with pytest.raises(
        ValueError, match=r"a.csv: c turns 57.3 times as fast as gyro; if it is in degrees, set units: {c: deg}"
    ):
        check_units(log_of(c=0.1 * np.degrees(ROLL), gyro=0.1 * RATE), {"roll": "c", "p": "gyro"})
    check_units(log_of(c=0.1 * ROLL, gyro=0.1 * RATE), {"roll": "c", "p": "gyro"})


def test_units_are_made_right_when_read(tmp_path):
    rows = [f"{int(1000 * t)},{x}" for t, x in zip(T, np.degrees(ROLL), strict=True)]
    (tmp_path / "a.csv").write_text("stamp,c\n" + "\n".join(rows))
    with_notes = validation.read_log(tmp_path / "a.csv", "stamp")
    assert "if the times are in ms, set units: {time: ms} for this log" in "\n".join(with_notes.notes)
    log = validation.read_log(tmp_path / "a.csv", "stamp", columns={"roll": "c"}, units={"time": "ms", "roll": "deg"})
    np.testing.assert_allclose(log.column("roll"), ROLL, atol=1e-12)
    np.testing.assert_allclose(log.time, T, atol=1e-3)
    assert not log.notes


def test_a_time_far_ahead_costs_one_sample(tmp_path):
    """Not all that come after it."""
    times = T.copy()
    times[100] = 1e6
    (tmp_path / "a.csv").write_text("t,x\n" + "\n".join(f"{t},1" for t in times))
    log = validation.read_log(tmp_path / "a.csv", "t")
    assert len(log.time) == len(T) - 1
    assert log.notes == ("a.csv: 1 samples are later than the next one and are ignored; check the clock for jumps",)


@pytest.mark.parametrize(
    ("jump", "said"),
    [
        (
            -3.0,
            r"a.csv: the clock jumps back from 9.95 to 7.00 s at sample 200 and stays behind: (59|60) of 400 samples .* cut the log",
        ),
        (500.0, r"a.csv: the clock jumps ahead from 9.95 to 510.00 s.*cut the log at the jump"),
    ],
)
def test_a_clock_that_jumps_and_stays_there_is_rejected(tmp_path, jump, said):
    """It would leave another log than was written; a pause that is not longer than the log is reported, and stays."""
    times = np.where(T >= 9.99, T + jump, T)
    (tmp_path / "a.csv").write_text("t,x\n" + "\n".join(f"{t},1" for t in times))
    with pytest.raises(ValueError, match=said):
        validation.read_log(tmp_path / "a.csv", "t")
    (tmp_path / "b.csv").write_text("t,x\n" + "\n".join(f"{t},1" for t in np.where(T >= 9.99, T + 8.0, T)))
    assert validation.read_log(tmp_path / "b.csv", "t").notes == ("b.csv: no samples from 9.95 to 18.00 s",)


def test_suspect_samples_and_sensors_that_hang_are_reported():
    """A spike with its time, size and remedy, a signal that stops; neither of a signal as it was."""
    spike, held = ROLL.copy(), np.where(T < 12.0, ROLL, ROLL[240])
    spike[77] += 0.9
    (said,) = far_off(log_of(roll=spike), {"roll": "give outliers"}, 2.0)
    assert said.startswith("a.csv: 1 samples of roll deviate from the running median by up to 0.") and "give outliers" in said
    (said,) = hanging(log_of(roll=held), ["roll"])
    assert said == f"a.csv: roll is {ROLL[240]:.6g} exactly from 12.00 to 19.95 s; check the sensor"
    assert not far_off(log_of(roll=ROLL), {"roll": ""}, 2.0) and not hanging(log_of(roll=ROLL, zero=0.0 * T), ["roll", "zero"])


@pytest.mark.parametrize("shift", [0.213, -0.4])
def test_clocks_are_aligned(shift):
    """To a tenth of a sample, whatever constant and factor lie between the two signals."""
    slow = np.arange(1.0, 18.0, 0.11)
    late = validation.LogFile("b.csv", slow + shift, {"roll": 0.3 + 1.2 * np.interp(slow, T, ROLL)})
    moved, found = aligned(late, late.column("roll"), log_of(), ROLL, 1.0)
    assert found == pytest.approx(-shift, abs=0.005)
    assert f"b.csv: the clock was shifted by {found:+.4f} s to the clock of a.csv" in moved.notes[0]
    with pytest.raises(ValueError, match="differ by 0.1 s or more; increase align.most"):
        aligned(late, late.column("roll"), log_of(), ROLL, 0.1)
    noise = replace(late, columns={"roll": np.random.default_rng(0).normal(size=len(slow))})
    with pytest.raises(ValueError, match="the correlation of .* is at most .*, below 0.7"):
        aligned(noise, noise.column("roll"), log_of(), ROLL, 1.0)


def test_resampled_logs_make_nothing_up():
    """A fifth of the samples stay as they were; a pause stays a pause."""
    whole = log_of(roll=ROLL)
    log = resampled(whole.keeping((T < 5.0) | (T > 9.0), ""), 4.0)
    assert np.isin(log.time, T).all() and np.median(np.diff(log.time)) == pytest.approx(0.25)
    assert not ((log.time > 5.0) & (log.time < 9.0)).any()
    assert "a.csv: resampled from " in log.notes[0] and f"{len(log.time)} of " in log.notes[0]
    np.testing.assert_array_equal(log.column("roll"), ROLL[np.isin(T, log.time)])
