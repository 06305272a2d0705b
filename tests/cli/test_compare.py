"""`hydromechs compare`: two recordings side by side."""

import numpy as np
import pytest

from hydromechs.recording import MemoryRecorder, Variable, compare_recordings, save_recording


def recording(times, depth, names=("a", "b"), **more):
    schema = [Variable(name="depth", dims=("time", "body"), units="m", long_name="depth")]
    schema += [Variable(name=name, dims=("time",), units="J", long_name=name) for name in more]
    recorder = MemoryRecorder(schema, {"body": names}, {})
    recorder.append({"time": times, "depth": depth, **more})
    return recorder.dataset()


def test_the_largest_difference_is_named_with_place_and_time():
    t = np.linspace(0.0, 1.0, 11)
    depth = np.stack([t, 4.0 - t], axis=1)
    other = depth.copy()
    other[7, 1] += 0.5
    found = compare_recordings(recording(t, depth, energy=t), recording(t, other, energy=t))
    difference, energy = found.differences
    assert (difference.quantity, difference.time, difference.maximum, difference.scale) == ("depth.b", t[7], 0.5, 4.0)
    assert difference.relative == found.largest == 0.125 and energy.maximum == 0.0
    assert not found.equal and not found.interpolated and found.samples == 11


def test_what_only_one_has_is_listed_and_the_rest_is_compared():
    t = np.linspace(0.0, 1.0, 11)
    a = recording(t, np.stack([t, t], axis=1), names=("x", "y"), energy=t)
    b = recording(t, np.stack([9 * t, t], axis=1), names=("z", "y"))
    found = compare_recordings(a, b)
    assert found.only_first == ("energy", "body x") and found.only_second == ("body z",)
    assert [d.maximum for d in found.differences] == [0.0]


def test_other_times_are_interpolated_over_the_time_in_common():
    """Linear curves are interpolated to rounding."""
    t, s = np.linspace(0.0, 4.0, 41), np.linspace(1.0, 5.0, 33)
    found = compare_recordings(recording(t, np.stack([t, -t], axis=1)), recording(s, np.stack([s, -s], axis=1)))
    assert (found.begin, found.end, found.interpolated, found.samples) == (1.0, 4.0, True, 31)
    assert found.largest < 4 * np.finfo(float).eps
    with pytest.raises(ValueError, match="no time in common: the first covers 0 to 4 s, the second 9 to 13 s"):
        compare_recordings(recording(t, np.stack([t, t], axis=1)), recording(t + 9.0, np.stack([t, t], axis=1)))
    with pytest.raises(ValueError, match="the second recording has no samples"):
        compare_recordings(recording(t, np.stack([t, t], axis=1)), recording(t[:0], np.zeros((0, 2))))


def test_what_is_not_a_number_differs_from_a_number_only():
    t = np.arange(3.0)
    nan = np.array([[0.0, np.nan], [1.0, np.nan], [np.inf, 1.0]])
    assert compare_recordings(recording(t, nan), recording(t, nan)).equal
    assert compare_recordings(recording(t, nan), recording(t, np.nan_to_num(nan, posinf=9.0))).largest == np.inf


def test_what_cannot_be_compared_is_not_called_the_same():
    """Nothing in common is an error; a variable that is something else in the other is named as that."""
    t = np.linspace(0.0, 1.0, 3)
    a = recording(t, np.stack([t, t], axis=1), energy=t)
    with pytest.raises(ValueError, match="no variable in common: the first has depth, energy; the second has power"):
        compare_recordings(a, a.drop_vars(["depth", "energy"]).assign(power=("time", t)))
    other = a.assign(energy=("body", np.zeros(2)), depth=a.depth.assign_attrs(units="cm"), power=("time", t))
    found = compare_recordings(a.assign(power=("time", t)), other)
    assert found.unlike == ("depth [m, cm]", "energy") and not found.only_first and not found.only_second
    assert [d.name for d in found.differences] == ["power"]


def test_command_reports_what_was_compared(run, tmp_path):
    """Lengths that differ, one instant in common, what is beyond the tolerance, options that do nothing."""
    t = np.linspace(0.0, 4.0, 5)
    depth = np.stack([t, 2 * t], axis=1)
    paths = [tmp_path / f"{name}.nc" for name in "abc"]
    for path, part in zip(paths, (slice(None), slice(3), slice(2, None)), strict=True):
        save_recording(recording(t[part], depth[part] + (part.start or 0)), path)
    a, b, c = paths
    code, text, _ = run("compare", a, b, "--tolerance", 0)
    assert code == 0 and f"from 0 to 2 s, 3 samples ({a} continues to 4 s)" in text
    code, text, _ = run("compare", b, c)
    assert code == 0 and "at 2 s, 1 sample" in text and "one instant" in text
    code, text, err = run("compare", a, c, "--tolerance", 1e-3)
    assert code == 1 and f"from 2 to 4 s, 3 samples ({a} starts at 0 s)" in text
    assert "depth differs by 0.25 of its maximum, more than the tolerance of 0.001" in err
    code, _, err = run("compare", a, c, "--quantity", "depth.a")
    assert code == 1 and "--quantity" in err and "--out" in err
    (tmp_path / "folder").mkdir()
    for what in ("nothing", "folder"):
        code, _, err = run("compare", a, tmp_path / what)
        assert code == 1 and str(tmp_path / what) in err


def test_command(run, scenario, tmp_path):
    a, b, c = (tmp_path / name for name in "abc")
    for out, seed in ((a, 1), (b, 1), (c, 2)):
        run("run", scenario(), "--out", out, "--no-pictures", "--seed", seed)
    code, text, err = run("compare", a, b, "--tolerance", 0)
    assert (code, err) == (0, "") and "variables are bit-identical" in text and "maximum" not in text
    code, text, _ = run("compare", a, c, "--out", tmp_path / "both.png")
    assert code == 0 and "position" in text and "float" in text and (tmp_path / "both.png").stat().st_size > 10_000
    code, _, _ = run("compare", a, c, "--tolerance", 1e-9, "--quantity", "depth.float", "--out", tmp_path / "depth.png")
    assert code == 1 and (tmp_path / "depth.png").exists()
    code, _, err = run("compare", a, tmp_path / "nothing")
    assert code == 1 and "nothing" in err
    code, _, err = run("compare", a, c, "--quantity", "depth.ship", "--out", tmp_path / "x.png")
    assert code == 1 and "ship" in err
